// grad/rules.cpp: the calculus. g is d(loss)/d(out); a rule returns one gradient per source. It uses the op's output
// where it can, since that is what a fused kernel stores. At kinks the gradients are PyTorch's.
#include "grad/rules.h"

#include "core/str.h"
#include "ir/build.h"
#include "ir/contraction.h"
#include "ir/print.h"

#include <weft/error.h>

#include <cmath>
#include <numbers>

namespace weft::grad {
namespace {

using namespace ir;

const NodeRef& src(const NodeRef& out, int i = 0) { return out->sources[i]; }
NodeRef zeros_like(const NodeRef& x) { return like(x, 0); }
NodeRef square(const NodeRef& x) { return x * x; }
NodeRef sine(const NodeRef& x) { return unary(Op::Sin, x); }
NodeRef cosine(const NodeRef& x) { return unary(Op::Cos, x); }
NodeRef square_root(const NodeRef& x) { return unary(Op::Sqrt, x); }

// ---- elementwise ----------------------------------------------------------------------------------------------------

Grads grad_abs(const NodeRef& out, const NodeRef& g) {
    const NodeRef &x = src(out), zero = zeros_like(x);
    return {where(less(x, zero), -g, where(less(zero, x), g, zero))};
}

// d/da = b a^(b-1), and 0 for b = 0. d/db = out log a, and 0 for 0^b with b >= 0; there the log's operand is replaced,
// so that its own derivative, 1/0, stays out of higher derivatives.
Grads grad_pow(const NodeRef& out, const NodeRef& g) {
    const NodeRef &a = src(out, 0), &b = src(out, 1), zero = zeros_like(a), one = like(a, 1);
    const NodeRef to_a = where(equal_to(b, zero), zero, g * (b * binary(Op::Pow, a, b - one)));
    const NodeRef flat = binary(Op::And, equal_to(a, zero), less_equal(zero, b));
    const NodeRef to_b = where(flat, zero, g * (out * unary(Op::Log, where(flat, one, a))));
    return {to_a, to_b};
}

// mod(a, b) = a - b floor(a/b). The quotient is recovered from out and rounded, which also tells the next derivative
// that it is constant.
Grads grad_mod(const NodeRef& out, const NodeRef& g) {
    const NodeRef &a = src(out, 0), &b = src(out, 1);
    const NodeRef quotient = (a - out) / b;
    const NodeRef half = where(less(quotient, zeros_like(a)), like(a, -0.5), like(a, 0.5));
    return {g, -(g * unary(Op::Trunc, quotient + half))};
}

// The winner takes the gradient; equal operands take half each, and both take all of it where one is NaN.
Grads grad_winner(const NodeRef& out, const NodeRef& g, bool larger) {
    const NodeRef &a = src(out, 0), &b = src(out, 1), zero = zeros_like(g);
    const NodeRef share = where(equal_to(a, b), g * like(g, 0.5), g);
    const NodeRef a_loses = larger ? less(a, b) : less(b, a), b_loses = larger ? less(b, a) : less(a, b);
    return {where(a_loses, zero, share), where(b_loses, zero, share)};
}

Grads grad_where(const NodeRef& out, const NodeRef& g) {
    const NodeRef &condition = src(out), zero = zeros_like(g);
    return {nullptr, where(condition, g, zero), where(condition, zero, g)};
}

Grads grad_cast(const NodeRef& out, const NodeRef& g) {
    return {is_float(src(out)->dtype) ? cast(g, src(out)->dtype) : nullptr};
}

// ---- movement: each view's transpose --------------------------------------------------------------------------------

Grads grad_expand(const NodeRef& out, const NodeRef& g) {
    Dims stretched;
    for (int d = 0; d < out->rank(); ++d)
        if (src(out)->shape[d] != out->shape[d]) stretched.push_back(d);
    return {reduce(Op::Add, g, stretched)};
}

Dims inverse(const Dims& axes) {
    Dims back = Dims::filled(axes.size(), 0);
    for (std::size_t d = 0; d < axes.size(); ++d) back[axes[d]] = static_cast<std::int64_t>(d);
    return back;
}

Grads grad_shrink(const NodeRef& out, const NodeRef& g) {
    const Dims& before = out->as<BoxArg>().starts;
    Dims after = src(out)->shape;
    for (std::size_t d = 0; d < after.size(); ++d) after[d] -= before[d] + out->shape[d];
    return {pad(g, before, after)};
}

Grads grad_pad(const NodeRef& out, const NodeRef& g) { return {shrink(g, out->as<BoxArg>().starts, src(out)->shape)}; }

Grads grad_skew(const NodeRef& out, const NodeRef& g) {
    const SkewArg& arg = out->as<SkewArg>();
    return {unskew(g, arg, src(out)->size(arg.axis))};
}

Grads grad_unskew(const NodeRef& out, const NodeRef& g) {
    const SkewArg& arg = out->as<SkewArg>();
    return {skew(g, arg, src(out)->size(arg.axis))};
}

Grads grad_insert(const NodeRef& out, const NodeRef& g) {
    const Dims& starts = out->as<BoxArg>().starts;
    const NodeRef& value = src(out, 1);
    return {insert(g, zeros_like(value), starts), shrink(g, starts, value->shape)};
}

// ---- reductions -----------------------------------------------------------------------------------------------------

NodeRef shrink_axis(const NodeRef& x, int axis, std::int64_t start, std::int64_t size) {
    Dims starts = Dims::filled(x->shape.size(), 0);
    Shape sizes = x->shape;
    starts[axis] = start;
    sizes[axis] = size;
    return shrink(x, starts, sizes);
}

// x moved `by` places towards larger indices along an axis; ones come in.
NodeRef shifted(const NodeRef& x, int axis, std::int64_t by) {
    Dims starts = Dims::filled(x->shape.size(), 0);
    starts[axis] = by;
    return insert(like(x, 1), shrink_axis(x, axis, 0, x->size(axis) - by), starts);
}

// The transpose of `shifted` for gradients: towards smaller indices, and zeros come in.
NodeRef shifted_back(const NodeRef& g, int axis, std::int64_t by) {
    Dims before = Dims::filled(g->shape.size(), 0), after = before;
    after[axis] = by;
    return pad(shrink_axis(g, axis, by, g->size(axis) - by), before, after);
}

// The gradient of a factor of a sum of products is a sum of products again, if the factor was spread over the products; else it is a
// value that somebody may read.
Grads grad_mul(const NodeRef& out, const NodeRef& g) {
    const auto gradient = [&](int factor) {
        const NodeRef& other = src(out, 1 - factor);
        const bool is_summed = is_fused_product(*out) && src(out, factor)->op == Op::Expand;
        return is_summed ? product(g, other, out->as<FusedArg>()) : g * other;
    };
    return {gradient(0), gradient(1)};
}

NodeRef product_before(const NodeRef& x, int axis) { return shifted(scan(Op::Mul, x, axis), axis, 1); }

// The derivative of a product is the product of the others, from the left and from the right of each element: no
// division, so zeros are no special case, in no derivative. Reduced axes are gathered into one at the end.
NodeRef product_of_others(const NodeRef& x, const Dims& reduced) {
    Dims order;
    Shape flat;
    std::size_t next = 0;
    for (int d = 0; d < x->rank(); ++d) {
        if (next < reduced.size() && reduced[next] == d) ++next;
        else {
            order.push_back(d);
            flat.push_back(x->shape[d]);
        }
    }
    const int last = static_cast<int>(flat.size());
    std::int64_t count = 1;
    for (const std::int64_t axis : reduced) {
        order.push_back(axis);
        count *= x->shape[axis];
    }
    flat.push_back(count);
    const NodeRef moved = permute(x, order), rows = reshape(moved, flat);
    const NodeRef right = flip(product_before(flip(rows, {last}), last), {last});
    return permute(reshape(product_before(rows, last) * right, moved->shape), inverse(order));
}

// Ties share evenly, as in PyTorch's amax and amin.
NodeRef share_of_winners(const NodeRef& out, const NodeRef& g) {
    const NodeRef& x = src(out);
    const NodeRef wins = cast(equal_to(x, out), x->dtype);
    return wins * (g / reduce(Op::Add, wins, out->as<ReduceArg>().axes));
}

Grads grad_reduce(const NodeRef& out, const NodeRef& g) {
    const NodeRef& x = src(out);
    if (numel(x->shape) == 0) return {expand(g, x->shape)};  // no elements, any value
    const ReduceArg& arg = out->as<ReduceArg>();
    switch (arg.op) {
        case Op::Add: return {expand(g, x->shape)};
        case Op::Mul: return {g * product_of_others(x, arg.axes)};
        default: return {share_of_winners(out, g)};
    }
}

// A running product as log2(n) rounds of y <- y * (y moved by 1, 2, 4 …), differentiated backwards by hand. It costs
// O(n log n), and knows no division: right with any number of zeros, in every derivative.
NodeRef grad_scan_mul(const NodeRef& x, NodeRef g, int axis) {
    std::vector<NodeRef> rounds;
    NodeRef y = x;
    for (std::int64_t by = 1; by < x->size(axis); by *= 2) {
        rounds.push_back(y);
        y = y * shifted(y, axis, by);
    }
    for (std::size_t r = rounds.size(); r-- > 0;) {
        const std::int64_t by = std::int64_t{1} << r;
        g = g * shifted(rounds[r], axis, by) + shifted_back(g * rounds[r], axis, by);
    }
    return g;
}

// A running maximum passes its gradient to the last element that set it (a NaN sets it, too), as PyTorch's cummax.
NodeRef grad_scan_winner(const NodeRef& out, const NodeRef& g, int axis) {
    const NodeRef& x = src(out);
    Shape along = Shape::filled(x->shape.size(), 1);
    along[axis] = x->size(axis);
    const NodeRef sets = binary(Op::Or, equal_to(x, out), logical_not(equal_to(x, x)));
    const NodeRef position = where(sets, reshape(iota(x->size(axis)), along), constant(DType::I64, 0));
    return scatter(Op::Add, zeros_like(x), scan(Op::Max, position, axis), g, axis);
}

Grads grad_scan(const NodeRef& out, const NodeRef& g) {
    const ReduceArg& arg = out->as<ReduceArg>();
    const int axis = static_cast<int>(arg.axes[0]);
    switch (arg.op) {
        case Op::Add: return {flip(scan(Op::Add, flip(g, arg.axes), axis), arg.axes)};
        case Op::Mul: return {grad_scan_mul(src(out), g, axis)};
        default: return {grad_scan_winner(out, g, axis)};
    }
}

// ---- data-dependent indices, markers --------------------------------------------------------------------------------

Grads grad_gather(const NodeRef& out, const NodeRef& g) {
    return {scatter(Op::Add, zeros_like(src(out)), src(out, 1), g, out->as<IndexArg>().axis), nullptr};
}

// Each factor of a product gets the product of the others: of the factors that are not 0, divided by itself, and if
// another one is 0, nothing.
Grads grad_scatter_product(const NodeRef& out, const NodeRef& g) {
    const auto& [axis, mode] = out->as<IndexArg>();
    const NodeRef &base = src(out), &index = src(out, 1), &value = src(out, 2);
    const auto is_zero = [](const NodeRef& x) { return equal_to(x, zeros_like(x)); };
    const auto without_zeros = [&](const NodeRef& x) { return where(is_zero(x), like(x, 1), x); };
    const auto count = [&](const NodeRef& x) { return cast(is_zero(x), DType::I64); };
    const NodeRef product = scatter(mode, without_zeros(base), index, without_zeros(value), axis);
    const NodeRef zeros = scatter(Op::Add, count(base), index, count(value), axis);
    const auto others = [&](const NodeRef& x, const NodeRef& all, const NodeRef& zeros_of_all) {
        const NodeRef only = equal_to(zeros_of_all, count(x));  // no other factor is 0
        return where(only, all / without_zeros(x), zeros_like(x));
    };
    return {g * others(base, product, zeros), nullptr,
            gather(g, index, axis) * others(value, gather(product, index, axis), gather(zeros, index, axis))};
}

// All that equal the maximum (minimum) share its gradient evenly, as in a reduction.
Grads grad_scatter_winner(const NodeRef& out, const NodeRef& g) {
    const auto& [axis, mode] = out->as<IndexArg>();
    const NodeRef &base = src(out), &index = src(out, 1), &value = src(out, 2);
    const NodeRef base_wins = cast(equal_to(base, out), out->dtype);
    const NodeRef value_wins = cast(equal_to(value, gather(out, index, axis)), out->dtype);
    const NodeRef share = g / scatter(Op::Add, base_wins, index, value_wins, axis);
    return {base_wins * share, nullptr, value_wins * gather(share, index, axis)};
}

Grads grad_scatter(const NodeRef& out, const NodeRef& g) {
    const auto& [axis, mode] = out->as<IndexArg>();
    if (mode == Op::Mul) return grad_scatter_product(out, g);
    if (mode == Op::Max || mode == Op::Min) return grad_scatter_winner(out, g);
    const NodeRef &index = src(out, 1), to_value = gather(g, index, axis);
    if (mode == Op::Add) return {g, nullptr, to_value};
    return {scatter(Op::Where, g, index, zeros_like(to_value), axis), nullptr, to_value};
}

Grads grad_with_grad(const NodeRef& out, const NodeRef& g) {
    Grads grads = out->as<WithGradArg>().rule->rule(out, g);
    grads.insert(grads.begin(), nullptr);  // the value's own derivative is replaced
    return grads;
}

Grads grad_custom(const NodeRef& out, const NodeRef& g) {
    const auto& function = (out->op == Op::Part ? out->source() : *out).as<CustomArg>().function;
    if (!function->gradient)
        throw GradError(str(function->name, " has no derivative; detach() its inputs or its result"));
    return function->gradient(out, g);
}

// ---- the table ------------------------------------------------------------------------------------------------------

struct Row {
    Op op;
    Rule rule;
};

constexpr Rule kNone = nullptr;
constexpr double kLn2 = std::numbers::ln2;
constexpr double kTwoOverRootPi = 2 * std::numbers::inv_sqrtpi;
using N = const NodeRef&;

// clang-format off
constexpr Row kRules[] = {
    {Op::Buffer, kNone}, {Op::Const, kNone}, {Op::Var, kNone}, {Op::Iota, kNone},

    {Op::Reshape, [](N out, N g) { return Grads{reshape(g, src(out)->shape)}; }},
    {Op::Permute, [](N out, N g) { return Grads{permute(g, inverse(out->as<AxesArg>().axes))}; }},
    {Op::Expand, grad_expand},
    {Op::Shrink, grad_shrink},
    {Op::Pad, grad_pad},
    {Op::Flip, [](N out, N g) { return Grads{flip(g, out->as<AxesArg>().axes)}; }},
    {Op::Skew, grad_skew},
    {Op::Unskew, grad_unskew},
    {Op::Insert, grad_insert},

    {Op::Neg, [](N, N g) { return Grads{-g}; }},
    {Op::Abs, grad_abs},
    {Op::Recip, [](N out, N g) { return Grads{-(g * square(out))}; }},
    {Op::Sqrt, [](N out, N g) { return Grads{g / (out + out)}; }},
    {Op::Trunc, [](N, N) { return Grads{nullptr}; }},  // zero almost everywhere
    {Op::Cast, grad_cast},
    {Op::Bitcast, kNone},

    {Op::Exp, [](N out, N g) { return Grads{g * out}; }},
    {Op::Exp2, [](N out, N g) { return Grads{g * out * like(g, kLn2)}; }},
    {Op::Expm1, [](N out, N g) { return Grads{g * (out + like(g, 1))}; }},
    {Op::Log, [](N out, N g) { return Grads{g / src(out)}; }},
    {Op::Log2, [](N out, N g) { return Grads{g / (src(out) * like(g, kLn2))}; }},
    {Op::Log1p, [](N out, N g) { return Grads{g / (src(out) + like(g, 1))}; }},
    {Op::Sin, [](N out, N g) { return Grads{g * cosine(src(out))}; }},
    {Op::Cos, [](N out, N g) { return Grads{-(g * sine(src(out)))}; }},
    {Op::Tan, [](N out, N g) { return Grads{g * (square(out) + like(g, 1))}; }},
    {Op::Asin, [](N out, N g) { return Grads{g / square_root(like(g, 1) - square(src(out)))}; }},
    {Op::Acos, [](N out, N g) { return Grads{-(g / square_root(like(g, 1) - square(src(out))))}; }},
    {Op::Atan, [](N out, N g) { return Grads{g / (square(src(out)) + like(g, 1))}; }},
    {Op::Sinh, [](N out, N g) { return Grads{g * unary(Op::Cosh, src(out))}; }},
    {Op::Cosh, [](N out, N g) { return Grads{g * unary(Op::Sinh, src(out))}; }},
    {Op::Tanh, [](N out, N g) { return Grads{g * (like(g, 1) - square(out))}; }},
    {Op::Erf, [](N out, N g) { return Grads{g * like(g, kTwoOverRootPi) * unary(Op::Exp, -square(src(out)))}; }},

    {Op::Erfc, [](N out, N g) { return Grads{-(g * like(g, kTwoOverRootPi) * unary(Op::Exp, -square(src(out))))}; }},
    {Op::Erfinv, [](N out, N g) { return Grads{g * like(g, 1 / kTwoOverRootPi) * unary(Op::Exp, square(out))}; }},
    {Op::Lgamma, kNone}, {Op::Digamma, kNone},  // tensor/elementwise_maths.cpp gives them theirs, which are no single ops

    {Op::Add, [](N, N g) { return Grads{g, g}; }},
    {Op::Sub, [](N, N g) { return Grads{g, -g}; }},
    {Op::Mul, grad_mul},
    {Op::Div, [](N out, N g) { return Grads{g / src(out, 1), -(g / src(out, 1) * out)}; }},
    {Op::Pow, grad_pow},
    {Op::IDiv, kNone},
    {Op::Mod, grad_mod},
    {Op::Max, [](N out, N g) { return grad_winner(out, g, true); }},
    {Op::Min, [](N out, N g) { return grad_winner(out, g, false); }},
    {Op::CmpLt, kNone}, {Op::CmpLe, kNone}, {Op::CmpEq, kNone},
    {Op::And, kNone}, {Op::Or, kNone}, {Op::Xor, kNone}, {Op::Shl, kNone}, {Op::Shr, kNone}, {Op::Gcd, kNone},

    {Op::Where, grad_where},
    {Op::ThreefryX, kNone}, {Op::ThreefryY, kNone},

    {Op::Reduce, grad_reduce},
    {Op::Scan, grad_scan},

    {Op::Gather, grad_gather},
    {Op::Scatter, grad_scatter},
    {Op::Check, kNone},  // of integers

    {Op::Contiguous, [](N, N g) { return Grads{g}; }},
    {Op::Leaf, kNone}, {Op::Detach, kNone},  // the walk stops there
    {Op::WithGrad, grad_with_grad},
    {Op::Custom, grad_custom},
    {Op::Part, grad_custom},  // for the sources of its Custom
    {Op::ToDevice, [](N out, N g) { return Grads{to_device(g, out->source().device == kAnyDevice ? kCpu : out->source().device)}; }},

    {Op::Param, kNone}, {Op::ScalarParam, kNone}, {Op::LoopVar, kNone}, {Op::Load, kNone}, {Op::Fma, kNone}, {Op::Scale, kNone}, {Op::RoundTf32, kNone},
    {Op::Lookup, kNone},
};
// clang-format on

consteval bool complete_and_in_order() {
    if (std::size(kRules) != kOpCount) return false;
    for (int i = 0; i < kOpCount; ++i)
        if (static_cast<int>(kRules[i].op) != i) return false;
    return true;
}
static_assert(complete_and_in_order());

}  // namespace

Rule rule_of(Op op) { return kRules[static_cast<int>(op)].rule; }

}  // namespace weft::grad
