// tests/semantics/precision_test.cpp: the lines on how near results are to exact ones. The bounds themselves are tested op by op by the
// registry of the Python tests (python/tests/ops/); here are those that a sample of shapes and types shows.
#include "core/config.h"
#include "tests/semantics/lines.h"

#include <weft/convolution.h>
#include <weft/debug.h>
#include <weft/linalg.h>

#include <algorithm>
#include <random>

using namespace weft;
using namespace weft::testing;

namespace {

struct Bound {
    DType dtype;
    double relative, absolute;
};
constexpr Bound kBounds[] = {{f32, 1.3e-6, 1e-5}, {f64, 1e-7, 1e-7}, {f16, 1e-3, 1e-5}, {bf16, 1.6e-2, 1e-5}};

std::vector<float> uniform(std::size_t count, float low, float high) {
    std::mt19937 generator(7);
    std::uniform_real_distribution<float> distribution(low, high);
    std::vector<float> values(count);
    for (float& value : values) value = distribution(generator);
    return values;
}

std::vector<float> whole(std::size_t count, int most, unsigned seed) {
    std::mt19937 generator(seed);
    std::vector<float> values(count);
    for (float& value : values) value = static_cast<float>(static_cast<int>(generator() % (2 * most + 1)) - most);
    return values;
}

}  // namespace

LINE_ALONE("S251: results are within the bounds of their type of what f64 gives for the same operands") {
    using Function = Tensor (*)(const Tensor&);
    const Function functions[] = {
        [](const Tensor& x) { return exp(x) - log(x); },
        [](const Tensor& x) { return lgamma(x); },  // has a zero in this range: there the absolute bound counts
        [](const Tensor& x) { return digamma(x); },
        [](const Tensor& x) { return erfinv(x / 4); },
        [](const Tensor& x) { return softmax(x, 1); },
        [](const Tensor& x) { return logsumexp(x, 0); },
        [](const Tensor& x) { return var(x, 1); },
        [](const Tensor& x) { return norm(x, 3, 1); },
        [](const Tensor& x) { return cumsum(x, 1); },
        [](const Tensor& x) { return matmul(x, x.t()); },
    };
    const Tensor values = from_data(uniform(24 * 131, 0.3f, 3.0f), {24, 131});
    for (const auto& [dtype, relative, absolute] : kBounds) {
        const Tensor x = values.to(dtype).contiguous();
        for (std::size_t f = 0; f < std::size(functions); ++f) {
            const std::vector<double> got = functions[f](x).to(f64).to_vector<double>();
            const std::vector<double> exact = functions[f](x.to(f64)).to_vector<double>();
            double worst = 0;  // in units of the bound
            // The first function is three ops, each of which rounds.
            const double steps = f == 0 || f == 3 ? 3 : 1;
            for (std::size_t i = 0; i < got.size(); ++i)
                worst = std::max(worst, std::fabs(got[i] - exact[i]) / (absolute + relative * std::fabs(exact[i])));
            CAPTURE(f);
            CAPTURE(name_of(dtype));
            CHECK(worst <= steps);
        }
    }
}

LINE_ALONE("S252: products of matrices and convolutions of whole numbers are exact") {
    struct Case {
        DType dtype;
        int most;
        std::int64_t length;  // most² · length is a whole number that the type has
    };
    for (const auto& [dtype, most, length] :
         {Case{f32, 100, 1500}, {f64, 1000, 1500}, {f16, 1, 2000}, {bf16, 1, 250}}) {
        CAPTURE(name_of(dtype));
        const Tensor a = from_data(whole(19 * length, most, 1), {19, length}),
                     b = from_data(whole(length * 21, most, 2), {length, 21});
        const std::vector<std::int64_t> product = matmul(a.to(i64), b.to(i64)).to_vector<std::int64_t>();
        CHECK(matmul(a.to(dtype), b.to(dtype)).to(i64).to_vector<std::int64_t>() == product);

        const int channels = 8, size = 9, taps = 5;
        const std::vector<float> image = whole(channels * size * size, most, 3),
                                 window = whole(6 * channels * taps * taps, most, 4);
        std::vector<std::int64_t> exact;
        for (int o = 0; o < 6; ++o)
            for (int y = 0; y + taps <= size; y += 2)
                for (int x = 0; x + taps <= size; x += 2) {
                    std::int64_t total = 0;
                    for (int c = 0; c < channels; ++c)
                        for (int i = 0; i < taps; ++i)
                            for (int j = 0; j < taps; ++j)
                                total += static_cast<std::int64_t>(image[(c * size + y + i) * size + x + j]) *
                                         static_cast<std::int64_t>(window[((o * channels + c) * taps + i) * taps + j]);
                    exact.push_back(total);
                }
        const Tensor pictures = from_data(image, {1, channels, size, size}),
                     weights = from_data(window, {6, channels, taps, taps});
        CHECK(conv2d(pictures.to(dtype), weights.to(dtype), {}, {.stride = 2}).to(i64).to_vector<std::int64_t>() ==
              exact);
    }
}

LINE_ALONE("S275: a transposed convolution of an infinity: where it reaches, and where only zeros stand") {
    const Tensor x = from_data(std::vector<float>{1, 2}, {1, 1, 2}),
                 weight = from_data(std::vector<float>{static_cast<float>(kInf), 1}, {1, 1, 2});
    const auto near = conv_transpose1d(x, weight, {}, {.stride = 2}).to_vector<float>(),
               apart = conv_transpose1d(x, weight, {}, {.stride = 3}).to_vector<float>();
    CHECK(near == std::vector<float>{static_cast<float>(kInf), 1, static_cast<float>(kInf), 2});
    CHECK(apart[0] == kInf);
    CHECK(apart[1] == 1);
    CHECK((apart[2] == 0 || std::isnan(apart[2])));
    CHECK(apart[4] == 2);
}

LINE_ALONE("S254: a large convolution of whole numbers is exact, and what is not finite stays in its windows") {
    const std::int64_t channels = 64, size = 32;  // 1 · 32 · 32 · 64 · 64 · 9 products
    const Tensor image = from_data(whole(channels * size * size, 9, 5), {1, channels, size, size}),
                 weights = from_data(whole(channels * channels * 9, 9, 6), {channels, channels, 3, 3});
    const auto sums = [&](DType dtype, const Tensor& of) {
        return conv2d(of.to(dtype), weights.to(dtype), {}, {.padding = 1});
    };
    CHECK(explain(sums(f32, image)).kernels.size() > 4);
    config().plain_convolution = true;
    CHECK(explain(sums(f32, image)).kernels.size() == 1);
    config().plain_convolution = false;
    CHECK(sums(f32, image).to(i64).to_vector<std::int64_t>() == sums(i64, image).to_vector<std::int64_t>());
    for (const std::int64_t column : {0, 14, 15, 31}) {
        CAPTURE(column);
        const Tensor columns = arange(size), rows = columns.reshape({size, 1});
        const Tensor here = (columns == column) & (rows == 7);
        const Tensor near = (abs(columns - column) <= 1) & (abs(rows - 7) <= 1);
        const Tensor finite = isfinite(sums(f32, where(here, full_like(image, kInf), image)));
        CHECK(all(finite == logical_not(near)).item<bool>());
    }
}

LINE_ALONE("S253: sums of 16 million ones are exact, and of values around 1 right to 1e-6, along any axis") {
    constexpr std::int64_t kCount = 1 << 24;
    struct Case {
        Shape shape;
        int axis;
    };
    const std::int64_t side = 1 << 12, long_side = 1 << 23;
    const std::vector<Case> cases = {{{kCount}, 0},       {{side, side}, 0},   {{side, side}, 1},
                                     {{long_side, 2}, 0}, {{2, long_side}, 1}, {{2, long_side / 2, 2}, 1},
                                     {{256, 256, 256}, 1}};
    const auto worst = [&](const Tensor& x, const Case& at) {
        const Tensor folded = x.reshape(at.shape);
        const std::vector<double> exact = sum(folded.to(f64), at.axis).to_vector<double>();
        const std::vector<float> got = sum(folded, at.axis).to_vector<float>();
        double most = 0;
        for (std::size_t i = 0; i < got.size(); ++i) most = std::max(most, std::fabs(got[i] / exact[i] - 1));
        return most;
    };
    const Tensor same = from_data(std::vector<float>(kCount, 1.0f)),
                 tenths = from_data(std::vector<float>(kCount, 0.1f)), around = from_data(uniform(kCount, 0.5f, 1.5f));
    std::vector<float> seven(kCount);
    for (std::size_t i = 0; i < seven.size(); ++i) seven[i] = 1 + 0.1f * static_cast<float>(i % 7);
    const Tensor steps = from_data(seven);
    for (const Case& each : cases) {
        CAPTURE(to_string(each.shape));
        CAPTURE(each.axis);
        CHECK(worst(same, each) == 0);
        CHECK(worst(around, each) <= 1e-6);
        CHECK(worst(steps, each) <= 1e-6);
        CHECK(worst(tenths, each) <= 1e-5);
    }
    CHECK(std::fabs(cumsum(around, 0).narrow(0, kCount - 1, 1).item() / sum(around.to(f64)).item() - 1) <= 1e-6);
}

LINE("S255: the norm of one element is its size, however large or small") {
    for (const double p : {0.5, 1.0, 2.0, 3.0, -2.0, kInf}) {
        line.is(norm(tensor({1e30f}), p), {static_cast<double>(1e30f)});
        line.is(norm(tensor({-1e-30f}), p), {static_cast<double>(1e-30f)});
    }
    line.is(linalg::matrix_norm(tensor({1e30f}).reshape({1, 1})), {static_cast<double>(1e30f)});
    line.is(norm(tensor({3e30f, -4e30f}).reshape({2, 1}), 2, 1),
            {static_cast<double>(3e30f), static_cast<double>(4e30f)});
    line.is(norm(tensor({kInf}), 2), {kInf});
    line.is(norm(tensor({0.0f}), 2), {0});
}
