// core/device.h: devices by number, as nodes and storages know them (weft/device.h has their names).
#pragma once

#include <weft/device.h>

#include <cstdint>

namespace weft {

inline constexpr std::uint8_t kAnyDevice = 0;  // of a constant: it is computed wherever it is used
inline constexpr std::uint8_t kCpu = 1;

// Whether any device but the CPU was opened: until then nobody needs to know where a constant is.
bool other_devices();
void note_other_device();

}  // namespace weft
