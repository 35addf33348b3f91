// backend/x86/emit_expressions.cpp: where each expression is emitted, how scalars become vectors, and ops that are left to a helper.
#include "backend/x86/emit_internal.h"

#include "core/str.h"
#include "ir/symbolic.h"

#include <weft/error.h>

#include <limits>

namespace weft::backend::x86 {

// ---- where -----------------------------------------------------------------------------------------------------------

Value Emitter::value(const Node& node) {
    if (node.op == Op::Const || node.op == Op::LoopVar) return leaf(node);
    if (const KnownValue* known = known_.find(KnownValues::kOwn, node)) return known->value;
    const AtLevel level(*this, level_of(node));
    const Value v = compute(node);
    remember(KnownValues::kOwn, node, v);
    return v;
}

void Emitter::remember(KnownValues::Form form, const Node& node, const Value& value) {
    known_.remember(form, node, {value, level()}, facts(node).buffers);
}

Value Emitter::vector_value(const Node& node) {
    if (facts(node).lane >= 0) return value(node);
    if (node.op == Op::Const && !is_bool(node.dtype)) {
        const int lane = lane_bytes(node);
        return lanes_in(constant_vector(node.as<ir::ConstArg>().value, lane, width(lane)), lane);
    }
    if (const KnownValue* known = known_.find(KnownValues::kBroadcast, node)) return known->value;
    const AtLevel level(*this, level_of(node));
    const Value v = broadcast(node);
    remember(KnownValues::kBroadcast, node, v);
    return v;
}

Value Emitter::broadcast(const Node& node) {
    const DType t = node.dtype;
    if (is_bool(t)) {
        const Reg ones = gp_reg();
        move(ones, value(node).reg);
        put(Id::kIdNeg, {gp(ones)}).reads_first = true;
        const Value result = new_mask();
        if (wide_) put(Id::kIdKmovd, {mask(result.reg), gp(ones, 4)});
        else {
            put(Id::kIdVmovd, {vec(result.reg, 16), gp(ones, 4)});
            put(Id::kIdVpbroadcastd, {vec(result.reg, width(4)), vec(result.reg, 16)});
        }
        return result;
    }
    const int lane = lane_bytes(node);
    const Value result = new_vector(lane);
    const Operand to = vec(result.reg, width(lane));
    const std::uint32_t id = lane == 4 ? Id::kIdVbroadcastss : width(8) == 16 ? Id::kIdVmovddup : Id::kIdVbroadcastsd;
    const bool in_memory = node.op == Op::Load && node.sources.size() == 1 &&
                           size_of(t) == static_cast<std::size_t>(lane) && !in_variables(node.as<ir::LoadArg>().buffer);
    if (in_memory) {
        put(id, {to, address(node.as<ir::LoadArg>().buffer, node.source(0), lane)});
        return result;
    }
    const Reg scalar = value(node).reg;
    if (is_float(t) && !is_half(t)) put(id, {to, vec(scalar, 16)});
    else if (wide_) put(lane == 4 ? Id::kIdVpbroadcastd : Id::kIdVpbroadcastq, {to, gp(scalar, lane)});
    else {
        put(lane == 4 ? Id::kIdVmovd : Id::kIdVmovq, {vec(result.reg, 16), gp(scalar, lane)});
        put(lane == 4 ? Id::kIdVpbroadcastd : Id::kIdVpbroadcastq, {to, vec(result.reg, 16)});
    }
    return result;
}

int Emitter::lane_bytes(const Node& node) {
    if (node.dtype != DType::I64 || 8 * lanes_ <= most_bytes()) return lane_bytes(node.dtype);
    if (node.op == Op::Cast) {
        const DType from = node.source().dtype;
        if (is_bool(from) || (is_int(from) && (size_of(from) < 4 || from == DType::I32))) return 4;
    }
    kept_.emplace_back(&node);
    const ir::Bounds bounds = ir::bounds(kept_.back());
    if (bounds.low < std::numeric_limits<std::int32_t>::min() || bounds.high > std::numeric_limits<std::int32_t>::max())
        throw TooWide();
    return 4;
}

bool Emitter::consumed(const Node& node, const Value& v) {
    if (node.op == Op::Load || node.op == Op::ScalarParam) return false;
    const auto uses = expanded_.uses.find(&node);
    if (uses == expanded_.uses.end() || uses->second != 1) return false;
    const KnownValue* known = known_.find(KnownValues::kOwn, node);
    if (!known || known->level != level() || !(known->value.reg == v.reg)) return false;
    known_.erase(node);
    return true;
}

// ---- how -------------------------------------------------------------------------------------------------------------

Value Emitter::leaf(const Node& node) {
    if (node.op == Op::LoopVar) {
        const int id = node.as<ir::LoopArg>().id;
        if (!expanded_.lane_vars.contains(id))
            return {loops_[static_cast<std::size_t>(placement_.depth_of(id))].counter};
        const int lane = lane_bytes(node);
        return lanes_in(lane_numbers(lane), lane);
    }
    const Word word = node.as<ir::ConstArg>().value;
    if (is_float(node.dtype) && !is_half(node.dtype))
        return {constant_vector(word, static_cast<int>(size_of(node.dtype)), 16)};
    return {constant_gp(static_cast<std::int64_t>(word))};
}

Value Emitter::compute(const Node& node) {
    switch (node.op) {
        case Op::Load: return load(node);
        case Op::Check: return check(node);
        case Op::ScalarParam: {
            const Reg words = gp_reg();
            put(Id::kIdMov, {gp(words), frame(kArgScalars, 8)});
            const Operand word = memory(words, 8 * node.as<ir::SlotArg>().slot, 8);
            return scalar_load(is_plain_float(node.dtype) ? node.dtype : DType::I64, word);
        }
        default: break;
    }
    return facts(node).lane >= 0 ? vector_op(node) : scalar_op(node);
}

// ---- helpers ---------------------------------------------------------------------------------------------------------

Value Emitter::helper_op(const Node& node) {
    if (!ir::can_eval(node.op)) throw InternalError(str("x86 does not know ", ir::name_of(node.op)));
    LaneCall call{.op = node.op, .operand = node.sources.back()->dtype, .result = node.dtype, .lanes = 0};
    Value like;
    like.vector = facts(node).lane >= 0;
    like.is_mask = like.vector && is_bool(node.dtype);
    if (like.vector) like.lane = static_cast<std::int8_t>(lane_bytes(node));
    if (node.sources.size() == 1) return call_helper(call, {operand(node, 0)}, like);
    return call_helper(call, {operand(node, 0), operand(node, 1)}, like);
}

// The first branch is jumped over if no lane wants it. What is computed in it is known only there.
Value Emitter::rarely(const Node& node) {
    const Value mask_value = vector_value(node.source(0)), result = copy(vector_value(node.source(2)));
    KnownValues::Mark before = known_.mark(level());
    const int done = new_label();
    jump_if_none(mask_value, done);
    emit_depths(node.sources[1]);
    move(result.reg, select(mask_value, vector_value(node.source(1)), result).reg);
    bind(done);
    known_.return_to(std::move(before));
    return result;
}

// The usual case is one comparison; what is out of range is left to the helper.
Value Emitter::check(const Node& node) {
    const auto& arg = node.as<ir::CheckArg>();
    std::size_t number = 0;
    while (number < kernel_.checks.size() && !ir::equal(kernel_.checks[number], arg)) ++number;
    if (number == kernel_.checks.size())
        throw InternalError(str("kernel ", kernel_.name, " does not list the check ", arg.what));
    const DType t = node.dtype;
    LaneCall call{.op = Op::Check,
                  .operand = t,
                  .result = t,
                  .lanes = 1,
                  .low = arg.low,
                  .high = arg.high,
                  .code = static_cast<std::int64_t>(number) + 1};
    const int slow = new_label(), done = new_label();
    if (facts(node).lane < 0) {
        const Value result = copy(value(node.source()));
        const auto beyond = [&](std::int64_t limit, std::uint32_t jump) {
            if (fits32(limit)) put_store(Id::kIdCmp, {gp(result.reg), imm(limit)});
            else put_store(Id::kIdCmp, {gp(result.reg), gp(constant_gp(limit))});
            put_store(jump, {label(slow)});
        };
        beyond(arg.low, Id::kIdJl);
        beyond(arg.high, Id::kIdJge);
        put_store(Id::kIdJmp, {label(done)});
        bind(slow);
        move(result.reg, call_helper(call, {result}, result).reg);
        bind(done);
        return result;
    }
    call.lanes = static_cast<std::int8_t>(used_lanes(facts(node).lane));
    const Value result = copy(value(node.source()));
    Word lowest = 0, highest = 0;  // of what the lanes can hold
    const DType held = result.lane == 4 && t == DType::I64 ? DType::I32 : t;
    visit_dtype(held, [&](auto zero) {
        using T = decltype(zero);
        if constexpr (std::is_integral_v<T>)
            lowest = to_word(std::numeric_limits<T>::min()), highest = to_word(std::numeric_limits<T>::max());
    });
    const bool is_u64 = t == DType::U64;
    Value bad;
    const auto add = [&](const Value& v) {
        if (!bad.vector) bad = v;
        else bad = combine(Op::Or, bad, v);
    };
    if (is_u64 ? arg.low > 0 : arg.low > static_cast<std::int64_t>(lowest))
        add(compare_lanes(kLt, result, constant_like(result, t, static_cast<Word>(arg.low)), held));
    if (is_u64 || arg.high <= static_cast<std::int64_t>(highest))
        add(compare_lanes(kLe, constant_like(result, t, static_cast<Word>(arg.high)), result, held));
    if (!bad.vector) return result;
    if (call.lanes < lanes_) {
        const Value inside = new_mask();
        const Reg used = lane_mask(call.lanes, 4);
        if (wide_) put(Id::kIdKandw, {mask(inside.reg), mask(bad.reg), mask(used)});
        else put(Id::kIdVpand, {vec(inside.reg, width(4)), vec(bad.reg, width(4)), vec(used, width(4))});
        bad = inside;
    }
    jump_if_none(bad, done);
    move(result.reg, call_helper(call, {result}, result).reg);
    bind(done);
    return result;
}

}  // namespace weft::backend::x86
