// pipeline/plan_cache.cpp: least recently used plans go first; a plan owns code and no memory.
#include "pipeline/plan_cache.h"

#include "core/config.h"
#include "pipeline/counters.h"

#include <algorithm>
#include <chrono>
#include <iostream>
#include <list>
#include <span>
#include <unordered_map>

namespace weft::pipeline {
namespace {

using GraphLock = std::unique_lock<std::recursive_mutex>;

constexpr std::size_t kMostPlans = 1024;

std::uint64_t hash_of(std::span<const std::uint64_t> key) {
    std::uint64_t h = key.size();
    for (const std::uint64_t word : key) {
        h = (h ^ word) * 0x9e3779b97f4a7c15;
        h ^= h >> 29;
    }
    return h;
}

struct Cache {
    std::list<std::shared_ptr<const CachedPlan>> recent;  // most recently used first
    std::unordered_multimap<std::uint64_t, decltype(recent)::iterator> entries;
};

Cache& cache() {
    static Cache& c = *new Cache;
    return c;
}

bool serves(const CachedPlan& plan, std::span<const Word> constants) {
    for (std::size_t i = 0; i < constants.size(); ++i) {
        if (constants[i] == plan.constants[i]) continue;
        const int at = static_cast<int>(i);
        const auto listed = [&](const std::vector<int>& list) {
            return std::find(list.begin(), list.end(), at) != list.end();
        };
        if (!listed(plan.plan.holes) && !listed(plan.plan.free_constants)) return false;
    }
    return true;
}

void compile_steps(CachedPlan& made, GraphLock& graph) {
    std::vector<const ir::KernelGraph*> graphs;
    for (const schedule::PlanStep& step : made.plan.steps)
        if (!step.kernel.custom) graphs.push_back(&step.kernel.graph);
    const auto compiled = compile(graphs, made.target, graph);
    made.kernels.clear();
    std::size_t next = 0;
    for (const schedule::PlanStep& step : made.plan.steps)
        made.kernels.push_back(step.kernel.custom ? nullptr : compiled[next++]);
    for (const auto& kernel : compiled) made.scratch_bytes = std::max(made.scratch_bytes, kernel->scratch_bytes);
}

// Leaves that a kernel reads and writes without a proof that it reads first: the plan must do without donating them.
bool refuse_unproven(const CachedPlan& made, std::vector<int>& refused) {
    const std::size_t before = refused.size();
    for (std::size_t s = 0; s < made.kernels.size(); ++s)
        if (made.kernels[s])
            for (const int param : made.kernels[s]->unordered)
                refused.push_back(made.plan.values[made.plan.steps[s].values[param]].leaf);
    count(counter_cells().donations_refused, static_cast<std::int64_t>(refused.size() - before));
    return refused.size() > before;
}

std::shared_ptr<const CachedPlan> make(const schedule::Captured& captured, const TargetRef& target,
                                       std::vector<int> holes, GraphLock& graph) {
    const auto start = std::chrono::steady_clock::now();
    auto made = std::make_shared<CachedPlan>();
    made->target = target;
    schedule::PlanOptions options{.donate = target->donate, .keep_text = config().debug >= 3};
    do {
        made->plan = schedule::make_plan(captured, holes, options);
        if (options.keep_text) std::clog << "-- graph, simplified\n" << made->plan.graph_text;
        compile_steps(*made, graph);
    } while (refuse_unproven(*made, options.not_donated));
    made->key.assign(captured.key.begin(), captured.key.end());
    made->constants.assign(captured.constants.begin(), captured.constants.end());
    count(counter_cells().plans_made);
    const auto took = std::chrono::steady_clock::now() - start;
    count(counter_cells().compile_nanoseconds, std::chrono::duration_cast<std::chrono::nanoseconds>(took).count());
    return made;
}

}  // namespace

void clear_plan_cache() {
    cache().entries.clear();
    cache().recent.clear();
}

std::shared_ptr<const CachedPlan> find_plan(const schedule::Captured& captured, const TargetRef& target,
                                            GraphLock& graph) {
    const std::uint64_t hash = hash_of(captured.key);
    std::vector<int> holes;  // constants of a plan that is equal otherwise, and that have another value now
    const auto [first, last] = cache().entries.equal_range(hash);
    for (auto it = first; it != last; ++it) {
        const CachedPlan& plan = **it->second;
        if (!std::ranges::equal(plan.key, captured.key) || plan.target != target) continue;
        if (serves(plan, captured.constants)) {
            cache().recent.splice(cache().recent.begin(), cache().recent, it->second);
            count(counter_cells().plan_cache_hits);
            return *it->second;
        }
        for (const int hole : plan.plan.holes) holes.push_back(hole);
        for (std::size_t i = 0; i < captured.constants.size(); ++i)
            if (captured.constants[i] != plan.constants[i]) holes.push_back(static_cast<int>(i));
    }
    // Only a Const can become a scalar; the start of an Insert cannot.
    std::vector<bool> is_const(captured.constants.size(), false);
    for (const auto& item : captured.items)
        if (item.constant >= 0 && item.node->op == ir::Op::Const) is_const[item.constant] = true;
    std::sort(holes.begin(), holes.end());
    holes.erase(std::unique(holes.begin(), holes.end()), holes.end());
    std::erase_if(holes, [&](int hole) { return !is_const[hole]; });

    auto made = make(captured, target, std::move(holes), graph);
    cache().recent.push_front(made);
    cache().entries.emplace(hash, cache().recent.begin());
    while (cache().recent.size() > kMostPlans) {
        const std::uint64_t old = hash_of(cache().recent.back()->key);
        const auto [begin, end] = cache().entries.equal_range(old);
        for (auto it = begin; it != end; ++it)
            if (*it->second == cache().recent.back()) {
                cache().entries.erase(it);
                break;
            }
        cache().recent.pop_back();
    }
    return made;
}

}  // namespace weft::pipeline
