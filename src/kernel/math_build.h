// kernel/math_build.h: lets kernel/math_*.cpp write kernel expressions as algebra: `fma(r, p, 1) * scale`, where every
// operator makes one node (constants fold). For these files only.
#pragma once

#include "kernel/kernel.h"

#include <limits>
#include <span>
#include <type_traits>

namespace weft::kernel {

inline constexpr double kInfinity = std::numeric_limits<double>::infinity();
inline constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

// An expression, and the kernel in whose interner it lives.
struct Value {
    const Kernel* kernel;
    NodeRef node;
    DType type() const { return node->dtype; }
};

template <class T>
inline constexpr bool kIsValue = std::is_same_v<T, Value>;
template <class T>
concept Operand = kIsValue<T> || std::is_arithmetic_v<T>;
template <class B, class A>  // at least one is a Value, the other may be a number
concept With = Operand<A> && Operand<B> &&(kIsValue<A> || kIsValue<B>);

// `a` itself, or the constant `a` in the type of `like`.
template <Operand A>
Value lift(const A& a, const Value& like) {
    if constexpr (kIsValue<A>) return a;
    else return {like.kernel, like.kernel->constant(like.type(), a)};
}
template <Operand A, Operand... Rest>
const Value& first_value(const A& a, const Rest&... rest) {
    if constexpr (kIsValue<A>) return a;
    else return first_value(rest...);
}

template <class A, With<A> B>
Value binary(ir::Op op, const A& a, const B& b) {
    const Value& like = first_value(a, b);
    return {like.kernel, like.kernel->binary(op, lift(a, like).node, lift(b, like).node)};
}

// clang-format off
template <class A, With<A> B> Value operator+(const A& a, const B& b) { return binary(ir::Op::Add, a, b); }
template <class A, With<A> B> Value operator-(const A& a, const B& b) { return binary(ir::Op::Sub, a, b); }
template <class A, With<A> B> Value operator*(const A& a, const B& b) { return binary(ir::Op::Mul, a, b); }
template <class A, With<A> B> Value operator/(const A& a, const B& b) { return binary(ir::Op::Div, a, b); }
template <class A, With<A> B> Value operator&(const A& a, const B& b) { return binary(ir::Op::And, a, b); }
template <class A, With<A> B> Value operator|(const A& a, const B& b) { return binary(ir::Op::Or, a, b); }
template <class A, With<A> B> Value operator^(const A& a, const B& b) { return binary(ir::Op::Xor, a, b); }
template <class A, With<A> B> Value operator<<(const A& a, const B& b) { return binary(ir::Op::Shl, a, b); }
template <class A, With<A> B> Value operator>>(const A& a, const B& b) { return binary(ir::Op::Shr, a, b); }
template <class A, With<A> B> Value operator<(const A& a, const B& b) { return binary(ir::Op::CmpLt, a, b); }
template <class A, With<A> B> Value operator>(const A& a, const B& b) { return binary(ir::Op::CmpLt, b, a); }
template <class A, With<A> B> Value operator==(const A& a, const B& b) { return binary(ir::Op::CmpEq, a, b); }
template <class A, With<A> B> Value min(const A& a, const B& b) { return binary(ir::Op::Min, a, b); }
template <class A, With<A> B> Value max(const A& a, const B& b) { return binary(ir::Op::Max, a, b); }
// clang-format on

inline Value unary(ir::Op op, const Value& a) { return {a.kernel, a.kernel->unary(op, a.node)}; }
inline Value operator-(const Value& a) { return unary(ir::Op::Neg, a); }
inline Value abs(const Value& a) { return unary(ir::Op::Abs, a); }
inline Value sqrt(const Value& a) { return unary(ir::Op::Sqrt, a); }
inline Value trunc(const Value& a) { return unary(ir::Op::Trunc, a); }
inline Value cast(const Value& a, DType to) { return {a.kernel, a.kernel->cast(a.node, to)}; }
inline Value bitcast(const Value& a, DType to) { return {a.kernel, a.kernel->make(ir::Op::Bitcast, to, {a.node})}; }

template <Operand A, Operand B, Operand C>
Value fma(const A& a, const B& b, const C& c) {  // a*b + c, rounded once
    const Value& like = first_value(a, b, c);
    return {like.kernel, like.kernel->fma(lift(a, like).node, lift(b, like).node, lift(c, like).node)};
}

// Both branches are computed, always; the one not taken may hold anything.
template <class A, With<A> B>
Value where(const Value& condition, const A& a, const B& b) {
    const Value& like = first_value(a, b);
    return {like.kernel, like.kernel->where(condition.node, lift(a, like).node, lift(b, like).node)};
}
// The same where the condition hardly ever holds, and `a` is expensive: a backend may compute it only if a lane wants it.
inline Value rarely(const Value& condition, const Value& a, const Value& b) {
    return {a.kernel, a.kernel->rarely(condition.node, a.node, b.node)};
}
inline Value constant(const Value& like, const Scalar& value) {
    return {like.kernel, like.kernel->constant(like.type(), value)};
}

// c[0] + c[1] x + c[2] x^2 …, by Horner's rule.
inline Value polynomial(const Value& x, std::span<const double> c) {
    Value sum = constant(x, c.back());
    for (std::size_t i = c.size() - 1; i-- > 0;) sum = fma(sum, x, c[i]);
    return sum;
}

inline Value lookup(const Value& index, const float (&entries)[ir::kTableSize]) {  // entries[index % kTableSize]
    return {index.kernel, index.kernel->make(ir::Op::Lookup, DType::F32, {index.node}, ir::TableArg{entries})};
}
// at_centre + c1 y + c2 y^2 …, where y = x - centre: another polynomial for each index. The tables: centres, values there, c1, c2 …
template <std::size_t N>
Value piecewise(const Value& x, const Value& index, const float (&tables)[N][ir::kTableSize], const Value& at_centre) {
    const Value y = x - lookup(index, tables[0]);
    Value sum = lookup(index, tables[N - 1]);
    for (std::size_t k = N - 1; k-- > 2;) sum = fma(sum, y, lookup(index, tables[k]));
    return fma(sum, y, at_centre);
}

// ---- the bits of a float --------------------------------------------------------------------------------------------

struct Format {
    DType bits;          // the unsigned integer of the same width
    int mantissa;        // explicit bits: 23, 52
    int bias;            // of the exponent: 127, 1023
    std::uint64_t sign;  // mask
    std::uint64_t root;  // the bits of sqrt(1/2)

    bool narrow() const { return mantissa == 23; }
    std::span<const double> pick(std::span<const double> for_f32, std::span<const double> for_f64) const {
        return narrow() ? for_f32 : for_f64;
    }
    double pick(double for_f32, double for_f64) const { return narrow() ? for_f32 : for_f64; }
    std::uint64_t exponent(int e) const {  // the bits of 2^e
        return static_cast<std::uint64_t>(bias + e) << mantissa;
    }
    // Adding this to |v| < 2^(mantissa-1) rounds v to the nearest integer, which then is the low end of the mantissa:
    // no conversion between floats and integers, which not every vector unit has.
    double magic() const { return narrow() ? 0x1.8p23 : 0x1.8p52; }
};

inline constexpr Format kFormat32{DType::U32, 23, 127, 0x80000000, 0x3f3504f3};
inline constexpr Format kFormat64{DType::U64, 52, 1023, 0x8000000000000000, 0x3fe6a09e667f3bcd};
inline const Format& format_of(const Value& x) { return x.type() == DType::F32 ? kFormat32 : kFormat64; }

// |magnitude| with the sign of x; the magnitude is not negative.
inline Value with_sign_of(const Value& x, const Value& magnitude) {
    const Format& format = format_of(x);
    const Value sign = bitcast(x, format.bits) & format.sign;
    return bitcast(bitcast(magnitude, format.bits) | sign, x.type());
}

// ---- shared between the topics --------------------------------------------------------------------------------------

// x = n ln 2 + r, |r| <= ln(2)/2 (exp); or x = n + r, |r| <= 1/2 (exp2). `shifted` holds n in its low bits as well.
struct Reduced {
    Value r, n, shifted;
};
Reduced reduce_exp(const Value& x, int parts = 2);  // of ln 2
Reduced reduce_exp2(const Value& x);
Value exp_polynomial(const Value& r);                    // exp(r)
Value exp2_polynomial(const Value& r);                   // 2^r
Value power_of_two(const Value& shifted, int plus = 0);  // 2^(n + plus), which has to be a normal number
inline Value scale(const Value& p, const Value& n) {     // p 2^n; infinite or subnormal if need be
    return {p.kernel, p.kernel->make(ir::Op::Scale, p.type(), {p.node, n.node})};
}

// x = 2^e m with sqrt(1/2) <= m < sqrt(2), for positive normal x. The exponent field of u is that of 2^e, the rest of u
// is what m is above sqrt(1/2).
Value split_bits(const Value& x);                                // u
Value exponent_plus_bias(const Value& u, const Format& format);  // e + bias + 2^mantissa, as a float
Value mantissa_of(const Value& u, const Format& format);         // m

// For |r| <= pi/4, and a little.
Value sin_polynomial(const Value& r);
Value cos_polynomial(const Value& r);

// ---- the functions --------------------------------------------------------------------------------------------------

Value make_exp(const Value& x);
Value make_exp2(const Value& x);
Value make_expm1(const Value& x);
Value make_sinh(const Value& x);
Value make_cosh(const Value& x);
Value make_tanh(const Value& x);
Value make_log(const Value& x);
Value make_log2(const Value& x);
Value make_log1p(const Value& x);
Value make_sin(const Value& x);
Value make_cos(const Value& x);
Value make_tan(const Value& x);
Value make_asin(const Value& x);
Value make_acos(const Value& x);
Value make_atan(const Value& x);
Value make_erf(const Value& x);
Value make_erfc(const Value& x);
Value make_erfinv(const Value& x);
Value make_lgamma(const Value& x);
Value make_digamma(const Value& x);
Value make_pow(const Value& x, const Value& y);
Value make_mod(const Value& a, const Value& b);

}  // namespace weft::kernel
