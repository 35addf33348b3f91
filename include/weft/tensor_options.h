// weft/tensor_options.h: of which type a new tensor is, and where it is made.
#pragma once

#include <weft/api.h>
#include <weft/device.h>
#include <weft/dtype.h>

#include <optional>

namespace WEFT_API weft {

// Both may be left out: then a function says which type it takes, and the device is default_device().
//
//     zeros({2, 3}, f64);
//     zeros({2, 3}, Device("cuda"));
//     zeros({2, 3}, {f64, "cuda"});
struct TensorOptions {
    TensorOptions() = default;
    TensorOptions(DType dtype) : dtype(dtype) {}
    TensorOptions(Device device) : device(device) {}
    TensorOptions(const char* device) : device(device) {}
    TensorOptions(std::optional<DType> dtype, std::optional<Device> device = {}) : dtype(dtype), device(device) {}

    DType dtype_or(DType other) const { return dtype.value_or(other); }
    Device device_or_default() const { return device.value_or(default_device()); }

    std::optional<DType> dtype;
    std::optional<Device> device;
};

}  // namespace weft
