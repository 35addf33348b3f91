// schedule/arena.cpp: first fit by address, in the order of the steps.
#include "schedule/arena.h"

#include <algorithm>
#include <unordered_map>

namespace weft::schedule {
namespace {

constexpr std::int64_t kAlignment = 64;
// Neighbouring arena blocks start at different cache sets: 17 lines are coprime to every number of sets.
constexpr std::int64_t kStagger = 17 * 64;

}  // namespace

// Greedy: each temporary goes to the lowest place that is free from its first use to its last.
void lay_out_arena(Plan& plan) {
    struct Life {
        int value, first, last;
    };
    std::vector<Life> lives;
    std::unordered_map<int, std::size_t> life_of;
    for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s)
        for (const int used : plan.steps[s].values) {
            const int v = plan.values[used].where == PlanValue::Where::Inside ? plan.values[used].whole : used;
            if (plan.values[v].where != PlanValue::Where::Arena) continue;
            const auto [found, fresh] = life_of.try_emplace(v, lives.size());
            if (fresh) lives.push_back({v, s, s});
            lives[found->second].last = s;
        }
    struct Placed {
        std::int64_t begin, end;
        int last;
    };
    std::vector<Placed> placed;
    for (const Life& life : lives) {
        std::erase_if(placed, [&](const Placed& p) { return p.last < life.first; });  // they stay in order of `begin`
        const std::int64_t need = (plan.values[life.value].bytes + kAlignment - 1) / kAlignment * kAlignment;
        std::int64_t at = 0;
        auto before = placed.begin();
        for (; before != placed.end() && at + need > before->begin; ++before)
            at = std::max(at, before->end + (need > 4096 ? kStagger : 0));
        plan.values[life.value].arena_offset = at;
        placed.insert(before, {at, at + need, life.last});
        plan.arena_bytes = std::max(plan.arena_bytes, static_cast<std::size_t>(at + need));
    }
}

}  // namespace weft::schedule
