// bench/rows/conv.cpp: convolutions with their gradients, by their rate against OpenBLAS on the matrix product of 1024; depthwise and
// grouped ones against vector loops. FLOPs are those of the definition, two for each output, input channel and tap.
#include "reference/memory.h"
#include "reference/team.h"
#include "rows/loop_references.h"
#include "rows/rows.h"
#include "rows/yardstick.h"

#include <weft/weft.h>

#include <cmath>

namespace bench {
namespace {

using namespace weft;

// 3 x 3, padding 1, square images.
struct Conv {
    std::int64_t images = 32, channels = 64, side = kSide, stride = 1, groups = 1;

    std::int64_t out_side() const { return (side - 1) / stride + 1; }
    std::int64_t in_group() const { return channels / groups; }
    Shape in_shape() const { return {images, channels, side, side}; }
    Shape out_shape() const { return {images, channels, out_side(), out_side()}; }
    Shape weight_shape() const { return {channels, in_group(), 3, 3}; }
    Conv2dOptions options() const { return {.stride = stride, .padding = 1, .groups = groups}; }
    double flops() const {
        return 2.0 * 9 * static_cast<double>(images * channels * in_group() * out_side() * out_side());
    }
};

// The definition, one element of a result at a time. x, w and g (the gradient of the output) are host memory.
class Definition {
public:
    Definition(const Conv& conv, const Tensor& x, const Tensor& w, const Tensor& g)
        : conv_(conv), x_(data(x)), w_(data(w)), g_(data(g)) {}

    double output(std::int64_t at) const {
        const auto [n, oc, y, x] = split(at, conv_.channels, conv_.out_side());
        double sum = 0;
        for (std::int64_t c = 0; c < conv_.in_group(); ++c)
            for (std::int64_t tap = 0; tap < 9; ++tap)
                sum += input(n, first_of_group(oc) + c, y, x, tap) * weight(oc, c, tap);
        return sum;
    }

    // Every output that reads (y, x) by some tap.
    double input_gradient(std::int64_t at) const {
        const auto [n, ic, y, x] = split(at, conv_.channels, conv_.side);
        const std::int64_t c = ic % conv_.in_group(), first = first_of_group(ic);
        double sum = 0;
        for (std::int64_t oc = first; oc < first + conv_.in_group(); ++oc)
            for (std::int64_t tap = 0; tap < 9; ++tap) {
                const std::int64_t from_y = y + 1 - tap / 3, from_x = x + 1 - tap % 3;
                if (from_y % conv_.stride == 0 && from_x % conv_.stride == 0)
                    sum += seed(n, oc, from_y / conv_.stride, from_x / conv_.stride) * weight(oc, c, tap);
            }
        return sum;
    }

    double weight_gradient(std::int64_t at) const {
        const std::int64_t tap = at % 9, c = at / 9 % conv_.in_group(), oc = at / 9 / conv_.in_group();
        double sum = 0;
        for (std::int64_t n = 0; n < conv_.images; ++n)
            for (std::int64_t y = 0; y < conv_.out_side(); ++y)
                for (std::int64_t x = 0; x < conv_.out_side(); ++x)
                    sum += input(n, first_of_group(oc) + c, y, x, tap) * seed(n, oc, y, x);
        return sum;
    }

private:
    struct Place {
        std::int64_t image, channel, y, x;
    };
    static Place split(std::int64_t at, std::int64_t channels, std::int64_t side) {
        return {at / (side * side) / channels, at / (side * side) % channels, at / side % side, at % side};
    }
    std::int64_t first_of_group(std::int64_t channel) const { return channel / conv_.in_group() * conv_.in_group(); }

    static bool inside(std::int64_t y, std::int64_t x, std::int64_t side) {
        return y >= 0 && y < side && x >= 0 && x < side;
    }
    double input(std::int64_t n, std::int64_t channel, std::int64_t out_y, std::int64_t out_x, std::int64_t tap) const {
        const std::int64_t y = out_y * conv_.stride + tap / 3 - 1, x = out_x * conv_.stride + tap % 3 - 1;
        return inside(y, x, conv_.side) ? x_[((n * conv_.channels + channel) * conv_.side + y) * conv_.side + x] : 0;
    }
    double seed(std::int64_t n, std::int64_t channel, std::int64_t y, std::int64_t x) const {
        const std::int64_t side = conv_.out_side();
        return inside(y, x, side) ? g_[((n * conv_.channels + channel) * side + y) * side + x] : 0;
    }
    double weight(std::int64_t oc, std::int64_t c, std::int64_t tap) const {
        return w_[(oc * conv_.in_group() + c) * 9 + tap];
    }

    Conv conv_;
    const float *x_, *w_, *g_;
};

// Of Weft's own matrix product of 1024, for the notes; measured once.
std::string own_rate() {
    static const std::string rate = [] {
        const Tensor a = uniform({1024, 1024}, 1), b = uniform({1024, 1024}, 2);
        settle();
        const double ms = best_of([&] { matmul(a, b).realize(); }, 0.3).ms;
        return std::to_string(std::lround(Yardstick::flops() / ms / 1e6)) + " GFLOP/s";
    }();
    return rate;
}

void rate_rows(Harness& harness, const std::string& name, const Conv& conv, double want, double want_gradients) {
    if (!harness.wanted(name) && !harness.wanted(name + ", input gradient") &&
        !harness.wanted(name + ", weight gradient"))
        return;
    Tensor x = uniform(conv.in_shape(), 1), w = uniform(conv.weight_shape(), 2);
    const Tensor seed = uniform(conv.out_shape(), 3);
    const Definition definition(conv, x, w, seed);
    x.set_requires_grad(), w.set_requires_grad();
    const std::vector<Tensor> of_x{x}, of_w{w};
    const auto forward = [&] { return conv2d(x, w, {}, conv.options()); };
    Yardstick yardstick;
    const std::string note = "Weft's own 1024 matmul: " + own_rate();
    const auto row = [&](const char* what, double least, std::function<Tensor()> work,
                         const std::function<double(std::int64_t)>& element, const Tolerance& tolerance) {
        harness.compare({
            .name = name + what,
            .want = least,
            .weft = std::move(work),
            .references = {[&] { yardstick(); }},
            .check = [&](const Tensor& value) { expect_samples(value, element, tolerance); },
            .scale = conv.flops() / Yardstick::flops(),
            .flops = conv.flops(),
            .note = note,
        });
    };
    const auto inference = [&] {
        const NoGrad no_grad;
        return forward();
    };
    row("", want, inference, [&](std::int64_t i) { return definition.output(i); },
        {.absolute = 1e-3, .relative = 1e-4});
    row(
        ", input gradient", want_gradients, [&] { return gradient(forward(), of_x, seed)[0]; },
        [&](std::int64_t i) { return definition.input_gradient(i); }, {.absolute = 1e-3, .relative = 1e-4});
    row(
        ", weight gradient", want_gradients, [&] { return gradient(forward(), of_w, seed)[0]; },
        [&](std::int64_t i) { return definition.weight_gradient(i); }, {.absolute = 1e-2, .relative = 1e-4});
}

void loop_row(Harness& harness, const std::string& name, const Conv& conv, decltype(Loops::grouped) Loops::*loop) {
    if (!harness.wanted(name)) return;
    const Tensor x = uniform(conv.in_shape(), 1), w = uniform(conv.weight_shape(), 2);
    Floats out(numel(conv.out_shape()));
    harness.compare({
        .name = name,
        .want = 0.5,
        .weft = [&] { return conv2d(x, w, {}, conv.options()); },
        .references = loop_references([&](const Loops& loops) {
            team().run(conv.images, [&](std::int64_t image) {
                const std::int64_t at = image * conv.channels * kPlane;
                (loops.*loop)(data(x) + at, data(w), out.data() + at, conv.groups);
            });
        }),
        .check = [&](const Tensor& value) { expect_close(value, out.values(), {.absolute = 1e-4, .relative = 1e-4}); },
        .flops = conv.flops(),
    });
}

}  // namespace

void conv_rows(Harness& harness) {
    rate_rows(harness, "conv 3x3 of 32x64x28x28", {}, 0.8, 0.7);
    rate_rows(harness, "conv 3x3 stride 2 of 32x64x28x28", {.stride = 2}, 0.5, 0.5);
    loop_row(harness, "depthwise conv 3x3 of 32x64x28x28", {.groups = 64}, &Loops::depthwise);
    loop_row(harness, "grouped conv 3x3 of 32x64x28x28, 8 groups", {.groups = 8}, &Loops::grouped);
}

}  // namespace bench
