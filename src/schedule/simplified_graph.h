// schedule/simplified_graph.h: the "simplify" arrow: a captured graph becomes a smaller one, for a target.
#pragma once

#include "core/target.h"
#include "ir/rewrite.h"
#include "schedule/capture.h"

#include <vector>

namespace weft::schedule {

// The captured graph with leaves as parameters and some constants as scalars, before and after the rules.
struct SimplifiedGraph {
    std::vector<int> run_time_constants;
    CanonicalGraph canonical;
    ir::Rewritten simple;
    bool blocks = false;  // large values are computed in blocks: one is let go before the next
};
SimplifiedGraph simplified(const Captured& captured, std::vector<int> run_time_constants, const Target& target);

}  // namespace weft::schedule
