// tensor/indexing.cpp: indices that are data. Shapes are checked at the call; the values pass a Check node, which raises
// with the call's own message when the graph runs.
#include "core/checked.h"
#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

void check_integer(const Checker& check, std::string_view name, const Tensor& index) {
    check.dtype(is_int(index.dtype()), name, " must be an integer tensor, not ", index.dtype());
}

// The index as i64, within [0, size); negative ones are refused.
NodeRef checked_index(const Checker& check, std::string_view name, const Tensor& index, std::int64_t size) {
    check_integer(check, name, index);
    check.index(size > 0 || index.numel() == 0, "there is nothing to index: the axis has size 0");
    const NodeRef wide = ir::cast(node_of(index), DType::I64);
    return ir::check(wide, 0, size, str(check.call(), ": ", name, " out of range [0, ", size, ")"));
}

// The same, but negative ones count from the end.
NodeRef wrapped_index(const Checker& check, const Tensor& index, int axis, std::int64_t size) {
    check_integer(check, "an index", index);
    check.index(size > 0 || index.numel() == 0, "there is nothing to index: axis ", axis, " has size 0");
    const NodeRef wide = ir::cast(node_of(index), DType::I64);
    const NodeRef good = ir::check(wide, -size, size,
                                   str(check.call(), ": index out of range [", -size, ", ", size, ") of axis ", axis));
    return ir::where(ir::less(good, nodes::number(good, 0)), good + nodes::number(good, size), good);
}

// Slices along an axis by a 1-d index: [.., size, ..] and [k] to [.., k, ..].
NodeRef spread_index(const NodeRef& index, int axis, Shape shape) {
    Shape aligned(shape.size(), 1);
    aligned[axis] = shape[axis] = index->shape[0];
    return ir::expand(ir::reshape(index, aligned), shape);
}

NodeRef select(const NodeRef& x, const NodeRef& index, int axis) {
    return ir::gather(x, spread_index(index, axis, x->shape), axis);
}

Shape replaced(const Shape& shape, int axis, const Shape& by) {
    Shape result(shape.begin(), shape.begin() + axis);
    result.append(by.begin(), by.end());
    result.append(shape.begin() + axis + 1, shape.end());
    return result;
}

Dims zeros_for(const Shape& shape) { return Dims(shape.size(), 0); }

// The part of x at its low end that an index of this shape reaches: all of the axis, and index's sizes elsewhere.
Shape reached(const Shape& x, const Shape& index, int axis) {
    Shape part = index;
    part[axis] = x[axis];
    return part;
}

void check_reach(const Checker& check, const Shape& x, const Shape& index, int axis) {
    check.that(x.size() == index.size(), "x and index must have as many axes as each other");
    for (int d = 0; d < static_cast<int>(x.size()); ++d)
        check.that(d == axis || index[d] <= x[d], "index's size ", index[d], " at axis ", d, " must not be above x's ",
                   x[d]);
}

}  // namespace

// ---- reading ---------------------------------------------------------------------------------------------------------

Tensor take(const Tensor& x, const Tensor& positions, int axis) {
    const Checker check("take", {{"x", x}, {"positions", positions}, {"axis", axis}});
    const int d = check.axis(axis, x.rank());
    const NodeRef index = wrapped_index(check, positions, d, x.size(d));
    const NodeRef rows = select(node_of(x), ir::reshape(index, {positions.numel()}), d);
    return make_tensor(ir::reshape(rows, replaced(x.shape(), d, positions.shape())));
}

Tensor index(const Tensor& x, std::span<const Tensor> positions) {
    const Checker check("index", {{"x", x}});
    check.index(!positions.empty(), "there is no index");
    check.index(static_cast<int>(positions.size()) <= x.rank(), positions.size(), " indices are too many for ",
                x.rank(), " axes");
    const Shape shape = x.shape();
    Shape common;
    std::int64_t count = 1;  // of the places that the indices choose from
    NodeRef place;
    for (std::size_t d = 0; d < positions.size(); ++d) {
        check.value(positions[d].defined(), "index ", d, " is undefined");
        common = check.broadcast(common, positions[d].shape());
        const NodeRef at = wrapped_index(check, positions[d], static_cast<int>(d), shape[d]);
        place = place ? place * nodes::number(place, shape[d]) + at : at;
        count = checked_mul(count, shape[d]);
    }
    Shape flat = {count}, result = common;
    flat.append(shape.begin() + positions.size(), shape.end());
    result.append(shape.begin() + positions.size(), shape.end());
    const NodeRef row = ir::reshape(place, {weft::numel(common)});
    return make_tensor(ir::reshape(select(ir::reshape(node_of(x), flat), row, 0), result));
}

Tensor index_select(const Tensor& x, int axis, const Tensor& index) {
    const Checker check("index_select", {{"x", x}, {"axis", axis}, {"index", index}});
    const int d = check.axis(axis, x.rank());
    check.that(index.rank() == 1, "index must have one axis");
    return make_tensor(select(node_of(x), checked_index(check, "index", index, x.size(d)), d));
}

Tensor gather(const Tensor& x, int axis, const Tensor& index) {
    const Checker check("gather", {{"x", x}, {"axis", axis}, {"index", index}});
    const int d = check.axis(axis, x.rank());
    const Shape shape = x.shape(), wanted = index.shape();
    check_reach(check, shape, wanted, d);
    const NodeRef at = checked_index(check, "index", index, shape[d]);
    return make_tensor(ir::gather(ir::shrink(node_of(x), zeros_for(shape), reached(shape, wanted, d)), at, d));
}

Tensor take_along_dim(const Tensor& x, const Tensor& index, int axis) {
    const Checker check("take_along_dim", {{"x", x}, {"index", index}, {"axis", axis}});
    const int d = check.axis(axis, x.rank());
    check.that(x.rank() == index.rank(), "x and index must have as many axes as each other");
    Shape from = x.shape(), to = index.shape();
    const std::int64_t size = from[d], picked = to[d];
    from[d] = to[d] = 1;  // this axis does not broadcast
    from = to = check.broadcast(from, to);
    from[d] = size, to[d] = picked;
    const NodeRef at = ir::expand(wrapped_index(check, index, d, size), to);
    return make_tensor(ir::gather(ir::expand(node_of(x), from), at, d));
}

Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<std::int64_t> padding) {
    const Checker check("embedding", {{"weight", weight}, {"index", index}});
    check.that(weight.rank() == 2, "weight must be [count, features]");
    const NodeRef at = ir::reshape(checked_index(check, "index", index, weight.size(0)), {index.numel()});
    NodeRef rows = select(node_of(weight), at, 0);
    if (padding) {
        const std::int64_t count = weight.size(0), row = *padding < 0 ? *padding + count : *padding;
        check.index(row >= 0 && row < count, "the padding row ", *padding, " is out of range [", -count, ", ", count,
                    ")");
        const NodeRef padded = nodes::add_axis(ir::equal_to(at, nodes::number(at, row)), 1);
        rows = ir::where(padded, ir::detach(rows), rows);
    }
    return make_tensor(ir::reshape(rows, replaced({0, weight.size(1)}, 0, index.shape())));
}

Tensor one_hot(const Tensor& index, std::int64_t classes) {
    const Checker check("one_hot", {{"index", index}, {"classes", classes}});
    check.value(classes > 0, "the number of classes must be positive");
    const NodeRef at = checked_index(check, "index", index, classes);
    const NodeRef hit = ir::equal_to(nodes::add_axis(at, at->rank()), ir::iota(classes));
    return make_tensor(ir::cast(hit, DType::I64));
}

// ---- writing ---------------------------------------------------------------------------------------------------------

namespace {

// Scatters into the part of x that index reaches; the rest of x stays.
NodeRef scattered(Op mode, const NodeRef& x, const NodeRef& index, const NodeRef& values, int axis) {
    const Dims start = zeros_for(x->shape);
    const Shape part = reached(x->shape, index->shape, axis);
    // f16 and bf16: all additions to one place are made in f32, and rounded once
    const DType wide = mode == Op::Add ? accumulator_of(x->dtype) : x->dtype;
    const NodeRef base = ir::cast(ir::shrink(x, start, part), wide);
    const NodeRef done = ir::cast(ir::scatter(mode, base, index, ir::cast(values, wide), axis), x->dtype);
    return ir::insert(x, done, start);
}

NodeRef source_values(const Checker& check, const Tensor& x, const Tensor& source, const Shape& index) {
    check.that(source.shape().size() == index.size(), "source and index must have as many axes as each other");
    for (std::size_t d = 0; d < index.size(); ++d)
        check.that(index[d] <= source.shape()[d], "index's size ", index[d], " at axis ", d,
                   " must not be above source's ", source.shape()[d]);
    check.dtype(promote(x.dtype(), source.dtype()) == x.dtype(), "source's ", source.dtype(), " does not fit x's ",
                x.dtype());
    return ir::cast(ir::shrink(node_of(source), zeros_for(index), index), x.dtype());
}

}  // namespace

Tensor scatter(const Tensor& x, int axis, const Tensor& index, const Operand& source) {
    const Checker check("scatter", {{"x", x}, {"axis", axis}, {"index", index}, {"source", source}});
    const int d = check.axis(axis, x.rank());
    const Shape wanted = index.shape();
    check_reach(check, x.shape(), wanted, d);
    const NodeRef values = source.is_scalar() ? ir::expand(as_node(source, x.dtype(), check), wanted)
                                              : source_values(check, x, source.tensor(), wanted);
    const NodeRef at = checked_index(check, "index", index, x.size(d));
    return make_tensor(scattered(Op::Where, node_of(x), at, values, d));
}

Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source) {
    const Checker check("scatter_add", {{"x", x}, {"axis", axis}, {"index", index}, {"source", source}});
    check.dtype(!is_bool(x.dtype()), "bools cannot be added up");
    const int d = check.axis(axis, x.rank());
    const Shape wanted = index.shape();
    check_reach(check, x.shape(), wanted, d);
    const NodeRef values = source_values(check, x, source, wanted);
    const NodeRef at = checked_index(check, "index", index, x.size(d));
    return make_tensor(scattered(Op::Add, node_of(x), at, values, d));
}

Tensor index_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source) {
    const Checker check("index_add", {{"x", x}, {"axis", axis}, {"index", index}, {"source", source}});
    check.dtype(!is_bool(x.dtype()), "bools cannot be added up");
    const int d = check.axis(axis, x.rank());
    check.that(index.rank() == 1, "index must have one axis");
    Shape slices = x.shape();
    slices[d] = index.size(0);
    check.that(source.shape() == slices, "source must have shape ", slices, ": one slice of x for each index");
    const NodeRef values = source_values(check, x, source, slices);
    const NodeRef at = spread_index(checked_index(check, "index", index, x.size(d)), d, x.shape());
    return make_tensor(scattered(Op::Add, node_of(x), at, values, d));
}

}  // namespace weft
