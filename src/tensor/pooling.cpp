// tensor/pooling.cpp: pooling: a view of windows, then one reduction over them; and maxima put back.
#include "core/checked.h"
#include "tensor/nodes.h"
#include "tensor/windows.h"

#include <weft/ops.h>

#include <numeric>
#include <utility>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

struct Pooling {
    int spatial = 0;
    Dims padding, after;  // after: what the last windows reach over the end as well
    std::vector<nodes::Window> windows;
    Dims outputs;
    Dims window_axes;  // of what windows() gives

    NodeRef seen(const NodeRef& padded) const { return nodes::windows(padded, windows); }
};

Pooling pooling_of(const Checker& check, const Shape& shape, int spatial, const Sizes& window,
                   const PoolOptions& options) {
    Pooling p{.spatial = spatial};
    const Dims sizes = each_axis(check, "the window", window, spatial, 1);
    const Dims strides = options.stride.empty() ? sizes : each_axis(check, "stride", options.stride, spatial, 1);
    const Dims dilation = each_axis(check, "dilation", options.dilation, spatial, 1);
    p.padding = each_axis(check, "padding", options.padding, spatial, 0);
    for (int s = 0; s < spatial; ++s) {
        const nodes::Window w{.axis = 2 + s, .size = sizes[s], .stride = strides[s], .dilation = dilation[s]};
        const std::int64_t reach = checked_add(checked_mul(w.size - 1, w.dilation), 1);
        check.value(p.padding[s] <= reach / 2, "padding ", p.padding[s],
                    " must be at most half of what the window reaches over, ", reach);
        const std::int64_t size = shape[2 + s], padded = checked_add(size, 2 * p.padding[s]);
        std::int64_t outputs = w.outputs(padded), over = 0;
        if (options.ceil_mode && padded + w.stride > reach) {
            outputs = (padded - reach + w.stride - 1) / w.stride + 1;
            if ((outputs - 1) * w.stride >= size + p.padding[s]) --outputs;  // it would see nothing of x
            over = std::max<std::int64_t>(0, (outputs - 1) * w.stride + reach - padded);
        }
        check.that(outputs > 0, "the window of ", w.size, " does not fit the padded size ", padded);
        p.after.push_back(p.padding[s] + over);
        p.windows.push_back(w);
        p.outputs.push_back(outputs);
        p.window_axes.push_back(2 + spatial + s);
    }
    return p;
}

// ---- maxima ----------------------------------------------------------------------------------------------------------

// Of out = the maximum of seen over the axes where out has size 1: the positions in those axes counted row by row, and
// the first of them that holds the maximum (or a NaN, which is one).
struct FirstMaximum {
    NodeRef at, first;
};
FirstMaximum first_maximum(const NodeRef& seen, const NodeRef& top) {
    Dims axes;
    NodeRef at;
    std::int64_t count = 1;
    for (int axis = 0; axis < seen->rank(); ++axis) {
        if (top->shape[axis] != 1 || seen->shape[axis] == 1) continue;
        const NodeRef here = nodes::positions(seen->shape[axis], axis, seen->rank());
        at = at ? at * nodes::number(at, seen->shape[axis]) + here : here;
        count *= seen->shape[axis];
        axes.push_back(axis);
    }
    if (axes.empty()) at = ir::constant(DType::I64, Scalar(0), Shape::filled(seen->shape.size(), 1));
    if (count <= std::numeric_limits<std::int32_t>::max()) at = ir::cast(at, DType::I32);  // twice as many to a vector
    const NodeRef hit = nodes::either(ir::equal_to(seen, top), nodes::is_nan(seen));
    return {at, ir::reduce(Op::Min, ir::where(hit, at, nodes::number(at, count)), axes)};
}

// The gradient of a window goes to its first maximum, as in PyTorch: after relu most windows have several.
const std::shared_ptr<const ir::GradRuleObject>& max_pool_rule() {
    static const auto rule = nodes::grad_rule("max_pool", [](const NodeRef& out, const NodeRef& g) {
        const auto [at, first] = first_maximum(out->sources[1], out);
        return ir::Grads{ir::where(ir::equal_to(at, first), g, nodes::number(g, 0))};
    });
    return rule;
}

NodeRef maximum_over(const NodeRef& seen, const Dims& axes) {
    const NodeRef top = ir::reduce(Op::Max, seen, axes);
    return is_float(seen->dtype) ? nodes::with_grad(top, seen, max_pool_rule()) : top;
}

NodeRef lowest(DType dtype, const Shape& shape = {}) {
    return ir::constant_word(dtype, ir::identity_word(Op::Max, dtype), shape);
}

NodeRef padded_with_lowest(const NodeRef& x, const Pooling& p) {
    Shape shape = x->shape;
    Dims starts = Dims::filled(shape.size(), 0);
    for (int s = 0; s < p.spatial; ++s) {
        shape[2 + s] += p.padding[s] + p.after[s];
        starts[2 + s] = p.padding[s];
    }
    return shape == x->shape ? x : ir::insert(lowest(x->dtype, shape), x, starts);
}

// The position of each window's first maximum in the flattened spatial axes of x, which never is one of the padding.
NodeRef positions_of(const NodeRef& seen, const NodeRef& top, const Shape& shape, const Pooling& p) {
    const int rank = seen->rank();
    NodeRef flat, inside;
    for (int s = 0; s < p.spatial; ++s) {
        const nodes::Window& w = p.windows[s];
        const NodeRef start = nodes::positions(p.outputs[s], 2 + s, rank);
        const NodeRef step = nodes::positions(w.size, p.window_axes[s], rank);
        const NodeRef at = start * nodes::number(start, w.stride) + step * nodes::number(step, w.dilation) -
                           nodes::number(start, p.padding[s]);
        const NodeRef within =
            nodes::both(ir::less_equal(nodes::number(at, 0), at), ir::less(at, nodes::number(at, shape[2 + s])));
        flat = flat ? flat * nodes::number(flat, shape[2 + s]) + at : at;
        inside = inside ? nodes::both(inside, within) : within;
    }
    const NodeRef hit = nodes::both(nodes::either(ir::equal_to(seen, top), nodes::is_nan(seen)), inside);
    const NodeRef none = nodes::number(flat, std::numeric_limits<std::int64_t>::max());
    return ir::reduce(Op::Min, ir::where(hit, flat, none), p.window_axes);
}

PooledMaxima max_pool(std::string_view name, int spatial, const Tensor& x, const Sizes& window,
                      const PoolOptions& options, bool with_indices) {
    const Checker check(name, {{"x", x}, {"window", window}});
    const NodeRef input = with_batch(check, x, spatial, "c");
    const Pooling p = pooling_of(check, input->shape, spatial, window, options);
    const NodeRef seen = p.seen(padded_with_lowest(input, p)), top = maximum_over(seen, p.window_axes);
    const auto finished = [&](const NodeRef& y) {
        return make_tensor(without_batch(nodes::drop_axes(y, p.window_axes), x, spatial));
    };
    return {finished(top), with_indices ? finished(positions_of(seen, ir::detach(top), input->shape, p)) : Tensor()};
}

// ---- means -----------------------------------------------------------------------------------------------------------

// How many elements each window counts, where that differs: those that lie before the end of the padding, or within x.
NodeRef window_counts(const NodeRef& like, const Shape& shape, const Pooling& p, bool include_padding) {
    NodeRef count;
    for (int s = 0; s < p.spatial; ++s) {
        const nodes::Window& w = p.windows[s];
        const NodeRef step = nodes::positions(p.outputs[s], 2 + s, 2 + p.spatial);
        const NodeRef start = step * nodes::number(step, w.stride) - nodes::number(step, p.padding[s]);
        const std::int64_t size = shape[2 + s];
        const NodeRef end = ir::binary(Op::Min, start + nodes::number(step, w.size),
                                       nodes::number(step, include_padding ? size + p.padding[s] : size));
        const NodeRef first = include_padding ? start : ir::binary(Op::Max, start, nodes::number(step, 0));
        count = count ? count * (end - first) : end - first;
    }
    return ir::cast(count, like->dtype);
}

Tensor avg_pool(std::string_view name, int spatial, const Tensor& x, const Sizes& window, const PoolOptions& options) {
    const Checker check(name, {{"x", x}, {"window", window}});
    const NodeRef input = with_batch(check, x, spatial, "c");
    check.dtype(is_float(x.dtype()), "x must be a float tensor, not ", x.dtype());
    check.value(options.divisor_override != 0, "divisor_override must not be 0");
    for (const std::int64_t d : options.dilation) check.value(d == 1, "a mean has no dilation");
    const Pooling p = pooling_of(check, input->shape, spatial, window, options);
    const NodeRef wide = ir::cast(input, accumulator_of(x.dtype()));
    const NodeRef seen = p.seen(zero_padded(wide, p.padding, p.after));
    const ir::SumOrder order = ir::plain_order(*seen, p.window_axes, true);
    const NodeRef total = nodes::drop_axes(ir::reduce(Op::Add, seen, p.window_axes, &order), p.window_axes);
    const bool padded = std::any_of(p.padding.begin(), p.padding.end(), [](std::int64_t n) { return n > 0; });
    std::int64_t elements = 1;
    for (const nodes::Window& w : p.windows) elements *= w.size;
    NodeRef count = nodes::number(wide, static_cast<double>(options.divisor_override.value_or(elements)));
    if (!options.divisor_override && (p.after != p.padding || (padded && !options.count_include_pad)))
        count = window_counts(wide, input->shape, p, options.count_include_pad);
    return make_tensor(without_batch(ir::cast(total / count, x.dtype()), x, spatial));
}

// ---- adaptive pooling ------------------------------------------------------------------------------------------------

// Reduces one axis of n elements to `parts`. With g = gcd(n, parts) the pattern of parts repeats every n / g elements,
// so the axis becomes [g, 1, n / g], of which each of the parts / g parts of a period sees a range. Reducing the axes
// one after the other gives the same as all at once, also the first maximum.
template <class Reduce>
NodeRef in_parts(const NodeRef& x, int axis, std::int64_t parts, const NodeRef& unseen, Reduce reduce) {
    const std::int64_t size = x->shape[axis], periods = std::gcd(size, parts);
    const std::int64_t period = size / periods, ranges = parts / periods;
    Shape shape(x->shape.begin(), x->shape.begin() + axis), result = x->shape;
    for (const std::int64_t n : {periods, std::int64_t{1}, period}) shape.push_back(n);
    shape.append(x->shape.begin() + axis + 1, x->shape.end());
    result[axis] = parts;
    NodeRef seen = ir::reshape(x, shape), length = nodes::number(ir::iota(1), period);
    if (ranges > 1) {
        const int rank = seen->rank();
        const NodeRef range = nodes::positions(ranges, axis + 1, rank), at = nodes::positions(period, axis + 2, rank);
        const NodeRef count = nodes::number(range, ranges), step = range * nodes::number(range, period);
        const NodeRef start = ir::binary(Op::IDiv, step, count);
        const NodeRef end = ir::binary(Op::IDiv, step + nodes::number(range, period + ranges - 1), count);
        seen = ir::where(nodes::both(ir::less_equal(start, at), ir::less(at, end)), seen, unseen);
        length = end - start;
    }
    return ir::reshape(reduce(seen, axis + 2, length), result);
}

template <class Reduce>
NodeRef adaptive(const Checker& check, const Tensor& x, NodeRef node, const Sizes& size, int spatial,
                 const NodeRef& unseen, Reduce reduce) {
    const Dims sizes = each_axis(check, "the size", size, spatial, -1);
    // Last axes of which one element is left are one axis, and one kernel.
    const int last = 1 + spatial;
    Shape merged = node->shape;
    for (int axis = last - 1; axis >= 2 && sizes[last - 2] == 1 && sizes[axis - 2] == 1; --axis)
        merged[last] *= std::exchange(merged[axis], 1);
    node = ir::reshape(node, merged);
    for (int axis = last; axis >= 2; --axis) {  // the last one first: memory runs along it
        const std::int64_t parts = sizes[axis - 2] < 0 ? node->shape[axis] : sizes[axis - 2];
        check.value(parts > 0, "a size must be positive");
        check.that(node->shape[axis] > 0, "x has no elements");
        if (parts != node->shape[axis]) node = in_parts(node, axis, parts, unseen, reduce);
    }
    return without_batch(node, x, spatial);
}

Tensor adaptive_avg_pool(std::string_view name, int spatial, const Tensor& x, const Sizes& size) {
    const Checker check(name, {{"x", x}, {"size", size}});
    const NodeRef input = with_batch(check, x, spatial, "c");
    check.dtype(is_float(x.dtype()), "x must be a float tensor, not ", x.dtype());
    const NodeRef wide = ir::cast(input, accumulator_of(x.dtype()));
    const auto mean = [](const NodeRef& seen, int axis, const NodeRef& length) {
        return ir::reduce(Op::Add, seen, {axis}) / ir::cast(length, seen->dtype);
    };
    return make_tensor(ir::cast(adaptive(check, x, wide, size, spatial, nodes::number(wide, 0), mean), x.dtype()));
}

Tensor adaptive_max_pool(std::string_view name, int spatial, const Tensor& x, const Sizes& size) {
    const Checker check(name, {{"x", x}, {"size", size}});
    const NodeRef input = with_batch(check, x, spatial, "c");
    const auto top = [](const NodeRef& seen, int axis, const NodeRef&) { return maximum_over(seen, {axis}); };
    return make_tensor(adaptive(check, x, input, size, spatial, lowest(x.dtype()), top));
}

}  // namespace

Tensor max_pool1d(const Tensor& x, const Sizes& window, const PoolOptions& options) {
    return max_pool("max_pool1d", 1, x, window, options, false).values;
}
Tensor max_pool2d(const Tensor& x, const Sizes& window, const PoolOptions& options) {
    return max_pool("max_pool2d", 2, x, window, options, false).values;
}
Tensor max_pool3d(const Tensor& x, const Sizes& window, const PoolOptions& options) {
    return max_pool("max_pool3d", 3, x, window, options, false).values;
}
PooledMaxima max_pool1d_with_indices(const Tensor& x, const Sizes& window, const PoolOptions& options) {
    return max_pool("max_pool1d", 1, x, window, options, true);
}
PooledMaxima max_pool2d_with_indices(const Tensor& x, const Sizes& window, const PoolOptions& options) {
    return max_pool("max_pool2d", 2, x, window, options, true);
}
PooledMaxima max_pool3d_with_indices(const Tensor& x, const Sizes& window, const PoolOptions& options) {
    return max_pool("max_pool3d", 3, x, window, options, true);
}
Tensor avg_pool1d(const Tensor& x, const Sizes& window, const PoolOptions& options) {
    return avg_pool("avg_pool1d", 1, x, window, options);
}
Tensor avg_pool2d(const Tensor& x, const Sizes& window, const PoolOptions& options) {
    return avg_pool("avg_pool2d", 2, x, window, options);
}
Tensor avg_pool3d(const Tensor& x, const Sizes& window, const PoolOptions& options) {
    return avg_pool("avg_pool3d", 3, x, window, options);
}
Tensor adaptive_avg_pool1d(const Tensor& x, const Sizes& size) {
    return adaptive_avg_pool("adaptive_avg_pool1d", 1, x, size);
}
Tensor adaptive_avg_pool2d(const Tensor& x, const Sizes& size) {
    return adaptive_avg_pool("adaptive_avg_pool2d", 2, x, size);
}
Tensor adaptive_avg_pool3d(const Tensor& x, const Sizes& size) {
    return adaptive_avg_pool("adaptive_avg_pool3d", 3, x, size);
}
Tensor adaptive_max_pool1d(const Tensor& x, const Sizes& size) {
    return adaptive_max_pool("adaptive_max_pool1d", 1, x, size);
}
Tensor adaptive_max_pool2d(const Tensor& x, const Sizes& size) {
    return adaptive_max_pool("adaptive_max_pool2d", 2, x, size);
}
Tensor adaptive_max_pool3d(const Tensor& x, const Sizes& size) {
    return adaptive_max_pool("adaptive_max_pool3d", 3, x, size);
}

Tensor max_unpool(const Tensor& x, const Tensor& indices, const Dims& size) {
    const int spatial = static_cast<int>(size.size());
    const Checker check("max_unpool", {{"x", x}, {"indices", indices}, {"size", size}});
    check.that(x.rank() == spatial + 1 || x.rank() == spatial + 2, "x must have ", spatial + 1, " or ", spatial + 2,
               " axes");
    check.that(x.shape() == indices.shape(), "indices must have the shape of x");
    check.dtype(is_int(indices.dtype()), "indices must be integers, not ", indices.dtype());
    const Shape shape = x.shape();
    Shape outputs(shape.begin(), shape.end() - spatial);
    Shape flat = outputs, given = outputs;
    std::int64_t places = 1, count = 1;
    for (int s = 0; s < spatial; ++s) {
        const std::int64_t each = size[static_cast<std::size_t>(s)];
        check.value(each > 0, "the sizes must be positive, not ", each);
        outputs.push_back(each);
        places *= each;
        count *= shape[shape.size() - static_cast<std::size_t>(spatial) + static_cast<std::size_t>(s)];
    }
    flat.push_back(places);
    given.push_back(count);
    return scatter(zeros(flat, x.dtype()), -1, indices.to(DType::I64).reshape(given), x.reshape(given))
        .reshape(outputs);
}

}  // namespace weft
