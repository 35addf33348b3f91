// schedule/box_leaves.h: of x[i] = v, only the box is written, where x is donatable memory that nothing else reads.
#pragma once

#include "ir/rewrite.h"
#include "schedule/capture.h"
#include "schedule/donation.h"

#include <unordered_map>
#include <unordered_set>

namespace weft::schedule {

class BoxLeaves {
public:
    // One walk over the graphs, and one over the items.
    BoxLeaves(const Captured& captured, const CanonicalGraph& canonical, const ir::Rewritten& simple);

    // The leaf in which this root of the simplified graph is a box; -1: none.
    int leaf(const ir::NodeRef& root, const Donation& donation) const;

    // The first of the constants that say where this Insert starts: those of the Insert that it was before it was simplified. -1: none
    // starts there, or several do, which may start at different places in the next run.
    int start_constant(const ir::Node& insert) const;

private:
    std::unordered_map<int, int> readers_;  // of a leaf, in the simplified graph, since that is what runs
    std::unordered_map<const ir::Node*, int> roots_;
    std::vector<const ir::Node*> customs_;
    std::unordered_map<const ir::Node*, int> start_constant_;
    bool checks_ = false;  // may raise: nothing may be written in place before
};

}  // namespace weft::schedule
