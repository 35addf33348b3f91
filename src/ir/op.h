// ir/op.h: every operation there is, from the tensor graph to the scalar expressions inside kernels, and the table that
// describes each one. Hashing, printing, verifying, folding, `ref` and the C printer read the table; nothing else lists ops.
#pragma once

#include "core/word.h"

#include <cstdint>
#include <string_view>

namespace weft::ir {

// clang-format off
enum class Op : std::uint8_t {
    // leaves
    Buffer, Const, Var, Iota,
    // movement: index maps, no arithmetic
    Reshape, Permute, Expand, Shrink, Pad, Flip, Skew, Unskew, Insert,
    // unary
    Neg, Abs, Recip, Sqrt, Trunc, Cast, Bitcast,
    Exp, Exp2, Expm1, Log, Log2, Log1p, Sin, Cos, Tan, Asin, Acos, Atan, Sinh, Cosh, Tanh, Erf,
    Erfc, Erfinv, Lgamma, Digamma,
    // binary
    Add, Sub, Mul, Div, Pow, IDiv, Mod, Max, Min, CmpLt, CmpLe, CmpEq, And, Or, Xor, Shl, Shr, Gcd,
    // ternary
    Where, ThreefryX, ThreefryY,
    // reductions
    Reduce, Scan,
    // data-dependent indices
    Gather, Scatter, Check,
    // markers
    Contiguous, Leaf, Detach, WithGrad, Custom, Part, ToDevice,
    // only inside kernels
    Param, ScalarParam, LoopVar, Load, Fma, Scale, RoundTf32, Lookup,
};
// clang-format on
inline constexpr int kOpCount = static_cast<int>(Op::Lookup) + 1;

enum class OpKind : std::uint8_t {
    Leaf,
    Movement,
    Unary,
    Math,
    Binary,
    Compare,
    Ternary,
    Reduce,
    Index,
    Marker,
    Kernel
};
enum class DTypeRule : std::uint8_t {
    Any,        // result = operand type
    Number,     // any but bool; result = operand type
    FloatOnly,  // f32 or f64 (halves are computed in f32, with explicit casts)
    IntOrBool,  // bit ops
    IntOnly,    // shifts
    ToBool,     // any operands of one type, result bool
    Explicit,   // the node's dtype is given by the builder
};
enum class Identity : std::uint8_t { None, Zero, One, Lowest, Highest };

using EvalFn = Word (*)(DType operand, const Word* sources);  // computes one element; exact ops only, else nullptr

struct OpInfo {
    Op op;
    std::string_view name;
    OpKind kind;
    std::int8_t arity;  // -1: any number
    DTypeRule dtype = DTypeRule::Explicit;
    Identity identity = Identity::None;  // of a reduction with this op
    bool commutative = false;
    std::string_view c = {};  // C spelling; $0 $1 $2 are the operands. Empty: the C printer has its own way
    EvalFn eval = nullptr;
    int cost = 1;  // in additions, what one element costs; decides what is worth storing
};

const OpInfo& info(Op op);
// How a Scatter joins a value with what is there; Where: it replaces it.
inline bool is_scatter_mode(Op op) {
    return op == Op::Add || op == Op::Mul || op == Op::Max || op == Op::Min || op == Op::Where;
}
inline std::string_view name_of(Op op) { return info(op).name; }
inline bool is_movement(Op op) { return info(op).kind == OpKind::Movement; }
inline bool is_math(Op op) { return info(op).kind == OpKind::Math; }
inline bool is_elementwise(Op op) {
    const OpKind kind = info(op).kind;
    return kind == OpKind::Unary || kind == OpKind::Math || kind == OpKind::Binary || kind == OpKind::Compare ||
           kind == OpKind::Ternary;
}

// Its value is that of its first source, of which it says something to who differentiates. A captured graph has none.
inline bool is_marker(Op op) { return op == Op::Leaf || op == Op::Detach || op == Op::WithGrad; }

// The neutral element of a reduction (add, mul, max, min) for a dtype.
Word identity_word(Op op, DType dtype);

// Evaluates an exact op on constants: the same code `ref` runs, so folding never changes a bit.
inline bool can_eval(Op op) { return info(op).eval != nullptr; }

}  // namespace weft::ir
