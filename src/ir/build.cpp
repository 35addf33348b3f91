// ir/build.cpp: the way into the tensor graph. A builder checks its operands, returns an existing node where the op
// changes nothing, folds constants and views of views, and else makes one node (with casts around it for halves).
#include "ir/build.h"

#include "core/checked.h"
#include "core/str.h"
#include "ir/contraction.h"
#include "ir/custom.h"
#include "ir/verify.h"
#include "ir/walk.h"

#include <weft/error.h>

#include <algorithm>

namespace weft::ir {
namespace {

template <class... Parts>
[[noreturn]] void fail(Op op, const Parts&... parts) {
    throw InternalError(str("building ", name_of(op), ": ", parts...));
}

template <class... Parts>
void require(bool holds, Op op, const Parts&... parts) {
    if (!holds) fail(op, parts...);
}

// A view of a view is one view, unless a run has stored the inner one: reading that is cheaper than computing it again.
bool merges(const NodeRef& x, Op op) {
    if (x->op != op) return false;
    const std::lock_guard lock(graph_lock());
    return !x->realized;
}

// The Const under Expand(Reshape(Const)), the one form that constants have; null for anything else.
const Node* constant_under(const NodeRef& x) {
    const Node* node = x.get();
    if (node->op == Op::Expand) node = &node->source();
    if (node->op == Op::Reshape) node = &node->source();
    return node->op == Op::Const ? node : nullptr;
}

Word value_of(const Node* constant) { return constant->as<ConstArg>().value; }

// A Const as all elements of a shape.
NodeRef spread(const NodeRef& scalar, const Shape& shape) {
    if (shape.empty()) return scalar;
    const Shape ones = Shape::filled(shape.size(), 1);
    const NodeRef point = graph().make(Op::Reshape, scalar->dtype, ones, {scalar});
    return shape == ones ? point : graph().make(Op::Expand, scalar->dtype, shape, {point});
}

// A view of equal elements is the same element in another shape.
NodeRef reshaped_constant(const Node* c, const Shape& shape) {
    return c->realized ? constant(c->dtype, value_of(c), shape, c->device) : spread(NodeRef(c), shape);
}

bool folds(Op op, DType t) {
    if (is_float(t) && (op == Op::Pow || op == Op::IDiv)) return false;  // not exact: the kernel computes it
    return can_eval(op);
}

bool broadcast(const Shape& a, const Shape& b, Shape& result) {
    const Shape &longer = a.size() >= b.size() ? a : b, &shorter = a.size() >= b.size() ? b : a;
    result = longer;
    const std::size_t extra = longer.size() - shorter.size();
    for (std::size_t d = 0; d < shorter.size(); ++d) {
        std::int64_t& size = result[d + extra];
        if (size == 1) size = shorter[d];
        else if (shorter[d] != 1 && shorter[d] != size) return false;
    }
    return true;
}

Shape common_shape(Op op, const NodeRef& a, const NodeRef& b) {
    Shape shape;
    require(broadcast(a->shape, b->shape, shape), op, "shapes ", a->shape, " and ", b->shape, " do not broadcast");
    return shape;
}

bool is_reduction(Op op) { return op == Op::Add || op == Op::Mul || op == Op::Max || op == Op::Min; }

void check_reduction(Op node, Op op, DType t) {
    require(is_reduction(op), node, name_of(op), " is not a reduction");
    require(!is_bool(t) || op == Op::Max || op == Op::Min, node, name_of(op), " of bool");
}

void check_axis(Op op, std::int64_t axis, const NodeRef& x) {
    require(axis >= 0 && axis < x->rank(), op, "axis ", axis, " of ", x->shape);
}

}  // namespace

// ---- leaves ---------------------------------------------------------------------------------------------------------

NodeRef constant_word(DType dtype, Word value, const Shape& shape, std::uint8_t device) {
    const Word canonical = bitcast_word(dtype, dtype, value);  // bits beyond the width would split equal constants
    return spread(graph().make(Op::Const, dtype, {}, {}, ConstArg{canonical}, device), shape);
}

NodeRef constant(DType dtype, const Scalar& value, const Shape& shape, std::uint8_t device) {
    return constant(dtype, scalar_word(dtype, value), shape, device);
}

NodeRef like(const NodeRef& x, const Scalar& value) { return constant(x->dtype, value, x->shape, x->device); }

NodeRef variable(DType dtype, Word value, std::shared_ptr<const std::function<Word()>> redraw) {
    return graph().make(Op::Var, dtype, {}, {},
                        VarArg{fresh_id(), bitcast_word(dtype, dtype, value), std::move(redraw)});
}

NodeRef iota(std::int64_t size, std::uint8_t device) {
    require(size >= 0, Op::Iota, "size ", size);
    return graph().make(Op::Iota, DType::I64, {size}, {}, {}, device);
}

NodeRef buffer(StorageRef storage, DType dtype, const Shape& shape, std::int64_t offset, const Dims& strides) {
    require(storage != nullptr, Op::Buffer, "no storage");
    require(strides.size() == shape.size(), Op::Buffer, "strides ", strides, " for ", shape);
    std::int64_t first = offset, last = offset;
    if (numel(shape) > 0) {
        for (std::size_t d = 0; d < shape.size(); ++d) {
            const std::int64_t reach = checked_mul(shape[d] - 1, strides[d]);
            (reach < 0 ? first : last) = checked_add(reach < 0 ? first : last, reach);
        }
        const std::int64_t held = static_cast<std::int64_t>(storage->bytes / size_of(dtype));
        require(first >= 0 && last < held, Op::Buffer, "elements ", first, " … ", last, " of a storage of ", held);
    }
    const std::uint8_t device = storage->device;
    return graph().make(Op::Buffer, dtype, shape, {}, BufferArg{std::move(storage), offset, strides}, device);
}

// ---- elementwise ----------------------------------------------------------------------------------------------------

NodeRef unary(Op op, const NodeRef& x) {
    const OpKind kind = info(op).kind;
    require((kind == OpKind::Unary || kind == OpKind::Math) && op != Op::Cast && op != Op::Bitcast, op, "not unary");
    if (is_half(x->dtype)) return cast(unary(op, cast(x, DType::F32)), x->dtype);
    require(accepts(op, x->dtype), op, "not defined for ", x->dtype);
    if (const Node* c = constant_under(x); c && folds(op, x->dtype)) {
        const Word value = value_of(c);
        return constant(x->dtype, info(op).eval(x->dtype, &value), x->shape, x->device);
    }
    return graph().make(op, x->dtype, x->shape, {x});
}

namespace {

// A number on the CPU goes with tensors of any device, as in PyTorch.
bool is_number_elsewhere(const NodeRef& x, std::uint8_t device) {
    return x->shape.empty() && x->device == kCpu && device != kCpu && device != kAnyDevice;
}

}  // namespace

NodeRef binary(Op op, const NodeRef& a, const NodeRef& b) {
    if (is_number_elsewhere(a, b->device)) return binary(op, to_device(a, b->device), b);
    if (is_number_elsewhere(b, a->device)) return binary(op, a, to_device(b, a->device));
    const OpKind kind = info(op).kind;
    require(kind == OpKind::Binary || kind == OpKind::Compare, op, "not binary");
    require(a->dtype == b->dtype, op, "operands of ", a->dtype, " and ", b->dtype);
    if (is_half(a->dtype)) {
        const NodeRef wide = binary(op, cast(a, DType::F32), cast(b, DType::F32));
        return kind == OpKind::Compare ? wide : cast(wide, a->dtype);
    }
    require(accepts(op, a->dtype), op, "not defined for ", a->dtype);
    const Shape shape = common_shape(op, a, b);
    const DType result = kind == OpKind::Compare ? DType::Bool : a->dtype;
    const Node *ca = constant_under(a), *cb = constant_under(b);
    if (ca && cb && folds(op, a->dtype)) {
        const Word values[] = {value_of(ca), value_of(cb)};
        return constant(result, info(op).eval(a->dtype, values), shape, common_device(op, {a, b}));
    }
    return graph().make(op, result, shape, {expand(a, shape), expand(b, shape)});
}

NodeRef product(const NodeRef& a, const NodeRef& b, const FusedArg& arg) {
    if (!is_float(a->dtype) || is_half(a->dtype)) return a * b;  // exact, or rounded anyway
    require(a->dtype == b->dtype, Op::Mul, "operands of ", a->dtype, " and ", b->dtype);
    const Shape shape = common_shape(Op::Mul, a, b);
    return graph().make(Op::Mul, a->dtype, shape, {expand(a, shape), expand(b, shape)}, arg);
}

NodeRef where(const NodeRef& condition, const NodeRef& a, const NodeRef& b) {
    if (is_number_elsewhere(a, condition->device)) return where(condition, to_device(a, condition->device), b);
    if (is_number_elsewhere(b, condition->device)) return where(condition, a, to_device(b, condition->device));
    require(condition->dtype == DType::Bool, Op::Where, "a condition of ", condition->dtype);
    require(a->dtype == b->dtype, Op::Where, "branches of ", a->dtype, " and ", b->dtype);
    Shape shape;
    require(broadcast(common_shape(Op::Where, a, b), condition->shape, shape), Op::Where, "shapes ", condition->shape,
            ", ", a->shape, " and ", b->shape, " do not broadcast");
    if (const Node* c = constant_under(condition))
        return with_unused(expand(value_of(c) ? a : b, shape), value_of(c) ? b : a);
    return graph().make(Op::Where, a->dtype, shape, {expand(condition, shape), expand(a, shape), expand(b, shape)});
}

NodeRef threefry(Op word, const NodeRef& low, const NodeRef& high, const NodeRef& key) {
    Shape shape;
    require(broadcast(common_shape(word, low, high), key->shape, shape), word, "a key of shape ", key->shape);
    const Node *const x = constant_under(low), *const y = constant_under(high), *const k = constant_under(key);
    if (x && y && k) {
        const Word words[] = {value_of(x), value_of(y), value_of(k)};
        return constant(DType::U32, info(word).eval(DType::U32, words), shape, common_device(word, {low, high, key}));
    }
    return graph().make(word, DType::U32, shape, {expand(low, shape), expand(high, shape), expand(key, shape)});
}

NodeRef cast(const NodeRef& x, DType to) {
    if (x->dtype == to) return x;
    if (const Node* c = constant_under(x))
        return constant(to, cast_word(x->dtype, to, value_of(c)), x->shape, x->device);
    return graph().make(Op::Cast, to, x->shape, {x});
}

NodeRef bitcast(const NodeRef& x, DType to) {
    if (x->dtype == to) return x;
    require(size_of(x->dtype) == size_of(to), Op::Bitcast, x->dtype, " and ", to, " differ in width");
    require(!is_bool(to), Op::Bitcast, "a bool has two bit patterns only");
    if (const Node* c = constant_under(x))
        return constant(to, bitcast_word(x->dtype, to, value_of(c)), x->shape, x->device);
    return graph().make(Op::Bitcast, to, x->shape, {x});
}

NodeRef less(const NodeRef& a, const NodeRef& b) { return binary(Op::CmpLt, a, b); }
NodeRef less_equal(const NodeRef& a, const NodeRef& b) { return binary(Op::CmpLe, a, b); }
NodeRef equal_to(const NodeRef& a, const NodeRef& b) { return binary(Op::CmpEq, a, b); }
NodeRef logical_not(const NodeRef& x) {
    require(is_bool(x->dtype), Op::Xor, "logical not of ", x->dtype);
    return binary(Op::Xor, x, constant(DType::Bool, Word{1}));
}

// ---- movement -------------------------------------------------------------------------------------------------------

NodeRef reshape(const NodeRef& x, const Shape& shape) {
    if (shape == x->shape) return x;
    for (const std::int64_t size : shape) require(size >= 0, Op::Reshape, "size ", size);
    require(numel(shape) == numel(x->shape), Op::Reshape, x->shape, " to ", shape);
    if (const Node* c = constant_under(x)) return reshaped_constant(c, shape);
    if (merges(x, Op::Reshape)) return reshape(x->sources[0], shape);
    return graph().make(Op::Reshape, x->dtype, shape, {x});
}

NodeRef permute(const NodeRef& x, const Dims& axes) {
    require(axes.size() == x->shape.size(), Op::Permute, axes, " of ", x->shape);
    Shape shape;
    Dims seen = Dims::filled(axes.size(), 0);
    bool moves = false;
    for (std::size_t d = 0; d < axes.size(); ++d) {
        check_axis(Op::Permute, axes[d], x);
        require(seen[axes[d]]++ == 0, Op::Permute, axes, " repeats an axis");
        shape.push_back(x->shape[axes[d]]);
        moves |= axes[d] != static_cast<std::int64_t>(d);
    }
    if (!moves) return x;
    if (const Node* c = constant_under(x)) return reshaped_constant(c, shape);
    if (merges(x, Op::Permute)) {
        Dims composed;
        for (const std::int64_t axis : axes) composed.push_back(x->as<AxesArg>().axes[axis]);
        return permute(x->sources[0], composed);
    }
    return graph().make(Op::Permute, x->dtype, shape, {x}, AxesArg{axes});
}

NodeRef expand(const NodeRef& x, const Shape& shape) {
    if (shape == x->shape) return x;
    require(shape.size() >= x->shape.size(), Op::Expand, x->shape, " to ", shape);
    Shape aligned = Shape::filled(shape.size() - x->shape.size(), 1);
    aligned.append(x->shape.begin(), x->shape.end());
    for (std::size_t d = 0; d < shape.size(); ++d)
        require(shape[d] >= 0 && (aligned[d] == shape[d] || aligned[d] == 1), Op::Expand, x->shape, " to ", shape);
    numel(shape);  // throws where the size does not fit 63 bits
    if (const Node* c = constant_under(x)) return reshaped_constant(c, shape);
    const NodeRef source = reshape(x, aligned);
    if (source->shape == shape) return source;
    if (merges(source, Op::Expand)) return expand(source->sources[0], shape);
    return graph().make(Op::Expand, x->dtype, shape, {source});
}

NodeRef shrink(const NodeRef& x, const Dims& starts, const Shape& sizes) {
    require(starts.size() == x->shape.size() && sizes.size() == x->shape.size(), Op::Shrink, "a box at ", starts,
            " of ", sizes, " in ", x->shape);
    for (std::size_t d = 0; d < starts.size(); ++d)
        require(starts[d] >= 0 && sizes[d] >= 0 && starts[d] <= x->shape[d] && sizes[d] <= x->shape[d] - starts[d],
                Op::Shrink, "the box at ", starts, " of ", sizes, " leaves ", x->shape);
    if (sizes == x->shape) return x;
    if (const Node* c = constant_under(x)) return reshaped_constant(c, sizes);
    if (merges(x, Op::Shrink)) {
        Dims moved = starts;
        for (std::size_t d = 0; d < moved.size(); ++d) moved[d] += x->as<BoxArg>().starts[d];
        return shrink(x->sources[0], moved, sizes);
    }
    return graph().make(Op::Shrink, x->dtype, sizes, {x}, BoxArg{starts});
}

NodeRef pad(const NodeRef& x, const Dims& before, const Dims& after) {
    require(before.size() == x->shape.size() && after.size() == x->shape.size(), Op::Pad, before, " and ", after,
            " around ", x->shape);
    Shape shape;
    for (std::size_t d = 0; d < before.size(); ++d) {
        require(before[d] >= 0 && after[d] >= 0, Op::Pad, "by less than nothing: ", before, " and ", after);
        shape.push_back(checked_add(checked_add(before[d], x->shape[d]), after[d]));
    }
    if (shape == x->shape) return x;
    if (numel(x->shape) == 0) return with_unused(constant(x->dtype, Word{0}, shape, x->device), x);
    if (const Node* c = constant_under(x); c && value_of(c) == 0) return reshaped_constant(c, shape);
    numel(shape);  // throws where the size does not fit 63 bits
    return graph().make(Op::Pad, x->dtype, shape, {x}, BoxArg{before});
}

NodeRef flip(const NodeRef& x, const Dims& axes) {
    Dims kept = Dims::filled(x->shape.size(), 0);
    for (const std::int64_t axis : axes) {
        check_axis(Op::Flip, axis, x);
        kept[axis] = x->shape[axis] > 1;
    }
    const bool twice = merges(x, Op::Flip);
    if (twice)
        for (const std::int64_t axis : x->as<AxesArg>().axes) kept[axis] ^= 1;
    Dims flipped;
    for (std::size_t d = 0; d < kept.size(); ++d)
        if (kept[d]) flipped.push_back(static_cast<std::int64_t>(d));
    if (constant_under(x)) return x;
    const NodeRef& source = twice ? x->sources[0] : x;
    return flipped.empty() ? source : graph().make(Op::Flip, x->dtype, x->shape, {source}, AxesArg{flipped});
}

namespace {

// The last input element that a skew reads is (outputs-1)*stride + (window-1)*dilation.
void check_skew(Op op, const NodeRef& x, const SkewArg& arg, std::int64_t outputs, std::int64_t inputs) {
    check_axis(op, arg.axis, x);
    check_axis(op, arg.window, x);
    require(arg.axis != arg.window, op, "the window slides along itself");
    require(arg.stride >= 1 && arg.dilation >= 1, op, "stride ", arg.stride, ", dilation ", arg.dilation);
    require(outputs >= 0 && inputs >= 0, op, outputs, " outputs of ", inputs, " inputs");
    const std::int64_t window = x->size(arg.window);
    if (outputs == 0 || window == 0) return;
    const std::int64_t last = checked_add(checked_mul(outputs - 1, arg.stride), checked_mul(window - 1, arg.dilation));
    require(last < inputs, op, outputs, " outputs need ", last + 1, " inputs, there are ", inputs);
}

bool skew_changes_nothing(const NodeRef& x, const SkewArg& arg, std::int64_t size) {
    return size == x->size(arg.axis) && x->size(arg.window) <= 1 && (arg.stride == 1 || size <= 1);
}

}  // namespace

NodeRef skew(const NodeRef& x, const SkewArg& arg, std::int64_t outputs) {
    check_skew(Op::Skew, x, arg, outputs, x->rank() > arg.axis && arg.axis >= 0 ? x->shape[arg.axis] : 0);
    if (skew_changes_nothing(x, arg, outputs)) return x;
    Shape shape = x->shape;
    shape[arg.axis] = outputs;
    if (const Node* c = constant_under(x)) return reshaped_constant(c, shape);
    return graph().make(Op::Skew, x->dtype, shape, {x}, arg);
}

NodeRef unskew(const NodeRef& x, const SkewArg& arg, std::int64_t inputs) {
    check_skew(Op::Unskew, x, arg, x->rank() > arg.axis && arg.axis >= 0 ? x->shape[arg.axis] : 0, inputs);
    if (skew_changes_nothing(x, arg, inputs)) return x;
    Shape shape = x->shape;
    shape[arg.axis] = inputs;
    if (numel(x->shape) == 0) return with_unused(constant(x->dtype, Word{0}, shape, x->device), x);
    if (const Node* c = constant_under(x); c && value_of(c) == 0) return reshaped_constant(c, shape);
    numel(shape);  // throws where the size does not fit 63 bits
    return graph().make(Op::Unskew, x->dtype, shape, {x}, arg);
}

NodeRef insert(const NodeRef& base, const NodeRef& value, const Dims& starts) {
    require(base->dtype == value->dtype, Op::Insert, value->dtype, " into ", base->dtype);
    require(base->rank() == value->rank() && starts.size() == base->shape.size(), Op::Insert, value->shape, " into ",
            base->shape, " at ", starts);
    for (std::size_t d = 0; d < starts.size(); ++d)
        require(starts[d] >= 0 && starts[d] <= base->shape[d] && value->shape[d] <= base->shape[d] - starts[d],
                Op::Insert, value->shape, " at ", starts, " leaves ", base->shape);
    if (value->shape == base->shape) return with_unused(value, base);
    if (numel(value->shape) == 0) return with_unused(base, value);
    return graph().make(Op::Insert, base->dtype, base->shape, {base, value}, BoxArg{starts});
}

// ---- reductions -----------------------------------------------------------------------------------------------------

NodeRef reduce(Op op, const NodeRef& x, Dims axes, const SumOrder* order) {
    check_reduction(Op::Reduce, op, x->dtype);
    Dims reduced = Dims::filled(x->shape.size(), 0);
    for (const std::int64_t axis : axes) {
        check_axis(Op::Reduce, axis, x);
        reduced[axis] = x->shape[axis] != 1;
    }
    axes.clear();
    Shape shape = x->shape;
    for (std::size_t d = 0; d < reduced.size(); ++d) {
        if (!reduced[d]) continue;
        axes.push_back(static_cast<std::int64_t>(d));
        shape[d] = 1;
    }
    if (axes.empty())  // a product that nothing is added to is a value like others
        return is_fused_product(*x) ? x->sources[0] * x->sources[1] : x;
    if (is_half(x->dtype)) return cast(reduce(op, cast(x, DType::F32), axes, order), x->dtype);
    return graph().make(Op::Reduce, x->dtype, shape, {x},
                        ReduceArg{op, axes, order ? *order : sum_order(op, *x, axes)});
}

NodeRef scan(Op op, const NodeRef& x, int axis, const SumOrder* order) {
    check_reduction(Op::Scan, op, x->dtype);
    check_axis(Op::Scan, axis, x);
    if (x->size(axis) <= 1) return x;
    if (is_half(x->dtype)) return cast(scan(op, cast(x, DType::F32), axis, order), x->dtype);
    return graph().make(Op::Scan, x->dtype, x->shape, {x},
                        ReduceArg{op, {axis}, order ? *order : scan_order(op, *x, axis)});
}

// ---- data-dependent indices -----------------------------------------------------------------------------------------

namespace {

void check_index(Op op, const NodeRef& source, const NodeRef& index, int axis) {
    check_axis(op, axis, source);
    require(index->dtype == DType::I64, op, "an index of ", index->dtype);
    require(index->rank() == source->rank(), op, "index ", index->shape, " into ", source->shape);
    for (int d = 0; d < source->rank(); ++d)
        require(d == axis || index->shape[d] == source->shape[d], op, "index ", index->shape, " into ", source->shape,
                " along axis ", axis);
}

}  // namespace

NodeRef gather(const NodeRef& source, const NodeRef& index, int axis) {
    check_index(Op::Gather, source, index, axis);
    require(source->shape[axis] > 0 || numel(index->shape) == 0, Op::Gather, "from nothing: ", source->shape);
    // Equal elements are not folded: the index may hold a Check, which has to be seen when the graph runs.
    return graph().make(Op::Gather, source->dtype, index->shape, {source, index}, IndexArg{axis, Op::Add});
}

NodeRef scatter(Op mode, const NodeRef& base, const NodeRef& index, const NodeRef& value, int axis) {
    check_index(Op::Scatter, base, index, axis);
    require(is_scatter_mode(mode), Op::Scatter, "mode ", name_of(mode));
    require(base->dtype == value->dtype, Op::Scatter, value->dtype, " into ", base->dtype);
    require(value->shape == index->shape, Op::Scatter, "values ", value->shape, " for index ", index->shape);
    require((mode != Op::Add && mode != Op::Mul) || !is_bool(base->dtype), Op::Scatter, name_of(mode), " of bool");
    require(base->shape[axis] > 0 || numel(index->shape) == 0, Op::Scatter, "into nothing: ", base->shape);
    if (numel(index->shape) == 0) return with_unused(base, value);
    if (mode != Op::Where && is_half(base->dtype))
        return cast(scatter(mode, cast(base, DType::F32), index, cast(value, DType::F32), axis), base->dtype);
    return graph().make(Op::Scatter, base->dtype, base->shape, {base, index, value}, IndexArg{axis, mode});
}

NodeRef check(const NodeRef& value, std::int64_t low, std::int64_t high, std::string what) {
    require(is_int(value->dtype), Op::Check, "of ", value->dtype);
    return graph().make(Op::Check, value->dtype, value->shape, {value}, CheckArg{low, high, std::move(what)});
}

// ---- markers --------------------------------------------------------------------------------------------------------

NodeRef contiguous(const NodeRef& x) {
    return x->op == Op::Contiguous ? x : graph().make(Op::Contiguous, x->dtype, x->shape, {x});
}

NodeRef leaf(std::uint64_t cell, const NodeRef& value) {
    return graph().make(Op::Leaf, value->dtype, value->shape, {value}, LeafArg{cell});
}

NodeRef to_device(const NodeRef& x, std::uint8_t device) {
    if (x->device == device) return x;
    if (const Node* c = constant_under(x)) return constant(c->dtype, value_of(c), x->shape, device);
    return graph().make(Op::ToDevice, x->dtype, x->shape, {x}, {}, device);
}

NodeRef made_on(const NodeRef& x, std::uint8_t device) {
    if (x->device != kAnyDevice || device == kAnyDevice) return x;
    return rebuild(std::span(&x, 1), [&](const Node& node, const Sources& sources) {
        return graph().make(node.op, node.dtype, node.shape, sources, node.arg, sources.empty() ? device : node.device);
    })[0];
}

NodeRef detach(const NodeRef& x) { return x->op == Op::Detach ? x : graph().make(Op::Detach, x->dtype, x->shape, {x}); }

NodeRef with_grad(const NodeRef& value, std::span<const NodeRef> inputs, std::shared_ptr<const GradRuleObject> rule) {
    require(rule != nullptr, Op::WithGrad, "no rule");
    Sources sources{value};
    sources.append(inputs.begin(), inputs.end());
    return graph().make(Op::WithGrad, value->dtype, value->shape, std::move(sources), WithGradArg{std::move(rule)});
}

NodeRef with_unused(const NodeRef& value, const NodeRef& unused) {
    if (!unused->needs_grad) return value;
    static const auto rule =
        std::make_shared<const GradRuleObject>(GradRuleObject{"unused", [](const NodeRef& out, const NodeRef& g) {
                                                                  return Grads{g, like(out->sources[2], 0)};
                                                              }});
    const NodeRef inputs[] = {value, unused};
    return with_grad(value, inputs, rule);
}

NodeRef custom(std::shared_ptr<const CustomFunction> function, std::span<const NodeRef> inputs) {
    require(function != nullptr && !function->results.empty(), Op::Custom, "no function, or one without results");
    const auto& [dtype, shape] = function->results.front();
    return graph().make(Op::Custom, dtype, shape, Sources(inputs.begin(), inputs.end()), CustomArg{function});
}

NodeRef part(const NodeRef& custom, int index) {
    require(custom->op == Op::Custom, Op::Part, "of ", name_of(custom->op));
    const auto& results = custom->as<CustomArg>().function->results;
    require(index >= 0 && index < static_cast<int>(results.size()), Op::Part, index, " of ", results.size());
    if (results.size() == 1) return custom;
    return graph().make(Op::Part, results[index].first, results[index].second, {custom}, PartArg{index});
}

// ---- helpers --------------------------------------------------------------------------------------------------------

Shape broadcast_shapes(const Shape& a, const Shape& b) {
    Shape shape;
    if (!broadcast(a, b, shape)) throw ShapeError(str("shapes ", a, " and ", b, " do not broadcast"));
    return shape;
}

NodeRef with_sources(const Node& node, Sources sources) {
    return graph().make(node.op, node.dtype, node.shape, std::move(sources), node.arg, node.device);
}

}  // namespace weft::ir
