// tensor/norm.cpp: the normalisations: reductions along a row, then elementwise work with their results.
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
    Dims axes = Dims::filled(sizes.size());
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

Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight, std::optional<double> eps) {
    const Checker check("rms_norm", {{"x", x}, {"normalized_shape", normalized_shape}, {"weight", weight, kOptional}});
    check_float(check, x);
    const Dims axes = normalized_axes(check, x, normalized_shape);
    check_affine(check, "weight", weight, normalized_shape);
    const NodeRef wide = widened(x), power = nodes::mean(wide * wide, axes);
    const double least = eps.value_or(wide->dtype == DType::F64 ? 0x1p-52 : 0x1p-23);
    const NodeRef normal = wide * rsqrt(power + nodes::number(wide, least));
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
    Shape grouped = {shape[0], groups, channels / groups}, per_channel = Shape::filled(shape.size() - 1, 1);
    grouped.append(shape.begin() + 2, shape.end());
    per_channel[0] = channels;
    Dims axes = Dims::filled(grouped.size() - 2);
    std::iota(axes.begin(), axes.end(), 2);
    const NodeRef wide = ir::reshape(widened(x), grouped), centre = nodes::mean(wide, axes);
    const NodeRef spread = nodes::variance(wide, centre, axes, 0);
    const NodeRef normal = (wide - centre) * rsqrt(spread + nodes::number(wide, eps));
    return make_tensor(ir::cast(affine(ir::reshape(normal, shape), weight, bias, per_channel), x.dtype()));
}

// ---- batch_norm, instance_norm ---------------------------------------------------------------------------------------

namespace {

// How far running statistics move with this batch, which is counted: a number, or one over the count of batches.
Tensor next_share(const Checker& check, const std::optional<double>& momentum, Tensor batches) {
    const NoGrad no_grad;
    if (batches.defined()) batches += 1;
    if (momentum) return {};
    check.value(batches.defined(), "without momentum the count of batches is needed");
    return reciprocal(batches.to(f32));
}

// running = (1 - share) * running + share * batch: a write, so that every handle of the statistics sees it.
void move_towards(Tensor running, const NodeRef& batch, const std::optional<double>& momentum, const Tensor& share) {
    if (!running.defined()) return;
    const NoGrad no_grad;
    const Tensor value = make_tensor(ir::reshape(batch, running.shape()));
    if (momentum) running.assign(running * (1 - *momentum) + value * *momentum);
    else running.assign(running * (1 - share) + value * share);
}

// A normalisation by channels: what is wrong with its operands.
void check_channels(const Checker& check, const Tensor& x, const Tensor& mean, const Tensor& var, const Tensor& weight,
                    const Tensor& bias) {
    check_float(check, x);
    check.that(x.rank() >= 2, "x must be [n, channels, …]");
    const Shape channels = {x.size(1)};
    check_affine(check, "running_mean", mean, channels);
    check_affine(check, "running_var", var, channels);
    check_affine(check, "weight", weight, channels);
    check_affine(check, "bias", bias, channels);
}

// The statistics of x over the axes, also for the running ones: over a batch of examples theirs are averaged.
struct Statistics {
    NodeRef centre, spread;
};
Statistics batch_statistics(const Checker& check, const NodeRef& x, const Dims& axes, const Tensor& running_mean,
                            const Tensor& running_var, const std::optional<double>& momentum, const Tensor& batches) {
    const std::int64_t count = nodes::count_of(x, axes);
    check.value(count > 1, "training needs more than one value per channel");
    const NodeRef centre = nodes::mean(x, axes), spread = nodes::variance(x, centre, axes, 0);
    if (running_mean.defined() || running_var.defined()) {
        const Tensor share = next_share(check, momentum, batches);
        const auto averaged = [](const NodeRef& n) { return n->shape[0] == 1 ? n : nodes::mean(n, {0}); };
        const double unbiased = static_cast<double>(count) / static_cast<double>(count - 1);
        move_towards(running_mean, averaged(centre), momentum, share);
        move_towards(running_var, averaged(spread * nodes::number(spread, unbiased)), momentum, share);
    }
    return {centre, spread};
}

Tensor channel_norm(const Checker& check, const Tensor& x, const Dims& axes, const Tensor& running_mean,
                    const Tensor& running_var, const Tensor& weight, const Tensor& bias,
                    const BatchNormOptions& options) {
    check_channels(check, x, running_mean, running_var, weight, bias);
    check.value(options.training || (running_mean.defined() && running_var.defined()),
                "without training the running mean and variance are needed");
    Shape per_channel = Shape::filled(static_cast<std::size_t>(x.rank()), 1);
    per_channel[1] = x.size(1);
    const NodeRef wide = widened(x);
    const auto running = [&](const Tensor& t) { return ir::reshape(ir::cast(node_of(t), wide->dtype), per_channel); };
    const Statistics by = options.training ? batch_statistics(check, wide, axes, running_mean, running_var,
                                                              options.momentum, options.batches)
                                           : Statistics{running(running_mean), running(running_var)};
    const NodeRef normal = (wide - by.centre) * rsqrt(by.spread + nodes::number(wide, options.eps));
    return make_tensor(ir::cast(affine(normal, weight, bias, per_channel), x.dtype()));
}

Dims axes_from(int first, int rank) {
    Dims axes;
    for (int d = first; d < rank; ++d) axes.push_back(d);
    return axes;
}

}  // namespace

Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                  const Tensor& bias, const BatchNormOptions& options) {
    const Checker check("batch_norm", {{"x", x},
                                       {"running_mean", running_mean, kOptional},
                                       {"running_var", running_var, kOptional},
                                       {"weight", weight, kOptional},
                                       {"bias", bias, kOptional}});
    Dims axes = axes_from(2, x.rank());
    axes.insert(axes.begin(), 0);
    return channel_norm(check, x, axes, running_mean, running_var, weight, bias, options);
}

Tensor instance_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight,
                     const Tensor& bias, const InstanceNormOptions& options) {
    const Checker check("instance_norm", {{"x", x},
                                          {"running_mean", running_mean, kOptional},
                                          {"running_var", running_var, kOptional},
                                          {"weight", weight, kOptional},
                                          {"bias", bias, kOptional}});
    check.that(x.rank() >= 3, "x must be [n, channels, spatial…]");
    return channel_norm(check, x, axes_from(2, x.rank()), running_mean, running_var, weight, bias,
                        {.training = options.use_input_stats,
                         .momentum = options.momentum,
                         .eps = options.eps,
                         .batches = options.batches});
}

}  // namespace weft
