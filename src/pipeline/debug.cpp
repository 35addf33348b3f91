// pipeline/debug.cpp: the counters and scopes of weft/debug.h.
#include "backend/backend.h"
#include "core/config.h"
#include "core/interrupt.h"
#include "core/optimisations.h"
#include "core/str.h"
#include "device/pool.h"
#include "device/threads.h"
#include "ir/node.h"
#include "pipeline/counters.h"

#include <weft/debug.h>
#include <weft/error.h>

namespace weft {

pipeline::CounterCells& pipeline::counter_cells() {
    static CounterCells& cells = *new CounterCells;
    return cells;
}

Counters counters() {
    const pipeline::CounterCells& cells = pipeline::counter_cells();
    const device::PoolStats pool = device::pool_stats();
    return {
        .runs = cells.runs,
        .plans_made = cells.plans_made,
        .plan_cache_hits = cells.plan_cache_hits,
        .values_kept = cells.values_kept,
        .kernels_compiled = cells.kernels_compiled,
        .compile_nanoseconds = cells.compile_nanoseconds,
        .passes_refused = cells.passes_refused,
        .donations_refused = cells.donations_refused,
        .kernels_launched = cells.kernels_launched,
        .contractions_launched = cells.contractions_launched,
        .buffers_allocated = pool.allocations,
        .fresh_allocations = pool.fresh_allocations,
        .bytes_allocated = pool.bytes_in_use,
        .bytes_peak = pool.bytes_peak,
        .live_buffers = pool.live_buffers,
        .live_nodes = static_cast<std::int64_t>(ir::live_nodes()),
    };
}

BackendScope::BackendScope(std::string_view name) : before_(config().backend) {
    backend::find(
        name, allowed_level(config().cpu));  // throws for a name that does not exist, here rather than in the next run
    config().backend = name;
}
BackendScope::~BackendScope() { config().backend = before_; }

ThreadScope::ThreadScope(int threads) : before_(config().threads) { set_threads(threads); }
ThreadScope::~ThreadScope() { config().threads = before_; }

OptScope::OptScope(std::initializer_list<std::string_view> off)
    : before_(config().off), donate_before_(config().donate) {
    for (const std::string_view name : off) check_optimisation(name, "OptScope");
    for (const std::string_view name : off) config().off.emplace(name);
    config().donate = donate_before_ && !config().switched_off("donate");
}
OptScope::~OptScope() {
    config().off = before_;
    config().donate = donate_before_;
}

void set_threads(int threads) {
    if (threads < 0 || threads > 1024) throw ValueError(str("set_threads(", threads, "): must be from 0 to 1024"));
    config().threads = threads;
}

int threads() { return device::thread_count(); }

void set_debug_level(int level) {
    if (level < 0 || level > 5) throw ValueError(str("set_debug_level(", level, "): must be from 0 to 5"));
    config().debug = level;
}

void set_interrupt_callback(std::function<bool()> wanted) { set_interrupt(std::move(wanted)); }

void trim_memory() { device::trim_pool(); }

void set_memory_limit(std::int64_t bytes) {
    if (bytes < 0) throw ValueError(str("set_memory_limit(", bytes, "): must not be negative"));
    device::set_pool_limit(bytes);
}

std::int64_t memory_limit() { return device::pool_limit(); }

}  // namespace weft
