// bench/reference/loops.cpp: chooses the loops for the processor that this runs on.
#include "reference/loops.h"

#include <cstdlib>
#include <stdexcept>
#include <string_view>

namespace bench {
namespace {

bool has_avx512() {
    const char* const chosen = std::getenv("WEFT_CPU");
    if (chosen && std::string_view(chosen) == "avx2") return false;
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
           __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
}

bool has_avx2() { return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"); }

}  // namespace

const Loops& loops(Stores stores) {
    if (has_avx512()) return avx512_loops(stores);
    if (has_avx2()) return avx2_loops(stores);
    throw std::runtime_error("the reference needs AVX2");
}

const char* loops_name() { return has_avx512() ? "AVX-512" : has_avx2() ? "AVX2" : "none: no AVX2"; }

}  // namespace bench
