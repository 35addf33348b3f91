// inspect/limits.cpp: bandwidth by a kernel that copies, operations per second by multiply-adds that stay in registers.
#include "inspect/limits.h"

#include "core/leaf_mutex.h"
#include "device/peak.h"
#include "device/target.h"
#include "device/threads.h"
#include "pipeline/observer.h"

#include <weft/autograd.h>
#include <weft/debug.h>
#include <weft/error.h>
#include <weft/ops.h>

#include <algorithm>
#include <atomic>
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

double operations_per_second() {
    const CpuLevel level = device::current_target()->level;
    const std::int64_t chunks = 4 * threads();
    std::atomic<std::int64_t> done = 0;
    const double seconds = best_seconds([&] {
        done = 0;
        device::run_chunks(chunks, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t i = begin; i < end; ++i) done += device::run_multiply_adds(level);
        });
    });
    return static_cast<double>(done) / seconds;
}

// Arrays that no cache holds; a machine that shares a huge one with others gives it to nobody alone.
double bandwidth() {
    const std::int64_t cache = system_info().l3_bytes;
    const std::int64_t count = std::clamp<std::int64_t>(cache, 64 << 20, 256 << 20) / 4;
    const NoGrad no_grad;
    const DeviceScope here(cpu);
    const Tensor from = ones({count}, f32).clone().realize();
    return 8.0 * static_cast<double>(count) / best_seconds([&] { (from + 1).realize(); });
}

MachineLimits measure() {
    MachineLimits limits;
    try {
        limits.bandwidth = bandwidth();
        if (const double flops = operations_per_second(); flops > 0) limits.flops = flops;
        limits.measured = true;
    } catch (const MemoryError&) {
        // A common machine's must do.
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
    if (!really || pipeline::observer()) return {};  // a profile would show the measurement
    const MachineLimits limits = measure();
    const std::lock_guard lock(mutex);
    if (limits.measured) known[count] = limits;
    return limits;
}

double seconds_at_least(std::int64_t bytes, std::int64_t multiply_adds, const MachineLimits& limits) {
    return std::max(static_cast<double>(bytes) / limits.bandwidth,
                    2.0 * static_cast<double>(multiply_adds) / limits.flops);
}

}  // namespace weft::inspect
