// device/guarded.h: the CPU once more, as a device whose memory the host cannot touch: its pages have no permissions but while one of its
// kernels or copies runs. Whatever reads or writes its tensors behind its back crashes, which is what it is for.
#pragma once

#include "backend/device.h"

namespace weft::device {

std::unique_ptr<DeviceRuntime> open_guarded(int index);

// The same, for a GPU that is not there: its kernels are written as for one, and their loops interpreted. For tests: it is slow.
std::unique_ptr<DeviceRuntime> open_simulated(int index);

}  // namespace weft::device
