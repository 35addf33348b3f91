// Initial values: what they promise about variances, limits, rotations and places.
#include <weft/init.h>
#include <weft/ops.h>

#include <doctest/doctest.h>

#include <cmath>

using namespace weft;
using namespace weft::nn;

namespace {

double deviation(const Tensor& x) { return stddev(x).item(); }

}  // namespace

TEST_CASE("variances go by the fans") {
    manual_seed(1);
    const Tensor x = zeros({200, 50, 3, 3});
    CHECK(init::fans(x) == std::pair<std::int64_t, std::int64_t>{450, 1800});
    CHECK(deviation(init::xavier_uniform_(x)) == doctest::Approx(std::sqrt(2.0 / 2250)).epsilon(0.02));
    CHECK(deviation(init::xavier_normal_(x, 2)) == doctest::Approx(2 * std::sqrt(2.0 / 2250)).epsilon(0.02));
    CHECK(deviation(init::kaiming_uniform_(x)) == doctest::Approx(std::sqrt(2.0 / 450)).epsilon(0.02));
    CHECK(deviation(init::kaiming_normal_(x, {.mode = init::Fan::Out, .nonlinearity = "relu"})) ==
          doctest::Approx(std::sqrt(2.0 / 1800)).epsilon(0.02));
    CHECK(deviation(init::lecun_uniform_(x)) == doctest::Approx(std::sqrt(1.0 / 450)).epsilon(0.02));
    CHECK(deviation(init::lecun_normal_(x)) == doctest::Approx(std::sqrt(1.0 / 450)).epsilon(0.02));
    CHECK(deviation(x) == doctest::Approx(std::sqrt(1.0 / 450)).epsilon(0.02));  // written in place
    CHECK_THROWS_AS(init::fans(zeros({3})), ValueError);
    CHECK_THROWS_AS(init::calculate_gain("swoosh"), ValueError);
}

TEST_CASE("a truncated normal distribution keeps to its limits") {
    manual_seed(2);
    const Tensor x = init::trunc_normal_(zeros({100'000}), 1, 2, 0, 2);
    CHECK(x.min().item() >= 0);
    CHECK(x.max().item() <= 2);
    CHECK(x.mean().item() == doctest::Approx(1).epsilon(0.01));
    CHECK(deviation(init::trunc_normal_(zeros({100'000}))) == doctest::Approx(0.8796).epsilon(0.01));
    CHECK(deviation(init::trunc_normal_(zeros({100'000}), 0, 0.02)) == doctest::Approx(0.02).epsilon(0.02));
    CHECK_THROWS_AS(init::trunc_normal_(x, 0, 1, 2, 1), ValueError);
}

TEST_CASE("orthogonal rows, or columns") {
    manual_seed(3);
    for (const Shape& shape : {Shape{30, 30}, Shape{10, 40}, Shape{40, 10}, Shape{8, 3, 2, 2}}) {
        const Tensor x = init::orthogonal_(zeros(shape), 2).reshape({shape[0], -1});
        const Tensor q = x.size(0) <= x.size(1) ? x : x.t();
        CHECK(abs(matmul(q, q.t()) - 4 * eye(q.size(0))).max().item() < 1e-5);
    }
}

TEST_CASE("values that are not drawn") {
    CHECK(init::eye_(zeros({2, 3})).to_vector<float>() == std::vector<float>{1, 0, 0, 0, 1, 0});
    CHECK(init::constant_(zeros({2}), 0.5).to_vector<float>() == std::vector<float>{0.5, 0.5});
    const Tensor x = randn({1, 4, 5, 5}).realize();
    CHECK(conv2d(x, init::dirac_(zeros({4, 4, 3, 3})), {}, {.padding = 1}).to_vector<float>() == x.to_vector<float>());
    const Tensor sparse = init::sparse_(zeros({20, 50}), 0.25, 1);
    CHECK((sparse == 0).to(f32).sum(0).min().item() == 5);
    CHECK((sparse == 0).to(f32).sum(0).max().item() == 5);
    Tensor p = zeros({3, 3}).set_requires_grad();
    init::normal_(p);
    CHECK(p.is_leaf());
    CHECK(p.requires_grad());
}
