// backend/x86/allocate.h: gives every virtual register a register of the machine, or a place in the frame.
#pragma once

#include "backend/x86/code.h"

namespace weft::backend::x86 {

struct Allocation {
    std::int64_t frame_bytes = 0;
    std::uint32_t gps = 0;  // machine registers in use, a bit each
    int vector_temporary[3] = {};
    int mask_temporary[2] = {};
};

// `vectors` is how many vector registers the machine has (32 or 16).
Allocation allocate(Code& code, int vectors);

}  // namespace weft::backend::x86
