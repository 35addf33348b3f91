// What a program costs, counted: values that a handle can reach are computed once, loops that nobody reads have bounds, and what differs in
// numbers alone is compiled once.
#include "cells/state.h"
#include "device/pool.h"
#include "ir/node.h"
#include "pipeline/plan_cache.h"
#include "pipeline/programs.h"
#include "tensor/cell.h"

#include <weft/debug.h>
#include <weft/ops.h>
#include <weft/shared_memory.h>
#include <weft/weft.h>

#include <doctest/doctest.h>

#include <cmath>
#include <vector>

using namespace weft;

namespace {

Tensor counted(Shape shape) { return (arange(numel(shape)).to(f32) * 0.01).reshape(shape).contiguous().realize(); }

}  // namespace

TEST_CASE("a handle that is read 200 times launches its producer once") {
    const Tensor x = counted({200, 32}), w = counted({32, 8});
    const Tensor best = argmax(matmul(x, w), 1);
    (void)best[0].item<std::int64_t>();
    const CounterScope count;
    std::int64_t sum = 0;
    for (std::int64_t i = 0; i < 200; ++i) sum += best[i].item<std::int64_t>();
    CHECK(count.kernels_launched() == 0);  // the first read has stored it, and an element is a view of that
    CHECK(sum == 7 * 200);
}

TEST_CASE("a view of memory is memory: reading it keeps its history, and it sees later writes") {
    const DeviceScope host(cpu);  // the host copies others' memory
    Tensor x = counted({6, 4});
    const Tensor view = unflatten(transpose(x, 0, 1)[1].slice(0, {1, 5}), 0, {2, 2});
    Tensor w = counted({3}).set_requires_grad(true);
    const Tensor of_leaf = w[2];
    const CounterScope count;
    const std::vector<float> all = x.to_vector<float>();
    CHECK(view.to_vector<float>() == (std::vector<float>{all[5], all[9], all[13], all[17]}));
    CHECK(of_leaf.item() == doctest::Approx(0.02));
    CHECK(count.runs() == 0);
    x.add_(1.0);
    CHECK(view.to_vector<float>()[0] == doctest::Approx(1.05f));
    (of_leaf * 2.0).backward();
    CHECK(w.grad().to_vector<float>() == (std::vector<float>{0, 0, 2}));
}

TEST_CASE("memory that was lent is the tensor's own again when nobody holds it") {
    const DeviceScope host(cpu);  // only its memory is lent
    Tensor x = (counted({4, 3}) + 0.0).realize();  // no view
    const Tensor row = x[1], before = x * 2.0;
    (void)row.to_vector<float>();
    auto whole = lend_memory(x), part = lend_memory(row);
    REQUIRE((whole && part));
    CHECK(whole->data != part->data);
    CHECK(x.cell()->shared);
    static_cast<float*>(const_cast<void*>(part->data))[2] = 100;
    CHECK(row.to_vector<float>()[2] == 100);
    CHECK((x * 2.0).to_vector<float>()[5] == 200);
    CHECK(before.to_vector<float>()[5] == doctest::Approx(0.1));
    whole.reset();
    CHECK(x.cell()->shared);
    x.add_(1.0);
    CHECK(static_cast<const float*>(part->data)[2] == 101);
    part.reset();
    CHECK_FALSE(x.cell()->shared);
    CHECK((x * 1.0).to_vector<float>()[5] == 101);
    Tensor w = counted({3}).set_requires_grad(true);
    const Tensor out = w * 2.0;
    (void)lend_memory(out.detach());
    const std::size_t nodes = ir::live_nodes();
    for (int i = 0; i < 10; ++i) (void)lend_memory(out.detach());
    CHECK(ir::live_nodes() == nodes);  // its history does not grow
    out.sum().backward();
    CHECK(w.grad().to_vector<float>() == std::vector<float>(3, 2));
    CHECK_FALSE(lend_memory(expand(x[0], {5, 3})));
    CHECK_FALSE(x.cell()->shared);
    float read_only[] = {1, 2};
    CHECK_FALSE(lend_memory(from_memory(read_only, {2}, {1}, f32, nullptr)));
}

TEST_CASE("a transposed view of shared memory is copied as it lies there") {
    std::vector<float> memory(12);
    for (std::size_t i = 0; i < memory.size(); ++i) memory[i] = static_cast<float>(i);
    const Tensor x = from_shared_memory(memory.data(), {3, 4}, {4, 1}, f32, nullptr);
    const Tensor transposed = transpose(x, 0, 1), reversed = flip(x, {0, 1}), far = x.slice(1, {0, 4, 3});
    const Tensor sum = transposed + 0.0, back = reversed + 0.0, few = far + 0.0;
    memory.assign(12, 0);
    CHECK(sum.to_vector<float>() == (std::vector<float>{0, 4, 8, 1, 5, 9, 2, 6, 10, 3, 7, 11}));
    CHECK(back.to_vector<float>() == (std::vector<float>{11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0}));
    CHECK(few.to_vector<float>() == (std::vector<float>{0, 3, 4, 7, 8, 11}));
}

TEST_CASE("what a run computes on the way is stored if a handle sees it, and computed again by nobody") {
    const Tensor x = counted({64, 32}), w = counted({32, 16});
    const Tensor logits = matmul(x, w), loss = logits.mean(), top = logits.sum(1);
    const CounterScope first;
    (void)loss.item();
    const std::int64_t launched = first.kernels_launched();
    const CounterScope second;
    (void)loss.item();
    (void)top.to_vector<float>();
    (void)logits.to_vector<float>();
    CHECK(launched <= 3);
    CHECK(second.kernels_launched() <= 1);
}

TEST_CASE("the steps of a loop differ in constants: one of them is compiled") {
    const Tensor start = counted({16, 24}), w = counted({24, 24});
    const auto steps = [&](int count, bool read) {
        Tensor x = start;
        for (int t = 0; t < count; ++t) {
            x = tanh(matmul(x + full({16, 1}, 0.125 * t), w) * (0.25 / (t + 1)));
            if (read) x.realize();
        }
        return x.to_vector<float>();
    };
    const std::vector<float> expected = steps(12, true);
    pipeline::clear_plan_cache();
    pipeline::clear_program_cache();
    const CounterScope count;
    CHECK(steps(12, false) == expected);
    CHECK(count.kernels_compiled() <= 4);
    CHECK(count.plans_made() == 1);
}

TEST_CASE("the steps of a loop over slices are one kernel") {
    const Tensor x = counted({12, 6, 20}), w = counted({20, 20});
    const auto steps = [&](bool read) {
        const Tensor wide = matmul(x, w) * 0.1;
        if (read) wide.realize();
        Tensor h = zeros({6, 20});
        for (std::int64_t t = 0; t < 12; ++t) {
            h = tanh(matmul(h, w) * 0.01 + wide[t]);
            if (read) h.realize();
        }
        return h.to_vector<float>();
    };
    const std::vector<float> expected = steps(true);
    for (const bool gradients : {false, true}) {  // without, the slices are those of a tensor that was run before
        CAPTURE(gradients);
        pipeline::clear_plan_cache();
        pipeline::clear_program_cache();
        Tensor(w).set_requires_grad(gradients);
        const CounterScope count;
        CHECK(steps(false) == expected);
        CHECK(count.kernels_compiled() <= 4);
    }
    Tensor(w).set_requires_grad(false);
}

TEST_CASE("a slice without elements") {
    Tensor x = counted({2, 5});
    const Tensor powers = pow(x + 1.0, x.sum(1).unsqueeze(1));
    CHECK(prod(powers.slice(0, {2, 2}).slice(1, {2, 3}), 0).to_vector<float>() == std::vector<float>{1});
    x.set_requires_grad(true);  // so that it is one run
    const Tensor again = pow(x + 1.0, x.sum(1).unsqueeze(1));
    CHECK(prod(again.slice(0, {2, 2}).slice(1, {2, 3}), 0).to_vector<float>() == std::vector<float>{1});
}

TEST_CASE("slices of a value whose operand is donatable") {
    const Tensor x = counted({8, 40}), w = counted({40, 40});
    for (const bool donated :
         {false, true}) {  // whether the kernel that writes the value also writes where its operand lay
        CAPTURE(donated);
        Tensor h = (x + 1.0).realize();
        const Tensor old = h.clone().realize();
        Tensor v = zeros({8}).realize();
        v.set_requires_grad(true);                        // so that it is one run
        const Tensor rows = x.sum(1).unsqueeze(1) * 0.0;  // so that nobody computes it twice
        const Tensor doubled = h * 2.0 + rows + v.unsqueeze(1);
        const Tensor tripled = donated ? h * 3.0 + rows : Tensor();
        h = Tensor();
        std::vector<Tensor> all;
        if (donated) all.push_back(tripled);
        all.push_back(doubled);
        Tensor last = zeros({1, 40});
        for (std::int64_t i : {0, 3, 7}) {  // a kernel each
            last = tanh((matmul(last, w) + doubled.slice(0, {i, i + 1})) * 0.01);
            all.push_back(last);
        }
        realize(all);
        const Tensor expected = (old * 2.0).realize();
        CHECK(doubled.to_vector<float>() == expected.to_vector<float>());
        if (donated) CHECK(tripled.to_vector<float>() == (old * 3.0).to_vector<float>());
        Tensor again = zeros({1, 40});
        for (std::int64_t i : {0, 3, 7})
            again = tanh((matmul(again, w) + expected.slice(0, {i, i + 1}).clone().realize()) * 0.01).realize();
        CHECK(last.to_vector<float>() == again.to_vector<float>());
    }
}

TEST_CASE("a loop that nobody reads is cut where it was cut before, and keeps nothing") {
    const Tensor start = counted({8});
    const auto loop = [&](int count) {
        Tensor x = start;
        for (int i = 0; i < count; ++i) x = sin(x * 0.5) + 1.0;
        return x;
    };
    (void)loop(40'000).to_vector<float>();
    const std::size_t before = ir::live_nodes();
    const CounterScope count;
    const Tensor end = loop(60'000);
    CHECK(ir::live_nodes() < before + 8 * cells::kPendingDepth);
    CHECK(count.plans_made() <= 2);
    float expected = 0.07f;
    for (int i = 0; i < 60'000; ++i) expected = std::sin(expected * 0.5f) + 1.0f;
    CHECK(end.to_vector<float>()[7] == doctest::Approx(expected).epsilon(1e-5));
}

TEST_CASE("data that only a pending sum needs is let go") {
    const std::vector<float> numbers(std::size_t{4} << 20, 0.5f);  // 16 MB
    const Shape shape{static_cast<std::int64_t>(numbers.size())};
    Tensor sum = zeros({}).realize();
    const std::int64_t before = device::bytes_in_use();
    std::int64_t most = 0;
    for (int i = 0; i < 40; ++i) {
        sum = sum + from_data(numbers, shape).mean();
        most = std::max(most, device::bytes_in_use() - before);
    }
    CHECK(most <= cells::kPendingBytes + (std::int64_t{64} << 20));
    CHECK(sum.item() == 20.0);
}

TEST_CASE("a history with gradients is planned whole") {
    Tensor w = counted({4});
    w.set_requires_grad(true);
    Tensor x = w;
    const CounterScope count;
    for (int i = 0; i < 5'000; ++i) x = x * 0.999 + 0.001;
    x.sum().backward();
    CHECK(count.runs() == 0);
    CHECK(w.grad().to_vector<float>()[0] == doctest::Approx(std::pow(0.999, 5'000)).epsilon(1e-3));
}
