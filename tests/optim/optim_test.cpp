// Optimisers against the textbook recurrences in double precision, and what a training step costs.
#include <weft/debug.h>
#include <weft/nn.h>
#include <weft/ops.h>
#include <weft/optim.h>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <vector>

using namespace weft;

namespace {

using Doubles = std::vector<double>;

// Minimises sum((p - target)^4 / 4) for some steps, in Weft and by `rule`, which updates one element given its gradient.
void check_against(const std::function<std::unique_ptr<optim::Optimizer>(std::vector<Tensor>)>& make,
                   const std::function<void(double& p, double g, int step, double (&state)[2])>& rule) {
    const Doubles target = {1, -2, 0.5};
    Doubles expected = {2, 1, -1};
    const Tensor p = tensor({2, 1, -1}, f64).set_requires_grad();
    const Tensor goal = tensor({1, -2, 0.5}, f64);
    const auto optimizer = make({p});
    double state[3][2] = {};
    for (int step = 1; step <= 12; ++step) {
        optimizer->zero_grad();
        const Tensor d = p - goal;
        (d * d * d * d / 4).sum().backward();
        optimizer->step();
        for (int i = 0; i < 3; ++i) rule(expected[i], std::pow(expected[i] - target[i], 3), step, state[i]);
        const Doubles found = p.to_vector<double>();
        for (int i = 0; i < 3; ++i) CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-12));
    }
    CHECK(optimizer->steps() == 12);
}

}  // namespace

TEST_CASE("SGD, with momentum, dampening, nesterov and weight decay") {
    for (const optim::SGDOptions o : {optim::SGDOptions{.lr = 0.05},
                                      {.lr = 0.05, .momentum = 0.9},
                                      {.lr = 0.01, .momentum = 0.9, .dampening = 0.3},
                                      {.lr = 0.01, .momentum = 0.8, .weight_decay = 0.1, .nesterov = true}}) {
        check_against([&](auto p) { return std::make_unique<optim::SGD>(p, o); },
                      [&](double& p, double g, int step, double(&state)[2]) {
                          g += o.weight_decay * p;
                          if (o.momentum != 0) {
                              state[0] = step == 1 ? g : o.momentum * state[0] + (1 - o.dampening) * g;
                              g = o.nesterov ? g + o.momentum * state[0] : state[0];
                          }
                          p -= o.lr * g;
                      });
    }
}

TEST_CASE("Adam and AdamW") {
    for (const bool decoupled : {false, true}) {
        const optim::AdamOptions o{.lr = 0.1, .weight_decay = 0.2};
        check_against(
            [&](auto p) -> std::unique_ptr<optim::Optimizer> {
                if (decoupled) return std::make_unique<optim::AdamW>(p, o);
                return std::make_unique<optim::Adam>(p, o);
            },
            [&](double& p, double g, int step, double(&state)[2]) {
                if (decoupled) p *= 1 - o.lr * o.weight_decay;
                else g += o.weight_decay * p;
                state[0] = o.beta1 * state[0] + (1 - o.beta1) * g;
                state[1] = o.beta2 * state[1] + (1 - o.beta2) * g * g;
                const double m = state[0] / (1 - std::pow(o.beta1, step)), v = state[1] / (1 - std::pow(o.beta2, step));
                p -= o.lr * m / (std::sqrt(v) + o.eps);
            });
    }
}

TEST_CASE("RMSprop, Adagrad and Lion") {
    const optim::RMSpropOptions r{.lr = 0.02, .alpha = 0.9, .eps = 1e-3, .weight_decay = 0.1, .momentum = 0.5};
    check_against([&](auto p) { return std::make_unique<optim::RMSprop>(p, r); },
                  [&](double& p, double g, int, double(&state)[2]) {
                      g += r.weight_decay * p;
                      state[0] = r.alpha * state[0] + (1 - r.alpha) * g * g;
                      state[1] = r.momentum * state[1] + g / (std::sqrt(state[0]) + r.eps);
                      p -= r.lr * state[1];
                  });
    const optim::RMSpropOptions c{.lr = 0.02, .eps = 1e-3, .centered = true};
    check_against([&](auto p) { return std::make_unique<optim::RMSprop>(p, c); },
                  [&](double& p, double g, int, double(&state)[2]) {
                      state[0] = c.alpha * state[0] + (1 - c.alpha) * g * g;
                      state[1] = c.alpha * state[1] + (1 - c.alpha) * g;
                      p -= c.lr * g / (std::sqrt(state[0] - state[1] * state[1]) + c.eps);
                  });
    const optim::AdagradOptions a{.lr = 0.1, .lr_decay = 0.1, .initial_accumulator_value = 0.5};
    check_against([&](auto p) { return std::make_unique<optim::Adagrad>(p, a); },
                  [&](double& p, double g, int step, double(&state)[2]) {
                      state[0] = (step == 1 ? 0.5 : state[0]) + g * g;
                      p -= a.lr / (1 + (step - 1) * a.lr_decay) * g / (std::sqrt(state[0]) + a.eps);
                  });
    const optim::LionOptions l{.lr = 0.01, .weight_decay = 0.2, .maximize = true};
    check_against([&](auto p) { return std::make_unique<optim::Lion>(p, l); },
                  [&](double& p, double g, int, double(&state)[2]) {
                      const double mean = l.beta1 * state[0] - (1 - l.beta1) * g;
                      p = p * (1 - l.lr * l.weight_decay) - l.lr * (mean > 0 ? 1 : mean < 0 ? -1 : 0);
                      state[0] = l.beta2 * state[0] - (1 - l.beta2) * g;
                  });
}

TEST_CASE("groups have options of their own, and step together in one run") {
    const auto make = [](double value) { return tensor({value, value}).set_requires_grad(); };
    const Tensor a = make(1), b = make(1), frozen = tensor({1.0, 1.0});
    optim::SGD sgd({a, frozen}, {.lr = 0.1});
    sgd.add_param_group({b}, {.lr = 1, .weight_decay = 0.5});
    CHECK(sgd.groups() == 2);
    CHECK(sgd.parameters(1).size() == 1);
    CHECK_THROWS_AS(sgd.add_param_group({a}, {}), ValueError);
    (a + b).sum().backward();
    const CounterScope count;
    sgd.step();
    CHECK(count.runs() == 1);
    CHECK(a.to_vector<float>()[0] == doctest::Approx(0.9));
    CHECK(b.to_vector<float>()[0] == doctest::Approx(-0.5));
    sgd.set_lr(1, 0.5);
    CHECK(sgd.lr(0) == 0.1);
    CHECK(sgd.options(1).lr == 0.5);
    sgd.set_options(0, {.lr = 0.2, .momentum = 0.5});
    sgd.step();
    CHECK(a.to_vector<float>()[0] == doctest::Approx(0.7));
    CHECK(frozen.to_vector<float>()[0] == 1);
    sgd.zero_grad(false);
    CHECK(a.grad().to_vector<float>()[0] == 0);
    sgd.zero_grad();
    CHECK(!a.grad().defined());
    CHECK(sgd.step([&] { return a.sum(); }).item() == doctest::Approx(1.4));
}

TEST_CASE("AdamW decouples the weight decay of every group") {
    const Tensor a = ones({2}).contiguous().realize(), b = ones({2}).contiguous().realize();
    optim::AdamW adamw({Tensor(a).set_requires_grad()}, {.lr = 0.5, .weight_decay = 0.5});
    adamw.add_param_group({Tensor(b).set_requires_grad()}, {.lr = 0.5});
    adamw.set_options(1, {.lr = 0.5, .weight_decay = 0.5});
    for (const Tensor& p : {a, b}) p.set_grad(zeros({2}));  // no step of the gradient: only the decay is left
    adamw.step();
    CHECK(a.to_vector<float>() == std::vector<float>{0.75, 0.75});
    CHECK(b.to_vector<float>() == std::vector<float>{0.75, 0.75});
}

TEST_CASE("a parameter without a gradient misses a step, and its corrections go by its own count") {
    const Tensor always = tensor({2, 1}, f64).set_requires_grad(), late = tensor({2, 1}, f64).set_requires_grad();
    const Tensor alone = tensor({2, 1}, f64).set_requires_grad();
    optim::Adam both({always, late}), one({alone});
    for (int step = 0; step < 5; ++step) {
        both.zero_grad();
        one.zero_grad();
        (step < 2 ? square(always).sum() : (square(always) + square(late)).sum()).backward();
        both.step();
        if (step < 2) continue;
        square(alone).sum().backward();
        one.step();
    }
    CHECK(late.to_vector<double>() == alone.to_vector<double>());
    optim::Adam loaded({always, late});
    loaded.load_state(both.state());
    CHECK(loaded.steps() == 5);
    CHECK(loaded.state().size() == both.state().size());
}

TEST_CASE("loss, gradients and update are one run, and nothing stays behind") {
    manual_seed(3);
    nn::Sequential net;
    net.add<nn::Linear>(4, 8).add<nn::ReLU>().add<nn::Linear>(8, 3);
    optim::Adam adam(net.parameters(), {.lr = 0.02});
    const Tensor x = randn({16, 4}).realize(), labels = randint(0, 3, {16}).realize();
    double first = 0, last = 0;
    std::int64_t nodes = 0, buffers = 0;
    for (int step = 0; step < 40; ++step) {
        const CounterScope count;
        adam.zero_grad();
        const Tensor loss = cross_entropy(net(x), labels);
        loss.backward();
        adam.step();
        last = loss.item();
        CHECK(count.runs() == 1);
        if (step == 0) first = last;
        if (step == 5) nodes = counters().live_nodes, buffers = counters().live_buffers;
    }
    CHECK(last < 0.7 * first);
    CHECK(counters().live_nodes <= nodes);  // the loss of step 5 was alive when they were counted
    CHECK(counters().live_buffers <= buffers);
}

TEST_CASE(
    "in steady state a step makes no plan, compiles nothing and takes no fresh memory, whatever the learning rate") {
    manual_seed(3);
    nn::Sequential net;
    net.add<nn::Linear>(4, 8).add<nn::ReLU>().add<nn::Dropout>(0.25).add<nn::Linear>(8, 3);
    optim::AdamW adam(net.parameters());
    const Tensor data = randn({64, 4}).realize(), classes = randint(0, 3, {64}).realize();
    for (int step = 0; step < 12; ++step) {
        const CounterScope count;
        adam.set_lr(0.01 / (1 + step));
        adam.zero_grad();
        const Tensor x = data.slice(0, {step * 4, step * 4 + 16}), labels = classes.slice(0, {step * 4, step * 4 + 16});
        const Tensor loss = cross_entropy(net(x), labels);
        loss.backward();
        adam.step();
        loss.item();
        CAPTURE(step);
        if (step < 5) continue;
        CHECK(count.runs() == 1);
        CHECK(count.plans_made() == 0);
        CHECK(count.kernels_compiled() == 0);
        CHECK(count.plan_cache_hits() == 1);
        CHECK(count.fresh_allocations() == 0);
    }
}

TEST_CASE("reading the loss before the step gives the same numbers") {
    std::vector<float> results[2];
    for (const int reads : {0, 1}) {
        manual_seed(5);
        nn::Linear net(3, 2);
        optim::SGD sgd(net.parameters(), {.lr = 0.1, .momentum = 0.9});
        const Tensor x = tensor({{1, 2, 3}, {-1, 0, 1}}, f32);
        for (int step = 0; step < 5; ++step) {
            sgd.zero_grad();
            const Tensor loss = net(x).tanh().sum();
            if (reads) loss.item();
            loss.backward();
            if (reads) loss.item();
            sgd.step();
            if (reads) loss.item();
        }
        results[reads] = net.weight.to_vector<float>();
    }
    CHECK(results[0].size() == results[1].size());
    for (std::size_t i = 0; i < results[0].size(); ++i) CHECK(results[0][i] == doctest::Approx(results[1][i]));
}

TEST_CASE("the learning rate may change, and a parameter without a gradient stays") {
    const Tensor p = tensor({1}, f32).set_requires_grad(), idle = tensor({5}, f32).set_requires_grad();
    optim::SGD sgd({p, idle}, {.lr = 1});
    (p * 1).sum().backward();
    sgd.step();
    CHECK(p.item() == 0);
    sgd.set_lr(0.5);
    sgd.step();
    CHECK(p.item() == -0.5);
    CHECK(idle.item() == 5);
    CHECK_THROWS_AS(sgd.set_lr(-1), ValueError);
}

TEST_CASE("what optimisers refuse") {
    CHECK_THROWS_AS(optim::SGD({}), ValueError);
    CHECK_THROWS_AS(optim::SGD({zeros({2})}), ValueError);
    CHECK_THROWS_AS(optim::SGD({zeros({2}, i64)}), ValueError);
    CHECK_THROWS_AS(optim::SGD({Tensor()}), ValueError);
    const Tensor p = zeros({2}).set_requires_grad();
    CHECK_THROWS_AS(optim::SGD({p * 2}), ValueError);
    CHECK_THROWS_AS(optim::SGD({p}, {.nesterov = true}), ValueError);
    CHECK_THROWS_AS(optim::Adam({p}, {.beta1 = 1}), ValueError);
    CHECK_THROWS_AS(optim::Adam({p}, {.lr = -1}), ValueError);
}

TEST_CASE("an optimiser's state survives a round trip") {
    const auto make = [] { return tensor({1, 2}, f32).set_requires_grad(); };
    const Tensor a = make(), b = make();
    optim::Adam first({a}), second({b});
    const auto step = [](const Tensor& p, optim::Optimizer& o) {
        o.zero_grad();
        (p * p).sum().backward();
        o.step();
    };
    for (int i = 0; i < 3; ++i) step(a, first);
    {
        const NoGrad no_grad;
        Tensor(b).assign(a);
    }
    second.load_state(first.state());
    CHECK(second.steps() == 3);
    step(a, first);
    step(b, second);
    CHECK(a.to_vector<float>() == b.to_vector<float>());
    auto state = first.state();
    state[1].second = zeros({7});
    CHECK_THROWS_AS(second.load_state(state), ShapeError);
    state = {{"9.exp_avg", zeros({2})}};
    CHECK_THROWS_AS(second.load_state(state), ValueError);
    CHECK(second.steps() == 4);
}

TEST_CASE("from the second step on nothing is planned or compiled, whatever state an optimiser starts with") {
    const Tensor w = Tensor((randn({4, 3}) * 0.1).realize()).set_requires_grad(), x = randn({5, 4}).realize();
    std::unique_ptr<optim::Optimizer> optimizer;
    SUBCASE("Adam") { optimizer = std::make_unique<optim::Adam>(std::vector{w}); }
    SUBCASE("AdamW") { optimizer = std::make_unique<optim::AdamW>(std::vector{w}); }
    SUBCASE("momentum") {
        optimizer = std::make_unique<optim::SGD>(std::vector{w}, optim::SGDOptions{.lr = 0.1, .momentum = 0.9});
    }
    SUBCASE("amsgrad") {
        optimizer = std::make_unique<optim::Adam>(std::vector{w}, optim::AdamOptions{.amsgrad = true});
    }
    SUBCASE("RMSprop") {
        optimizer =
            std::make_unique<optim::RMSprop>(std::vector{w}, optim::RMSpropOptions{.momentum = 0.9, .centered = true});
    }
    SUBCASE("Adagrad") {
        optimizer = std::make_unique<optim::Adagrad>(std::vector{w}, optim::AdagradOptions{.lr_decay = 0.1});
    }
    SUBCASE("Lion") { optimizer = std::make_unique<optim::Lion>(std::vector{w}); }
    SUBCASE("Adadelta") { optimizer = std::make_unique<optim::Adadelta>(std::vector{w}); }
    SUBCASE("Adamax") { optimizer = std::make_unique<optim::Adamax>(std::vector{w}); }
    SUBCASE("NAdam") { optimizer = std::make_unique<optim::NAdam>(std::vector{w}); }
    SUBCASE("RAdam") { optimizer = std::make_unique<optim::RAdam>(std::vector{w}); }
    for (int i = 0; i < 8; ++i) {
        CAPTURE(i);
        const CounterScope count;
        optimizer->set_lr(0.01 / (1 + i));
        optimizer->zero_grad();
        square(matmul(x, w)).sum().backward();
        optimizer->step();
        CHECK(count.runs() == 1);
        CHECK(count.kernels_launched() <= 4);
        if (i == 0) continue;
        CHECK(count.kernels_compiled() == 0);
        CHECK(count.plans_made() == 0);
        CHECK(count.plan_cache_hits() == 1);
    }
}

TEST_CASE("a state without an optimiser's slots starts anew") {
    const Tensor p = tensor({2, 1}, f64).set_requires_grad(), q = tensor({2, 1}, f64).set_requires_grad();
    optim::Adam loaded({p}), fresh({q});
    loaded.load_state({});
    for (const auto& [parameter, optimizer] : {std::pair{p, &loaded}, std::pair{q, &fresh}}) {
        (parameter * parameter).sum().backward();
        optimizer->step();
    }
    CHECK(p.to_vector<double>() == q.to_vector<double>());
}

TEST_CASE("gradients are clipped to a joint norm") {
    const Tensor a = tensor({3}, f32).set_requires_grad(), b = tensor({4}, f32).set_requires_grad();
    (a * 3 + b * 4).sum().backward();
    const Tensor both[] = {a, b};
    CHECK(optim::clip_grad_norm(both, 1).item() == doctest::Approx(5));
    CHECK(a.grad().item() == doctest::Approx(0.6));
    CHECK(b.grad().item() == doctest::Approx(0.8));
    optim::clip_grad_norm(both, 10);
    CHECK(b.grad().item() == doctest::Approx(0.8));
    CHECK(optim::clip_grad_norm(both, 1, 1).item() == doctest::Approx(1.4));
    CHECK(optim::clip_grad_norm(both, 0.1, INFINITY).item() == doctest::Approx(0.8 / 1.4));
    CHECK(b.grad().item() == doctest::Approx(0.1));
    optim::clip_grad_value(both, 0.08);
    CHECK(b.grad().item() == doctest::Approx(0.08));
    CHECK(a.grad().item() == doctest::Approx(0.075));
    b.set_grad(tensor({INFINITY}, f32));
    CHECK_THROWS_AS(optim::clip_grad_norm(both, 1, 2, true), Error);

    Tensor half = zeros({3}, f16), wide = zeros({1}, f32);  // squares of 300 are too large for f16, the norm is not
    half.set_grad(full({3}, 300, f16)), wide.set_grad(zeros({1}));
    const std::vector<Tensor> halves{half}, mixed{half, wide};
    CHECK(optim::clip_grad_norm(halves, 1000).dtype() == f16);
    CHECK(optim::clip_grad_norm(halves, 1000).item() == doctest::Approx(519.6).epsilon(1e-3));
    CHECK(optim::clip_grad_norm(mixed, 1000).dtype() == f32);
}

TEST_CASE("f16: squares that do not fit the type do, once they are averaged") {
    const auto moved = [](auto make) {
        Tensor p = full({2}, 1.0, f16).clone().realize();
        p.set_requires_grad();
        auto optimizer = make(std::vector<Tensor>{p});
        p.set_grad(full({2}, 400.0, f16));
        optimizer.step();
        CHECK(p.dtype() == f16);
        return 1 - p.detach().to(f32).to_vector<float>()[0];
    };
    CHECK(moved([](auto p) { return optim::RMSprop(p, {.lr = 0.01}); }) == doctest::Approx(0.1).epsilon(0.01));
    CHECK(moved([](auto p) { return optim::Adam(p, {.lr = 0.1}); }) == doctest::Approx(0.1).epsilon(0.01));
    CHECK(moved([](auto p) { return optim::NAdam(p, {.lr = 0.1}); }) > 0.05);
    CHECK(moved([](auto p) { return optim::Adadelta(p, {.lr = 1}); }) > 0);
}

TEST_CASE("parameters as one vector, and back") {
    const Tensor a = tensor({{1, 2}, {3, 4}}, f32).set_requires_grad(), b = tensor({5}, f32).set_requires_grad();
    const Tensor both[] = {a, b};
    const Tensor vector = optim::parameters_to_vector(both);
    CHECK(vector.to_vector<float>() == std::vector<float>{1, 2, 3, 4, 5});
    optim::vector_to_parameters(vector * 2, both);
    CHECK(a.to_vector<float>() == std::vector<float>{2, 4, 6, 8});
    CHECK(b.is_leaf());
    CHECK_THROWS_AS(optim::vector_to_parameters(ones({2}), both), ShapeError);
}
