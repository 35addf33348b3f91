// tensor/indexing.cpp: reading by indices that are data. Shapes are checked at the call, values when the graph runs.
#include "core/checked.h"
#include "tensor/indices.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

namespace weft {

using ir::NodeRef;
using ir::Op;

Tensor take(const Tensor& x, const Tensor& positions, int axis) {
    const Checker check("take", {{"x", x}, {"positions", positions}, {"axis", axis}});
    const int d = check.axis(axis, lifted_rank(x));
    return make_selection(x, [&](const NodeRef& node) {
        const NodeRef from = lifted(node), index = wrapped_index(check, positions, d, from->shape[d]);
        const NodeRef rows = select(from, ir::reshape(index, {positions.numel()}), d);
        return ir::reshape(rows, replaced(from->shape, d, positions.shape()));
    });
}

Tensor index(const Tensor& x, std::span<const Tensor> positions) {
    const Checker check("index", {{"x", x}});
    const Shape shape = x.shape();
    check.index(!positions.empty(), "there is no index");
    check.index(positions.size() <= shape.size(), positions.size(), " indices are too many for ", shape.size(),
                " axes");
    const Picked picks = picked(check, shape, positions);
    Shape flat = {picks.places}, spread = picks.block;
    flat.append(picks.rest.begin(), picks.rest.end());
    spread.append(picks.rest.begin(), picks.rest.end());
    return make_selection(x, [&](const NodeRef& node) {
        const NodeRef rows = select(ir::reshape(ir::permute(node, picks.order), flat), picks.place, 0);
        return ir::permute(ir::reshape(rows, spread), inverse_order(picks.front));
    });
}

Tensor index_select(const Tensor& x, int axis, const Tensor& index) {
    const Checker check("index_select", {{"x", x}, {"axis", axis}, {"index", index}});
    const int d = check.axis(axis, lifted_rank(x));
    check.that(index.rank() <= 1, "index must have one axis");
    check.that(x.rank() > 0 || index.numel() == 1, "one element can be picked of a scalar");
    return make_selection(x, [&](const NodeRef& node) {
        const NodeRef from = lifted(node), at = lifted(checked_index(check, "index", index, from->shape[d]));
        const NodeRef rows = select(from, at, d);
        return x.rank() == 0 ? ir::reshape(rows, {}) : rows;
    });
}

Tensor gather(const Tensor& x, int axis, const Tensor& index) {
    const Checker check("gather", {{"x", x}, {"axis", axis}, {"index", index}});
    const int d = check.axis(axis, lifted_rank(x));
    return make_selection(x, [&](const NodeRef& node) {
        const NodeRef from = lifted(node), at = lifted(checked_index(check, "index", index, from->shape[d]));
        if (index.numel() == 0 && at->rank() != from->rank())  // of any rank, as in PyTorch
            return ir::constant(x.dtype(), Scalar(0), index.shape());
        check_reach(check, from->shape, at->shape, d);
        const NodeRef part = ir::shrink(from, zeros_for(from->shape), reached(from->shape, at->shape, d));
        return ir::reshape(ir::gather(part, at, d), index.shape());
    });
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
    return make_selection(x, [&](const NodeRef& node) { return ir::gather(ir::expand(node, from), at, d); });
}

Tensor one_hot(const Tensor& index, std::int64_t classes) {
    const Checker check("one_hot", {{"index", index}, {"classes", classes}});
    check.value(classes > 0, "the number of classes must be positive");
    const NodeRef at = checked_index(check, "index", index, classes);
    const NodeRef hit = ir::equal_to(nodes::add_axis(at, at->rank()), ir::iota(classes));
    return make_tensor(ir::cast(hit, DType::I64));
}

}  // namespace weft
