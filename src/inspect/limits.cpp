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
// Sums that stay in registers, enough of them to hide the latency of each.
__attribute__((target("avx512f"))) float fma_avx512() {
    constexpr int kSums = 16;
    __m512 sums[kSums];
    for (__m512& sum : sums) sum = _mm512_set1_ps(1);
    const __m512 factor = _mm512_set1_ps(0.5f);
    for (int i = 0; i < kRounds; ++i)
#pragma GCC unroll 16
        for (int s = 0; s < kSums; ++s) sums[s] = _mm512_fmadd_ps(sums[s], factor, factor);
    for (int s = 1; s < kSums; ++s) sums[0] = _mm512_add_ps(sums[0], sums[s]);
    return _mm512_cvtss_f32(sums[0]);
}
__attribute__((target("avx2,fma"))) float fma_avx2() {
    constexpr int kSums = 12;
    __m256 sums[kSums];
    for (__m256& sum : sums) sum = _mm256_set1_ps(1);
    const __m256 factor = _mm256_set1_ps(0.5f);
    for (int i = 0; i < kRounds; ++i)
#pragma GCC unroll 12
        for (int s = 0; s < kSums; ++s) sums[s] = _mm256_fmadd_ps(sums[s], factor, factor);
    for (int s = 1; s < kSums; ++s) sums[0] = _mm256_add_ps(sums[0], sums[s]);
    return _mm256_cvtss_f32(sums[0]);
}

double flops_of(CpuLevel level) {
    if (level != CpuLevel::Avx512 && level != CpuLevel::Avx2) return 0;
    std::atomic<float> used = 0;
    const bool wide = level == CpuLevel::Avx512;
    const std::int64_t chunks = 4 * threads();
    const double seconds = best_seconds([&] {
        device::run_chunks(chunks, [&](std::int64_t, std::int64_t, int) { used = wide ? fma_avx512() : fma_avx2(); });
    });
    return static_cast<double>(chunks) * kRounds * (wide ? 16 * 16 : 12 * 8) * 2 / seconds;
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
