// backend/x86/emit_expressions.cpp: where each expression is emitted, how scalars become vectors, and ops that are left to a helper.
#include "backend/x86/emit_internal.h"

#include "core/str.h"
#include "ir/symbolic.h"

#include <weft/error.h>

#include <algorithm>
#include <bit>
#include <limits>

namespace weft::backend::x86 {

// ---- where -----------------------------------------------------------------------------------------------------------

Value Emitter::value(const Node& node) {
    if (node.op == Op::Const || node.op == Op::LoopVar) return leaf(node);
    if (const auto found = values_.find(&node); found != values_.end()) return found->second.value;
    const AtLevel level(*this, level_of(node));
    const Value v = compute(node);
    remember(values_, node, v);
    return v;
}

void Emitter::remember(std::unordered_map<const Node*, Known>& known, const Node& node, const Value& value) {
    known.insert_or_assign(&node, Known{value, at_});
    scopes_[static_cast<std::size_t>(at_)].known.push_back(&node);
    for (std::uint64_t buffers = facts(node).buffers; buffers; buffers &= buffers - 1)
        loading_[static_cast<std::size_t>(std::countr_zero(buffers))].push_back(&node);
}

Value Emitter::vector_value(const Node& node) {
    if (facts(node).lane >= 0) return value(node);
    if (node.op == Op::Const && !is_bool(node.dtype)) {
        const int lane = lane_bytes(node);
        return {constant_vector(node.as<ir::ConstArg>().value, lane, width(lane)), true, false,
                static_cast<std::int8_t>(lane)};
    }
    if (const auto found = broadcasts_.find(&node); found != broadcasts_.end()) return found->second.value;
    const AtLevel level(*this, level_of(node));
    const Value v = broadcast(node);
    remember(broadcasts_, node, v);
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

int Emitter::lane_bytes(DType t) const {
    if (size_of(t) < 8) return 4;
    if (8 * lanes_ > most_bytes_) throw TooWide();
    return 8;
}

int Emitter::lane_bytes(const Node& node) {
    if (node.dtype != DType::I64 || 8 * lanes_ <= most_bytes_) return lane_bytes(node.dtype);
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
    const auto found = values_.find(&node);
    if (found == values_.end() || found->second.level != at_ || !(found->second.value.reg == v.reg)) return false;
    values_.erase(found);
    return true;
}

// ---- how -------------------------------------------------------------------------------------------------------------

Value Emitter::leaf(const Node& node) {
    if (node.op == Op::LoopVar) {
        const int id = node.as<ir::LoopArg>().id;
        if (!expanded_.lane_vars.contains(id)) return {scopes_[static_cast<std::size_t>(placement_.depth_of(id))].var};
        std::vector<std::int64_t> lanes;
        for (int l = 0; l < lanes_; ++l) lanes.push_back(l);
        const int lane = lane_bytes(node);
        return {constant_lanes(lanes, lane), true, false, static_cast<std::int8_t>(lane)};
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
            if (is_float(node.dtype) && !is_half(node.dtype)) return scalar_load(node.dtype, word, nullptr);
            return scalar_load(DType::I64, word, nullptr);
        }
        default: break;
    }
    return facts(node).lane >= 0 ? vector_op(node) : scalar_op(node);
}

Value Emitter::copy(const Value& v) {
    const RegInfo info = code_.regs[v.reg.id];
    const Reg r = code_.make(info.cls, info.bytes);
    move(r, v.reg);
    return like(v, r);
}

// ---- helpers ---------------------------------------------------------------------------------------------------------

// Operands of one type; the result is held as `like` is.
Value Emitter::call_helper(LaneCall call, std::initializer_list<Value> operands, const Value& like) {
    int i = 0;
    for (const Value& v : operands) {
        const Value passed = v.is_mask ? numbers(v) : v;
        const bool floats = code_.regs[passed.reg.id].cls == Class::Vec;
        const std::int64_t at = kCallArea + i++ * kCallOperand;
        call.operand_bytes = static_cast<std::int8_t>(passed.vector ? passed.lane
                                                      : floats      ? static_cast<int>(size_of(call.operand))
                                                                    : 8);
        if (floats) put_store(Id::kIdVmovups, {frame(at, width(passed)), vec(passed.reg, width(passed))});
        else put_store(Id::kIdMov, {frame(at, 8), gp(passed.reg)});
    }
    const DType t = call.result;
    const bool float_result = is_float(t) && !is_half(t);
    call.arity = static_cast<std::int8_t>(operands.size());
    call.result_bytes = static_cast<std::int8_t>(like.vector    ? (like.is_mask ? 4 : like.lane)
                                                 : float_result ? static_cast<int>(size_of(t))
                                                                : 8);
    if (call.lanes == 0) call.lanes = static_cast<std::int8_t>(like.vector ? lanes_ : 1);
    auto known = std::find(calls_.begin(), calls_.end(), call);
    if (known == calls_.end()) known = calls_.insert(calls_.end(), call);
    code_.calls = true;
    put_store(kCall, {imm(reinterpret_cast<std::int64_t>(&*known))});
    const std::int64_t at = kCallArea + kCallResult;
    if (!like.vector) return scalar_load(float_result ? t : DType::I64, frame(at, float_result ? 0 : 8), nullptr);
    const Value loaded = new_vector(like.is_mask ? 4 : like.lane);
    put(Id::kIdVmovups, {vec(loaded.reg, width(loaded)), frame(at, width(loaded))});
    return like.is_mask ? mask_of(loaded) : loaded;
}

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

void Emitter::jump_if_none(const Value& mask_value, int to) {
    if (wide_ && lanes_ == 16) put_store(Id::kIdKortestw, {mask(mask_value.reg), mask(mask_value.reg)});
    else if (wide_) {
        const Value low = new_mask();  // only as many bits as there are lanes
        put(Id::kIdKandw, {mask(low.reg), mask(mask_value.reg), mask(lane_mask(lanes_, 4))});
        put_store(Id::kIdKortestw, {mask(low.reg), mask(low.reg)});
    } else put_store(Id::kIdVptest, {vec(mask_value.reg, width(4)), vec(mask_value.reg, width(4))});
    put_store(Id::kIdJz, {label(to)});
}

// The first branch is jumped over if no lane wants it. What is computed in it is known only there.
Value Emitter::rarely(const Node& node) {
    const Value mask_value = vector_value(node.source(0)), result = copy(vector_value(node.source(2)));
    Scope& scope = scopes_[static_cast<std::size_t>(at_)];
    const std::size_t known = scope.known.size();
    const auto addresses = scope.addresses;
    const int done = new_label();
    jump_if_none(mask_value, done);
    emit_depths(node.sources[1]);
    move(result.reg, select(mask_value, vector_value(node.source(1)), result).reg);
    bind(done);
    for (std::size_t i = known; i < scope.known.size(); ++i) {
        values_.erase(scope.known[i]);
        broadcasts_.erase(scope.known[i]);
    }
    scope.known.resize(known);
    scope.addresses = addresses;
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
    call.lanes = static_cast<std::int8_t>(expanded_.lane_vars.at(facts(node).lane));
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
        else {
            const Value both = new_mask();
            if (wide_) put(Id::kIdKorw, {mask(both.reg), mask(bad.reg), mask(v.reg)});
            else put(Id::kIdVpor, {vec(both.reg, width(4)), vec(bad.reg, width(4)), vec(v.reg, width(4))});
            bad = both;
        }
    };
    if (is_u64 ? arg.low > 0 : arg.low > static_cast<std::int64_t>(lowest))
        add(compare_lanes(1, result, constant_like(result, t, static_cast<Word>(arg.low)), held));
    if (is_u64 || arg.high <= static_cast<std::int64_t>(highest))
        add(compare_lanes(2, constant_like(result, t, static_cast<Word>(arg.high)), result, held));
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
