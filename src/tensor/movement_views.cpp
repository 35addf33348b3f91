// tensor/movement_views.cpp: the views of a tensor. Each is a pair of functions on values: one reads the view from its base, the
// other gives the base with the viewed part replaced, for writes through the view.
#include "core/checked.h"
#include "ir/build.h"
#include "ir/strided.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <algorithm>
#include <numeric>

namespace weft {
namespace {

using ir::NodeRef;

// ---- reshaping -------------------------------------------------------------------------------------------------------

Tensor reshaped_view(const Tensor& x, const Shape& shape) {
    return make_view(
        x, [shape](const NodeRef& base) { return ir::reshape(base, shape); },
        [](const NodeRef& base, const NodeRef& value) { return ir::reshape(value, base->shape); });
}

// The same elements in another shape: a view where their places have strides in that shape too, else a value of its own.
Tensor reshaped(const Tensor& x, const Shape& shape) {
    if (const std::optional<Dims> strides = strides_in_base(x)) {
        Dims unused;
        if (!ir::reshape_strides(x.shape(), *strides, shape, unused))
            return make_tensor(ir::reshape(node_of(x), shape));
    }
    return reshaped_view(x, shape);
}

Shape with_inferred_size(const Checker& check, Shape shape, std::int64_t count) {
    std::int64_t known = 1;
    int inferred = -1;
    for (std::size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] == -1) {
            check.value(inferred < 0, "only one size may be -1");
            inferred = static_cast<int>(d);
        } else {
            check.value(shape[d] >= 0, "size ", shape[d], " is negative; -1 stands for the size that is left");
            known = checked_mul(known, shape[d]);
        }
    }
    if (inferred >= 0) {
        check.that(known != 0, "-1 could be any size, since another size is 0");
        check.that(count % known == 0, count, " elements cannot be divided into groups of ", known);
        shape[inferred] = count / known;
    } else {
        check.that(known == count, count, " elements do not fill a shape of ", known);
    }
    return shape;
}

// ---- regions: slices and integer indices of any axes -----------------------------------------------------------------

// Of each axis: a start, the length that is spanned, every how-many-th element of it, and whether it is read backwards.
struct Region {
    Dims starts;
    Shape spans, sizes;  // sizes: how many elements are taken
    Dims steps, flipped;

    explicit Region(const Shape& whole)
        : starts(Dims::filled(whole.size(), 0)), spans(whole), sizes(whole), steps(Dims::filled(whole.size(), 1)) {}

    void take(int axis, std::int64_t start, std::int64_t count, std::int64_t step) {
        starts[axis] = count == 0 ? 0 : step > 0 ? start : start + (count - 1) * step;
        sizes[axis] = count;
        spans[axis] = count == 0 ? 0 : (count - 1) * std::abs(step) + 1;
        steps[axis] = count <= 1 ? 1 : std::abs(step);
        if (step < 0 && count > 1) flipped.push_back(axis);
    }

    NodeRef read(const NodeRef& base) const {
        NodeRef result = ir::shrink(base, starts, spans);
        for (std::size_t d = 0; d < steps.size(); ++d)
            result = nodes::strided(result, static_cast<int>(d), steps[d], sizes[d]);
        return ir::flip(result, flipped);
    }

    NodeRef write(const NodeRef& base, const NodeRef& value) const {
        NodeRef inside = ir::flip(value, flipped), mask;
        for (std::size_t d = 0; d < steps.size(); ++d) {
            if (steps[d] == 1) continue;
            inside = nodes::spread(inside, static_cast<int>(d), steps[d], spans[d]);
            const NodeRef at = nodes::positions(spans[d], static_cast<int>(d), base->rank());
            const NodeRef hit =
                ir::equal_to(ir::binary(ir::Op::Mod, at, nodes::number(at, steps[d])), nodes::number(at, 0));
            mask = mask ? nodes::both(mask, hit) : hit;
        }
        if (mask) inside = ir::where(mask, inside, ir::shrink(base, starts, spans));  // what lies between stays
        return ir::insert(base, inside, starts);
    }
};

Tensor region_view(const Tensor& x, const Region& region, const Shape& shape) {
    return make_view(
        x, [region, shape](const NodeRef& base) { return ir::reshape(region.read(base), shape); },
        [region](const NodeRef& base, const NodeRef& value) {
            return region.write(base, ir::reshape(value, region.sizes));
        });
}

// Python's slice rules: negative ends count from the end, ends that are too far are moved in.
void take_slice(const Checker& check, Region& region, int axis, const Slice& slice, std::int64_t size) {
    check.value(slice.step != 0, "the step of a slice must not be 0");
    check.value(slice.step != std::numeric_limits<std::int64_t>::min(), "the step of a slice is too small");
    const bool forward = slice.step > 0;
    const std::int64_t lowest = forward ? 0 : -1, highest = forward ? size : size - 1;
    const auto end = [&](std::optional<std::int64_t> given, std::int64_t otherwise) {
        if (!given) return otherwise;
        return std::clamp(*given < 0 ? *given + size : *given, lowest, highest);
    };
    const std::int64_t start = end(slice.start, forward ? lowest : highest);
    const std::int64_t stop = end(slice.stop, forward ? highest : lowest);
    const std::int64_t distance = forward ? stop - start : start - stop, stride = std::abs(slice.step);
    region.take(axis, start, distance <= 0 ? 0 : (distance - 1) / stride + 1, slice.step);
}

void take_integer(const Checker& check, Region& region, int axis, std::int64_t i, std::int64_t size) {
    check.index(i >= -size && i < size, "index ", i, " is out of range [", -size, ", ", size, ") of axis ", axis);
    region.take(axis, i < 0 ? i + size : i, 1, 1);
}

}  // namespace

Tensor Tensor::operator[](std::int64_t i) const {
    const Checker check("index", {{"x", *this}, {"i", i}});
    Shape shape = this->shape();
    check.index(!shape.empty(), "a scalar has no axis to index");
    Region region(shape);
    take_integer(check, region, 0, i, shape[0]);
    shape.erase(shape.begin());
    return region_view(*this, region, shape);
}

Tensor Tensor::index_by(std::span<const Index> index) const {
    const Checker check("index", {{"x", *this}});
    const Shape whole = shape();
    const auto is = [](Index::Kind kind) { return [kind](const Index& i) { return i.kind == kind; }; };
    const auto ellipses = std::count_if(index.begin(), index.end(), is(Index::Kind::Ellipsis));
    const auto taken = static_cast<std::int64_t>(index.size()) - ellipses -
                       std::count_if(index.begin(), index.end(), is(Index::Kind::NewAxis));
    check.index(ellipses <= 1, "an index may contain one ellipsis only");
    check.index(taken <= rank(), taken, " indices are too many for ", rank(), " axes");

    Region region(whole);
    Shape result;
    int axis = 0;
    for (const Index& entry : index) {
        switch (entry.kind) {
            case Index::Kind::NewAxis: result.push_back(1); break;
            case Index::Kind::Ellipsis:
                for (const int stop = axis + rank() - static_cast<int>(taken); axis < stop; ++axis)
                    result.push_back(whole[axis]);
                break;
            case Index::Kind::Integer:
                take_integer(check, region, axis, entry.integer, whole[axis]);
                ++axis;
                break;
            case Index::Kind::Slice:
                take_slice(check, region, axis, entry.slice, whole[axis]);
                result.push_back(region.sizes[axis++]);
                break;
        }
    }
    result.append(whole.begin() + axis, whole.end());
    return region_view(*this, region, result);
}

Tensor Tensor::slice(int axis, Slice range) const {
    const Checker check("slice", {{"x", *this}, {"axis", axis}});
    const Shape whole = shape();
    const int d = check.axis(axis, static_cast<int>(whole.size()));
    Region region(whole);
    take_slice(check, region, d, range, whole[d]);
    return region_view(*this, region, region.sizes);
}

Tensor Tensor::narrow(int axis, std::int64_t start, std::int64_t length) const {
    const Checker check("narrow", {{"x", *this}, {"axis", axis}, {"start", start}, {"length", length}});
    const Shape whole = shape();
    const int d = check.axis(axis, static_cast<int>(whole.size()));
    check.value(length >= 0, "the length must not be negative");
    const std::int64_t first = start < 0 ? start + whole[d] : start;
    check.index(first >= 0 && first <= whole[d] && length <= whole[d] - first, "elements ", start, " to ", start, " + ",
                length, " leave axis ", axis, " of size ", whole[d]);
    Region region(whole);
    region.take(d, first, length, 1);
    return region_view(*this, region, region.sizes);
}

// ---- other shapes of the same elements -------------------------------------------------------------------------------

Tensor Tensor::reshape(const Shape& shape) const {
    const Checker check("reshape", {{"x", *this}, {"shape", shape}});
    return reshaped(*this, with_inferred_size(check, shape, numel()));
}

Tensor Tensor::view(const Shape& shape) const {
    const Checker check("view", {{"x", *this}, {"shape", shape}});
    return reshaped_view(*this, with_inferred_size(check, shape, numel()));
}

Tensor Tensor::squeeze() const {
    Shape kept;
    for (const std::int64_t size : shape())
        if (size != 1) kept.push_back(size);
    return reshaped_view(*this, kept);
}

Tensor Tensor::squeeze(int axis) const {
    const Checker check("squeeze", {{"x", *this}, {"axis", axis}});
    Shape kept = shape();
    const int d = check.axis(axis, rank());
    if (kept[d] == 1) kept.erase(kept.begin() + d);
    return reshaped_view(*this, kept);
}

Tensor Tensor::unsqueeze(int axis) const {
    const Checker check("unsqueeze", {{"x", *this}, {"axis", axis}});
    Shape grown = shape();
    grown.insert(grown.begin() + check.axis(axis, rank() + 1), 1);
    return reshaped_view(*this, grown);
}

Tensor Tensor::flatten(int first, int last) const {
    const Checker check("flatten", {{"x", *this}, {"first", first}, {"last", last}});
    const Shape whole = shape();
    const int axes = std::max(1, rank());
    const int from = check.axis(first, axes), to = check.axis(last, axes);
    if (whole.empty()) return reshaped_view(*this, {1});
    check.value(from <= to, "the first axis comes after the last one");
    Shape flat(whole.begin(), whole.begin() + from);
    flat.push_back(weft::numel(Shape(whole.begin() + from, whole.begin() + to + 1)));
    flat.append(whole.begin() + to + 1, whole.end());
    return reshaped(*this, flat);
}

// ---- other orders ----------------------------------------------------------------------------------------------------

Tensor Tensor::permute(const Dims& axes) const {
    const Checker check("permute", {{"x", *this}, {"axes", axes}});
    check.that(axes.size() == shape().size(), "there are ", rank(), " axes to order, not ", axes.size());
    Dims order, inverse = Dims::filled(axes.size(), -1);
    for (const std::int64_t axis : axes) {
        const int d = check.axis(axis, rank());
        check.value(inverse[d] < 0, "axis ", axis, " is given twice");
        inverse[d] = static_cast<std::int64_t>(order.size());
        order.push_back(d);
    }
    return make_view(
        *this, [order](const NodeRef& base) { return ir::permute(base, order); },
        [inverse](const NodeRef&, const NodeRef& value) { return ir::permute(value, inverse); });
}

Tensor Tensor::transpose(int a, int b) const {
    const Checker check("transpose", {{"x", *this}, {"a", a}, {"b", b}});
    const int axes = std::max(1, rank());  // a scalar has a "last" axis here, as in PyTorch
    const int first = check.axis(a, axes), second = check.axis(b, axes);
    if (rank() == 0) return permute({});
    Dims order = Dims::filled(shape().size());
    std::iota(order.begin(), order.end(), 0);
    std::swap(order[first], order[second]);
    return permute(order);
}

Tensor Tensor::flip(const Axes& axes) const {
    const Checker check("flip", {{"x", *this}, {"axes", axes}});
    return make_tensor(ir::flip(node_of(*this), check.axes(axes, rank())));
}

Tensor Tensor::expand(const Shape& shape) const {
    const Checker check("expand", {{"x", *this}, {"shape", shape}});
    const Shape own = this->shape();
    check.that(shape.size() >= own.size(), "the new shape needs ", own.size(), " axes at least");
    Shape wanted = shape;
    const std::size_t extra = shape.size() - own.size();
    for (std::size_t d = 0; d < wanted.size(); ++d) {
        if (wanted[d] == -1) {
            check.value(d >= extra, "-1 keeps a size, but axis ", d, " is new");
            wanted[d] = own[d - extra];
        }
        check.value(wanted[d] >= 0, "size ", wanted[d], " is negative");
        check.that(d < extra || own[d - extra] == 1 || own[d - extra] == wanted[d], "size ",
                   d < extra ? 1 : own[d - extra], " at axis ", d, " cannot become ", wanted[d],
                   ": only size 1 stretches");
    }
    check.sizes(wanted);
    return make_view(
        *this, [wanted](const NodeRef& base) { return ir::expand(base, wanted); },
        [](const NodeRef& base, const NodeRef& value) -> NodeRef {
            if (value->shape == base->shape) return value;
            throw ValueError(str("writing through an expanded view ", value->dtype, value->shape, " of ", base->dtype,
                                 base->shape, ": several of its elements share one place; clone() it first"));
        });
}

// ---- the same as functions -------------------------------------------------------------------------------------------

Tensor reshape(const Tensor& x, const Shape& shape) { return x.reshape(shape); }
Tensor permute(const Tensor& x, const Dims& axes) { return x.permute(axes); }
Tensor transpose(const Tensor& x, int a, int b) { return x.transpose(a, b); }
Tensor expand(const Tensor& x, const Shape& shape) { return x.expand(shape); }
Tensor broadcast_to(const Tensor& x, const Shape& shape) { return x.expand(shape); }
Tensor squeeze(const Tensor& x) { return x.squeeze(); }
Tensor squeeze(const Tensor& x, int axis) { return x.squeeze(axis); }

Tensor squeeze(const Tensor& x, const Dims& axes) {
    const Checker check("squeeze", {{"x", x}, {"axes", axes}});
    if (axes.empty()) return reshaped_view(x, x.shape());
    const Dims dropped = check.axes(axes, x.rank());
    Shape kept;
    for (int d = 0; d < x.rank(); ++d)
        if (x.size(d) != 1 || std::find(dropped.begin(), dropped.end(), d) == dropped.end()) kept.push_back(x.size(d));
    return reshaped_view(x, kept);
}

Tensor unflatten(const Tensor& x, int axis, const Shape& sizes) {
    const Checker check("unflatten", {{"x", x}, {"axis", axis}, {"sizes", sizes}});
    const Shape whole = x.shape();
    const int d = check.axis(axis, x.rank());
    check.value(!sizes.empty(), "there must be one size at least");
    const Shape inner = with_inferred_size(check, sizes, whole[d]);
    Shape result(whole.begin(), whole.begin() + d);
    result.append(inner.begin(), inner.end());
    result.append(whole.begin() + d + 1, whole.end());
    return reshaped_view(x, result);
}

Tensor select(const Tensor& x, int axis, std::int64_t index) {
    const Checker check("select", {{"x", x}, {"axis", axis}, {"index", index}});
    Shape shape = x.shape();
    const int d = check.axis(axis, x.rank());
    Region region(shape);
    take_integer(check, region, d, index, shape[d]);
    shape.erase(shape.begin() + d);
    return region_view(x, region, shape);
}

Tensor unsqueeze(const Tensor& x, int axis) { return x.unsqueeze(axis); }
Tensor flatten(const Tensor& x, int first, int last) { return x.flatten(first, last); }
Tensor flip(const Tensor& x, const Axes& axes) { return x.flip(axes); }
Tensor slice(const Tensor& x, int axis, Slice range) { return x.slice(axis, range); }

Tensor moveaxis(const Tensor& x, int from, int to) { return moveaxis(x, Dims{from}, Dims{to}); }

Tensor moveaxis(const Tensor& x, const Dims& from, const Dims& to) {
    const Checker check("moveaxis", {{"x", x}, {"from", from}, {"to", to}});
    check.value(from.size() == to.size(), "there must be one new place for each axis");
    const int rank = x.rank();
    if (rank == 0 && from.size() <= 1) {  // a scalar has a "last" axis here, as in PyTorch
        for (const Dims* axes : {&from, &to})
            for (const std::int64_t axis : *axes) check.axis(axis, 1);
        return x.permute({});
    }
    Dims order = Dims::filled(static_cast<std::size_t>(rank), -1),
         moved = Dims::filled(static_cast<std::size_t>(rank), 0);
    for (std::size_t i = 0; i < from.size(); ++i) {
        const int source = check.axis(from[i], rank), target = check.axis(to[i], rank);
        check.value(!moved[source], "axis ", from[i], " is moved twice");
        check.value(order[target] < 0, "two axes are moved to ", to[i]);
        order[target] = source;
        moved[source] = 1;
    }
    int next = 0;
    for (std::int64_t& place : order) {
        if (place >= 0) continue;
        while (moved[next]) ++next;
        place = next++;
    }
    return x.permute(order);
}

Tensor fliplr(const Tensor& x) {
    const Checker check("fliplr", {{"x", x}});
    check.that(x.rank() >= 2, "x must have two axes at least");
    return x.flip(1);
}

Tensor flipud(const Tensor& x) {
    const Checker check("flipud", {{"x", x}});
    check.that(x.rank() >= 1, "x must have one axis at least");
    return x.flip(0);
}

Tensor rot90(const Tensor& x, std::int64_t turns, const Dims& axes) {
    const Checker check("rot90", {{"x", x}, {"turns", turns}, {"axes", axes}});
    check.value(axes.size() == 2, "a turn has two axes");
    check.that(x.rank() >= 2, "x must have two axes at least");
    const int from = check.axis(axes[0], x.rank()), to = check.axis(axes[1], x.rank());
    check.value(from != to, "the axes of a turn must differ");
    switch (floor_mod(turns, 4)) {
        case 1: return x.flip(to).transpose(from, to);
        case 2: return x.flip({from, to});
        case 3: return x.flip(from).transpose(from, to);
        default: return make_tensor(node_of(x));
    }
}

Tensor atleast_1d(const Tensor& x) {
    const Checker check("atleast_1d", {{"x", x}});
    return x.rank() == 0 ? reshaped_view(x, {1}) : x;
}

Tensor atleast_2d(const Tensor& x) {
    const Checker check("atleast_2d", {{"x", x}});
    return x.rank() >= 2 ? x : reshaped_view(x, {1, x.numel()});
}

Tensor atleast_3d(const Tensor& x) {
    const Checker check("atleast_3d", {{"x", x}});
    if (x.rank() >= 3) return x;
    return x.rank() == 2 ? x.unsqueeze(-1) : reshaped_view(x, {1, x.numel(), 1});
}

// ---- diagonals, windows, any strides -----------------------------------------------------------------------------------

Tensor diagonal(const Tensor& x, std::int64_t offset, int axis1, int axis2) {
    const Checker check("diagonal", {{"x", x}, {"offset", offset}, {"axis1", axis1}, {"axis2", axis2}});
    const int from = check.axis(axis1, x.rank()), to = check.axis(axis2, x.rank());
    check.value(from != to, "the two axes must differ");
    const std::int64_t rows = x.size(from), columns = x.size(to);
    const std::int64_t length =
        std::max<std::int64_t>(0, offset >= 0 ? std::min(rows, columns - std::min(offset, columns))
                                              : std::min(rows + std::max(offset, -rows), columns));
    const Tensor matrices = moveaxis(x, {from, to}, {-2, -1});
    const Shape shape = matrices.shape();
    Shape flat(shape.begin(), shape.end() - 1);
    flat.back() *= length == 0 ? 0 : columns;
    if (length == 0) return reshaped_view(matrices.narrow(-1, 0, 0), flat);
    const std::int64_t first = offset >= 0 ? offset : -offset * columns;
    return reshaped_view(matrices, flat).slice(-1, {first, first + (length - 1) * (columns + 1) + 1, columns + 1});
}

Tensor unfold(const Tensor& x, int axis, std::int64_t size, std::int64_t step) {
    const Checker check("unfold", {{"x", x}, {"axis", axis}, {"size", size}, {"step", step}});
    const int d = check.axis(axis, std::max(1, x.rank()));
    const std::int64_t whole = x.rank() == 0 ? 1 : x.size(d);
    check.value(step > 0, "the step must be positive");
    check.value(size >= 0, "the size must not be negative");
    check.that(size <= whole, "a window of ", size, " does not fit axis ", axis, " of size ", whole);
    if (x.rank() == 0) return reshaped_view(x, {1}).narrow(0, 0, size);
    const std::int64_t outputs = (whole - size) / step + 1;
    if (size == 0) {
        Shape none = x.shape();
        none[d] = outputs;
        none.push_back(0);
        return reshaped_view(x.narrow(d, 0, 0), none);
    }
    const nodes::Window window{.axis = d, .size = size, .stride = step};
    return make_view(
        x,
        [window](const NodeRef& base) {
            return nodes::windows(base, {&window, 1});
        },
        [window, outputs](const NodeRef& base, const NodeRef& value) -> NodeRef {
            if (window.stride < window.size)
                throw ValueError(str("writing through an unfolded view ", value->dtype, value->shape, " of ",
                                     base->dtype, base->shape,
                                     ": several of its elements share one place; clone() it first"));
            // The windows as blocks of `stride` elements, of which the first `size` are replaced.
            const int axis = window.axis, rank = base->rank();
            const std::int64_t reach = (outputs - 1) * window.stride + window.size;
            Dims order;
            for (int i = 0; i < rank; ++i) {
                order.push_back(i);
                if (i == axis) order.push_back(rank);
            }
            Dims none = Dims::filled(order.size(), 0), after = none;
            after[axis + 1] = window.stride - window.size;
            const NodeRef blocks = ir::pad(ir::permute(value, order), none, after);
            Shape flat = base->shape, part = base->shape;
            flat[axis] = outputs * window.stride;
            part[axis] = reach;
            const Dims start = Dims::filled(flat.size(), 0);
            const NodeRef inside = ir::shrink(ir::reshape(blocks, flat), start, part);
            const NodeRef at = nodes::positions(reach, axis, rank);
            const NodeRef seen =
                ir::less(ir::binary(ir::Op::Mod, at, nodes::number(at, window.stride)), nodes::number(at, window.size));
            return ir::insert(base, ir::where(seen, inside, ir::shrink(base, start, part)), start);
        });
}

Tensor as_strided(const Tensor& x, const Shape& size, const Dims& strides, std::int64_t offset) {
    const Checker check("as_strided", {{"x", x}, {"size", size}, {"strides", strides}, {"offset", offset}});
    check.value(size.size() == strides.size(), "there must be one stride for each size");
    check.sizes(size);
    const std::int64_t count = weft::numel(size), all = x.numel();
    std::int64_t last = offset;
    NodeRef place = ir::constant(DType::I64, Scalar(offset));
    for (std::size_t d = 0; d < size.size(); ++d) {
        check.value(strides[d] >= 0, "stride ", strides[d], " is negative");
        last = checked_add(last, checked_mul(std::max<std::int64_t>(0, size[d] - 1), strides[d]));
        const NodeRef at = nodes::positions(size[d], static_cast<int>(d), static_cast<int>(size.size()));
        place = place + at * nodes::number(at, strides[d]);
    }
    check.value(count == 0 || (offset >= 0 && last < all), "elements ", offset, " to ", last, " are not all among x's ",
                all);
    const NodeRef places = ir::reshape(ir::expand(place, size), {count});
    const auto flat = [](const NodeRef& base) { return ir::reshape(base, {weft::numel(base->shape)}); };
    if (count == 0) return reshaped_view(x.flatten().narrow(0, 0, 0), size);
    return make_view(
        x, [=](const NodeRef& base) { return ir::reshape(ir::gather(flat(base), places, 0), size); },
        [=](const NodeRef& base, const NodeRef& value) {
            const NodeRef done = ir::scatter(ir::Op::Where, flat(base), places, ir::reshape(value, {count}), 0);
            return ir::reshape(done, base->shape);
        });
}

Tensor bit_view(const Tensor& x, DType dtype) {
    const Checker check("bit_view", {{"x", x}, {"dtype", dtype}});
    check.dtype(size_of(x.dtype()) == size_of(dtype), "elements of ", x.dtype(), " and ", dtype,
                " must have the same size");
    check.dtype(!is_bool(dtype) || is_bool(x.dtype()), "bits cannot be taken for bools");
    return x.dtype() == dtype ? x : make_tensor(ir::bitcast(node_of(x), dtype));
}

}  // namespace weft
