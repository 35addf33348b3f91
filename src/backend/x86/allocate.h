// backend/x86/allocate.h: gives every virtual register a register of the machine, or a place in the frame.
#pragma once

#include "backend/x86/code.h"

namespace weft::backend::x86 {

struct Allocation {
    std::int64_t frame_bytes = 0;
    std::uint32_t gps = 0;  // machine registers in use, a bit each
    int vectors = 0;        // so many the machine has; the last ones are kept free
    int vector_temporaries =
        0;  // … this many, for spilled values to pass through; a rare instruction that needs more borrows
    int mask_temporaries = 0;   // likewise, and always enough
    std::int64_t borrowed = 0;  // where in the frame borrowed registers are kept meanwhile
};

// `vectors` is how many vector registers the machine has (32 or 16).
Allocation allocate(Code& code, int vectors);

}  // namespace weft::backend::x86
