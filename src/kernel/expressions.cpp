// kernel/expressions.cpp: an explicit stack instead of recursion: an expression may be 500 nodes deep, a stack 256 KiB.
#include "kernel/expressions.h"

#include "core/str.h"
#include "ir/print.h"
#include "ir/symbolic.h"
#include "ir/walk.h"
#include "kernel/linear_form.h"
#include "kernel/math.h"

#include <weft/error.h>

#include <algorithm>
#include <limits>

namespace weft::kernel {

using ir::Node;
using ir::Op;

std::size_t Elements::RequestHash::operator()(const Request& request) const {
    std::size_t h = std::hash<const void*>()(request.node);
    for (const NodeRef& e : request.index) h = h * 0x9e3779b97f4a7c15 + std::hash<const void*>()(e.get());
    return h * 0x9e3779b97f4a7c15 + std::hash<const void*>()(request.gate.get());
}

NodeRef in_range(const Kernel& kernel, const NodeRef& index, std::int64_t size) {
    const Ranges::Sum range = Ranges(0).of(linear_form(*index));
    if (size <= 0 || (range.low >= 0 && range.high < size)) return index;
    return kernel.binary(Op::Max, kernel.index(0), kernel.binary(Op::Min, index, kernel.index(size - 1)));
}

NodeRef as_factor(const Kernel& kernel, const ir::Node& product, const NodeRef& value) {
    const auto* const fused = std::get_if<ir::FusedArg>(&product.arg);
    return fused && fused->tf32 ? kernel.unary(Op::RoundTf32, value) : value;
}

void Elements::bind(const Node& reduce, const IndexList& index, int local) { bound_[&reduce] = {index, local}; }

NodeRef Elements::both(const NodeRef& a, const NodeRef& b) const {
    if (!a) return b;
    if (!b) return a;
    return ir::simplify_index(*kernel_.interner, kernel_.binary(Op::And, a, b));
}

NodeRef Elements::position(const Node& param, const IndexList& index) const {
    const Dims& strides = param.as<ir::SlotArg>().strides;
    std::int64_t shift = 0;  // a reversed axis starts at its far end
    for (std::size_t d = 0; d < strides.size(); ++d)
        if (strides[d] < 0) shift -= strides[d] * (param.shape[d] - 1);
    const NodeRef at = ir::strided_position(*kernel_.interner, index, strides);
    return shift == 0 ? at : ir::simplify_index(*kernel_.interner, kernel_.add(at, kernel_.index(shift)));
}

NodeRef Elements::value(const Node& node, const IndexList& index, const NodeRef& gate) {
    struct Frame {
        Request request;
        std::vector<NodeRef> operands;
        std::vector<Request> pending;  // requests still to be answered, in order
    };
    std::vector<Frame> stack;
    const auto push = [&](Request request) {
        Frame frame{std::move(request), {}, {}};
        frame.pending = needs(frame.request, {});
        stack.push_back(std::move(frame));
    };
    const Request root{&node, index, gate};
    if (const auto found = done_.find(root); found != done_.end()) return found->second;
    push(root);
    while (true) {
        Frame& frame = stack.back();
        if (frame.operands.size() < frame.pending.size()) {
            const Request& next = frame.pending[frame.operands.size()];
            if (const auto found = done_.find(next); found != done_.end()) {
                frame.operands.push_back(found->second);
                // A gather knows where to read only after its index: it asks again.
                if (frame.operands.size() == frame.pending.size())
                    for (Request& more : needs(frame.request, frame.operands)) frame.pending.push_back(std::move(more));
            } else {
                push(Request(next));
            }
            continue;
        }
        const NodeRef from_row = kept(frame.request);
        const NodeRef result = from_row ? from_row : combine(frame.request, frame.operands);
        if (const auto found = watched_.find(frame.request.node); found != watched_.end() && !from_row)
            if (const NodeRef place = place_in_row(frame.request, found->second))
                noted_.push_back({frame.request.node, place, result});
        done_.emplace(frame.request, result);
        stack.pop_back();
        if (stack.empty()) return result;
    }
}

NodeRef Elements::place_in_row(const Request& request, const Watched& watched) const {
    if (request.gate) return nullptr;
    ir::Interner& interner = *kernel_.interner;
    const NodeRef first = kernel_.mul(watched.row, kernel_.index(watched.length));
    const NodeRef element = ir::flatten_index(interner, request.node->shape, request.index);
    const NodeRef place = ir::simplify_index(interner, kernel_.binary(Op::Sub, element, first));
    const ir::Bounds bounds = ir::bounds(place);
    return bounds.low >= 0 && bounds.high < watched.length ? place : nullptr;
}

NodeRef Elements::kept(const Request& request) const {
    const auto found = watched_.find(request.node);
    if (found == watched_.end() || found->second.local < 0) return nullptr;
    const NodeRef place = place_in_row(request, found->second);
    return place ? kernel_.load(found->second.local, place) : nullptr;
}

std::vector<Elements::Request> Elements::needs(const Request& request, const std::vector<NodeRef>& so_far) {
    const Node& node = *request.node;
    if (bound_.contains(&node) || kept(request)) return {};
    std::vector<Request> result;
    if (node.op == Op::Gather) {
        if (so_far.empty()) return {{node.sources[1].get(), request.index, request.gate}};
        if (so_far.size() > 1) return {};
        IndexList index = request.index;
        const int axis = node.as<ir::IndexArg>().axis;
        index[axis] = in_range(kernel_, so_far[0], node.source(0).shape[axis]);
        return {{node.sources[0].get(), index, request.gate}};
    }
    if (!so_far.empty()) return {};
    if (node.op == Op::Insert) {
        const ir::Mapped mapped = ir::inserted_index(*kernel_.interner, node, request.index);
        return {{node.sources[0].get(), request.index, request.gate},
                {node.sources[1].get(), mapped.index, both(request.gate, mapped.gate)}};
    }
    if (ir::is_movement(node.op)) {
        const ir::Mapped mapped = ir::source_index(*kernel_.interner, node, request.index);
        return {{node.sources[0].get(), mapped.index, both(request.gate, mapped.gate)}};
    }
    for (const NodeRef& source : node.sources) result.push_back({source.get(), request.index, request.gate});
    return result;
}

namespace {

// Is every part of `weak` (a & b & …) one of `strong`'s?
bool implies(const NodeRef& strong, const NodeRef& weak) {
    if (strong == weak) return true;
    if (weak->op == Op::And) return implies(strong, weak->sources[0]) && implies(strong, weak->sources[1]);
    return strong->op == Op::And && (implies(strong->sources[0], weak) || implies(strong->sources[1], weak));
}

}  // namespace

// Zero where the view has no element. A load under the gate is zero there already.
NodeRef Elements::gated(const Request& request, const NodeRef& inner, const NodeRef& gate) const {
    if (!gate) return inner;
    const bool gated_load = inner->op == Op::Load && inner->sources.size() > 1;
    if (gated_load && (inner->sources[1] == both(request.gate, gate) || implies(inner->sources[1], gate))) return inner;
    return kernel_.where(gate, inner, kernel_.constant(inner->dtype, 0));
}

// Where a view has no element nothing is looked up, and nothing may fail: the operand is some value that passes. That of a load under the gate is zero.
NodeRef Elements::checked_operand(const Request& request, const NodeRef& operand, const ir::CheckArg& check) const {
    if (!request.gate) return operand;
    const bool gated_load = operand->op == Op::Load && operand->sources.size() > 1;
    if (gated_load && implies(operand->sources[1], request.gate) && check.low <= 0 && check.high > 0) return operand;
    return kernel_.where(request.gate, operand, kernel_.constant(operand->dtype, check.low));
}

// Index arithmetic drops what does not matter for the value: in x[i * 0] the check of i, in a table with one row that of any
// index. Such a check must fail all the same, so the value is made to depend on the sign bit of what is above the check's lowest
// value, which is never set; a comparison would be decided by the check's own range.
NodeRef Elements::keeping_checks(NodeRef value, const NodeRef& index, const NodeRef& at) const {
    if (kernel_.checks.empty()) return value;
    const NodeRef kept[] = {value, at ? at : value};
    const std::vector<const Node*> there = ir::topological_order(kept);
    for (const Node* check : ir::topological_order(std::span(&index, 1))) {
        if (check->op != Op::Check) continue;
        const NodeRef same = ir::simplify_index(*kernel_.interner, NodeRef(check));
        const auto is_this = [&](const Node* node) { return node == check || node == same.get(); };
        if (std::any_of(there.begin(), there.end(), is_this)) continue;
        const NodeRef above = kernel_.binary(Op::Sub, NodeRef(check), kernel_.index(check->as<ir::CheckArg>().low));
        const NodeRef sign = kernel_.binary(Op::And, above, kernel_.index(std::numeric_limits<std::int64_t>::min()));
        const NodeRef never = kernel_.binary(Op::CmpLt, sign, kernel_.index(0));
        const bool zero =
            value->op == Op::Const && value->as<ir::ConstArg>().value == 0;  // equal branches would be folded
        value = kernel_.where(never, kernel_.constant(value->dtype, zero ? 1 : 0), value);
    }
    return value;
}

NodeRef Elements::combine(const Request& request, const std::vector<NodeRef>& operands) {
    const Node& node = *request.node;
    if (const auto found = bound_.find(&node); found != bound_.end()) {
        if (!(found->second.index == request.index))
            throw InternalError(str("lowering reads ", ir::print_line(node), " at another index than its row's"));
        return kernel_.load(found->second.local, kernel_.index(0));
    }
    switch (node.op) {
        case Op::Const: return kernel_.make(Op::Const, node.dtype, {}, node.arg);
        case Op::ScalarParam: return kernel_.make(Op::ScalarParam, node.dtype, {}, node.arg);
        case Op::Iota: return request.index[0];
        case Op::Param: {
            const int slot = node.as<ir::SlotArg>().slot;
            const NodeRef at = position(node, request.index);
            const ir::Bounds bounds = ir::bounds(at);  // a gate is for what may be out of range
            const bool inside = bounds.low >= 0 && bounds.high < kernel_.buffers[slot].size;
            return kernel_.load(slot, at, inside ? nullptr : request.gate);
        }
        case Op::Gather: return keeping_checks(operands[1], operands[0]);
        case Op::Contiguous: return operands[0];
        case Op::Insert: {
            const ir::Mapped mapped = ir::inserted_index(*kernel_.interner, node, request.index);
            return mapped.gate ? kernel_.where(mapped.gate, operands[1], operands[0]) : operands[1];
        }
        case Op::Check: {
            const auto& check = node.as<ir::CheckArg>();
            const ir::Bounds bounds = ir::bounds(operands[0]);
            if (bounds.low >= check.low && bounds.high < check.high) return operands[0];  // it cannot fail
            const auto same = [&](const ir::CheckArg& c) {
                return c.low == check.low && c.high == check.high && c.what == check.what;
            };
            if (std::none_of(kernel_.checks.begin(), kernel_.checks.end(), same)) kernel_.checks.push_back(check);
            return kernel_.make(Op::Check, node.dtype, {checked_operand(request, operands[0], check)}, check);
        }
        default: break;
    }
    if (ir::is_movement(node.op)) {
        const ir::Mapped mapped = ir::source_index(*kernel_.interner, node, request.index);
        return gated(request, operands[0], mapped.gate);
    }
    if (ir::is_math(node.op)) return expand_math(kernel_, node.op, operands[0]);
    if ((node.op == Op::Pow || node.op == Op::Mod) && is_float(node.dtype))
        return expand_math(kernel_, node.op, operands[0], operands[1]);
    if (node.op == Op::ThreefryX || node.op == Op::ThreefryY)
        return expand_threefry(kernel_, node.op, operands[0], operands[1], operands[2]);
    if (node.op == Op::Where) return kernel_.where(operands[0], operands[1], operands[2]);
    if (!ir::is_elementwise(node.op)) throw InternalError(str("lowering meets ", ir::print_line(node), " in a kernel"));
    ir::Sources sources;
    for (const NodeRef& operand : operands) sources.push_back(as_factor(kernel_, node, operand));
    return kernel_.make(node.op, node.dtype, std::move(sources));
}

}  // namespace weft::kernel
