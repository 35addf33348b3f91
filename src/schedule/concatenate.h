// schedule/concatenate.h: arrays that are put together from parts (cat, stack). They need no kernel where their parts are stored anyway:
// what computes a part stores it in its place of the whole.
#pragma once

#include "schedule/groups.h"

#include <unordered_map>
#include <vector>

namespace weft::schedule {

// Where a value lies that is part of another one.
struct Subview {
    const ir::Node* whole = nullptr;
    Dims starts;
    const ir::Node* part = nullptr;  // what was inserted: the value, but for axes of size 1
};

class Concatenations {
public:
    Concatenations(const FusionGraph& graph, Groups& groups) : graph_(graph), groups_(groups) {}

    // Costs in elements copied: of finding out for each element in which part it lies, and of storing the parts.
    std::int64_t cost_of_selects(const ir::Node& whole) const;
    std::int64_t cost_of_parts(const ir::Node& whole) const;

    // From now on the value is memory, which other groups write: it is there when the last of them is done.
    void open_parts(const ir::Node& whole);

    std::unordered_map<const ir::Node*, Subview> subviews;  // what is stored as a part of another value
    std::unordered_map<const ir::Node*, NodeRef> copies;    // nodes that stand for one more copy of a value

private:
    // How a part gets to its place: what stores it does so there, or stores it once more, or it takes a kernel of its own.
    enum class Way : std::uint8_t { InPlace, Again, Copy };
    Way way_of(const Part& part) const;
    const ir::Node& memory_of(const ir::Node& part) const;
    const ir::Node& new_copy(const ir::Node& value);
    void open_copy(const ir::Node& copy, std::vector<std::pair<int, std::size_t>>& copying);

    const FusionGraph& graph_;
    Groups& groups_;
};

// Where each part is stored, in strides and offsets. A whole comes before what lies in it.
std::vector<PlacedValue> lay_out(const std::unordered_map<const ir::Node*, Subview>& subviews, const Groups& groups,
                                 const FusionGraph& graph);

}  // namespace weft::schedule
