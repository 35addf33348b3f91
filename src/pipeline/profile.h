// pipeline/profile.h: WEFT_DEBUG=1 prints a line per kernel, 2 adds its time, GFLOP/s and GB/s.
#pragma once

#include "pipeline/programs.h"
#include "schedule/plan.h"

#include <chrono>
#include <string_view>

namespace weft::pipeline {

class KernelTimer {
public:
    KernelTimer(std::string_view name, const schedule::PlanStep& step, std::int64_t chunks);
    ~KernelTimer();
    KernelTimer(const KernelTimer&) = delete;
    KernelTimer& operator=(const KernelTimer&) = delete;

private:
    const std::string_view name_;
    const schedule::PlanStep& step_;
    const std::int64_t chunks_;
    const int level_;
    std::chrono::steady_clock::time_point start_;
};

// Bytes that a kernel reads and writes at least, and the multiply-adds of its reductions.
struct Traffic {
    std::int64_t reads = 0, writes = 0, multiply_adds = 0;
};
Traffic traffic_of(const ir::KernelGraph& graph);

}  // namespace weft::pipeline
