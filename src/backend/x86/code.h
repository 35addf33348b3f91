// backend/x86/code.h: machine code before registers are assigned: a list of instructions over virtual registers, with the
// borders of loops marked. builder.h writes it, allocate.h gives every virtual register a place, assemble.h makes bytes of it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace weft::backend::x86 {

enum class Class : std::uint8_t { Gp, Vec, Mask };

// A virtual register (id >= 0), or one of the three that are never assigned and serve instructions which insist on them.
struct Reg {
    int id = -1;
    friend bool operator==(Reg, Reg) = default;
};
inline constexpr Reg kNone{-1}, kRax{-2}, kRcx{-3}, kRdx{-4};

struct Operand {
    enum class Kind : std::uint8_t { None, Register, Memory, Immediate, Label };
    enum class Base : std::uint8_t { Register, Frame, Pool };  // of Memory: a register, the stack frame, the constants

    Kind kind = Kind::None;
    std::uint8_t bytes = 0;  // of the register or of what is accessed; 0: as the instruction says
    std::uint8_t shift = 0;  // Memory: the index counts by 1 << shift
    Base base = Base::Register;
    Reg reg, index;
    std::int64_t value = 0;  // displacement, immediate, label
    bool local = false;      // Memory: a buffer of the kernel's own, where nothing else lies
};

// Whether two places in memory may be one. The frame is the kernel's own as well.
inline bool may_overlap(const Operand& a, const Operand& b) {
    const auto local = [](const Operand& o) { return o.local || o.base == Operand::Base::Frame; };
    return local(a) == local(b);
}

inline Operand gp(Reg r, int bytes = 8) {
    return {Operand::Kind::Register, static_cast<std::uint8_t>(bytes), 0, {}, r, {}, 0};
}
inline Operand vec(Reg r, int bytes) { return gp(r, bytes); }
inline Operand mask(Reg r) { return gp(r, 8); }
inline Operand imm(std::int64_t value) { return {Operand::Kind::Immediate, 0, 0, {}, {}, {}, value}; }
inline Operand label(int number) { return {Operand::Kind::Label, 0, 0, {}, {}, {}, number}; }
inline Operand memory(Reg base, std::int64_t offset, int bytes = 0, Reg index = kNone, int shift = 0) {
    return {Operand::Kind::Memory,
            static_cast<std::uint8_t>(bytes),
            static_cast<std::uint8_t>(shift),
            {},
            base,
            index,
            offset};
}
inline Operand frame(std::int64_t offset, int bytes = 0, Reg index = kNone, int shift = 0) {
    Operand m = memory(kNone, offset, bytes, index, shift);
    m.base = Operand::Base::Frame;
    return m;
}
inline Operand pool(std::int64_t offset, int bytes = 0) {
    Operand m = memory(kNone, offset, bytes);
    m.base = Operand::Base::Pool;
    return m;
}

// What is no instruction of the machine.
enum Pseudo : std::uint32_t {
    kMove = 0x80000000,  // register to register of one class; nothing if both get the same place
    kConstant,   // a vector or mask register gets its value from the constants: may be done again instead of spilling
    kBind,       // a label stands here
    kLoopBegin,  // so many iterations (operand 0, an immediate)
    kLoopEnd,
    kKeep,  // the registers named live until here
    kCall,  // calls helper(operand 0, an immediate pointer), which keeps all registers
};

inline constexpr std::int64_t kUnknownTurns = 8;

struct Ins {
    std::uint32_t id = 0;  // asmjit's, or a Pseudo
    std::uint8_t count = 0;
    bool reads_first = false;  // operand 0 is read and written
    bool writes_first = true;  // else it is only read: a compare, a store
    bool zeroes = false;       // lanes that the mask leaves out become 0; else they keep what they were
    bool blends = false;       // the mask chooses between sources, or is one: operand 0 is written whole
    std::uint8_t element = 0;  // the last vector operand may lie in memory; such elements may be broadcast from there
    Reg lanes = kNone;         // the mask
    Operand o[4];
};

// Its result is also an operand: a sum that grows, lanes that a mask leaves alone.
inline bool reads_result(const Ins& ins) {
    return ins.reads_first || (ins.lanes.id >= 0 && !ins.zeroes && !ins.blends);
}

// These use their mask up, and want all their registers to be different ones.
bool is_gather_or_scatter(const Ins& ins);

// Calls f(register, is written, is read) for every register of an instruction.
template <class F>
void for_each_reg(const Ins& ins, F f) {
    const auto visit = [&](Reg r, bool writes, bool reads) {
        if (r.id >= 0) f(r.id, writes, reads);
    };
    for (int i = 0; i < ins.count; ++i) {
        const Operand& o = ins.o[i];
        if (o.kind == Operand::Kind::Register) {
            const bool writes = i == 0 && ins.writes_first;
            visit(o.reg, writes, !writes || reads_result(ins));
        } else if (o.kind == Operand::Kind::Memory) {
            visit(o.reg, false, true);
            visit(o.index, false, true);
        }
    }
    visit(ins.lanes, false, true);
}

struct RegInfo {
    Class cls = Class::Gp;
    std::uint8_t bytes = 8;
    bool constant = false;         // written once, by kConstant
    std::uint8_t pool_bytes = 0;   // constant: so many bytes of the pool, repeated if fewer than the register has
    std::int32_t pool_offset = 0;  // constant: where they lie; the bits themselves for a mask
    // by allocate():
    std::int32_t first = -1, last = -1;  // twice the instruction's number, + 1 for what is written
    float weight = 0;                    // how often it is used, by depth of loops, for its length
    std::int16_t machine = -1;           // the machine's register; -1: in the frame
    std::int32_t slot = -1;              // its place in the frame, or -1
};

struct Code {
    std::vector<Ins> list;
    std::vector<RegInfo> regs;
    std::vector<std::byte> constants;  // the pool
    int labels = 0;
    std::int64_t frame_bytes = 0;  // in use by the emitter; spilled registers follow
    bool calls = false;            // there is a kCall
    bool streams = false;          // stores bypass the cache: a fence at the end

    Reg make(Class cls, int bytes) {
        regs.push_back({.cls = cls, .bytes = static_cast<std::uint8_t>(bytes)});
        return {static_cast<int>(regs.size()) - 1};
    }
};

// The frame begins with the function's arguments as they came in, and the area that helpers read and write.
inline constexpr std::int64_t kArgBuffers = 0, kArgScalars = 8, kArgBegin = 16, kArgEnd = 24, kArgScratch = 32,
                              kArgCheck = 40, kOldStack = 48;
inline constexpr std::int64_t kCallArea = 64, kCallOperand = 128, kCallResult = 3 * kCallOperand, kFrameFree = 64 + 512;

}  // namespace weft::backend::x86
