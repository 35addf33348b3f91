// Traced functions: the same values and effects as without jit, no graph built, and a state as before after any
// failure.
#include "core/config.h"
#include "device/pool.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

#include <sstream>
#include <thread>
#include <vector>

using namespace weft;

namespace {

using Floats = std::vector<float>;
Floats values(const Tensor& t) { return t.to_vector<float>(); }
Tensor stored(const Nested& numbers) { return tensor(numbers, f32); }
Tensor leaf(const Nested& numbers) { return stored(numbers).set_requires_grad(); }

}  // namespace

TEST_CASE("jit computes what the function computes, and calls it once") {
    int calls = 0;
    const auto f = jit([&](Tensor x, Tensor y) {
        ++calls;
        return (x * y + 1).sum(0);
    });
    CHECK(values(f(stored({1, 2}), stored({3, 4}))) == Floats{13});
    const CounterScope count;
    CHECK(values(f(stored({5, 6}), stored({7, 8}))) == Floats{85});
    CHECK(values(f(stored({5, 6}) * 2, stored({1, 1}))) == Floats{24});  // a pending input is computed first
    CHECK(calls == 1);
    CHECK(count.kernels_compiled() <= 1);
}

TEST_CASE("jit takes functions of several results, none, and any number of inputs") {
    const auto pair = jit([](const Tensor& x) { return std::pair(x + 1, x * 2); });
    for (int i = 0; i < 3; ++i) {
        const auto [a, b] = pair(stored({1, 2}));
        CHECK(values(a) == Floats{2, 3});
        CHECK(values(b) == Floats{2, 4});
    }
    Tensor total = stored({0});
    const auto add = jit([&](Tensor x) { total += x; });
    const auto twice = jit([&] { return total * 2; });
    for (int i = 1; i < 4; ++i) {
        add(stored({10}));
        CHECK(values(twice()) == Floats{20.0f * static_cast<float>(i)});
    }
    const Jit sum([](std::span<const Tensor> inputs) {
        Tensor result = inputs[0];
        for (const Tensor& input : inputs.subspan(1)) result = result + input;
        return std::vector<Tensor>{result};
    });
    CHECK(values(sum({stored({1}), stored({2}), stored({3})})[0]) == Floats{6});
    CHECK(values(sum({stored({1}), stored({2})})[0]) == Floats{3});
    CHECK(sum.traces() == 2);
}

TEST_CASE("jit reads closed-over tensors at each call") {
    Tensor w = stored({1, 2});
    const Tensor row = w[1];
    const auto f = jit([&](Tensor x) { return x * w + row; });
    CHECK(values(f(stored({1, 1}))) == Floats{3, 4});
    w += 1;
    CHECK(values(f(stored({1, 1}))) == Floats{5, 6});
    w[0].fill_(10);
    CHECK(values(f(stored({1, 1}))) == Floats{13, 6});
    w.assign(stored({{1, 2}, {3, 4}}).t()[1]);  // other strides, which are made dense or traced anew
    CHECK(values(f(stored({1, 1}))) == Floats{6, 8});
}

TEST_CASE("jit keeps apart tensors that share memory when it traces") {
    Tensor a = stored({1, 2}), b = zeros({2});
    b.assign(a);
    b.realize();
    const auto f = jit([&] { return a * 10 + b; });
    CHECK(values(f()) == Floats{11, 22});
    a += 1;
    CHECK(values(f()) == Floats{21, 32});
    b.zero_();
    CHECK(values(f()) == Floats{20, 30});
}

TEST_CASE("jit computes pending closed-over tensors once, and reads them as they are later") {
    manual_seed(3);
    Tensor w = randn({4}), bias = zeros({4}), turned = (stored({{1, 2}, {3, 4}}) * 2).t();
    const auto f = jit([&](Tensor x) { return std::tuple(x * w + bias, turned + 0.0); });
    const Tensor x = ones({4});
    const Floats first = values(std::get<0>(f(x)));
    CHECK(values(w) == first);
    CHECK(values(std::get<0>(f(x))) == first);
    CHECK(values(std::get<1>(f(x))) == Floats{2, 6, 4, 8});
    bias += 100;
    CHECK(values(std::get<0>(f(x)))[0] == first[0] + 100);
    turned.zero_();
    CHECK(values(std::get<1>(f(x))) == Floats{0, 0, 0, 0});
}

TEST_CASE("jit writes what the function writes, through views as well") {
    Tensor state = stored({1, 2, 3}), count = zeros({});
    const Tensor view = state[0];
    int calls = 0;
    const auto f = jit([&](Tensor x) {
        ++calls;
        state.slice(0, {1, {}}) += x;
        state[0] *= 2;
        count += 1;
        return state.sum();
    });
    CHECK(f(stored({1, 1})).item() == 9);
    CHECK(f(stored({1, 1})).item() == 13);
    CHECK(f(stored({10, 1})).item() == 28);
    CHECK(values(state) == Floats{8, 14, 6});
    CHECK(values(view) == Floats{8});
    CHECK(count.item() == 3);
    CHECK(calls == 1);
}

TEST_CASE("jit writes an input in place, and refuses what it could not do right") {
    int calls = 0;
    const auto f = jit([&](Tensor x) {
        ++calls;
        x += 1;
        return x;
    });
    for (int i = 0; i < 3; ++i) {
        Tensor x = stored({1, 2});
        CHECK(values(f(x)) == Floats{2, 3});
        CHECK(values(x) == Floats{2, 3});
        CHECK(f(x).cell() == x.cell());
        CHECK(values(x) == Floats{3, 4});
    }
    CHECK(calls == 1);
    Tensor base = stored({{1, 2}, {3, 4}});
    CHECK_THROWS_AS(f(base[0]), ValueError);
    CHECK(values(base) == Floats{1, 2, 3, 4});
    Tensor w = stored({1, 2});
    const auto g = jit([&](Tensor x) {
        w += 1;
        return x * 2;
    });
    CHECK(values(g(stored({5, 6}))) == Floats{10, 12});
    CHECK_THROWS_AS(g(w), ValueError);
    CHECK_THROWS_AS(g(w.slice(0, {{}, {}, -1})), ValueError);
    CHECK(values(w) == Floats{2, 3});
    const auto same = jit([](Tensor x, Tensor y) { return x - y; });
    CHECK(values(same(w, stored({1, 1}))) == Floats{1, 2});
    CHECK(values(same(w, w)) == Floats{0, 0});
    CHECK(values(same(stored({4, 4}), w)) == Floats{2, 1});
}

TEST_CASE("outputs may be inputs, views, closed-over tensors, constants or the same tensor twice") {
    Tensor w = stored({7, 8});
    const Jit f([&](std::span<const Tensor> in) {
        const Tensor sum = in[0] + 1;
        return std::vector<Tensor>{in[0], in[0].t(), w, w[1], sum, sum.t(), sum, Tensor(), full({2}, 3), stored({9})};
    });
    for (int i = 0; i < 3; ++i) {
        const Tensor x = stored({{1, 2}, {3, 4}}) + static_cast<float>(i);
        const std::vector<Tensor> out = f({x});
        const float d = static_cast<float>(i);
        CHECK(out[0].cell() == x.cell());
        CHECK(values(out[1]) == Floats{1 + d, 3 + d, 2 + d, 4 + d});
        CHECK(out[2].cell() == w.cell());
        CHECK(values(out[3]) == Floats{8 + d});
        CHECK(values(out[4]) == Floats{2 + d, 3 + d, 4 + d, 5 + d});
        CHECK(values(out[5]) == Floats{2 + d, 4 + d, 3 + d, 5 + d});
        CHECK(out[6].cell() == out[4].cell());
        CHECK(!out[7].defined());
        CHECK(values(out[8]) == Floats{3, 3});
        CHECK(values(out[9]) == Floats{9});
        w += 1;
    }
    CHECK(f.traces() == 1);
}

TEST_CASE("an input that is a view is copied where the function asks for contiguous memory, as in a plain call") {
    const Jit::Function function = [](std::span<const Tensor> x) {
        return std::vector{contiguous(x[0]), x[0].reshape({8}), contiguous(x[0].slice(0, {2, 4})),
                           contiguous(x[0].t())};
    };
    const auto results = [&](bool traced) {
        Tensor base = arange(16).to(f32).reshape({4, 4}).clone().realize();
        Tensor columns = base.slice(1, {2});  // no rows of memory
        const std::vector<Tensor> inputs{columns}, made = traced ? Jit(function)(inputs) : function(inputs);
        columns.copy_(columns.flip(0) * 2);
        std::vector<Floats> values;
        for (const Tensor& one : made) values.push_back(one.to_vector<float>());
        return values;
    };
    CHECK(results(true) == results(false));
}

TEST_CASE("a traced call serves no input that lies alike in memory and is a view where the other one is none") {
    const Jit::Function function = [](std::span<const Tensor> x) { return std::vector{contiguous(x[0])}; };
    const Jit traced(function);
    const auto results = [&](bool jit, bool is_view) {
        // Sorted along axis 0, the result lies along it; a view of columns lies so, too.
        Tensor x = is_view ? from_data(Floats{1, 3, 2, 4}, {2, 2}).clone().realize().t()
                           : sort(from_data(Floats{1, 2, 3, 4}, {2, 2}), 0).values.realize();
        const std::vector<Tensor> inputs{x}, made = jit ? traced(inputs) : function(inputs);
        x.fill_(9);
        return made[0].to_vector<float>();
    };
    for (const bool is_view : {false, true, false}) {
        CAPTURE(is_view);
        CHECK(results(true, is_view) == results(false, is_view));
    }
}

TEST_CASE("slices at moving places hit the same traced call; other shapes, strides and dtypes are traced anew") {
    const Tensor X = arange(0, 100).to(f32).reshape({50, 2}).contiguous().realize();
    const Jit f([](std::span<const Tensor> in) { return std::vector<Tensor>{in[0].sum(0)}; });
    f({X.narrow(0, 0, 5)});
    for (int i = 1; i < 40; ++i) {
        const CounterScope count;
        const float first = static_cast<float>(10 * i + 20);
        CHECK(values(f({X.narrow(0, i, 5)})[0]) == Floats{first, first + 5});
        CHECK(count.kernels_compiled() == 0);
        CHECK(count.plan_cache_hits() == 0);
        CHECK(count.runs() == 1);
    }
    CHECK(f.traces() == 1);
    CHECK(values(f({X.narrow(0, 3, 2)})[0]) == Floats{14, 16});
    CHECK(values(f({X.narrow(0, 3, 2).flip(0)})[0]) == Floats{14, 16});
    CHECK(values(f({X.narrow(0, 7, 2).flip(0)})[0]) == Floats{30, 32});
    CHECK(f.traces() == 3);
    CHECK(f({X.narrow(0, 3, 2).to(i64)})[0].to_vector<std::int64_t>() == std::vector<std::int64_t>{14, 16});
    CHECK(values(f({X.narrow(0, 0, 0)})[0]) == Floats{0, 0});
    for (int i = 1; i < 40; ++i) CHECK(values(f({X.narrow(0, 0, i)})[0])[0] == static_cast<float>(i * (i - 1)));
    CHECK(values(f({X.narrow(0, 1, 5)})[0]) == Floats{30, 35});  // pushed out meanwhile
}

namespace {

// Two layers and momentum, by hand. Everything is closed over.
struct Training {
    Tensor w1 = leaf({{0.1, -0.2, 0.3}, {0.4, 0.5, -0.6}}), w2 = leaf({{0.7}, {-0.8}, {0.9}});
    Tensor m1 = zeros({2, 3}), m2 = zeros({3, 1});

    Tensor step(const Tensor& x, const Tensor& y) {
        w1.zero_grad();
        w2.zero_grad();
        const Tensor d = x.matmul(w1).tanh().matmul(w2) - y;
        const Tensor loss = (d * d).mean();
        loss.backward();
        const NoGrad no_grad;
        m1.assign(m1 * 0.9 + w1.grad());
        m2.assign(m2 * 0.9 + w2.grad());
        w1 -= m1 * 0.1;
        w2 -= m2 * 0.1;
        realize({});
        return loss;
    }
};

}  // namespace

TEST_CASE("a traced training step has the bits of the plain one") {
    manual_seed(5);
    const Tensor X = randn({80, 2}).realize(), Y = randn({80, 1}).realize();
    Training plain, traced;
    int calls = 0;
    const auto step = jit([&](Tensor x, Tensor y) {
        ++calls;
        return traced.step(x, y);
    });
    for (int i = 0; i < 20; ++i) {
        const Tensor x = X.narrow(0, 4 * i, 4), y = Y.narrow(0, 4 * i, 4);
        const CounterScope count;
        const Tensor loss = step(x, y);
        if (i > 1) CHECK(count.runs() == 1);
        if (i > 1) CHECK(count.kernels_compiled() == 0);
        CHECK(values(loss) == values(plain.step(x, y)));
        CHECK(values(traced.w1) == values(plain.w1));
        CHECK(values(traced.w2) == values(plain.w2));
        CHECK(values(traced.m1) == values(plain.m1));
        CHECK(values(traced.w1.grad()) == values(plain.w1.grad()));
        CHECK(traced.w1.requires_grad());
    }
    CHECK(calls == 2);
}

TEST_CASE("traced steps of the optimisers, with dropout, have the bits of plain ones") {
    for (const bool adam : {false, true}) {
        CAPTURE(adam);
        std::vector<Floats> found[2];
        for (const bool traced : {false, true}) {
            manual_seed(7);
            const Tensor w = (randn({6, 5}) * 0.3).set_requires_grad(), b = zeros({5}).set_requires_grad();
            const Tensor X = randn({64, 6}).realize(), labels = randint(0, 5, {64}).realize();
            std::unique_ptr<optim::Optimizer> optimizer;
            if (adam)
                optimizer = std::make_unique<optim::AdamW>(std::vector<Tensor>{w, b}, optim::AdamOptions{.lr = 0.01});
            else
                optimizer = std::make_unique<optim::SGD>(std::vector<Tensor>{w, b},
                                                         optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
            const auto step = [&](Tensor x, Tensor y) {
                optimizer->zero_grad();
                const Tensor loss = cross_entropy(dropout(dropout(x, 0.2).matmul(w) + b, 0.1), y);
                loss.backward();
                optimizer->step();
                return loss;
            };
            const auto fast = jit(step);
            for (int i = 0; i < 20; ++i) {
                const int size = i % 7 == 3 ? 5 : 8;  // two traced calls share one optimiser
                const Tensor x = X.narrow(0, i, size), y = labels.narrow(0, i, size);
                if (i == 10) optimizer->set_lr(0.05);
                found[traced].push_back(values(traced ? fast(x, y) : step(x, y)));
                found[traced].push_back(values(w));
                CHECK(optimizer->steps() == i + 1);
            }
        }
        CHECK(found[0] == found[1]);
    }
}

TEST_CASE("running statistics follow traced calls") {
    manual_seed(4);
    const Tensor X = randn({40, 3}).realize();
    nn::BatchNorm1d plain(3), traced(3);
    const auto f = jit([&](Tensor x) { return traced(x); });
    for (int i = 0; i < 6; ++i) {
        const Tensor x = X.narrow(0, 4 * i, 6);
        CHECK(values(f(x)) == values(plain(x)));
        CHECK(values(traced.running_mean) == values(plain.running_mean));
        CHECK(values(traced.running_var) == values(plain.running_var));
    }
}

TEST_CASE("gradients accumulate over traced calls, and start anew after zero_grad") {
    const Tensor w = leaf({1, 2});
    const Jit f([&](std::span<const Tensor> in) {
        (w * w * in[0]).sum().backward();
        return std::vector<Tensor>();
    });
    for (int round = 0; round < 4; ++round) {
        w.zero_grad();
        for (int i = 1; i < 4; ++i) {
            f({stored({1, 10})});
            const float n = static_cast<float>(i);
            CHECK(values(w.grad()) == Floats{2 * n, 40 * n});
        }
    }
    CHECK(f.traces() == 2);
    const Tensor before = w.grad();
    w.zero_grad();
    f({stored({1, 1})});
    CHECK(values(before) == Floats{6, 120});
    CHECK(values(w.grad()) == Floats{2, 4});
}

TEST_CASE("random numbers are drawn anew in each traced call") {
    const auto f = jit([](Tensor x) { return dropout(x, 0.5); });
    const Tensor x = ones({200});
    manual_seed(11);
    std::vector<Floats> traced, plain;
    for (int i = 0; i < 4; ++i) traced.push_back(values(f(x)));
    CHECK(traced[0] != traced[1]);
    CHECK(traced[1] != traced[2]);
    manual_seed(11);
    for (int i = 0; i < 4; ++i) plain.push_back(values(dropout(x, 0.5)));
    CHECK(traced == plain);
    double lr = 1;
    const auto g = jit([&](Tensor t) { return t * scalar_variable(lr, f32, [&] { return lr; }); });
    for (lr = 1; lr < 5; lr += 1) CHECK(g(x).sum().item() == 200 * lr);
}

TEST_CASE("reading a value inside raises, and everything stays usable") {
    Tensor w = stored({1, 2});
    const Tensor p = leaf({3, 4});
    const auto reads = [&](auto read) {
        return jit([&w, &p, read](Tensor x) {
            w += 1;
            (p * x).sum().backward();
            read(x * w);
            return x;
        });
    };
    const auto raises = [&](auto read) {
        const auto f = reads(read);
        for (int i = 0; i < 2; ++i) try {
                f(stored({1, 1}));
                FAIL("nothing was raised");
            } catch (const ValueError& error) {
                CHECK(std::string(error.what()).find("jit") != std::string::npos);
            }
        CHECK(values(w) == Floats{1, 2});
        CHECK(!p.grad().defined());
    };
    raises([](const Tensor& t) { t.sum().item(); });
    raises([](const Tensor& t) { t.realize(); });
    raises([](const Tensor& t) { (void)static_cast<bool>(t.sum()); });
    raises([](const Tensor& t) { std::ostringstream() << t; });
    raises([&](const Tensor&) { p.to_vector<float>(); });
    CHECK(values(jit([&](Tensor x) { return x * w; })(stored({2, 2}))) == Floats{2, 4});
}

TEST_CASE("a function that throws leaves every tensor as it was") {
    Tensor w = stored({1, 2}), kept;
    const Tensor p = leaf({3, 4});
    (p * 2).sum().backward();
    bool fail = true;
    const auto f = jit([&](Tensor x) {
        w += x;
        (p * x).sum().backward();
        kept = x * w;
        kept += 1;
        if (fail) throw std::runtime_error("no");
        return w * 1;
    });
    CHECK_THROWS_AS(f(stored({1, 1})), std::runtime_error);
    CHECK(values(w) == Floats{1, 2});
    CHECK(values(p.grad()) == Floats{2, 2});
    CHECK(values(kept) == Floats{3, 4});  // made inside: has the value that it would have without jit
    fail = false;
    for (int i = 1; i < 4; ++i) {
        const float n = static_cast<float>(i);
        CHECK(values(f(stored({1, 1}))) == Floats{1 + n, 2 + n});
        CHECK(values(p.grad()) == Floats{2 + n, 2 + n});
        CHECK(values(kept) == Floats{2 + n, 3 + n});
    }
}

TEST_CASE("a bad label in a later call leaves the parameters as they were") {
    manual_seed(1);
    const Tensor w = (randn({4, 3}) * 0.1).set_requires_grad();
    optim::SGD sgd({w}, {.lr = 0.1, .momentum = 0.9});
    const auto train = [&](Tensor x, Tensor labels) {
        sgd.zero_grad();
        const Tensor loss = cross_entropy(x.matmul(w), labels);
        loss.backward();
        sgd.step();
        return loss;
    };
    const auto step = jit(train);
    const Tensor x = randn({2, 4}).realize(), good = tensor({0, 2}), bad = tensor({0, 3});
    for (int i = 0; i < 4; ++i) step(x, good);
    const Floats before = values(w), gradient = values(w.grad()), momentum = values(sgd.state()[1].second);
    CHECK_THROWS_AS(step(x, bad), IndexError);
    CHECK(values(w) == before);
    CHECK(values(w.grad()) == gradient);
    CHECK(values(sgd.state()[1].second) == momentum);
    step(x, good);
    CHECK(values(w) != before);
    CHECK(values(w)[0] == doctest::Approx(before[0] - 0.1 * values(sgd.state()[1].second)[0]));
    CHECK_THROWS_AS(jit(train)(x, bad), IndexError);  // in the first call
    CHECK(values(w.grad()) != gradient);
    Floats now = values(w);
    device::fail_allocation_after(1);
    CHECK_THROWS_AS(step(x, good), MemoryError);
    device::fail_allocation_after(0);
    CHECK(values(w) == now);
}

TEST_CASE("a gradient does not leave a traced function") {
    const Tensor w = leaf({1, 2});
    const auto f = jit([&](Tensor x) { return (x * w).sum(); });
    CHECK_THROWS_AS(f(w), ValueError);
    CHECK(f(w.detach()).item() == 5);
    CHECK(!f(stored({1, 1})).requires_grad());
    const Tensor outside = w * 2;
    CHECK_THROWS_AS(jit([&] { (outside * outside).sum().backward(); })(), GradError);
    CHECK(!w.grad().defined());
    CHECK(jit([&] { return outside.detach().sum(); })().item() == 6);
    outside.sum().backward();
    CHECK(values(w.grad()) == Floats{2, 2});
    const auto slope = jit([](Tensor x) { return gradient((x * x * x).sum(), std::vector{x})[0]; });
    for (int i = 0; i < 2; ++i) CHECK(values(slope(stored({1, 2}))) == Floats{3, 12});
}

TEST_CASE("tensors that the function makes and keeps follow its calls") {
    Tensor last, counter;
    int calls = 0;
    const auto f = jit([&](Tensor x) {
        ++calls;
        if (!counter.defined()) counter = zeros({});
        counter += 1;
        last = x * 2;
        return x + counter;
    });
    for (int i = 1; i < 6; ++i) {
        const float n = static_cast<float>(i);
        CHECK(values(f(stored({n}))) == Floats{2 * n});
        CHECK(values(last) == Floats{2 * n});
        CHECK(counter.item() == i);
    }
    CHECK(calls <= 3);
}

TEST_CASE("a traced function inside another is part of it; jit follows a change of backend and of gradients") {
    Tensor w = stored({2, 3});
    const auto inner = jit([&](Tensor x) { return x * w; });
    const auto outer = jit([&](Tensor x) { return inner(x) + inner(x + 1); });
    for (int i = 0; i < 3; ++i) {
        CHECK(values(outer(stored({1, 1}))) == Floats{6, 9});
        CHECK(values(inner(stored({1, 1}))) == Floats{2, 3});
    }
    {
        CHECK_THROWS_WITH_AS(OptScope{"fuse"}, doctest::Contains("OptScope: there is no optimisation \"fuse\""),
                             ValueError);
        const OptScope off{"vector"};
        CHECK(values(outer(stored({1, 1}))) == Floats{6, 9});
    }
    const Tensor p = leaf({1, 1});
    const auto f = jit([&] {
        const Tensor y = (p * w).sum();
        return y.requires_grad() ? y : y * 10;
    });
    CHECK(f().item() == 5);
    const NoGrad no_grad;
    CHECK(f().item() == 50);
}

TEST_CASE("jit follows a change of subnormals, processor, convolution and default type, and knows the way back") {
    const Jit f([](std::span<const Tensor> in) { return std::vector{in[0] * 0.5 + zeros({2}).to(in[0].dtype())}; });
    const std::vector tiny{stored({1e-38f, 2})};
    const auto call = [&] { return f(tiny)[0].to_vector<float>(); };
    const Config before = config();
    CHECK(call() == Floats{0, 1});  // half of it is subnormal, and flushed
    CHECK(f.traces() == 1);
    config().keep_denormals = true;
    CHECK(call() == Floats{0.5e-38f, 1});
    CHECK(f.traces() == 2);
    config().keep_denormals = before.keep_denormals;
    config().cpu = "sse";
    CHECK(call() == Floats{0, 1});
    CHECK(f.traces() == 3);
    config().cpu = before.cpu;
    config().plain_convolution = !before.plain_convolution;
    call();
    CHECK(f.traces() == 4);
    config().plain_convolution = before.plain_convolution;
    set_default_dtype(f64);
    call();
    CHECK(f.traces() == 5);
    set_default_dtype(f32);
    CHECK(call() == Floats{0, 1});
    CHECK(f.traces() == 5);
}

TEST_CASE("traced calls grow nothing") {
    manual_seed(2);
    const Tensor w = (randn({3, 3}) * 0.1).set_requires_grad(), X = randn({100, 3}).realize();
    optim::Adam adam({w});
    Tensor total = zeros({});
    const auto step = jit([&](Tensor x) {
        adam.zero_grad();
        const Tensor loss = square(dropout(x, 0.1).matmul(w)).mean();
        loss.backward();
        adam.step();
        total += loss.detach();
        return loss;
    });
    for (int i = 0; i < 5; ++i) step(X.narrow(0, i, 4));
    const CounterScope count;
    for (int i = 0; i < 1000; ++i) step(X.narrow(0, i % 90, 4));
    CHECK(count.live_nodes() == 0);
    CHECK(count.live_buffers() == 0);
    CHECK(count.kernels_compiled() == 0);
    CHECK(count.runs() == 1000);
    CHECK(adam.steps() == 1005);
}

TEST_CASE("writes between traced calls stay bounded") {
    const auto f = jit([](Tensor x) { return x * 2; });
    Tensor total = zeros({});
    const Tensor x = ones({}).realize();
    for (int i = 0; i < 5; ++i) total += f(x);
    const CounterScope count;
    for (int i = 0; i < 200; ++i) total += f(x);
    CHECK(count.live_nodes() < 20);
    CHECK(count.live_buffers() < 10);
    CHECK(total.item() == 410);
}

TEST_CASE("a traced function holds no tensor: when a closed-over one is gone, it is traced anew") {
    Tensor w = stored({1, 2});
    const auto f = jit([&](Tensor x) { return x * w; });
    const CounterScope count;
    CHECK(values(f(stored({1, 1}))) == Floats{1, 2});
    w = stored({{5}, {6}});
    CHECK(values(f(stored({1, 1}))) == Floats{5, 5, 6, 6});
    CHECK(count.live_buffers() == 0);
}

TEST_CASE("several threads may call one traced function") {
    Tensor w = stored({1, 2, 3});
    const auto f = jit([&](Tensor x) { return x * w; });
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t)
        threads.emplace_back([&, t] {
            for (int i = 0; i < 50; ++i) {
                const float n = static_cast<float>(t * 100 + i);
                if (values(f(full({3}, n))) != Floats{n, 2 * n, 3 * n}) ++wrong;
            }
        });
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
}
