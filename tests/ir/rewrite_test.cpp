// tests/ir/rewrite_test.cpp: patterns, the driver, and the error of a rule that loops.
#include "ir/rewrite.h"
#include "ir/build.h"
#include "ir/print.h"

#include <weft/error.h>

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::ir;
using namespace weft::ir::pattern;

namespace {

NodeRef parameter(int slot, const Shape& shape = {4}) {
    return graph().make(Op::Param, f32, shape, {}, SlotArg{slot, row_major_strides(shape)});
}

NodeRef rewritten(const NodeRef& root, const std::vector<Rule>& rules) {
    return rewrite(std::span(&root, 1), rules).roots[0];
}

}  // namespace

TEST_CASE("a pattern matches commutative ops either way round, and constants through broadcasting") {
    const NodeRef p = parameter(0), one = constant(f32, 1, {4});
    const std::vector<Rule> rules = {rule("mul-one", x * 1, [](const Match& m) { return m[x]; })};
    CHECK(rewritten(p * one, rules) == p);
    CHECK(rewritten(one * p, rules) == p);
    CHECK(rewritten(p * constant(f32, 2, {4}), rules)->op == Op::Mul);
}

TEST_CASE("a variable that occurs twice matches one node only") {
    const NodeRef p = parameter(0), q = parameter(1);
    const std::vector<Rule> rules = {rule("sub-self", x - x, [](const Match& m) { return like(m[x], 0); })};
    CHECK(rewritten(p - q, rules)->op == Op::Sub);
    CHECK(constant_value(rewritten(p - p, rules)) != nullptr);
}

TEST_CASE("zero does not match minus zero: their words differ") {
    const NodeRef p = parameter(0);
    const std::vector<Rule> rules = {rule("sub-zero", x - 0, [](const Match& m) { return m[x]; })};
    CHECK(rewritten(p - constant(f32, 0, {4}), rules) == p);
    CHECK(rewritten(p - constant(f32, -0.0, {4}), rules)->op == Op::Sub);
}

TEST_CASE("rules run bottom-up to a fixed point, are counted, and report what every node became") {
    const NodeRef p = parameter(0), one = constant(f32, 1, {4}), root = (p * one) * one;
    const std::vector<Rule> rules = {rule("mul-one", x * 1, [](const Match& m) { return m[x]; })};
    const Rewritten result = rewrite(std::span(&root, 1), rules);
    CHECK(result.roots[0] == p);
    CHECK(result.applied.at("mul-one") == 2);
    CHECK(result.became.at(root.get()) == p);
}

TEST_CASE("a rule may ask whether a node has another reader") {
    const NodeRef p = parameter(0), shared = -p;
    int once = 0, more = 0;
    const std::vector<Rule> rules = {rule("look", op(Op::Abs, {x}), [&](const Match& m) -> NodeRef {
        ++(m.used_once(*m[x]) ? once : more);
        return nullptr;
    })};
    rewrite(std::vector<NodeRef>{unary(Op::Abs, shared)}, rules);
    CHECK(once == 1);
    rewrite(std::vector<NodeRef>{unary(Op::Abs, shared), shared + p}, rules);
    CHECK(more == 1);
}

TEST_CASE("a rule that loops runs out of fuel, and the error names it and its line") {
    const NodeRef p = parameter(0), q = parameter(1);
    const std::vector<Rule> rules = {rule("swap-for-ever", x - y, [](const Match& m) { return m[y] - m[x]; })};
    try {
        rewritten(p - q, rules);
        FAIL("no error");
    } catch (const InternalError& error) {
        const std::string text = error.what();
        CHECK(text.find("rule swap-for-ever") != std::string::npos);
        CHECK(text.find("rewrite_test.cpp:") != std::string::npos);
    }
}
