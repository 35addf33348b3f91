// tests/cells/custom_gradient_test.cpp: derivatives that a program brings along, hooks, and gradients of several outputs.
#include <doctest/doctest.h>
#include "pipeline/plan_cache.h"
#include "pipeline/programs.h"

#include <weft/weft.h>

#include <vector>

using namespace weft;

namespace {

using Values = std::vector<float>;

Tensor leaf(const Nested& values) {
    Tensor x = tensor(values, f32);
    x.set_requires_grad();
    return x;
}

Tensor cube(const Tensor& x) {
    const Tensor y = pow(x.detach(), 3);
    return custom_gradient("cube", {&x, 1}, {&y, 1}, [saved = SavedTensor(x)](auto gradients, auto) {
        const Tensor x = saved.unpack();
        return std::vector<Tensor>{gradients[0] * 3 * x * x};
    })[0];
}

}  // namespace

TEST_CASE("custom_gradient: values, gradients, higher derivatives") {
    const Tensor x = leaf({1, 2});
    const Tensor y = cube(x);
    CHECK(y.to_vector<float>() == Values{1, 8});
    CHECK(grad_fn_name(y) == "CubeBackward");
    const Tensor total = y.sum();
    const auto first = gradients({&total, 1}, {&x, 1}, {.create_graph = true});
    CHECK(first[0].to_vector<float>() == Values{3, 12});
    const Tensor slopes = first[0].sum();
    CHECK(gradients({&slopes, 1}, {&x, 1})[0].to_vector<float>() == Values{6, 12});
    total.backward();
    CHECK(x.grad().to_vector<float>() == Values{3, 12});
    const NoGrad none;
    CHECK_FALSE(cube(x).requires_grad());
}

TEST_CASE("custom_gradient: one call for several outputs, which it is given") {
    const Tensor x = leaf({1, 2});
    int calls = 0;
    const std::vector<Tensor> plain = {exp(x.detach()), x.detach() * 2};
    const auto outputs = custom_gradient("pair", {&x, 1}, plain, [&](auto g, auto made) {
        ++calls;
        return std::vector<Tensor>{g[0].defined() ? g[0] * made[0] + g[1] * 2 : g[1] * 2};
    });
    const Tensor loss = (log(outputs[0]) + outputs[1] * 10).sum();
    CHECK(gradients({&loss, 1}, {&x, 1})[0].to_vector<float>() == Values{21, 21});
    CHECK(calls == 1);
    outputs[1].backward(ones({2}));
    CHECK(x.grad().to_vector<float>() == Values{2, 2});
    CHECK_THROWS_WITH_AS(
        custom_gradient("none", {&x, 1}, {&plain[0], 1}, [](auto, auto) { return std::vector<Tensor>(); })[0]
            .sum()
            .backward(),
        "none.backward() must return a gradient or nothing for each of 1 inputs, and returned 0", GradError);
}

TEST_CASE("custom_gradient: a long chain is freed without a deep stack, and nothing stays") {
    const Tensor x = leaf({1, 2});
    realize({});
    const CounterScope count;
    {
        Tensor y = x;
        for (int i = 0; i < 5'000; ++i) y = cube(y);
    }
    pipeline::clear_plan_cache();  // of what was run meanwhile, since much was pending
    pipeline::clear_program_cache();
    CHECK(count.live_nodes() <= 2);
}

TEST_CASE("hooks see and replace gradients") {
    const Tensor x = leaf({1, 2});
    const HookHandle handle = register_hook(x, [](const Tensor& g) { return g * 10; });
    (x * 3).sum().backward();
    CHECK(x.grad().to_vector<float>() == Values{30, 30});
    handle.remove();
    handle.remove();
    (x * 3).sum().backward();
    CHECK(x.grad().to_vector<float>() == Values{33, 33});

    int told = 0;
    register_post_accumulate_grad_hook(x, [&](const Tensor& leaf) { told += leaf.grad().defined(); });
    const Tensor y = x * 2;
    y.retain_grad();
    register_hook(y, [](const Tensor& g) { return g + 1; });
    x.zero_grad();
    (y * 5).sum().backward();
    CHECK(told == 1);
    CHECK(y.grad().to_vector<float>() == Values{6, 6});
    CHECK(x.grad().to_vector<float>() == Values{12, 12});
    CHECK_THROWS_AS(register_hook(ones({2}), [](const Tensor& g) { return g; }), GradError);
    CHECK_THROWS_AS(register_post_accumulate_grad_hook(x * 2, [](const Tensor&) {}), GradError);
}

TEST_CASE("backward and gradients of several outputs, of some inputs, with a graph") {
    const Tensor a = leaf({1}), b = leaf({2});
    const std::vector<Tensor> outputs = {a * b, a * 3}, seeds = {tensor({10}, f32), Tensor()};
    backward(outputs, {.gradients = seeds, .retain_graph = true, .inputs = {&b, 1}});
    CHECK(b.grad().to_vector<float>() == Values{10});
    CHECK_FALSE(a.grad().defined());
    CHECK(gradients(outputs, {&a, 1})[0].to_vector<float>() == Values{5});
    CHECK_THROWS_AS(gradients({&outputs[1], 1}, {&b, 1}), GradError);
    CHECK_FALSE(gradients({&outputs[1], 1}, {&b, 1}, {.allow_unused = true})[0].defined());
    pow(a, 3).backward({}, false, true);
    CHECK(a.grad().requires_grad());
    CHECK(gradient(a.grad(), {&a, 1})[0].to_vector<float>() == Values{6});
}
