// tensor/loss_binary.cpp: losses of yes-or-no predictions: cross-entropy of probabilities and of logits, and its focal form.
#include "tensor/loss.h"

#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <cmath>

namespace weft {

using ir::NodeRef;
using ir::Op;

// Where miss is so small that it hardly counts, its slope would still be infinite for a gamma below 1.
NodeRef focus(const NodeRef& miss, double gamma) {
    if (gamma == std::floor(gamma) && gamma <= 8) return nodes::power(miss, static_cast<std::int64_t>(gamma));
    const NodeRef safe = ir::binary(Op::Max, miss, nodes::number(miss, 1e-30));
    return ir::binary(Op::Pow, safe, nodes::number(miss, gamma));
}

namespace {

constexpr double kLowestLog = -100;  // PyTorch's limit: a probability of 0 costs 100, not infinity

NodeRef limited_log(const NodeRef& p) {
    return ir::binary(Op::Max, ir::unary(Op::Log, p), nodes::number(p, kLowestLog));
}
NodeRef limited_log_of_rest(const NodeRef& p) {
    return ir::binary(Op::Max, ir::unary(Op::Log1p, -p), nodes::number(p, kLowestLog));
}

// The logarithms' own gradients at probabilities 0 and 1 are infinite; PyTorch limits them, and so does this rule.
const std::shared_ptr<const ir::GradRuleObject>& cross_entropy_rule() {
    static const auto rule = nodes::grad_rule("binary_cross_entropy", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef &p = out->sources[1], &t = out->sources[2];
        const NodeRef variance = ir::binary(Op::Max, p * (nodes::number(p, 1) - p), nodes::number(p, 1e-12));
        return ir::Grads{g * ((p - t) / variance), g * (limited_log_of_rest(p) - limited_log(p))};
    });
    return rule;
}

// Each loss times its weight, which broadcasts to it.
NodeRef scaled(const Checker& check, const NodeRef& each, const Tensor& weight, std::string_view name) {
    if (!weight.defined()) return each;
    check.that(check.broadcast(weight.shape(), each->shape) == each->shape, name, " of shape ", weight.shape(),
               " does not broadcast to ", each->shape);
    return each * ir::cast(node_of(weight), each->dtype);
}

// max(x, 0) - x t + log(1 + exp(-|x|)): for a target of 0 or 1 one side cancels exactly, so that a tiny loss keeps its digits.
NodeRef logistic(const NodeRef& x, const NodeRef& t) {
    static const auto rule = nodes::grad_rule("bce_with_logits", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef &logit = out->sources[1], &target = out->sources[2];
        return ir::Grads{g * (nodes::sigmoid(logit) - target), -(g * logit)};
    });
    const NodeRef tail = ir::unary(Op::Log1p, ir::unary(Op::Exp, -ir::unary(Op::Abs, x))), inputs[] = {x, t};
    return ir::with_grad(ir::binary(Op::Max, x, nodes::number(x, 0)) - x * t + tail, inputs, rule);
}

}  // namespace

Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& target, Reduction reduction,
                            const Tensor& weight) {
    const Checker check("binary_cross_entropy", {{"probabilities", probabilities}, {"target", target}});
    const WidePair wide = widened(check, probabilities, target);
    const NodeRef &p = wide.input, &t = wide.target, one = nodes::number(p, 1);
    const NodeRef value = -(t * limited_log(p) + (one - t) * limited_log_of_rest(p)), inputs[] = {p, t};
    const NodeRef each = ir::with_grad(value, inputs, cross_entropy_rule());
    return reduced_loss(scaled(check, each, weight, "weight"), reduction, wide.result);
}

Tensor bce_with_logits(const Tensor& logits, const Tensor& target, Reduction reduction, const Tensor& weight,
                       const Tensor& pos_weight) {
    const Checker check("bce_with_logits", {{"logits", logits}, {"target", target}});
    const WidePair wide = widened(check, logits, target);
    const NodeRef &x = wide.input, &t = wide.target, one = nodes::number(x, 1);
    // (1 - t) x + (1 + (pos_weight - 1) t) softplus(-x)
    const NodeRef each =
        !pos_weight.defined()
            ? logistic(x, t)
            : (one - t) * x + (one - t + scaled(check, t, pos_weight, "pos_weight")) * nodes::softplus(-x);
    return reduced_loss(scaled(check, each, weight, "weight"), reduction, wide.result);
}

Tensor sigmoid_focal_loss(const Tensor& logits, const Tensor& target, double alpha, double gamma, Reduction reduction) {
    const Checker check("sigmoid_focal_loss", {{"logits", logits}, {"target", target}});
    check.value(gamma >= 0, "gamma must not be negative");
    const WidePair wide = widened(check, logits, target);
    const NodeRef &x = wide.input, &t = wide.target, one = nodes::number(x, 1);
    const NodeRef miss = nodes::sigmoid(x) * (one - t) + nodes::sigmoid(-x) * t;
    NodeRef each = logistic(x, t) * focus(miss, gamma);
    if (alpha >= 0) each = each * (t * nodes::number(x, alpha) + (one - t) * nodes::number(x, 1 - alpha));
    return reduced_loss(each, reduction, wide.result);
}

}  // namespace weft
