// nn/start.h: what the constructors of layers share: checks of their sizes, and how parameters start.
#pragma once

#include <weft/nn/module.h>

#include <initializer_list>
#include <optional>
#include <string_view>

namespace weft::nn {

void check_positive(std::string_view layer, std::initializer_list<std::int64_t> sizes);  // ValueError

// While it lives, parameters are made there; none: where new tensors are. ValueError if the device is not there.
DeviceScope made_on(std::optional<Device> device);

// PyTorch's start for layers with this many inputs to each output: uniform in ±1/√inputs.
Tensor fan_in_uniform(const Shape& shape, std::int64_t inputs);

}  // namespace weft::nn
