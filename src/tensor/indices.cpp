// tensor/indices.cpp: what ops with indices share. Values pass a Check node, which raises with the call's own message when the
// graph runs.
#include "tensor/indices.h"

#include "core/checked.h"
#include "tensor/nodes.h"

#include <weft/indexing.h>

namespace weft {

using ir::NodeRef;

namespace {

void check_integer(const Checker& check, std::string_view name, const Tensor& index) {
    check.dtype(is_int(index.dtype()), name, " must be an integer tensor, not ", index.dtype());
}

}  // namespace

NodeRef lifted(const NodeRef& x) { return x->rank() == 0 ? ir::reshape(x, {1}) : x; }

NodeRef checked_index(const Checker& check, std::string_view name, const Tensor& index, std::int64_t size) {
    check_integer(check, name, index);
    check.index(size > 0 || index.numel() == 0, "there is nothing to index: the axis has size 0");
    const NodeRef wide = ir::cast(node_of(index), DType::I64);
    return ir::check(wide, 0, size, str(check.call(), ": ", name, " out of range [0, ", size, ")"));
}

NodeRef wrapped_index(const Checker& check, const Tensor& index, int axis, std::int64_t size) {
    check_integer(check, "an index", index);
    check.index(size > 0 || index.numel() == 0, "there is nothing to index: axis ", axis, " has size 0");
    const NodeRef wide = ir::cast(node_of(index), DType::I64);
    const NodeRef good = ir::check(wide, -size, size,
                                   str(check.call(), ": index out of range [", -size, ", ", size, ") of axis ", axis));
    return ir::where(ir::less(good, nodes::number(good, 0)), good + nodes::number(good, size), good);
}

NodeRef spread_index(const NodeRef& index, int axis, Shape shape) {
    Shape aligned = Shape::filled(shape.size(), 1);
    aligned[axis] = shape[axis] = index->shape[0];
    return ir::expand(ir::reshape(index, aligned), shape);
}

NodeRef select(const NodeRef& x, const NodeRef& index, int axis) {
    return ir::gather(x, spread_index(index, axis, x->shape), axis);
}

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

Shape replaced(const Shape& shape, int axis, const Shape& by) {
    Shape result(shape.begin(), shape.begin() + axis);
    result.append(by.begin(), by.end());
    result.append(shape.begin() + axis + 1, shape.end());
    return result;
}

Dims inverse_order(const Dims& order) {
    Dims inverse = Dims::filled(order.size(), 0);
    for (std::size_t i = 0; i < order.size(); ++i) inverse[order[i]] = static_cast<std::int64_t>(i);
    return inverse;
}

// ---- x[positions…] ---------------------------------------------------------------------------------------------------

namespace {

// One tensor for each of x's first axes: masks as the positions where they hold. Undefined: the whole axis.
std::vector<Tensor> without_masks(const Checker& check, const Shape& shape, std::span<const Tensor> positions) {
    std::vector<Tensor> result;
    for (const Tensor& each : positions) {
        if (!each.defined() || !is_bool(each.dtype())) {
            result.push_back(each);
            continue;
        }
        const Shape mask = each.shape();
        const std::size_t first = result.size();
        check.index(!mask.empty(), "a mask must have one axis at least");
        for (std::size_t d = 0; d < mask.size(); ++d)
            check.index(first + d < shape.size() && shape[first + d] == mask[d], "a mask of the shape ", mask,
                        " does not fit a tensor of the shape ", shape, " at axis ", first);
        for (Tensor& axis : nonzero_by_axis(each)) result.push_back(std::move(axis));
    }
    check.index(result.size() <= shape.size(), result.size(), " indices are too many for ", shape.size(), " axes");
    return result;
}

}  // namespace

Shape Picked::result() const {
    Shape all = block, moved;
    all.append(rest.begin(), rest.end());
    for (const std::int64_t axis : inverse_order(front)) moved.push_back(all[axis]);
    return moved;
}

Picked picked(const Checker& check, const Shape& shape, std::span<const Tensor> given) {
    const std::vector<Tensor> positions = without_masks(check, shape, given);
    Picked result{.places = 1};
    Dims others;
    int first = -1, last = -1;
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
        if (d >= static_cast<int>(positions.size()) || !positions[d].defined()) {
            others.push_back(d);
            result.rest.push_back(shape[d]);
            continue;
        }
        result.block = check.broadcast(result.block, positions[d].shape());
        const NodeRef at = wrapped_index(check, positions[d], d, shape[d]);
        result.place = result.place ? result.place * nodes::number(at, shape[d]) + at : at;
        result.places = checked_mul(result.places, shape[d]);
        result.order.push_back(d);
        if (first < 0) first = d;
        last = d;
    }
    check.index(first >= 0, "there is no index");
    result.place = ir::reshape(ir::expand(result.place, result.block), {numel(result.block)});
    const bool together = last - first + 1 == static_cast<int>(result.order.size());
    const int before = together ? first : 0, axes = static_cast<int>(result.block.size());
    const int rank = axes + static_cast<int>(result.rest.size());
    for (int d = before; d < before + axes; ++d) result.front.push_back(d);
    for (int d = 0; d < rank; ++d)
        if (d < before || d >= before + axes) result.front.push_back(d);
    result.order.append(others.begin(), others.end());
    return result;
}

}  // namespace weft
