// device/peak.cpp: sums in registers, as many as it takes to hide the latency of each.
#include "device/peak.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::device {
namespace {

constexpr std::int64_t kRounds = 20'000;
constexpr int kSums = 12;
thread_local volatile float sink;  // so that nothing is left out

#if defined(__x86_64__)
// Instructions and the attribute that allows them cannot be parameters of a template.
#define WEFT_MULTIPLY_ADDS(name, instructions, Vector, prefix)                                               \
    __attribute__((target(instructions))) void name() {                                                      \
        Vector sums[kSums];                                                                                  \
        for (Vector & sum : sums) sum = prefix##_set1_ps(1);                                                 \
        const Vector factor = prefix##_set1_ps(0.5f);                                                        \
        for (std::int64_t i = 0; i < kRounds; ++i)                                                           \
            _Pragma("GCC unroll 12") for (Vector & sum : sums) sum = prefix##_fmadd_ps(sum, factor, factor); \
        for (int s = 1; s < kSums; ++s) sums[0] = prefix##_add_ps(sums[0], sums[s]);                         \
        sink = prefix##_cvtss_f32(sums[0]);                                                                  \
    }
WEFT_MULTIPLY_ADDS(multiply_adds_avx512, "avx512f", __m512, _mm512)
WEFT_MULTIPLY_ADDS(multiply_adds_avx2, "avx2,fma", __m256, _mm256)
#undef WEFT_MULTIPLY_ADDS
#endif

}  // namespace

std::int64_t run_multiply_adds([[maybe_unused]] CpuLevel level) {
#if defined(__x86_64__)
    if (level == CpuLevel::Avx512) return multiply_adds_avx512(), kRounds * kSums * 16 * 2;
    if (level == CpuLevel::Avx2) return multiply_adds_avx2(), kRounds * kSums * 8 * 2;
#endif
    return 0;
}

}  // namespace weft::device
