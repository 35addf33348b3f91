// pipeline/plan_cache.cpp: least recently used plans go first; a plan owns code and no memory.
#include "pipeline/plan_cache.h"

#include "pipeline/counters.h"

#include <algorithm>
#include <list>
#include <span>
#include <unordered_map>

namespace weft::pipeline {
namespace {

constexpr std::size_t kMostPlans = 1024;

std::uint64_t hash_of(std::span<const std::uint64_t> key) {
    std::uint64_t h = key.size();
    for (const std::uint64_t word : key) {
        h = (h ^ word) * 0x9e3779b97f4a7c15;
        h ^= h >> 29;
    }
    return h;
}

struct PlanCache {
    std::list<std::shared_ptr<const CachedPlan>> recent;  // most recently used first
    std::unordered_multimap<std::uint64_t, decltype(recent)::iterator> entries;
};

PlanCache& plan_cache() {
    static PlanCache& c = *new PlanCache;
    return c;
}

bool serves(const CachedPlan& plan, std::span<const Word> constants) {
    for (std::size_t i = 0; i < constants.size(); ++i) {
        if (constants[i] == plan.constants[i]) continue;
        const int at = static_cast<int>(i);
        const auto listed = [&](const std::vector<int>& list) {
            return std::find(list.begin(), list.end(), at) != list.end();
        };
        if (!listed(plan.plan.run_time_constants) && !listed(plan.plan.free_constants)) return false;
    }
    return true;
}

}  // namespace

void clear_plan_cache() {
    plan_cache().entries.clear();
    plan_cache().recent.clear();
}

Found find_plan(const schedule::Captured& captured, TargetRef target) {
    Found result;
    const auto [first, last] = plan_cache().entries.equal_range(hash_of(captured.key));
    for (auto it = first; it != last; ++it) {
        const CachedPlan& plan = **it->second;
        if (!std::ranges::equal(plan.key, captured.key) || plan.target != target) continue;
        if (serves(plan, captured.constants)) {
            plan_cache().recent.splice(plan_cache().recent.begin(), plan_cache().recent, it->second);
            count(counter_cells().plan_cache_hits);
            return {.plan = *it->second};
        }
        const std::vector<int>& before = plan.plan.run_time_constants;
        result.run_time_constants.insert(result.run_time_constants.end(), before.begin(), before.end());
        for (std::size_t i = 0; i < captured.constants.size(); ++i)
            if (captured.constants[i] != plan.constants[i]) result.run_time_constants.push_back(static_cast<int>(i));
    }
    // Only a Const can become a scalar; the start of an Insert cannot.
    std::vector<bool> is_const(captured.constants.size(), false);
    for (const auto& item : captured.items)
        if (item.constant >= 0 && item.node->op == ir::Op::Const) is_const[item.constant] = true;
    std::vector<int>& constants = result.run_time_constants;
    std::sort(constants.begin(), constants.end());
    constants.erase(std::unique(constants.begin(), constants.end()), constants.end());
    std::erase_if(constants, [&](int constant) { return !is_const[constant]; });
    return result;
}

void keep_plan(const std::shared_ptr<const CachedPlan>& made) {
    plan_cache().recent.push_front(made);
    plan_cache().entries.emplace(hash_of(made->key), plan_cache().recent.begin());
    while (plan_cache().recent.size() > kMostPlans) {
        const std::uint64_t old = hash_of(plan_cache().recent.back()->key);
        const auto [begin, end] = plan_cache().entries.equal_range(old);
        for (auto it = begin; it != end; ++it)
            if (*it->second == plan_cache().recent.back()) {
                plan_cache().entries.erase(it);
                break;
            }
        plan_cache().recent.pop_back();
    }
}

}  // namespace weft::pipeline
