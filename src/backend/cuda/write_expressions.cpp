// backend/cuda/write_expressions.cpp: expressions as instructions. Results are those of the op table (ir/op_table.cpp), bit for bit:
// every rounding is spelled out (.rn), and a multiply-add is fused only where the expression says so.
#include "backend/cuda/types.h"
#include "backend/cuda/writer.h"
#include "core/str.h"
#include "ir/symbolic.h"

#include <weft/error.h>

#include <algorithm>
#include <cmath>

namespace weft::backend::cuda {

using ir::Op;

Value Writer::value(const Node& node) {
    switch (node.op) {
        case Op::Const: {
            const Word word = node.as<ir::ConstArg>().value;
            if (is_bool(node.dtype)) break;
            const auto number = static_cast<std::int64_t>(word);
            return {literal(node.dtype, word), node.dtype == DType::I64 && number >= INT32_MIN && number <= INT32_MAX};
        }
        case Op::ScalarParam: return {str("%s", node.as<ir::SlotArg>().slot)};
        case Op::LoopVar: return vars_.at(node.as<ir::LoopArg>().id);
        case Op::Load: {
            const int b = node.as<ir::LoadArg>().buffer;
            if (homes_[static_cast<std::size_t>(b)].space == Space::Registers && node.sources.size() == 1)
                return {variable(b, static_cast<std::int64_t>(node.source().as<ir::ConstArg>().value))};
            break;
        }
        default: break;
    }
    if (const Value* const known = find_value(scopes_, node)) return *known;
    const int level = placement_.level_of(node);
    const Value result = compute(node, level);
    scopes_[static_cast<std::size_t>(level)].values.emplace(&node, result);
    return result;
}

Value Writer::compute(const Node& node, int level) {
    switch (node.op) {
        case Op::Const: return {op("p", level, "mov.pred", std::string(node.as<ir::ConstArg>().value ? "1" : "0"))};
        case Op::Load: return load(node, level);
        case Op::Cast: return cast(node, level);
        case Op::Bitcast: return bitcast(node, level);
        case Op::Check: return check(node, level);
        case Op::Lookup: return lookup(node, level);
        case Op::Where: return select(node, level);
        default: return arithmetic(node, level);
    }
}

bool Writer::fits(const NodeRef& index) {
    if (index->dtype != DType::I64) return false;
    if (const auto found = fits_.find(index.get()); found != fits_.end()) return found->second;
    const ir::Bounds bounds = ir::bounds(index);
    return fits_[index.get()] = bounds.low >= INT32_MIN && bounds.high <= INT32_MAX;
}

std::string Writer::wide(const Value& value, int level) {
    if (!value.narrow || value.text[0] != '%') return value.text;
    return op("l", level, "cvt.s64.s32", value.text);
}

std::string Writer::cut(const Value& value, int level) {
    return value.narrow ? value.text : op("r", level, "cvt.u32.u64", as_register(value.text, "l", level));
}

std::string Writer::operand(const Node& node, int level) { return wide(value(node), level); }

std::string Writer::as_register(const std::string& text, std::string_view kind, int level) {
    if (text[0] == '%') return text;
    return op(kind, level,
              kind == "f"   ? "mov.f32"
              : kind == "d" ? "mov.f64"
              : kind == "l" ? "mov.b64"
              : kind == "h" ? "mov.b16"
                            : "mov.b32",
              text);
}

std::string Writer::in_bits(DType t, const std::string& value, int level) {
    switch (t) {
        case DType::I8: return op("r", level, "bfe.s32", value, std::string("0, 8"));
        case DType::I16: return op("r", level, "bfe.s32", value, std::string("0, 16"));
        case DType::U8: return op("r", level, "and.b32", value, std::string("255"));
        case DType::U16: return op("r", level, "and.b32", value, std::string("65535"));
        default: return value;
    }
}

// ---- arithmetic ------------------------------------------------------------------------------------------------------

Value Writer::arithmetic(const Node& node, int level) {
    const DType t = node.sources.back()->dtype;
    std::vector<Value> values;
    for (const NodeRef& source : node.sources) values.push_back(value(*source));
    const bool all_fit = std::ranges::all_of(node.sources, [&](const NodeRef& source) { return fits(source); });
    const bool to_bool = is_bool(node.dtype);
    const bool index = t == DType::I64 && all_fit && node.op != Op::Shl && node.op != Op::Shr && node.op != Op::Pow &&
                       node.op != Op::Gcd;
    const bool narrow = index && (to_bool || fits(NodeRef(&node)));
    std::vector<std::string> in;
    for (const Value& v : values) in.push_back(narrow ? cut(v, level) : wide(v, level));
    if (is_bool(t)) return bool_op(node, in, level);
    if (is_float(t)) return float_op(node, in, level);
    Value result = int_op(node, in, narrow ? DType::I32 : t, level);
    result.narrow = narrow && !to_bool;
    return result;
}

Value Writer::compare(std::string_view how, DType t, const std::string& a, const std::string& b, int level) {
    const std::string type = t == DType::F32 ? str(ftz_, ".f32") : str(".", is_float(t) ? "f64" : int_type(t));
    return {op("p", level, str("setp.", how, type), as_register(a, kind_of(t), level), b)};
}

Value Writer::bool_op(const Node& node, const std::vector<std::string>& in, int level) {
    const auto inverted = [&](const std::string& p) { return op("p", level, "not.pred", p); };
    switch (node.op) {
        case Op::And:
        case Op::Mul:
        case Op::Min: return {op("p", level, "and.pred", in[0], in[1])};
        case Op::Or:
        case Op::Max: return {op("p", level, "or.pred", in[0], in[1])};
        case Op::Xor: return {op("p", level, "xor.pred", in[0], in[1])};
        case Op::CmpLt: return {op("p", level, "and.pred", inverted(in[0]), in[1])};
        case Op::CmpLe: return {op("p", level, "or.pred", inverted(in[0]), in[1])};
        case Op::CmpEq: return {inverted(op("p", level, "xor.pred", in[0], in[1]))};
        default: throw InternalError(str("PTX has no ", ir::name_of(node.op), " of bools"));
    }
}

Value Writer::float_op(const Node& node, const std::vector<std::string>& in, int level) {
    const DType t = node.sources.back()->dtype;
    const std::string_view kind = kind_of(t);
    const std::string type = t == DType::F32 ? str(ftz_, ".f32") : ".f64", plain = t == DType::F32 ? ".f32" : ".f64";
    const auto two = [&](std::string_view name) {
        return Value{op(kind, level, str(name, ".rn", type), in[0], in[1])};
    };
    switch (node.op) {
        case Op::Neg: return {op(kind, level, "neg" + plain, in[0])};
        case Op::Abs: return {op(kind, level, "abs" + plain, in[0])};
        case Op::Recip: return {op(kind, level, str("rcp.rn", type), in[0])};
        case Op::Sqrt: return {op(kind, level, str("sqrt.rn", type), in[0])};
        case Op::Trunc: return {op(kind, level, str("cvt.rzi", type, plain), in[0])};
        case Op::Add: return two("add");
        case Op::Sub: return two("sub");
        case Op::Mul: return two("mul");
        case Op::Div: return two("div");
        case Op::Fma: return {op(kind, level, str("fma.rn", type), in[0], in[1], in[2])};
        case Op::Max:
        case Op::Min: return limit(node, in, level);
        case Op::CmpLt: return compare("lt", t, in[0], in[1], level);
        case Op::CmpLe: return compare("le", t, in[0], in[1], level);
        case Op::CmpEq: return compare("eq", t, in[0], in[1], level);
        case Op::Scale: return scale(node, in, level);
        case Op::RoundTf32:
            if (t == DType::F64) return {in[0]};
            return {op("f", level, "mov.b32", op("r", level, "cvt.rna.tf32.f32", as_register(in[0], "f", level)))};
        case Op::Mod: return remainder(node, in, level);
        default: throw InternalError(str("PTX has no ", ir::name_of(node.op), " of floats"));
    }
}

// A NaN wins, equal operands give the second: max.NaN would give +0 for zeros of two signs.
Value Writer::limit(const Node& node, const std::vector<std::string>& in, int level) {
    const DType t = node.dtype;
    const std::string_view kind = kind_of(t);
    const std::string a = as_register(in[0], kind, level);
    const std::string wins = compare(node.op == Op::Max ? "gt" : "lt", t, a, in[1], level).text;
    const std::string either = op("p", level, str("setp.nan.or", t == DType::F32 ? ".f32" : ".f64"), a, a, wins);
    return {op(kind, level, str("selp", t == DType::F32 ? ".f32" : ".f64"), a, in[1], either)};
}

// a * 2^floor(b), in two steps: each power is a float.
Value Writer::scale(const Node& node, const std::vector<std::string>& in, int level) {
    const bool is_double = node.dtype == DType::F64;
    const std::string_view kind = kind_of(node.dtype);
    const std::string b = as_register(in[1], kind, level);
    const std::string whole = op("r", level, is_double ? "cvt.rmi.s32.f64" : str("cvt.rmi", ftz_, ".s32.f32"), b);
    const std::string half = op("r", level, "shr.s32", whole, std::string("1"));
    const std::string other = op("r", level, "sub.s32", whole, half);
    const auto power = [&](const std::string& e) {
        const std::string biased = op("r", level, "add.s32", e, std::string(is_double ? "1023" : "127"));
        if (!is_double) return op("f", level, "mov.b32", op("r", level, "shl.b32", biased, std::string("23")));
        const std::string high = op("r", level, "shl.b32", biased, std::string("20"));
        const std::string result = fresh("d");
        line(level, str("mov.b64 ", result, ", {", as_register("0", "r", level), ", ", high, "}"));
        return result;
    };
    const std::string mul = is_double ? "mul.rn.f64" : str("mul.rn", ftz_, ".f32");
    const std::string scaled = op(kind, level, mul, op(kind, level, mul, in[0], power(half)), power(other));
    const std::string nan = op("p", level, is_double ? "setp.nan.f64" : "setp.nan.f32", b, b);
    return {op(kind, level, is_double ? "selp.f64" : "selp.f32", b, scaled, nan)};
}

// Of f64 that are not negative: kernel/math_mod.cpp asks for nothing else. By multiples of the divisor, 2^(52 n) of it, the largest one first:
// each quotient is below 2^53, so that a fused multiply-add takes it off without an error; trunc may be 1 too large.
Value Writer::remainder(const Node& node, const std::vector<std::string>& in, int level) {
    if (node.dtype != DType::F64) throw InternalError("PTX has a remainder of f64 only");
    const auto number = [](double x) { return literal(DType::F64, to_word(x)); };
    const std::string x = as_register(in[0], "d", level), y = as_register(in[1], "d", level);
    const std::string left = op("d", level, "mov.f64", x), by = op("d", level, "mov.f64", y);
    const std::string steps = op("r", level, "mov.b32", std::string("0"));
    const std::string next = fresh("d"), more = fresh("p"), up = label(), last = label(), down = label();
    const auto mark = [&](const std::string& name) { scopes_[static_cast<std::size_t>(level)].text += name + ":\n"; };
    mark(up);
    line(level, str("mul.rn.f64 ", next, ", ", by, ", ", number(0x1p52)));
    line(level, str("setp.le.f64 ", more, ", ", next, ", ", left));
    line(level, str("setp.lt.and.f64 ", more, ", ", next, ", ", number(HUGE_VAL), ", ", more));
    line(level, str("setp.gt.and.f64 ", more, ", ", next, ", ", by, ", ", more));  // not for 0
    line(level, str("@!", more, " bra ", down));
    line(level, str("mov.f64 ", by, ", ", next));
    line(level, str("add.s32 ", steps, ", ", steps, ", 1"));
    line(level, str("bra ", up));
    mark(last);
    line(level, str("mul.rn.f64 ", by, ", ", by, ", ", number(0x1p-52)));
    line(level, str("sub.s32 ", steps, ", ", steps, ", 1"));
    mark(down);
    const std::string quotient = op("d", level, "div.rn.f64", left, by);
    const std::string whole = op("d", level, "cvt.rzi.f64.f64", quotient);
    const std::string remaining = op("d", level, "fma.rn.f64", whole, op("d", level, "neg.f64", by), left);
    const std::string less = op("d", level, "add.rn.f64", remaining, by);
    line(level, str("selp.f64 ", left, ", ", less, ", ", remaining, ", ",
                    op("p", level, "setp.lt.f64", remaining, literal(DType::F64, 0))));
    line(level, str("setp.ne.s32 ", more, ", ", steps, ", 0"));
    line(level, str("@", more, " bra ", last));
    const std::string finite = op("p", level, "setp.lt.f64", x, number(HUGE_VAL));
    const std::string by_infinity = op("p", level, "setp.eq.and.f64", y, number(HUGE_VAL), finite);
    return {op("d", level, "selp.f64", x, left, by_infinity)};
}

Value Writer::int_op(const Node& node, const std::vector<std::string>& in, DType t, int level) {
    const std::string_view kind = kind_of(t), type = int_type(t);
    const auto result = [&](std::string_view instruction) {
        return Value{in_bits(t, op(kind, level, instruction, in[0], in[1]), level)};
    };
    switch (node.op) {
        case Op::Neg: return {in_bits(t, op(kind, level, size_of(t) == 8 ? "neg.s64" : "neg.s32", in[0]), level)};
        case Op::Abs:
            if (is_unsigned(t)) return {in[0]};
            return {in_bits(t, op(kind, level, str("abs.", type), in[0]), level)};
        case Op::Trunc: return {in[0]};
        case Op::Add: return result(str("add.", type));
        case Op::Sub: return result(str("sub.", type));
        case Op::Mul: return result(str("mul.lo.", type));
        case Op::And: return result(str("and.", bits_type(t)));
        case Op::Or: return result(str("or.", bits_type(t)));
        case Op::Xor: return result(str("xor.", bits_type(t)));
        case Op::Max: return result(str("max.", type));
        case Op::Min: return result(str("min.", type));
        case Op::CmpLt: return compare("lt", t, in[0], in[1], level);
        case Op::CmpLe: return compare("le", t, in[0], in[1], level);
        case Op::CmpEq: return compare("eq", t, in[0], in[1], level);
        case Op::IDiv:
        case Op::Mod: return divide(node, in, t, level);
        case Op::Shl:
        case Op::Shr: return shift(node, in, level);
        case Op::Pow: return power(node, in, level);
        case Op::Gcd: return greatest_divisor(node, in, level);
        default: throw InternalError(str("PTX has no ", ir::name_of(node.op), " of integers"));
    }
}

// Floors; by zero gives zero. Most are of an index, which is not negative, by a constant.
Value Writer::divide(const Node& node, const std::vector<std::string>& in, DType t, int level) {
    const std::string_view kind = kind_of(t), type = int_type(t);
    const std::string bits = str("b", size_of(t) == 8 ? 64 : 32), zero = "0";
    const bool quotient = node.op == Op::IDiv;
    const auto p = [&](std::string_view how, const std::string& a, std::string_view b) {
        return op("p", level, str("setp.", how, ".", type), as_register(a, kind, level), std::string(b));
    };
    const bool by_constant =
        node.source(1).op == Op::Const && static_cast<std::int64_t>(node.source(1).as<ir::ConstArg>().value) > 0;
    if (by_constant && (is_unsigned(t) || (node.dtype == DType::I64 && ir::bounds(node.sources[0]).low >= 0)))
        return {op(kind, level, str(quotient ? "div.u" : "rem.u", size_of(t) == 8 ? "64" : "32"), in[0], in[1])};
    const std::string a = as_register(in[0], kind, level), b = as_register(in[1], kind, level);
    const std::string none = p("eq", b, "0");
    if (is_unsigned(t)) {
        const std::string by = op(kind, level, "selp." + bits, std::string("1"), b, none);
        const std::string out = op(kind, level, str(quotient ? "div." : "rem.", type), a, by);
        return {op(kind, level, "selp." + bits, zero, out, none)};
    }
    // By -1 the quotient may overflow: it is the negated value, and the remainder zero.
    const std::string minus = p("eq", b, "-1"), special = op("p", level, "or.pred", none, minus);
    const std::string by = op(kind, level, "selp." + bits, std::string("1"), b, special);
    const std::string q = op(kind, level, str("div.", type), a, by);
    const std::string r = op(kind, level, str("sub.", type), a, op(kind, level, str("mul.lo.", type), q, by));
    const std::string inexact = p("ne", r, "0");
    const std::string signs = op("p", level, "xor.pred", p("lt", r, "0"), p("lt", by, "0"));
    const std::string down = op("p", level, "and.pred", inexact, signs);
    if (quotient) {
        const std::string less = op(kind, level, str("sub.", type), q, std::string("1"));
        const std::string floored = op(kind, level, "selp." + bits, less, q, down);
        const std::string negated = op(kind, level, size_of(t) == 8 ? "neg.s64" : "neg.s32", a);
        const std::string chosen = op(kind, level, "selp." + bits, negated, floored, minus);
        return {in_bits(t, op(kind, level, "selp." + bits, zero, chosen, none), level)};
    }
    const std::string moved = op(kind, level, str("add.", type), r, by);
    const std::string floored = op(kind, level, "selp." + bits, moved, r, down);
    return {op(kind, level, "selp." + bits, zero, floored, special)};
}

// The machine's shifts go to the end of the register where the amount is too large, taken as an unsigned number; so do ours.
Value Writer::shift(const Node& node, const std::vector<std::string>& in, int level) {
    const DType t = node.dtype;
    const std::string_view kind = kind_of(t);
    std::string by = in[1];
    if (size_of(t) == 8) {
        const std::string most = op("l", level, "min.u64", as_register(by, "l", level), std::string("64"));
        by = op("r", level, "cvt.u32.u64", most);
    }
    if (node.op == Op::Shl) return {in_bits(t, op(kind, level, str("shl.", bits_type(t)), in[0], by), level)};
    return {op(kind, level, str("shr.", int_type(t)), in[0], by)};
}

Value Writer::power(const Node& node, const std::vector<std::string>& in, int level) {
    const DType t = node.dtype;
    const auto as_long = [&](const std::string& text) {
        if (size_of(t) == 8) return as_register(text, "l", level);
        return op("l", level, is_signed_int(t) ? "cvt.s64.s32" : "cvt.u64.u32", as_register(text, "r", level));
    };
    const std::string a = as_long(in[0]), b = as_long(in[1]);
    const std::string result = op("l", level, "mov.b64", std::string("1")), base = op("l", level, "mov.b64", a),
                      left = op("l", level, "mov.b64", b), bit = fresh("l"), odd = fresh("p"), done = fresh("p");
    const std::string head = label(), end = label();
    if (is_signed_int(t)) {  // a negative exponent takes no steps
        const std::string none = op("p", level, "setp.lt.s64", b, std::string("0"));
        line(level, str("selp.b64 ", left, ", 0, ", left, ", ", none));
    }
    scopes_[static_cast<std::size_t>(level)].text += head + ":\n";
    line(level, str("setp.eq.u64 ", done, ", ", left, ", 0"));
    line(level, str("@", done, " bra ", end));
    line(level, str("and.b64 ", bit, ", ", left, ", 1"));
    line(level, str("setp.ne.u64 ", odd, ", ", bit, ", 0"));
    line(level, str("@", odd, " mul.lo.u64 ", result, ", ", result, ", ", base));
    line(level, str("mul.lo.u64 ", base, ", ", base, ", ", base));
    line(level, str("shr.u64 ", left, ", ", left, ", 1"));
    line(level, str("bra ", head));
    scopes_[static_cast<std::size_t>(level)].text += end + ":\n";
    std::string power = result;
    if (is_signed_int(t)) {  // 1 / a, floored to an integer
        const auto p = [&](const std::string& x, std::string_view y) {
            return op("p", level, "setp.eq.s64", x, std::string(y));
        };
        const std::string is_odd = p(op("l", level, "and.b64", b, std::string("1")), "1");
        const std::string sign = op("l", level, "selp.b64", std::string("-1"), std::string("1"), is_odd);
        const std::string zero = op("l", level, "selp.b64", sign, std::string("0"), p(a, "-1"));
        const std::string one = op("l", level, "selp.b64", std::string("1"), zero, p(a, "1"));
        power = op("l", level, "selp.b64", one, result, op("p", level, "setp.lt.s64", b, std::string("0")));
    }
    if (size_of(t) == 8) return {power};
    return {in_bits(t, op("r", level, "cvt.u32.u64", power), level)};
}

Value Writer::greatest_divisor(const Node& node, const std::vector<std::string>& in, int level) {
    const DType t = node.dtype;
    const auto magnitude = [&](const std::string& text) {
        std::string x = as_register(text, kind_of(t), level);
        if (is_signed_int(t)) x = in_bits(t, op(kind_of(t), level, str("abs.", int_type(t)), x), level);
        if (size_of(t) == 8) return op("l", level, "mov.b64", x);
        // The magnitude of the lowest integer wraps: it is itself, as an unsigned number of its own width.
        const std::string unsigned_x =
            size_of(t) == 4 ? x : op("r", level, "and.b32", x, str((1 << 8 * size_of(t)) - 1));
        return op("l", level, "cvt.u64.u32", unsigned_x);
    };
    const std::string x = magnitude(in[0]), y = magnitude(in[1]), r = fresh("l"), done = fresh("p");
    const std::string head = label(), end = label();
    scopes_[static_cast<std::size_t>(level)].text += head + ":\n";
    line(level, str("setp.eq.u64 ", done, ", ", y, ", 0"));
    line(level, str("@", done, " bra ", end));
    line(level, str("rem.u64 ", r, ", ", x, ", ", y));
    line(level, str("mov.b64 ", x, ", ", y));
    line(level, str("mov.b64 ", y, ", ", r));
    line(level, str("bra ", head));
    scopes_[static_cast<std::size_t>(level)].text += end + ":\n";
    if (size_of(t) == 8) return {x};
    return {in_bits(t, op("r", level, "cvt.u32.u64", x), level)};
}

// ---- others ----------------------------------------------------------------------------------------------------------

Value Writer::select(const Node& node, int level) {
    const std::string condition = value(node.source(0)).text;
    const DType t = node.dtype;
    if (is_bool(t)) {
        const std::string a = value(node.source(1)).text, b = value(node.source(2)).text;
        const std::string yes = op("p", level, "and.pred", condition, a);
        const std::string no = op("p", level, "and.pred", op("p", level, "not.pred", condition), b);
        return {op("p", level, "or.pred", yes, no)};
    }
    const Value a = value(node.source(1)), b = value(node.source(2));
    if (t == DType::I64 && fits(node.sources[1]) && fits(node.sources[2]))
        return {op("r", level, "selp.b32", cut(a, level), cut(b, level), condition), true};
    return {op(kind_of(t), level, str("selp.", register_type(t)), wide(a, level), wide(b, level), condition)};
}

Value Writer::lookup(const Node& node, int level) {
    const float* const entries = node.as<ir::TableArg>().entries;
    auto used = std::ranges::find(tables_, entries);
    if (used == tables_.end()) used = tables_.insert(used, entries);
    const std::int64_t offset = (used - tables_.begin()) * kTableBytes;
    const std::string at = op("r", level, "and.b32", operand(node.source(), level), str(ir::kTableSize - 1));
    const std::string where = op("r", level, "mad.lo.u32", at, std::string("4"), std::string("%tables"));
    return {op("f", level, "ld.shared.f32", str("[", where, "+", offset, "]"))};
}

// The first failure of all threads is kept: its code, with the launch's tag, and the value. Threads go on with a value that is in range.
Value Writer::check(const Node& node, int level) {
    const auto& arg = node.as<ir::CheckArg>();
    const auto listed = std::ranges::find_if(kernel_.checks, [&](const ir::CheckArg& c) { return ir::equal(c, arg); });
    if (listed == kernel_.checks.end())
        throw InternalError(str("kernel ", kernel_.name, " does not list the check ", arg.what));
    const DType t = node.dtype;
    const std::string given = as_register(operand(node.source(), level), kind_of(t), level);
    const std::string checked =
        size_of(t) == 8 ? given : op("l", level, is_signed_int(t) ? "cvt.s64.s32" : "cvt.u64.u32", given);
    const std::string low = literal(DType::I64, static_cast<Word>(arg.low)),
                      high = literal(DType::I64, static_cast<Word>(arg.high));
    const std::string below = op("p", level, "setp.lt.s64", checked, low);
    const std::string wrong = op("p", level, "setp.ge.or.s64", checked, high, below);
    const std::string fine = op("p", level, "not.pred", wrong), end = label();
    line(level, str("@", fine, " bra ", end));
    const std::string code = op("l", level, "add.u64", std::string("%tag"), str(listed - kernel_.checks.begin() + 1));
    const std::string before = op("l", level, "atom.global.cas.b64", std::string("[%check]"), std::string("0"), code);
    const std::string first = op("p", level, "setp.eq.u64", before, std::string("0"));
    line(level, str("@", first, " st.global.b64 [%check+8], ", checked));
    scopes_[static_cast<std::size_t>(level)].text += end + ":\n";
    return {op(kind_of(t), level, str("selp.", bits_type(t)), low, given, wrong)};
}

}  // namespace weft::backend::cuda
