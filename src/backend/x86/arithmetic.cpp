// backend/x86/arithmetic.cpp: scaling by powers of two, and quotients of 32 bits.
#include "backend/x86/arithmetic.h"

#include "backend/x86/instructions.h"

namespace weft::backend::x86 {

// a * 2^n with n = floor(b), as the product of a, 2^half and 2^(n - half).
Value Arithmetic::scale(const Value& a, const Value& b, DType t) {
    const int lane = static_cast<int>(size_of(t)), bytes = width(a);
    const auto reg = [&](const Value& v) { return vec(v.reg, bytes); };
    const auto fresh = [&] { return like(a, vec_reg(bytes)); };
    // Adding the magic number leaves b's eighths in the low bits, plus what makes floor(b) twice an exponent's bias.
    // What it leaves above is shifted out again.
    const Word magic = lane == 4 ? to_word(0x1.8p20f + 254) : to_word(0x1.8p49 + 2046);
    const Value shifted = fresh(), whole = fresh(), half = fresh(), other = fresh();
    arithmetic(kAddF(lane), lane, {reg(shifted), reg(b), reg(constant_like(a, t, magic))});
    put(kShrImm(lane), {reg(whole), reg(shifted), imm(3)});
    put(kShrImm(lane), {reg(half), reg(shifted), imm(4)});
    put(kSub(lane), {reg(other), reg(whole), reg(half)});
    Value product = a;
    for (const Value& exponent : {half, other}) {
        const Value power = fresh(), next = fresh();
        put(kShlImm(lane), {reg(power), reg(exponent), imm(lane == 4 ? 23 : 52)});
        put(kMulF(lane), {reg(next), reg(product), reg(power)});
        product = next;
    }
    return product;
}

// By the argument of Emitter::vector_division; in two halves where the doubles do not fit one register. The lowest
// number by -1 is out of range and comes back as itself.
Value Arithmetic::quotient_in_doubles(const Value& a, const Value& b, bool is_unsigned_type) {
    const bool halves = 8 * lanes_ > most_bytes();
    const int bytes = width(4), part_bytes = halves ? bytes / 2 : bytes, doubles = halves ? most_bytes() : 8 * lanes_;
    const auto part = [&](const Value& v, int p) {
        if (p == 0) return v.reg;
        const Reg upper = vec_reg(part_bytes);
        put(wide_ ? Id::kIdVextracti64x4 : Id::kIdVextracti128, {vec(upper, part_bytes), vec(v.reg, bytes), imm(1)});
        return upper;
    };
    const auto to_doubles = [&](Reg to, Reg from) {
        if (is_unsigned_type && !wide_) return unsigned_to_doubles(to, from, doubles);
        put(is_unsigned_type ? Id::kIdVcvtudq2pd : Id::kIdVcvtdq2pd, {vec(to, doubles), vec(from, part_bytes)});
    };
    const auto from_doubles = [&](Reg to, Reg from) {
        if (is_unsigned_type && !wide_) return doubles_to_unsigned(to, from);
        put(is_unsigned_type ? Id::kIdVcvttpd2udq : Id::kIdVcvttpd2dq, {vec(to, part_bytes), vec(from, doubles)});
    };
    const auto quotient = [&](int p, Reg to) {
        const Reg x = vec_reg(doubles), y = vec_reg(doubles), ratio = vec_reg(doubles), low = vec_reg(doubles);
        to_doubles(x, part(a, p));
        to_doubles(y, part(b, p));
        put(Id::kIdVdivpd, {vec(ratio, doubles), vec(x, doubles), vec(y, doubles)});
        put(wide_ ? Id::kIdVrndscalepd : Id::kIdVroundpd, {vec(low, doubles), vec(ratio, doubles), imm(kFloor)});
        from_doubles(to, low);
    };
    const Value result = new_vector(4);
    if (!halves) {
        quotient(0, result.reg);
        return result;
    }
    const Reg lower = vec_reg(bytes), upper = vec_reg(part_bytes);
    quotient(0, lower);
    quotient(1, upper);
    put(wide_ ? Id::kIdVinserti64x4 : Id::kIdVinserti128,
        {vec(result.reg, bytes), vec(lower, bytes), vec(upper, part_bytes), imm(1)});
    return result;
}

}  // namespace weft::backend::x86
