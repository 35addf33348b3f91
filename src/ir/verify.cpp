// ir/verify.cpp: one function per kind of op says what its nodes must satisfy. Builders refuse bad operands with the
// same rules; this catches rewrites that make nodes by hand.
#include "ir/verify.h"

#include "core/str.h"
#include "ir/custom.h"
#include "ir/print.h"
#include "ir/walk.h"

#include <weft/error.h>

#include <algorithm>

namespace weft::ir {

bool accepts(Op op, DType operand) {
    switch (info(op).dtype) {
        case DTypeRule::Any:
        case DTypeRule::ToBool: return !is_half(operand);
        case DTypeRule::Number: return op == Op::IDiv ? is_int(operand) : !is_half(operand) && !is_bool(operand);
        case DTypeRule::FloatOnly: return operand == DType::F32 || operand == DType::F64;
        case DTypeRule::IntOrBool: return is_int(operand) || is_bool(operand);
        case DTypeRule::IntOnly: return is_int(operand);
        case DTypeRule::Explicit: return true;
    }
    return false;
}

namespace {

constexpr const char* kFine = "";

template <class T>
const T* argument(const Node& node) {
    return std::get_if<T>(&node.arg);
}

bool axis_in(std::int64_t axis, const Node& node) { return axis >= 0 && axis < node.rank(); }

bool ascending_axes(const Dims& axes, const Node& node) {
    for (std::size_t i = 0; i < axes.size(); ++i)
        if (!axis_in(axes[i], node) || (i && axes[i] <= axes[i - 1])) return false;
    return !axes.empty();
}

// Whether a box of `sizes` at `starts` lies inside `whole`; all three have one rank.
bool box_inside(const Dims& starts, const Shape& sizes, const Shape& whole) {
    if (starts.size() != whole.size() || sizes.size() != whole.size()) return false;
    for (std::size_t d = 0; d < starts.size(); ++d)
        if (starts[d] < 0 || starts[d] > whole[d] || sizes[d] > whole[d] - starts[d]) return false;
    return true;
}

std::string leaf_problem(const Node& node) {
    switch (node.op) {
        case Op::Buffer: {
            const auto* arg = argument<BufferArg>(node);
            if (!arg || !arg->storage) return "no storage";
            return arg->strides.size() == node.shape.size() ? kFine : "one stride per axis is needed";
        }
        case Op::Const:
            return argument<ConstArg>(node) && node.shape.empty() ? kFine : "a constant is a scalar with a value";
        case Op::Var: return argument<VarArg>(node) && node.shape.empty() ? kFine : "a variable is a scalar with an id";
        case Op::Iota: return node.dtype == DType::I64 && node.rank() == 1 ? kFine : "iota is i64 with one axis";
        case Op::Param: {  // a numbered leaf of a plan
            const auto* arg = argument<SlotArg>(node);
            return arg && arg->strides.size() == node.shape.size() ? kFine : "one stride per axis is needed";
        }
        case Op::ScalarParam:
            return argument<SlotArg>(node) && node.shape.empty() ? kFine : "a scalar with a slot is needed";
        default: return "an op of kernels in a tensor graph";
    }
}

std::string skew_problem(const Node& node) {
    const auto* arg = argument<SkewArg>(node);
    const Shape& from = node.source().shape;
    if (!arg) return "no argument";
    if (node.shape.size() != from.size() || !axis_in(arg->axis, node) || !axis_in(arg->window, node) ||
        arg->axis == arg->window)
        return "axes do not fit";
    if (arg->stride < 1 || arg->dilation < 1) return "stride and dilation must be positive";
    for (int d = 0; d < node.rank(); ++d)
        if (d != arg->axis && node.shape[d] != from[d]) return "another axis changes its size";
    const bool forward = node.op == Op::Skew;
    const std::int64_t outputs = (forward ? node.shape : from)[arg->axis], window = from[arg->window];
    const std::int64_t inputs = (forward ? from : node.shape)[arg->axis];
    if (outputs == 0 || window == 0) return kFine;
    return (outputs - 1) * arg->stride + (window - 1) * arg->dilation < inputs ? kFine : "the window leaves the axis";
}

std::string permute_problem(const Node& node) {
    const auto* arg = argument<AxesArg>(node);
    const Shape& from = node.source().shape;
    if (!arg || arg->axes.size() != from.size() || node.shape.size() != from.size()) return "one axis each is needed";
    Dims seen = Dims::filled(from.size(), 0);
    for (std::size_t d = 0; d < from.size(); ++d) {
        if (!axis_in(arg->axes[d], node) || seen[arg->axes[d]]++) return "the axes are no permutation";
        if (node.shape[d] != from[arg->axes[d]]) return "the shape is not the permuted one";
    }
    return kFine;
}

std::string movement_problem(const Node& node) {
    const Shape& from = node.source().shape;
    if (node.dtype != node.source().dtype) return "a view does not change the dtype";
    switch (node.op) {
        case Op::Reshape: return numel(node.shape) == numel(from) ? kFine : "the number of elements changes";
        case Op::Permute: return permute_problem(node);
        case Op::Expand:
            if (node.shape.size() != from.size()) return "expand keeps the rank";
            for (int d = 0; d < node.rank(); ++d)
                if (from[d] != 1 && from[d] != node.shape[d]) return "only axes of size 1 stretch";
            return kFine;
        case Op::Shrink:
        case Op::Pad: {
            const auto* arg = argument<BoxArg>(node);
            const bool pads = node.op == Op::Pad;
            return arg && box_inside(arg->starts, pads ? from : node.shape, pads ? node.shape : from)
                       ? kFine
                       : "the box lies outside";
        }
        case Op::Flip: {
            const auto* arg = argument<AxesArg>(node);
            return arg && ascending_axes(arg->axes, node) && node.shape == from ? kFine : "axes or shape do not fit";
        }
        case Op::Insert: {
            const auto* arg = argument<BoxArg>(node);
            if (node.dtype != node.source(1).dtype) return "value and base differ in dtype";
            return arg && node.shape == from && box_inside(arg->starts, node.source(1).shape, from)
                       ? kFine
                       : "the box lies outside";
        }
        default: return skew_problem(node);
    }
}

std::string elementwise_problem(const Node& node) {
    const OpInfo& row = info(node.op);
    for (const NodeRef& source : node.sources)
        if (!(source->shape == node.shape)) return str("operand of shape ", source->shape);
    if (node.op == Op::Cast) return kFine;
    if (node.op == Op::Bitcast)
        return size_of(node.dtype) == size_of(node.source().dtype) ? kFine : "a bitcast keeps the width";
    if (node.op == Op::Where) {
        if (node.source(0).dtype != DType::Bool) return "the condition is not bool";
        return node.source(1).dtype == node.dtype && node.source(2).dtype == node.dtype ? kFine
                                                                                        : "branches differ in dtype";
    }
    if (node.op == Op::ThreefryX || node.op == Op::ThreefryY) {
        const bool words = node.source(0).dtype == DType::U32 && node.source(1).dtype == DType::U32;
        return words && node.source(2).dtype == DType::U64 && node.dtype == DType::U32 ? kFine : "of other words";
    }
    const DType operand = node.source().dtype;
    if (row.arity == 2 && node.source(1).dtype != operand)
        return str("operands of ", operand, " and ", node.source(1).dtype);
    if (!accepts(node.op, operand)) return str("not defined for ", operand);
    return node.dtype == (row.dtype == DTypeRule::ToBool ? DType::Bool : operand) ? kFine : "wrong dtype of the result";
}

std::string reduce_problem(const Node& node) {
    const auto* arg = argument<ReduceArg>(node);
    const Node& source = node.source();
    if (!arg || info(arg->op).identity == Identity::None) return "no reduction";
    if (!accepts(arg->op, node.dtype) || node.dtype != source.dtype) return str("not defined for ", source.dtype);
    if (node.shape.size() != source.shape.size() || !ascending_axes(arg->axes, node)) return "axes do not fit";
    Shape expected = source.shape;
    if (node.op == Op::Reduce)
        for (const std::int64_t axis : arg->axes) expected[axis] = 1;
    else if (arg->axes.size() != 1) return "a scan has one axis";
    return node.shape == expected ? kFine : "reduced axes keep size 1, the others their size";
}

std::string index_problem(const Node& node) {
    if (node.op == Op::Check) {
        const bool same = node.shape == node.source().shape && node.dtype == node.source().dtype;
        return argument<CheckArg>(node) && same && is_int(node.dtype) ? kFine : "a check passes an integer on";
    }
    const auto* arg = argument<IndexArg>(node);
    const Node &base = node.source(0), &index = node.source(1);
    if (!arg || !axis_in(arg->axis, base)) return "no axis";
    if (index.dtype != DType::I64) return "the index is not i64";
    if (node.dtype != base.dtype || index.rank() != base.rank()) return "dtype or rank differs";
    for (int d = 0; d < base.rank(); ++d)
        if (d != arg->axis && base.shape[d] != index.shape[d]) return "another axis differs in size";
    if (node.op == Op::Gather) return node.shape == index.shape ? kFine : "the result has the index's shape";
    if (!is_scatter_mode(arg->mode)) return "scatter sets, adds, multiplies, or takes the larger or the smaller";
    if (arg->mode != Op::Where && !accepts(arg->mode, node.dtype)) return str("not defined for ", node.dtype);
    const bool fits =
        node.shape == base.shape && node.source(2).shape == index.shape && node.source(2).dtype == node.dtype;
    return fits ? kFine : "values and index, or base and result, differ";
}

std::string marker_problem(const Node& node) {
    if (node.op == Op::Custom || node.op == Op::Part) {
        const auto* arg = argument<CustomArg>(node.op == Op::Custom ? node : node.source());
        if (!arg || !arg->function) return "no function";
        const auto* part = argument<PartArg>(node);
        const std::size_t index = part ? static_cast<std::size_t>(part->index) : 0;
        if (index >= arg->function->results.size()) return "no such result";
        const auto& [dtype, shape] = arg->function->results[index];
        return dtype == node.dtype && shape == node.shape ? kFine : "not the result's dtype and shape";
    }
    if (node.op == Op::Leaf && !argument<LeafArg>(node)) return "no cell";
    if (node.op == Op::WithGrad && (node.sources.empty() || !argument<WithGradArg>(node))) return "no rule";
    return node.dtype == node.source().dtype && node.shape == node.source().shape ? kFine : "a marker changes nothing";
}

}  // namespace

std::string problem_of(const Node& node) {
    const OpInfo& row = info(node.op);
    if (row.arity >= 0 && static_cast<int>(node.sources.size()) != row.arity)
        return str(node.sources.size(), " sources instead of ", static_cast<int>(row.arity));
    for (const NodeRef& source : node.sources)
        if (!source) return "a null source";
    for (const std::int64_t size : node.shape)
        if (size < 0) return "a negative size";
    switch (row.kind) {
        case OpKind::Leaf: return leaf_problem(node);
        case OpKind::Movement: return movement_problem(node);
        case OpKind::Unary:
        case OpKind::Math:
        case OpKind::Binary:
        case OpKind::Compare:
        case OpKind::Ternary: return elementwise_problem(node);
        case OpKind::Reduce: return reduce_problem(node);
        case OpKind::Index: return index_problem(node);
        case OpKind::Marker: return marker_problem(node);
        case OpKind::Kernel: break;
    }
    return "an op of kernels in a tensor graph";
}

void verify_graph(std::span<const NodeRef> roots, std::string_view after) {
    const std::lock_guard lock(graph_lock());
    for (const Node* node : topological_order(roots))
        if (const std::string problem = problem_of(*node); !problem.empty())
            throw InternalError(str("after ", after, ": ", print_line(*node), ": ", problem));
}

}  // namespace weft::ir
