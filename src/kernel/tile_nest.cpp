// kernel/tile_nest.cpp: loops and positions of a tiled contraction.
#include "kernel/tile_nest.h"

#include "ir/index_map.h"
#include "ir/symbolic.h"

#include <algorithm>

namespace weft::kernel {

using ir::IndexList;

Substitution unflattened(const Kernel& kernel, const std::vector<NodeRef>& vars, const NodeRef& position) {
    Shape extents;
    for (const NodeRef& var : vars) extents.push_back(extent_of(var));
    const IndexList index = ir::unflatten_index(*kernel.interner, extents, position);
    Substitution with;
    for (std::size_t i = 0; i < vars.size(); ++i) with.emplace_back(id_of(vars[i]), index[i]);
    return with;
}

bool is_gated_by(const NodeRef& operand, const NodeRef& var) {
    Uses uses;
    collect_uses(operand, uses);
    return std::any_of(uses.gates.begin(), uses.gates.end(),
                       [&](const NodeRef& gate) { return ir::depends_on(gate, id_of(var)); });
}

Loop serial_loop(const NodeRef& var, Body body, NodeRef count) {
    return Loop{var, LoopKind::Serial, std::move(body), false, std::move(count)};
}

NodeRef TileNest::simple(const NodeRef& e) const { return ir::simplify_index(*kernel.interner, e); }

NodeRef TileNest::position_in(const std::vector<NodeRef>& vars) const {
    Shape extents;
    for (const NodeRef& var : vars) extents.push_back(extent_of(var));
    return ir::flatten_index(*kernel.interner, extents, IndexList(vars.begin(), vars.end()));
}

std::vector<NodeRef> TileNest::packed_vars() const {
    std::vector<NodeRef> vars = nest.inner;
    std::erase(vars, schedule.shift.var);
    return vars;
}

// An odd number of cache lines, so that steps fall into different sets.
std::int64_t TileNest::shift_pitch() const {
    const std::int64_t lines = ceil_div(std::min(schedule.strip_width, schedule.columns()) + schedule.shift.more,
                                        std::int64_t{schedule.lanes});
    return (lines | 1) * schedule.lanes;
}

Body TileNest::loops_over(const std::vector<NodeRef>& vars, Body body) const {
    Substitution with;
    std::vector<NodeRef> fresh;
    for (const NodeRef& var : vars) {
        fresh.push_back(kernel.new_var(extent_of(var)));
        with.emplace_back(id_of(var), fresh.back());
    }
    return nested(fresh, substitute(kernel, body, with), false);
}

Body TileNest::sum_loops(const std::vector<NodeRef>& vars, Body body) const {
    Body loops = loops_over(vars, std::move(body));
    if (nest.inner_count) loops[0].loop()->count = nest.inner_count;
    return loops;
}

}  // namespace weft::kernel
