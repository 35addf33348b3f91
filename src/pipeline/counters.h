// pipeline/counters.h: the counters behind weft::counters(). Plain atomics: whoever does a thing counts it, with count(…).
#pragma once

#include <atomic>
#include <cstdint>

namespace weft::pipeline {

struct CounterCells {
    std::atomic<std::int64_t> runs{0};  // calls of evaluate() that had something to compute
    std::atomic<std::int64_t> plans_made{0};
    std::atomic<std::int64_t> plan_cache_hits{0};
    std::atomic<std::int64_t> values_kept{0};
    std::atomic<std::int64_t> kernels_compiled{0};
    std::atomic<std::int64_t> compile_nanoseconds{0};
    std::atomic<std::int64_t> passes_refused{0}, donations_refused{0};
    std::atomic<std::int64_t> kernels_launched{0};  // contractions included
    std::atomic<std::int64_t> contractions_launched{0};
};

CounterCells& counter_cells();

inline void count(std::atomic<std::int64_t>& counter, std::int64_t by = 1) {
    if (by != 0) counter.fetch_add(by, std::memory_order_relaxed);
}

}  // namespace weft::pipeline
