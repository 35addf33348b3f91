// kernel/math.cpp: which function builds the expression of which op. Lowering calls it for
// every maths op, so that backends only ever see exact ops (kernel/kernel.h) and all give the same bits.
//
// Common to all: every step is an exact or correctly rounded op, a fused multiply-add is written as one, selection is
// by Where, and both of its branches may be evaluated on anything. Errors are in ULP of the result;
// tests/kernel/math_test.cpp measures them, exhaustively for f32 if asked. The polynomials are in kernel/math_tables.h,
// made by tools/minimax.py.
#include "kernel/math.h"

#include "core/str.h"
#include "kernel/math_build.h"

#include <weft/error.h>

namespace weft::kernel {
namespace {

struct Expansion {
    ir::Op op;
    Value (*make)(const Value& x);
};

constexpr Expansion kExpansions[] = {
    {ir::Op::Exp, make_exp},       {ir::Op::Exp2, make_exp2},       {ir::Op::Expm1, make_expm1},
    {ir::Op::Log, make_log},       {ir::Op::Log2, make_log2},       {ir::Op::Log1p, make_log1p},
    {ir::Op::Sin, make_sin},       {ir::Op::Cos, make_cos},         {ir::Op::Tan, make_tan},
    {ir::Op::Asin, make_asin},     {ir::Op::Acos, make_acos},       {ir::Op::Atan, make_atan},
    {ir::Op::Sinh, make_sinh},     {ir::Op::Cosh, make_cosh},       {ir::Op::Tanh, make_tanh},
    {ir::Op::Erf, make_erf},       {ir::Op::Erfc, make_erfc},       {ir::Op::Erfinv, make_erfinv},
    {ir::Op::Lgamma, make_lgamma}, {ir::Op::Digamma, make_digamma},
};

}  // namespace

NodeRef expand_math(const Kernel& kernel, ir::Op op, const NodeRef& x, const NodeRef& y) {
    if (x->dtype != DType::F32 && x->dtype != DType::F64)
        throw InternalError(str("maths op ", ir::name_of(op), " on ", x->dtype, ": only f32 and f64 have expansions"));
    if (op == ir::Op::Mod) return make_mod({&kernel, x}, {&kernel, y}).node;
    if (op == ir::Op::Pow) return make_pow({&kernel, x}, {&kernel, y}).node;
    for (const Expansion& expansion : kExpansions)
        if (expansion.op == op) return expansion.make({&kernel, x}).node;
    throw InternalError(str("no expansion for the op ", ir::name_of(op)));
}

}  // namespace weft::kernel
