// Depthwise and grouped convolutions with their gradients: windows whose taps are written out inside lanes, axes that a reshape leaves
// alone under a gate, and loads that need no gate. The bits are those of plain loops.
#include "core/config.h"
#include "core/str.h"
#include "support/decisions.h"
#include "support/differential.h"
#include "support/some.h"
#include "tensor/cell.h"
#include "tensor/correlate.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <functional>

using namespace weft;
using testing::some;

namespace {

void check(const std::function<Tensor()>& make) {
    const std::string cpu = config().cpu;
    std::vector<float> expected;
    {
        const BackendScope ref("ref");
        const OptScope off{"all"};
        expected = make().to_vector<float>();
    }
    for (const char* level : {"native", "avx2"})
        for (const char* backend : {"ref", "c", "x86"}) {
            if (!testing::have_backend(backend)) continue;
            CAPTURE(level);
            CAPTURE(backend);
            config().cpu = level;
            const BackendScope scope(backend);
            const std::vector<float> got = make().to_vector<float>();
            CHECK(got == expected);
            CHECK(std::equal(got.begin(), got.end(), expected.begin(),
                             [](float a, float b) { return std::signbit(a) == std::signbit(b); }));
        }
    config().cpu = cpu;
}

}  // namespace

TEST_CASE("depthwise and grouped convolutions and their gradients") {
    for (const std::int64_t groups : {4, 2})
        for (const std::int64_t stride : {1, 2}) {
            CAPTURE(groups);
            CAPTURE(stride);
            const Conv2dOptions options{.stride = stride, .padding = 1, .groups = groups};
            Tensor x = some({2, 4, 20, 20}), w = some({4, 4 / groups, 3, 3});
            x.set_requires_grad(), w.set_requires_grad();
            const Tensor seed = some(conv2d(x, w, {}, options).shape());
            check([&] { return conv2d(x.detach(), w.detach(), {}, options); });
            const std::vector<Tensor> of_x{x}, of_w{w};
            check([&] { return gradient(conv2d(x, w, {}, options), of_x, seed)[0]; });
            check([&] { return gradient(conv2d(x, w, {}, options), of_w, seed)[0]; });
        }
}

TEST_CASE("a depthwise convolution's input gradient has no division in its indices, and its taps are written out") {
    const BackendScope ref("ref");
    const Conv2dOptions options{.padding = 1, .groups = 4};
    Tensor x = some({2, 4, 20, 20}), w = some({4, 1, 3, 3});
    x.set_requires_grad();
    const std::vector<Tensor> of_x{x};
    const Tensor slope = gradient(conv2d(x, w, {}, options), of_x, some({2, 4, 20, 20}))[0];
    const kernel::Kernel kernel = testing::kernel_of(slope);
    CHECK_FALSE(testing::computes(kernel, ir::Op::IDiv));
    const auto vectors = testing::decisions<kernel::Vectorize>(kernel);
    REQUIRE(!vectors.empty());
    CHECK(vectors[0].lanes == 16);
    CHECK(!vectors[0].unrolled.empty());
}

TEST_CASE("images whose rows are no whole vectors: convolutions and their gradients") {
    for (const std::int64_t width : {26, 17, 13, 7, 5}) {
        CAPTURE(width);
        const Conv2dOptions options{.padding = 1};
        Tensor x = some({2, 3, 9, width}), w = some({8, 3, 3, 2});
        x.set_requires_grad(), w.set_requires_grad();
        const Tensor seed = some(conv2d(x, w, {}, options).shape());
        const std::vector<Tensor> of_x{x}, of_w{w};
        check([&] { return conv2d(x.detach(), w.detach(), {}, options); });
        check([&] { return gradient(conv2d(x, w, {}, options), of_x, seed)[0]; });
        check([&] { return gradient(conv2d(x, w, {}, options), of_w, seed)[0]; });
    }
}

TEST_CASE("windows of three in pairs: sums and gradients") {
    for (const std::int64_t width : {16, 13}) {
        CAPTURE(width);
        const Windows windows{{1, 1}, {1, 1}, {1, 1}, {1, 1}};
        Tensor x = some({2, 1, 16, 5, width}), w = some({1, 9, 16, 3, 3});
        x.set_requires_grad(), w.set_requires_grad();
        const Tensor seed = some({2, 9, 5, width});
        const std::vector<Tensor> of_x{x}, of_w{w};
        const auto sums = [&] { return make_tensor(correlate_pairs(node_of(x), node_of(w), windows)); };
        check([&] { return sums().detach(); });
        check([&] { return gradient(sums(), of_x, seed)[0]; });
        check([&] { return gradient(sums(), of_w, seed)[0]; });
    }
}

TEST_CASE("every n-th element of padded rows, and parts that take turns in memory") {
    for (const DType t : {f32, f64, i8})
        for (const std::int64_t step : {2, 3, 5})
            for (const std::int64_t width : {7, 33}) {
                CAPTURE(t);
                CAPTURE(step);
                CAPTURE(width);
                const Tensor x = (some({5, 3, width}) * 100).to(t).realize(),
                             y = (some({3, 4, width}) * 9).to(t).realize();
                for (const std::int64_t first : {0, 1})  // gates close lanes at either end, and whole rows
                    check([&] {
                        const Tensor padded = pad(x, {step + 1, 2 * step + 1, 1, 0});
                        return (padded.slice(2, {first, {}, step}) + 1).to(f32);
                    });
                check([&] {
                    std::vector<Tensor> parts;
                    for (std::int64_t i = 0; i < step; ++i) parts.push_back(y + i);
                    return stack(parts, -1).to(f32).reshape({3, 4 * width * step});
                });
            }
}

TEST_CASE("windows that do not overlap: their gradients only move values") {
    const DeviceScope host(cpu);
    for (const std::int64_t window : {1, 2, 3})
        for (const std::int64_t stride : {2, 3, 4})
            for (const std::int64_t size : {12, 13}) {
                CAPTURE(window);
                CAPTURE(stride);
                CAPTURE(size);
                Tensor x = some({2, 3, size, size + 2});
                x.set_requires_grad();
                const PoolOptions options{.stride = stride};
                const Tensor plain = some(max_pool2d(x, window, options).shape());
                const Tensor seed =
                    where(plain < 0, plain, plain * -0.0f);  // many are -0: a sum that starts at 0 makes them 0
                const std::vector<Tensor> targets{x};
                for (const bool most : {true, false}) {
                    const auto slope = [&] {
                        const Tensor y = most ? max_pool2d(x, window, options) : avg_pool2d(x, window, options);
                        return gradient(y, targets, seed)[0];
                    };
                    check(slope);
                    const std::string text = testing::oracle_complaint(testing::Roots{node_of(slope())});
                    CHECK_MESSAGE(text.empty(), text);
                    if (stride >= window && window > 1 && !most)
                        for (const float value : slope().to_vector<float>())
                            REQUIRE((value != 0 || !std::signbit(value)));
                    if (stride >= window && !most) CHECK(testing::locals(testing::kernel_of(slope()), "acc").empty());
                }
            }
}

TEST_CASE("a max pool's gradient keeps a number per window, and short rows of windows run in lanes") {
    Tensor x = some({4, 8, 24, 24});
    x.set_requires_grad();
    const std::vector<Tensor> targets{x};
    const Tensor weight = some({144, 20}), seed = some({32, 20});
    const auto slope = [&] {
        const Tensor y = matmul(max_pool2d(x, 2).reshape({32, 144}), weight);
        return gradient(y * y, targets, seed)[0];
    };
    check(slope);
    const BackendScope ref("ref");
    const std::vector<kernel::Kernel> kernels = testing::kernels_of(slope());
    REQUIRE(kernels.size() == 4);  // the pool, two products, and what goes to the first maxima
    using kernel::Buffer;
    CHECK(std::ranges::none_of(kernels[0].buffers, [](const Buffer& b) { return b.dtype == DType::Bool; }));
    CHECK(std::ranges::any_of(kernels[0].buffers, [](const Buffer& b) {
        return b.role == Buffer::Role::Output && b.dtype == DType::I32 && b.size == 4608;
    }));
    CHECK(std::ranges::any_of(testing::loops_in(kernels[0].body), [](const kernel::Loop* loop) {
        return loop->kind == kernel::LoopKind::Vector && loop->extent() == 12;
    }));
}

TEST_CASE("a weight gradient with few elements is a sum per group of images") {
    Tensor x = some({32, 1, 34, 34}), w = some({16, 1, 3, 3});
    w.set_requires_grad();
    const std::vector<Tensor> targets{w};
    const Tensor seed = some({32, 16, 32, 32});
    const auto slope = [&] { return gradient(conv2d(x, w), targets, seed)[0]; };
    check(slope);
    const BackendScope ref("ref");
    CHECK(explain(slope()).kernels.size() == 2);
}

TEST_CASE("a convolution's operand is packed once for all rows of the window") {
    const auto shifted = [](const Tensor& x) {
        const std::vector<kernel::Kernel> kernels = testing::kernels_of(x);
        return testing::decisions<kernel::TileSchedule>(kernels[0]).at(0).shift.by;
    };
    for (const std::int64_t padding : {0, 1})
        for (const std::int64_t width : {30, 17}) {
            CAPTURE(padding);
            CAPTURE(width);
            const Conv2dOptions options{.padding = padding};
            Tensor x = some({5, 6, 30, width}), w = some({9, 6, 3, 3});
            x.set_requires_grad();
            const Tensor seed = some(conv2d(x, w, {}, options).shape());
            const std::vector<Tensor> of_x{x};
            const auto forward = [&] { return conv2d(x.detach(), w, {}, options); };
            const auto slope = [&] { return gradient(conv2d(x, w, {}, options), of_x, seed)[0]; };
            check(forward);
            check(slope);
            const BackendScope ref("ref");
            CHECK(shifted(forward()) == width - 2 + 2 * padding);
            CHECK(shifted(slope()) == -width);
        }
    check([&] { return conv1d(some({4, 70, 90}), some({20, 70, 5}), {}, {.padding = 2}); });
    check([&] { return conv2d(some({2, 130, 20, 20}), some({12, 130, 3, 3}), {}, {.padding = 1, .dilation = 2}); });
    check([&] { return conv3d(some({2, 3, 8, 9, 10}), some({12, 3, 3, 2, 3}), {}, {.padding = 1}); });
}
