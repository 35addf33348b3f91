// backend/cuda/pipeline.h: a loop over slices in which some threads copy and others multiply. The loops say: copy slice s, then multiply it. As there is
// room for several slices (Buffer::slices), the warps that copy run ahead of those that multiply, and each waits for the other slice by slice.
#pragma once

#include "kernel/kernel.h"

#include <optional>

namespace weft::backend::cuda {

struct Pipeline {
    const kernel::Loop *loop = nullptr, *copies = nullptr, *products = nullptr;
    std::int64_t slices = 0;
    // Two barriers for each slice: it is full, it is empty.
    std::int64_t barrier_bytes() const { return 16 * slices; }
};

// The one in the body of a block; none where there is none, or several.
std::optional<Pipeline> pipeline_of(const kernel::Kernel& kernel, const kernel::Body& block);

}  // namespace weft::backend::cuda
