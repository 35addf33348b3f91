// ir/print.cpp: graphs and expressions as text.
#include "ir/print.h"

#include "core/str.h"
#include "ir/walk.h"

#include <unordered_map>

namespace weft::ir {

std::string print_line(const Node& node) {
    std::string text = str(name_of(node.op), " ", node.dtype, node.shape);
    const std::string arg = to_string(node.arg, node.dtype);
    return arg.empty() ? text : str(text, " {", arg, "}");
}

std::string print_graph(std::span<const NodeRef> roots) {
    std::unordered_map<const Node*, int> number;
    std::string text;
    for (const Node* node : topological_order(roots)) {
        const int id = static_cast<int>(number.size());
        number.emplace(node, id);
        text += str("%", id, " = ", print_line(*node));
        for (const NodeRef& source : node->sources) text += str(" %", number.at(source.get()));
        text += "\n";
    }
    for (const NodeRef& root : roots) text += str("return %", number.at(root.get()), "\n");
    return text;
}

namespace {

// Kernel expressions share subexpressions freely; a tree print would explode, so depth and the number of nodes are bounded.
std::string expression(const Node& node, int depth, int& budget) {
    const auto sub = [&](int i) { return expression(*node.sources[i], depth - 1, budget); };
    if (depth == 0 || --budget <= 0) return "…";
    switch (node.op) {
        case Op::Const: return word_to_string(node.dtype, node.as<ConstArg>().value);
        case Op::LoopVar: return str("i", node.as<LoopArg>().id);
        case Op::ScalarParam: return str("s", node.as<SlotArg>().slot);
        case Op::Load:
            return str("b", node.as<LoadArg>().buffer, "[", sub(0), "]",
                       node.sources.size() > 1 ? " if " + sub(1) : "");
        case Op::Add: return str("(", sub(0), " + ", sub(1), ")");
        case Op::Sub: return str("(", sub(0), " - ", sub(1), ")");
        case Op::Mul: return str(sub(0), "*", sub(1));
        case Op::Div: return str(sub(0), "/", sub(1));
        case Op::IDiv: return str(sub(0), "//", sub(1));
        case Op::Mod: return str(sub(0), "%", sub(1));
        case Op::CmpLt: return str("(", sub(0), " < ", sub(1), ")");
        case Op::CmpLe: return str("(", sub(0), " <= ", sub(1), ")");
        case Op::CmpEq: return str("(", sub(0), " == ", sub(1), ")");
        case Op::And: return str("(", sub(0), " & ", sub(1), ")");
        case Op::Or: return str("(", sub(0), " | ", sub(1), ")");
        default: break;
    }
    std::string text = node.op == Op::Cast ? str(node.dtype, "(") : str(name_of(node.op), "(");
    for (std::size_t i = 0; i < node.sources.size(); ++i) text += (i ? ", " : "") + sub(static_cast<int>(i));
    return text + ")";
}

}  // namespace

std::string print_expression(const NodeRef& node) {
    int budget = 200;
    return expression(*node, 40, budget);
}

}  // namespace weft::ir
