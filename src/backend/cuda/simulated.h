// backend/cuda/simulated.h: how tests have the PTX of the simulated device run, in place of its loops (tests/support/ptx_runner.h).
#pragma once

#include "backend/backend.h"
#include "backend/cuda/ptx.h"

#include <span>

namespace weft::backend::cuda {

// One launch of all entries of a module, on the host.
struct SimulatedLaunch {
    const Module& module;
    std::span<const kernel::Buffer> parameters;
    void* const* addresses;  // of each
    std::span<const Word> scalars;
    CheckRecord& check;
};

using PtxRunner = void (*)(const SimulatedLaunch& launch);
void set_ptx_runner(PtxRunner runner);  // null: `ref` runs the loops

}  // namespace weft::backend::cuda
