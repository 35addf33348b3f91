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

// Which steps wait for which, by number.
struct Dependencies {
    std::vector<std::vector<int>> then, needs;
    std::vector<bool> donated;  // writes donated memory

    Dependencies(const Plan& plan, const Nesting& nesting)
        : then(plan.steps.size()), needs(plan.steps.size()), donated(plan.steps.size(), false) {
        std::unordered_map<int, int> writer;  // of a value
        const auto after = [&](int first, int second) {
            then[first].push_back(second);
            needs[second].push_back(first);
        };
        for (int s = 0; s < static_cast<int>(plan.steps.size()); ++s) {
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
    }
};

void put_in_order(Plan& plan, std::span<const int> order) {
    if (order.size() != plan.steps.size()) throw InternalError("plan: steps wait for each other");
    std::vector<PlanStep> ordered;
    ordered.reserve(order.size());
    for (const int s : order) ordered.push_back(std::move(plan.steps[s]));
    plan.steps = std::move(ordered);
}

}  // namespace

void run_depth_first(Plan& plan, const Nesting& nesting) {
    const Dependencies all(plan, nesting);
    std::vector<int> order, stack;
    std::vector<std::size_t> seen(plan.steps.size(), 0);  // of each step's needs, so many have been looked at
    std::vector<bool> listed(plan.steps.size(), false);
    for (int last = 0; last < static_cast<int>(plan.steps.size()); ++last) {
        if (!all.then[last].empty()) continue;
        stack.push_back(last);
        while (!stack.empty()) {
            const int s = stack.back();
            if (seen[s] < all.needs[s].size()) {
                stack.push_back(all.needs[s][seen[s]++]);
                continue;
            }
            stack.pop_back();
            if (!listed[s]) order.push_back(s);
            listed[s] = true;
        }
    }
    put_in_order(plan, order);
}

void write_donated_last(Plan& plan, const Nesting& nesting) {
    const Dependencies all(plan, nesting);
    const int count = static_cast<int>(plan.steps.size());
    std::vector<std::size_t> waits(count, 0);  // for how many steps each one waits
    std::set<std::pair<bool, int>> ready;      // the others first, each kind in its old order
    for (int s = 0; s < count; ++s)
        if (waits[s] = all.needs[s].size(); waits[s] == 0) ready.emplace(all.donated[s], s);
    std::vector<int> order;
    while (!ready.empty()) {
        const int s = ready.begin()->second;
        ready.erase(ready.begin());
        order.push_back(s);
        for (const int t : all.then[s])
            if (--waits[t] == 0) ready.emplace(all.donated[t], t);
    }
    put_in_order(plan, order);
}

}  // namespace weft::schedule
