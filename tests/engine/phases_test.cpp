// Gradients of convolutions with a stride: one kernel with a contraction per phase of the stride, which multiplies by no zero that the
// stride left. The bits are those of plain loops.
#include "core/config.h"
#include "ir/node.h"
#include "kernel/contraction_nest.h"
#include "kernel/lower.h"
#include "kernel/nest.h"
#include "support/differential.h"
#include "support/some.h"
#include "tensor/cell.h"

#include <weft/debug.h>
#include <weft/weft.h>

#include <doctest/doctest.h>

#include <cmath>
#include <functional>

using namespace weft;
using testing::some;
using testing::values;

namespace {

struct Case {
    std::int64_t images, in, out, height, width, window;
    Conv2dOptions options;
    DType dtype = f32;
};

// The gradient of the input, as a graph over computed values.
Tensor input_gradient(const Case& c) {
    Tensor x = some({c.images, c.in, c.height, c.width}, c.dtype);
    const Tensor w = some({c.out, c.in / c.options.groups, c.window, c.window}, c.dtype);
    x.set_requires_grad();
    const Tensor y = conv2d(x, w, {}, c.options);
    return gradient(y, std::vector<Tensor>{x}, some(y.shape(), c.dtype))[0];
}

void check(const std::function<Tensor()>& make) {
    const std::string cpu = config().cpu;
    const auto values = [&] { return make().to(f64).to_vector<double>(); };
    std::vector<double> expected;
    {
        const BackendScope ref("ref");
        const OptScope off{"all"};
        expected = values();
    }
    for (const char* level : {"native", "avx2"})
        for (const char* backend : {"c", "x86"}) {
            if (!testing::have_backend(backend)) continue;
            CAPTURE(level);
            CAPTURE(backend);
            config().cpu = level;
            const BackendScope scope(backend);
            CHECK(values() == expected);
        }
    config().cpu = cpu;
}

// Products that the only kernel of a plan adds up.
std::int64_t multiply_adds(const Tensor& tensor) {
    const schedule::Plan plan = testing::plan_of({node_of(tensor)});
    REQUIRE(plan.steps.size() == 1);
    const kernel::Kernel kernel = kernel::lower(plan.steps[0].kernel.graph);
    std::int64_t total = 0;
    for (const kernel::ContractionNest& nest : kernel::contractions_of(kernel))
        if (!(nest.left->op == ir::Op::Const))
            total += kernel::product(nest.rows) * kernel::product(nest.outer) * kernel::product(nest.inner);
    return total;
}

}  // namespace

TEST_CASE("with a stride of 2 the four phases of a 3 x 3 window have 1, 2, 2 and 4 taps") {
    const Tensor g = input_gradient({2, 3, 4, 8, 8, 3, {.stride = 2, .padding = 1}});
    CHECK(multiply_adds(g) == 2 * 3 * 4 * (1 + 2 + 2 + 4) * 16);
    const CounterScope count;
    g.realize();
    CHECK(count.kernels_launched() == 1);
    CHECK(count.contractions_launched() == 1);
}

TEST_CASE("phases without taps, and steps of the window that share a factor with the stride") {
    CHECK(multiply_adds(input_gradient({2, 3, 4, 9, 9, 2, {.stride = 3}})) == 2 * 3 * 4 * 4 * 9);
    // a stride of 4 and a dilation of 2: two of the four phases of each axis have every other tap
    CHECK(multiply_adds(input_gradient({1, 2, 2, 16, 16, 4, {.stride = 4, .dilation = 2}})) == 2 * 2 * 4 * 4 * 16);
}

TEST_CASE("too many phases, or a window whose steps are strides: its sums are stored") {
    const auto launches = [](const Case& c) {
        const Tensor g = input_gradient(c);
        const CounterScope count;
        g.realize();
        return count.kernels_launched();
    };
    CHECK(launches({1, 2, 3, 25, 25, 6, {.stride = 5}}) == 2);
    CHECK(launches({1, 2, 3, 16, 16, 5, {.stride = 4}}) == 1);
    CHECK(launches({1, 2, 3, 16, 16, 2, {.stride = 2, .dilation = 2}}) == 2);
    CHECK(launches({1, 2, 3, 16, 16, 1, {.stride = 2}}) == 2);
}

TEST_CASE("strides, windows and sizes that fit each other badly") {
    for (const Case& c : {
             Case{2, 3, 4, 11, 10, 3, {.stride = 2, .padding = 1}},
             Case{5, 20, 17, 13, 27, 3, {.stride = 2, .padding = 1}},
             Case{3, 8, 9, 17, 16, 5, {.stride = 3, .padding = 2}},
             Case{2, 9, 8, 21, 19, 2, {.stride = 3}},
             Case{2, 6, 8, 15, 15, 3, {.stride = {1, 2}, .padding = {0, 1}}},
             Case{2, 6, 8, 14, 15, 3, {.stride = {2, 1}, .padding = 1}},
             Case{2, 8, 12, 18, 18, 3, {.stride = 2, .padding = 1, .groups = 2}},
             Case{2, 5, 7, 20, 20, 3, {.stride = 2, .dilation = 2}},
             Case{1, 5, 7, 22, 22, 4, {.stride = 4, .dilation = 2}},
             Case{2, 1, 5, 12, 12, 3, {.stride = 2, .padding = 1}},
             Case{2, 5, 1, 12, 12, 3, {.stride = 2, .padding = 1}},
             Case{2, 7, 6, 12, 12, 1, {.stride = 2}},
             Case{1, 9, 600, 10, 10, 3, {.stride = 2, .padding = 1}},
             Case{2, 6, 8, 13, 13, 3, {.stride = 2, .padding = 1}, f64},
             Case{2, 6, 8, 13, 13, 3, {.stride = 2, .padding = 1}, f16},
         }) {
        CAPTURE(c.in);
        CAPTURE(c.out);
        CAPTURE(c.height);
        CAPTURE(c.window);
        check([&] { return input_gradient(c); });
    }
}

TEST_CASE("phases take their epilogue along") {
    const auto make = [] {
        Tensor x = some({3, 16, 14, 14});
        x.set_requires_grad();
        const Tensor w = some({24, 16, 3, 3}), y = conv2d(relu(x), w, {}, {.stride = 2, .padding = 1});
        return gradient(y, std::vector<Tensor>{x}, some(y.shape()))[0];
    };
    check(make);
    const Tensor g = make();
    const CounterScope count;
    g.realize();
    CHECK(count.kernels_launched() == 1);
}

TEST_CASE("an infinite weight reaches those elements only that it is multiplied with") {
    Tensor x = some({1, 2, 6, 6});
    x.set_requires_grad();
    Tensor w = some({2, 2, 1, 1}).expand({2, 2, 3, 3}).contiguous();
    w[{0, 0, 0, 0}].assign(full({}, INFINITY));
    const Tensor y = conv2d(x, w, {}, {.stride = 3});
    const Tensor g = gradient(y, std::vector<Tensor>{x}, some(y.shape()))[0];
    std::int64_t finite = 0;
    for (const float value : g.to_vector<float>()) finite += std::isfinite(value);
    CHECK(finite == 2 * 36 - 4);
}
