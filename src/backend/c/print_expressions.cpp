// backend/c/print_expressions.cpp: expressions as C text: where each is printed, and how each op is spelt for scalars
// and lanes.
#include "backend/c/printer.h"
#include "core/str.h"
#include "ir/symbolic.h"

#include <weft/error.h>

#include <algorithm>

namespace weft::backend::c {

using ir::Op;

namespace {

constexpr std::size_t kLongestInline = 64;  // longer texts get a name of their own

std::string spell(std::string_view pattern, const std::vector<std::string>& operands) {
    std::string text;
    for (std::size_t i = 0; i < pattern.size(); ++i) {
        if (pattern[i] == '$') text += operands[static_cast<std::size_t>(pattern[++i] - '0')];
        else text += pattern[i];
    }
    return text;
}

std::string call(const std::string& function, const std::vector<std::string>& operands) {
    std::string text = function + "(";
    for (std::size_t i = 0; i < operands.size(); ++i) text += (i ? ", " : "") + without_parentheses(operands[i]);
    return text + ")";
}

bool is_constant(const ir::Node& node) { return node.op == Op::Const; }

// x / c and x % c of C floor as ours do where x is never negative; that is most index arithmetic.
bool divides_plainly(const ir::Node& node) {
    if ((node.op != Op::IDiv && node.op != Op::Mod) || node.dtype != DType::I64 || !is_constant(node.source(1)))
        return false;
    return static_cast<std::int64_t>(node.source(1).as<ir::ConstArg>().value) > 0 &&
           ir::bounds(node.sources[0]).low >= 0;
}

bool shifts_plainly(const ir::Node& node) {
    if ((node.op != Op::Shl && node.op != Op::Shr) || !is_constant(node.source(1))) return false;
    return node.source(1).as<ir::ConstArg>().value < 8 * size_of(node.dtype);
}

// Max or Min of floats with a constant, which a range reduction has many of.
bool is_limit(const ir::Node& node) {
    if ((node.op != Op::Max && node.op != Op::Min) || !is_float(node.dtype) || !is_constant(node.source(1)))
        return false;
    const double limit = word_to_double(node.dtype, node.source(1).as<ir::ConstArg>().value);
    return limit == limit;
}

// The operator for an op, if C's own does exactly what the op table says.
std::string operator_of(const ir::Node& node) {
    if (divides_plainly(node)) return node.op == Op::IDiv ? "$0 / $1" : "$0 % $1";
    if (shifts_plainly(node)) return node.op == Op::Shl ? "$0 << $1" : "$0 >> $1";
    if (node.op == Op::Recip || node.op == Op::Fma || node.op == Op::Scale) return {};
    return std::string(ir::info(node.op).c);
}

}  // namespace

// ---- where -----------------------------------------------------------------------------------------------------------

bool Printer::stays_inline(const Node& node, const Value& value, int level, int user_level) const {
    if (node.op == Op::Check || value.text.size() > kLongestInline) return false;
    if (node.op == Op::Load && in_variables(node.as<ir::LoadArg>().buffer)) return true;
    const bool index = node.dtype == DType::I64 && (node.op == Op::Add || node.op == Op::Sub || node.op == Op::Mul);
    if (index && !value.vector) return true;
    const auto uses = expanded_.uses.find(&node);
    return level == user_level && (uses == expanded_.uses.end() || uses->second < 2);
}

// The text of a node for a user at some level; what is worth a name is printed as a line of its own first.
Value Printer::value(const Node& node, int user_level) {
    switch (node.op) {
        case Op::Const: return {literal(node.dtype, node.as<ir::ConstArg>().value)};
        case Op::ScalarParam: return {str("s", node.as<ir::SlotArg>().slot)};
        case Op::LoopVar: {
            const int id = node.as<ir::LoopArg>().id;
            if (expanded_.lane_vars.contains(id)) return {prelude_.iota(lanes_) + "()", true};
            return {str("k", id)};
        }
        default: break;
    }
    if (const Value* const known = find_value(scopes_, node)) return *known;
    const int level = level_of(node);
    Value result = compute(node, level);
    if (stays_inline(node, result, level, user_level)) return result;
    const std::string name = str("t", temporaries_++);
    line(level, str("const ", type_of(node, result), " ", name, " = ", without_parentheses(result.text), ";"));
    result.text = name;
    scopes_[static_cast<std::size_t>(level)].values.emplace(&node, result);
    return result;
}

std::string Printer::type_of(const Node& node, const Value& value) {
    if (!value.vector) return value_type(node.dtype);
    return prelude_.vector(value.mask ? mask_dtype(value.mask) : node.dtype, lanes_);
}

// ---- how -------------------------------------------------------------------------------------------------------------

Value Printer::compute(const Node& node, int level) {
    if (node.op == Op::Load) return load(node, level);
    std::vector<Value> in;
    for (const NodeRef& source : node.sources) in.push_back(value(*source, level));
    if (node.op == Op::Cast) return cast(node, in[0]);
    if (node.op == Op::Bitcast) return bitcast(node, in[0]);
    if (node.op == Op::Check) return check(node, in[0]);
    if (node.op == Op::Lookup)
        return {call(prelude_.lookup(node.as<ir::TableArg>().entries, in[0].vector ? lanes_ : 0), {in[0].text}),
                in[0].vector};
    if (std::none_of(in.begin(), in.end(), [](const Value& v) { return v.vector; })) return scalar_op(node, in);
    return is_bool(node.sources.back()->dtype) ? bool_op(node, in) : vector_op(node, in);
}

Value Printer::scalar_op(const Node& node, const std::vector<Value>& in) {
    const DType t = node.sources.back()->dtype;
    std::vector<std::string> operands;
    for (const Value& v : in) operands.push_back(v.text);
    if (node.op == Op::Where) return {str("(", in[0].text, " ? ", in[1].text, " : ", in[2].text, ")")};
    if (node.op == Op::Recip) return {str("(1 / ", in[0].text, ")")};
    if (is_bool(t) && node.op == Op::Max) return {spell("($0 | $1)", operands)};
    if (is_bool(t) && node.op == Op::Min) return {spell("($0 & $1)", operands)};
    if (node.op == Op::Abs && is_float(t))
        return {call(t == DType::F32 ? "__builtin_fabsf" : "__builtin_fabs", operands)};
    if ((node.op == Op::Abs && is_unsigned(t)) || (node.op == Op::Trunc && !is_float(t))) return in[0];
    const std::string pattern = operator_of(node);
    if (is_limit(node)) return {call(prelude_.limit(node.op, t, 0), operands)};
    if (pattern.empty()) return {call(prelude_.op(node.op, t, 0), operands)};
    const std::string text = "(" + spell(pattern, operands) + ")";
    const bool promoted = is_int(node.dtype) && size_of(node.dtype) < 4;  // C computes those as int
    return {promoted ? str("((", value_type(node.dtype), ")", text, ")") : text};
}

Value Printer::vector_op(const Node& node, const std::vector<Value>& in) {
    const DType t = node.sources.back()->dtype;
    if (node.op == Op::Where) {
        const std::string a = as_vector(in[1], t), b = as_vector(in[2], t);
        if (!in[0].vector) return {str("(", in[0].text, " ? ", a, " : ", b, ")"), true};
        return {call(prelude_.select(t, lanes_), {as_mask(in[0], size_of(t)), a, b}), true};
    }
    std::vector<std::string> operands;
    for (const Value& v : in) operands.push_back(as_vector(v, t));
    if (node.op == Op::Recip)
        return {str("(", as_vector({literal(t, cast_word(DType::I64, t, 1))}, t), " / ", operands[0], ")"), true};
    if ((node.op == Op::Abs && is_unsigned(t)) || (node.op == Op::Trunc && !is_float(t))) return in[0];
    const std::string pattern = operator_of(node);
    if (is_limit(node)) return {call(prelude_.limit(node.op, t, lanes_), operands), true};
    if (pattern.empty()) return {call(prelude_.op(node.op, t, lanes_), operands), true};
    const bool compare = ir::info(node.op).kind == ir::OpKind::Compare;
    return {"(" + spell(pattern, operands) + ")", true, compare ? size_of(t) : 0};
}

// On vectors of bools, which are masks: the widest operand's size is kept.
Value Printer::bool_op(const Node& node, const std::vector<Value>& in) {
    std::size_t bytes = 1;
    for (const Value& v : in) bytes = std::max(bytes, v.mask);
    std::vector<std::string> m;
    for (const Value& v : in) m.push_back(as_mask(v, bytes));
    const auto result = [&](std::string_view pattern) { return Value{"(" + spell(pattern, m) + ")", true, bytes}; };
    switch (node.op) {
        case Op::And:
        case Op::Min: return result("$0 & $1");
        case Op::Or:
        case Op::Max: return result("$0 | $1");
        case Op::Xor: return result("$0 ^ $1");
        case Op::CmpLt: return result("~$0 & $1");
        case Op::CmpLe: return result("~$0 | $1");
        case Op::CmpEq: return result("~($0 ^ $1)");
        case Op::Where: return result("($0 & $1) | (~$0 & $2)");
        default: throw InternalError(str("the C printer does not know ", ir::name_of(node.op), " of bools"));
    }
}

Value Printer::check(const Node& node, const Value& from) {
    const auto& arg = node.as<ir::CheckArg>();
    std::size_t number = 0;
    while (number < kernel_.checks.size() && !ir::equal(kernel_.checks[number], arg)) ++number;
    if (number == kernel_.checks.size())
        throw InternalError(str("kernel ", kernel_.name, " does not list the check ", arg.what));
    const std::string limits =
        str(literal(DType::I64, static_cast<Word>(arg.low)), ", ", literal(DType::I64, static_cast<Word>(arg.high)));
    const std::string function = prelude_.check(node.dtype, from.vector ? lanes_ : 0);
    const std::string used = from.vector ? str(", ", lanes_of(facts(node).lane)) : "";
    return {str(function, "(", without_parentheses(from.text), ", ", limits, ", ", number + 1, used, ", check)"),
            from.vector};
}

// ---- conversions -----------------------------------------------------------------------------------------------------

Value Printer::cast(const Node& node, Value from) {
    const DType source = node.source().dtype, target = node.dtype;
    if (from.vector) return vector_cast(source, target, std::move(from));
    if (source == target) return from;
    const std::vector<DType> path =
        cast_path(is_bool(source) ? DType::U8 : source, is_bool(target) ? DType::F32 : target, false);
    for (std::size_t i = 1; i < path.size(); ++i) {
        if (is_bool(target) && !is_half(path[i - 1])) break;
        const bool plain = !is_half(path[i]) && !is_half(path[i - 1]) && (is_float(path[i]) || !is_float(path[i - 1]));
        if (plain) from.text = str("((", value_type(path[i]), ")", from.text, ")");
        else from.text = call(prelude_.convert(path[i - 1], path[i], 0), {from.text});
    }
    if (is_bool(target)) from.text = str("(", from.text, " != 0)");
    return from;
}

Value Printer::vector_cast(DType source, DType target, Value from) {
    if (source == target) return from;
    if (is_bool(source)) {
        const auto number = [&](Word flag) {
            return as_vector({literal(target, cast_word(DType::Bool, target, flag))}, target);
        };
        return {call(prelude_.select(target, lanes_), {as_mask(from, size_of(target)), number(1), number(0)}), true};
    }
    const DType end = !is_bool(target) ? target : is_half(source) ? DType::F32 : source;
    const std::vector<DType> path = cast_path(source, end, true);
    for (std::size_t i = 1; i < path.size(); ++i)
        from.text = call(prelude_.convert(path[i - 1], path[i], lanes_), {from.text});
    if (is_bool(target)) return {str("(", from.text, " != ", as_vector({"0"}, end), ")"), true, size_of(end)};
    return from;
}

Value Printer::bitcast(const Node& node, Value from) {
    const DType source = node.source().dtype, target = node.dtype;
    if (source == target) return from;
    if (!from.vector) {
        if (is_bool(target)) return {str("(", from.text, " != 0)")};
        if (is_int(source) && is_int(target)) return {str("((", value_type(target), ")", from.text, ")")};
        return {call(prelude_.bits(source, target), {from.text})};
    }
    if (is_bool(target)) return from_memory(from.text, DType::Bool);
    return {str("((", prelude_.vector(target, lanes_), ")", as_memory(from, source), ")"), true};
}

std::string Printer::as_vector(const Value& value, DType t) {
    return value.vector ? value.text : call(prelude_.splat(t, lanes_), {value.text});
}

std::string Printer::as_mask(const Value& value, std::size_t bytes) {
    const DType t = mask_dtype(bytes);
    if (!value.vector) return str(prelude_.splat(t, lanes_), "(-(", value_type(t), ")", value.text, ")");
    return value.mask == bytes ? value.text : call(prelude_.widen_mask(value.mask, bytes, lanes_), {value.text});
}

std::string Printer::as_memory(const Value& value, DType t) {
    if (!is_bool(t) || !value.vector) return as_vector(value, t);
    return str("((", prelude_.vector(DType::U8, lanes_), ")", as_mask(value, 1), " & ", as_vector({"1"}, DType::U8),
               ")");
}

Value Printer::from_memory(std::string text, DType t) {
    if (!is_bool(t)) return {std::move(text), true};
    return {str("(", text, " != ", as_vector({"0"}, DType::U8), ")"), true, 1};
}

std::string Printer::last_lane(const Value& value, DType t, int lanes) const {
    return str(value.text, "[", lanes - 1, "]", is_bool(t) ? " != 0" : "");
}

}  // namespace weft::backend::c
