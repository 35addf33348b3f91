// device/guarded.h: the CPU once more, as a device whose memory the host cannot touch: its pages have no permissions but while one of its
// kernels or copies runs. Whatever reads or writes its tensors behind its back crashes, which is what it is for.
#pragma once

#include "backend/device.h"

namespace weft::device {

// Programs are made for the target that `target` gives for the index of the device, and must be ones that the host runs.
std::unique_ptr<DeviceRuntime> open_guarded(std::uint8_t number, Target (*target)(int index, const Target& host));

}  // namespace weft::device
