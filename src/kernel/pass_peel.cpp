// kernel/pass_peel.cpp: the "peel" pass: where a gate (the border of a padded array) depends on the innermost loop alone, that loop is
// cut into border, interior and border. In the interior the gate is gone, and loads are plain vectors. Where nothing is interior to all
// gates (concatenated arrays: one begins where the other ends), it is cut wherever a gate changes.
#include "ir/symbolic.h"
#include "kernel/contraction_nest.h"
#include "kernel/nest.h"
#include "kernel/passes.h"

#include <algorithm>

namespace weft::kernel {
namespace {

constexpr std::int64_t kShortestPiece = 16,
                       kLongest = 4096;  // shorter: no gain. Longer: gates are tried value by value
constexpr std::size_t kMostPieces = 8;

// Gates of loads that this loop alone decides.
std::vector<NodeRef> own_gates(const Loop& loop) {
    std::vector<NodeRef> gates;
    for (const NodeRef& gate : uses_of(loop.body).gates) {
        Uses inside;
        collect_uses(gate, inside);
        const bool own = std::all_of(inside.others.begin(), inside.others.end(),
                                     [&](const NodeRef& var) { return id_of(var) == loop.id(); });
        if (own && inside.loads.empty() && ir::depends_on(gate, loop.id())) gates.push_back(gate);
    }
    return gates;
}

class ChooseCuts {
public:
    explicit ChooseCuts(const Kernel& kernel) : kernel_(kernel) {}

    // Where to cut the loop; none: it stays as it is.
    std::vector<std::int64_t> operator()(const Loop& loop) const {
        const bool leaf = std::none_of(loop.body.begin(), loop.body.end(), [](const Stmt& s) { return s.loop(); });
        if (!leaf || !loop.independent || loop.kind != LoopKind::Serial || loop.count) return {};
        if (loop.extent() < kShortestPiece || loop.extent() > kLongest) return {};
        const std::vector<NodeRef> gates = own_gates(loop);
        if (gates.empty()) return {};
        const std::vector<std::int64_t> cuts = interior(loop, gates);
        return cuts.empty() ? changes(loop, gates) : cuts;
    }

private:
    bool holds(const NodeRef& gate, int id, std::int64_t value) const {
        const NodeRef decided =
            ir::simplify_index(*kernel_.interner, substitute(kernel_, gate, {{id, kernel_.index(value)}}));
        return decided->op == ir::Op::Const && decided->as<ir::ConstArg>().value != 0;
    }

    // Where the values begin and end for which all gates hold; none: there are too few, or nothing else.
    std::vector<std::int64_t> interior(const Loop& loop, const std::vector<NodeRef>& gates) const {
        const auto inside = [&](std::int64_t value) {
            return std::all_of(gates.begin(), gates.end(),
                               [&](const NodeRef& g) { return holds(g, loop.id(), value); });
        };
        const std::int64_t end = loop.extent();
        std::int64_t begin = 0;
        while (begin < end && !inside(begin)) ++begin;
        std::int64_t stop = begin;
        while (stop < end && inside(stop)) ++stop;
        if (stop - begin < kShortestPiece / 2 || (begin == 0 && stop == end)) return {};
        return {begin, stop};
    }

    // Where a gate changes; none: that is nowhere, or in too many places.
    std::vector<std::int64_t> changes(const Loop& loop, const std::vector<NodeRef>& gates) const {
        std::vector<std::int64_t> cuts;
        for (const NodeRef& gate : gates)
            for (std::int64_t value = 1, before = holds(gate, loop.id(), 0); value < loop.extent(); ++value)
                if (const bool now = holds(gate, loop.id(), value); now != before) cuts.push_back(value), before = now;
        std::sort(cuts.begin(), cuts.end());
        cuts.erase(std::unique(cuts.begin(), cuts.end()), cuts.end());
        const bool few = cuts.size() < kMostPieces;
        const bool long_enough = loop.extent() >= static_cast<std::int64_t>(cuts.size() + 1) * kShortestPiece;
        return few && long_enough ? cuts : std::vector<std::int64_t>();
    }

    const Kernel& kernel_;
};

void choose_cuts(const Kernel& kernel, const Body& body, int depth, Decisions& chosen) {
    for (const Stmt& stmt : body) {
        const Loop* const loop = stmt.loop();
        if (!loop) continue;
        if (depth > 0)
            if (std::vector<std::int64_t> cuts = ChooseCuts(kernel)(*loop); !cuts.empty()) {
                chosen.emplace_back(Peel{loop->id(), std::move(cuts)});
                continue;
            }
        choose_cuts(kernel, loop->body, depth + 1, chosen);
    }
}

void peel(Kernel& kernel, const Loop& loop, std::vector<std::int64_t> cuts, Body& result) {
    cuts.push_back(loop.extent());
    std::int64_t from = 0;
    for (const std::int64_t to : cuts) {
        if (from == to) continue;
        const NodeRef var = kernel.new_var(to - from);
        const NodeRef at = kernel.add(var, kernel.index(from));
        result.emplace_back(Loop{var, LoopKind::Serial, copy(kernel, loop.body, {{loop.id(), at}}), true, nullptr});
        from = to;
    }
}

Body peeled(Kernel& kernel, const Body& body, const Decisions& chosen) {
    Body result;
    for (const Stmt& stmt : body) {
        const Loop* const loop = stmt.loop();
        if (!loop) result.push_back(stmt);
        else if (const Peel* const cut = find_decision<Peel>(chosen, loop->id()))
            peel(kernel, *loop, cut->cuts, result);
        else result.emplace_back(loop->with(peeled(kernel, loop->body, chosen)));
    }
    return result;
}

}  // namespace

Decisions choose_cuts(const Kernel& kernel, const Target&) {
    Decisions chosen;
    if (!has_contraction(kernel.body))  // packing evaluates gates once per tap; see the tile pass
        choose_cuts(kernel, kernel.body, 0, chosen);
    return chosen;
}

Kernel peel_gates(Kernel kernel, const Decisions& chosen) {
    kernel.body = peeled(kernel, kernel.body, chosen);
    return kernel;
}

}  // namespace weft::kernel
