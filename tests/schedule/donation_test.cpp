// tests/schedule/donation_test.cpp: each condition under which a step may write into donatable memory. Next to each plan that
// must not donate stands one that differs in that condition only, and does.
#include "schedule/stored_roots.h"
#include "schedule/support.h"

#include <doctest/doctest.h>

#include <mutex>

using namespace weft;
using ir::NodeRef;
using ir::Op;
using test::Case;
using test::leaf;
using test::matmul;

namespace {

// Rows of x in the order of an index that may be wrong: the kernel raises then.
NodeRef checked_rows(const NodeRef& x) {
    const NodeRef index = ir::check(leaf({x->shape[0], 1}, i64), 0, x->shape[0], "index");
    return ir::gather(x, ir::expand(index, x->shape), 0);
}

// A function of x that may raise.
NodeRef sorted(const NodeRef& x) {
    const auto function =
        ir::shared({.name = "sorted", .parameters = {}, .results = {{x->dtype, x->shape}}, .run = {}, .gradient = {}});
    return ir::custom(function, std::span(&x, 1));
}

}  // namespace

TEST_CASE("an output takes over a leaf of its own size") {
    const std::lock_guard lock(ir::graph_lock());
    for (const std::int64_t columns : {16, 4}) {
        CAPTURE(columns);
        const NodeRef a = leaf({16, columns}), product = matmul(-a, leaf({columns, 16}));
        const Case c({matmul(product, product)});
        REQUIRE(c.plan.steps.size() == 2);  // the second one reads no leaf
        CHECK(c.donates(a) == (columns == 16));
        CHECK(c.donates() == (columns == 16));
    }
}

TEST_CASE("a leaf of another type is not overwritten by the kernel that reads it") {
    const std::lock_guard lock(ir::graph_lock());
    CHECK(Case({-leaf({8, 8})}).donates());
    CHECK_FALSE(Case({ir::cast(leaf({8, 8}), i32)}).donates());
    CHECK_FALSE(Case({ir::bitcast(leaf({8, 8}), i32)}).donates());
    // Nobody reads it any more: its bytes are as good as any.
    const NodeRef product = matmul(-leaf({8, 8}), leaf({8, 8}));
    CHECK(Case({ir::cast(matmul(product, product), i32)}).donates());
}

TEST_CASE("a leaf is not overwritten if elements are read elsewhere than they are stored") {
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef w = leaf({8, 8});
    const NodeRef negative = -w;  // what is a view of memory is a leaf of its own, and not dense
    CHECK(Case({ir::reshape(negative, {64})}).donates());
    CHECK_FALSE(Case({ir::unary(Op::Sqrt, ir::permute(negative, {1, 0}))}).donates());
    CHECK_FALSE(Case({ir::unary(Op::Sqrt, ir::flip(negative, {0}))}).donates());
    CHECK_FALSE(Case({negative + ir::permute(negative, {1, 0})}).donates());
    CHECK_FALSE(Case({matmul(negative, negative)}).donates());
    CHECK_FALSE(Case({negative, ir::unary(Op::Sqrt, ir::permute(negative, {1, 0}))}).donates());
    CHECK(Case({ir::scan(Op::Add, negative, 0)}).donates());
    CHECK_FALSE(
        Case({ir::insert(ir::constant(f32, 0, {8, 8}), ir::shrink(negative, {0, 0}, {7, 8}), {1, 0})}).donates());
}

TEST_CASE("a leaf that is asked for is not overwritten") {
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef w = leaf({8, 8});
    const Case c({w * ir::like(w, 1), -w});  // the first is w itself, once it is simplified
    REQUIRE(c.plan.steps.size() == 1);
    CHECK_FALSE(c.donates());
    CHECK(Case({-w}).donates());
}

TEST_CASE("a leaf is not overwritten before the last step that reads it") {
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef w = leaf({8, 8}), g = leaf({8, 8});
    const NodeRef first = w - matmul(g, g), second = matmul(first, g);
    CHECK(Case({first, second}).donates(w));
    const Case c({first, second + w});
    REQUIRE(c.plan.steps.size() == 2);
    CHECK(c.plan.values[c.plan.outputs[0]].where == test::Where::Output);
    CHECK(c.plan.values[c.plan.outputs[1]].where == test::Where::Donated);
}

TEST_CASE("steps that write in place keep their order, and come after all others") {
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef u = leaf({8, 8}), w = leaf({8, 8});
    const NodeRef next = u - matmul(-w, leaf({8, 8})), after = w - matmul(leaf({8, 8}), leaf({8, 8}));
    const Case c({next, after, matmul(leaf({4, 8}), leaf({8, 4}))});
    CHECK(c.donates(u));
    CHECK(c.donates(w));
    REQUIRE(c.plan.steps.size() == 3);
    const auto writes = [&](int step, int output) {
        const std::vector<int>& values = c.plan.steps[step].values;
        return std::find(values.begin(), values.end(), c.plan.outputs[output]) != values.end();
    };
    CHECK(writes(0, 2));
    CHECK(writes(1, 0));  // reads w
    CHECK(writes(2, 1));
}

TEST_CASE("nothing is overwritten before the last step that may raise") {
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef w = leaf({8, 8}), next = w - matmul(leaf({8, 8}), leaf({8, 8}));
    CHECK(Case({next, next * next}).donates(w));
    CHECK_FALSE(Case({next, checked_rows(next)}).donates());
    CHECK_FALSE(Case({next, sorted(next)}).donates());
    CHECK_FALSE(Case({w + checked_rows(leaf({8, 8}))}).donates());
    CHECK(Case({w - sorted(leaf({8, 8}))}).donates(w));  // it is done by then
}

// The alternative to a box is a kernel that copies the rest, too.
TEST_CASE("a box is written in place if nothing can raise afterwards") {
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef w = leaf({8, 8}), v = leaf({2, 8}), twice = v + v, next = ir::insert(w, twice, {3, 0});
    CHECK(Case({next}).writes_box());
    CHECK(Case({next, ir::unary(Op::Sqrt, twice)}).writes_box());
    CHECK_FALSE(Case({ir::insert(w, checked_rows(v), {3, 0})}).writes_box());
    CHECK_FALSE(Case({next, checked_rows(twice)}).writes_box());
    CHECK_FALSE(Case({next, checked_rows(next)}).writes_box());
    CHECK_FALSE(Case({next, sorted(twice)}).writes_box());
    CHECK_FALSE(Case({next, sorted(-twice)}).writes_box());
}

TEST_CASE("a box is written in place if nobody else reads that memory") {
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef w = leaf({8, 8}), v = leaf({2, 8}), twice = v + v, next = ir::insert(w, twice, {3, 0});
    CHECK(Case({next, next + next}).writes_box());  // these read it when the box is there
    CHECK_FALSE(Case({next, next + w}).writes_box());
    CHECK_FALSE(Case({next, -w}).writes_box());
    CHECK_FALSE(Case({ir::insert(w, ir::shrink(-w, {2, 0}, {2, 8}), {3, 0})}).writes_box());
    CHECK_FALSE(Case({next, twice}).writes_box());  // asked for by itself
}

namespace {

// A loop whose steps read rows of an array, each in a kernel of its own.
NodeRef loop_over_rows(const NodeRef& whole, const NodeRef& w) {
    const std::int64_t columns = whole->shape[1];
    NodeRef last = leaf({1, columns});
    for (const std::int64_t i : {0, 3, 7})
        last = ir::unary(Op::Sqrt, matmul(last, w) + ir::shrink(whole, {i, 0}, {1, columns}));
    return last;
}

}  // namespace

TEST_CASE("an array that others read slices of takes no leaf over") {
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef h = leaf({8, 40}), w = leaf({40, 40}), whole = matmul(leaf({8, 40}), w) + h;
    CHECK(Case({whole}).donates(h));
    const Case c({whole, loop_over_rows(whole, w)});
    REQUIRE(c.plan.steps.size() == 4);
    CHECK_FALSE(c.donates(h));
}

TEST_CASE("who reads a slice comes after who writes the array, even if that writes in place") {
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef h = leaf({8, 40}), w = leaf({40, 40}), product = matmul(leaf({8, 40}), w);
    const NodeRef whole = ir::unary(Op::Sqrt, product);
    const Case c({whole, product + h, loop_over_rows(whole, w)});
    REQUIRE(c.plan.steps.size() == 4);
    REQUIRE(c.donates(h));
    CHECK(c.plan.steps[0].kernel.graph.outputs.size() == 2);
}

TEST_CASE(
    "kernels stay when memory may not be donated after all, but for a box that is then no longer written in place") {
    const std::lock_guard lock(ir::graph_lock());
    const NodeRef w = leaf({8, 8}), v = leaf({2, 8}), twice = v + v;
    const auto again = [&](const NodeRef& root) {
        const schedule::Captured captured =
            schedule::capture(std::span(&root, 1), [](const ir::Storage&) { return true; });
        const schedule::SimplifiedGraph graph = schedule::simplified(captured, {}, Target());
        schedule::FusedGraph donating = schedule::fused(captured, graph, {.donate = true});
        const auto* const kernels = donating.kernels.kernels.data();
        const schedule::FusedGraph result = schedule::fused(captured, graph, {}, std::move(donating));
        CHECK(result.kernels.kernels.size() == schedule::fused(captured, graph, {}).kernels.kernels.size());
        schedule::plan_memory(captured, graph, result, {});
        return result.kernels.kernels.data() == kernels;
    };
    CHECK(again(-w));
    CHECK_FALSE(again(ir::insert(w, twice, {3, 0})));
}
