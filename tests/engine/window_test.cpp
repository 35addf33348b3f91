// Depthwise and grouped convolutions with their gradients: windows whose taps are written out inside lanes, axes that a reshape leaves
// alone under a gate, and loads that need no gate. The bits are those of plain loops.
#include "core/config.h"
#include "support/differential.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

#include <functional>

using namespace weft;

namespace {

Tensor some(const Shape& shape) {
    Tensor x = (((arange(numel(shape)) * 7919) % 1021).to(f32) / 1021 - 0.4).reshape(shape).contiguous();
    x.realize();
    return x;
}

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
            CHECK(make().to_vector<float>() == expected);
        }
    config().cpu = cpu;
}

std::string loops_of(const Tensor& x) {
    const Explanation plan = explain(x);
    REQUIRE(plan.kernels.size() == 1);
    return plan.kernels[0].loops;
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
    const std::string loops = loops_of(gradient(conv2d(x, w, {}, options), of_x, some({2, 4, 20, 20}))[0]);
    CHECK(loops.find("//") == std::string::npos);
    CHECK(loops.find("unrolled") != std::string::npos);
    CHECK(loops.find("vector by 16") != std::string::npos);
}
