// tensor/scatter.cpp: copies with something written at indices that are data, or at a part of a tensor.
#include "core/checked.h"
#include "tensor/indices.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

Op op_of(ScatterReduce how) {
    switch (how) {
        case ScatterReduce::Prod: return Op::Mul;
        case ScatterReduce::Max: return Op::Max;
        case ScatterReduce::Min: return Op::Min;
        default: return Op::Add;
    }
}

// f16 and bf16: all that is added or multiplied in one place is computed in f32, and rounded once.
DType wide_for(Op mode, DType dtype) { return mode == Op::Add || mode == Op::Mul ? accumulator_of(dtype) : dtype; }

// Scatters into the part of x that index reaches; the rest of x stays.
NodeRef scattered(Op mode, const NodeRef& x, const NodeRef& index, const NodeRef& values, int axis) {
    const Dims start = zeros_for(x->shape);
    const DType wide = wide_for(mode, x->dtype);
    const NodeRef base = ir::cast(ir::shrink(x, start, reached(x->shape, index->shape, axis)), wide);
    const NodeRef done = ir::cast(ir::scatter(mode, base, index, ir::cast(values, wide), axis), x->dtype);
    return ir::insert(x, done, start);
}

// How many values of an index meet in each place of an axis of this shape.
NodeRef counts_of(const Shape& part, const NodeRef& index, int axis) {
    const NodeRef none = ir::constant(DType::I64, Scalar(0), part);
    return ir::scatter(Op::Add, none, index, ir::constant(DType::I64, Scalar(1), index->shape), axis);
}

// `counts` has how many values meet in each place; it broadcasts to the part of x that index reaches.
NodeRef joined_into(const NodeRef& x, const NodeRef& index, const NodeRef& values, int axis, ScatterReduce how,
                    bool include_self, const NodeRef& counts) {
    const Op mode = op_of(how);
    const Dims start = zeros_for(x->shape);
    const DType wide = wide_for(mode, x->dtype);
    NodeRef base = ir::cast(ir::shrink(x, start, reached(x->shape, index->shape, axis)), wide);
    if (!include_self) {
        const NodeRef neutral = ir::constant_word(wide, ir::identity_word(mode, wide));
        base = ir::where(ir::equal_to(counts, nodes::number(counts, 0)), base, neutral);
    }
    NodeRef done = ir::scatter(mode, base, index, ir::cast(values, wide), axis);
    if (how == ScatterReduce::Mean) {
        const NodeRef one = nodes::number(counts, 1);
        const NodeRef all = ir::cast(include_self ? counts + one : ir::binary(Op::Max, counts, one), wide);
        done = is_float(wide) ? done / all : ir::binary(Op::IDiv, done, all);
    }
    return ir::insert(x, ir::cast(done, x->dtype), start);
}

void check_source_type(const Checker& check, const Tensor& x, const Tensor& source) {
    check.dtype(promote(x.dtype(), source.dtype()) == x.dtype(), "source's ", source.dtype(), " does not fit x's ",
                x.dtype());
}

void check_not_bool(const Checker& check, const Tensor& x, std::string_view what) {
    check.dtype(!is_bool(x.dtype()), "bools cannot be ", what);
}

NodeRef source_values(const Checker& check, const Tensor& x, const Tensor& source, const Shape& index) {
    if (numel(index) == 0)
        return ir::with_unused(ir::constant(x.dtype(), Scalar(0), index), ir::cast(node_of(source), x.dtype()));
    const NodeRef values = lifted(node_of(source));
    check.that(values->shape.size() == index.size(), "source and index must have as many axes as each other");
    for (std::size_t d = 0; d < index.size(); ++d)
        check.that(index[d] <= values->shape[d], "index's size ", index[d], " at axis ", d,
                   " must not be above source's ", values->shape[d]);
    check_source_type(check, x, source);
    return ir::cast(ir::shrink(values, zeros_for(index), index), x.dtype());
}

// x, the index and where it leads, of an op that writes element by element.
struct Places {
    NodeRef base, at;
    int axis;
    NodeRef line = {};  // the index of whole slices, 1-d; `at` is spread over all elements
};

Places places(const Checker& check, const Tensor& x, int axis, const Tensor& index) {
    const int d = check.axis(axis, lifted_rank(x));
    const NodeRef base = lifted(node_of(x)), at = lifted(checked_index(check, "index", index, base->shape[d]));
    if (index.numel() == 0) {  // of any rank, as in PyTorch: nothing is written
        Shape none = base->shape;
        none[d] = 0;
        return {base, ir::constant(DType::I64, Scalar(0), none), d};
    }
    check_reach(check, base->shape, at->shape, d);
    return {base, at, d};
}

Tensor result_like(const Tensor& x, const NodeRef& node) { return make_tensor(ir::reshape(node, x.shape())); }

// The same of an op that writes whole slices.
Places slices(const Checker& check, const Tensor& x, int axis, const Tensor& index) {
    const int d = check.axis(axis, lifted_rank(x));
    check.that(index.rank() <= 1, "index must have one axis");
    const NodeRef base = lifted(node_of(x)), at = lifted(checked_index(check, "index", index, base->shape[d]));
    return {base, spread_index(at, d, base->shape), d, at};
}

NodeRef slice_values(const Checker& check, const Tensor& x, const Tensor& source, const Places& to) {
    check_source_type(check, x, source);
    const NodeRef values = lifted(node_of(source));
    check.that(values->shape == to.at->shape, "source must have shape ", to.at->shape,
               ": one slice of x for each index");
    return ir::cast(values, x.dtype());
}

}  // namespace

// ---- element by element ----------------------------------------------------------------------------------------------

Tensor scatter(const Tensor& x, int axis, const Tensor& index, const Operand& source) {
    const Checker check("scatter", {{"x", x}, {"axis", axis}, {"index", index}, {"source", source}});
    const Places to = places(check, x, axis, index);
    const NodeRef values = source.is_scalar() ? ir::expand(as_node(source, x.dtype(), check), to.at->shape)
                                              : source_values(check, x, source.tensor(), to.at->shape);
    return result_like(x, scattered(Op::Where, to.base, to.at, values, to.axis));
}

Tensor scatter_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source) {
    const Checker check("scatter_add", {{"x", x}, {"axis", axis}, {"index", index}, {"source", source}});
    check_not_bool(check, x, "added up");
    const Places to = places(check, x, axis, index);
    const NodeRef values = source_values(check, x, source, to.at->shape);
    return result_like(x, scattered(Op::Add, to.base, to.at, values, to.axis));
}

Tensor scatter_reduce(const Tensor& x, int axis, const Tensor& index, const Tensor& source, ScatterReduce how,
                      bool include_self) {
    const Checker check("scatter_reduce", {{"x", x}, {"axis", axis}, {"index", index}, {"source", source}});
    if (how != ScatterReduce::Max && how != ScatterReduce::Min) check_not_bool(check, x, "added up or multiplied");
    const Places to = places(check, x, axis, index);
    const NodeRef values = source_values(check, x, source, to.at->shape);
    const NodeRef counts = counts_of(reached(to.base->shape, to.at->shape, to.axis), to.at, to.axis);
    return result_like(x, joined_into(to.base, to.at, values, to.axis, how, include_self, counts));
}

// ---- slice by slice --------------------------------------------------------------------------------------------------

Tensor index_add(const Tensor& x, int axis, const Tensor& index, const Tensor& source, const Scalar& alpha) {
    const Checker check("index_add", {{"x", x}, {"axis", axis}, {"index", index}, {"source", source}});
    check_not_bool(check, x, "added up");
    const Places to = slices(check, x, axis, index);
    NodeRef values = slice_values(check, x, source, to);
    if (alpha.as_double() != 1) {
        check.dtype(is_float(x.dtype()) || alpha.kind() != Scalar::Kind::Float, "alpha must be an integer for x's ",
                    x.dtype());
        values = values * as_node(alpha, x.dtype(), check);
    }
    return result_like(x, scattered(Op::Add, to.base, to.at, values, to.axis));
}

Tensor index_reduce(const Tensor& x, int axis, const Tensor& index, const Tensor& source, ScatterReduce how,
                    bool include_self) {
    const Checker check("index_reduce", {{"x", x}, {"axis", axis}, {"index", index}, {"source", source}});
    if (how != ScatterReduce::Max && how != ScatterReduce::Min) check_not_bool(check, x, "added up or multiplied");
    const Places to = slices(check, x, axis, index);
    const std::int64_t size = to.base->shape[to.axis];
    Shape line = Shape::filled(to.base->shape.size(), 1);
    line[to.axis] = size;
    const NodeRef counts = ir::reshape(counts_of({size}, to.line, 0), line);
    const NodeRef values = slice_values(check, x, source, to);
    return result_like(x, joined_into(to.base, to.at, values, to.axis, how, include_self, counts));
}

Tensor index_copy(const Tensor& x, int axis, const Tensor& index, const Tensor& source) {
    const Checker check("index_copy", {{"x", x}, {"axis", axis}, {"index", index}, {"source", source}});
    const Places to = slices(check, x, axis, index);
    return result_like(x, scattered(Op::Where, to.base, to.at, slice_values(check, x, source, to), to.axis));
}

Tensor index_fill(const Tensor& x, int axis, const Tensor& index, const Operand& value) {
    const Checker check("index_fill", {{"x", x}, {"axis", axis}, {"index", index}, {"value", value}});
    check.that(shape_of(value).empty(), "the value must be one number");
    check.dtype(promote({x, value}) == x.dtype(), "the value does not fit x's type ", x.dtype());
    // An index may occur twice, and the value's gradient counts each element once: hence a mask.
    if (!value.is_scalar())
        return where(index_fill(zeros(x.shape(), DType::Bool), axis, index, true), value.tensor().to(x.dtype()), x);
    const Places to = slices(check, x, axis, index);
    const NodeRef values = ir::expand(as_node(value, x.dtype(), check), to.at->shape);
    return result_like(x, scattered(Op::Where, to.base, to.at, values, to.axis));
}

// ---- x[…] = values ---------------------------------------------------------------------------------------------------

Tensor index_put(const Tensor& x, std::span<const Tensor> positions, const Operand& values, bool accumulate) {
    const Checker check("index_put", {{"x", x}, {"values", values}});
    const Shape shape = x.shape();
    check.index(!positions.empty(), "there is no index");
    check.index(positions.size() <= shape.size(), positions.size(), " indices are too many for ", shape.size(),
                " axes");
    if (accumulate) check_not_bool(check, x, "added up");
    if (!values.is_scalar()) check_source_type(check, x, values.tensor());
    const Picked picks = picked(check, shape, positions);
    const Shape wanted = picks.result();
    const NodeRef given = as_node(values, x.dtype(), check);
    check.that(given->shape.size() <= wanted.size() && check.broadcast(given->shape, wanted) == wanted,
               "values must broadcast to the shape that is read, ", wanted);

    const NodeRef moved = ir::permute(node_of(x), picks.order);
    const std::int64_t count = numel(picks.block), rest = numel(picks.rest);
    const NodeRef rows = ir::reshape(moved, {picks.places, rest});
    const NodeRef source = ir::reshape(ir::permute(ir::expand(given, wanted), picks.front), {count, rest});
    const NodeRef at = spread_index(picks.place, 0, rows->shape);
    const NodeRef done = scattered(accumulate ? Op::Add : Op::Where, rows, at, source, 0);
    return make_tensor(ir::permute(ir::reshape(done, moved->shape), inverse_order(picks.order)));
}

Tensor put(const Tensor& x, const Tensor& positions, const Tensor& values, bool accumulate) {
    const Checker check("put", {{"x", x}, {"positions", positions}, {"values", values}});
    if (accumulate) check_not_bool(check, x, "added up");
    check_source_type(check, x, values);
    const std::int64_t count = positions.numel();
    check.that(values.numel() == count, "there must be as many values as positions");
    const NodeRef flat = ir::reshape(node_of(x), {x.numel()});
    const NodeRef at = ir::reshape(wrapped_index(check, positions, 0, x.numel()), {count});
    const NodeRef source = ir::reshape(ir::cast(node_of(values), x.dtype()), {count});
    return result_like(x, scattered(accumulate ? Op::Add : Op::Where, flat, at, source, 0));
}

// The mask counts, in row-major order, which element of source belongs to each place; number 0 is a zero in front of them.
Tensor masked_scatter(const Tensor& into, const Tensor& mask, const Tensor& source) {
    const Checker check("masked_scatter", {{"x", into}, {"mask", mask}, {"source", source}});
    check.dtype(is_bool(mask.dtype()), "the mask must be bool, not ", mask.dtype(), "; did you mean mask != 0?");
    check.dtype(into.dtype() == source.dtype(), "source's ", source.dtype(), " must be x's ", into.dtype());
    const Shape shape = check.broadcast(into.shape(), mask.shape());
    const Tensor x = into.expand(shape);
    const std::int64_t count = x.numel(), given = source.numel();
    if (count == 0) return clone(x);
    const NodeRef holds = ir::reshape(ir::expand(node_of(mask), shape), {count});
    const NodeRef running = ir::scan(Op::Add, ir::cast(holds, DType::I64), 0);
    const NodeRef at = ir::check(ir::where(holds, running, nodes::number(running, 0)), 0, given + 1,
                                 str(check.call(), ": the mask holds more often than source has elements"));
    const NodeRef values = ir::gather(ir::pad(ir::reshape(node_of(source), {given}), {1}, {0}), at, 0);
    return make_tensor(ir::where(ir::reshape(holds, shape), ir::reshape(values, shape), node_of(x)));
}

// ---- a part replaced: written through a view of a copy -----------------------------------------------------------------

namespace {

template <class View>
Tensor with_part(std::string_view name, const Tensor& x, const Tensor& source, View view) {
    const Checker check(name, {{"x", x}, {"source", source}});
    const Tensor result = clone(x);
    Tensor part = view(result);
    check.that(part.shape() == source.shape(), "source must have the part's shape ", part.shape());
    part.assign(source);
    return result;
}

}  // namespace

Tensor select_scatter(const Tensor& x, const Tensor& source, int axis, std::int64_t index) {
    return with_part("select_scatter", x, source, [&](const Tensor& t) { return select(t, axis, index); });
}

Tensor slice_scatter(const Tensor& x, const Tensor& source, int axis, Slice range) {
    return with_part("slice_scatter", x, source, [&](const Tensor& t) { return t.slice(axis, range); });
}

Tensor diagonal_scatter(const Tensor& x, const Tensor& source, std::int64_t offset, int axis1, int axis2) {
    return with_part("diagonal_scatter", x, source, [&](const Tensor& t) { return diagonal(t, offset, axis1, axis2); });
}

}  // namespace weft
