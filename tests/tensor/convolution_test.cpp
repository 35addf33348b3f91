// Convolution and pooling against plain loops, with their gradients, and the messages of likely mistakes.
#include "tensor/cell.h"
#include "tensor/correlate.h"
#include "tests/tensor/support.h"

#include <weft/debug.h>

using namespace weft;
using namespace weft::testing;

namespace {

struct Case {
    int n, in, out, h, w, kh, kw;
    Conv2dOptions o;
};

Doubles convolved(const std::vector<float>& x, const std::vector<float>& k, const Case& c, int oh, int ow) {
    const int group_in = c.in / static_cast<int>(c.o.groups), group_out = c.out / static_cast<int>(c.o.groups);
    Doubles result;
    for (int n = 0; n < c.n; ++n)
        for (int o = 0; o < c.out; ++o)
            for (int i = 0; i < oh; ++i)
                for (int j = 0; j < ow; ++j) {
                    double sum = 0;
                    for (int ic = 0; ic < group_in; ++ic)
                        for (int a = 0; a < c.kh; ++a)
                            for (int b = 0; b < c.kw; ++b) {
                                const auto row = i * c.o.stride.at(0) + a * c.o.dilation.at(0) - c.o.padding.at(0);
                                const auto col = j * c.o.stride.at(1) + b * c.o.dilation.at(1) - c.o.padding.at(1);
                                if (row < 0 || row >= c.h || col < 0 || col >= c.w) continue;
                                const int channel = o / group_out * group_in + ic;
                                sum += static_cast<double>(x[((n * c.in + channel) * c.h + row) * c.w + col]) *
                                       k[((o * group_in + ic) * c.kh + a) * c.kw + b];
                            }
                    result.push_back(sum);
                }
    return result;
}

}  // namespace

TEST_CASE("conv2d is the sum over channels and window") {
    const Case cases[] = {
        {1, 1, 1, 4, 4, 3, 3, {}},
        {2, 3, 4, 5, 6, 3, 2, {}},
        {2, 4, 6, 7, 6, 3, 3, {.stride = 2, .padding = 1}},
        {1, 4, 4, 8, 8, 3, 3, {.stride = {1, 2}, .padding = {2, 0}, .dilation = {2, 1}}},
        {2, 4, 6, 5, 5, 2, 2, {.groups = 2}},
        {1, 3, 3, 4, 4, 3, 3, {.padding = 1, .groups = 3}},
        {2, 3, 5, 4, 4, 1, 1, {}},
    };
    for (const Case& c : cases) {
        CAPTURE(&c - cases);
        const auto x = noise(static_cast<std::size_t>(c.n * c.in * c.h * c.w));
        const auto k = noise(static_cast<std::size_t>(c.out * c.in / c.o.groups * c.kh * c.kw), 7);
        const Tensor y =
            conv2d(from_data(x, {c.n, c.in, c.h, c.w}), from_data(k, {c.out, c.in / c.o.groups, c.kh, c.kw}), {}, c.o);
        CHECK(y.shape()[0] == c.n);
        CHECK(y.shape()[1] == c.out);
        CHECK(close(y, convolved(x, k, c, static_cast<int>(y.size(2)), static_cast<int>(y.size(3)))));
    }
}

TEST_CASE("conv1d, bias and f16") {
    const Tensor x = tensor({{{1.0, 2.0, 3.0, 4.0}}}), k = tensor({{{1.0, 10.0}}});
    CHECK(values(conv1d(x, k)) == Doubles{21, 32, 43});
    CHECK(values(conv1d(x, k, tensor({0.5}), {.stride = 2})) == Doubles{21.5, 43.5});
    CHECK(values(conv1d(x, k, {}, {.padding = 1})) == Doubles{10, 21, 32, 43, 4});
    CHECK(values(conv1d(x, k, {}, {.dilation = 2})) == Doubles{31, 42});
    CHECK(conv1d(x.to(f16), k.to(f16)).dtype() == f16);
}

TEST_CASE("the gradient of a convolution spreads the kernel over the input") {
    Tensor x = counting({1, 1, 3, 3}).clone(), k = tensor({{{{1.0, 2.0}, {3.0, 4.0}}}});
    x.set_requires_grad();
    k.set_requires_grad();
    conv2d(x, k).sum().backward();
    CHECK(values(x.grad()) == Doubles{1, 3, 2, 4, 10, 6, 3, 7, 4});
    CHECK(values(k.grad()) == Doubles{8, 12, 20, 24});
    Tensor z = counting({1, 1, 4, 4}).clone();
    z.set_requires_grad();
    conv2d(z, k.detach(), {}, {.stride = 2}).sum().backward();
    CHECK(values(z.grad()) == Doubles{1, 2, 1, 2, 3, 4, 3, 4, 1, 2, 1, 2, 3, 4, 3, 4});
}

TEST_CASE("convolution of volumes, without a batch, and with padding that keeps the size") {
    const Tensor x = counting({1, 1, 2, 3, 4}), ones_kernel = ones({1, 1, 2, 2, 2});
    CHECK(values(conv3d(x, ones_kernel)) == Doubles{68, 76, 84, 100, 108, 116});
    CHECK(conv3d(x[0], ones_kernel).shape() == Shape{1, 1, 2, 3});
    CHECK(values(conv1d(tensor({{1.0, 2.0, 3.0}}), tensor({{{1.0, 10.0}}}))) == Doubles{21, 32});
    const Tensor row = tensor({{{1.0, 2.0, 3.0, 4.0}}});
    CHECK(values(conv1d(row, tensor({{{1.0, 10.0}}}), {}, {.padding = kSame})) == Doubles{21, 32, 43, 4});
    CHECK(values(conv1d(row, ones({1, 1, 3}), {}, {.padding = kSame, .dilation = 2})) == Doubles{4, 6, 4, 6});
}

TEST_CASE("a transposed convolution is the gradient of the convolution's input") {
    const ConvOptions forward[] = {
        {}, {.stride = 2}, {.stride = {3, 1}, .padding = 1}, {.stride = 2, .padding = 2, .dilation = 2}};
    for (const ConvOptions& o : forward) {
        CAPTURE(&o - forward);
        for (const std::int64_t groups : {1, 2}) {
            CAPTURE(groups);
            Tensor x = from_data(noise(2 * 4 * 9 * 8), {2, 4, 9, 8});
            const Tensor w = from_data(noise(static_cast<std::size_t>(6 * 4 / groups * 9), 5), {6, 4 / groups, 3, 3});
            x.set_requires_grad();
            ConvOptions options = o;
            options.groups = groups;
            const Tensor y = conv2d(x, w, {}, options);
            const Tensor seed = from_data(noise(static_cast<std::size_t>(y.numel()), 9), y.shape());
            y.backward(seed);
            // What the stride leaves over at the end of x is output_padding.
            ConvTransposeOptions t{.stride = o.stride, .padding = o.padding, .groups = groups, .dilation = o.dilation};
            t.output_padding = {0, 0};
            for (int s = 0; s < 2; ++s) {
                const std::int64_t least =
                    (y.size(2 + s) - 1) * o.stride.at(s) - 2 * o.padding.at(s) + 2 * o.dilation.at(s) + 1;
                t.output_padding[static_cast<std::size_t>(s)] = x.size(2 + s) - least;
            }
            CHECK(close(conv_transpose2d(seed, w, {}, t), values(x.grad()), 1e-5));
        }
    }
    CHECK(values(conv_transpose1d(tensor({{{1.0, 2.0}}}), tensor({{{1.0, 10.0, 100.0}}}), tensor({0.5}),
                                  {.stride = 2})) == Doubles{1.5, 10.5, 102.5, 20.5, 200.5});
    CHECK(conv_transpose3d(zeros({2, 3, 4, 5}), zeros({2, 3, 2, 2, 2}), {}, {.stride = 2}).shape() ==
          Shape{3, 6, 8, 10});
}

TEST_CASE("mistakes name the call") {
    const Tensor x = zeros({1, 4, 5, 5});
    CHECK(error_of<ShapeError>([&] {
              conv2d(x, zeros({2, 3, 3, 3}));
          }) ==
          "conv2d(x: f32[1, 4, 5, 5], weight: f32[2, 3, 3, 3]): x's 4 channels in 1 groups need a weight of 4 input "
          "channels, "
          "not 3");
    CHECK(error_of<ShapeError>([&] {
              conv2d(x[0][0], zeros({2, 4, 3, 3}));
          }) == "conv2d(x: f32[5, 5], weight: f32[2, 4, 3, 3]): x must be [n, in, h, w] or [in, h, w]");
    CHECK(error_of<ShapeError>([&] {
              conv2d(x, zeros({2, 4, 7, 3}));
          }) ==
          "conv2d(x: f32[1, 4, 5, 5], weight: f32[2, 4, 7, 3]): the kernel reaches over 7 elements, the padded input "
          "has 5");
    CHECK(error_of<ShapeError>([&] {
              conv2d(x, zeros({3, 2, 3, 3}), {}, {.groups = 2});
          }) ==
          "conv2d(x: f32[1, 4, 5, 5], weight: f32[3, 2, 3, 3]): x's 4 and weight's 3 channels must be divisible by "
          "groups 2");
    CHECK(error_of<ValueError>([&] {
              conv2d(x, zeros({2, 4, 3, 3}), {}, {.stride = 0});
          }) == "conv2d(x: f32[1, 4, 5, 5], weight: f32[2, 4, 3, 3]): stride must be at least 1, not 0");
    CHECK(error_of<ValueError>([&] {
              conv2d(x, zeros({2, 4, 3, 3}), {}, {.stride = {1, 1, 1}});
          }) ==
          "conv2d(x: f32[1, 4, 5, 5], weight: f32[2, 4, 3, 3]): stride must be one number or one for each of the 2 "
          "spatial axes, not [1, 1, 1]");
    CHECK(error_of<ValueError>([&] {
              conv2d(x, zeros({2, 4, 3, 3}), {}, {.stride = 2, .padding = kSame});
          }) ==
          "conv2d(x: f32[1, 4, 5, 5], weight: f32[2, 4, 3, 3]): padding that keeps the size needs a stride of 1, "
          "not 2");
    CHECK(
        error_of<ShapeError>([&] {
            conv_transpose2d(x, zeros({3, 2, 3, 3}));
        }) ==
        "conv_transpose2d(x: f32[1, 4, 5, 5], weight: f32[3, 2, 3, 3]): x's 4 channels must equal weight's first size "
        "3");
    CHECK(error_of<ValueError>([&] {
              conv_transpose2d(x, zeros({4, 2, 3, 3}), {}, {.output_padding = 1});
          }) ==
          "conv_transpose2d(x: f32[1, 4, 5, 5], weight: f32[4, 2, 3, 3]): output_padding 1 must be smaller than the "
          "stride or the dilation");
}

namespace {

Tensor plain(const Tensor& x, const Tensor& w, const Windows& windows) {
    return make_tensor(correlate(node_of(x), node_of(w), windows));
}
Tensor in_pairs(const Tensor& x, const Tensor& w, const Windows& windows) {
    return make_tensor(correlate_pairs(node_of(x), node_of(w), windows));
}

}  // namespace

TEST_CASE("windows of three in pairs: the plain sums, with their first and second derivatives") {
    struct Pairs {
        Shape x, w;  // [n, groups, in, spatial…], [groups, out, in, window…]
        Dims before, after;
    };
    const Pairs cases[] = {
        {{2, 1, 5, 9}, {1, 4, 5, 3}, {1}, {1}},
        {{2, 1, 5, 8}, {1, 4, 5, 3}, {0}, {2}},
        {{1, 2, 3, 5, 12}, {2, 4, 3, 3, 3}, {1, 1}, {1, 1}},
        {{2, 1, 3, 5, 7}, {1, 4, 3, 2, 3}, {1, 2}, {0, 1}},
        {{2, 1, 3, 4, 3}, {1, 2, 3, 1, 3}, {0, 0}, {0, 0}},
        {{1, 1, 3, 3, 4, 6}, {1, 2, 3, 2, 3, 3}, {0, 1, 1}, {1, 1, 0}},
    };
    manual_seed(3);
    for (const Pairs& c : cases) {
        CAPTURE(c.x);
        const Dims ones = Dims::filled(c.before.size(), 1);
        const Windows windows{ones, ones, c.before, c.after};
        Tensor x = randn(c.x), w = randn(c.w);
        Tensor exact_x = x.to(f64).realize(), exact_w = w.to(f64).realize();
        for (Tensor* t : {&x, &w, &exact_x, &exact_w}) t->set_requires_grad();
        const Tensor y = in_pairs(x, w, windows), exact = plain(exact_x, exact_w, windows);
        REQUIRE(y.shape() == exact.shape());
        CHECK(close(y, values(exact), 1e-5));
        const Tensor seed = randn(y.shape());
        const std::vector<Tensor> of{x, w}, exact_of{exact_x, exact_w};
        const auto slopes = gradient(y, of, seed), exact_slopes = gradient(exact, exact_of, seed.to(f64));
        for (int i = 0; i < 2; ++i) CHECK(close(slopes[i], values(exact_slopes[i]), 2e-5));
        const auto twice = [](const std::vector<Tensor>& g, const std::vector<Tensor>& targets) {
            return gradient((g[0] * g[0]).sum() + (g[1] * g[1]).sum(), targets);
        };
        const auto curves = twice(slopes, of), exact_curves = twice(exact_slopes, exact_of);
        for (int i = 0; i < 2; ++i) CHECK(close(curves[i], values(exact_curves[i]), 2e-4));
    }
}

TEST_CASE("windows in pairs: what is not finite stays in the windows that hold it") {
    const Windows windows{{1}, {1}, {1}, {1}};
    for (const double bad : {kInf, -kInf, kNan})
        for (int at = 0; at < 8; ++at) {
            CAPTURE(at);
            const Tensor x = where(arange(8) == at, full({8}, bad), ones({8})).reshape({1, 1, 1, 8});
            const Doubles got = values(in_pairs(x, ones({1, 1, 1, 3}), windows));
            for (int i = 0; i < 8; ++i) CHECK(std::isfinite(got[i]) == (std::abs(i - at) > 1));
        }
}

TEST_CASE("a large convolution takes fewer products, and is as exact as plain sums") {
    manual_seed(4);
    const Tensor x = randn({2, 64, 30, 30}).realize(), w = randn({64, 64, 3, 3}).realize(), b = randn({64}).realize();
    const Tensor y = relu(conv2d(x, w, b, {.padding = 1}));
    const Explanation plan = explain(y);
    std::size_t contractions = 0;
    for (const auto& kernel : plan.kernels) contractions += kernel.function.starts_with("contract_2_64_30_15_over_192");
    CHECK(contractions == 4);
    const Doubles got = values(y), exact = values(relu(conv2d(x.to(f64), w.to(f64), b.to(f64), {.padding = 1})));
    double squares = 0, errors = 0;
    for (std::size_t i = 0; i < got.size(); ++i)
        squares += exact[i] * exact[i], errors += (got[i] - exact[i]) * (got[i] - exact[i]);
    CHECK(std::sqrt(errors / squares) < 6e-7);  // plain sums of 576 products: 4e-7
    CHECK(explain(conv2d(x, w.slice(0, {0, 16}), {}, {.padding = 1})).kernels.size() == 1);
}
