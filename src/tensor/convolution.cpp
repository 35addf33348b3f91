// tensor/convolution.cpp: convolution and its transpose: a view of sliding windows, then sums of products (correlate.cpp). There is no op
// for either, and no buffer of windows: the kernel layer reads the input through the view.
#include "core/checked.h"
#include "tensor/correlate.h"
#include "tensor/nodes.h"
#include "tensor/windows.h"

#include <weft/convolution.h>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

// [n, groups * c, …] to [n, groups, c, …], of the type that is summed in.
NodeRef grouped(const NodeRef& x, std::int64_t groups, DType wide) {
    Shape shape = {x->shape[0], groups, x->shape[1] / groups};
    shape.append(x->shape.begin() + 2, x->shape.end());
    return ir::reshape(ir::cast(x, wide), shape);
}

// [groups * a, b, window…] to [groups, a, b, window…].
NodeRef grouped_kernels(const Tensor& weight, std::int64_t groups, DType wide) {
    const Shape sizes = weight.shape();
    Shape shape = {groups, sizes[0] / groups};
    shape.append(sizes.begin() + 1, sizes.end());
    return ir::reshape(ir::cast(node_of(weight), wide), shape);
}

NodeRef with_bias(const NodeRef& y, const Tensor& bias, int spatial) {
    if (!bias.defined()) return y;
    Shape per_channel = Shape::filled(static_cast<std::size_t>(1 + spatial), 1);
    per_channel[0] = bias.size(0);
    return y + ir::reshape(ir::cast(node_of(bias), y->dtype), per_channel);
}

DType result_type(const Checker& check, const Tensor& x, const Tensor& weight, const Tensor& bias) {
    DType result = promote(x.dtype(), weight.dtype());
    if (bias.defined()) result = promote(result, bias.dtype());
    check.dtype(!is_bool(result), "bools have no products to sum; convert x or weight");
    return result;
}

void check_kernels(const Checker& check, const Tensor& weight, std::string_view front, int spatial) {
    constexpr std::string_view kAxes[] = {"", ", k]", ", kh, kw]", ", kd, kh, kw]"};
    check.that(weight.rank() == 2 + spatial, "weight must be [", front, kAxes[spatial]);
    for (int s = 0; s < spatial; ++s) check.that(weight.size(2 + s) > 0, "the kernel is empty");
}

Tensor convolution(std::string_view name, int spatial, const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const ConvOptions& options) {
    const Checker check(name, {{"x", x}, {"weight", weight}, {"bias", bias, kOptional}});
    const NodeRef input = with_batch(check, x, spatial, "in");
    check_kernels(check, weight, "out, in / groups", spatial);
    Windows windows{each_axis(check, "stride", options.stride, spatial, 1),
                    each_axis(check, "dilation", options.dilation, spatial, 1),
                    each_axis(check, "padding", options.padding, spatial, 0),
                    {}};
    windows.after = windows.before;
    const std::int64_t groups = options.groups;
    check.value(groups >= 1, "groups must be at least 1, not ", groups);
    const Shape shape = input->shape, sizes = weight.shape();
    check.that(shape[1] % groups == 0 && sizes[0] % groups == 0, "x's ", shape[1], " and weight's ", sizes[0],
               " channels must be divisible by groups ", groups);
    check.that(shape[1] / groups == sizes[1], "x's ", shape[1], " channels in ", groups, " groups need a weight of ",
               shape[1] / groups, " input channels, not ", sizes[1]);
    check.that(!bias.defined() || bias.shape() == Shape{sizes[0]}, "bias must have shape [", sizes[0], "]");
    for (int s = 0; s < spatial; ++s) {
        const nodes::Window window{.size = sizes[2 + s], .stride = windows.stride[s], .dilation = windows.dilation[s]};
        const std::int64_t both = checked_mul(window.dilation, window.size - 1);
        if (options.padding.same) {
            check.value(window.stride == 1, "padding that keeps the size needs a stride of 1, not ", window.stride);
            windows.before[s] = both / 2, windows.after[s] = both - both / 2;
        }
        const std::int64_t padded = checked_add(shape[2 + s], checked_add(windows.before[s], windows.after[s]));
        check.that(window.outputs(padded) > 0, "the kernel reaches over ", both + 1, " elements, the padded input has ",
                   padded);
    }
    const DType result = result_type(check, x, weight, bias), wide = accumulator_of(result);
    const NodeRef out = correlate(grouped(input, groups, wide), grouped_kernels(weight, groups, wide), windows);
    return make_tensor(without_batch(ir::cast(with_bias(out, bias, spatial), result), x, spatial));
}

Tensor transposed(std::string_view name, int spatial, const Tensor& x, const Tensor& weight, const Tensor& bias,
                  const ConvTransposeOptions& options) {
    const Checker check(name, {{"x", x}, {"weight", weight}, {"bias", bias, kOptional}});
    const NodeRef input = with_batch(check, x, spatial, "in");
    check_kernels(check, weight, "in, out / groups", spatial);
    const Dims stride = each_axis(check, "stride", options.stride, spatial, 1),
               dilation = each_axis(check, "dilation", options.dilation, spatial, 1),
               padding = each_axis(check, "padding", options.padding, spatial, 0),
               beyond = each_axis(check, "output_padding", options.output_padding, spatial, 0);
    const std::int64_t groups = options.groups;
    check.value(groups >= 1, "groups must be at least 1, not ", groups);
    const Shape shape = input->shape, sizes = weight.shape();
    check.that(shape[1] == sizes[0], "x's ", shape[1], " channels must equal weight's first size ", sizes[0]);
    check.that(shape[1] % groups == 0, "x's ", shape[1], " channels must be divisible by groups ", groups);
    const std::int64_t channels = checked_mul(sizes[1], groups);
    check.that(!bias.defined() || bias.shape() == Shape{channels}, "bias must have shape [", channels, "]");
    const DType result = result_type(check, x, weight, bias), wide = accumulator_of(result);

    // Each element of x stands at every place of its window, and zeros elsewhere: [n, groups, in, spatial…, window…].
    NodeRef spread = grouped(input, groups, wide);
    Shape with_windows = spread->shape, expanded = spread->shape;
    for (int s = 0; s < spatial; ++s) {
        with_windows.push_back(1);
        expanded.push_back(sizes[2 + s]);
    }
    spread = ir::expand(ir::reshape(spread, with_windows), expanded);
    Dims starts = Dims::filled(expanded.size(), 0);
    for (int s = 0; s < spatial; ++s) {
        check.value(beyond[s] < std::max(stride[s], dilation[s]), "output_padding ", beyond[s],
                    " must be smaller than the stride or the dilation");
        check.that(shape[2 + s] > 0, "x has no elements");
        const std::int64_t reach = checked_add(checked_mul(shape[2 + s] - 1, stride[s]),
                                               checked_mul(sizes[2 + s] - 1, dilation[s]) + 1 + beyond[s]);
        check.that(reach > 2 * padding[s], "the result would have the size ", reach - 2 * padding[s]);
        spread = ir::unskew(
            spread, {.axis = 3 + s, .window = 3 + spatial + s, .stride = stride[s], .dilation = dilation[s]}, reach);
        starts[3 + s] = padding[s];
        expanded[3 + s] = reach - 2 * padding[s];
    }
    Dims order = {0, 2, 1};  // [groups, in, out, window…] to [groups, out, in, window…]
    for (int s = 0; s < spatial; ++s) order.push_back(3 + s);
    const NodeRef kernels = ir::permute(grouped_kernels(weight, groups, wide), order);
    const NodeRef out = sum_windows(ir::shrink(spread, starts, expanded), kernels, spatial);
    return make_tensor(without_batch(ir::cast(with_bias(out, bias, spatial), result), x, spatial));
}

}  // namespace

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
    return convolution("conv1d", 1, x, weight, bias, options);
}
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
    return convolution("conv2d", 2, x, weight, bias, options);
}
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias, const ConvOptions& options) {
    return convolution("conv3d", 3, x, weight, bias, options);
}
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& options) {
    return transposed("conv_transpose1d", 1, x, weight, bias, options);
}
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& options) {
    return transposed("conv_transpose2d", 2, x, weight, bias, options);
}
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias,
                        const ConvTransposeOptions& options) {
    return transposed("conv_transpose3d", 3, x, weight, bias, options);
}

}  // namespace weft
