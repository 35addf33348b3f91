// backend/x86/emit_vector.cpp: ops on lanes, and on floats whose one lane is a scalar. Results are those of the op table's evaluators.
#include "backend/x86/emit_internal.h"

#include "ir/symbolic.h"

#include <weft/error.h>

#include <algorithm>
#include <bit>
#include <cmath>

namespace weft::backend::x86 {

namespace {

bool is_bit_op(ir::Op op) { return op == ir::Op::And || op == ir::Op::Or || op == ir::Op::Xor; }

// The bits by which x << by | x >> (all - by) turns an unsigned x; 0: it is something else.
int rotation(const ir::Node& node) {
    if (node.op != ir::Op::Or || !is_unsigned(node.dtype)) return 0;
    const bool swapped = node.source(0).op == ir::Op::Shr;
    const ir::Node &left = node.source(swapped), &right = node.source(!swapped);
    if (left.op != ir::Op::Shl || right.op != ir::Op::Shr || left.sources[0] != right.sources[0]) return 0;
    if (!is_constant(left.source(1)) || !is_constant(right.source(1))) return 0;
    const Word by = left.source(1).as<ir::ConstArg>().value, back = right.source(1).as<ir::ConstArg>().value;
    const Word all = 8 * size_of(node.dtype);
    return by > 0 && by < all && back == all - by ? static_cast<int>(by) : 0;
}

constexpr int kOrdered = 7, kNotLessOrEqual = 22, kNotGreaterOrEqual = 25;

}  // namespace

Value Emitter::vector_op(const Node& node) {
    const DType t = node.sources.back()->dtype;
    if (const Value loaded = node.op == Op::Cast ? half_load(node) : Value(); loaded.vector) return loaded;
    if (node.op == Op::Cast)
        return vector_cast(value(node.source()), node.source().dtype, node.dtype, lane_bytes(node));
    if (node.op == Op::Bitcast) return vector_bitcast(vector_value(node.source()), node.source().dtype, node.dtype);
    if (node.op == Op::Lookup) return lookup(node);
    if (is_bool(t)) return mask_op(node);
    if (node.op == Op::Where && std::holds_alternative<ir::RareArg>(node.arg)) return rarely(node);
    if (node.op == Op::Where) {
        const Value mask_value = vector_value(node.source(0)), yes = vector_value(node.source(1)),
                    no = vector_value(node.source(2));
        return select(mask_value, yes, no);
    }
    if (ir::info(node.op).kind == ir::OpKind::Compare) {
        const Value a = vector_value(node.source(0)), b = vector_value(node.source(1));
        return compare_lanes(node.op == Op::CmpEq ? kEq : node.op == Op::CmpLt ? kLt : kLe, a, b, t);
    }
    return t == DType::F32 || t == DType::F64 ? float_op(node) : vector_int(node);
}

// ---- floats ----------------------------------------------------------------------------------------------------------

Value Emitter::float_op(const Node& node) {
    const int lane = static_cast<int>(size_of(node.dtype));
    if (node.op == Op::Fma) return fma(node);
    if (node.op == Op::Mod) return helper_op(node);
    const Value a = operand(node, 0);
    const int bytes = width(a);
    const auto reg = [&](const Value& v) { return vec(v.reg, bytes); };
    const auto binary = [&](const Pair& id) {
        const Value b = operand(node, 1), result = like(a, vec_reg(bytes));
        arithmetic(id(lane), lane, {reg(result), reg(a), reg(b)});
        return result;
    };
    const auto with_bits = [&](Op op, Word bits) {
        const Value result = like(a, vec_reg(bytes));
        arithmetic(bits_id(op), lane == 4 ? 4 : 0, {reg(result), reg(a), reg(constant_like(a, node.dtype, bits))});
        return result;
    };
    const Word sign = lane == 4 ? Word(1) << 31 : Word(1) << 63;
    switch (node.op) {
        case Op::Add: return binary(kAddF);
        case Op::Sub: return binary(kSubF);
        case Op::Mul: return binary(kMulF);
        case Op::Div: return binary(kDivF);
        case Op::Scale: return wide_ ? binary(kScaleByPower) : scale(a, operand(node, 1), node.dtype);
        case Op::Max:
        case Op::Min: return float_limit(node, a);
        case Op::Neg: return with_bits(Op::Xor, sign);
        case Op::Abs: return with_bits(Op::And, sign - 1);
        default: break;
    }
    const Value result = like(a, vec_reg(bytes));
    switch (node.op) {
        case Op::Recip: {
            const Word one = lane == 4 ? to_word(1.0f) : to_word(1.0);
            arithmetic(kDivF(lane), lane, {reg(result), reg(constant_like(a, node.dtype, one)), reg(a)});
            return result;
        }
        case Op::Sqrt: arithmetic(kSqrtF(lane), lane, {reg(result), reg(a)}); return result;
        case Op::Trunc: put((wide_ ? kScaleF : kRoundF)(lane), {reg(result), reg(a), imm(kTruncate)}); return result;
        default: return helper_op(node);
    }
}

// Overwrites an operand that nothing else uses; else a copy of the addend. A constant factor comes last: it may lie in memory.
Value Emitter::fma(const Node& node) {
    const int lane = static_cast<int>(size_of(node.dtype)), first = is_constant(node.source(0)) ? 1 : 0;
    const Value a = operand(node, first), b = operand(node, 1 - first), c = operand(node, 2);
    const int bytes = width(a);
    const auto emit = [&](const Pair& id, Reg first, const Value& second, const Value& third) {
        arithmetic(id(lane), lane, {vec(first, bytes), vec(second.reg, bytes), vec(third.reg, bytes)}).reads_first =
            true;
        return like(a, first);
    };
    if (consumed(node.source(2), c)) return emit(kFma231, c.reg, a, b);
    if (consumed(node.source(first), a)) return emit(kFma213, a.reg, b, c);
    if (consumed(node.source(1 - first), b)) return emit(kFma213, b.reg, a, c);
    const Reg r = vec_reg(bytes);
    move(r, c.reg);
    return emit(kFma231, r, a, b);
}

// The table is a register, and looking up a permutation of it, which heeds just the low bits of the index. Whole registers are
// permuted even where fewer lanes are in use.
Value Emitter::lookup(const Node& node) {
    const int bytes = wide_ ? 64 : 32;
    const auto half = [&](int number) {
        const float* const entries = node.as<ir::TableArg>().entries + number * 8;
        return vec(constant({5, static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(entries))}, Class::Vec, bytes,
                            entries, bytes),
                   bytes);
    };
    const Value from = operand(node, 0), result = like(from, vec_reg(bytes));
    Reg index = from.reg;
    if (!from.vector) put(Id::kIdVmovd, {vec(index = vec_reg(bytes), 16), gp(from.reg, 4)});
    else if (width(from) < bytes)
        put(Id::kIdVmovaps, {vec(index = vec_reg(bytes), width(from)), vec(from.reg, width(from))});
    if (wide_) {
        arithmetic(Id::kIdVpermps, 4, {vec(result.reg, 64), vec(index, 64), half(0)});
        return result;
    }
    if (const float* entries = node.as<ir::TableArg>().entries; std::equal(entries, entries + 8, entries + 8)) {
        arithmetic(Id::kIdVpermps, 4, {vec(result.reg, 32), vec(index, 32), half(0)});
        return result;
    }
    const Reg low = vec_reg(32), high = vec_reg(32);
    arithmetic(Id::kIdVpermps, 4, {vec(low, 32), vec(index, 32), half(0)});
    arithmetic(Id::kIdVpermps, 4, {vec(high, 32), vec(index, 32), half(1)});
    Reg choice;               // its sign is bit 3 of the index
    if (index == from.reg) {  // a node, so that all tables of one index share it
        kept_.push_back(kernel_.binary(Op::Shl, node.sources[0], kernel_.constant(DType::U32, 28)));
        choice = vector_value(*kept_.back()).reg;
    } else put(Id::kIdVpslld, {vec(choice = vec_reg(32), 32), vec(index, 32), imm(28)});
    put(Id::kIdVblendvps, {vec(result.reg, 32), vec(low, 32), vec(high, 32), vec(choice, 32)});
    return result;
}

// max(a, b) = a > b or a is NaN ? a : b. "Not less or equal" says that of any b but a NaN.
Value Emitter::float_limit(const Node& node, const Value& a) {
    const int lane = static_cast<int>(size_of(node.dtype)), bytes = width(a);
    const Value b = operand(node, 1);
    const int wins = node.op == Op::Max ? kNotLessOrEqual : kNotGreaterOrEqual;
    const Node& limit = node.source(1);
    const bool never_nan =
        is_constant(limit) && !std::isnan(word_to_double(node.dtype, limit.as<ir::ConstArg>().value));
    const auto reg = [&](const Value& v) { return vec(v.reg, bytes); };
    const Value result = like(a, vec_reg(bytes));
    // The machine's own instruction passes a NaN on if it is the second operand, but it flushes subnormals, and so do
    // arithmetic and comparisons: where only those use the result, that cannot be seen.
    if (never_nan && word_to_double(node.dtype, limit.as<ir::ConstArg>().value) != 0 && !seen_raw_.contains(&node)) {
        put((node.op == Op::Max ? kMaxF : kMinF)(lane), {reg(result), reg(b), reg(a)});
        return result;
    }
    if (wide_) {
        const Reg k = mask_reg();
        if (!never_nan) {
            const Reg ordered = mask_reg();
            put(kCmpF(lane), {mask(ordered), reg(b), reg(b), imm(kOrdered)});
            Ins& ins = put(kCmpF(lane), {mask(k), reg(a), reg(b), imm(wins)});
            ins.lanes = ordered;
            ins.blends = true;
        } else arithmetic(kCmpF(lane), lane, {mask(k), reg(a), reg(b), imm(wins)});
        Ins& blend = put(kBlendMask(lane), {reg(result), reg(b), reg(a)});
        blend.lanes = k;
        blend.blends = true;
        return result;
    }
    const Reg m = vec_reg(bytes);
    put(kCmpF(lane), {vec(m, bytes), reg(a), reg(b), imm(wins)});
    if (!never_nan) {
        const Reg ordered = vec_reg(bytes), both = vec_reg(bytes);
        put(kCmpF(lane), {vec(ordered, bytes), reg(b), reg(b), imm(kOrdered)});
        put(Id::kIdVpand, {vec(both, bytes), vec(m, bytes), vec(ordered, bytes)});
        put(kBlendVector(lane), {reg(result), reg(b), reg(a), vec(both, bytes)});
    } else put(kBlendVector(lane), {reg(result), reg(b), reg(a), vec(m, bytes)});
    return result;
}

// ---- integers --------------------------------------------------------------------------------------------------------

// Is this a bit op of which nothing else needs the result?
bool Emitter::only_here(const Node& node) {
    const auto uses = expanded_.uses.find(&node);
    return is_bit_op(node.op) && !rotation(node) && uses != expanded_.uses.end() && uses->second == 1 &&
           facts(node).lane >= 0 && level_of(node) == level() && !known_.find(KnownValues::kOwn, node);
}

// outer(x, inner(y, z)) is one instruction, whose immediate is its truth table: bit 4 x + 2 y + z.
Value Emitter::three_bits(const Node& node, int inner) {
    const int lane = lane_bytes(node), bytes = width(lane);
    const Node &within = node.source(inner), &other = node.source(1 - inner);
    const Value y = vector_value(within.source(0)), z = vector_value(within.source(1)), x = vector_value(other);
    const auto apply = [](Op op, unsigned a, unsigned b) {
        return op == Op::And ? a & b : op == Op::Or ? a | b : a ^ b;
    };
    const unsigned table = apply(node.op, 0b11110000, apply(within.op, 0b11001100, 0b10101010));
    const Value result = consumed(other, x) ? x : copy(x);
    arithmetic(lane == 4 ? Id::kIdVpternlogd : Id::kIdVpternlogq, lane,
               {vec(result.reg, bytes), vec(y.reg, bytes), vec(z.reg, bytes), imm(table)})
        .reads_first = true;
    return result;
}

Value Emitter::vector_int(const Node& node) {
    const DType t = node.dtype;
    if (node.op == Op::IDiv || node.op == Op::Mod) return vector_division(node);
    if (node.op == Op::Pow) return helper_op(node);
    const int lane = lane_bytes(node), bytes = width(lane);
    if (const int by = rotation(node); wide_ && by && size_of(t) == static_cast<std::size_t>(lane)) {
        const Value a = vector_value(node.source(0).source(0)), result = new_vector(lane);
        put(lane == 4 ? Id::kIdVprold : Id::kIdVprolq, {vec(result.reg, bytes), vec(a.reg, bytes), imm(by)});
        return result;
    }
    if (wide_ && is_bit_op(node.op))
        for (const int inner : {0, 1})
            if (only_here(node.source(inner))) return three_bits(node, inner);
    const Value a = vector_value(node.source(0));
    const bool is_unsigned_type = is_unsigned(t);
    const auto reg = [&](const Value& v) { return vec(v.reg, bytes); };
    const auto binary = [&](std::uint32_t id, bool broadcasts = true) {
        const Value b = vector_value(node.source(1)), result = new_vector(lane);
        arithmetic(id, broadcasts ? lane : 0, {reg(result), reg(a), reg(b)});
        return result;
    };
    switch (node.op) {
        case Op::Add: return wrapped(binary(kAdd(lane)), t);
        case Op::Sub: return wrapped(binary(kSub(lane)), t);
        case Op::And:
        case Op::Or:
        case Op::Xor: return binary(bits_id(node.op), lane == 4);
        case Op::Mul:
            if (lane == 4 || wide_) return wrapped(binary(kMul(lane)), t);
            return long_product(a, vector_value(node.source(1)));
        case Op::Max:
        case Op::Min: {
            const bool max = node.op == Op::Max;
            if (lane == 4 || wide_)
                return binary(is_unsigned_type ? (max ? kMaxU : kMinU)(lane) : (max ? kMaxS : kMinS)(lane));
            const Value b = vector_value(node.source(1));
            return select(max ? compare_lanes(kLt, b, a, t) : compare_lanes(kLt, a, b, t), a, b);
        }
        case Op::Neg: {
            const Value result = new_vector(lane);
            put(kSub(lane), {reg(result), reg(constant_like(a, t, 0)), reg(a)});
            return wrapped(result, t);
        }
        case Op::Abs: {
            if (is_unsigned_type) return copy(a);
            if (lane == 8) return long_abs(a);
            const Value result = new_vector(lane);
            put(kAbs(lane), {reg(result), reg(a)});
            return wrapped(result, t);
        }
        case Op::Trunc: return copy(a);
        case Op::Shl:
        case Op::Shr: {
            const bool left = node.op == Op::Shl, sar = !left && !is_unsigned_type;
            const Node& by = node.source(1);
            const bool known = is_constant(by) && by.as<ir::ConstArg>().value < 8 * size_of(t);
            if (lane == 8 && sar && !wide_) {
                const Operand amount =
                    known ? imm(static_cast<std::int64_t>(by.as<ir::ConstArg>().value)) : reg(vector_value(by));
                return long_shift(a, amount);
            }
            if (known) {
                const Value result = new_vector(lane);
                put((left  ? kShlImm
                     : sar ? kSarImm
                           : kShrImm)(lane),
                    {reg(result), reg(a), imm(static_cast<std::int64_t>(by.as<ir::ConstArg>().value))});
                return left ? wrapped(result, t) : result;
            }
            // An amount that is too large, or negative, shifts everything out: as these instructions do.
            if (t == DType::I64 && lane == 4) throw TooWide();
            return left ? wrapped(binary(kShl(lane)), t) : binary((sar ? kSar : kShr)(lane));
        }
        default: return helper_op(node);
    }
}

// By a positive constant. The quotient of floats is exact enough to floor while the dividend has no more bits than a mantissa.
// In floats where |a| and |b| are below 2^24 (2^52): the rounded ratio differs from the exact one by less than 1 / |b|, and so lies between
// the same whole numbers.
Value Emitter::vector_division(const Node& node) {
    const DType t = node.dtype;
    const Node& by = node.source(1);
    const int lane = lane_bytes(node), bytes = width(lane);
    const auto divisor = is_constant(by) ? static_cast<std::int64_t>(by.as<ir::ConstArg>().value) : 0;
    const bool division = node.op == Op::IDiv;
    const auto reg = [&](const Value& v) { return vec(v.reg, bytes); };
    if (divisor > 0 && std::has_single_bit(static_cast<std::uint64_t>(divisor))) {
        const Value a = vector_value(node.source(0)), result = new_vector(lane);
        if (division && lane == 8 && !is_unsigned(t) && !wide_)
            return long_shift(a, imm(std::countr_zero(static_cast<Word>(divisor))));
        if (division)
            put((is_unsigned(t) ? kShrImm : kSarImm)(lane),
                {reg(result), reg(a), imm(std::countr_zero(static_cast<Word>(divisor)))});
        else put(bits_id(Op::And), {reg(result), reg(a), reg(constant_like(a, t, static_cast<Word>(divisor - 1)))});
        return result;
    }
    const std::int64_t exact = lane == 4 ? std::int64_t(1) << 24 : std::int64_t(1) << 52;
    ir::Bounds bounds{INT64_MIN, INT64_MAX};
    if (t == DType::I64) bounds = ir::bounds(node.sources[0]);
    const bool small = size_of(t)<4, known = divisor> 0 && divisor < exact;
    const bool in_floats = small || (known && bounds.low > -exact && bounds.high < exact);
    if (!in_floats && lane == 8 && t != DType::I64) return helper_op(node);
    const Value a = vector_value(node.source(0)), b = vector_value(by);
    if (!in_floats && lane == 8) return long_division(a, b, division);
    Value quotient;
    if (in_floats) {
        const auto to_floats = [&](const Value& v) {
            if (lane == 8) return longs_to_doubles(v, false);
            const Value x = new_vector(4);
            put(Id::kIdVcvtdq2ps, {reg(x), reg(v)});
            return x;
        };
        const Word by_float = lane == 4 ? to_word(static_cast<float>(divisor)) : to_word(static_cast<double>(divisor));
        const Value x = to_floats(a), y = known ? constant_like(a, t, by_float) : to_floats(b);
        const Value ratio = new_vector(lane), low = new_vector(lane);
        put(kDivF(lane), {reg(ratio), reg(x), reg(y)});
        put((wide_ ? kScaleF : kRoundF)(lane), {reg(low), reg(ratio), imm(kFloor)});
        if (lane == 8) quotient = doubles_to_longs(low, false);
        else put(Id::kIdVcvttps2dq, {reg(quotient = new_vector(4)), reg(low)});
    } else quotient = quotient_in_doubles(a, b, t == DType::U32);
    Value result = quotient;
    if (!division) {
        Value product = new_vector(lane);
        result = new_vector(lane);
        if (lane == 8) product = long_product(quotient, b);
        else put(kMul(lane), {reg(product), reg(quotient), reg(b)});
        put(kSub(lane), {reg(result), reg(a), reg(product)});
    }
    if (!known) result = select(compare_lanes(kEq, b, constant_like(b, t, 0), t), constant_like(b, t, 0), result);
    return wrapped(result, t);
}

// ---- masks -----------------------------------------------------------------------------------------------------------

Value Emitter::mask_op(const Node& node) {
    const auto of = [&](int i) { return vector_value(node.source(i)); };
    const Value a = of(0), b = of(1);
    switch (node.op) {
        case Op::And:
        case Op::Min: return combine(Op::And, a, b);
        case Op::Or:
        case Op::Max: return combine(Op::Or, a, b);
        case Op::Xor: return combine(Op::Xor, a, b);
        case Op::CmpLt: return combine(Op::And, invert(a), b);
        case Op::CmpLe: return combine(Op::Or, invert(a), b);
        case Op::CmpEq: return invert(combine(Op::Xor, a, b));
        case Op::Where: return combine(Op::Or, combine(Op::And, a, b), combine(Op::And, invert(a), of(2)));
        default: return helper_op(node);
    }
}

}  // namespace weft::backend::x86
