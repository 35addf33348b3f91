// Identity and state: cells, writes in place, views, the outbox, what a run computes and what it leaves behind.
#include "cells/state.h"
#include "device/pool.h"
#include "ir/build.h"
#include "pipeline/plan_cache.h"
#include "tensor/cell.h"

#include <weft/debug.h>
#include <weft/ops.h>

#include <doctest/doctest.h>

#include <thread>
#include <vector>

using namespace weft;

namespace {

using Floats = std::vector<float>;
Floats values(const Tensor& t) { return t.to_vector<float>(); }
void forget_plans() {  // which hold their kernels' graphs
    const std::lock_guard lock(ir::graph_lock());
    pipeline::clear_plan_cache();
    pipeline::clear_program_cache();
}
Tensor stored(const Nested& numbers) { return tensor(numbers, f32); }

}  // namespace

TEST_CASE("handles share a cell; a write is seen by all of them") {
    Tensor x = stored({1, 2, 3});
    const Tensor other = x;
    x += 1;
    CHECK(values(other) == Floats{2, 3, 4});
    x.assign(stored({7, 8, 9}));
    CHECK(values(other) == Floats{7, 8, 9});
    x.fill_(5);
    CHECK(values(other) == Floats{5, 5, 5});
}

TEST_CASE("an expression keeps the value that its operand had") {
    Tensor x = stored({1, 2});
    const Tensor y = x * 10;
    x += 1;
    CHECK(values(y) == Floats{10, 20});
    CHECK(values(x) == Floats{2, 3});
    x += 1;
    CHECK(values(y) == Floats{10, 20});
}

TEST_CASE("writing through a view writes its base, and other views follow") {
    Tensor x = stored({{1, 2}, {3, 4}});
    Tensor row = x[0], column = x.t()[0];
    x[0].zero_();
    CHECK(values(x) == Floats{0, 0, 3, 4});
    CHECK(values(row) == Floats{0, 0});
    CHECK(values(column) == Floats{0, 3});
    x.t() += 1;
    CHECK(values(x) == Floats{1, 1, 4, 5});
    row.assign(stored({8, 9}));
    CHECK(values(x) == Floats{8, 9, 4, 5});
    CHECK(values(column) == Floats{8, 4});
    column *= 2;
    CHECK(values(x) == Floats{16, 9, 8, 5});
    x.zero_();
    CHECK(values(row) == Floats{0, 0});
    const Tensor sum = x + 1;
    x[1][1].fill_(3);
    CHECK(values(x) == Floats{0, 0, 0, 3});
    CHECK(values(sum) == Floats{1, 1, 1, 1});
}

TEST_CASE("a view of a pending value is written through as well") {
    Tensor x = stored({1, 2, 3, 4}) * 2;
    Tensor tail = x.slice(0, {2, {}});
    tail += 1;
    CHECK(values(tail) == Floats{7, 9});
    CHECK(values(x) == Floats{2, 4, 7, 9});
}

TEST_CASE("a long chain of views needs no stack") {
    Tensor x = stored({{1, 2}, {3, 4}});
    Tensor v = x;
    for (int i = 0; i < 200'001; ++i) v = v.t();
    x += 1;
    CHECK(values(v) == Floats{2, 4, 3, 5});
    v += 1;
    CHECK(values(x) == Floats{3, 4, 5, 6});
}

TEST_CASE("assign casts and broadcasts, and refuses what does not fit") {
    Tensor x = zeros({2, 3});
    x.assign(tensor({1, 2, 3}));
    CHECK(x.dtype() == f32);
    CHECK(values(x) == Floats{1, 2, 3, 1, 2, 3});
    CHECK_THROWS_WITH_AS(x.assign(zeros({2})),
                         "assign(self: f32[2, 3], other: f32[2]): the value does not broadcast to self's shape",
                         ShapeError);
    CHECK_THROWS_AS(x.assign(zeros({1, 2, 3})), ShapeError);
    CHECK_THROWS_AS(x[0] += zeros({2, 3}), ShapeError);
    Tensor n = tensor({1, 2, 3});
    CHECK_THROWS_AS(n += 1.5, DTypeError);
    CHECK_THROWS_AS(n /= 2, DTypeError);
    n += 1;
    CHECK(n.to_vector<std::int64_t>() == std::vector<std::int64_t>{2, 3, 4});
    CHECK_THROWS_AS(Tensor().assign(x), ValueError);
    CHECK(values(x) == Floats{1, 2, 3, 1, 2, 3});
}

TEST_CASE("an expression that was computed is computed anew when it is built again") {
    const Tensor a = stored({1, 2}), b = stored({3, 4});
    const CounterScope count;
    const Tensor first = (a + b).realize();
    CHECK(count.kernels_launched() == 1);
    const Tensor second = (a + b).realize();
    CHECK(count.kernels_launched() == 2);
    first.realize();
    CHECK(values(second) == values(first));
    CHECK(count.kernels_launched() == 2);
    CHECK(first.data_ptr() != second.data_ptr());
}

TEST_CASE("equal pending expressions are computed once") {
    const Tensor a = stored({1, 2});
    const Tensor first = a * 3, second = a * 3;
    const CounterScope count;
    CHECK(values(first) == Floats{3, 6});
    CHECK(values(second) == Floats{3, 6});
    CHECK(count.kernels_launched() == 1);
}

TEST_CASE("a run computes what was written since the last one, in the same plan") {
    Tensor x = stored({1, 2}), y = stored({3, 4});
    x += 1;
    y *= 2;
    const CounterScope count;
    CHECK((x + y).sum().item() == 19);
    CHECK(count.runs() == 1);
    CHECK(values(x) == Floats{2, 3});
    CHECK(values(y) == Floats{6, 8});
    CHECK(count.runs() == 1);
    realize({});
    CHECK(count.runs() == 1);
}

TEST_CASE("a written tensor that is dropped is not computed") {
    {
        Tensor x = stored({1, 2});
        x += 1;
    }
    const CounterScope count;
    realize({});
    CHECK(count.runs() == 0);
}

TEST_CASE("the graph of a computed tensor is freed") {
    const Tensor a = stored({1, 2});
    forget_plans();
    const CounterScope count;
    Tensor x = a;
    for (int i = 0; i < 50; ++i) x = x * 2 + 1;
    x.realize();
    forget_plans();
    CHECK(count.live_nodes() <= 1);
    x = Tensor();
    CHECK(count.live_nodes() == 0);
}

TEST_CASE("a loop that writes and never reads stays bounded") {
    Tensor x = stored({0, 0});
    const CounterScope count;
    std::int64_t most = 0;
    for (int i = 0; i < 250'000; ++i) {
        x += 1;
        if (i % 1000 == 0) most = std::max(most, count.live_nodes());
    }
    CHECK(most <= 250'000);  // a plan of 100,000 nodes, and as many pending ones
    CHECK(count.runs() >= 2);
    CHECK(values(x) == Floats{250'000, 250'000});
}

TEST_CASE("a loop that reads keeps nothing") {
    Tensor total = zeros({1});
    const Tensor step = stored({1});
    total.realize();
    forget_plans();
    const CounterScope count;
    for (int i = 0; i < 100; ++i) {
        total += step * 2;
        if (i % 10 == 0) total.item();
    }
    CHECK(total.item() == 200);
    forget_plans();
    CHECK(count.live_nodes() <= 3);
    CHECK(count.live_buffers() <= 1);
}

TEST_CASE("a failed run takes back the writes that need what failed, and no others, and does not fail again") {
    const Tensor table = stored({10, 20, 30});
    Tensor x = stored({1, 2}), y = stored({5, 6}), row = y.slice(0, {0, 1});
    x += take(table, tensor({7, 1}));  // a bad index
    y += 1;
    row *= 2;
    CHECK_THROWS_AS(x.item<float>(), ValueError);
    CHECK_THROWS_AS(x.to_vector<float>(), IndexError);
    CHECK(values(x) == Floats{1, 2});
    CHECK(values(y) == Floats{12, 7});
    CHECK(values(row) == Floats{12});
    y += 1;
    CHECK(values(y) == Floats{13, 8});
}

TEST_CASE("when memory runs out, nothing is lost") {
    const DeviceScope host(cpu);
    Tensor x = stored({1, 2});
    const Tensor held = x.clone().realize();
    const Tensor also = x;
    const MemoryView pinned = x.memory();  // keeps the run from taking x's memory over
    x += 1;
    device::fail_allocation_after(1);
    CHECK_THROWS_AS(x.realize(), MemoryError);
    CHECK(values(x) == Floats{2, 3});
    x += 1;
    CHECK(values(also) == Floats{3, 4});
    CHECK(static_cast<const float*>(pinned.data)[0] == 1);
    CHECK_THROWS_AS(zeros({1 << 20, 1 << 20}).realize(), MemoryError);
}

TEST_CASE("a write takes the memory of the old value over, unless somebody still sees it") {
    const DeviceScope host(cpu);
    Tensor x = (stored({1, 2, 3}) + 0.5).realize();
    const void* const memory = x.data_ptr();
    x *= 2;
    x.realize();
    CHECK(x.data_ptr() == memory);
    {
        const Tensor before = x + 0;  // pending: it reads the old value, so it is computed along
        x *= 2;
        x.realize();
        CHECK(x.data_ptr() == memory);
        CHECK(values(before) == Floats{3, 5, 7});
    }
    const MemoryView exported = x.memory();
    x += 1;
    x.realize();
    CHECK(x.data_ptr() != exported.data);
    CHECK(static_cast<const float*>(exported.data)[0] == 6);
    const void* const second = x.data_ptr();
    const Tensor view = x[0];
    CHECK(view.item() == 7);
    x += 1;
    CHECK(values(x) == Floats{8, 12, 16});
    CHECK(x.data_ptr() == second);  // the view was stale and held nothing
    CHECK(view.item() == 8);
}

TEST_CASE("donation can be switched off") {
    const OptScope off{"donate"};
    Tensor x = stored({1, 2, 3});
    const void* const memory = x.data_ptr();
    x *= 2;
    x.realize();
    CHECK(x.data_ptr() != memory);
}

TEST_CASE("several threads build, write and read at once") {
    const Tensor shared = stored({1, 2, 3});
    Tensor written = zeros({3});
    std::atomic<int> wrong{0};
    std::vector<std::thread> threads;
    for (int t = 0; t < 3; ++t) {
        threads.emplace_back([&, t] {
            Tensor own = zeros({3});
            for (int i = 1; i <= 40; ++i) {
                own += shared * (t + 1);
                if (i % 4 == 0 && own.to_vector<float>()[2] != 3.f * static_cast<float>(i * (t + 1))) ++wrong;
                if (t == 0) written += 1;
                if (t == 1) written.to_vector<float>();
            }
        });
    }
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);
    CHECK(values(written) == Floats{40, 40, 40});
}

TEST_CASE("one thread's failing write does not raise in another; a thread that ends leaves its writes to the next") {
    Tensor bad = stored({1}), left = stored({2});
    bad += take(stored({1}), tensor({5}));
    double seen = 0;
    std::thread([&] {
        Tensor x = zeros({1});
        x += 1;
        seen = x.item();
        left += 1;
    }).join();
    CHECK(seen == 1);
    CHECK_THROWS_AS(realize({}), IndexError);
    CHECK(bad.item() == 1);
    const CounterScope count;
    left += 1;
    realize({});
    CHECK(count.runs() == 1);
    CHECK(left.item() == 4);  // the failed run has computed what the other thread had left
}

TEST_CASE("an interrupt at any moment loses nothing") {
    const BackendScope slow("ref");
    const std::int64_t size = 30'000;
    int interrupts = 0;
    for (int moment = 1; moment < 12; ++moment) {
        CAPTURE(moment);
        Tensor x = full({size}, 1.0).realize(), y = full({2 * size}, 2.0).realize(),
               z = full({3 * size}, 3.0).realize();
        const MemoryView seen = z.memory();
        z *= 7;  // takes no memory over: the old one is seen from outside. It may be interrupted
        x *= 5;  // takes the old memory over: from here on the run goes to its end
        y *= 7;
        int polls = 0;
        set_interrupt_callback([&] { return ++polls == moment; });
        try {
            z.realize();
        } catch (const Interrupted&) {
            ++interrupts;
        }
        set_interrupt_callback(nullptr);
        CHECK(values(x) == Floats(size, 5));
        CHECK(values(y) == Floats(2 * size, 14));
        CHECK(values(z) == Floats(3 * size, 21));
    }
    CHECK(interrupts > 0);
}

TEST_CASE("memory of a constant is given back, though cached plans know the constant") {
    forget_plans();
    const CounterScope count;
    Tensor x = full({1000}, 1.5).realize();
    CHECK(count.live_buffers() == 1);
    const void* const memory = x.data_ptr();
    x *= 2;
    x.realize();
    CHECK(x.data_ptr() == memory);
    x = Tensor();
    CHECK(count.live_buffers() == 0);
    CHECK(values(full({2}, 1.5)) == Floats{1.5, 1.5});
}

TEST_CASE("a box is written where it belongs when simplifying has changed what is written") {
    for (const int start : {1, 0, 1}) {
        CAPTURE(start);
        Tensor x = full({3}, -3.0).realize();
        const Tensor v = stored({-2}), factor = v * 1;
        x.slice(0, {start, start + 1}).assign(factor);
        Floats expected(3, -3);
        expected[start] = -2;
        CHECK(values(x) == expected);
        CHECK(values(factor) == Floats{-2});
        Tensor y = (v * 2) * 1;
        x.slice(0, {start, start + 1}).assign(y);
        expected[start] = -4;
        const Tensor both[] = {y, x};
        realize(both);
        CHECK(values(y) == Floats{-4});
        CHECK(values(x) == expected);
    }
}
