// schedule/worth_storing.cpp: see worth_storing.h.
#include "schedule/worth_storing.h"

namespace weft::schedule {

using ir::Node;
using ir::Op;

namespace {

constexpr std::size_t kMostNodes = 1000;  // looked at; a value with more below it is expensive

// What a chain of views and markers looks at.
const Node& looked_at(const Node& value) {
    const Node* node = &value;
    while (!node->in_memory() && (ir::is_marker(node->op) || (ir::is_movement(node->op) && node->op != Op::Insert)))
        node = node->sources[0].get();
    return *node;
}

}  // namespace

bool is_barrier(const Node& node) {
    switch (node.op) {
        case Op::Reduce:
        case Op::Scan:
        case Op::Scatter:
        case Op::Custom:
        case Op::Part:
        case Op::Insert:
        case Op::Contiguous: return true;
        default: return false;
    }
}

std::vector<const Node*> worth_storing(const Node& value) {
    const Node& own = looked_at(value);
    if (own.in_memory() || own.sources.empty() || numel(own.shape) == 0) return {};
    if (is_barrier(own)) return {&own};
    const std::uint64_t epoch = ir::next_epoch();
    InlineVector<const Node*, 32> stack{&own};
    std::vector<const Node*> barriers;
    std::size_t seen = 0;
    std::int64_t cost = 0, stored = 0;
    while (!stack.empty()) {
        const Node& node = *stack.back();
        stack.pop_back();
        if (node.mark == epoch || node.in_memory()) continue;
        node.mark = epoch;
        if (++seen > kMostNodes || cost > kCheapRecompute) return {&own};
        if (is_barrier(node)) {
            barriers.push_back(&node);
            stored += ir::bytes_of(node);
            continue;
        }
        cost += node.sources.empty() ? 0 : ir::info(node.op).cost;
        const std::size_t count = ir::is_marker(node.op) ? 1 : node.sources.size();
        for (std::size_t i = 0; i < count; ++i) stack.push_back(node.sources[i].get());
    }
    if (cost > kCheapRecompute) return {&own};
    if (barriers.empty() || stored < ir::bytes_of(own) / 2) return barriers;
    return {&own};
}

}  // namespace weft::schedule
