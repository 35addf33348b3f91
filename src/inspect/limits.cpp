// inspect/limits.cpp: bandwidth and operations per second, measured with Weft's own kernels.
#include "inspect/limits.h"

#include "core/leaf_mutex.h"
#include "pipeline/observer.h"

#include <weft/autograd.h>
#include <weft/debug.h>
#include <weft/error.h>
#include <weft/ops.h>
#include <weft/random.h>

#include <algorithm>
#include <map>
#include <mutex>

namespace weft::inspect {
namespace {

template <class F>
double best_seconds(const F& f) {
    std::int64_t best = INT64_MAX;
    for (int i = 0; i < 5; ++i) {
        const std::int64_t start = pipeline::now();
        f();
        best = std::min(best, pipeline::now() - start);
    }
    return 1e-9 * static_cast<double>(best);
}

MachineLimits measure() {
    MachineLimits limits;
    try {
        const NoGrad no_grad;
        const DeviceScope here(cpu);
        constexpr std::int64_t kCopied = 16 << 20, kEdge = 1024;
        const Tensor from = ones({kCopied}, f32).clone().realize();
        const double copying = best_seconds([&] { (from + 1).realize(); });
        const Tensor square = full({kEdge, kEdge}, 0.5, f32).clone().realize();
        const double multiplying = best_seconds([&] { matmul(square, square).realize(); });
        limits = {8.0 * kCopied / copying, 2.0 * kEdge * kEdge * kEdge / multiplying, true};
    } catch (const Error&) {
        // No memory for it: a common machine's must do.
    }
    return limits;
}

}  // namespace

MachineLimits machine_limits(bool really) {
    static LeafMutex& mutex = *new LeafMutex;
    static std::map<int, MachineLimits>& known = *new std::map<int, MachineLimits>;
    const int count = threads();
    {
        const std::lock_guard lock(mutex);
        if (const auto found = known.find(count); found != known.end()) return found->second;
    }
    if (!really) return {};
    const MachineLimits limits = measure();
    const std::lock_guard lock(mutex);
    return known[count] = limits;
}

double seconds_at_least(std::int64_t bytes, std::int64_t multiply_adds, const MachineLimits& limits) {
    return std::max(static_cast<double>(bytes) / limits.bandwidth,
                    2.0 * static_cast<double>(multiply_adds) / limits.flops);
}

}  // namespace weft::inspect
