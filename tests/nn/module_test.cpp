// Modules: names, parameters, modes, copying of state, and how layers start.
#include <weft/debug.h>
#include <weft/nn.h>
#include <weft/ops.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

using namespace weft;

namespace {

struct Net : nn::Module {
    nn::Linear hidden{3, 4}, out{4, 2, false};
    nn::BatchNorm1d norm{4};
    nn::Dropout drop{0.5};
    Net() { child("hidden", hidden), child("norm", norm), child("drop", drop), child("out", out); }
    Tensor forward(const Tensor& x) override { return out(drop(norm(relu(hidden(x))))); }
};

std::vector<std::string> names(const nn::NamedTensors& tensors) {
    std::vector<std::string> result;
    for (const auto& [name, tensor] : tensors) result.push_back(name);
    return result;
}

using Floats = std::vector<float>;

}  // namespace

TEST_CASE("parameters and buffers are found by their path") {
    Net net;
    CHECK(names(net.named_parameters()) ==
          std::vector<std::string>{"hidden.weight", "hidden.bias", "norm.weight", "norm.bias", "out.weight"});
    CHECK(names(net.named_buffers()) ==
          std::vector<std::string>{"norm.running_mean", "norm.running_var", "norm.num_batches_tracked"});
    CHECK(net.state().size() == 8);
    CHECK(net.parameter_count() == 12 + 4 + 4 + 4 + 8);
    for (const Tensor& p : net.parameters()) {
        CHECK(p.requires_grad());
        CHECK(p.is_leaf());
    }
    CHECK_FALSE(net.norm.running_mean.requires_grad());
    CHECK_THROWS_AS(nn::Module().forward(zeros({1})), ValueError);
}

TEST_CASE("train and eval reach the children") {
    Net net;
    CHECK(net.drop.training());
    net.eval();
    CHECK_FALSE(net.drop.training());
    CHECK_FALSE(net.norm.training());
    const Tensor x = tensor({{1, 2, 3}}, f32);
    CHECK(net(x).to_vector<float>() == net(x).to_vector<float>());  // no dropout
    net.train();
    CHECK(net.norm.training());
}

TEST_CASE("layers start within PyTorch's bounds, and are drawn once") {
    manual_seed(1);
    const nn::Linear linear(100, 50);
    CHECK(linear.weight.shape() == Shape{50, 100});
    const Floats w = linear.weight.to_vector<float>();
    CHECK(*std::max_element(w.begin(), w.end()) <= 0.1f);
    CHECK(*std::min_element(w.begin(), w.end()) >= -0.1f);
    CHECK(*std::max_element(w.begin(), w.end()) > 0.095f);
    CHECK(linear.weight.to_vector<float>() == w);
    CHECK(linear.bias.abs().max().item() <= 0.1);
    const nn::Conv2d conv(4, 6, {3, 5}, {.groups = 2});
    CHECK(conv.weight.shape() == Shape{6, 2, 3, 5});
    CHECK(conv.weight.abs().max().item() <= 1 / std::sqrt(30.0));
    CHECK_FALSE(nn::Linear(2, 3, false).bias.defined());
    CHECK_THROWS_AS(nn::Linear(0, 3), ValueError);
    CHECK_THROWS_AS(nn::Conv2d(3, 4, 3, {.groups = 2}), ValueError);
    CHECK_THROWS_AS(nn::Dropout(1.5), ValueError);
    const nn::Embedding table(1000, 4);
    CHECK(std::abs(table.weight.mean().item()) < 0.1);
}

TEST_CASE("state is copied by name, wholly or not at all") {
    Net a, b;
    {
        const NoGrad no_grad;
        a.norm.running_mean.fill_(3);
    }
    b.copy_state_from(a);
    for (std::size_t i = 0; i < a.state().size(); ++i)
        CHECK(a.state()[i].second.to_vector<float>() == b.state()[i].second.to_vector<float>());
    {
        const NoGrad no_grad;
        a.hidden.weight.fill_(7);
    }
    CHECK(b.hidden.weight.to_vector<float>()[0] != 7);  // values, not handles

    nn::NamedTensors state = a.state();
    const Floats before = b.hidden.weight.to_vector<float>();
    state.back().second = zeros({9});
    CHECK_THROWS_AS(b.load_state(state), ShapeError);
    state.pop_back();
    CHECK_THROWS_AS(b.load_state(state), ValueError);
    state = a.state();
    state.emplace_back("stranger", zeros({1}));
    CHECK_THROWS_WITH_AS(b.load_state(state), "load_state(): the module has nothing named stranger", ValueError);
    CHECK(b.hidden.weight.to_vector<float>() == before);
    CHECK(b.hidden.weight.requires_grad());
}

TEST_CASE("Sequential runs its modules in order and names them by number") {
    nn::Sequential net;
    net.add<nn::Linear>(2, 3).add<nn::ReLU>().add<nn::Flatten>(0).add<nn::Linear>(3, 1, false);
    CHECK(net.size() == 4);
    CHECK(names(net.named_parameters()) == std::vector<std::string>{"0.weight", "0.bias", "3.weight"});
    {
        const NoGrad no_grad;
        for (Tensor p : net.parameters()) p.fill_(1);
    }
    CHECK(net(tensor({{2, 3}}, f32)).to_vector<float>() == Floats{18});
    CHECK(&net[1] != nullptr);
}

TEST_CASE("batch norm moves its running statistics in training only") {
    nn::BatchNorm1d norm(2);
    const Tensor x = tensor({{1, 10}, {3, 30}}, f32);
    const Tensor y = norm(x);
    CHECK(y.to_vector<float>()[0] == doctest::Approx(-1).epsilon(1e-4));
    CHECK(norm.running_mean.to_vector<float>() == Floats{0.2f, 2.f});
    CHECK(norm.running_var.to_vector<float>()[1] == doctest::Approx(0.9 + 0.1 * 200));
    norm.eval();
    norm(x).realize();
    CHECK(norm.running_mean.to_vector<float>() == Floats{0.2f, 2.f});
    CHECK_THROWS_AS(norm(zeros({2, 2, 2, 2})), ShapeError);
    CHECK_THROWS_AS(nn::BatchNorm2d(2)(zeros({2, 2})), ShapeError);
}

TEST_CASE("running statistics of a loop that never reads stay bounded") {
    nn::BatchNorm1d norm(2);
    const Tensor x = tensor({{1, 10}, {3, 30}}, f32);
    norm(x).realize();
    const CounterScope count;
    for (int i = 0; i < 300; ++i) norm(x).sum().item();
    CHECK(count.live_nodes() < 50);
    CHECK(norm.running_mean.to_vector<float>()[0] == doctest::Approx(2));
}

TEST_CASE("the other layers call their functions") {
    const Tensor x = tensor({{-1, 0, 2}}, f32);
    CHECK(nn::ReLU()(x).to_vector<float>() == Floats{0, 0, 2});
    CHECK(nn::LeakyReLU(0.5)(x).to_vector<float>() == Floats{-0.5f, 0, 2});
    CHECK(nn::Identity()(x).to_vector<float>() == Floats{-1, 0, 2});
    CHECK(nn::Tanh()(x).to_vector<float>()[2] == doctest::Approx(std::tanh(2.0)));
    CHECK(nn::Sigmoid()(x).to_vector<float>()[1] == 0.5f);
    CHECK(nn::GELU()(x).to_vector<float>()[1] == 0);
    CHECK(nn::Softmax()(x).sum().item() == doctest::Approx(1));
    CHECK(nn::LayerNorm({3})(x).sum().item() == doctest::Approx(0));
    CHECK(nn::RMSNorm({3})(x).to_vector<float>()[1] == 0);
    CHECK(nn::Embedding(5, 2)(tensor({1, 4, 4})).shape() == Shape{3, 2});
    const Tensor image = arange(16).to(f32).reshape({1, 1, 4, 4});
    CHECK(nn::MaxPool2d(2)(image).to_vector<float>() == Floats{5, 7, 13, 15});
    CHECK(nn::AvgPool2d(2)(image).to_vector<float>() == Floats{2.5f, 4.5f, 10.5f, 12.5f});
    CHECK(nn::Conv2d(1, 2, 3, {.padding = 1})(image).shape() == Shape{1, 2, 4, 4});
    CHECK(nn::Flatten()(image).shape() == Shape{1, 16});
}
