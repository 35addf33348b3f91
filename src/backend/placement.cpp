// backend/placement.cpp: see placement.h.
#include "backend/placement.h"

#include <algorithm>

namespace weft::backend {

using ir::Op;

std::uint64_t stored_in(const kernel::Body& body) {
    std::uint64_t stored = 0;
    for (const kernel::Stmt& stmt : body) {
        if (stmt.loop()) stored |= stored_in(stmt.loop()->body);
        if (stmt.store()) stored |= bit_of(stmt.store()->buffer);
    }
    return stored;
}

void Placement::enter(const kernel::Loop& loop, bool guarded) {
    loops_.push_back({stored_in(loop.body), guarded});
    depths_[loop.id()] = static_cast<int>(loops_.size());
}

const ExprFacts& Placement::facts(const ir::Node& node) {
    if (const auto found = facts_.find(&node); found != facts_.end()) return found->second;
    InlineVector<const ir::Node*, 32> pending;  // no recursion: an expression may be deep, the stack small
    pending.push_back(&node);
    while (!pending.empty()) {
        const ir::Node* next = pending.back();
        const std::size_t before = pending.size();
        for (const ir::NodeRef& source : next->sources)
            if (!facts_.contains(source.get())) pending.push_back(source.get());
        if (pending.size() > before) continue;
        pending.pop_back();
        facts_.try_emplace(next, facts_from_sources(*next));
    }
    return facts_.at(&node);
}

ExprFacts Placement::facts_from_sources(const ir::Node& node) const {
    ExprFacts result;
    for (const ir::NodeRef& source : node.sources) {
        const ExprFacts& in = facts_.at(source.get());
        result.height = std::max(result.height, in.height + 1);
        result.level = std::max(result.level, in.level);
        result.lane = std::max(result.lane, in.lane);
        result.buffers |= in.buffers;
        result.touches |= in.touches;
    }
    if (node.op == Op::LoopVar) {
        const int id = node.as<ir::LoopArg>().id;
        if (expanded_.lane_vars.contains(id)) result.lane = id;
        else result.level = depths_.at(id);
    } else if (node.op == Op::Load) {
        const int b = node.as<ir::LoadArg>().buffer, lane_loop = kernel_.buffers[b].lane_loop;
        result.buffers |= bit_of(b);
        result.touches = true;
        if (expanded_.lane_vars.contains(lane_loop)) result.lane = lane_loop;
        if (const int var = expanded_.buffers[b].lane_var; var >= 0)
            result.level = std::max(result.level, depths_.at(var));
    } else if (node.op == Op::Check) {
        result.touches = true;
    }
    return result;
}

int Placement::level_of(const ir::Node& node) {
    const ExprFacts& f = facts(node);
    for (int level = static_cast<int>(loops_.size()); level > f.level; --level) {
        const OpenLoop& loop = loops_[static_cast<std::size_t>(level) - 1];
        if ((loop.stored & f.buffers) || (f.touches && loop.guarded)) return level;
    }
    return f.level;
}

}  // namespace weft::backend
