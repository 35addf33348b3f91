// Losses: values, stability, gradients, reductions, and the messages of likely mistakes.
#include "tests/tensor/support.h"

using namespace weft;
using namespace weft::testing;

namespace {

const Tensor& logits() {
    static const Tensor x = tensor({{1.0, 2.0, 3.0}, {0.0, 0.0, 0.0}});
    return x;
}

}  // namespace

TEST_CASE("cross_entropy is -log softmax of the label") {
    const Tensor labels = tensor({2, 0});
    const double a = std::log(1 + std::exp(-1) + std::exp(-2)), b = std::log(3.0);
    CHECK(close(cross_entropy(logits(), labels), {(a + b) / 2}));
    CHECK(close(cross_entropy(logits(), labels, {.reduction = Reduction::Sum}), {a + b}));
    CHECK(close(cross_entropy(logits(), labels, {.reduction = Reduction::None}), {a, b}));
    CHECK(close(nll_loss(log_softmax(logits()), labels), {(a + b) / 2}));
    CHECK(close(cross_entropy(logits(), labels.to(u8)), {(a + b) / 2}));
    CHECK(close(cross_entropy(logits()[0], tensor(2)), {a}));
    CHECK(close(cross_entropy(tensor({{1e4, 0.0}}), tensor({1})), {1e4}));
    CHECK(cross_entropy(logits().to(f16), labels).dtype() == f16);
}

TEST_CASE("ignored labels count nothing; smoothing mixes in the uniform distribution") {
    const double a = std::log(1 + std::exp(-1) + std::exp(-2)), b = std::log(3.0);
    CHECK(close(cross_entropy(logits(), tensor({2, -100}), {.ignore_index = -100}), {a}));
    CHECK(close(cross_entropy(logits(), tensor({2, 1}), {.ignore_index = 1}), {a}));
    CHECK(close(cross_entropy(logits(), tensor({2, -100}), {.reduction = Reduction::None, .ignore_index = -100}),
                {a, 0}));
    CHECK(std::isnan(cross_entropy(logits(), tensor({-100, -100}), {.ignore_index = -100}).item()));
    const double uniform = ((a + 2) + (a + 1) + a) / 3;
    CHECK(close(cross_entropy(logits(), tensor({2, 0}), {.reduction = Reduction::None, .label_smoothing = 0.3}),
                {0.7 * a + 0.3 * uniform, b}));
}

TEST_CASE("classes stand on axis 1") {
    const Tensor x = from_data(noise(2 * 3 * 4), {2, 3, 4});
    const Tensor labels = tensor({{0, 1, 2, 0}, {2, 2, 1, 0}});
    const Tensor rows = x.permute({0, 2, 1}).reshape({8, 3});
    CHECK(close(cross_entropy(x, labels), {cross_entropy(rows, labels.reshape({8})).item()}));
    CHECK(cross_entropy(x, labels, {.reduction = Reduction::None}).shape() == Shape{2, 4});
}

TEST_CASE("the gradient is softmax minus one_hot") {
    Tensor x = logits().clone();
    x.set_requires_grad();
    const Tensor labels = tensor({2, 0});
    cross_entropy(x, labels).backward();
    CHECK(close(x.grad(), values((softmax(logits()) - one_hot(labels, 3)) / 2)));
}

TEST_CASE("losses of equal shapes") {
    const Tensor x = tensor({1.0, 2.0, 5.0}), y = tensor({0.0, 2.0, 3.0});
    CHECK(close(mse_loss(x, y), {5.0 / 3}));
    CHECK(close(l1_loss(x, y, Reduction::Sum), {3}));
    CHECK(values(l1_loss(x, y, Reduction::None)) == Doubles{1, 0, 2});
    const Tensor p = tensor({0.25, 0.5, 1.0, 0.0}), t = tensor({1.0, 0.0, 1.0, 1.0});
    CHECK(close(binary_cross_entropy(p, t, Reduction::None), {std::log(4.0), std::log(2.0), 0, 100}));
    CHECK(close(bce_with_logits(tensor({-200.0, 0.0, 200.0, 200.0}), tensor({1.0, 0.5, 1.0, 0.0}), Reduction::None),
                {200, std::log(2.0), 0, 200}));
    CHECK(mse_loss(x.to(f16), y.to(f16)).dtype() == f16);
}

TEST_CASE("gradients of the binary losses") {
    Tensor x = tensor({-2.0, 0.0, 3.0}), p = tensor({0.25, 0.5, 0.0});
    x.set_requires_grad();
    p.set_requires_grad();
    const Tensor t = tensor({1.0, 0.25, 0.0});
    bce_with_logits(x, t, Reduction::Sum).backward();
    CHECK(close(x.grad(), values(sigmoid(x.detach()) - t)));
    binary_cross_entropy(p, t, Reduction::Sum).backward();
    CHECK(close(p.grad(), {-4, 1, 0}));
}

TEST_CASE("gradients at kinks and in flat places are PyTorch's") {
    const auto slope = [](const std::function<Tensor(const Tensor&)>& f, const Doubles& at) {
        Tensor x = from_data(std::vector<float>(at.begin(), at.end()));
        x.set_requires_grad();
        f(x).sum().backward();
        return values(x.grad());
    };
    CHECK(slope([](const Tensor& x) { return relu(x); }, {-1, 0, 2}) == Doubles{0, 0, 1});
    CHECK(slope([](const Tensor& x) { return clamp(x, 0, 1); }, {-1, 0, 0.5, 1, 2}) == Doubles{0, 1, 1, 1, 0});
    CHECK(slope([](const Tensor& x) { return hardtanh(x); }, {-1, 0, 1}) == Doubles{0, 1, 0});
    CHECK(slope([](const Tensor& x) { return elu(x); }, {0, 1000}) == Doubles{1, 1});
    CHECK(slope([](const Tensor& x) { return leaky_relu(x, 0.5); }, {-1, 0, 1}) == Doubles{0.5, 0.5, 1});
    CHECK(slope([](const Tensor& x) { return softplus(x); }, {-1000, 0, 1000}) == Doubles{0, 0.5, 1});
    CHECK(slope([](const Tensor& x) { return abs(x); }, {-1, 0, 1}) == Doubles{-1, 0, 1});
    CHECK(slope([](const Tensor& x) { return floor(x) + ceil(x) + round(x) + sign(x) + x; }, {0.3}) == Doubles{1});
    CHECK(slope([](const Tensor& x) { return fmod(x, 2); }, {-3, 0, 3}) == Doubles{1, 1, 1});
    CHECK(slope([](const Tensor& x) { return pow(x, 2); }, {-3, 0, 3}) == Doubles{-6, 0, 6});
    CHECK(slope([](const Tensor& x) { return maximum(x, 0); }, {-1, 0, 1}) == Doubles{0, 0.5, 1});
}

TEST_CASE("weights scale classes, and the mean divides by those of the labels") {
    const Tensor labels = tensor({2, 0}), weight = tensor({0.5, 1.0, 2.0});
    const double a = std::log(1 + std::exp(-1) + std::exp(-2)), b = std::log(3.0);
    CHECK(close(cross_entropy(logits(), labels, {.weight = weight}), {(2 * a + 0.5 * b) / 2.5}));
    CHECK(close(cross_entropy(logits(), labels, {.reduction = Reduction::None, .weight = weight}), {2 * a, 0.5 * b}));
    CHECK(close(cross_entropy(logits(), tensor({2, -1}), {.ignore_index = -1, .weight = weight}), {a}));
    CHECK(close(nll_loss(log_softmax(logits()), labels, Reduction::Mean, {}, weight), {(2 * a + 0.5 * b) / 2.5}));
    CHECK(close(nll_loss(log_softmax(logits()), labels, Reduction::Sum, 0, weight), {2 * a}));
    CHECK(error_of<ShapeError>([] {
              cross_entropy(logits(), tensor({2, 0}), {.weight = ones({2})});
          }) == "cross_entropy(logits: f32[2, 3], labels: i64[2]): weight must have shape [3]: one per class, not [2]");
}

TEST_CASE("labels may be probabilities") {
    const Tensor hard = one_hot(tensor({2, 0}), 3).to(f32);
    CHECK(close(cross_entropy(logits(), hard), {cross_entropy(logits(), tensor({2, 0})).item()}));
    const CrossEntropyOptions smooth{.label_smoothing = 0.3};
    CHECK(close(cross_entropy(logits(), hard, smooth), {cross_entropy(logits(), tensor({2, 0}), smooth).item()}));
    CHECK(close(cross_entropy(logits()[0], hard[0]), {cross_entropy(logits()[0], tensor(2)).item()}));
    CHECK_THROWS_AS(cross_entropy(logits(), hard, {.ignore_index = 1}), ValueError);
}

TEST_CASE("at logits of 1e4 values and gradients are finite and right") {
    const auto slope = [](const std::function<Tensor(const Tensor&)>& f, const Doubles& at, Shape shape) {
        Tensor x = from_data(std::vector<float>(at.begin(), at.end()), shape);
        x.set_requires_grad();
        f(x).backward();
        return values(x.grad());
    };
    const auto sum = Reduction::Sum;
    const Doubles rows = {1e4, -1e4, -1e4, 1e4};
    CHECK(close(cross_entropy(from_data(std::vector<float>{1e4, -1e4}, {1, 2}), tensor({1})), {2e4}));
    CHECK(slope(
              [&](const Tensor& x) {
                  return cross_entropy(x, tensor({1, 1}), {.reduction = sum});
              },
              rows, {2, 2}) == Doubles{1, -1, 0, 0});
    CHECK(slope(
              [&](const Tensor& x) {
                  return cross_entropy(x, zeros({2, 2}) + 0.5, {.reduction = sum});
              },
              rows, {2, 2}) == Doubles{0.5, -0.5, -0.5, 0.5});
    CHECK(slope(
              [&](const Tensor& x) {
                  return bce_with_logits(x, tensor({1.0, 1.0, 0.0, 0.0}), sum);
              },
              rows, {4}) == Doubles{0, -1, 0, 1});
    CHECK(slope(
              [&](const Tensor& x) {
                  return bce_with_logits(x, tensor({1.0, 1.0, 0.0, 0.0}), sum, {}, tensor(3.0));
              },
              rows, {4}) == Doubles{0, -3, 0, 1});
    for (const double gamma : {0.0, 0.5, 2.0, 2.5}) {
        CAPTURE(gamma);
        CHECK(slope(
                  [&](const Tensor& x) {
                      return sigmoid_focal_loss(x, tensor({1.0, 1.0, 0.0, 0.0}), -1, gamma, sum);
                  },
                  rows, {4}) == Doubles{0, -1, 0, 1});
        CHECK(slope(
                  [&](const Tensor& x) {
                      return focal_loss(x, tensor({1, 1}), {.gamma = gamma, .reduction = sum});
                  },
                  rows, {2, 2}) == Doubles{1, -1, 0, 0});
    }
    CHECK(slope([&](const Tensor& x) { return log_cosh_loss(x, zeros({4}), sum); }, rows, {4}) ==
          Doubles{1, -1, -1, 1});
    CHECK(slope([&](const Tensor& x) { return huber_loss(x, zeros({4}), 2, sum); }, rows, {4}) ==
          Doubles{2, -2, -2, 2});
}

TEST_CASE("distances that are squares near 0 and lines far away") {
    const Tensor x = tensor({0.0, 0.5, -2.0}), zero = zeros({3});
    CHECK(close(huber_loss(x, zero, 1, Reduction::None), {0, 0.125, 1.5}));
    CHECK(close(huber_loss(x, zero, 4, Reduction::None), {0, 0.125, 2}));
    CHECK(close(smooth_l1_loss(x, zero, 0.25, Reduction::None), {0, 0.375, 1.875}));
    CHECK(close(smooth_l1_loss(x, zero, 0, Reduction::None), {0, 0.5, 2}));
    CHECK(close(log_cosh_loss(x, zero, Reduction::None), {0, std::log(std::cosh(0.5)), std::log(std::cosh(2.0))}));
    const Tensor tiny = tensor({1e-4});
    CHECK(log_cosh_loss(tiny, zeros({1})).item() == doctest::Approx(5e-9).epsilon(1e-5));
    CHECK_THROWS_AS(huber_loss(x, zero, 0), ValueError);
    CHECK_THROWS_AS(smooth_l1_loss(x, zero, -1), ValueError);
}

TEST_CASE("losses of distributions") {
    const Tensor p = tensor({{0.5, 0.5}, {1.0, 0.0}}), q = tensor({{0.25, 0.75}, {0.5, 0.5}});
    const double sum = 0.5 * std::log(2.0) + 0.5 * std::log(0.5 / 0.75) + std::log(2.0);
    CHECK(close(kl_div(log(q), p, Reduction::Sum), {sum}));
    CHECK(close(kl_div(log(q), p, Reduction::BatchMean), {sum / 2}));
    CHECK(close(kl_div(log(q), p), {sum / 4}));
    CHECK(close(kl_div(log(q), log(p + 1e-30), Reduction::Sum, true), {sum}));
    CHECK(close(poisson_nll_loss(tensor({1.0}), tensor({2.0})), {std::exp(1.0) - 2}));
    CHECK(close(gaussian_nll_loss(tensor({1.0}), tensor({3.0}), tensor({2.0})), {0.5 * (std::log(2.0) + 2)}));
}

TEST_CASE("how alike vectors are") {
    const Tensor a = tensor({{1.0, 0.0}, {3.0, 4.0}}), b = tensor({{0.0, 2.0}, {3.0, 4.0}});
    CHECK(close(cosine_similarity(a, b), {0, 1}));
    CHECK(close(cosine_embedding_loss(a, b, tensor({1, -1}), 0.25, Reduction::None), {1, 0.75}));
    CHECK(close(pairwise_distance(a, b, 1, 0), {3, 0}));
    CHECK(close(margin_ranking_loss(tensor({1.0, 2.0}), tensor({2.0, 1.0}), tensor({1, 1}), 0.5), {0.75}));
    CHECK(close(hinge_embedding_loss(tensor({0.25, 0.25}), tensor({1, -1}), 1, Reduction::None), {0.25, 0.75}));
    CHECK(close(triplet_margin_loss(a, b, zeros({2, 2}), {.p = 1, .eps = 0, .reduction = Reduction::None}), {3, 0}));
}

TEST_CASE("mistakes name the call") {
    CHECK(error_of<ShapeError>([] {
              cross_entropy(zeros({2, 3}), zeros({3}, i64));
          }) ==
          "cross_entropy(logits: f32[2, 3], labels: i64[3]): labels must have shape [2]: one class index per row");
    CHECK(error_of<DTypeError>([] {
              cross_entropy(zeros({2, 3}), zeros({2}));
          }) == "cross_entropy(logits: f32[2, 3], labels: f32[2]): labels must be integers (class indices), not f32");
    CHECK(run_error_of<IndexError>([] {
              cross_entropy(zeros({2, 3}), tensor({0, 3})).item();
          }) == "cross_entropy(logits: f32[2, 3], labels: i64[2]): label out of range [0, 3)");
    CHECK(error_of<ShapeError>([] {
              mse_loss(zeros({2, 1}), zeros({2}));
          }) ==
          "mse_loss(input: f32[2, 1], target: f32[2]): both must have the same shape; broadcasting here would hide a "
          "mistake");
    CHECK(error_of<ValueError>([] {
              cross_entropy(zeros({2, 3}), zeros({2}, i64), {.label_smoothing = 2});
          }) == "cross_entropy(logits: f32[2, 3], labels: i64[2]): label_smoothing must lie between 0 and 1");
}

TEST_CASE("margin losses") {
    const Tensor x = tensor({{0.5, 0., 1.}});
    CHECK(multi_margin_loss(x, tensor({0})).item<float>() == doctest::Approx((0.5 + 1.5) / 3));
    CHECK(multi_margin_loss(x, tensor({0}), {.p = 2}).item<float>() == doctest::Approx((0.25 + 2.25) / 3));
    CHECK(multilabel_margin_loss(x, tensor({{0, -1, 1}})).item<float>() == doctest::Approx((0.5 + 1.5) / 3));
    CHECK(soft_margin_loss(tensor({0.}), tensor({1.})).item<float>() == doctest::Approx(std::log(2.)));
    CHECK_THROWS_AS(multi_margin_loss(x, tensor({0}), {.p = 3}), ValueError);
}

TEST_CASE("ctc_loss adds up all readings") {
    // Two times, two classes of equal probability: "1" is read from 01, 10 and 11, three of four paths.
    const Tensor x = full({2, 1, 2}, std::log(0.5), f64);
    CHECK(ctc_loss(x, tensor({{1}}), {2}, {1}).item<double>() == doctest::Approx(-std::log(0.75)));
    CHECK(ctc_loss(x, tensor({{1, 1}}), {2}, {2}, {.reduction = Reduction::Sum}).item<double>() ==
          std::numeric_limits<double>::infinity());  // 1 twice needs a blank between: three times
    CHECK(ctc_loss(x, tensor({{1, 1}}), {2}, {2}, {.zero_infinity = true}).item<double>() == 0);
    CHECK_THROWS_AS(ctc_loss(x, tensor({{1}}), {3}, {1}), ValueError);
}
