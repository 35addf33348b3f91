// tensor/norm.cpp: softmax and the normalisations: reductions along a row, then elementwise work with their results.
#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <numeric>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;
using Rule = std::shared_ptr<const ir::GradRuleObject>;

// d softmax = out * (g - sum(g * out)). One object per axis, so that equal softmaxes are one node.
Rule make_softmax_rule(int axis) {
    return nodes::grad_rule("softmax", [axis](const NodeRef& out, const NodeRef& g) {
        return ir::Grads{out * (g - ir::reduce(Op::Add, g * out, {axis}))};
    });
}

Rule softmax_rule(int axis) {
    constexpr int kShared = 16;
    static const std::vector<Rule> rules = [] {
        std::vector<Rule> made;
        for (int d = 0; d < kShared; ++d) made.push_back(make_softmax_rule(d));
        return made;
    }();
    return axis < kShared ? rules[axis] : make_softmax_rule(axis);
}

NodeRef widened(const Tensor& x) { return ir::cast(node_of(x), accumulator_of(float_type(x.dtype()))); }

void check_float(const Checker& check, const Tensor& x) {
    check.dtype(is_float(x.dtype()), "x must be a float tensor, not ", x.dtype());
}

NodeRef rsqrt(const NodeRef& x) { return ir::unary(Op::Recip, ir::unary(Op::Sqrt, x)); }

// The last axes, whose sizes must be those that the caller named.
Dims normalized_axes(const Checker& check, const Tensor& x, const Shape& sizes) {
    const Shape shape = x.shape();
    check.value(!sizes.empty(), "normalized_shape must have one size at least");
    const bool ends_so =
        sizes.size() <= shape.size() && std::equal(sizes.begin(), sizes.end(), shape.end() - sizes.size());
    check.that(ends_so, "x's last sizes must be ", sizes);
    Dims axes(sizes.size());
    std::iota(axes.begin(), axes.end(), shape.size() - sizes.size());
    return axes;
}

void check_affine(const Checker& check, std::string_view name, const Tensor& t, const Shape& shape) {
    check.that(!t.defined() || t.shape() == shape, name, " must have shape ", shape);
}

// x * weight + bias, where each is given; both have a shape that broadcasts to x's.
NodeRef affine(NodeRef x, const Tensor& weight, const Tensor& bias, const Shape& shape) {
    if (weight.defined()) x = x * ir::reshape(ir::cast(node_of(weight), x->dtype), shape);
    if (bias.defined()) x = x + ir::reshape(ir::cast(node_of(bias), x->dtype), shape);
    return x;
}

}  // namespace

Tensor softmax(const Tensor& x, int axis) {
    const Checker check("softmax", {{"x", x}, {"axis", axis}});
    const NodeRef wide = widened(x);
    const DType result = float_type(x.dtype());
    const Dims axes = check.axes({axis}, x.rank());
    const NodeRef powers = ir::unary(Op::Exp, nodes::shifted(wide, axes));
    if (axes.empty()) return make_tensor(ir::cast(powers, result));  // of a scalar: 1
    // One division per row; the products are within 1.5 ULP of the quotients.
    const NodeRef value = powers * ir::unary(Op::Recip, ir::reduce(Op::Add, powers, axes));
    return make_tensor(ir::cast(nodes::with_grad(value, wide, softmax_rule(static_cast<int>(axes[0]))), result));
}

Tensor log_softmax(const Tensor& x, int axis) {
    const Checker check("log_softmax", {{"x", x}, {"axis", axis}});
    const Dims axes = check.axes({axis}, x.rank());
    const NodeRef z = nodes::shifted(widened(x), axes);
    const NodeRef total = ir::unary(Op::Log, ir::reduce(Op::Add, ir::unary(Op::Exp, z), axes));
    return make_tensor(ir::cast(z - total, float_type(x.dtype())));
}

Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, const Tensor& bias,
                  double eps) {
    const Checker check(
        "layer_norm",
        {{"x", x}, {"normalized_shape", normalized_shape}, {"weight", weight, kOptional}, {"bias", bias, kOptional}});
    check_float(check, x);
    const Dims axes = normalized_axes(check, x, normalized_shape);
    check_affine(check, "weight", weight, normalized_shape);
    check_affine(check, "bias", bias, normalized_shape);
    const NodeRef wide = widened(x), centre = nodes::mean(wide, axes);
    const NodeRef spread = nodes::variance(wide, centre, axes, 0);
    const NodeRef normal = (wide - centre) * rsqrt(spread + nodes::number(wide, eps));
    return make_tensor(ir::cast(affine(normal, weight, bias, normalized_shape), x.dtype()));
}

Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, double eps) {
    const Checker check("rms_norm", {{"x", x}, {"normalized_shape", normalized_shape}, {"weight", weight, kOptional}});
    check_float(check, x);
    const Dims axes = normalized_axes(check, x, normalized_shape);
    check_affine(check, "weight", weight, normalized_shape);
    const NodeRef wide = widened(x), power = nodes::mean(wide * wide, axes);
    const NodeRef normal = wide * rsqrt(power + nodes::number(wide, eps));
    return make_tensor(ir::cast(affine(normal, weight, {}, normalized_shape), x.dtype()));
}

Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight, const Tensor& bias, double eps) {
    const Checker check("group_norm",
                        {{"x", x}, {"groups", groups}, {"weight", weight, kOptional}, {"bias", bias, kOptional}});
    check_float(check, x);
    check.that(x.rank() >= 2, "x must be [n, channels, …]");
    const std::int64_t channels = x.size(1);
    check.value(groups > 0, "groups must be positive");
    check.that(channels % groups == 0, "the ", channels, " channels cannot be divided into ", groups, " groups");
    check_affine(check, "weight", weight, {channels});
    check_affine(check, "bias", bias, {channels});
    const Shape shape = x.shape();
    Shape grouped = {shape[0], groups, channels / groups}, per_channel(shape.size() - 1, 1);
    grouped.append(shape.begin() + 2, shape.end());
    per_channel[0] = channels;
    Dims axes(grouped.size() - 2);
    std::iota(axes.begin(), axes.end(), 2);
    const NodeRef wide = ir::reshape(widened(x), grouped), centre = nodes::mean(wide, axes);
    const NodeRef spread = nodes::variance(wide, centre, axes, 0);
    const NodeRef normal = (wide - centre) * rsqrt(spread + nodes::number(wide, eps));
    return make_tensor(ir::cast(affine(ir::reshape(normal, shape), weight, bias, per_channel), x.dtype()));
}

// ---- batch_norm ------------------------------------------------------------------------------------------------------

namespace {

// running = (1 - momentum) * running + momentum * batch: a write, so that every handle of the statistics sees it.
void move_towards(Tensor running, const NodeRef& batch, double momentum) {
    if (!running.defined()) return;
    const NoGrad no_grad;
    const Tensor value = make_tensor(ir::reshape(batch, running.shape()));
    running.assign(running * (1 - momentum) + value * momentum);
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, const BatchNormOptions& options) {
    const Checker check("batch_norm", {{"x", x},
                                       {"running_mean", running_mean, kOptional},
                                       {"running_var", running_var, kOptional},
                                       {"weight", weight, kOptional},
                                       {"bias", bias, kOptional}});
    check_float(check, x);
    check.that(x.rank() >= 2, "x must be [n, channels, …]");
    const Shape shape = x.shape(), channels = {shape[1]};
    check_affine(check, "running_mean", running_mean, channels);
    check_affine(check, "running_var", running_var, channels);
    check_affine(check, "weight", weight, channels);
    check_affine(check, "bias", bias, channels);
    check.value(options.training || (running_mean.defined() && running_var.defined()),
                "without training the running mean and variance are needed");
    Shape per_channel(shape.size(), 1);
    per_channel[1] = shape[1];
    const NodeRef wide = widened(x);
    NodeRef centre, spread;
    if (options.training) {
        Dims axes = {0};
        for (int d = 2; d < x.rank(); ++d) axes.push_back(d);
        const std::int64_t count = nodes::count_of(wide, axes);
        check.value(count > 1, "training needs more than one value per channel");
        centre = nodes::mean(wide, axes);
        spread = nodes::variance(wide, centre, axes, 0);
        const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
        move_towards(running_mean, centre, options.momentum);
        move_towards(running_var, spread * nodes::number(spread, unbiased), options.momentum);
    } else {
        centre = ir::reshape(ir::cast(node_of(running_mean), wide->dtype), per_channel);
        spread = ir::reshape(ir::cast(node_of(running_var), wide->dtype), per_channel);
    }
    const NodeRef normal = (wide - centre) * rsqrt(spread + nodes::number(wide, options.eps));
    return make_tensor(ir::cast(affine(normal, weight, bias, per_channel), x.dtype()));
}

}  // namespace weft
