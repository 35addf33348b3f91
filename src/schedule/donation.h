// schedule/donation.h: which outputs of a plan take over the memory of donatable leaves.
#pragma once

#include "schedule/plan.h"

#include <map>
#include <set>
#include <unordered_map>
#include <unordered_set>

namespace weft::schedule {

class Donation {
public:
    Donation(const Captured& captured, const PlanOptions& options);

    // Nobody can read it after this run, all of it is ours, and nobody sees it through another view.
    bool is_donatable(int leaf) const;

    // Linear in the steps: a leaf is looked at by the outputs that read it, and once it is free by those of its size.
    void donate(Plan& plan);

private:
    struct Reader {  // a leaf as steps see it
        int value = -1, last_step = -1;
        bool is_output = false;
    };
    using Size = std::pair<std::size_t, std::int64_t>;  // bytes of an element, elements

    void find_readers(const Plan& plan);
    std::set<int> operands(const PlanStep& step, const ir::KernelGraph::Output& output) const;
    bool may_take(const Plan& plan, int s, const PlanValue& value, int leaf) const;
    void take(PlanStep& step, ir::KernelGraph::Output& output, PlanValue& value, int leaf);
    Size size_of_leaf(int leaf) const;

    const Captured& captured_;
    const PlanOptions& options_;
    std::unordered_map<const void*, int> views_of_;  // of a storage: how many leaves are views of it
    std::vector<Reader> readers_;                    // per leaf
    std::unordered_map<int, int> leaf_of_;           // of a value
    std::unordered_set<int> taken_;
    std::unordered_set<int> has_parts_;  // values that others lie in
};

}  // namespace weft::schedule
