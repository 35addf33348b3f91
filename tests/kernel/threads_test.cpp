// Block and Thread loops: `ref` runs threads in any order with the same bits, and a missing barrier is refused, or shows.
#include "backend/ref/code.h"
#include "backend/support.h"
#include "kernel/refusal.h"

#include <weft/error.h>

#include <doctest/doctest.h>

#include <functional>
#include <string>

using namespace weft;
using namespace weft::kernel;
using backend::ref::ThreadOrder;
using ir::NodeRef;
using ir::Op;
using test::has;
using test::Memory;
using test::Nest;
using test::refusal;

namespace {

struct OrderScope {
    explicit OrderScope(ThreadOrder order) { backend::ref::set_thread_order(order); }
    ~OrderScope() { backend::ref::set_thread_order(ThreadOrder::Forward); }
};

constexpr std::int64_t kBlocks = 3, kThreads = 64;

// Each block adds up 64 elements as a tree in Shared memory: with barriers, or in one Thread loop.
struct TreeSum {
    Nest nest{"tree_sum"};
    int x = nest.input("x", f32, kBlocks*kThreads), out = nest.output("out", f32, kBlocks);
    int shared = nest.local("shared", f32, kThreads, Buffer::MemoryType::Shared);
    NodeRef block = nest.k.new_var(kBlocks);

    Stmt threads(std::int64_t count, const std::function<Body(const NodeRef&)>& body) {
        const NodeRef t = nest.k.new_var(count);
        return Nest::loop(t, LoopKind::Thread, body(t));
    }
    Store copy(const NodeRef& t) { return {shared, t, nest.k.load(x, nest.affine({{block, kThreads}, {t, 1}}))}; }
    Store fold(const NodeRef& t, std::int64_t half) {
        return {shared, t, nest.k.add(nest.k.load(shared, t), nest.k.load(shared, nest.affine({{t, 1}}, half)))};
    }
    const Kernel& kernel() {
        Body body{threads(kThreads, [&](const NodeRef& t) { return Body{copy(t)}; })};
        for (std::int64_t half = kThreads / 2; half > 0; half /= 2)
            body.push_back(threads(half, [&](const NodeRef& t) { return Body{fold(t, half)}; }));
        body.push_back(threads(1, [&](const NodeRef& t) {
            return Body{Store{out, nest.k.add(block, t), nest.k.load(shared, nest.at(0))}};
        }));
        nest.k.body = Body{Nest::loop(block, LoopKind::Block, std::move(body))};
        return nest.k;
    }
    // Copies and the first fold in one loop: thread t reads what thread t + 32 may not have written.
    const Kernel& without_barrier() {
        Body body{threads(kThreads / 2, [&](const NodeRef& t) {
            return Body{copy(t), copy(nest.affine({{t, 1}}, kThreads / 2)),
                        Store{shared, t, nest.k.load(shared, nest.affine({{t, -1}}, kThreads - 1))}};
        })};
        body.push_back(threads(1, [&](const NodeRef& t) {
            return Body{Store{out, nest.k.add(block, t), nest.k.load(shared, nest.at(0))}};
        }));
        nest.k.body = Body{Nest::loop(block, LoopKind::Block, std::move(body))};
        return nest.k;
    }
};

std::vector<float> run(const Kernel& kernel, const std::vector<Memory>& memories, ThreadOrder order,
                       std::int64_t chunk = 0) {
    const OrderScope scope(order);
    const test::Result result = test::run_on("ref", kernel, memories, {}, chunk);
    return result.memories.back().values<float>();
}

}  // namespace

TEST_CASE("threads of a block run in any order, between barriers") {
    TreeSum tree;
    const Kernel& kernel = tree.kernel();
    CHECK(refusal(kernel) == "");
    Memory x(f32, kBlocks * kThreads), out(f32, kBlocks);
    std::vector<float> wanted(kBlocks, 0);
    for (std::int64_t i = 0; i < kBlocks * kThreads; ++i) {
        x.set(i, to_word(static_cast<float>(i % 7)));
        wanted[static_cast<std::size_t>(i / kThreads)] += static_cast<float>(i % 7);
    }
    for (const ThreadOrder order : {ThreadOrder::Forward, ThreadOrder::Backward, ThreadOrder::Shuffled}) {
        CHECK(run(kernel, {x, out}, order) == wanted);
        CHECK(run(kernel, {x, out}, order, 1) == wanted);  // a range of blocks at a time
    }
}

TEST_CASE("a missing barrier is refused, and shows in another order") {
    TreeSum tree;
    const Kernel& kernel = tree.without_barrier();
    CHECK(has(refusal(kernel), "two iterations of the thread loop"));
    CHECK(has(refusal(kernel), "(shared)"));
    Memory x(f32, kBlocks * kThreads), out(f32, kBlocks);
    for (std::int64_t i = 0; i < kBlocks * kThreads; ++i) x.set(i, to_word(static_cast<float>(i)));
    CHECK(run(kernel, {x, out}, ThreadOrder::Forward) != run(kernel, {x, out}, ThreadOrder::Backward));
}

TEST_CASE(
    "a local of each thread is there again in the next Thread loop, one of a block is not there in the next block") {
    Nest nest("private");
    const int x = nest.input("x", f32, 24), out = nest.output("out", f32, 24);
    const int own = nest.local("own", f32, 1, Buffer::MemoryType::Register);
    nest.k.buffers[static_cast<std::size_t>(own)].per_thread = true;
    const NodeRef b = nest.k.new_var(2), s = nest.k.new_var(3), i = nest.k.new_var(3), j = nest.k.new_var(4),
                  p = nest.k.new_var(3), q = nest.k.new_var(4);
    const NodeRef at = nest.affine({{b, 12}, {i, 4}, {j, 1}}), to = nest.affine({{b, 12}, {p, 4}, {q, 1}});
    const auto grid = [](const NodeRef& outer, const NodeRef& inner, Body body) {
        return Nest::loop(outer, LoopKind::Thread, Body{Nest::loop(inner, LoopKind::Thread, std::move(body))});
    };
    // Each round adds x to the thread's own number; the rounds are a serial loop around a Thread loop.
    const NodeRef m = nest.k.new_var(3), n = nest.k.new_var(4);
    Body zero{Store{own, nest.at(0), nest.k.constant(f32, Scalar(0.0))}};
    Body add{Store{own, nest.at(0), nest.k.add(nest.k.load(own, nest.at(0)), nest.k.load(x, at))}};
    Body store{Store{out, to, nest.k.load(own, nest.at(0))}};
    nest.k.body = Body{
        Nest::loop(b, LoopKind::Block,
                   Body{grid(m, n, zero), Nest::loop(s, LoopKind::Serial, Body{grid(i, j, add)}), grid(p, q, store)})};
    CHECK(refusal(nest.k) == "");
    Memory from(f32, 24), result(f32, 24);
    std::vector<float> wanted;
    for (std::int64_t k = 0; k < 24; ++k) {
        from.set(k, to_word(static_cast<float>(k)));
        wanted.push_back(3.0f * static_cast<float>(k));
    }
    for (const ThreadOrder order : {ThreadOrder::Forward, ThreadOrder::Backward, ThreadOrder::Shuffled})
        CHECK(run(nest.k, {from, result}, order) == wanted);
    nest.k.buffers[static_cast<std::size_t>(own)].per_thread = false;
    CHECK(has(refusal(nest.k), "is used in two thread loops"));
}

TEST_CASE("blocks and threads stand where they may") {
    const auto refused = [](const std::function<Body(Nest&, int)>& body) {
        Nest nest("stands");
        const int out = nest.output("out", f32, 4096);
        nest.k.body = body(nest, out);
        return refusal(nest.k);
    };
    const auto store = [](Nest& nest, int out, const NodeRef& at) {
        return Body{Store{out, at, nest.k.constant(f32, Scalar(1.0))}};
    };
    CHECK(has(refused([&](Nest& n, int out) {
                  const NodeRef t = n.k.new_var(4);
                  return Body{Nest::loop(t, LoopKind::Thread, store(n, out, t))};
              }),
              "a thread loop outside of a block"));
    CHECK(has(refused([&](Nest& n, int out) {
                  const NodeRef b = n.k.new_var(4);
                  return Body{Nest::loop(b, LoopKind::Block, store(n, out, b))};
              }),
              "a store in a block, outside of its threads"));
    CHECK(has(refused([&](Nest& n, int out) {
                  const NodeRef s = n.k.new_var(4), b = n.k.new_var(4), t = n.k.new_var(4);
                  return Body{Nest::loop(
                      s, LoopKind::Serial,
                      Body{Nest::loop(b, LoopKind::Block, Body{Nest::loop(t, LoopKind::Thread, store(n, out, t))})})};
              }),
              "a block loop that is not outermost"));
    CHECK(has(refused([&](Nest& n, int out) {
                  const NodeRef b = n.k.new_var(2), t = n.k.new_var(2048);
                  return Body{
                      Nest::loop(b, LoopKind::Block,
                                 Body{Nest::loop(t, LoopKind::Thread, store(n, out, n.affine({{b, 2048}, {t, 1}})))})};
              }),
              "more than 1024 threads"));
    CHECK(has(refused([&](Nest& n, int out) {
                  const NodeRef b = n.k.new_var(2), t = n.k.new_var(4), s = n.k.new_var(2), u = n.k.new_var(4);
                  return Body{Nest::loop(
                      b, LoopKind::Block,
                      Body{Nest::loop(t, LoopKind::Thread,
                                      Body{Nest::loop(s, LoopKind::Serial,
                                                      Body{Nest::loop(u, LoopKind::Thread, store(n, out, u))})})})};
              }),
              "a thread loop inside a loop of one thread"));
    CHECK(has(refused([&](Nest& n, int out) {
                  const NodeRef b = n.k.new_var(4), t = n.k.new_var(4);
                  return Body{Nest::loop(b, LoopKind::Block, Body{Nest::loop(t, LoopKind::Thread, store(n, out, t))})};
              }),
              "two iterations of the block loop"));
}
