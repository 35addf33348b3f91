// What requires a gradient, where gradients are collected, and when a graph is let go: PyTorch's rules.
#include "cells/state.h"
#include "pipeline/plan_cache.h"
#include "tensor/cell.h"

#include <weft/debug.h>
#include <weft/ops.h>

#include <doctest/doctest.h>

#include <cmath>
#include <optional>
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
Tensor parameter(const Nested& numbers) { return tensor(numbers, f32).set_requires_grad(); }

}  // namespace

TEST_CASE("two equal parameters get gradients of their own") {
    const Tensor a = zeros({3}).set_requires_grad(), b = zeros({3}).set_requires_grad();
    (a * 2 + b * 5).sum().backward();
    CHECK(values(a.grad()) == Floats{2, 2, 2});
    CHECK(values(b.grad()) == Floats{5, 5, 5});
}

TEST_CASE("w * 2 under no_grad stands beside w * 2") {
    const Tensor w = parameter({1, 2});
    Tensor silent;
    {
        const NoGrad scope;
        CHECK_FALSE(grad_enabled());
        silent = w * 2;
        {
            const EnableGrad inner;
            CHECK((w * 2).requires_grad());
        }
    }
    CHECK(grad_enabled());
    const Tensor loud = w * 2;
    CHECK_FALSE(silent.requires_grad());
    CHECK(loud.requires_grad());
    CHECK(values(silent) == values(loud));
    (silent * loud).sum().backward();
    CHECK(values(w.grad()) == Floats{4, 8});
}

TEST_CASE("requires_grad, is_leaf, and what may not require a gradient") {
    Tensor x = tensor({1, 2}, f32);
    CHECK(x.is_leaf());
    CHECK_FALSE(x.requires_grad());
    x.set_requires_grad();
    CHECK(x.is_leaf());
    CHECK(x.requires_grad());
    Tensor y = x * 2;
    CHECK_FALSE(y.is_leaf());
    CHECK(y.requires_grad());
    CHECK_FALSE((x > 1).requires_grad());
    CHECK_FALSE(x.to(i32).requires_grad());
    CHECK_FALSE(x.detach().requires_grad());
    CHECK(x.to(f64).requires_grad());
    CHECK_THROWS_AS(y.set_requires_grad(false), GradError);
    CHECK_THROWS_AS(tensor({1, 2}).set_requires_grad(), GradError);
    x.set_requires_grad(false);
    CHECK_FALSE((x * 2).requires_grad());
    CHECK_FALSE(x.grad().defined());
    CHECK_THROWS_AS(Tensor().requires_grad(), ValueError);
}

TEST_CASE("a leaf is not written in place, except under no_grad or through its data") {
    Tensor w = parameter({1, 2});
    CHECK_THROWS_AS(w += 1, GradError);
    CHECK_THROWS_AS(w[0].zero_(), GradError);
    CHECK(values(w) == Floats{1, 2});
    {
        const NoGrad scope;
        w += 1;
        w[1].fill_(9);
    }
    CHECK(w.is_leaf());
    CHECK(w.requires_grad());
    CHECK(values(w) == Floats{2, 9});
    w.data() -= tensor({1, 1}, f32);
    CHECK(values(w) == Floats{1, 8});
    w.detach()[0].fill_(4);
    CHECK(values(w) == Floats{4, 8});
    (w * w).sum().backward();
    CHECK(values(w.grad()) == Floats{8, 16});
}

TEST_CASE("a parameter that is updated between forward and backward") {
    Tensor w = parameter({3});
    const Tensor loss = (w * w).sum();
    {
        const NoGrad scope;
        w.assign(tensor({100}, f32));
    }
    loss.backward();
    CHECK(values(w.grad()) == Floats{6});  // of the value that the loss was built on, under the cell's own name
    CHECK(loss.item() == 9);
    CHECK(values(w) == Floats{100});
}

TEST_CASE("in-place writes to a computed tensor are differentiated") {
    const Tensor w = parameter({1, 2});
    Tensor h = w * 3;
    h += w;
    h[0].zero_();
    h.sum().backward();
    CHECK(values(w.grad()) == Floats{0, 4});
}

TEST_CASE("under no_grad a computed tensor changes its value and keeps its history") {
    const Tensor w = parameter({1, 2});
    Tensor h = w * 3;
    {
        const NoGrad scope;
        h += 100;
    }
    h.detach()[0].fill_(7);
    CHECK(values(h) == Floats{7, 106});
    h.sum().backward();
    CHECK(values(w.grad()) == Floats{3, 3});
}

TEST_CASE("gradients accumulate over several backwards, in the same tensor") {
    const Tensor w = parameter({1, 2});
    (w * 2).sum().backward();
    const Tensor g = w.grad();
    (w * 3).sum().backward();
    CHECK(values(g) == Floats{5, 5});
    (w * 3).sum().backward();
    CHECK(values(w.grad()) == Floats{8, 8});
    CHECK(values(g) == Floats{8, 8});
    w.zero_grad();
    CHECK_FALSE(w.grad().defined());
    (w * 4).sum().backward();
    CHECK(values(w.grad()) == Floats{4, 4});
    CHECK(values(g) == Floats{8, 8});
}

TEST_CASE("gradients that accumulate without ever being read stay bounded") {
    const Tensor w = parameter({1, 2});
    const CounterScope count;
    for (int i = 0; i < 40'000; ++i) (w * 2).sum().backward();
    CHECK(count.live_nodes() < 250'000);  // a plan of 100,000 nodes, and as many pending ones
    CHECK(values(w.grad()) == Floats{80'000, 80'000});
}

TEST_CASE("item() before, between and after backward gives the same") {
    for (const int when : {0, 1, 2, 3}) {
        CAPTURE(when);
        const Tensor w = parameter({1, 2, 3});
        const Tensor h = (w * w).exp();
        const Tensor loss = (h * w).mean();
        const double expected = (std::exp(1.0) + 2 * std::exp(4.0) + 3 * std::exp(9.0)) / 3;
        if (when == 0 || when == 3) CHECK(loss.item() == doctest::Approx(expected));
        loss.backward();
        if (when == 1 || when == 3) CHECK(loss.item() == doctest::Approx(expected));
        const Floats g = values(w.grad());
        for (int i = 0; i < 3; ++i) {
            const double x = i + 1;
            CHECK(g[i] == doctest::Approx((1 + 2 * x * x) * std::exp(x * x) / 3));
        }
        if (when == 2 || when == 3) CHECK(loss.item() == doctest::Approx(expected));
        CHECK(values(h)[0] == doctest::Approx(std::exp(1.0)));
    }
}

TEST_CASE("values that a run has stored anyway are used by a later backward") {
    const Tensor x = rand({8, 16}).realize(), w = rand({16, 4}).set_requires_grad();
    w.realize();
    const Tensor h = matmul(x, w).exp();  // stored, for the sum over all of it
    const Tensor loss = h.sum();
    CHECK_FALSE(node_of(h)->realized);
    loss.item();
    CHECK(node_of(h)->realized);
    CHECK_FALSE(h.is_leaf());
    loss.backward();
    const std::vector<float> expected = matmul(x.t(), h.detach()).to_vector<float>(),
                             found = w.grad().to_vector<float>();
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(found[i] == doctest::Approx(expected[i]));
}

TEST_CASE("a second backward raises, with or without a run in between") {
    for (const bool run_between : {false, true}) {
        const Tensor w = parameter({1, 2});
        const Tensor h = w.exp();
        const Tensor loss = h.sum();
        loss.backward();
        if (run_between) loss.item();
        CHECK_THROWS_AS(loss.backward(), GradError);
        CHECK_THROWS_AS((h * 2).sum().backward(), GradError);
        CHECK(loss.requires_grad());
        CHECK_FALSE(loss.is_leaf());
        CHECK(values(w.grad())[0] == doctest::Approx(std::exp(1.0)));
        CHECK(loss.item() == doctest::Approx(std::exp(1.0) + std::exp(2.0)));
        CHECK_THROWS_AS(loss.backward(), GradError);
        CHECK(values(h.detach())[0] == doctest::Approx(std::exp(1.0)));
    }
}

TEST_CASE("retain_graph allows a second one; gradient() never lets go") {
    const Tensor w = parameter({1, 2});
    const Tensor loss = (w * w).sum();
    loss.backward({}, true);
    loss.item();
    loss.backward({}, true);
    CHECK(values(w.grad()) == Floats{4, 8});
    const Tensor targets[] = {w};
    CHECK(values(gradient(loss, targets)[0]) == Floats{2, 4});
    CHECK(values(gradient(loss, targets)[0]) == Floats{2, 4});
    loss.backward();
    CHECK(values(w.grad()) == Floats{6, 12});
    CHECK_THROWS_AS(loss.backward(), GradError);
}

TEST_CASE("backward lets go of the graph: handles that live on hold only their values") {
    const Tensor w = parameter({1, 2});
    w.realize();
    forget_plans();
    const CounterScope count;
    Tensor h = w * 2;
    Tensor view = h[0];
    Tensor loss = h.exp().sum();
    Tensor flat = loss.reshape({1});
    flat.backward();
    realize({});
    CHECK(count.runs() == 1);
    w.zero_grad();
    forget_plans();
    CHECK(count.live_nodes() <= 10);
    CHECK(values(h) == Floats{2, 4});
    CHECK(view.item() == 2);
    CHECK(flat.item() == doctest::Approx(std::exp(2.0) + std::exp(4.0)));
    CHECK_THROWS_AS(view.backward(), GradError);
    CHECK_THROWS_AS(flat.backward(), GradError);
    h = view = loss = flat = Tensor();
    forget_plans();
    CHECK(count.live_nodes() == 0);
}

TEST_CASE("loss, gradients and an update by hand are one run") {
    Tensor w = parameter({1, 2});
    w.realize();
    const CounterScope count;
    const Tensor loss = (w * w).sum();
    loss.backward();
    {
        const NoGrad scope;
        w -= w.grad() * 0.25;
    }
    CHECK(loss.item() == 5);
    CHECK(count.runs() == 1);
    CHECK(values(w) == Floats{0.5, 1});
    CHECK(values(w.grad()) == Floats{2, 4});
    CHECK(count.runs() == 1);
}

TEST_CASE("what backward refuses") {
    const Tensor w = parameter({1, 2});
    CHECK_THROWS_AS((w * 2).backward(), GradError);
    CHECK_THROWS_AS(tensor({1}, f32).sum().backward(), GradError);
    CHECK_THROWS_AS((w * 2).backward(ones({3})), ShapeError);
    CHECK_THROWS_AS(Tensor().backward(), ValueError);
    CHECK_THROWS_AS((w > 1).sum().backward(), GradError);
    (w * 2).backward(tensor({1, 10}, f32));
    CHECK(values(w.grad()) == Floats{2, 20});
    CHECK_FALSE(w.grad().requires_grad());
}

TEST_CASE("retain_grad collects the gradient of a computed tensor") {
    const Tensor w = parameter({1, 2});
    const Tensor h = w * 3;
    h.retain_grad();
    (h * h).sum().backward();
    CHECK(values(h.grad()) == Floats{6, 12});
    CHECK(values(w.grad()) == Floats{18, 36});
    CHECK_THROWS_AS(tensor({1}, f32).retain_grad(), GradError);
}

TEST_CASE("derivatives of derivatives") {
    const Tensor x = parameter({2});
    const Tensor targets[] = {x};
    const Tensor cube = (x * x * x).sum();
    const Tensor first = gradient(cube, targets)[0], second = gradient(first.sum(), targets)[0];
    CHECK(values(first) == Floats{12});
    CHECK(values(second) == Floats{12});
    CHECK(values(gradient(second.sum(), targets)[0]) == Floats{6});
    const Tensor other[] = {parameter({1, 1})};
    CHECK(values(gradient(cube, other)[0]) == Floats{0, 0});
    first.sum().backward();
    CHECK(values(x.grad()) == Floats{12});
}

TEST_CASE("gradient() of a leaf that was written since") {
    Tensor w = parameter({3});
    const Tensor y = (w * w).sum();
    {
        const NoGrad scope;
        w += 1;
    }
    const Tensor targets[] = {w};
    CHECK(values(gradient(y, targets)[0]) == Floats{6});
}

TEST_CASE("a failed backward run takes its gradients back") {
    const Tensor w = parameter({1, 2});
    (w * 1).sum().backward();
    w.grad().realize();
    const Tensor bad = tensor({9});
    const Tensor v = parameter({1, 2});
    const Tensor loss = (take(w, bad) * v).sum();
    loss.backward();
    CHECK_THROWS_AS(loss.item(), IndexError);
    CHECK(values(w.grad()) == Floats{1, 1});
    CHECK_FALSE(v.grad().defined());
    CHECK(values(w) == Floats{1, 2});
    realize({});
}

TEST_CASE("a leaf's own pending value is computed once") {
    const Tensor w = (tensor({1, 2}, f32) * 3).set_requires_grad();
    const CounterScope count;
    CHECK((w * 2).sum().item() == 18);
    CHECK(cells::stored_value(node_of(w)));
    CHECK(values(w) == Floats{3, 6});
    CHECK(count.runs() == 1);
}

TEST_CASE("set_grad and gradients of tensors that are gone") {
    const Tensor w = parameter({1, 2});
    w.set_grad(tensor({1, 1}, f32));
    (w * 2).sum().backward();
    CHECK(values(w.grad()) == Floats{3, 3});
    CHECK_THROWS_AS(w.set_grad(zeros({3})), ShapeError);
    std::optional<Tensor> gone = parameter({1, 2});
    const Tensor loss = (*gone * w).sum();
    gone.reset();
    loss.backward();
    CHECK(values(w.grad()) == Floats{4, 5});
}

TEST_CASE("equal expressions of two tensors: a backward() of one does not let go of the other") {
    const Tensor w = parameter({1, 2});
    const Tensor a = (w * w).sum(), b = (w * w).sum();
    a.backward();
    CHECK_THROWS_AS(a.backward(), GradError);
    b.backward();
    CHECK(values(w.grad()) == Floats{4, 8});
}

TEST_CASE("a backward() through an old view does not let go of what its base holds now") {
    const Tensor w = parameter({1, 2});
    Tensor x = w * 2;
    const Tensor row = x[0], loss = row.sum();
    x.assign(w * 3);
    loss.backward();
    x.sum().backward();
    CHECK(values(w.grad()) == Floats{5, 3});
}

TEST_CASE("gradient() of what was built partly before and partly after a write of the leaf") {
    Tensor w = parameter({1, 2});
    const Tensor before = w * 3;
    {
        const NoGrad scope;
        w += 1;
    }
    const Tensor targets[] = {w};
    CHECK(values(gradient((before + w * w).sum(), targets)[0]) == Floats{7, 9});
}

TEST_CASE("a tensor that no longer requires a gradient collects none") {
    Tensor w = parameter({1, 2});
    const Tensor v = parameter({1, 1});
    const Tensor y = (w * v).sum();
    w.set_requires_grad(false);
    y.backward();
    CHECK_FALSE(w.grad().defined());
    CHECK(values(v.grad()) == Floats{1, 2});
}

TEST_CASE("a gradient that was given a history keeps it when more is added") {
    const Tensor w = parameter({1, 2}), v = parameter({1, 1});
    Tensor g = tensor({5, 5}, f32);
    w.set_grad(g);
    g += v;
    (w * 2).sum().backward();
    CHECK(values(g.detach()) == Floats{8, 8});
    g.sum().backward();
    CHECK(values(v.grad()) == Floats{1, 1});
}
