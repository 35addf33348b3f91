// ir/op_table.cpp: row i describes Op(i). A new elementwise op is one row here, one derivative, one method and one test.
// The evaluators define the exact result of each op, edge cases included; folding and `ref` run them, backends match them.
#include "ir/op.h"

#include "core/threefry.h"

#include <weft/error.h>

#include <array>
#include <cmath>
#include <limits>
#include <utility>

namespace weft::ir {
namespace {

// Integers wrap: the arithmetic is done unsigned, in 64 bits, and cut to width.
template <class T, class F>
T wrapped(F f, T a, T b = 0) {
    return static_cast<T>(f(static_cast<std::uint64_t>(a), static_cast<std::uint64_t>(b)));
}

struct EvalNeg {
    template <class T>
    T operator()(T a) const {
        if constexpr (std::is_integral_v<T>) return wrapped([](auto x, auto) { return 0 - x; }, a);
        else return -a;
    }
};
struct EvalAbs {
    template <class T>
    T operator()(T a) const {
        if constexpr (std::is_floating_point_v<T>) return std::fabs(a);
        else if constexpr (std::is_signed_v<T>) return a < 0 ? EvalNeg()(a) : a;
        else return a;
    }
};
struct EvalRecip {
    template <class T>
    T operator()(T a) const {
        return T(1) / a;
    }
};
struct EvalSqrt {
    template <class T>
    T operator()(T a) const {
        return std::sqrt(a);
    }
};
struct EvalTrunc {
    template <class T>
    T operator()(T a) const {
        if constexpr (std::is_floating_point_v<T>) return std::trunc(a);
        else return a;
    }
};
struct EvalAdd {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>) return wrapped([](auto x, auto y) { return x + y; }, a, b);
        else return a + b;
    }
};
struct EvalSub {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>) return wrapped([](auto x, auto y) { return x - y; }, a, b);
        else return a - b;
    }
};
struct EvalMul {
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_integral_v<T>) return wrapped([](auto x, auto y) { return x * y; }, a, b);
        else return a * b;
    }
};
struct EvalDiv {
    template <class T>
    T operator()(T a, T b) const {
        return a / b;
    }
};
struct EvalIDiv {  // floors; x / 0 is 0, the lowest integer / -1 wraps
    template <class T>
    T operator()(T a, T b) const {
        if (b == 0) return 0;
        if constexpr (std::is_signed_v<T>) {
            if (b == -1) return EvalNeg()(a);
            return static_cast<T>(a / b - ((a % b != 0) && ((a < 0) != (b < 0))));
        } else return static_cast<T>(a / b);
    }
};
struct EvalMod {  // the sign of the divisor; x % 0 is 0 for integers, NaN for floats
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_floating_point_v<T>) {
            const T remainder = std::fmod(a, b);
            return remainder != 0 && ((remainder < 0) != (b < 0)) ? remainder + b : remainder;
        } else if constexpr (std::is_signed_v<T>) {
            if (b == 0 || b == -1) return 0;
            const T remainder = static_cast<T>(a % b);
            return remainder != 0 && ((remainder < 0) != (b < 0)) ? static_cast<T>(remainder + b) : remainder;
        } else return b == 0 ? T(0) : static_cast<T>(a % b);
    }
};
struct
    EvalPow {  // integers only; floats are expanded by kernel/math. A negative exponent gives 1 / a, floored to an integer
    template <class T>
    T operator()(T a, T b) const {
        if constexpr (std::is_signed_v<T>) {
            if (b < 0) return a == 1 ? T(1) : a == T(-1) ? (b % 2 ? T(-1) : T(1)) : T(0);
        }
        std::uint64_t result = 1, base = static_cast<std::uint64_t>(a), exponent = static_cast<std::uint64_t>(b);
        for (; exponent; exponent >>= 1, base *= base)
            if (exponent & 1) result *= base;
        return static_cast<T>(result);
    }
};
// NaN wins: if a is NaN it is returned, and if b is, a > b is false. Equal operands (+0, -0) give b.
struct EvalMax {
    template <class T>
    T operator()(T a, T b) const {
        return a > b || a != a ? a : b;
    }
};
struct EvalMin {
    template <class T>
    T operator()(T a, T b) const {
        return a < b || a != a ? a : b;
    }
};
struct EvalLt {
    template <class T>
    bool operator()(T a, T b) const {
        return a < b;
    }
};
struct EvalLe {
    template <class T>
    bool operator()(T a, T b) const {
        return a <= b;
    }
};
struct EvalEq {
    template <class T>
    bool operator()(T a, T b) const {
        return a == b;
    }
};
struct EvalAnd {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a & b);
    }
};
struct EvalOr {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a | b);
    }
};
struct EvalXor {
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a ^ b);
    }
};
template <class T>
bool shift_in_range(T amount) {
    return static_cast<std::uint64_t>(amount) < 8 * sizeof(T);  // a negative amount is a huge one
}
struct EvalShl {  // too far: 0
    template <class T>
    T operator()(T a, T b) const {
        return shift_in_range(b) ? static_cast<T>(static_cast<std::uint64_t>(a) << b) : T(0);
    }
};
struct EvalShr {  // arithmetic for signed types; too far: 0, or -1 for negative values
    template <class T>
    T operator()(T a, T b) const {
        return static_cast<T>(a >> (shift_in_range(b) ? static_cast<int>(b) : static_cast<int>(8 * sizeof(T)) - 1) >>
                              (shift_in_range(b) || std::is_signed_v<T> ? 0 : 1));
    }
};

struct EvalGcd {  // of the magnitudes, by Euclid's algorithm; gcd(0, b) is |b|, that of the lowest integer wraps
    template <class T>
    T operator()(T a, T b) const {
        using U = std::make_unsigned_t<T>;
        U x = static_cast<U>(EvalAbs()(a)), y = static_cast<U>(EvalAbs()(b));
        while (y != 0) x = std::exchange(y, static_cast<U>(x % y));
        return static_cast<T>(x);
    }
};

// a * 2^floor(b), rounded once, for |b| <= 252 (f64: 2,044) that are whole eighths: in two steps, of which the first is exact.
struct EvalScale {
    template <class T>
    T operator()(T a, T b) const {
        if (b != b) return b;
        const int whole = static_cast<int>(std::floor(b)), half = whole >> 1;
        const auto power = [](int e) {
            if constexpr (sizeof(T) == 4) return std::bit_cast<float>(static_cast<std::uint32_t>(e + 127) << 23);
            else return std::bit_cast<double>(static_cast<std::uint64_t>(e + 1023) << 52);
        };
        if constexpr (std::is_floating_point_v<T>) return a * power(half) * power(whole - half);
        else return a;
    }
};

// To the nearest number with 10 bits behind the point, ties away from zero: what tensor cores multiply as tf32. An f64 stays as it is.
struct EvalRoundTf32 {
    template <class T>
    T operator()(T a) const {
        if constexpr (!std::is_same_v<T, float>) return a;
        else return a != a ? a : std::bit_cast<float>((std::bit_cast<std::uint32_t>(a) + 0x1000u) & ~0x1fffu);
    }
};

enum Types { kFloats = 1, kInts = 2, kBools = 4 };

template <class F, int Allowed, int Arity>
Word eval(DType t, const Word* in) {
    return visit_dtype(t, [&](auto zero) -> Word {
        using T = decltype(zero);
        constexpr bool kAllowed = std::is_same_v<T, bool>       ? (Allowed & kBools) != 0
                                  : std::is_floating_point_v<T> ? (Allowed & kFloats) != 0
                                  : std::is_integral_v<T>       ? (Allowed & kInts) != 0
                                                                : false;
        if constexpr (!kAllowed) throw InternalError("an op was evaluated on a dtype that it is not defined for");
        else if constexpr (Arity == 1) return to_word(F()(from_word<T>(in[0])));
        else return to_word(F()(from_word<T>(in[0]), from_word<T>(in[1])));
    });
}

Word eval_where(DType, const Word* in) { return in[0] ? in[1] : in[2]; }

Word eval_fma(DType t, const Word* in) {
    if (t == DType::F32)
        return to_word(std::fma(from_word<float>(in[0]), from_word<float>(in[1]), from_word<float>(in[2])));
    if (t == DType::F64)
        return to_word(std::fma(from_word<double>(in[0]), from_word<double>(in[1]), from_word<double>(in[2])));
    throw InternalError("fma of a dtype other than f32 and f64");
}

// The first or the second word of what a counter of two words becomes under a key.
template <bool second>
Word eval_threefry(DType, const Word* in) {
    const std::uint64_t bits = weft::threefry(in[2], in[1] << 32 | static_cast<std::uint32_t>(in[0]));
    return to_word(static_cast<std::uint32_t>(second ? bits >> 32 : bits));
}

constexpr int kNumbers = kFloats | kInts, kAll = kNumbers | kBools, kBits = kInts | kBools;
using enum OpKind;
using R = DTypeRule;
using I = Identity;

constexpr OpInfo leaf(Op op, std::string_view name) { return {.op = op, .name = name, .kind = Leaf, .arity = 0}; }
constexpr OpInfo view(Op op, std::string_view name, int arity = 1) {
    return {.op = op, .name = name, .kind = Movement, .arity = static_cast<std::int8_t>(arity), .cost = 0};
}
constexpr OpInfo maths(Op op, std::string_view name, int cost) {
    return {.op = op, .name = name, .kind = Math, .arity = 1, .dtype = R::FloatOnly, .cost = cost};
}

// clang-format off
constexpr OpInfo kOps[] = {
    leaf(Op::Buffer, "buffer"), leaf(Op::Const, "const"), leaf(Op::Var, "var"), leaf(Op::Iota, "iota"),
    view(Op::Reshape, "reshape"), view(Op::Permute, "permute"), view(Op::Expand, "expand"),
    view(Op::Shrink, "shrink"), view(Op::Pad, "pad"), view(Op::Flip, "flip"), view(Op::Skew, "skew"),
    view(Op::Unskew, "unskew"), view(Op::Insert, "insert", 2),

    {.op = Op::Neg, .name = "neg", .kind = Unary, .arity = 1, .dtype = R::Number, .c = "-$0", .eval = eval<EvalNeg, kNumbers, 1>},
    {.op = Op::Abs, .name = "abs", .kind = Unary, .arity = 1, .dtype = R::Number, .eval = eval<EvalAbs, kNumbers, 1>},
    {.op = Op::Recip, .name = "recip", .kind = Unary, .arity = 1, .dtype = R::FloatOnly, .c = "1 / $0", .eval = eval<EvalRecip, kFloats, 1>, .cost = 8},
    {.op = Op::Sqrt, .name = "sqrt", .kind = Unary, .arity = 1, .dtype = R::FloatOnly, .eval = eval<EvalSqrt, kFloats, 1>, .cost = 10},
    {.op = Op::Trunc, .name = "trunc", .kind = Unary, .arity = 1, .dtype = R::FloatOnly, .eval = eval<EvalTrunc, kFloats, 1>},
    {.op = Op::Cast, .name = "cast", .kind = Unary, .arity = 1, .dtype = R::Explicit},
    {.op = Op::Bitcast, .name = "bitcast", .kind = Unary, .arity = 1, .dtype = R::Explicit, .cost = 0},

    maths(Op::Exp, "exp", 20), maths(Op::Exp2, "exp2", 20), maths(Op::Expm1, "expm1", 24), maths(Op::Log, "log", 22),
    maths(Op::Log2, "log2", 22), maths(Op::Log1p, "log1p", 28), maths(Op::Sin, "sin", 40), maths(Op::Cos, "cos", 40),
    maths(Op::Tan, "tan", 50), maths(Op::Asin, "asin", 30), maths(Op::Acos, "acos", 30), maths(Op::Atan, "atan", 30),
    maths(Op::Sinh, "sinh", 30), maths(Op::Cosh, "cosh", 30), maths(Op::Tanh, "tanh", 30), maths(Op::Erf, "erf", 35),
    maths(Op::Erfc, "erfc", 60), maths(Op::Erfinv, "erfinv", 80), maths(Op::Lgamma, "lgamma", 110), maths(Op::Digamma, "digamma", 80),

    {.op = Op::Add, .name = "add", .kind = Binary, .arity = 2, .dtype = R::Number, .identity = I::Zero, .commutative = true, .c = "$0 + $1", .eval = eval<EvalAdd, kNumbers, 2>},
    {.op = Op::Sub, .name = "sub", .kind = Binary, .arity = 2, .dtype = R::Number, .c = "$0 - $1", .eval = eval<EvalSub, kNumbers, 2>},
    {.op = Op::Mul, .name = "mul", .kind = Binary, .arity = 2, .dtype = R::Number, .identity = I::One, .commutative = true, .c = "$0 * $1", .eval = eval<EvalMul, kNumbers, 2>},
    {.op = Op::Div, .name = "div", .kind = Binary, .arity = 2, .dtype = R::FloatOnly, .c = "$0 / $1", .eval = eval<EvalDiv, kFloats, 2>, .cost = 8},
    {.op = Op::Pow, .name = "pow", .kind = Binary, .arity = 2, .dtype = R::Number, .eval = eval<EvalPow, kInts, 2>, .cost = 60},
    {.op = Op::IDiv, .name = "idiv", .kind = Binary, .arity = 2, .dtype = R::Number, .eval = eval<EvalIDiv, kInts, 2>, .cost = 12},
    {.op = Op::Mod, .name = "mod", .kind = Binary, .arity = 2, .dtype = R::Number, .eval = eval<EvalMod, kNumbers, 2>, .cost = 14},
    {.op = Op::Max, .name = "max", .kind = Binary, .arity = 2, .dtype = R::Any, .identity = I::Lowest, .eval = eval<EvalMax, kAll, 2>},
    {.op = Op::Min, .name = "min", .kind = Binary, .arity = 2, .dtype = R::Any, .identity = I::Highest, .eval = eval<EvalMin, kAll, 2>},
    {.op = Op::CmpLt, .name = "lt", .kind = Compare, .arity = 2, .dtype = R::ToBool, .c = "$0 < $1", .eval = eval<EvalLt, kAll, 2>},
    {.op = Op::CmpLe, .name = "le", .kind = Compare, .arity = 2, .dtype = R::ToBool, .c = "$0 <= $1", .eval = eval<EvalLe, kAll, 2>},
    {.op = Op::CmpEq, .name = "eq", .kind = Compare, .arity = 2, .dtype = R::ToBool, .commutative = true, .c = "$0 == $1", .eval = eval<EvalEq, kAll, 2>},
    {.op = Op::And, .name = "and", .kind = Binary, .arity = 2, .dtype = R::IntOrBool, .commutative = true, .c = "$0 & $1", .eval = eval<EvalAnd, kBits, 2>},
    {.op = Op::Or, .name = "or", .kind = Binary, .arity = 2, .dtype = R::IntOrBool, .commutative = true, .c = "$0 | $1", .eval = eval<EvalOr, kBits, 2>},
    {.op = Op::Xor, .name = "xor", .kind = Binary, .arity = 2, .dtype = R::IntOrBool, .commutative = true, .c = "$0 ^ $1", .eval = eval<EvalXor, kBits, 2>},
    {.op = Op::Shl, .name = "shl", .kind = Binary, .arity = 2, .dtype = R::IntOnly, .eval = eval<EvalShl, kInts, 2>},
    {.op = Op::Shr, .name = "shr", .kind = Binary, .arity = 2, .dtype = R::IntOnly, .eval = eval<EvalShr, kInts, 2>},
    {.op = Op::Gcd, .name = "gcd", .kind = Binary, .arity = 2, .dtype = R::IntOnly, .commutative = true, .eval = eval<EvalGcd, kInts, 2>, .cost = 200},

    {.op = Op::Where, .name = "where", .kind = Ternary, .arity = 3, .dtype = R::Explicit, .eval = eval_where},
    {.op = Op::ThreefryX, .name = "threefry_x", .kind = Ternary, .arity = 3, .dtype = R::Explicit, .eval = eval_threefry<false>, .cost = 110},
    {.op = Op::ThreefryY, .name = "threefry_y", .kind = Ternary, .arity = 3, .dtype = R::Explicit, .eval = eval_threefry<true>, .cost = 110},

    {.op = Op::Reduce, .name = "reduce", .kind = Reduce, .arity = 1},
    {.op = Op::Scan, .name = "scan", .kind = Reduce, .arity = 1},

    {.op = Op::Gather, .name = "gather", .kind = Index, .arity = 2},
    {.op = Op::Scatter, .name = "scatter", .kind = Index, .arity = 3},
    {.op = Op::Check, .name = "check", .kind = Index, .arity = 1},

    {.op = Op::Contiguous, .name = "contiguous", .kind = Marker, .arity = 1, .cost = 0},
    {.op = Op::Leaf, .name = "leaf", .kind = Marker, .arity = 1, .cost = 0},
    {.op = Op::Detach, .name = "detach", .kind = Marker, .arity = 1, .cost = 0},
    {.op = Op::WithGrad, .name = "withgrad", .kind = Marker, .arity = -1, .cost = 0},
    {.op = Op::Custom, .name = "custom", .kind = Marker, .arity = -1},
    {.op = Op::Part, .name = "part", .kind = Marker, .arity = 1, .cost = 0},
    {.op = Op::ToDevice, .name = "to_device", .kind = Marker, .arity = 1, .cost = 0},

    {.op = Op::Param, .name = "param", .kind = Leaf, .arity = 0},
    {.op = Op::ScalarParam, .name = "scalar", .kind = Leaf, .arity = 0},
    {.op = Op::LoopVar, .name = "loopvar", .kind = Leaf, .arity = 0},
    {.op = Op::Load, .name = "load", .kind = Kernel, .arity = -1},
    {.op = Op::Fma, .name = "fma", .kind = Kernel, .arity = 3, .dtype = R::FloatOnly, .c = "fma($0, $1, $2)", .eval = eval_fma},
    {.op = Op::Scale, .name = "scale", .kind = Kernel, .arity = 2, .dtype = R::FloatOnly, .eval = eval<EvalScale, kFloats, 2>},
    {.op = Op::RoundTf32, .name = "round_tf32", .kind = Kernel, .arity = 1, .dtype = R::FloatOnly, .eval = eval<EvalRoundTf32, kFloats, 1>},
    {.op = Op::Lookup, .name = "lookup", .kind = Kernel, .arity = 1, .dtype = R::Explicit},
};
// clang-format on

consteval bool complete_and_in_order() {
    if (std::size(kOps) != kOpCount) return false;
    for (int i = 0; i < kOpCount; ++i)
        if (static_cast<int>(kOps[i].op) != i) return false;
    return true;
}
static_assert(complete_and_in_order());

}  // namespace

const OpInfo& info(Op op) { return kOps[static_cast<int>(op)]; }

Word identity_word(Op op, DType dtype) {
    return visit_dtype(dtype, [&](auto zero) -> Word {
        using T = decltype(zero);
        if constexpr (std::is_same_v<T, Half> || std::is_same_v<T, BFloat16>) {
            return cast_word(DType::F32, dtype, identity_word(op, DType::F32));
        } else {
            using Limits = std::numeric_limits<T>;
            switch (info(op).identity) {
                case Identity::Zero: return to_word(T(0));
                case Identity::One: return to_word(T(1));
                case Identity::Lowest: return to_word(Limits::has_infinity ? T(-Limits::infinity()) : Limits::lowest());
                case Identity::Highest: return to_word(Limits::has_infinity ? Limits::infinity() : Limits::max());
                case Identity::None: break;
            }
            throw InternalError("a reduction over an op without a neutral element");
        }
    });
}

}  // namespace weft::ir
