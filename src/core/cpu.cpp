// core/cpu.cpp: asks the processor once.
#include "core/cpu.h"

#include <algorithm>

#include <unistd.h>

namespace weft {

CpuLevel machine_level() {
#if defined(__x86_64__)
    static const CpuLevel level = [] {
        const bool avx2 =
            __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") && __builtin_cpu_supports("f16c");
        const bool avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
                            __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512dq") &&
                            __builtin_cpu_supports("bmi2");
        return !avx2 ? CpuLevel::Baseline : avx512 ? CpuLevel::Avx512 : CpuLevel::Avx2;
    }();
    return level;
#else
    return CpuLevel::Baseline;
#endif
}

CpuLevel allowed_level(std::string_view wanted) {
    const CpuLevel most = wanted == "sse" ? CpuLevel::Baseline : wanted == "avx2" ? CpuLevel::Avx2 : CpuLevel::Avx512;
    return std::min(most, machine_level());
}

std::int64_t last_level_cache() {
    static const std::int64_t bytes = std::max(
        {0L, ::sysconf(_SC_LEVEL2_CACHE_SIZE), ::sysconf(_SC_LEVEL3_CACHE_SIZE), ::sysconf(_SC_LEVEL4_CACHE_SIZE)});
    return bytes;
}

}  // namespace weft
