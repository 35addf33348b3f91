// inspect/limits.cpp: bandwidth by a kernel that copies, operations per second by multiply-adds that stay in registers.
#include "inspect/limits.h"

#include "core/leaf_mutex.h"
#include "device/target.h"
#include "device/threads.h"
#include "pipeline/observer.h"

#include <weft/autograd.h>
#include <weft/debug.h>
#include <weft/error.h>
#include <weft/ops.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

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

// ---- operations ------------------------------------------------------------------------------------------------------

constexpr int kRounds = 20'000;

#if defined(__x86_64__)
constexpr int kSums = 12;  // that stay in registers, enough to hide the latency of each

// Instructions and the attribute that allows them cannot be parameters of a template.
#define WEFT_MULTIPLY_ADDS(name, instructions, Vector, prefix)                                               \
    __attribute__((target(instructions))) float name() {                                                     \
        Vector sums[kSums];                                                                                  \
        for (Vector & sum : sums) sum = prefix##_set1_ps(1);                                                 \
        const Vector factor = prefix##_set1_ps(0.5f);                                                        \
        for (int i = 0; i < kRounds; ++i)                                                                    \
            _Pragma("GCC unroll 12") for (Vector & sum : sums) sum = prefix##_fmadd_ps(sum, factor, factor); \
        for (int s = 1; s < kSums; ++s) sums[0] = prefix##_add_ps(sums[0], sums[s]);                         \
        return prefix##_cvtss_f32(sums[0]);                                                                  \
    }
WEFT_MULTIPLY_ADDS(multiply_adds_avx512, "avx512f", __m512, _mm512)
WEFT_MULTIPLY_ADDS(multiply_adds_avx2, "avx2,fma", __m256, _mm256)
#undef WEFT_MULTIPLY_ADDS

double flops_of(CpuLevel level) {
    if (level != CpuLevel::Avx512 && level != CpuLevel::Avx2) return 0;
    std::atomic<float> used = 0;
    const bool wide = level == CpuLevel::Avx512;
    const std::int64_t chunks = 4 * threads();
    const double seconds = best_seconds([&] {
        device::run_chunks(chunks, [&](std::int64_t, std::int64_t, int) {
            used = wide ? multiply_adds_avx512() : multiply_adds_avx2();
        });
    });
    return static_cast<double>(chunks) * kRounds * kSums * (wide ? 16 : 8) * 2 / seconds;
}
#else
double flops_of(CpuLevel) { return 0; }
#endif

// ---- bytes -----------------------------------------------------------------------------------------------------------

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
        if (const double flops = flops_of(device::current_target()->level); flops > 0) limits.flops = flops;
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
