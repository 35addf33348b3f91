// backend/narrow.h: fits vector loops to the machine. Logical lanes (16 of f32, 8 of f64) decide bits and stay what
// they are; a machine with shorter registers runs them as two or more vectors, statement by statement.
#pragma once

#include "kernel/kernel.h"

namespace weft::backend {

// The number of lanes that fill a register of so many bytes, for the widest float that the kernel computes with.
// At least 4; 1 if there are no registers (0 bytes).
int native_lanes(const kernel::Kernel& kernel, int register_bytes);

// An equal kernel in which no vector loop has more than `lanes` iterations; with 1 there are none.
kernel::Kernel narrow(const kernel::Kernel& kernel, int lanes);

}  // namespace weft::backend
