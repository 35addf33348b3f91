// kernel/pass_peel.cpp: the "peel" pass: where a gate (the border of a padded array) depends on the innermost loop alone, that loop is
// cut into border, interior and border. In the interior the gate is gone, and loads are plain vectors. Where nothing is interior to all
// gates (concatenated arrays: one begins where the other ends), it is cut wherever a gate changes.
#include "core/str.h"
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

class Peeler {
public:
    explicit Peeler(Kernel& kernel) : kernel_(kernel) {}

    Body operator()(const Body& body, int depth = 0) {
        Body result;
        for (const Stmt& stmt : body) {
            const Loop* loop = stmt.loop();
            if (!loop) {
                result.push_back(stmt);
            } else if (!(depth > 0 && peel(*loop, result))) {
                result.emplace_back(loop->with((*this)(loop->body, depth + 1)));
            }
        }
        return result;
    }

    int peeled() const { return peeled_; }

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

    bool peel(const Loop& loop, Body& result) {
        const bool leaf = std::none_of(loop.body.begin(), loop.body.end(), [](const Stmt& s) { return s.loop(); });
        if (!leaf || !loop.independent || loop.kind != LoopKind::Serial || loop.count) return false;
        if (loop.extent() < kShortestPiece || loop.extent() > kLongest) return false;
        const std::vector<NodeRef> gates = own_gates(loop);
        if (gates.empty()) return false;
        std::vector<std::int64_t> cuts = interior(loop, gates);
        if (cuts.empty()) cuts = changes(loop, gates);
        if (cuts.empty()) return false;
        cuts.push_back(loop.extent());
        std::int64_t from = 0;
        for (const std::int64_t to : cuts) {
            if (from == to) continue;
            const NodeRef var = kernel_.new_var(to - from);
            const NodeRef at = kernel_.add(var, kernel_.index(from));
            result.emplace_back(
                Loop{var, LoopKind::Serial, copy(kernel_, loop.body, {{loop.id(), at}}), true, nullptr});
            from = to;
        }
        ++peeled_;
        return true;
    }

    Kernel& kernel_;
    int peeled_ = 0;
};

}  // namespace

Kernel peel_gates(Kernel kernel, const Target&) {
    if (has_contraction(kernel.body)) return kernel;  // packing evaluates gates once per tap; see the tile pass
    Peeler peeler(kernel);
    kernel.body = peeler(Body(kernel.body));
    if (peeler.peeled()) kernel.schedule.push_back(str("peel the borders of ", peeler.peeled(), " loops"));
    return kernel;
}

}  // namespace weft::kernel
