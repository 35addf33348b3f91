// tensor/options.h: what the functions that make tensors do with their options.
#pragma once

#include <weft/tensor_options.h>

namespace weft {

// While it lives, new tensors are made where the options say; ValueError if that device is not there.
inline DeviceScope place_of(const TensorOptions& options) {
    if (options.device) check_available(*options.device);
    return DeviceScope(options.device_or_default());
}

}  // namespace weft
