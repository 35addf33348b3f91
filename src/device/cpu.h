// device/cpu.h: the CPU as a device.
#pragma once

#include "backend/device.h"

namespace weft::device {

DeviceRuntime& cpu_runtime();

// Runs a program of the host on all threads; for devices that have the host's memory in another guise, too.
void launch_on_host(const KernelLaunch& kernel, std::byte* scratch);

}  // namespace weft::device
