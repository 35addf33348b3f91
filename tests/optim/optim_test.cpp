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
    for (int i = 0; i < 4; ++i) {
        CAPTURE(i);
        const CounterScope count;
        optimizer->zero_grad();
        square(matmul(x, w)).sum().backward();
        optimizer->step();
        CHECK(count.runs() == 1);
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
}
