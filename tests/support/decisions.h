// What the optimiser's passes decide, as values: for a kernel, and for the kernels that compute a tensor.
#pragma once

#include "backend/device.h"
#include "kernel/lower.h"
#include "kernel/optimise.h"
#include "support/differential.h"
#include "support/target.h"
#include "tensor/cell.h"

#include <algorithm>
#include <vector>

namespace weft::testing {

template <class Kind>
std::vector<Kind> decisions(const kernel::Kernel& kernel) {
    std::vector<Kind> found;
    for (const kernel::Decision& decision : kernel.schedule)
        if (const Kind* one = std::get_if<Kind>(&decision)) found.push_back(*one);
    return found;
}

template <class Kind>
bool decides(const kernel::Kernel& kernel) {
    return !decisions<Kind>(kernel).empty();
}

// As they would be compiled now, for the device that x is on; what it is computed from is memory there.
inline std::vector<kernel::Kernel> kernels_of(const Tensor& x) {
    const TargetRef target = device::runtime_of(x.device().number()).target();
    std::vector<kernel::Kernel> kernels;
    for (const schedule::PlanStep& step : plan_of({node_of(x)}, target).steps)
        if (!step.kernel.custom)
            kernels.push_back(kernel::optimise(kernel::lower(step.kernel.graph, target->numerics), *target));
    return kernels;
}

template <class Kind>
bool decides(const Tensor& x) {
    return std::ranges::any_of(kernels_of(x), [](const kernel::Kernel& kernel) { return decides<Kind>(kernel); });
}

// Whether a contraction is tiled for tensor cores.
inline bool by_tensor_cores(const Tensor& x) {
    for (const kernel::Kernel& kernel : kernels_of(x))
        for (const kernel::BlockTile& tile : decisions<kernel::BlockTile>(kernel))
            if (tile.tensor) return true;
    return false;
}

}  // namespace weft::testing
