// core/device.h: devices by number, as nodes and storages know them (weft/device.h has their names).
#pragma once

#include <weft/device.h>

#include <cstdint>

namespace weft {

inline constexpr std::uint8_t kAnyDevice = 0;  // of a constant: it is computed wherever it is used
inline constexpr std::uint8_t kCpu = 1;

// Whether devices of this type may round the factors of a product of f32 to tf32, where a program allows it. What a graph computes depends on
// that, so it holds for all devices of a type, and is known before one is opened.
bool multiplies_tf32(Device device);

// Whether any device but the CPU was opened: until then nobody needs to know where a constant is.
bool other_devices();
void note_other_device();

}  // namespace weft
