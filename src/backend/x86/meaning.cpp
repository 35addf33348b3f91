// backend/x86/meaning.cpp: value numbers. Each register holds the number of the value in it, made from the numbers of what its instruction read: a
// load reads the memory's number too, a store changes it. So an instruction that passes another one that it depends on (through
// a register, memory, a mask or the flags) reads other numbers, and what its block leaves behind is another number. A load that
// became an operand, operands of a sum that changed places, and registers with other names have the numbers they had.
#include "backend/x86/meaning.h"

#include "core/str.h"

#include <weft/error.h>

#include <asmjit/x86.h>

#include <algorithm>

namespace weft::backend::x86 {
namespace {

namespace aj = asmjit;
namespace ax = asmjit::x86;
namespace Id = asmjit::x86::Inst;

using Number = std::uint64_t;

Number mix(Number a, Number b) {
    const Number h = (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccd;
    return h ^ (h >> 32);
}

// ---- what the machine does with an instruction, by AsmJit's tables -----------------------------------------------------

struct Effects {
    bool known = false;
    bool reads_flags = false, writes_flags = false;
    bool reads_first = false, writes_first = false;  // operand 0, without a mask
};

aj::Operand example(const Operand& o, Class cls) {
    switch (o.kind) {
        case Operand::Kind::Register:
            if (cls == Class::Mask) return ax::k1;
            if (cls == Class::Vec)
                return o.bytes == 64 ? ax::Vec(ax::zmm1) : o.bytes == 32 ? ax::Vec(ax::ymm1) : ax::Vec(ax::xmm1);
            return o.bytes == 1   ? ax::Gp(ax::sil)
                   : o.bytes == 2 ? ax::Gp(ax::si)
                   : o.bytes == 4 ? ax::Gp(ax::esi)
                                  : ax::Gp(ax::rsi);
        case Operand::Kind::Memory:
            if (cls == Class::Vec) return ax::Mem(ax::rdi, ax::xmm2, o.shift, 0, o.bytes);  // an index per lane
            return ax::Mem(ax::rdi, 0, o.bytes);
        case Operand::Kind::Immediate: return aj::Imm(1);
        default: return {};
    }
}

class Machine {
public:
    explicit Machine(const Code& code) : code_(code), known_(known_so_far()) {}

    // Asked once for each kind of instruction. Throws if the instruction says otherwise of its first operand than the machine.
    const Effects& of(const Ins& ins) {
        const bool memory = ins.o[0].kind == Operand::Kind::Memory;
        Effects& effects = known_[4 * ins.id + 2 * (ins.count > 2) + memory];
        if (!effects.known) effects = ask(ins);
        const bool named = ins.count > 0 && ins.o[0].kind == Operand::Kind::Register && ins.o[0].reg.id >= 0;
        if (named && (effects.writes_first != ins.writes_first ||
                      (effects.writes_first && effects.reads_first && !reads_result(ins))))
            throw InternalError(
                str("x86: instruction ", ins.id, " does something else with its first operand than it says"));
        return effects;
    }

private:
    static std::vector<Effects>& known_so_far() {
        static thread_local std::vector<Effects> known(4 * static_cast<std::size_t>(Id::_kIdCount));
        return known;
    }

    Class class_of(const Operand& o) const {
        const Reg reg = o.kind == Operand::Kind::Memory ? o.index : o.reg;
        return reg.id >= 0 ? code_.regs[static_cast<std::size_t>(reg.id)].cls : Class::Gp;
    }

    Effects ask(const Ins& ins) const {
        aj::Operand operands[4];
        for (int i = 0; i < ins.count; ++i) operands[i] = example(ins.o[i], class_of(ins.o[i]));
        aj::InstRWInfo info;
        const aj::BaseInst inst(ins.id);
        if (ins.count > 0 && ins.o[0].kind == Operand::Kind::Label) operands[0] = aj::Label(1);
        if (aj::InstAPI::queryRWInfo(aj::Arch::kX64, inst, operands, ins.count, &info))
            throw InternalError(str("x86: AsmJit does not know instruction ", ins.id));
        return {true, info.readFlags() != aj::CpuRWFlags::kNone, info.writeFlags() != aj::CpuRWFlags::kNone,
                info.operand(0).isRead(), info.operand(0).isWrite()};
    }

    const Code& code_;
    std::vector<Effects>& known_;
};

// ---- numbers -------------------------------------------------------------------------------------------------------------

bool ends_block(const Ins& ins) {
    if (ins.id == kBind || ins.id == kLoopBegin || ins.id == kLoopEnd) return true;
    return ins.count > 0 && ins.o[0].kind == Operand::Kind::Label;
}

bool is_hint(const Ins& ins) {
    return ins.id == Id::kIdPrefetcht0 || ins.id == Id::kIdPrefetcht1 || ins.id == Id::kIdPrefetchw;
}

bool is_vector_load(const Ins& ins) {
    return (ins.id == Id::kIdVmovups || ins.id == Id::kIdVmovupd) && ins.lanes.id < 0 &&
           ins.o[0].kind == Operand::Kind::Register && ins.o[1].kind == Operand::Kind::Memory &&
           ins.o[0].bytes == ins.o[1].bytes;
}

bool commutes(const Ins& ins) {
    switch (ins.id) {
        case Id::kIdVaddps:
        case Id::kIdVaddpd:
        case Id::kIdVmulps:
        case Id::kIdVmulpd:
        case Id::kIdVpaddd:
        case Id::kIdVpaddq: return ins.count == 3;
        default: return false;
    }
}

class Numbering {
public:
    explicit Numbering(const Code& code) : code_(code), machine_(code), states_(code.regs.size()) { find_shared(); }

    Meaning run() {
        Meaning meaning;
        begin();
        for (const Ins& ins : code_.list) {
            if (!ends_block(ins)) {
                step(ins);
                continue;
            }
            Number border = ins.id;
            for (int i = 0; i < ins.count; ++i) border = mix(border, static_cast<Number>(ins.o[i].value));
            if (ins.id < kMove && machine_.of(ins).reads_flags) border = mix(border, flags_);
            meaning.push_back(mix(end(), border));
            begin();
        }
        meaning.push_back(end());
        return meaning;
    }

private:
    struct State {
        int block = -1;  // where its number was given
        Number number = 0;
        bool shared = false;  // other blocks, or other iterations of this one, may read it
        int seen = -1;        // find_shared: the block
        bool written = false;
    };

    static constexpr Number kLoad = 0x10ad, kOrder = 0x0de4, kEntry = 0xe17;

    State& state(int id) { return states_[static_cast<std::size_t>(id)]; }

    // A register of one block, written before it is read there, is nobody else's.
    void find_shared() {
        int block = 0;
        for (const Ins& ins : code_.list) {
            if (ends_block(ins)) ++block;
            const auto see = [&](int id) -> State& {
                State& s = state(id);
                if (s.seen >= 0 && s.seen != block) s.shared = true;
                s.seen = block;
                return s;
            };
            for_each_reg(ins, [&](int id, bool, bool reads) {
                State& s = see(id);
                s.shared |= reads && !s.written;
            });
            for_each_reg(ins, [&](int id, bool writes, bool) { see(id).written |= writes; });
        }
    }

    void begin() {
        ++block_;
        written_.clear();
        order_ = kOrder;
        hints_ = 0;
        memory_[0] = memory_[1] = fixed_[0] = fixed_[1] = fixed_[2] = kEntry;
        // The flags stay as the last block left them: two jumps may ask for the same.
    }

    // What the block leaves behind. The sum over registers does not depend on which was written first.
    Number end() {
        Number sum = hints_;
        for (const int id : written_)
            if (state(id).shared) sum += mix(static_cast<Number>(id), state(id).number);
        return mix(mix(mix(sum, order_), memory_[0]), memory_[1]);
    }

    Number value(Reg r) {
        if (r.id >= 0) {
            const State& s = state(r.id);
            return s.block == block_ ? s.number : mix(kEntry, static_cast<Number>(r.id));
        }
        return r == kNone ? 0 : mix(fixed_[-2 - r.id], static_cast<Number>(-r.id));
    }
    void set(int id, Number number) {
        State& s = state(id);
        if (s.block != block_) written_.push_back(id);
        s.block = block_;
        s.number = number;
    }

    Number address(const Operand& o) {
        Number n = mix(static_cast<Number>(o.value), static_cast<Number>(o.base) << 8 | o.shift);
        return mix(mix(n, value(o.reg)), value(o.index));
    }
    Number& memory(const Operand& o) { return memory_[may_overlap(o, frame(0))]; }
    Number loaded(const Operand& o) {
        const Number at = mix(mix(kLoad, o.bytes), address(o));
        return o.base == Operand::Base::Pool ? at : mix(at, memory(o));
    }

    Number operand(const Ins& ins, int i) {
        const Operand& o = ins.o[i];
        switch (o.kind) {
            case Operand::Kind::Register: {
                const bool read = i > 0 || !ins.writes_first || reads_result(ins);
                return (read ? value(o.reg) : 0) + o.bytes;
            }
            case Operand::Kind::Memory: return (i == 0 || ins.id == Id::kIdLea ? address(o) : loaded(o)) + o.bytes;
            default: return mix(static_cast<Number>(o.kind), static_cast<Number>(o.value));
        }
    }

    // Of what the instruction makes of what it reads.
    Number number(const Ins& ins) {
        Number operands[4];
        for (int i = 0; i < ins.count; ++i) operands[i] = operand(ins, i);
        if (commutes(ins) && operands[1] > operands[2]) std::swap(operands[1], operands[2]);
        Number n = mix(ins.id, static_cast<Number>(ins.count) << 2 | static_cast<Number>(ins.zeroes) << 1 | ins.blends);
        for (int i = 0; i < ins.count; ++i) n = mix(n, operands[i]);
        return ins.lanes.id >= 0 ? mix(n, value(ins.lanes)) : n;
    }

    void step(const Ins& ins) {
        if (ins.id == kMove && ins.o[1].reg.id >= 0 && ins.o[0].reg.id >= 0) return move(ins.o[0].reg, ins.o[1].reg);
        if (is_vector_load(ins)) return set(ins.o[0].reg.id, loaded(ins.o[1]));
        Number n = number(ins);
        if (is_hint(ins) || ins.id == kKeep) {
            hints_ += n;
            return;
        }
        if (ins.id == kConstant) n = constant(ins.o[0].reg);
        if (ins.id < kMove) {
            const Effects& effects = machine_.of(ins);
            if (effects.reads_flags) n = mix(n, flags_);
            if (effects.writes_flags) flags_ = n;
        }
        if (ins.id == kCall) order_ = memory_[1] = mix(mix(order_, n), memory_[1]);
        name_fixed(ins, n);
        if (ins.o[0].kind == Operand::Kind::Memory && ins.id != Id::kIdCmp && ins.id != Id::kIdTest)
            memory(ins.o[0]) = mix(memory(ins.o[0]), n);
        else if (ins.count > 0 && ins.writes_first && ins.o[0].reg.id >= 0) set(ins.o[0].reg.id, n);
    }

    void move(Reg to, Reg from) {
        const auto bytes = [&](Reg r) { return code_.regs[static_cast<std::size_t>(r.id)].bytes; };
        set(to.id, bytes(to) == bytes(from) ? value(from) : mix(value(from), bytes(to)));
    }

    Number constant(Reg r) const {
        const RegInfo& info = code_.regs[static_cast<std::size_t>(r.id)];
        return mix(mix(kConstant, static_cast<Number>(info.pool_offset)),
                   static_cast<Number>(info.bytes) << 8 | info.pool_bytes);
    }

    // Instructions on registers that the machine insists on keep their order.
    void name_fixed(const Ins& ins, Number n) {
        for (int i = 0; i < ins.count; ++i)
            if (ins.o[i].kind == Operand::Kind::Register && ins.o[i].reg.id < -1)
                order_ = fixed_[-2 - ins.o[i].reg.id] = mix(order_, n);
    }

    const Code& code_;
    Machine machine_;
    std::vector<State> states_;
    std::vector<int> written_;  // in this block
    int block_ = -1;
    Number order_ = 0, hints_ = 0, flags_ = 0;
    Number memory_[2] = {};  // what the kernel was given, and its own
    Number fixed_[3] = {};   // rax, rcx, rdx
};

}  // namespace

Meaning meaning_of(const Code& code) { return Numbering(code).run(); }

void verify_meaning(const Code& code, const Meaning& wanted, std::string_view kernel) {
    const Meaning found = meaning_of(code);
    if (found == wanted) return;
    const auto where = std::mismatch(found.begin(), found.end(), wanted.begin(), wanted.end()).first - found.begin();
    throw InternalError(str("x86: kernel ", kernel,
                            " computes something else after its instructions were rearranged, in block ", where));
}

}  // namespace weft::backend::x86
