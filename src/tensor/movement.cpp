// tensor/movement.cpp: movement that makes a new tensor: joining, padding, repeating, rolling. Views are in movement_views.cpp.
#include "core/checked.h"
#include "ir/build.h"
#include "ir/walk.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <algorithm>

namespace weft {
namespace {

using ir::NodeRef;

// Pieces that fill `shape` one after the other along an axis. What they are inserted into is never seen.
NodeRef joined(std::span<const NodeRef> pieces, int axis, const Shape& shape) {
    NodeRef result = ir::constant(pieces[0]->dtype, Scalar(0), shape);
    Dims starts = Dims::filled(shape.size(), 0);
    for (const NodeRef& piece : pieces) {
        result = ir::insert(result, piece, starts);
        starts[axis] += piece->shape[axis];
    }
    return result;
}

DType common_type(const Checker& check, std::span<const Tensor> tensors) {
    check.that(!tensors.empty(), "there must be one tensor at least");
    DType dtype = tensors[0].dtype();
    for (const Tensor& tensor : tensors) dtype = promote(dtype, tensor.dtype());
    return dtype;
}

// What a pending value is made of, as hashes; ops 0: it needs a gradient, is large, or more than data in another form.
struct Form {
    std::uint64_t ops = 0, sizes = 0;
};
Form form_of(const NodeRef& node) {
    constexpr std::size_t kMostNodes = 24;
    constexpr std::int64_t kMostElements = std::int64_t{1} << 22;
    const auto enter = [](const ir::Node& n) { return !n.realized; };
    const std::vector<const ir::Node*> nodes = ir::topological_order(std::span(&node, 1), enter);
    if (node->needs_grad || nodes.size() > kMostNodes || numel(node->shape) > kMostElements) return {};
    Form form{1, 1};
    for (const ir::Node* each : nodes) {
        const bool computes = !ir::is_elementwise(each->op) && !ir::is_movement(each->op);
        if (computes && !each->sources.empty() && !each->realized) return {};
        form.ops = form.ops * 31 + static_cast<std::uint64_t>(each->op);
        for (const std::int64_t size : each->shape)
            form.sizes = form.sizes * 0x9e3779b97f4a7c15 + static_cast<std::uint64_t>(size);
    }
    return form;
}

// Items that were padded to one length are computed one by one: a plan of all of them would know all of their lengths, and would hardly ever
// be found again.
void compute_ragged(std::span<const Tensor> items) {
    if (active_tracer || inside_run() || items.size() < 3) return;
    {
        const std::lock_guard lock(ir::graph_lock());
        bool differ = false;
        Form first;  // of those that are padded: who has the full length is memory
        for (const Tensor& item : items) {
            const NodeRef node = node_of(item);
            if (node->op == ir::Op::Buffer || node->realized) continue;
            const Form form = form_of(node);
            if (first.ops == 0) first = form;
            if (form.ops == 0 || form.ops != first.ops) return;
            differ = differ || form.sizes != first.sizes;
        }
        if (!differ) return;
    }
    for (const Tensor& item : items) item.realize();
}

}  // namespace

Tensor cat(std::span<const Tensor> tensors, int axis) {
    const Checker check("cat", {{"tensors", tensors}, {"axis", axis}});
    const DType dtype = common_type(check, tensors);
    // A vector of no elements fits anything, as in PyTorch: what is collected often starts as one.
    std::size_t first = 0;
    while (first + 1 < tensors.size() && tensors[first].shape() == Shape{0}) ++first;
    Shape shape = tensors[first].shape();
    const int d = check.axis(axis, static_cast<int>(shape.size()));
    shape[d] = 0;
    std::vector<NodeRef> pieces, unused;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        Shape own = tensors[i].shape();
        if (own == Shape{0} && shape.size() != 1) {
            unused.push_back(ir::cast(node_of(tensors[i]), dtype));
            continue;
        }
        check.that(own.size() == shape.size(), "tensor ", i, " has ", own.size(), " axes, tensor ", first, " has ",
                   shape.size());
        shape[d] = checked_add(shape[d], own[d]);
        own[d] = shape[d];
        check.that(own == shape, "tensor ", i, " has shape ", tensors[i].shape(), ", which must equal tensor ", first,
                   "'s ", tensors[first].shape(), " but for axis ", d);
        pieces.push_back(ir::cast(node_of(tensors[i]), dtype));
    }
    NodeRef result = joined(pieces, d, shape);
    for (const NodeRef& piece : unused) result = ir::with_unused(result, piece);
    return make_tensor(result);
}

Tensor stack(std::span<const Tensor> tensors, int axis) {
    const Checker check("stack", {{"tensors", tensors}, {"axis", axis}});
    const DType dtype = common_type(check, tensors);
    Shape shape = tensors[0].shape();
    const int d = check.axis(axis, static_cast<int>(shape.size()) + 1);
    compute_ragged(tensors);
    std::vector<NodeRef> pieces;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        check.that(tensors[i].shape() == shape, "tensor ", i, " has shape ", tensors[i].shape(),
                   ", which must equal tensor 0's ", shape);
        pieces.push_back(nodes::add_axis(ir::cast(node_of(tensors[i]), dtype), d));
    }
    shape.insert(shape.begin() + d, static_cast<std::int64_t>(tensors.size()));
    return make_tensor(joined(pieces, d, shape));
}

Tensor pad(const Tensor& x, const Dims& widths, const Scalar& value) {
    const Checker check("pad", {{"x", x}, {"widths", widths}});
    check.value(widths.size() % 2 == 0, "widths come in pairs (before, after)");
    check.value(static_cast<int>(widths.size()) <= 2 * x.rank(), "there are ", widths.size() / 2, " pairs for ",
                x.rank(), " axes");
    Dims starts = Dims::filled(x.shape().size(), 0), before = starts, after = starts;
    Shape kept = x.shape(), padded = kept;
    for (std::size_t i = 0; i < widths.size() / 2; ++i) {
        const std::size_t d = kept.size() - 1 - i;
        const std::int64_t low = widths[2 * i], high = widths[2 * i + 1];
        const std::int64_t cut_low = low < 0 ? checked_mul(low, -1) : 0,
                           cut_high = high < 0 ? checked_mul(high, -1) : 0;
        check.that(checked_add(cut_low, cut_high) <= kept[d], "the widths ", low, " and ", high, " cut more off axis ",
                   d, " than its size ", kept[d]);
        padded[d] = checked_add(checked_add(kept[d], low), high);
        starts[d] = cut_low;
        kept[d] -= cut_low + cut_high;
        before[d] = std::max<std::int64_t>(0, low);
        after[d] = padded[d] - before[d] - kept[d];
    }
    check.sizes(padded);
    const NodeRef inside = ir::shrink(node_of(x), starts, kept);
    if (value.as_double() == 0) return make_tensor(ir::pad(inside, before, after));
    const NodeRef frame = ir::expand(as_node(value, x.dtype(), check), padded);
    return make_tensor(ir::insert(frame, inside, before));
}

namespace {

// `width` elements of x's own that stand before it (or behind it) along an axis.
Tensor border(const Tensor& x, int axis, std::int64_t width, bool behind, PadMode mode) {
    const std::int64_t size = x.size(axis);
    switch (mode) {
        case PadMode::Reflect: return x.narrow(axis, behind ? size - 1 - width : 1, width).flip(axis);
        case PadMode::Circular: return x.narrow(axis, behind ? 0 : size - width, width);
        case PadMode::Replicate: break;
    }
    Shape shape = x.shape();
    shape[axis] = width;
    return x.narrow(axis, behind ? size - 1 : 0, 1).expand(shape);
}

}  // namespace

Tensor pad(const Tensor& x, const Dims& widths, PadMode mode) {
    const Checker check("pad", {{"x", x}, {"widths", widths}});
    check.value(widths.size() % 2 == 0, "widths come in pairs (before, after)");
    check.value(static_cast<int>(widths.size()) <= 2 * x.rank(), "there are ", widths.size() / 2, " pairs for ",
                x.rank(), " axes");
    Dims cuts = Dims::filled(widths.size(), 0);
    for (std::size_t i = 0; i < widths.size(); ++i) cuts[i] = std::min<std::int64_t>(0, widths[i]);
    const bool cut = std::any_of(cuts.begin(), cuts.end(), [](std::int64_t n) { return n < 0; });
    // As in PyTorch: a ring is what the cuts leave; borders repeat and reflect what is cut away, too.
    const bool cut_first = cut && mode == PadMode::Circular;
    Tensor result = cut_first ? pad(x, cuts) : x;
    for (std::size_t i = 0; i < widths.size() / 2; ++i) {
        const int axis = x.rank() - 1 - static_cast<int>(i);
        const std::int64_t size = result.size(axis), most = mode == PadMode::Reflect ? size - 1 : size;
        std::vector<Tensor> parts;
        for (const bool behind : {false, true}) {
            const std::int64_t width = widths[2 * i + behind];
            if (width > 0) {
                check.that(mode == PadMode::Replicate ? size > 0 : width <= most, "the width ", width,
                           " is more than axis ", axis, " of size ", size, " has to repeat");
                parts.push_back(border(result, axis, width, behind, mode));
            }
            if (!behind) parts.push_back(result);
        }
        if (parts.size() > 1) result = cat(parts, axis);
    }
    if (cut && !cut_first) result = pad(result, cuts);
    return result.cell() == x.cell() ? clone(x) : result;
}

namespace {

NodeRef tiled(const NodeRef& x, const Dims& repeats) {  // as many repeats as axes
    Shape split, expanded, result;
    for (std::size_t d = 0; d < repeats.size(); ++d) {
        const std::int64_t size = x->shape[d];
        split.push_back(1), split.push_back(size);
        expanded.push_back(repeats[d]), expanded.push_back(size);
        result.push_back(checked_mul(repeats[d], size));
    }
    return ir::reshape(ir::expand(ir::reshape(x, split), expanded), result);
}

Tensor tile_checked(const Checker& check, const Tensor& x, const Dims& repeats) {
    for (const std::int64_t count : repeats) check.value(count >= 0, "a number of repeats is negative");
    const std::size_t rank = std::max(repeats.size(), x.shape().size());
    Shape shape = Shape::filled(rank - x.shape().size(), 1);
    Dims counts = Dims::filled(rank - repeats.size(), 1);
    const Shape own = x.shape();
    shape.append(own.begin(), own.end());
    counts.append(repeats.begin(), repeats.end());
    return make_tensor(tiled(ir::reshape(node_of(x), shape), counts));
}

}  // namespace

Tensor tile(const Tensor& x, const Dims& repeats) {
    return tile_checked(Checker("tile", {{"x", x}, {"repeats", repeats}}), x, repeats);
}

Tensor repeat(const Tensor& x, const Dims& repeats) {
    const Checker check("repeat", {{"x", x}, {"repeats", repeats}});
    check.that(repeats.size() >= x.shape().size(), "there must be a number for each of the ", x.rank(), " axes");
    return tile_checked(check, x, repeats);
}

Tensor repeat_interleave(const Tensor& x, std::int64_t count, int axis) {
    const Checker check("repeat_interleave", {{"x", x}, {"count", count}, {"axis", axis}});
    check.value(count >= 0, "the count must not be negative");
    const int d = check.axis(axis, x.rank());
    const NodeRef split = nodes::add_axis(node_of(x), d + 1);
    Shape expanded = split->shape, result = x.shape();
    expanded[d + 1] = count;
    result[d] = checked_mul(result[d], count);
    check.sizes(result);
    return make_tensor(ir::reshape(ir::expand(split, expanded), result));
}

Tensor repeat_interleave(const Tensor& x, const Tensor& counts, int axis) {
    const Checker check("repeat_interleave", {{"x", x}, {"counts", counts}, {"axis", axis}});
    const int d = check.axis(axis, x.rank());
    check.dtype(is_int(counts.dtype()), "counts must be integers, not ", counts.dtype());
    check.that(counts.rank() <= 1, "counts must have one axis at most");
    const std::int64_t slices = x.size(d), given = counts.numel();
    check.that(given == slices || given == 1, "there must be one count for each of the ", slices, " slices, not ",
               given);
    const std::vector<std::int64_t> times = counts.detach().to_vector<std::int64_t>();
    std::vector<std::int64_t> index;
    double total = 0;
    for (std::int64_t i = 0; i < slices; ++i) {
        const std::int64_t count = times[given == 1 ? 0 : static_cast<std::size_t>(i)];
        check.value(count >= 0, "count ", count, " is negative");
        check.table(total += static_cast<double>(count));
        index.insert(index.end(), static_cast<std::size_t>(count), i);
    }
    return take(x, from_data(index), d);
}

Tensor roll(const Tensor& x, const Dims& shifts, const Axes& axes) {
    const Checker check("roll", {{"x", x}, {"shifts", shifts}, {"axes", axes}});
    check.that(shifts.size() == axes.size() && !axes.empty(),
               "there must be one shift for each axis, and one axis at least");
    NodeRef result = node_of(x);
    const Shape shape = x.shape();
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const int d = check.axis(axes[i], x.rank());
        const std::int64_t size = shape[d], moved = size == 0 ? 0 : floor_mod(shifts[i], size);
        if (moved == 0) continue;
        Dims starts = Dims::filled(shape.size(), 0);
        Shape head = shape, tail = shape;
        head[d] = size - moved, tail[d] = moved;
        const NodeRef first = ir::shrink(result, starts, head);
        starts[d] = size - moved;
        const NodeRef pieces[] = {ir::shrink(result, starts, tail), first};
        result = joined(pieces, d, shape);
    }
    return make_tensor(result);
}

}  // namespace weft
