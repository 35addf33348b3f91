// kernel/phases.cpp: finds "x mod s" in the factors' gates, with one row variable and one summed variable in x, and splits both
// until it is a constant.
#include "kernel/phases.h"

#include "core/checked.h"
#include "ir/contraction.h"
#include "ir/symbolic.h"
#include "ir/walk.h"
#include "kernel/nest.h"

#include <algorithm>
#include <optional>

namespace weft::kernel {
namespace {

using ir::Op;

bool is_zero(const NodeRef& e) { return e->op == Op::Const && e->as<ir::ConstArg>().value == 0; }

// The conditions under which a factor is not zero: gates of loads, and of views of other values.
std::vector<NodeRef> gates_of(const NodeRef& factor) {
    std::vector<NodeRef> gates;
    for (const ir::Node* node : ir::topological_order(std::span(&factor, 1))) {
        if (node->op == Op::Load && node->sources.size() > 1) gates.push_back(node->sources[1]);
        if (node->op == Op::Where && is_zero(node->sources[2])) gates.push_back(node->sources[0]);
    }
    return gates;
}

struct Stride {
    NodeRef remainder;  // x mod s
    std::int64_t length;
    std::size_t row, sum;  // which of the phase's variables decide it
};

class Splitter {
public:
    explicit Splitter(Kernel& kernel) : kernel_(kernel) {}

    // Phases that take this one's place; none if it has no stride that can be split.
    std::vector<Phase> operator()(const Phase& phase, std::int64_t most) {
        for (const NodeRef& factor : {phase.left, phase.right})
            for (const NodeRef& gate : gates_of(factor))
                for (const ir::Node* node : ir::topological_order(std::span(&gate, 1)))
                    if (const auto stride = stride_at(phase, NodeRef(node)); stride && stride->length <= most)
                        if (std::vector<Phase> parts = split(phase, *stride); !parts.empty()) return parts;
        return {};
    }

    // The same with loop variables of its own: no two loops of a kernel share one.
    Phase renamed(const Phase& phase) {
        Substitution with;
        const auto fresh = [&](const std::vector<NodeRef>& vars) {
            std::vector<NodeRef> result;
            for (const NodeRef& var : vars) {
                result.push_back(kernel_.new_var(var->as<ir::LoopArg>().extent));
                with.emplace_back(var->as<ir::LoopArg>().id, result.back());
            }
            return result;
        };
        std::vector<NodeRef> rows = fresh(phase.rows), sums = fresh(phase.sums);
        Phase result = replaced(phase, with);
        result.rows = std::move(rows);
        result.sums = std::move(sums);
        return result;
    }

private:
    static std::optional<Stride> stride_at(const Phase& phase, const NodeRef& node) {
        if (node->op != Op::Mod || node->sources[1]->op != Op::Const) return std::nullopt;
        const auto only = [&](const std::vector<NodeRef>& vars) -> std::optional<std::size_t> {
            std::optional<std::size_t> found;
            for (std::size_t i = 0; i < vars.size(); ++i)
                if (ir::depends_on(node, id_of(vars[i]))) {
                    if (found) return std::nullopt;
                    found = i;
                }
            return found;
        };
        const auto row = only(phase.rows), sum = only(phase.sums);
        if (!row || !sum) return std::nullopt;
        return Stride{node, static_cast<std::int64_t>(node->sources[1]->as<ir::ConstArg>().value), *row, *sum};
    }

    // vars[which] = length * (a new variable) + offset; null if that has no values
    NodeRef cut(const NodeRef& var, std::int64_t length, std::int64_t offset, Substitution& with) {
        if (offset >= extent_of(var)) return nullptr;
        const NodeRef fresh = kernel_.new_var(ceil_div(extent_of(var) - offset, length));
        with.emplace_back(id_of(var), kernel_.add(kernel_.mul(fresh, kernel_.index(length)), kernel_.index(offset)));
        return fresh;
    }

    std::vector<Phase> split(const Phase& phase, const Stride& stride) {
        std::vector<Phase> parts;
        for (std::int64_t offset = 0; offset < stride.length; ++offset) {
            Substitution with;
            const NodeRef row = cut(phase.rows[stride.row], stride.length, offset, with);
            if (!row) continue;
            std::optional<Phase> part = with_row(phase, stride, row, with);
            if (!part) return {};
            parts.push_back(std::move(*part));
        }
        return parts;
    }

    // The phase with its row variable cut: the smallest cut of the summed variable that decides the remainder leaves one offset.
    std::optional<Phase> with_row(const Phase& phase, const Stride& stride, const NodeRef& row,
                                  const Substitution& rows) {
        for (std::int64_t length = 1; length <= stride.length; ++length) {
            if (stride.length % length != 0 || !decides(stride, phase.sums[stride.sum], length, rows)) continue;
            std::vector<Phase> kept;
            for (std::int64_t offset = 0; offset < length; ++offset) {
                Substitution with = rows;
                const NodeRef sum = cut(phase.sums[stride.sum], length, offset, with);
                if (!sum) continue;
                Phase part = replaced(phase, with);
                part.rows[stride.row] = row;
                part.sums[stride.sum] = sum;
                if (!is_zero(part.left) && !is_zero(part.right)) kept.push_back(std::move(part));
            }
            if (kept.size() > 1) return std::nullopt;
            if (!kept.empty()) return std::move(kept[0]);
            Phase none = replaced(phase, rows);
            none.rows[stride.row] = row;
            none.sums.clear();
            none.left = none.right = kernel_.constant(phase.left->dtype, 0);
            none.empty = true;
            return none;
        }
        return std::nullopt;
    }

    // Is the remainder a constant, once the summed variable is cut by this length?
    bool decides(const Stride& stride, const NodeRef& var, std::int64_t length, Substitution with) {
        cut(var, length, 0, with);
        return ir::simplify_index(*kernel_.interner, substitute(kernel_, stride.remainder, with))->op == Op::Const;
    }

    Phase replaced(const Phase& phase, const Substitution& with) const {
        Phase result = phase;
        result.left = substitute(kernel_, phase.left, with);
        result.right = substitute(kernel_, phase.right, with);
        for (auto& [id, value] : result.with) value = substitute(kernel_, value, with);
        result.with.insert(result.with.end(), with.begin(), with.end());
        return result;
    }

    Kernel& kernel_;
};

}  // namespace

std::vector<Phase> split_phases(Kernel& kernel, const std::vector<NodeRef>& rows, const std::vector<NodeRef>& sums,
                                const NodeRef& left, const NodeRef& right) {
    std::vector<Phase> done, pending{{rows, sums, left, right, {}, false}};
    Splitter splitter(kernel);
    while (!pending.empty()) {
        const Phase phase = std::move(pending.back());
        pending.pop_back();
        const auto others = static_cast<std::int64_t>(done.size() + pending.size());
        std::vector<Phase> parts = phase.empty ? std::vector<Phase>() : splitter(phase, ir::kMostPhases - others);
        if (parts.empty()) done.push_back(phase);
        else pending.insert(pending.end(), parts.rbegin(), parts.rend());
    }
    for (std::size_t i = 1; i < done.size(); ++i) done[i] = splitter.renamed(done[i]);
    return done;
}

}  // namespace weft::kernel
