// schedule/step_order.cpp: a topological order that puts off what cannot be undone.
#include "schedule/step_order.h"

#include <weft/error.h>

#include <set>

namespace weft::schedule {
namespace {

// Of a value that others write: what they write.
template <class Function>
void for_each_part(const Nesting& nesting, int whole, const Function& function) {
    std::vector<int> stack{whole};
    while (!stack.empty()) {
        const int value = stack.back();
        stack.pop_back();
        if (const auto found = nesting.parts.find(value); found != nesting.parts.end())
            stack.insert(stack.end(), found->second.begin(), found->second.end());
        else function(value);
    }
}

}  // namespace

void write_donated_last(Plan& plan, const Nesting& nesting) {
    const int count = static_cast<int>(plan.steps.size());
    std::vector<bool> donated(count, false);
    std::vector<int> waits(count, 0);  // for how many steps each one waits
    std::vector<std::vector<int>> then(count);
    std::unordered_map<int, int> writer;  // of a value
    const auto after = [&](int first, int second) {
        then[first].push_back(second);
        ++waits[second];
    };
    for (int s = 0; s < count; ++s) {
        for (const int used : plan.steps[s].values) {
            const auto slice = nesting.slice_of.find(used);
            const int v = slice == nesting.slice_of.end() ? used : slice->second;
            if (plan.values[v].where == PlanValue::Where::Leaf) continue;
            if (nesting.parts.contains(v)) {
                for_each_part(nesting, v, [&](int part) { after(writer.at(part), s); });
            } else if (const auto [found, first] = writer.try_emplace(v, s); !first) {
                // A value without elements has no writer: a kernel that reads it twice must not wait for itself.
                if (found->second != s) after(found->second, s);
            } else {
                donated[s] = donated[s] || plan.values[v].where == PlanValue::Where::Donated;
            }
        }
    }
    std::set<std::pair<bool, int>> ready;  // the others first, each kind in its old order
    for (int s = 0; s < count; ++s)
        if (waits[s] == 0) ready.emplace(donated[s], s);
    std::vector<PlanStep> ordered;
    ordered.reserve(count);
    while (!ready.empty()) {
        const int s = ready.begin()->second;
        ready.erase(ready.begin());
        ordered.push_back(std::move(plan.steps[s]));
        for (const int t : then[s])
            if (--waits[t] == 0) ready.emplace(donated[t], t);
    }
    if (static_cast<int>(ordered.size()) != count) throw InternalError("plan: steps wait for each other");
    plan.steps = std::move(ordered);
}

}  // namespace weft::schedule
