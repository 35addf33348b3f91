// kernel/pass_unflatten.cpp: the "unflatten" pass: a loop over axes that a reshape made one, where an array that is read still has two
// of them, becomes two loops again:
//
//   serial i < 102400:  out[i] = a[i // 100] + b[i % 100]      →      serial r < 1024, serial c < 100:  out[r*100 + c] = a[r] + b[c]
//
// No quotients, loads that run along a loop or stay where they are, and axes that the passes behind this one may exchange.
#include "ir/walk.h"
#include "kernel/contraction_nest.h"
#include "kernel/nest.h"
#include "kernel/passes.h"

#include <algorithm>
#include <optional>
#include <unordered_map>
#include <vector>

namespace weft::kernel {
namespace {

constexpr std::int64_t kShortestRow =
    64;  // elements of a row: in a shorter one too much is left over beside whole vectors

// The shortest row that some index cuts each loop into, by the loop's id.
std::unordered_map<int, std::int64_t> rows_of(const Kernel& kernel) {
    std::vector<NodeRef> roots;
    for_each_store(kernel.body, [&](const Store& store, std::span<const Loop* const>) {
        roots.push_back(store.index);
        roots.push_back(store.value);
    });
    std::unordered_map<int, std::int64_t> rows;
    for (const ir::Node* node : ir::topological_order(roots)) {
        if ((node->op != ir::Op::IDiv && node->op != ir::Op::Mod) || node->sources[0]->op != ir::Op::LoopVar ||
            node->sources[1]->op != ir::Op::Const)
            continue;
        const std::int64_t extent = extent_of(node->sources[0]);
        const auto length = static_cast<std::int64_t>(node->sources[1]->as<ir::ConstArg>().value);
        if (length < kShortestRow || length >= extent || extent % length) continue;
        std::int64_t& row = rows.try_emplace(id_of(node->sources[0]), length).first->second;
        row = std::min(row, length);
    }
    return rows;
}

}  // namespace

Decisions choose_unflatten(const Kernel& kernel, const Target&) {
    if (has_contraction(kernel.body)) return {};
    const std::unordered_map<int, std::int64_t> rows = rows_of(kernel);
    if (rows.empty()) return {};
    return decide_for_loops(kernel.body, [&](const Loop& loop) -> std::optional<Unflatten> {
        const auto found = rows.find(loop.id());
        if (found == rows.end() || loop.kind != LoopKind::Serial || !loop.independent || loop.count) return {};
        return Unflatten{loop.id(), found->second};
    });
}

Kernel unflatten_loops(Kernel kernel, const Decisions& chosen) {
    kernel.body = replace_chosen<Unflatten>(kernel.body, chosen, [&](const Loop& loop, const Unflatten& rows) {
        const NodeRef row = kernel.new_var(loop.extent() / rows.row), column = kernel.new_var(rows.row);
        const NodeRef element = kernel.add(kernel.mul(row, kernel.index(rows.row)), column);
        return nested({row, column}, substitute(kernel, loop.body, {{loop.id(), element}}), true);
    });
    return kernel;
}

}  // namespace weft::kernel
