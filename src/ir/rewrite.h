// ir/rewrite.h: rewrite rules as data: a pattern, a function, a name and its source line; and the driver that applies them bottom-up
// to a fixed point. A set of rules that loops runs out of fuel, and the error names the rule.
#pragma once

#include "ir/node.h"

#include <array>
#include <functional>
#include <memory>
#include <source_location>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::ir {

inline constexpr int kVariables = 6;

// x, y, z match any node; c0, c1, c2 match constants (broadcast or not). A variable that occurs twice must match one node.
struct Pattern {
    enum class Kind : std::uint8_t { Any, Constant, Number, Operation };
    Kind kind = Kind::Any;
    int variable = -1;
    double number = 0;
    Op op = Op::Add;
    std::vector<Pattern> operands;

    Pattern(Kind k, int c) : kind(k), variable(c) {}
    Pattern(double value) : kind(Kind::Number), number(value) {}
    Pattern(Op o, std::vector<Pattern> parts) : kind(Kind::Operation), op(o), operands(std::move(parts)) {}
};

namespace pattern {
inline const Pattern x(Pattern::Kind::Any, 0), y(Pattern::Kind::Any, 1), z(Pattern::Kind::Any, 2);
inline const Pattern c0(Pattern::Kind::Constant, 3), c1(Pattern::Kind::Constant, 4), c2(Pattern::Kind::Constant, 5);
inline Pattern operator+(const Pattern& a, const Pattern& b) { return {Op::Add, {a, b}}; }
inline Pattern operator-(const Pattern& a, const Pattern& b) { return {Op::Sub, {a, b}}; }
inline Pattern operator*(const Pattern& a, const Pattern& b) { return {Op::Mul, {a, b}}; }
inline Pattern operator/(const Pattern& a, const Pattern& b) { return {Op::Div, {a, b}}; }
inline Pattern op(Op o, std::vector<Pattern> operands) { return {o, std::move(operands)}; }
}  // namespace pattern

struct Match {
    NodeRef root;
    std::array<NodeRef, kVariables> bound;
    const std::unordered_map<const Node*, int>* uses = nullptr;

    // Is this node read by one other only? Then a rule may change it without keeping the old one alive.
    bool used_once(const Node& node) const {
        const auto found = uses->find(&node);
        return found == uses->end() || found->second <= 1;
    }
    const NodeRef& operator[](const Pattern& p) const { return bound[p.variable]; }
};

struct Rule {
    std::string name;
    Pattern pattern;
    std::function<NodeRef(const Match&)> apply;  // null: no rewrite after all
    std::source_location where;
};

// `rule("mul-one", x * 1, …)`: commutative ops match either way round.
inline Rule rule(std::string name, Pattern pattern, std::function<NodeRef(const Match&)> apply,
                 std::source_location where = std::source_location::current()) {
    return {std::move(name), std::move(pattern), std::move(apply), where};
}

bool matches(const Pattern& pattern, const NodeRef& node, Match& match);

// The Const below broadcasting, or null.
const Node* constant_value(const NodeRef& node);

struct Rewritten {
    std::vector<NodeRef> roots;
    std::unordered_map<const Node*, NodeRef> became;    // of every node of the old graph
    std::unordered_map<std::string_view, int> applied;  // rule name -> how often
};

// `fuel` bounds the rewrites per node of the graph.
Rewritten rewrite(std::span<const NodeRef> roots, std::span<const Rule> rules, int fuel = 64);

}  // namespace weft::ir
