// backend/cuda/shared_memory.h: where the locals of a block lie in its shared memory. Large ones share bytes if no statement of the block needs both.
#pragma once

#include "backend/expand.h"

#include <cstdint>
#include <vector>

namespace weft::backend::cuda {

struct SharedPlace {
    static constexpr std::int64_t kNone = -1;
    std::int64_t offset = kNone;  // none: it is not used, no local of a block, or too large
    std::int64_t bytes = 0;
    int first = 0, last = -1;  // statements of the block that use it
    bool meets(const SharedPlace& other) const {
        return offset != kNone && other.offset != kNone && offset < other.offset + other.bytes &&
               other.offset < offset + bytes;
    }
};

// By buffer. The largest are left out until the others fit.
std::vector<SharedPlace> place_in_shared_memory(const kernel::Kernel& kernel, const Expanded& expanded,
                                                std::int64_t most);

}  // namespace weft::backend::cuda
