// backend/x86/emit_loads.cpp: how the lanes of a load lie decides which load it is: whole, near each other, or
// gathered; and prefetches.
#include "backend/x86/emit_internal.h"

namespace weft::backend::x86 {

Value Emitter::load(const Node& node) {
    const int b = node.as<ir::LoadArg>().buffer;
    if (in_variables(b)) return variable_load(node);
    if (facts(node).lane >= 0) return lane_load(node);
    const Reg gate = node.sources.size() > 1 ? value(node.source(1)).reg : kNone;  // both may be emitted here
    return scalar_load(node.dtype, address(b, node.source(0), static_cast<int>(size_of(node.dtype))), gate);
}

// Into the second cache: much is read until it is wanted, and would drive it out of the first. Once for the parts of a line.
void Emitter::emit(const kernel::Prefetch& prefetch) {
    go_to_innermost();
    const Node& load = *prefetch.load;
    const int b = load.as<ir::LoadArg>().buffer;
    const LaneIndex at = lane_index(load.source(0), facts(load).lane);
    if (!at.affine) return;
    Operand m = address(b, at.base, static_cast<int>(size_of(load.dtype)));
    m.bytes = 0;
    constexpr std::int64_t kLine = 64;
    const Operand& last = last_hint_;
    if (m.reg == last.reg && m.index == last.index && m.value > last.value && m.value < last.value + kLine) return;
    put_store(Id::kIdPrefetcht1, {m});
    last_hint_ = m;
}

Value Emitter::lane_load(const Node& node) {
    const int b = node.as<ir::LoadArg>().buffer, lane = facts(node).lane;
    const DType t = node.dtype;
    const bool is_private = is_lane_array(b);
    Value gate;
    if (node.sources.size() > 1) gate = vector_value(node.source(1));
    const Value* open = gate.vector ? &gate : nullptr;
    std::vector<Reg> same;  // for all lanes: parts of the gate that stand or fall together
    if (open) uniform_parts(node.source(1), same);
    if (const LaneIndex at = lane_index(node.source(0), lane); !is_private && !(at.affine && at.stride == 1))
        if (const Value found = window_load(t, b, node.source(0), lane, open ? &node.source(1) : nullptr, same);
            found.vector)
            return is_bool(t) ? mask_of(found) : found;
    const Lanes at = lanes_at(b, node.source(0), lane, is_private);
    const Value numbers = at.index.vector ? gather(t, at, open) : whole_load(t, at.base, at.used, open, same);
    return is_bool(t) ? mask_of(numbers) : numbers;
}

// The conversions of f16 read and write memory as it is: no need to make lanes of 4 bytes of it.
Value Emitter::half_load(const Node& cast) {
    const Node& load = cast.source();
    if (cast.dtype != DType::F32 || load.dtype != DType::F16 || load.op != Op::Load || load.sources.size() > 1)
        return {};
    const auto from = whole_lanes(load.as<ir::LoadArg>().buffer, load.source(0), facts(load).lane);
    if (!from) return {};
    const Value result = new_vector(4);
    put(Id::kIdVcvtph2ps, {vec(result.reg, width(4)), *from});
    return result;
}

void Emitter::uniform_parts(const Node& gate, std::vector<Reg>& parts) {
    if (facts(gate).lane < 0) {
        if (gate.op != Op::Const) parts.push_back(value(gate).reg);
    } else if (gate.op == Op::And) {
        for (const NodeRef& part : gate.sources) uniform_parts(*part, parts);
    }
}

}  // namespace weft::backend::x86
