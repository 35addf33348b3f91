// tensor/loss_distance.cpp: losses of a distance between input and target, and of distributions that are given by their numbers.
#include "tensor/loss.h"

#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <cmath>
#include <numbers>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

// Of a distance a: a² / 2 below the limit, limit * (a - limit / 2) above it. Written with min, so that nothing overflows in a
// branch that is not taken.
NodeRef huber(const NodeRef& distance, double limit) {
    const NodeRef near = ir::binary(Op::Min, distance, nodes::number(distance, limit));
    return near * (distance - near * nodes::number(near, 0.5));
}

// log(cosh d), by cosh d - 1 = s² / (2 + 2 s) with s = exp(|d|) - 1 near 0, where the other form would cancel.
NodeRef log_cosh(const NodeRef& d) {
    static const auto rule = nodes::grad_rule("log_cosh", [](const NodeRef& out, const NodeRef& g) {
        return ir::Grads{g * ir::unary(Op::Tanh, out->sources[1])};
    });
    const NodeRef one = nodes::number(d, 1), two = nodes::number(d, 2), a = ir::unary(Op::Abs, d);
    const NodeRef s = ir::unary(Op::Expm1, ir::binary(Op::Min, a, one));
    const NodeRef near = ir::unary(Op::Log1p, s * s / (two + two * s));
    const NodeRef far = a + ir::unary(Op::Log1p, ir::unary(Op::Exp, -(two * a))) - nodes::number(d, std::numbers::ln2);
    return nodes::with_grad(ir::where(ir::less(a, one), near, far), d, rule);
}

struct Wide {
    Tensor input, target;
    DType result;
};
Wide broadcast(const Checker& check, const Tensor& input, const Tensor& target) {
    check.broadcast(input.shape(), target.shape());
    const DType result = promote({input, target});
    check.dtype(is_float(result), "one of them must be a float tensor");
    return {input.to(accumulator_of(result)), target.to(accumulator_of(result)), result};
}

}  // namespace

Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
    const Checker check("mse_loss", {{"input", input}, {"target", target}});
    const WidePair wide = widened(check, input, target);
    const NodeRef distance = wide.input - wide.target;
    return reduced_loss(distance * distance, reduction, wide.result);
}

Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
    const Checker check("l1_loss", {{"input", input}, {"target", target}});
    const WidePair wide = widened(check, input, target);
    return reduced_loss(ir::unary(Op::Abs, wide.input - wide.target), reduction, wide.result);
}

Tensor huber_loss(const Tensor& input, const Tensor& target, double delta, Reduction reduction) {
    const Checker check("huber_loss", {{"input", input}, {"target", target}});
    check.value(delta > 0, "delta must be positive");
    const WidePair wide = widened(check, input, target);
    return reduced_loss(huber(ir::unary(Op::Abs, wide.input - wide.target), delta), reduction, wide.result);
}

Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, double beta, Reduction reduction) {
    const Checker check("smooth_l1_loss", {{"input", input}, {"target", target}});
    check.value(beta >= 0, "beta must not be negative");
    const WidePair wide = widened(check, input, target);
    const NodeRef distance = ir::unary(Op::Abs, wide.input - wide.target);
    const NodeRef each = beta == 0 ? distance : huber(distance, beta) / nodes::number(distance, beta);
    return reduced_loss(each, reduction, wide.result);
}

Tensor log_cosh_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
    const Checker check("log_cosh_loss", {{"input", input}, {"target", target}});
    const WidePair wide = widened(check, input, target);
    return reduced_loss(log_cosh(wide.input - wide.target), reduction, wide.result);
}

Tensor kl_div(const Tensor& input, const Tensor& target, Reduction reduction, bool log_target) {
    const Checker check("kl_div", {{"input", input}, {"target", target}});
    const auto [x, t, result] = broadcast(check, input, target);
    if (log_target) return reduced_loss(exp(t) * (t - x), reduction, result);
    // t log t is 0 at 0, and the logarithm is not taken there, so that its slope is none either.
    const Tensor none = t == 0, safe = where(none, 1, t);
    return reduced_loss(where(none, 0, t * log(safe)) - t * x, reduction, result);
}

Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonOptions& options) {
    const Checker check("poisson_nll_loss", {{"input", input}, {"target", target}});
    const auto [x, t, result] = broadcast(check, input, target);
    Tensor each = options.log_input ? exp(x) - t * x : x - t * log(x + options.eps);
    if (options.full) {
        const Tensor large = t > 1, n = where(large, t, 2);
        each = each + where(large, n * log(n) - n + 0.5 * log(2 * std::numbers::pi * n), 0);
    }
    return reduced_loss(each, options.reduction, result);
}

Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& variance,
                         const GaussianOptions& options) {
    const Checker check("gaussian_nll_loss", {{"input", input}, {"target", target}, {"variance", variance}});
    const auto [x, t, result] = broadcast(check, input, target);
    const Shape shape = input.shape(), given = variance.shape();
    Tensor var = variance.to(x.dtype());
    if (!shape.empty() && given == Shape(shape.begin(), shape.end() - 1)) var = var.unsqueeze(-1);
    int differ = 0, spread = 0;
    for (std::size_t i = 0; i < shape.size() && given.size() == shape.size(); ++i) {
        differ += given[i] != shape[i];
        spread += given[i] != shape[i] && given[i] == 1;
    }
    check.that(
        given.size() + 1 == shape.size() ? var.rank() == x.rank()
                                         : given.size() == shape.size() && differ == spread && differ <= 1,
        "the variance must have the input's shape, or lack its last axis, or have a size of 1 in one of its axes");
    var = at_least(var, options.eps);
    Tensor each = 0.5 * (log(var) + square(x - t) / var);
    if (options.full) each = each + 0.5 * std::log(2 * std::numbers::pi);
    return reduced_loss(each, options.reduction, result);
}

}  // namespace weft
