// What the optimiser's passes decide, as values: for a kernel, and for the kernels that compute a tensor.
#pragma once

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

// As they would be compiled now.
inline std::vector<kernel::Kernel> kernels_of(const Tensor& x) {
    std::vector<kernel::Kernel> kernels;
    for (const schedule::PlanStep& step : plan_of({node_of(x)}).steps)
        if (!step.kernel.custom)
            kernels.push_back(kernel::optimise(kernel::lower(step.kernel.graph, here().numerics), here()));
    return kernels;
}

template <class Kind>
bool decides(const Tensor& x) {
    return std::ranges::any_of(kernels_of(x), [](const kernel::Kernel& kernel) { return decides<Kind>(kernel); });
}

}  // namespace weft::testing
