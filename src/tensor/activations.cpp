// tensor/activations.cpp: the activation functions of neural networks, element by element; softmax is in activations_softmax.cpp.
#include "tensor/composite.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

// x, or alpha (exp(rate x) - 1) where x is negative.
NodeRef elu_of(const NodeRef& x, double alpha, double rate) {
    const NodeRef positive = ir::less(nodes::number(x, 0), x);
    // Large values never reach expm1: 0 * infinity would make the gradient NaN.
    const NodeRef below = ir::where(positive, nodes::number(x, 0), x);
    const NodeRef curve = ir::unary(Op::Expm1, rate == 1 ? below : below * nodes::number(x, rate));
    return ir::where(positive, x, alpha == 1 ? curve : curve * nodes::number(x, alpha));
}

NodeRef within(const NodeRef& x, double low, double high) {  // as in PyTorch no gradient passes at the ends
    const NodeRef raised = ir::where(ir::less_equal(x, nodes::number(x, low)), nodes::number(x, low), x);
    return ir::where(ir::less_equal(nodes::number(x, high), raised), nodes::number(x, high), raised);
}

NodeRef hardsigmoid_of(const NodeRef& x) { return within(x + nodes::number(x, 3), 0, 6) / nodes::number(x, 6); }

}  // namespace

Tensor relu(const Tensor& x) {
    const Checker check("relu", {{"x", x}});
    check.dtype(!is_bool(x.dtype()), "not defined for bools");
    return make_tensor(nodes::relu(node_of(x)));
}

Tensor sigmoid(const Tensor& x) { return float_composite("sigmoid", x, nodes::sigmoid); }

Tensor log_sigmoid(const Tensor& x) {
    return float_composite("log_sigmoid", x, [](const NodeRef& n) { return -nodes::softplus(-n); });
}

Tensor silu(const Tensor& x) {
    return float_composite("silu", x, [](const NodeRef& n) { return n * nodes::sigmoid(n); });
}

Tensor softplus(const Tensor& x, double beta, double threshold) {
    const Checker check("softplus", {{"x", x}, {"beta", beta}, {"threshold", threshold}});
    check.value(beta > 0, "beta must be positive");
    return float_composite("softplus", x, [&](const NodeRef& n) {
        const NodeRef scaled = beta == 1 ? n : n * nodes::number(n, beta), soft = nodes::softplus(scaled);
        return ir::where(ir::less(nodes::number(n, threshold), scaled), n,
                         beta == 1 ? soft : soft / nodes::number(n, beta));
    });
}

Tensor leaky_relu(const Tensor& x, double slope) {
    return float_composite("leaky_relu", x, [&](const NodeRef& n) {
        return ir::where(ir::less(nodes::number(n, 0), n), n, n * nodes::number(n, slope));
    });
}

Tensor elu(const Tensor& x, double alpha) {
    return float_composite("elu", x, [&](const NodeRef& n) { return elu_of(n, alpha, 1); });
}

Tensor celu(const Tensor& x, double alpha) {
    const Checker check("celu", {{"x", x}, {"alpha", alpha}});
    check.value(alpha != 0, "alpha must not be 0");
    return float_composite("celu", x, [&](const NodeRef& n) { return elu_of(n, alpha, 1 / alpha); });
}

Tensor selu(const Tensor& x) {
    constexpr double kScale = 1.0507009873554804934, kAlpha = 1.6732632423543772848;
    return float_composite("selu", x, [](const NodeRef& n) { return elu_of(n, kAlpha, 1) * nodes::number(n, kScale); });
}

Tensor prelu(const Tensor& x, const Tensor& weight) {
    const Checker check("prelu", {{"x", x}, {"weight", weight}});
    check.dtype(is_float(x.dtype()) && x.dtype() == weight.dtype(), "x and weight must be floats of one type");
    const std::int64_t channels = x.rank() >= 2 ? x.size(1) : 1;
    check.that(weight.rank() <= 1 && (weight.numel() == 1 || weight.numel() == channels), "the weight must have 1 or ",
               channels, " elements");
    Shape per_channel = Shape::filled(static_cast<std::size_t>(x.rank()), 1);
    if (weight.numel() != 1) per_channel[1] = channels;
    const NodeRef slope = ir::reshape(ir::cast(node_of(weight), accumulator_of(x.dtype())), per_channel);
    return float_composite("prelu", x,
                           [&](const NodeRef& n) { return ir::where(ir::less(nodes::number(n, 0), n), n, n * slope); });
}

Tensor rrelu(const Tensor& x, double lower, double upper, bool training) {
    const Checker check("rrelu", {{"x", x}, {"lower", lower}, {"upper", upper}});
    check.value(lower <= upper, "lower must not be above upper");
    if (!training) return leaky_relu(x, (lower + upper) / 2);
    const DType wide = accumulator_of(float_type(x.dtype()));
    const NodeRef slope = node_of(rand(x.shape(), wide) * (upper - lower) + lower);
    return float_composite("rrelu", x,
                           [&](const NodeRef& n) { return ir::where(ir::less(nodes::number(n, 0), n), n, n * slope); });
}

Tensor threshold(const Tensor& x, double threshold, double value) {
    return float_composite("threshold", x, [&](const NodeRef& n) {
        return ir::where(ir::less_equal(n, nodes::number(n, threshold)), nodes::number(n, value), n);
    });
}

Tensor hardtanh(const Tensor& x, double low, double high) {
    const Checker check("hardtanh", {{"x", x}, {"low", low}, {"high", high}});
    check.value(low <= high, "low must not be above high");
    return float_composite("hardtanh", x, [&](const NodeRef& n) { return within(n, low, high); });
}

Tensor relu6(const Tensor& x) {
    return float_composite("relu6", x, [](const NodeRef& n) { return within(n, 0, 6); });
}

Tensor hardsigmoid(const Tensor& x) { return float_composite("hardsigmoid", x, hardsigmoid_of); }

Tensor hardswish(const Tensor& x) {
    return float_composite("hardswish", x, [](const NodeRef& n) { return n * hardsigmoid_of(n); });
}

Tensor mish(const Tensor& x) {
    return float_composite("mish", x, [](const NodeRef& n) { return n * ir::unary(Op::Tanh, nodes::softplus(n)); });
}

Tensor softsign(const Tensor& x) {
    return float_composite("softsign", x,
                           [](const NodeRef& n) { return n / (nodes::number(n, 1) + ir::unary(Op::Abs, n)); });
}

Tensor tanhshrink(const Tensor& x) {
    return float_composite("tanhshrink", x, [](const NodeRef& n) { return n - ir::unary(Op::Tanh, n); });
}

Tensor hardshrink(const Tensor& x, double lambda) {
    return float_composite("hardshrink", x, [&](const NodeRef& n) {
        return ir::where(ir::less_equal(ir::unary(Op::Abs, n), nodes::number(n, lambda)), nodes::number(n, 0), n);
    });
}

Tensor softshrink(const Tensor& x, double lambda) {
    const Checker check("softshrink", {{"x", x}, {"lambda", lambda}});
    check.value(lambda >= 0, "lambda must not be negative");
    return float_composite("softshrink", x, [&](const NodeRef& n) {
        const NodeRef edge = nodes::number(n, lambda);
        const NodeRef outside = ir::where(ir::less(edge, n), n - edge, n + edge);
        return ir::where(ir::less_equal(ir::unary(Op::Abs, n), edge), nodes::number(n, 0), outside);
    });
}

Tensor glu(const Tensor& x, int axis) {
    const Checker check("glu", {{"x", x}, {"axis", axis}});
    check.that(x.rank() > 0, "a scalar has no halves");
    const int at = check.axis(axis, x.rank());
    const std::int64_t half = x.size(at) / 2;
    check.that(x.size(at) == 2 * half, "axis ", at, " of size ", x.size(at), " has no halves");
    return float_composite("glu", x, [&](const NodeRef& n) {
        Dims starts = Dims::filled(n->shape.size(), 0);
        Shape sizes = n->shape;
        sizes[at] = half;
        const NodeRef value = ir::shrink(n, starts, sizes);
        starts[at] = half;
        return value * nodes::sigmoid(ir::shrink(n, starts, sizes));
    });
}

Tensor gumbel_softmax(const Tensor& logits, double tau, bool hard, int axis) {
    const Checker check("gumbel_softmax", {{"logits", logits}, {"tau", tau}, {"axis", axis}});
    check.dtype(is_float(logits.dtype()), "the logits must be floats, not ", logits.dtype());
    check.value(tau > 0, "tau must be positive");
    if (check.axes({axis}, logits.rank()).empty()) return gumbel_softmax(logits.reshape({1}), tau, hard, 0).reshape({});
    const int at = check.axis(axis, logits.rank());
    const DType wide = accumulator_of(logits.dtype());
    const Tensor noise = -log(-log1p(-rand(logits.shape(), wide)));  // 1 - u, which is never 0
    const Tensor soft = softmax((logits.to(wide) + noise) / tau, at);
    if (!hard) return soft.to(logits.dtype());
    Shape along = Shape::filled(static_cast<std::size_t>(logits.rank()), 1);
    along[at] = logits.size(at);
    const Tensor chosen = (arange(logits.size(at)).reshape(along) == argmax(soft, at, true)).to(wide);
    return (chosen - soft.detach() + soft).to(logits.dtype());
}

Tensor gelu(const Tensor& x, GeluForm form) {
    return float_composite("gelu", x, [&](const NodeRef& n) {
        constexpr double kSqrtHalf = 0.70710678118654752440, kSqrt2OverPi = 0.79788456080286535588;
        const NodeRef half = n * nodes::number(n, 0.5), one = nodes::number(n, 1);
        if (form == GeluForm::Erf) return half * (one + ir::unary(Op::Erf, n * nodes::number(n, kSqrtHalf)));
        const NodeRef inner = (n + n * n * n * nodes::number(n, 0.044715)) * nodes::number(n, kSqrt2OverPi);
        return half * (one + ir::unary(Op::Tanh, inner));
    });
}

}  // namespace weft
