// kernel/optimise.h: the "optimise" arrow: the same arithmetic in faster loops. No pass changes which numbers are added in which order,
// so a kernel gives the same bits with every subset of the passes. Tensor loops are the exception: tensor cores have an order of their own.
#pragma once

#include "core/target.h"
#include "kernel/kernel.h"

#include <functional>
#include <span>
#include <string_view>
#include <vector>

namespace weft::kernel {

// Called with the lowered kernel, and after every pass with its name and the kernel; null: nobody looks.
using Trace = std::function<void(std::string_view pass, const Kernel& kernel)>;

// `without`: passes that are left out, beside those that the target does without.
Kernel optimise(Kernel kernel, const Target& target, std::span<const std::string_view> without = {},
                const Trace& trace = nullptr);

std::vector<std::string_view> pass_names();  // in the order in which they run; WEFT_OPT switches them off

// Gives every Scratch local its place; the last step, also when all optimisations are off.
void place_locals(Kernel& kernel);

}  // namespace weft::kernel
