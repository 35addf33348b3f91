// tensor/conv.cpp: convolution and pooling: a view of sliding windows, then one reduction over them. There is no node for
// either, and no buffer of windows: the kernel layer reads the input through the view.
#include "core/checked.h"
#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <limits>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

struct Convolution {
    Dims stride, padding, dilation;
    std::int64_t groups = 1;
};

void check_positive(const Checker& check, std::string_view name, const Dims& values, std::int64_t least) {
    for (const std::int64_t value : values)
        check.value(value >= least, name, " must be at least ", least, ", not ", value);
}

// x with `padding` zeros on both sides of its last axes.
NodeRef zero_padded(const NodeRef& x, const Dims& padding) {
    Dims before(x->shape.size(), 0);
    std::copy(padding.begin(), padding.end(), before.end() - padding.size());
    return ir::pad(x, before, before);
}

// x [n, groups, in, spatial…] and w [groups, out, in, window…] to [n, groups * out, spatial…]: a sum over in and window
// of two factors, [n, groups, 1, spatial…, in, window…] and [1, groups, out, 1…, in, window…].
NodeRef convolve(const NodeRef& x, const NodeRef& w, const Convolution& conv) {
    const int spatial = static_cast<int>(conv.stride.size());
    std::vector<nodes::Window> windows;
    for (int s = 0; s < spatial; ++s)
        windows.push_back(
            {.axis = 3 + s, .size = w->shape[3 + s], .stride = conv.stride[s], .dilation = conv.dilation[s]});
    const NodeRef seen = nodes::windows(x, windows);  // [n, groups, in, spatial…, window…]
    Dims order = {0, 1};
    for (int s = 0; s < spatial; ++s) order.push_back(3 + s);
    order.push_back(2);
    for (int s = 0; s < spatial; ++s) order.push_back(3 + spatial + s);
    const NodeRef left = nodes::add_axis(ir::permute(seen, order), 2);

    Shape factor(static_cast<std::size_t>(4 + 2 * spatial), 1);
    factor[1] = w->shape[0], factor[2] = w->shape[1], factor[3 + spatial] = w->shape[2];
    Dims summed = {3 + spatial};
    for (int s = 0; s < spatial; ++s) {
        factor[4 + spatial + s] = w->shape[3 + s];
        summed.push_back(4 + spatial + s);
    }
    const NodeRef total = ir::reduce(Op::Add, left * ir::reshape(w, factor), summed);
    Shape result = {x->shape[0], w->shape[0] * w->shape[1]};
    for (int s = 0; s < spatial; ++s) result.push_back(left->shape[3 + s]);
    return ir::reshape(total, result);
}

Tensor convolution(const Checker& check, const Tensor& x, const Tensor& weight, const Tensor& bias,
                   const Convolution& conv) {
    const int spatial = static_cast<int>(conv.stride.size());
    const auto named = [&](const char* one, const char* two) { return spatial == 1 ? one : two; };
    check.that(x.rank() == 2 + spatial, "x must be ", named("[n, in, l]", "[n, in, h, w]"));
    check.that(weight.rank() == 2 + spatial, "weight must be ",
               named("[out, in / groups, k]", "[out, in / groups, kh, kw]"));
    check_positive(check, "stride", conv.stride, 1);
    check_positive(check, "dilation", conv.dilation, 1);
    check_positive(check, "padding", conv.padding, 0);
    check.value(conv.groups >= 1, "groups must be at least 1, not ", conv.groups);
    const Shape shape = x.shape(), sizes = weight.shape();
    const std::int64_t groups = conv.groups;
    check.that(shape[1] % groups == 0 && sizes[0] % groups == 0, "x's ", shape[1], " and weight's ", sizes[0],
               " channels must be divisible by groups ", groups);
    check.that(shape[1] / groups == sizes[1], "x's ", shape[1], " channels in ", groups, " groups need a weight of ",
               shape[1] / groups, " input channels, not ", sizes[1]);
    check.that(!bias.defined() || bias.shape() == Shape{sizes[0]}, "bias must have shape [", sizes[0], "]");
    for (int s = 0; s < spatial; ++s) {
        check.that(sizes[2 + s] > 0, "the kernel is empty");
        const std::int64_t padded = checked_add(shape[2 + s], checked_mul(2, conv.padding[s]));
        const nodes::Window window{.size = sizes[2 + s], .stride = conv.stride[s], .dilation = conv.dilation[s]};
        check.that(window.outputs(padded) > 0, "the kernel reaches over ", (window.size - 1) * window.dilation + 1,
                   " elements, the padded input has ", padded);
    }
    DType result = promote(x.dtype(), weight.dtype());
    if (bias.defined()) result = promote(result, bias.dtype());
    check.dtype(!is_bool(result), "bools have no products to sum; convert x or weight");
    const DType wide = accumulator_of(result);

    Shape grouped = {shape[0], groups, shape[1] / groups}, kernels = {groups, sizes[0] / groups};
    grouped.append(shape.begin() + 2, shape.end());
    kernels.append(sizes.begin() + 1, sizes.end());
    const NodeRef in = zero_padded(ir::reshape(ir::cast(node_of(x), wide), grouped), conv.padding);
    NodeRef out = convolve(in, ir::reshape(ir::cast(node_of(weight), wide), kernels), conv);
    if (bias.defined()) {
        Shape per_channel(static_cast<std::size_t>(1 + spatial), 1);
        per_channel[0] = sizes[0];
        out = out + ir::reshape(ir::cast(node_of(bias), wide), per_channel);
    }
    return make_tensor(ir::cast(out, result));
}

}  // namespace

Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv2dOptions& options) {
    const Checker check("conv2d", {{"x", x}, {"weight", weight}, {"bias", bias, kOptional}});
    const auto both = [](const Pair& pair) { return Dims{pair.height, pair.width}; };
    return convolution(check, x, weight, bias,
                       {both(options.stride), both(options.padding), both(options.dilation), options.groups});
}

Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias, const Conv1dOptions& options) {
    const Checker check("conv1d", {{"x", x}, {"weight", weight}, {"bias", bias, kOptional}});
    return convolution(check, x, weight, bias,
                       {{options.stride}, {options.padding}, {options.dilation}, options.groups});
}

// ---- pooling ---------------------------------------------------------------------------------------------------------

namespace {

std::vector<nodes::Window> pool_windows(const Checker& check, const Tensor& x, Pair window,
                                        const PoolOptions& options) {
    check.that(x.rank() == 4, "x must be [n, c, h, w]");
    std::vector<nodes::Window> windows;
    const std::int64_t sizes[] = {window.height, window.width};
    const std::int64_t strides[] = {options.stride.height, options.stride.width};
    const std::int64_t padding[] = {options.padding.height, options.padding.width};
    for (int s = 0; s < 2; ++s) {
        check.value(sizes[s] > 0, "the window must be positive, not ", sizes[s]);
        check.value(strides[s] >= 0, "the stride must be positive, not ", strides[s]);
        check.value(padding[s] >= 0 && padding[s] <= sizes[s] / 2, "padding ", padding[s],
                    " must lie between 0 and half of the window ", sizes[s]);
        windows.push_back({.axis = 2 + s, .size = sizes[s], .stride = strides[s] ? strides[s] : sizes[s]});
        const std::int64_t padded = checked_add(x.size(2 + s), 2 * padding[s]);
        check.that(windows.back().outputs(padded) > 0, "the window of ", sizes[s], " does not fit the padded size ",
                   padded);
    }
    return windows;
}

// The gradient of a window goes to its first maximum, as in PyTorch: after relu most windows have several.
const std::shared_ptr<const ir::GradRuleObject>& max_pool_rule() {
    static const auto rule = nodes::grad_rule("max_pool", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef& seen = out->sources[1];  // [n, c, oh, ow, kh, kw]; out is [n, c, oh, ow, 1, 1]
        const std::int64_t height = seen->size(4), width = seen->size(5);
        const NodeRef row = nodes::positions(height, 4, 6), column = nodes::positions(width, 5, 6);
        const NodeRef at = row * nodes::number(row, width) + column;
        const NodeRef hit = nodes::either(ir::equal_to(seen, out), nodes::is_nan(seen));
        const NodeRef first = ir::reduce(Op::Min, ir::where(hit, at, nodes::number(at, height * width)), {4, 5});
        return ir::Grads{ir::where(ir::equal_to(at, first), g, nodes::number(g, 0))};
    });
    return rule;
}

NodeRef padded_with_lowest(const NodeRef& x, const Pair& padding) {
    if (padding.height == 0 && padding.width == 0) return x;
    Shape shape = x->shape;
    shape[2] += 2 * padding.height;
    shape[3] += 2 * padding.width;
    const NodeRef frame = ir::constant_word(x->dtype, ir::identity_word(Op::Max, x->dtype), shape);
    return ir::insert(frame, x, {0, 0, padding.height, padding.width});
}

}  // namespace

Tensor max_pool2d(const Tensor& x, Pair window, const PoolOptions& options) {
    const Checker check("max_pool2d", {{"x", x}, {"height", window.height}, {"width", window.width}});
    const auto windows = pool_windows(check, x, window, options);
    const NodeRef seen = nodes::windows(padded_with_lowest(node_of(x), options.padding), windows);
    NodeRef top = ir::reduce(Op::Max, seen, {4, 5});
    if (is_float(x.dtype())) top = nodes::with_grad(top, seen, max_pool_rule());
    return make_tensor(nodes::drop_axes(top, {4, 5}));
}

Tensor avg_pool2d(const Tensor& x, Pair window, const PoolOptions& options) {
    const Checker check("avg_pool2d", {{"x", x}, {"height", window.height}, {"width", window.width}});
    const auto windows = pool_windows(check, x, window, options);
    check.dtype(is_float(x.dtype()), "x must be a float tensor, not ", x.dtype());
    const Dims padding = {options.padding.height, options.padding.width};
    const auto summed = [&](const NodeRef& node) {
        return nodes::reduced(Op::Add, nodes::windows(zero_padded(node, padding), windows), {4, 5}, false);
    };
    const NodeRef wide = ir::cast(node_of(x), accumulator_of(x.dtype()));
    NodeRef count = nodes::number(wide, static_cast<double>(window.height * window.width));
    if (!options.count_include_pad && (padding[0] > 0 || padding[1] > 0))
        count = summed(ir::constant(wide->dtype, Scalar(1), {1, 1, x.size(2), x.size(3)}));
    return make_tensor(ir::cast(summed(wide) / count, x.dtype()));
}

}  // namespace weft
