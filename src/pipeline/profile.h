// pipeline/profile.h: WEFT_DEBUG=1 prints a line per kernel, 2 adds its time, GFLOP/s and GB/s.
#pragma once

#include "backend/device.h"
#include "pipeline/programs.h"
#include "schedule/plan.h"

namespace weft::pipeline {

class KernelTimer {
public:
    KernelTimer(device::DeviceRuntime& device, const schedule::PlanStep& step, const Compiled* kernel = nullptr);
    ~KernelTimer();
    KernelTimer(const KernelTimer&) = delete;
    KernelTimer& operator=(const KernelTimer&) = delete;

private:
    device::DeviceRuntime& device_;
    const schedule::PlanStep& step_;
    const Compiled* const kernel_;  // null: a function
    const int level_;
    std::unique_ptr<device::Moment> start_;
};

// Bytes that a kernel reads and writes at least, and the multiply-adds of its reductions.
struct Traffic {
    std::int64_t reads = 0, writes = 0, multiply_adds = 0;
};
Traffic traffic_of(const ir::KernelGraph& graph);

// "2.1 TFLOP/s, 3.98 TB/s": what was reached; nothing of what there was none of.
std::string rates_of(const Traffic& traffic, double seconds);

}  // namespace weft::pipeline
