// pipeline/programs.h: from KernelGraphs to programs: lower, optimise, compile; with a cache, so that equal kernels compile once.
#pragma once

#include "backend/backend.h"
#include "device/target.h"
#include "ir/kernel_graph.h"

#include <atomic>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <vector>

namespace weft::pipeline {

// A compiled kernel, and what is worth knowing about it.
struct Compiled {
    std::shared_ptr<const backend::Program> program;
    std::string name;  // of the function
    std::vector<ir::CheckArg> checks;
    std::vector<std::string> schedule;
    std::int64_t chunks = 1;  // iterations of the parallel loop
    std::size_t scratch_bytes = 0;
    // The shortest launch that was observed, in nanoseconds; 0: none was.
    mutable std::atomic<std::int64_t> best_time{0};
    void note_time(std::int64_t nanoseconds) const {
        if (const std::int64_t best = best_time; best == 0 || nanoseconds < best) best_time = nanoseconds;
    }
    std::vector<int> unordered;  // donated parameters that must not share memory after all (kernel/proven.h)
};

// One per graph; what is not cached is compiled, on all threads and without the graph lock, which the caller holds. `debug` is how much is
// printed on the way (WEFT_DEBUG).
std::vector<std::shared_ptr<const Compiled>> compile(std::span<const ir::KernelGraph* const> graphs, TargetRef target,
                                                     int debug, std::unique_lock<std::recursive_mutex>& graph);

void clear_program_cache();

}  // namespace weft::pipeline
