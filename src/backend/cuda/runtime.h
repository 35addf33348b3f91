// backend/cuda/runtime.h: NVIDIA's GPUs as devices.
#pragma once

#include "backend/device.h"

#include <weft/device.h>

#include <cstdint>
#include <memory>
#include <string>

namespace weft::backend::cuda {

// The index-th GPU. `host` gives the target of the CPU as it is configured now: passes that are off, subnormals, threads for host functions.
// Throws ValueError that says what is missing.
std::unique_ptr<device::DeviceRuntime> open(int index, TargetRef (*host)());

// Without opening it. ValueError where there is no such device.
GpuProperties properties(int index);
std::string problem();  // why cuda:0 cannot be used; empty: it can

}  // namespace weft::backend::cuda
