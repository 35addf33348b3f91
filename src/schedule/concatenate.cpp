// schedule/concatenate.cpp: which part of a concatenated array is stored in its place by what computes it, and where that place is.
#include "schedule/concatenate.h"

#include <algorithm>

namespace weft::schedule {

using ir::KernelGraph;
using ir::Node;
using ir::Op;

namespace {

constexpr std::size_t kMostCopies = 16;  // of parts by one kernel
constexpr int kMostAgain =
    4;  // parts that a kernel stores once more: one with too many buffers is cut, and computes twice

}  // namespace

// The value that is in memory where a part of an array is.
const Node& Concatenations::memory_of(const Node& part) const {
    const Node* node = &part;
    const auto same_memory = [&](const Node& n) {
        return groups_.home(n) < 0 ||
               (groups_.home(n.source()) == groups_.home(n) && groups_.state(n.source()).full == groups_.state(n).full);
    };
    while (node->op == Op::Reshape && !graph_.is_root.contains(node) && same_memory(*node) &&
           !node->source().sources.empty())
        node = &node->source();
    return *node;
}

Concatenations::Way Concatenations::way_of(const Part& part) const {
    const Node& memory = memory_of(*part.value);
    const int id = groups_.home(memory);
    if (id < 0 || (groups_[id].kind == KernelGraph::Kind::Custom && !groups_[id].parts)) return Way::Copy;
    if (is_narrow(memory, groups_.state(memory).full, groups_[id])) return Way::Copy;
    const bool has_place = graph_.is_root.contains(&memory) || graph_.read_by_custom.contains(&memory) ||
                           subviews.contains(&memory) || graph_.written.contains(&memory);  // in its leaf
    if (!has_place && squeezed(memory.shape) == squeezed(part.value->shape)) return Way::InPlace;
    return takes_epilogues(groups_[id]) && groups_[id].again < kMostAgain ? Way::Again : Way::Copy;
}

std::int64_t Concatenations::cost_of_selects(const Node& whole) const {
    return (numel(whole.shape) + 7) / 8 * static_cast<std::int64_t>(graph_.parts.at(&whole).size());
}

std::int64_t Concatenations::cost_of_parts(const Node& whole) const {
    std::int64_t cost = 0;
    std::unordered_map<std::int64_t, std::size_t> copies_of;  // by size
    for (const Part& part : graph_.parts.at(&whole)) {
        const std::int64_t size = numel(part.value->shape);
        const Way way = way_of(part);
        if (way != Way::InPlace) cost += size;
        if (way == Way::Copy && copies_of[size]++ % kMostCopies == 0) cost += kLaunch;
    }
    return cost;
}

void Concatenations::open_parts(const Node& whole) {
    std::vector<const Node*> stored;
    std::vector<std::pair<int, std::size_t>> copying;  // groups, and how many parts each copies
    for (const Part& part : graph_.parts.at(&whole)) {
        const Node* memory = &memory_of(*part.value);
        if (const Way way = way_of(part); way != Way::InPlace) {
            const int id = groups_.home(*memory);
            const bool full = groups_.state(*memory).full;
            memory = &new_copy(*part.value);
            if (way == Way::Again) {
                ++groups_[id].again;
                groups_.state(*memory) = {.group = id, .full = full, .level = groups_[id].level};
            } else {
                open_copy(*memory, copying);
            }
        }
        subviews.emplace(memory, Subview{&whole, part.starts, part.value.get()});
        stored.push_back(memory);
    }
    Group group = groups_.make(whole, KernelGraph::Kind::Custom, KernelGraph::Cut::None);
    group.parts = true;
    group.level = 0;
    for (const Node* memory : stored) {
        Group& writer = groups_[groups_.home(*memory)];
        writer.has_dependents = true;
        writer.stores_full |= groups_.state(*memory).full;
        group.level = std::max(group.level, writer.level);
    }
    groups_.adopt(whole, std::move(group));
}

const Node& Concatenations::new_copy(const Node& value) {
    NodeRef copy;
    for (int number = 0; !copy || groups_.contains(*copy); ++number)
        copy = ir::graph().make(Op::Contiguous, value.dtype, value.shape, {NodeRef(&value)}, ir::PartArg{number});
    groups_.add(*copy);
    copies.emplace(copy.get(), copy);
    return *copy;
}

void Concatenations::open_copy(const Node& copy, std::vector<std::pair<int, std::size_t>>& copying) {
    groups_.settle(groups_.open(copy, KernelGraph::Kind::Rows, KernelGraph::Cut::Part), copy);
    for (auto& [id, count] : copying)
        if (count < kMostCopies && groups_.merge(groups_.find(id), groups_.home(copy))) {
            ++count;
            return;
        }
    copying.emplace_back(groups_.home(copy), 1);
}

// A whole comes later in the graph than its parts (their copies aside): it is laid out first.
std::vector<PlacedValue> lay_out(const std::unordered_map<const Node*, Subview>& subviews, const Groups& groups,
                                 const FusionGraph& graph) {
    std::vector<std::pair<const Node*, const Subview*>> all;
    for (const auto& [value, subview] : subviews) all.emplace_back(value, &subview);
    std::sort(all.begin(), all.end(), [&](const auto& a, const auto& b) {
        const std::size_t one = groups.position(*a.second->whole), other = groups.position(*b.second->whole);
        return one != other ? one > other : groups.position(*a.first) < groups.position(*b.first);
    });
    std::unordered_map<const Node*, Dims> strides = graph.box_strides;
    std::vector<PlacedValue> result;
    for (const auto& [value, subview] : all) {
        const auto known = strides.find(subview->whole);
        const Dims outer = known != strides.end() ? known->second : row_major_strides(subview->whole->shape);
        PlacedValue placed{
            .value = NodeRef(value), .whole = NodeRef(subview->whole), .strides = row_major_strides(value->shape)};
        std::size_t axis = outer.size();  // of the part; axes of size 1 aside, they are those of the value
        for (std::size_t d = value->shape.size(); d-- > 0;) {
            if (d + 1 < value->shape.size()) placed.strides[d] = placed.strides[d + 1] * value->shape[d + 1];
            if (value->shape[d] == 1) continue;
            do --axis;
            while (subview->part->shape[axis] == 1);
            placed.strides[d] = outer[axis];
        }
        for (std::size_t d = 0; d < outer.size(); ++d) placed.offset += subview->starts[d] * outer[d];
        strides.emplace(value, placed.strides);
        result.push_back(std::move(placed));
    }
    return result;
}

}  // namespace weft::schedule
