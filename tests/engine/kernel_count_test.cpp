// The numbers that fusion and the caches promise: how many kernels a piece of work launches, and that later steps
// compile nothing. All of this is decided before a backend is asked, so `ref` counts for all.
#include "tests/tensor/support.h"

#include <weft/debug.h>
#include <weft/nn.h>
#include <weft/optim.h>
#include <weft/weft.h>

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

namespace weft::testing {
namespace {

Tensor data(const Shape& shape, unsigned seed = 1) {
    return from_data(noise(static_cast<std::size_t>(numel(shape)), seed), shape);
}
Tensor parameter(const Shape& shape, unsigned seed) { return data(shape, seed).set_requires_grad(); }
Tensor labels(std::int64_t n, std::int64_t classes) { return (arange(n) * 7 % classes).realize(); }

// Kernels launched by computing what `work` returns, all in one run.
std::int64_t launches(const std::function<std::vector<Tensor>()>& work) {
    const CounterScope count;
    const std::vector<Tensor> tensors = work();
    realize(tensors);
    return count.kernels_launched();
}
std::int64_t launches_one(const std::function<Tensor()>& work) {
    return launches([&] { return std::vector<Tensor>{work()}; });
}

const Shape kRowLengths = {3, 10, 16, 33, 100, 512, 513, 1000, 5000};

TEST_CASE("a chain of elementwise ops and views is one kernel") {
    const BackendScope ref("ref");
    const Tensor a = data({30, 40}, 1), b = data({30, 40}, 2), c = data({40}, 3);
    CHECK(launches_one([&] { return (a + b) * c; }) == 1);
    for (const int length : {10, 100, 200}) {
        CAPTURE(length);
        CHECK(launches_one([&] {
                  Tensor x = a;
                  for (int i = 0; i < length; ++i) x = i % 3 == 0 ? x * b : i % 3 == 1 ? x + c : relu(x);
                  return x;
              }) == 1);
    }
    CHECK(launches_one([&] {  // 500 ops and views
              Tensor x = a;
              for (int i = 0; i < 100; ++i)
                  x = ((x.t() + 0.5f).flip(0) * 0.75f).reshape({i % 2 ? 30 : 40, -1, 1}).squeeze(2);
              return x;
          }) == 1);
}

TEST_CASE("a view of computed memory is no kernel") {
    const BackendScope ref("ref");
    const Tensor x = (data({6, 8}, 1) + 1).realize();
    CHECK(launches([&] {
              return std::vector<Tensor>{x.t(),
                                         x[2],
                                         x.reshape({48}),
                                         x.flip(1),
                                         x.slice(0, {1, 5, 2}),
                                         x.unsqueeze(1).expand({6, 3, 8}),
                                         x.permute({1, 0})[{Slice{2, 7}, 3}],
                                         x.reshape({2, 3, 2, 4}).permute({2, 0, 3, 1})};
          }) == 0);
}

TEST_CASE("row fusion: softmax, norms and moments are one kernel each, for every row length") {
    const BackendScope ref("ref");
    for (const std::int64_t n : kRowLengths) {
        CAPTURE(n);
        const Tensor x = data({4, n}), w = data({n}, 5), b = data({n}, 6);
        CHECK(launches_one([&] { return softmax(x); }) == 1);
        CHECK(launches_one([&] { return log_softmax(x); }) == 1);
        CHECK(launches_one([&] { return layer_norm(x, {n}, w, b); }) == 1);
        CHECK(launches_one([&] { return rms_norm(x, {n}, w); }) == 1);
        CHECK(launches_one([&] { return mean(x, Axes{1}); }) == 1);
        CHECK(launches_one([&] { return var(x, Axes{1}); }) == 1);
        CHECK(launches_one([&] { return stddev(x, Axes{1}); }) == 1);
        CHECK(launches_one([&] { return logsumexp(x, Axes{1}); }) == 1);
        CHECK(launches([&] { return std::vector<Tensor>{mean(x, Axes{1}), var(x, Axes{1})}; }) == 1);
        CHECK(launches_one([&] { return (x - mean(x, Axes{1}, true)) / stddev(x, Axes{1}, 1, true); }) == 1);
        CHECK(launches_one([&] { return softmax(x.reshape({2, 2, n}) * 0.5f); }) == 1);
    }
}

TEST_CASE("an expensive value that is used twice is stored before its product with a matrix, and the product is not") {
    const Tensor a = data({32, 64}, 1), w = data({64, 48}, 2);
    const Tensor h = tanh(a) * sigmoid(a);
    const Explanation plan = explain(matmul(h, w) + h[{Slice{}, Slice{0, 48}}]);
    REQUIRE(plan.kernels.size() == 2);
    CHECK(plan.kernels[0].function == "map_32_64");
    CHECK(plan.kernels[1].function == "contract_32_48_over_64");
}

TEST_CASE("a contraction takes its bias and activation along") {
    const BackendScope ref("ref");
    for (const std::int64_t k : {5, 64, 600, 1500}) {
        CAPTURE(k);
        const Tensor a = data({9, k}, 1), b = data({k, 7}, 2), bias = data({7}, 3);
        const CounterScope count;
        CHECK(launches_one([&] { return relu(matmul(a, b) + bias); }) == 1);
        CHECK(launches_one([&] { return relu(linear(a, b.t(), bias)); }) == 1);
        CHECK(launches_one([&] { return gelu(matmul(a, b) + bias) + a[{kEllipsis, Slice{0, 1}}]; }) == 1);
        CHECK(count.contractions_launched() == 3);
    }
    const Tensor x = data({2, 3, 9, 9}, 1), w = data({4, 3, 3, 3}, 2), bias = data({4}, 3);
    for (const int stride : {1, 2}) {
        const CounterScope count;
        CHECK(launches_one([&] { return relu(conv2d(x, w, bias, {.stride = stride, .padding = 1})); }) == 1);
        CHECK(count.contractions_launched() == 1);
    }
}

TEST_CASE("cross-entropy, forward and backward, is two kernels") {
    const BackendScope ref("ref");
    for (const std::int64_t n : {8, 128, 1000}) {
        CAPTURE(n);
        const Tensor logits = parameter({n, 10}, 1), y = labels(n, 10);
        const CounterScope count;
        const Tensor loss = cross_entropy(logits, y);
        loss.backward();
        realize(std::vector<Tensor>{loss, logits.grad()});
        CHECK(count.kernels_launched() <= 2);
        CHECK(count.runs() == 1);
    }
}

TEST_CASE("x[i] = v writes the box alone, and compiles once for all i") {
    const BackendScope ref("ref");
    Tensor x = (data({64, 100}) + 1).realize();
    for (int i = 0; i < 6; ++i) {
        CAPTURE(i);
        const Tensor row = data({100}, 40 + static_cast<unsigned>(i));
        const void* before = x.data_ptr();
        const CounterScope count;
        x[i * 9].assign(row);
        x.realize();
        CHECK(count.kernels_launched() == 1);
        CHECK(count.buffers_allocated() <= 1);
        CHECK(x.data_ptr() == before);
        CHECK(x[i * 9].to_vector<float>() == row.to_vector<float>());
        if (i > 0) CHECK(count.kernels_compiled() == 0);
    }
    CHECK(x[1].to_vector<float>() == (data({64, 100}) + 1)[1].to_vector<float>());
}

TEST_CASE("a sum of 16M elements is two kernels") {
    const BackendScope ref("ref");
    const Tensor x = ones({1 << 24});
    CHECK(launches_one([&] { return sum(x); }) == 2);
    const Tensor y = zeros({4096, 4096}) + 1;
    const CounterScope count;
    CHECK(sum(y).item<float>() == 16777216.0f);
    CHECK(count.kernels_launched() == 2);
}

TEST_CASE("an Adam update of one tensor is one kernel, whatever is asked for first") {
    const BackendScope ref("ref");
    const NoGrad off;
    for (const std::int64_t n : {10, 5000, 70000}) {
        Tensor p = data({n}, 1).realize(), m = zeros({n}).contiguous().realize(), v = zeros({n}).contiguous().realize();
        for (int step = 1; step < 5; ++step) {
            CAPTURE(n);
            CAPTURE(step);
            const Tensor g = data({n}, 7 + static_cast<unsigned>(step));
            const Tensor correction1 = scalar_variable(1 - std::pow(0.9, step)),
                         correction2 = scalar_variable(1 - std::pow(0.999, step));
            const CounterScope count;
            m.assign(m * 0.9f + g * 0.1f);
            v.assign(v * 0.999f + g * g * 0.001f);
            p.sub_(scalar_variable(0.001) * (m / correction1) / (sqrt(v / correction2) + 1e-8f));
            const std::vector<Tensor> asked = step % 2 ? std::vector<Tensor>{p, m, v} : std::vector<Tensor>{};
            realize(asked);
            CHECK(count.kernels_launched() == 1);
            CHECK(count.runs() == 1);
            if (step > 2) CHECK(count.kernels_compiled() == 0);
            if (step > 2) CHECK(count.plan_cache_hits() == 1);
            if (step > 2) CHECK(count.buffers_allocated() <= 1);  // donation: all three are written in place
        }
    }
}

// ---- training steps -------------------------------------------------------------------------------------------------

// A network, its data, and how a step updates the parameters.
struct Training {
    std::vector<Tensor> parameters;
    std::function<Tensor(const Tensor& x)> network;
    std::function<void(int step)> update;
    std::int64_t features = 49, classes = 10, batch = 16;
    Tensor images = data({160, 49}, 99), targets = labels(160, 10);

    // Forward, backward, update: one run. The batch moves through the data.
    float step(int i) {
        const std::int64_t from = i % 9 * batch;
        const Tensor x = images[{Slice{from, from + batch}}], y = targets[{Slice{from, from + batch}}];
        for (const Tensor& p : parameters) p.zero_grad();
        const Tensor loss = cross_entropy(network(x), y);
        loss.backward();
        {
            const NoGrad off;
            update(i);
        }
        realize({});
        return loss.item<float>();
    }
};

Training mlp() {
    Training t;
    t.parameters = {parameter({32, 49}, 1), parameter({32}, 2), parameter({10, 32}, 3), parameter({10}, 4)};
    const auto& p = t.parameters;
    t.network = [p](const Tensor& x) { return linear(relu(linear(x, p[0], p[1])), p[2], p[3]); };
    t.update = [p](int) {
        for (Tensor w : p) w.sub_(w.grad() * 0.1f);
    };
    return t;
}

// Runs five steps: the first compiles; from `steady` on a step is one hit of the plan cache and compiles nothing.
void check_steps(Training& t, std::int64_t most_kernels, int steady = 1) {
    for (int i = 0; i < 6; ++i) {
        CAPTURE(i);
        const CounterScope count;
        t.step(i);
        CHECK(count.runs() == 1);
        CHECK(count.kernels_launched() <= most_kernels);
        if (i < steady) continue;
        CHECK(count.kernels_compiled() == 0);
        CHECK(count.plans_made() == 0);
        CHECK(count.plan_cache_hits() == 1);
    }
}

TEST_CASE("an MLP's training step is at most 12 kernels, and compiles once") {
    const BackendScope ref("ref");
    Training t = mlp();
    check_steps(t, 12);
}

TEST_CASE("a training step learns") {
    const BackendScope ref("ref");
    Training t = mlp();
    const float first = t.step(0);
    float last = first;
    for (int i = 0; i < 30; ++i) last = t.step(0);
    CHECK(last < 0.5f * first);
}

TEST_CASE("a learning rate that changes compiles nothing") {
    const BackendScope ref("ref");
    Training t = mlp();
    const auto p = t.parameters;
    SUBCASE("as a variable") {
        t.update = [p](int i) {
            for (Tensor w : p) w.sub_(w.grad() * scalar_variable(0.1 / (i + 1)));
        };
        check_steps(t, 12);
    }
    SUBCASE("as a plain number: its second value makes it a variable") {
        t.update = [p](int i) {
            for (Tensor w : p) w.sub_(w.grad() * (0.1 / (i + 1)));
        };
        check_steps(t, 12, 2);
    }
}

TEST_CASE("a training step with Adam compiles once") {
    const BackendScope ref("ref");
    Training t = mlp();
    struct Moments {
        Tensor m, v;
    };
    std::vector<Moments> moments;
    for (const Tensor& p : t.parameters)
        moments.push_back({zeros(p.shape()).contiguous().realize(), zeros(p.shape()).contiguous().realize()});
    t.update = [&, p = t.parameters](int i) {
        const Tensor rate = scalar_variable(0.01 * std::sqrt(1 - std::pow(0.999, i + 1)) / (1 - std::pow(0.9, i + 1)));
        for (std::size_t k = 0; k < p.size(); ++k) {
            auto& [m, v] = moments[k];
            const Tensor g = p[k].grad();
            m.assign(m * 0.9f + g * 0.1f);
            v.assign(v * 0.999f + g * g * 0.001f);
            Tensor(p[k]).sub_(rate * m / (sqrt(v) + 1e-8f));
        }
    };
    check_steps(t, 12);
}

TEST_CASE("dropout draws a new mask in each step, the same one in backward, and compiles once") {
    const BackendScope ref("ref");
    Training t = mlp();
    const auto p = t.parameters;
    t.network = [p](const Tensor& x) { return linear(dropout(relu(linear(x, p[0], p[1])), 0.5), p[2], p[3]); };
    check_steps(t, 14);

    Tensor x = parameter({200}, 3);
    std::vector<float> before;
    for (int i = 0; i < 3; ++i) {
        x.zero_grad();
        const Tensor y = dropout(x, 0.5);
        sum(y).backward();
        realize(std::vector<Tensor>{y, x.grad()});
        const auto kept = x.grad().to_vector<float>(), out = y.to_vector<float>(), in = x.to_vector<float>();
        CHECK(kept != before);
        for (std::size_t k = 0; k < kept.size(); ++k) CHECK(out[k] == in[k] * kept[k]);
        before = kept;
    }
}

TEST_CASE("batch norm's running statistics are part of the step, and it compiles once") {
    const BackendScope ref("ref");
    Training t = mlp();
    Tensor mean = zeros({32}).contiguous().realize(), variance = ones({32}).contiguous().realize();
    const Tensor scale = parameter({32}, 8), shift = parameter({32}, 9);
    t.parameters.push_back(scale);
    t.parameters.push_back(shift);
    const auto p = t.parameters;
    t.network = [=](const Tensor& x) {
        return linear(relu(batch_norm(linear(x, p[0], p[1]), mean, variance, scale, shift, {.training = true})), p[2],
                      p[3]);
    };
    t.update = [p](int) {
        for (Tensor w : p) w.sub_(w.grad() * 0.1f);
    };
    check_steps(t, 16);
    CHECK(mean.to_vector<float>() != std::vector<float>(32, 0.0f));
}

// The same with layers and optimisers, which draw their scalars and create their state themselves.
void check_optimiser(nn::Module& net, optim::Optimizer& optimiser, const Shape& input, std::int64_t most_kernels,
                     int steady = 1) {
    for (int i = 0; i < 5; ++i) {
        CAPTURE(i);
        const Tensor x = data(input, 60 + static_cast<unsigned>(i)), y = labels(input[0], 10);
        optimiser.set_lr(0.01 / (i + 1));
        const CounterScope count;
        optimiser.zero_grad();
        const Tensor loss = cross_entropy(net(x), y);
        loss.backward();
        optimiser.step();
        loss.item();
        CHECK(count.runs() == 1);
        CHECK(count.kernels_launched() <= most_kernels);
        if (i < steady) continue;
        CHECK(count.kernels_compiled() == 0);
        CHECK(count.plans_made() == 0);
        CHECK(count.plan_cache_hits() == 1);
    }
}

TEST_CASE("layers and optimisers: the MLP 784-128-10 in at most 12 kernels") {
    const BackendScope ref("ref");
    nn::Sequential net;
    net.add<nn::Linear>(784, 128);
    net.add<nn::ReLU>();
    net.add<nn::Linear>(128, 10);
    SUBCASE("SGD") {
        optim::SGD sgd(net.parameters(), {.lr = 0.1});
        check_optimiser(net, sgd, {8, 784}, 12);
    }
    SUBCASE("SGD with momentum: the first step makes the buffers") {
        optim::SGD sgd(net.parameters(), {.lr = 0.1, .momentum = 0.9});
        check_optimiser(net, sgd, {8, 784}, 12, 2);
    }
    SUBCASE("Adam: the first step makes the moments") {
        optim::Adam adam(net.parameters());
        check_optimiser(net, adam, {8, 784}, 12, 2);
    }
}

TEST_CASE("layers and optimisers: a convolutional network with batch norm and dropout compiles once") {
    const BackendScope ref("ref");
    nn::Sequential net;
    net.add<nn::Conv2d>(1, 4, 3);
    net.add<nn::BatchNorm2d>(4);
    net.add<nn::ReLU>();
    net.add<nn::MaxPool2d>(2);
    net.add<nn::Flatten>();
    net.add<nn::Dropout>(0.25);
    net.add<nn::Linear>(4 * 5 * 5, 10);
    optim::Adam adam(net.parameters());
    check_optimiser(net, adam, {4, 1, 12, 12}, 30, 2);
}

TEST_CASE("X[i:i+n] in a loop is one plan for all i") {
    const BackendScope ref("ref");
    const Tensor x = data({300, 5}), w = data({5}, 2);
    for (int i = 0; i < 5; ++i) {
        CAPTURE(i);
        const CounterScope count;
        (x[{Slice{i * 13, i * 13 + 20}}] * w).realize();
        CHECK(count.kernels_launched() == 1);
        if (i > 0) CHECK(count.kernels_compiled() == 0);
        if (i > 0) CHECK(count.plan_cache_hits() == 1);
    }
}

}  // namespace
}  // namespace weft::testing
