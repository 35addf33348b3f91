// Activations and softmax: values, stability, types, gradients, and the messages of likely mistakes.
#include "tests/tensor/support.h"

using namespace weft;
using namespace weft::testing;

TEST_CASE("activations") {
    const Tensor x = tensor({-2.0, 0.0, 3.0, kNan});
    CHECK(close(relu(x), {0, 0, 3, kNan}));
    CHECK(values(relu(tensor({-2, 3}))) == Doubles{0, 3});
    CHECK(close(leaky_relu(x, 0.1), {-0.2, 0, 3, kNan}));
    CHECK(close(elu(x), {std::expm1(-2), 0, 3, kNan}));
    CHECK(close(gelu(tensor({-1.0, 2.0})), {-0.15865525, 1.9544997}));
    CHECK(close(gelu(tensor({-1.0, 2.0}), GeluForm::Tanh), {-0.15880801, 1.9545977}));
    CHECK(close(softplus(tensor({-100.0, 0.0, 1.0, 100.0})), {0, std::log(2.0), std::log1p(std::exp(1.0)), 100}));
    CHECK(close(softplus(tensor({1.0, 9.0}), 2, 10), {std::log1p(std::exp(2.0)) / 2, 9}));
    CHECK(close(hardtanh(tensor({-2.0, 0.5, 2.0})), {-1, 0.5, 1}));
    CHECK(close(sigmoid(tensor({-200.0, 200.0})), {0, 1}));
}

TEST_CASE("softmax of a scalar is 1, whatever the scalar: the gradient is 0") {
    for (const int axis : {0, -1}) {
        for (const auto function : {+[](const Tensor&x, int d) { return softmax(x, d); },
                                    +[](const Tensor&x, int d) { return softmin(x, d); },
                                    +[](const Tensor&x, int d) { return gumbel_softmax(x, 1, false, d); }}) {
            Tensor x = tensor(3.0, f32);
            x.set_requires_grad();
            const Tensor y = function(x, axis);
            y.backward();
            CHECK(y.shape() == Shape{});
            CHECK(y.item() == 1);
            CHECK(x.grad().item() == 0);
        }
    }
}

TEST_CASE("softmax and log_softmax") {
    const Tensor x = tensor({{1.0, 2.0, 3.0}, {1000.0, 1000.0, -1000.0}});
    const double e = std::exp(1), total = 1 + e + e * e;
    CHECK(close(softmax(x), {1 / total, e / total, e * e / total, 0.5, 0.5, 0}));
    CHECK(close(softmax(x, 0), {0, 0, 1, 1, 1, 0}));
    CHECK(close(log_softmax(x), {-std::log(total), 1 - std::log(total), 2 - std::log(total), -std::log(2.0),
                                 -std::log(2.0), -2000 - std::log(2.0)}));
    CHECK(close(softmax(tensor({-kInf, 0.0})), {0, 1}));
    CHECK(softmax(tensor({1, 2})).dtype() == f32);
    CHECK(softmax(x.to(bf16)).dtype() == bf16);
    CHECK(softmax(tensor(3.0)).item() == 1);
    CHECK(sum(softmax(ones({4000}, f16))).item() == doctest::Approx(1).epsilon(0.01));
}

TEST_CASE("softmax's gradient") {
    Tensor x = tensor({{0.5, -1.0, 2.0}}), y = tensor({{0.5, -1.0, 2.0}});
    x.set_requires_grad();
    y.set_requires_grad();
    const Tensor g = tensor({{1.0, 2.0, -1.0}});
    softmax(x).backward(g);
    (exp(y) / sum(exp(y), -1, true)).backward(g);  // the same, by the plain rules
    CHECK(close(x.grad(), values(y.grad())));
}

TEST_CASE("mistakes in softmax name the call") {
    const Tensor x = zeros({2, 3});
    CHECK(error_of<IndexError>([&] { softmax(x, 2); }) ==
          "softmax(x: f32[2, 3], axis: 2): axis 2 is out of range [-2, 2)");
}

TEST_CASE("gumbel_softmax samples each class as often as its probability") {
    manual_seed(5);
    const Tensor logits = log(tensor({0.5, 0.3, 0.2})).expand({20000, 3});
    const Tensor hard = gumbel_softmax(logits, 1, true);
    CHECK(close(hard.sum(1).sum(), {20000}));
    CHECK(close(hard.mean(0), {0.5, 0.3, 0.2}, 0.02));
    CHECK(close(gumbel_softmax(logits, 0.5).sum(1).mean(), {1}));
}
