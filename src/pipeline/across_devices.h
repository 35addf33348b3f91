// pipeline/across_devices.h: requests whose values are on several devices, and copies between these.
#pragma once

#include "pipeline/pipeline.h"

namespace weft::pipeline {

inline std::uint8_t device_of(const ir::Node& node) { return node.device == kAnyDevice ? kCpu : node.device; }

// As evaluate(), by a run for each device and for each move.
Result evaluate_across(const Request& request, std::unique_lock<std::recursive_mutex>& graph);

// A dense Buffer's elements, copied to another device.
ir::NodeRef moved(const ir::Node& buffer, std::uint8_t device, Observer* watching);

}  // namespace weft::pipeline
