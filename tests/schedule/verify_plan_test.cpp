// tests/schedule/verify_plan_test.cpp: plans that break one rule each are refused, by name of the value; and what is donated.
#include "schedule/verify_plan.h"
#include "schedule/support.h"

#include <doctest/doctest.h>

#include <mutex>

using namespace weft;
using namespace weft::schedule;
using ir::NodeRef;
using test::Case;
using test::leaf;
using test::matmul;
using test::Where;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("temporaries that are alive at once lie apart, and are written before they are read") {
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef a = leaf({8, 8}), b = leaf({8, 8});
    const NodeRef first = matmul(a, b), second = matmul(b, a);
    const Case c({matmul(first, second)}, false);
    REQUIRE(c.plan.steps.size() == 3);
    REQUIRE(c.refusal().empty());
    const int one = c.find(Where::Arena), other = c.find(Where::Arena, 1);
    REQUIRE(other >= 0);
    CHECK(has(c.refusal([&](Plan& p) { p.values[other].arena_offset = p.values[one].arena_offset; }),
              "is alive in step"));
    CHECK(has(c.refusal([&](Plan& p) { p.values[other].arena_offset = p.values[one].arena_offset + 64; }),
              "is alive in step"));
    CHECK(has(c.refusal([&](Plan& p) { p.arena_bytes = 64; }), "beyond the arena of 64 bytes"));
    CHECK(has(c.refusal([&](Plan& p) { p.values[one].bytes = 64; }), "beyond the arena"));
    CHECK(has(c.refusal([&](Plan& p) { std::swap(p.steps[1], p.steps[2]); }), "before it is written"));
    CHECK(has(c.refusal([&](Plan& p) { p.steps.erase(p.steps.begin()); }), "before it is written"));
    CHECK(has(c.refusal([&](Plan& p) { p.steps.push_back(p.steps[0]); }), "written by 2 steps"));
    CHECK(has(c.refusal([&](Plan& p) { p.steps[0].kernel.graph.params[0].size = 1000; }),
              "may touch 1000 elements of 64"));
    CHECK(has(c.refusal([&](Plan& p) { p.steps[0].kernel.graph.outputs[0].param = 0; }), "which is no output"));
    CHECK(has(c.refusal([&](Plan& p) { p.steps[0].values[0] = 99; }), "uses value 99"));
}

TEST_CASE("outputs have the shape that was asked for, memory of their own, and outlive the run") {
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef a = leaf({4, 4}), b = leaf({4, 4});
    const Case c({a + b, a * b}, false);
    REQUIRE(c.refusal().empty());
    CHECK(has(c.refusal([](Plan& p) { p.outputs[1] = p.outputs[0]; }), "outputs 0 and 1 are two values in one place"));
    CHECK(has(c.refusal([](Plan& p) {
        p.values[p.outputs[0]].shape = {2, 8};
        p.values[p.outputs[0]].strides = {8, 1};
    }),
              "output 0 is f32[4, 4]"));
    CHECK(has(c.refusal([](Plan& p) { p.outputs.pop_back(); }), "1 outputs of 2"));
    CHECK(has(c.refusal([](Plan& p) {
        p.values[p.outputs[0]].where = Where::Arena;
        p.arena_bytes = 64;
    }),
              "output 0 ends with the run"));
    CHECK(has(c.refusal([](Plan& p) { p.steps.clear(); }), "never written"));
    CHECK(has(c.refusal([](Plan& p) { p.values[p.outputs[0]].bytes = 4; }), "larger than its memory"));
}

TEST_CASE("a leaf is donated if nobody reads it later") {
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef w = leaf({8, 8}), g = leaf({8, 8});
    Case c({w - matmul(g, g)});
    REQUIRE(c.refusal().empty());
    const int donated = c.find(Where::Donated);
    REQUIRE(donated >= 0);
    const int own = c.plan.values[donated].leaf, other = own == 0 ? 1 : 0;
    CHECK(has(c.refusal([&](Plan& p) { p.values[donated].leaf = other; }), "though it was not donated"));
    CHECK(has(c.refusal([&](Plan& p) { p.steps[0].kernel.checks = true; }), "may raise"));
    CHECK(has(c.refusal([&](Plan& p) { p.values[donated].shape = {8, 9}; }), "larger than the leaf"));
    CHECK(has(c.refusal([&](Plan& p) { p.values.push_back(p.values[donated]), p.steps.push_back(p.steps[0]); }),
              "written by 2 steps"));
    c.captured.leaves[own].donatable = false;
    CHECK(has(c.refusal(), "somebody still sees this leaf"));
    c.captured.leaves[own].donatable = true;
    c.captured.views[c.captured.leaves[other].view].storage = c.captured.leaf(own).storage;
    CHECK(has(c.refusal(), "has the same storage"));

    // The product reads what the sum would overwrite.
    const Case late({ir::reduce(ir::Op::Add, matmul(matmul(w, g), w), {0}), g + g});
    REQUIRE(late.refusal().empty());
    const NodeRef before = matmul(g, w);
    const Case order({matmul(before, w), before * before});
    REQUIRE(order.refusal().empty());
}

TEST_CASE("a leaf that is refused is not donated") {
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef w = leaf({8, 8}), g = leaf({8, 8});
    const std::vector<NodeRef> asked{w - g * g};
    const Captured captured = capture(asked, [](const ir::Storage&) { return true; });
    const auto donated = [&](const PlanOptions& options) {
        std::vector<int> leaves;
        for (const PlanValue& value : pipeline::make_plan(captured, {}, Target(), options).values)
            if (value.where == Where::Donated) leaves.push_back(value.leaf);
        return leaves;
    };
    CHECK(donated({}).empty());
    const std::vector<int> first = donated({.donate = true});
    REQUIRE(first.size() == 1);
    const std::vector<int> second = donated({.donate = true, .not_donated = first});
    CHECK((second.empty() || second != first));
    CHECK(donated({.donate = true, .not_donated = {0, 1}}).empty());
}

TEST_CASE("parts of an array fill it, and do not overlap") {
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef a = leaf({4, 8}), b = leaf({8, 32}), c8 = leaf({6, 8});
    const NodeRef whole =
        ir::insert(ir::insert(ir::constant(f32, 0, {10, 32}), matmul(a, b), {0, 0}), matmul(c8, b), {4, 0});
    const Case c({whole}, false);
    REQUIRE(c.refusal().empty());
    const int part = c.find(Where::Inside), second = c.find(Where::Inside, 1);
    REQUIRE(second >= 0);
    const int last = c.plan.values[part].offset > c.plan.values[second].offset ? part : second;
    CHECK(has(c.refusal([&](Plan& p) { p.values[last].offset -= 32; }), "elements in common"));
    CHECK(has(c.refusal([&](Plan& p) { p.values[last].offset += 32; }), "beyond its whole"));
    CHECK(has(c.refusal([&](Plan& p) { p.steps.pop_back(); }), "elements of 320 are written"));
    CHECK(has(c.refusal([&](Plan& p) { p.values[part].whole = part; }), "part of no whole"));
}
