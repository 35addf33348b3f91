// kernel/nest.h: facts about expressions and loops that lowering and the optimiser share: which variables an expression uses and
// how, and which neighbouring loops are really one.
#pragma once

#include "kernel/kernel.h"

#include <functional>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weft::kernel {

// Every place where a loop variable matters in a set of expressions.
struct Uses {
    std::vector<NodeRef> indices;  // of loads (and stores, if the caller adds them)
    std::vector<NodeRef> gates;
    std::vector<NodeRef> others;  // variables used as values (arange, masks)
    std::vector<NodeRef> loads;
};
void collect_uses(const NodeRef& expression, Uses& uses);
Uses uses_of(const Body& body);

bool depends_on_any(const NodeRef& expression, std::span<const NodeRef> vars);

// Merges neighbouring loops (outer, inner) into one where every address moves as if they were one loop. Returns the new variables;
// `with` gets the replacement of the old ones. Variables of extent 1 vanish.
std::vector<NodeRef> collapse(Kernel& kernel, const std::vector<NodeRef>& vars, const Uses& uses, Substitution& with);

// The variables of the independent serial loops that stand alone in each other, outermost first, and the body inside. No variables: a
// loop of another kind is among them, or there is none.
std::pair<std::vector<NodeRef>, const Body*> perfect_nest(const Body& body);

void append(Body& to, Body from);

// body inside loops over vars, outermost first
Body nested(const std::vector<NodeRef>& vars, Body body, bool independent);

// The body with loops replaced by what f makes of them, outermost first. Where f makes nothing, what is inside is tried, but for vectors and
// unrolled loops.
Body replace_loops(const Body& body, const std::function<std::optional<Body>(const Loop&)>& f);

// Asks of each loop whether it is taken, outermost first. Where one is not, those inside are asked, but for vectors and unrolled loops.
void choose_loops(const Body& body, const std::function<bool(const Loop&)>& takes);

// The decisions that f makes for loops (one, or none), asked as choose_loops() asks.
template <class F>
Decisions decide_for_loops(const Body& body, F f) {
    Decisions chosen;
    choose_loops(body, [&](const Loop& loop) {
        auto decision = f(loop);
        if (decision) chosen.emplace_back(std::move(*decision));
        return decision.has_value();
    });
    return chosen;
}

// The body with the loops of such decisions replaced by what f(loop, decision) makes of them.
template <class Kind, class F>
Body replace_chosen(const Body& body, const Decisions& chosen, F f) {
    return replace_loops(body, [&](const Loop& loop) -> std::optional<Body> {
        const Kind* const decision = find_decision<Kind>(chosen, loop.id());
        if (!decision) return {};
        return f(loop, *decision);
    });
}

// Calls f for each store, with the loops around it.
void for_each_store(const Body& body, const std::function<void(const Store&, std::span<const Loop* const>)>& f);

// The body with its scalar locals replaced by fresh ones, one per lane of that loop: every copy of a body needs its own.
Body lane_private(Kernel& kernel, const Body& body, int lane_loop);

// Eight lanes where 64-bit values are computed, else sixteen: either way one or two registers of the widest machine.
int lanes_for(const Kernel& kernel, const Body& body);

std::int64_t product(std::span<const NodeRef> vars);  // of the extents
inline std::int64_t extent_of(const NodeRef& var) { return var->as<ir::LoopArg>().extent; }
inline int id_of(const NodeRef& var) { return var->as<ir::LoopArg>().id; }

}  // namespace weft::kernel
