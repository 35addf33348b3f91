// schedule/simplified_graph.cpp: the rules, then the rewrites that look at more than one node: blocks, and what the target wants.
#include "schedule/simplified_graph.h"

#include "ir/verify.h"
#include "schedule/blocks.h"
#include "schedule/simplify.h"
#include "schedule/split_sums.h"

#include <algorithm>
#include <utility>

namespace weft::schedule {
namespace {

// What the graph became, once more.
void follow(ir::Rewritten& simple, ir::Rewritten&& next) {
    for (auto& [node, value] : simple.became)
        if (const auto found = next.became.find(value.get()); found != next.became.end()) value = found->second;
    simple.roots = std::move(next.roots);
}

}  // namespace

SimplifiedGraph simplified(const Captured& captured, std::vector<int> run_time_constants, const Target& target) {
    SimplifiedGraph graph{.run_time_constants = std::move(run_time_constants)};
    graph.canonical = canonical_graph(captured, graph.run_time_constants);
    ir::verify_graph(graph.canonical.outputs, "capture");
    graph.simple = simplify(graph.canonical.outputs);
    ir::verify_graph(graph.simple.roots, "simplify");
    // What a gradient may still use is stored as a whole.
    const bool kept =
        std::any_of(captured.items.begin(), captured.items.end(), [](const auto& item) { return item.keep; });
    if (const std::vector<BlockSchedule> blocks =
            kept ? std::vector<BlockSchedule>() : choose_blocks(graph.simple.roots);
        !blocks.empty()) {
        follow(graph.simple, simplify(in_blocks(graph.simple.roots, blocks)));
        graph.blocks = true;
        ir::verify_graph(graph.simple.roots, "blocks");
    }
    if (target.processor == Processor::Gpu && target.split_sums) {
        follow(graph.simple, split_sums(graph.simple.roots, target));
        ir::verify_graph(graph.simple.roots, "split sums");
    }
    return graph;
}

}  // namespace weft::schedule
