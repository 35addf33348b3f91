// schedule/capture.h: turns the pending graph below some roots into a key with numbered leaves. In steady state this is all the
// schedule does: the key finds the plan, and the leaves and scalars found on the way are what the plan is bound to.
#pragma once

#include "ir/node.h"
#include "ir/strided.h"

#include <cstdint>
#include <functional>
#include <memory_resource>
#include <optional>
#include <span>
#include <vector>

namespace weft::schedule {

using ir::NodeRef;

// A strided view of a storage.
struct StorageView : ir::StridedView {
    ir::StorageRef storage;
    DType dtype = DType::F32;
};

StorageView view_of(const ir::Node& buffer);
NodeRef buffer_of(StorageView view);  // the Buffer node
// The memory of a value, if it is computed or a view of something computed. The caller holds the graph lock.
std::optional<StorageView> memory_of(const ir::NodeRef& node);

// How a root's value comes about: memory that exists already, or an output of the plan (seen through views).
struct RootValue {
    int view = -1;               // index into Captured::views
    int output = -1;             // index into Captured::outputs
    std::vector<NodeRef> views;  // movement nodes to apply to the output, innermost first
};

// Its lists are made anew for every run and live no longer, so they come from memory that the caller lends.
struct Captured {
    explicit Captured(std::pmr::memory_resource* memory) : memory(memory) {}

    std::pmr::memory_resource* memory;
    std::pmr::vector<std::uint64_t> key{memory};  // everything but constants, scalars, offsets and data
    std::pmr::vector<Word> constants{memory};     // values of Const nodes, in order of appearance
    std::pmr::vector<Word> scalars{memory};       // values of Var nodes, by ScalarParam slot
    std::pmr::vector<const ir::Node*> scalar_nodes{memory};
    std::pmr::vector<StorageView> views{memory};  // all memory that the graph reads, or that a root is
    struct Leaf {
        int view = -1;
        bool donatable = false;  // the storage may be taken over
    };
    std::pmr::vector<Leaf> leaves{memory};  // by Param slot
    const StorageView& leaf(int slot) const { return views[leaves[slot].view]; }
    std::pmr::vector<RootValue> roots{memory};
    std::pmr::vector<const ir::Node*> outputs{memory};  // the distinct nodes to compute

    // For building the canonical graph on a miss: nodes in topological order, with their operands' numbers.
    struct Item {
        const ir::Node* node = nullptr;  // the original node; null for a leaf
        int leaf = -1;                   // Param slot
        int constant = -1, scalar = -1;
        int output = -1;
        bool keep = false;  // a gradient may use it: if it is stored, it outlives the run
        InlineVector<int, 3> operands;
    };
    std::pmr::vector<Item> items{memory};
    std::pmr::vector<int> output_items{memory};
};

// May an output take this storage over? Empty: nothing may be.
using Donatable = std::function<bool(const ir::Storage&)>;

// `keep`: nodes of the graph; what is below them is kept if it is stored. The caller holds the graph lock, and the memory until the result
// is gone.
Captured capture(std::span<const NodeRef> roots, const Donatable& donatable, std::span<const NodeRef> keep = {},
                 std::pmr::memory_resource* memory = std::pmr::get_default_resource());

// The graph with leaves as Params, Vars as ScalarParams, and the `run_time_constants` as ScalarParams after those.
// `values[i]` is the node of items[i].
struct CanonicalGraph {
    std::vector<NodeRef> values;
    std::vector<NodeRef> outputs;
};
CanonicalGraph canonical_graph(const Captured& captured, std::span<const int> run_time_constants);

}  // namespace weft::schedule
