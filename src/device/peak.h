// device/peak.h: what a processor can do at most.
#pragma once

#include "core/cpu.h"

#include <cstdint>

namespace weft::device {

// Multiply-adds of f32 that stay in registers, on this thread, with the widest instructions of the level. Gives how many operations they
// were; 0: there is no such code for this level.
std::int64_t run_multiply_adds(CpuLevel level);

}  // namespace weft::device
