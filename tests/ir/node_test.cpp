// Hash-consing: equal expressions are one node, the interner keeps nothing alive, and no walk needs a deep stack.
#include "ir/node.h"

#include "ir/build.h"
#include "ir/print.h"
#include "ir/walk.h"
#include "tests/support/eager.h"
#include "tests/support/small_stack.h"

#include <doctest/doctest.h>

#include <thread>

using namespace weft;
using namespace weft::ir;
using namespace weft::testing;

TEST_CASE("equal expressions are the same pointer") {
    const NodeRef x = variable(f32, 0), y = variable(f32, 0);
    CHECK(!(x == y));  // every variable is its own
    CHECK(x + y == x + y);
    CHECK(!(x + y == x - y));
    CHECK(constant(f32, 2, {3}) == constant(f32, 2.0, {3}));
    CHECK(!(constant(f32, 0.0) == constant(f32, -0.0)));
    CHECK(!(constant(f32, 1) == constant(f64, 1)));
    CHECK(reduce(Op::Add, expand(x, {2, 3}), {1, 0}) == reduce(Op::Add, expand(x, {2, 3}), {0, 1, 1}));
    CHECK(leaf(7, x) == leaf(7, x));
    CHECK(!(leaf(7, x) == leaf(8, x)));
}

TEST_CASE("every field of an argument counts") {
    const NodeRef x = expand(variable(f32, 0), {9, 3}), index = constant(i64, 0, {9, 3});
    CHECK(!(skew(x, {0, 1, 1, 1}, 2) == skew(x, {0, 1, 2, 1}, 2)));
    CHECK(!(skew(x, {0, 1, 1, 1}, 2) == skew(x, {0, 1, 1, 2}, 2)));
    CHECK(!(shrink(x, {0, 0}, {2, 2}) == shrink(x, {1, 0}, {2, 2})));
    CHECK(!(reduce(Op::Add, x, {0}) == reduce(Op::Max, x, {0})));
    CHECK(!(gather(x, index, 0) == gather(x, index, 1)));
    CHECK(!(scatter(Op::Add, x, index, x, 0) == scatter(Op::Where, x, index, x, 0)));
    CHECK(!(check(index, 0, 1, "a") == check(index, 0, 1, "b")));
    const NodeRef buffer_node = buffer_of(f32, {2, 2}, std::vector<double>{1, 2, 3, 4});
    const StorageRef storage = buffer_node->as<BufferArg>().storage;
    CHECK(buffer(storage, f32, {2, 2}, 0, {2, 1}) == buffer_node);
    CHECK(!(buffer(storage, f32, {2, 2}, 0, {1, 2}) == buffer_node));
    CHECK(!(buffer(storage, f32, {2}, 0, {1}) == buffer(storage, f32, {2}, 1, {1})));
}

TEST_CASE("a dropped node is freed, with what only it held") {
    const std::size_t before = live_nodes();
    std::weak_ptr<Storage> storage;
    {
        const NodeRef x = buffer_of(f32, {2}, std::vector<double>{1, 2});
        storage = x->as<BufferArg>().storage;
        const NodeRef y = unary(Op::Exp, x) + x;
        CHECK(live_nodes() == before + 3);
    }
    CHECK(live_nodes() == before);
    CHECK(storage.expired());
}

TEST_CASE("a forgotten node stays usable, and an equal expression becomes a new one") {
    const NodeRef x = variable(f32, 0), old = unary(Op::Exp, x);
    graph().forget(*old);
    graph().forget(*old);  // twice is once
    const NodeRef fresh = unary(Op::Exp, x);
    CHECK(!(fresh == old));
    CHECK(fresh == unary(Op::Exp, x));
    CHECK(!(old + old == fresh + fresh));
}

TEST_CASE("an interner of its own shares nothing with the graph") {
    Interner own;
    const std::size_t before = live_nodes();
    const NodeRef a = own.make(Op::Const, f32, {}, {}, ConstArg{1}), b = own.make(Op::Const, f32, {}, {}, ConstArg{1});
    CHECK(a == b);
    CHECK(own.live() == 1);
    CHECK(live_nodes() == before);
}

TEST_CASE("a million nodes are built, walked, printed and freed on a small stack") {
    const std::size_t before = live_nodes();
    on_small_stack([] {
        NodeRef x = variable(f32, 0);
        for (int i = 0; i < 1'000'000; ++i) x = -x;
        CHECK(topological_order(std::span(&x, 1)).size() == 1'000'001);
        const std::string text = print_graph(std::span(&x, 1));
        CHECK(text.substr(text.find('\n') + 1, 39) == "%1 = neg f32[] %0\n%2 = neg f32[] %1\n%3 ");
        const auto copy = rebuild(std::span(&x, 1),
                                  [](const Node& node, const Sources& sources) { return with_sources(node, sources); });
        CHECK(copy[0] == x);
    });
    CHECK(live_nodes() == before);
}

TEST_CASE("a walk lists sources before users, each once") {
    const NodeRef x = variable(f32, 0), y = x + x, z = y * x, roots[] = {z, y};
    const auto order = topological_order(roots);
    REQUIRE(order.size() == 3);
    CHECK(order[0] == x.get());
    CHECK(order[1] == y.get());
    CHECK(order[2] == z.get());
    const auto shallow = topological_order(roots, [&](const Node& node) { return &node != y.get(); });
    CHECK(shallow.size() == 3);  // x is still reached from z
}

TEST_CASE("threads build equal expressions and agree on the pointer") {
    const std::size_t before = live_nodes();
    {
        const NodeRef x = variable(f32, 0);
        NodeRef results[4];
        std::vector<std::thread> threads;
        for (NodeRef& result : results)
            threads.emplace_back([&result, x] {
                for (int round = 0; round < 200; ++round) {
                    NodeRef y = x;
                    for (int i = 0; i < 50; ++i) y = y * x + y;
                    result = y;
                }
            });
        for (std::thread& thread : threads) thread.join();
        for (const NodeRef& result : results) CHECK(result == results[0]);
    }
    CHECK(live_nodes() == before);
}
