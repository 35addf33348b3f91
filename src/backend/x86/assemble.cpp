// backend/x86/assemble.cpp: through AsmJit's Assembler, which encodes and does nothing else.
#include "backend/x86/assemble.h"

#include "backend/x86/code_memory.h"
#include "core/str.h"

#include <weft/error.h>

#include <asmjit/x86.h>

#include <bit>

namespace weft::backend::x86 {
namespace {

namespace aj = asmjit;
namespace ax = asmjit::x86;
namespace Id = asmjit::x86::Inst;

struct Owned final : Machine {
    explicit Owned(std::size_t size) : memory(size) {}
    CodeMemory memory;
};

class Assembling final : aj::ErrorHandler {
public:
    Assembling(const Code& code, const Allocation& allocation, bool wide, const void* helper, bool listing)
        : code_(code), places_(allocation), wide_(wide), helper_(helper) {
        check(holder_.init(aj::Environment::host()));
        holder_.setErrorHandler(this);
        if (listing) holder_.setLogger(&log_);
        check(holder_.attach(&a_));
        pool_ = a_.newLabel();
        for (int i = 0; i < code.labels; ++i) labels_.push_back(a_.newLabel());
    }

    std::shared_ptr<const Machine> run() {
        if (code_.calls) thunk_ = a_.newLabel();
        enter();
        for (const Ins& ins : code_.list) translate(ins);
        leave();
        if (code_.calls) emit_thunk();
        if (!code_.constants.empty()) {
            a_.align(aj::AlignMode::kData, 64);
            a_.bind(pool_);
            a_.embed(code_.constants.data(), code_.constants.size());
        } else a_.bind(pool_);
        return placed();
    }

private:
    // The code, relocated to the pages that it runs in.
    std::shared_ptr<const Machine> placed() {
        check(holder_.flatten());
        check(holder_.resolveUnresolvedLinks());
        const std::size_t most = holder_.codeSize();
        auto machine = std::make_shared<Owned>(most);
        CodeMemory& memory = machine->memory;
        check(holder_.relocateToBase(reinterpret_cast<std::uint64_t>(memory.data())));
        check(holder_.copyFlattenedData(memory.data(), most));
        memory.seal();
        machine->entry = memory.data();
        machine->bytes = holder_.codeSize();
        machine->text = log_.data();
        return machine;
    }

    void handleError(aj::Error, const char* message, aj::BaseEmitter*) override {
        throw InternalError(str("x86: AsmJit refuses an instruction: ", message));
    }
    static void check(aj::Error error) {
        if (error) throw InternalError(str("x86: AsmJit: ", aj::DebugUtils::errorAsString(error)));
    }

    // ---- the function around the kernel ----------------------------------------------------------------------------------

    void enter() {
        for (const int r : {3, 5, 12, 13, 14, 15})
            if (places_.gps >> r & 1) a_.push(ax::gpq(r)), saved_.push_back(r);
        a_.mov(ax::rax, ax::rsp);
        a_.and_(ax::rsp, -64);
        a_.sub(ax::rsp, places_.frame_bytes);
        const std::pair<std::int64_t, ax::Gp> arguments[] = {
            {kArgBuffers, ax::rdi}, {kArgScalars, ax::rsi}, {kArgBegin, ax::rdx}, {kArgEnd, ax::rcx},
            {kArgScratch, ax::r8},  {kArgCheck, ax::r9},    {kOldStack, ax::rax}};
        for (const auto& [at, r] : arguments) a_.mov(ax::qword_ptr(ax::rsp, static_cast<std::int32_t>(at)), r);
    }

    void leave() {
        if (code_.streams) a_.sfence();
        a_.vzeroupper();
        a_.mov(ax::rsp, ax::qword_ptr(ax::rsp, kOldStack));
        for (auto r = saved_.rbegin(); r != saved_.rend(); ++r) a_.pop(ax::gpq(*r));
        a_.ret();
    }

    // Keeps every register that the kernel may use, and calls the helper with rax as its descriptor.
    void emit_thunk() {
        constexpr int kKept[] = {6, 7, 8, 9, 10, 11};
        const int vectors = wide_ ? 32 : 16, width = wide_ ? 64 : 32;
        const int bytes = vectors * width + 64 + 64;
        a_.bind(thunk_);
        a_.sub(ax::rsp, bytes + 56);  // the return address makes it 64
        const auto vector_at = [&](int r) { return ax::Mem(ax::rsp, r * width); };
        const auto reg = [&](int r) { return wide_ ? ax::Vec(ax::zmm(r)) : ax::Vec(ax::ymm(r)); };
        for (int r = 0; r < vectors; ++r) a_.emit(Id::kIdVmovups, vector_at(r), reg(r));
        for (int i = 0; i < 6; ++i) a_.mov(ax::qword_ptr(ax::rsp, vectors * width + 8 * i), ax::gpq(kKept[i]));
        if (wide_)
            for (int k = 1; k < 8; ++k) a_.kmovq(ax::qword_ptr(ax::rsp, vectors * width + 64 + 8 * k), ax::k(k));
        a_.mov(ax::rdi, ax::rax);
        a_.lea(ax::rsi, ax::ptr(ax::rsp, static_cast<std::int32_t>(bytes + 64 + kCallArea)));
        a_.mov(ax::rdx, ax::qword_ptr(ax::rsp, static_cast<std::int32_t>(bytes + 64 + kArgCheck)));
        a_.vzeroupper();
        a_.mov(ax::rax, reinterpret_cast<std::uint64_t>(helper_));
        a_.call(ax::rax);
        for (int r = 0; r < vectors; ++r) a_.emit(Id::kIdVmovups, reg(r), vector_at(r));
        for (int i = 0; i < 6; ++i) a_.mov(ax::gpq(kKept[i]), ax::qword_ptr(ax::rsp, vectors * width + 8 * i));
        if (wide_)
            for (int k = 1; k < 8; ++k) a_.kmovq(ax::k(k), ax::qword_ptr(ax::rsp, vectors * width + 64 + 8 * k));
        a_.add(ax::rsp, bytes + 56);
        a_.ret();
    }

    // ---- one instruction ---------------------------------------------------------------------------------------------------

    static ax::Reg vector_reg(int id, int bytes) {
        if (bytes == 64) return ax::zmm(id);
        if (bytes == 32) return ax::ymm(id);
        return ax::xmm(id);
    }
    static ax::Reg gp_reg(int id, int bytes) {
        switch (bytes) {
            case 1: return ax::gpb_lo(id);
            case 2: return ax::gpw(id);
            case 4: return ax::gpd(id);
            default: return ax::gpq(id);
        }
    }
    static ax::Reg machine_reg(Class cls, int id, int bytes) {
        if (cls == Class::Mask) return ax::k(id);
        return cls == Class::Vec ? vector_reg(id, bytes) : gp_reg(id, bytes);
    }
    static bool fixed(Reg r, int& id) {
        if (r == kRax) return id = 0, true;
        if (r == kRcx) return id = 1, true;
        if (r == kRdx) return id = 2, true;
        return false;
    }

    ax::Mem slot_of(const RegInfo& r, int bytes) const {
        return ax::Mem(ax::rsp, r.slot, static_cast<std::uint32_t>(bytes));
    }
    ax::Mem pool_at(std::int64_t offset, int bytes) const {
        return ax::Mem(pool_, static_cast<std::int32_t>(offset), static_cast<std::uint32_t>(bytes));
    }

    void load_constant(const RegInfo& r, const ax::Reg& to) {
        if (r.cls == Class::Mask) {
            a_.mov(ax::eax, r.pool_offset);
            a_.emit(Id::kIdKmovd, to, ax::eax);
        } else if (r.pool_bytes == 0) {
            if (r.bytes == 64) a_.emit(Id::kIdVpxord, to, to, to);
            else if (to.id() >= 16) a_.emit(Id::kIdVpxord, to, to, to);
            else a_.emit(Id::kIdVpxor, vector_reg(to.id(), 16), vector_reg(to.id(), 16), vector_reg(to.id(), 16));
        } else if (r.pool_bytes < r.bytes && r.pool_bytes <= 8) {
            a_.emit(r.pool_bytes == 4 ? Id::kIdVbroadcastss
                    : r.bytes == 16   ? Id::kIdVmovddup
                                      : Id::kIdVbroadcastsd,
                    to, pool_at(r.pool_offset, r.pool_bytes));
        } else {
            a_.emit(Id::kIdVmovups, to, pool_at(r.pool_offset, r.bytes));
        }
    }

    void load_spilled(const RegInfo& r, const ax::Reg& to) {
        if (r.constant) return load_constant(r, to);
        if (r.cls == Class::Gp) a_.emit(Id::kIdMov, to, slot_of(r, 8));
        else if (r.cls == Class::Mask) a_.emit(Id::kIdKmovq, to, slot_of(r, 8));
        else a_.emit(Id::kIdVmovups, vector_reg(to.id(), r.bytes), slot_of(r, r.bytes));
    }
    void store_spilled(const RegInfo& r, const ax::Reg& from) {
        if (r.cls == Class::Gp) a_.emit(Id::kIdMov, slot_of(r, 8), gp_reg(from.id(), 8));
        else if (r.cls == Class::Mask) a_.emit(Id::kIdKmovq, slot_of(r, 8), from);
        else a_.emit(Id::kIdVmovups, slot_of(r, r.bytes), vector_reg(from.id(), r.bytes));
    }

    // The registers that spilled values of one instruction pass through.
    struct Temporaries {
        const Ins* ins = nullptr;
        int gp = 0, vec = 0, mask = 0;
        int borrowed[3] = {-1, -1, -1};
    };
    ax::Reg temporary(Class cls, int bytes, Temporaries& used) {
        constexpr int kGpTemporaries[] = {10, 11, 0};
        switch (cls) {
            case Class::Gp: return gp_reg(kGpTemporaries[used.gp++], bytes);
            case Class::Vec: return vector_reg(vector_temporary(used.vec++, used), bytes);
            case Class::Mask: return ax::k(7 - used.mask++ % 2);
        }
        __builtin_unreachable();
    }

    int vector_temporary(int i, Temporaries& used) {
        if (i < places_.vector_temporaries) return places_.vectors - 1 - i;
        if (used.borrowed[i] >= 0) return used.borrowed[i];
        for (int r = 0;; ++r) {  // any that this instruction does not name
            bool named = r == used.borrowed[0] || r == used.borrowed[1] || r == used.borrowed[2];
            for (int o = 0; used.ins && o < used.ins->count; ++o)
                for (const Reg reg : {used.ins->o[o].reg, used.ins->o[o].index})
                    named |= reg.id >= 0 && code_.regs[reg.id].cls == Class::Vec && code_.regs[reg.id].machine == r;
            if (named) continue;
            a_.emit(Id::kIdVmovups, borrowed_at(i), whole_vector(r));
            return used.borrowed[i] = r;
        }
    }
    void give_back(const Temporaries& used) {
        for (int i = 0; i < 3; ++i)
            if (used.borrowed[i] >= 0) a_.emit(Id::kIdVmovups, whole_vector(used.borrowed[i]), borrowed_at(i));
    }
    ax::Reg whole_vector(int r) const { return vector_reg(r, wide_ ? 64 : 32); }
    ax::Mem borrowed_at(int i) const { return ax::Mem(ax::rsp, static_cast<std::int32_t>(places_.borrowed + 64 * i)); }

    ax::Gp address_reg(Reg r, Temporaries& used) {
        int id;
        if (fixed(r, id)) return ax::gpq(id);
        const RegInfo& info = code_.regs[r.id];
        if (info.machine >= 0) return ax::gpq(info.machine);
        const ax::Reg to = temporary(Class::Gp, 8, used);
        load_spilled(info, to);
        return to.as<ax::Gp>();
    }

    ax::Mem address(const Operand& o, Temporaries& used) {
        const auto offset = static_cast<std::int32_t>(o.value);
        if (o.base == Operand::Base::Pool) return pool_at(o.value, o.bytes);
        const ax::Gp base = o.base == Operand::Base::Frame ? ax::Gp(ax::rsp) : address_reg(o.reg, used);
        if (o.index == kNone) return ax::Mem(base, offset, o.bytes);
        if (o.index.id >= 0 && code_.regs[o.index.id].cls == Class::Vec) {
            const RegInfo& info = code_.regs[o.index.id];
            ax::Reg index = vector_reg(info.machine, info.bytes);
            if (info.machine < 0) load_spilled(info, index = temporary(Class::Vec, info.bytes, used));
            return ax::Mem(base, index, o.shift, offset, o.bytes);
        }
        return ax::Mem(base, address_reg(o.index, used), o.shift, offset, o.bytes);
    }

    aj::Operand operand(const Ins& ins, int i, Temporaries& used, aj::Operand& store_back) {
        const Operand& o = ins.o[i];
        switch (o.kind) {
            case Operand::Kind::Immediate: return aj::Imm(o.value);
            case Operand::Kind::Label: return labels_[static_cast<std::size_t>(o.value)];
            case Operand::Kind::Memory: return address(o, used);
            case Operand::Kind::None: return {};
            case Operand::Kind::Register: break;
        }
        int id;
        if (fixed(o.reg, id)) return gp_reg(id, o.bytes);
        const RegInfo& info = code_.regs[o.reg.id];
        if (info.machine >= 0) return machine_reg(info.cls, info.machine, o.bytes);
        if (i > 0 && may_be_memory(ins, i, info)) return spilled_operand(ins, o, info);
        const bool writes = i == 0 && ins.writes_first, only_written = writes && !reads_result(ins);
        if (only_written && info.cls == Class::Vec && used.vec > 0) --used.vec;  // where a source was
        const ax::Reg to = temporary(info.cls, o.bytes, used);
        if (!only_written) load_spilled(info, to);
        if (writes) store_back = to;
        return to;
    }

    bool may_be_memory(const Ins& ins, int i, const RegInfo& info) const {
        if (info.cls == Class::Gp)
            return ins.id == Id::kIdMov && ins.o[i].bytes == 8 && ins.o[0].kind == Operand::Kind::Register;
        if (info.cls != Class::Vec || !ins.element) return false;
        const bool last = i + 1 == ins.count || ins.o[i + 1].kind == Operand::Kind::Immediate;
        if (!last) return false;
        if (info.constant && info.pool_bytes == ins.o[i].bytes) return true;
        if (info.constant) return wide_ && info.pool_bytes == ins.element && info.pool_bytes < ins.o[i].bytes;
        return info.bytes == ins.o[i].bytes;
    }

    aj::Operand spilled_operand(const Ins& ins, const Operand& o, const RegInfo& info) const {
        if (!info.constant) return slot_of(info, o.bytes);
        ax::Mem memory = pool_at(info.pool_offset, info.pool_bytes);
        if (info.pool_bytes == o.bytes) return memory;
        const int times = o.bytes / ins.element;
        memory.setBroadcast(times == 16  ? ax::Mem::Broadcast::k1To16
                            : times == 8 ? ax::Mem::Broadcast::k1To8
                            : times == 4 ? ax::Mem::Broadcast::k1To4
                                         : ax::Mem::Broadcast::k1To2);
        return memory;
    }

    void translate(const Ins& ins) {
        switch (ins.id) {
            case kMove: return move(ins);
            case kConstant:
                if (const RegInfo& r = code_.regs[ins.o[0].reg.id]; r.machine >= 0)
                    load_constant(r, machine_reg(r.cls, r.machine, r.bytes));
                return;
            case kBind: a_.bind(labels_[static_cast<std::size_t>(ins.o[0].value)]); return;
            case kLoopBegin:
            case kLoopEnd:
            case kKeep: return;
            case kCall:
                a_.mov(ax::rax, static_cast<std::uint64_t>(ins.o[0].value));
                a_.call(thunk_);
                return;
            default: break;
        }
        Temporaries used{.ins = &ins};
        aj::Operand o[4], store_back, unused;
        for (int i = ins.count - 1; i > 0; --i) o[i] = operand(ins, i, used, unused);
        o[0] = operand(ins, 0, used, store_back);
        ax::KReg lanes;
        if (ins.lanes.id >= 0) {
            const RegInfo& info = code_.regs[ins.lanes.id];
            if (info.machine >= 0) lanes = ax::k(info.machine);
            else load_spilled(info, lanes = temporary(Class::Mask, 8, used).as<ax::KReg>());
        }
        if (ins.lanes.id >= 0) {
            a_.setExtraReg(lanes);
            if (ins.zeroes) a_.addInstOptions(aj::InstOptions::kX86_ZMask);
        }
        switch (ins.count) {
            case 0: a_.emit(ins.id); break;
            case 1: a_.emit(ins.id, o[0]); break;
            case 2: a_.emit(ins.id, o[0], o[1]); break;
            case 3: a_.emit(ins.id, o[0], o[1], o[2]); break;
            default: a_.emit(ins.id, o[0], o[1], o[2], o[3]); break;
        }
        if (!store_back.isNone()) store_spilled(code_.regs[ins.o[0].reg.id], store_back.as<ax::Reg>());
        give_back(used);
    }

    void move(const Ins& ins) {
        int to = 0, from = 0;
        const bool to_fixed = fixed(ins.o[0].reg, to), from_fixed = fixed(ins.o[1].reg, from);
        if (to_fixed || from_fixed) {
            Temporaries used;
            aj::Operand store_back, unused;
            Ins plain = ins;
            plain.id = Id::kIdMov;
            const aj::Operand source = operand(plain, 1, used, unused), target = operand(plain, 0, used, store_back);
            a_.emit(Id::kIdMov, target, source);
            if (!store_back.isNone()) store_spilled(code_.regs[ins.o[0].reg.id], store_back.as<ax::Reg>());
            return;
        }
        const RegInfo &a = code_.regs[ins.o[0].reg.id], &b = code_.regs[ins.o[1].reg.id];
        if (a.machine >= 0 && a.machine == b.machine) return;
        if (b.machine < 0 && a.machine >= 0) return load_spilled(b, machine_reg(a.cls, a.machine, b.bytes));
        ax::Reg source;
        if (b.machine >= 0) source = machine_reg(b.cls, b.machine, b.bytes);
        else {
            Temporaries used{.ins = &ins};
            load_spilled(b, source = temporary(b.cls, b.bytes, used));
            store_spilled(a, source);
            return give_back(used);
        }
        if (a.machine < 0) return store_spilled(a, source);
        if (a.cls == Class::Gp) a_.emit(Id::kIdMov, gp_reg(a.machine, 8), gp_reg(source.id(), 8));
        else if (a.cls == Class::Mask) a_.emit(Id::kIdKmovq, ax::k(a.machine), source);
        else a_.emit(Id::kIdVmovaps, vector_reg(a.machine, a.bytes), vector_reg(source.id(), a.bytes));
    }

    const Code& code_;
    const Allocation& places_;
    const bool wide_;
    const void* const helper_;
    aj::CodeHolder holder_;
    ax::Assembler a_;
    aj::StringLogger log_;
    aj::Label pool_, thunk_;
    std::vector<aj::Label> labels_;
    std::vector<int> saved_;
};

}  // namespace

std::shared_ptr<const Machine> assemble(const Code& code, const Allocation& allocation, bool wide, const void* helper,
                                        bool listing) {
    return Assembling(code, allocation, wide, helper, listing).run();
}

bool can_execute() {
    static const bool allowed = [] {
        try {
            CodeMemory(1).seal();
            return true;
        } catch (const BackendError&) {
            return false;
        }
    }();
    return allowed;
}

}  // namespace weft::backend::x86
