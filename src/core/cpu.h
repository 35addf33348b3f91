// core/cpu.h: what the processor can do, as the one answer that the optimiser and every backend go by: how large a register tile is and
// which instructions are used must agree. Results never depend on it.
#pragma once

#include <cstdint>
#include <string_view>

namespace weft {

enum class CpuLevel : std::uint8_t {
    Baseline,  // 16-byte registers; other processors than x86-64 as well
    Avx2,      // AVX2, FMA, F16C: 16 registers of 32 bytes
    Avx512,    // … and AVX-512 F, VL, BW, DQ: 32 registers of 64 bytes
};

CpuLevel machine_level();                         // of this machine
CpuLevel allowed_level(std::string_view wanted);  // … but no higher than WEFT_CPU says: native, avx512, avx2 or sse

std::int64_t last_level_cache();  // bytes of the largest cache, 0 if the system does not tell

}  // namespace weft
