// backend/cuda/vector_access.cpp: see vector_access.h.
#include "backend/cuda/vector_access.h"

#include "backend/linear.h"

#include <algorithm>
#include <map>
#include <unordered_set>

namespace weft::backend::cuda {

using ir::Node;
using ir::Op;
using kernel::Stmt;
using kernel::Store;

namespace {

constexpr std::size_t kWidest = 16;  // bytes of one access

std::int64_t constant_of(const Node& node) { return static_cast<std::int64_t>(node.as<ir::ConstArg>().value); }

bool is_multiple(const Node* base, std::int64_t of) {
    if (!base) return true;
    const Linear sum = linear(*base);
    return sum.constant % of == 0 &&
           std::ranges::all_of(sum.terms, [&](const auto& term) { return term.second % of == 0; });
}

// Eight halves are four words.
std::int64_t widest_access(DType t) {
    return std::min<std::int64_t>(is_half(t) ? 8 : 4, static_cast<std::int64_t>(kWidest / size_of(t)));
}

void collect_loads(const Node& root, std::unordered_set<const Node*>& seen, std::vector<const Node*>& loads) {
    std::vector<const Node*> pending{&root};
    while (!pending.empty()) {
        const Node* const node = pending.back();
        pending.pop_back();
        if (!seen.insert(node).second) continue;
        if (node->op == Op::Load) loads.push_back(node);
        for (const ir::NodeRef& source : node->sources) pending.push_back(source.get());
    }
}

}  // namespace

Position position_of(const Node& index) {
    if (index.op == Op::Const) return {nullptr, constant_of(index)};
    if (index.op == Op::Add && index.source(1).op == Op::Const) return {&index.source(0), constant_of(index.source(1))};
    return {&index, 0};
}

void VectorAccess::find_loads(const kernel::Kernel& kernel, std::span<const Stmt> statements) {
    std::unordered_set<const Node*> seen;
    std::vector<const Node*> loads;
    for (const Stmt& stmt : statements) {
        collect_loads(*stmt.store()->value, seen, loads);
        collect_loads(*stmt.store()->index, seen, loads);
    }
    struct Place {  // buffer, what the index is counted from, gate
        int buffer;
        const Node *base, *gate;
        auto operator<=>(const Place&) const = default;
    };
    std::map<Place, std::map<std::int64_t, const Node*>> places;
    for (const Node* load : loads) {
        const Position at = position_of(load->source());
        places[{load->as<ir::LoadArg>().buffer, at.base, load->sources.size() > 1 ? &load->source(1) : nullptr}]
              [at.offset] = load;
        group_of_.erase(load);  // what other statements load with it is another question
    }
    for (const auto& [from, at] : places) {
        const DType t = kernel.buffers[static_cast<std::size_t>(from.buffer)].dtype;
        for (std::int64_t width = widest_access(t); width > 1; width /= 2) {
            if (at.size() < static_cast<std::size_t>(width) || !is_multiple(from.base, width)) continue;
            for (const auto& [offset, load] : at) {
                if (offset % width != 0 || group_of_.contains(load)) continue;
                Lanes lanes;
                for (std::int64_t lane = 0; lane < width; ++lane)
                    if (const auto next = at.find(offset + lane); next != at.end() && !group_of_.contains(next->second))
                        lanes.push_back(next->second);
                if (lanes.size() < static_cast<std::size_t>(width)) continue;
                for (const Node* lane : lanes) group_of_[lane] = groups_.size();
                groups_.push_back(std::move(lanes));
            }
        }
    }
}

const VectorAccess::Lanes* VectorAccess::lanes_of(const Node& load) const {
    const auto found = group_of_.find(&load);
    return found == group_of_.end() ? nullptr : &groups_[found->second];
}

std::size_t VectorAccess::stores_together(const kernel::Kernel& kernel, std::span<const Stmt> statements) {
    const Store& first = *statements[0].store();
    const Position start = position_of(*first.index);
    std::size_t count = 1;
    for (; count < statements.size(); ++count) {
        const Store* const next = statements[count].store();
        if (!next || next->buffer != first.buffer) break;
        const Position at = position_of(*next->index);
        if (at.base != start.base || at.offset != start.offset + static_cast<std::int64_t>(count)) break;
    }
    const DType t = kernel.buffers[static_cast<std::size_t>(first.buffer)].dtype;
    for (std::int64_t width = widest_access(t); width > 1; width /= 2)
        if (count >= static_cast<std::size_t>(width) && start.offset % width == 0 && is_multiple(start.base, width))
            return static_cast<std::size_t>(width);
    return 1;
}

}  // namespace weft::backend::cuda
