// schedule/groups.h: the groups of nodes that become kernels: what is known of each one and of its nodes, and the rules by which a group
// takes a node or another group.
//
// Groups have levels; a group only ever reads groups of lower levels. That is why no fusion can close a cycle, and why two groups of one
// level may always merge.
#pragma once

#include "ir/kernel_graph.h"
#include "schedule/fusion_graph.h"

#include <cstdint>
#include <string>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace weft::schedule {

inline constexpr int kMaxNodes = 480;              // per kernel; the design's limit is 512 expression nodes
inline constexpr int kMaxParams = 28;              // … to be read; with what is stored there are at most 32 buffers
inline constexpr int kMaxReduces = 7;              // … and 8 loop nests
inline constexpr std::int64_t kLaunch = 24 << 10;  // what a kernel costs beside its work, in elements copied
inline constexpr int kCheapPrologue = 6;  // per element, in additions: more expensive operands are stored first

struct Group {
    ir::KernelGraph::Kind kind = ir::KernelGraph::Kind::Rows;
    Shape rows, inner;
    std::int64_t row_count = 1, inner_count = 1;
    int level = 1;
    bool contraction = false;
    bool has_dependents = false;  // somebody reads a stored value: the level is fixed
    bool stores_full = false;     // a root is at full level: `inner` is fixed
    int nodes = 0, reduces = 0;
    int again = 0;  // values stored once more, as parts of arrays
    std::unordered_set<const ir::Node*> leaves;
    const ir::Node* anchor = nullptr;
    bool parts = false;  // no kernel: other groups store the parts of the anchor, each in its place
    ir::KernelGraph::Cut cut = ir::KernelGraph::Cut::None;
};

// What fuse() knows of a node.
struct NodeState {
    int group = -1;      // the group that computes this node; -1: free
    bool full = false;   // in a row group: one element per row and inner position
    int level = 0;       // the highest level this node's value depends on
    int nodes = 0;       // upper bound on the expression nodes of its free cone: views and constants are none
    int cost = 0;        // per element, of its free cone, in additions
    int leaves = 0;      // upper bound on buffers read by its free cone
    int tangles = 0;     // in its free cone: reshapes of axes that were moved before
    bool moved = false;  // … and whether axes were moved since the last of them
};

class Groups {
public:
    explicit Groups(const FusionGraph& graph) : graph_(graph), states_(graph.order.size()) {}

    // ---- nodes
    NodeState& state(const ir::Node& node) { return states_[position(node)]; }
    const NodeState& state(const ir::Node& node) const { return states_[position(node)]; }
    std::size_t position(const ir::Node& node) const;  // in the graph's order; nodes that were added follow it
    bool contains(const ir::Node& node) const;
    void add(const ir::Node& node);  // that is not in the graph: one more copy of a value

    // ---- groups
    int size() const { return static_cast<int>(groups_.size()); }
    Group& operator[](int id) { return groups_[id]; }  // of one that find() returns
    const Group& operator[](int id) const { return groups_[id]; }
    int find(int id) const;                 // the group that this one was merged into, or itself
    int home(const ir::Node& node) const;   // the group that computes the node; -1: it is free
    int level(const ir::Node& node) const;  // of everything below a free node, or of the group itself
    Group make(const ir::Node& anchor, ir::KernelGraph::Kind kind,
               ir::KernelGraph::Cut cut) const;       // not yet one of these
    Group& adopt(const ir::Node& node, Group group);  // … from now on, and the node's home
    Group& open(const ir::Node& node, ir::KernelGraph::Kind kind, ir::KernelGraph::Cut cut);
    void settle(Group& group, const ir::Node& node);
    void add_leaves(Group& group, const ir::Node& node);
    bool admits(int id, const ir::Node& node);
    bool enter(const ir::Node& node, int id, bool full);
    bool merge(int a, int b);

private:
    const FusionGraph& graph_;
    std::vector<NodeState> states_;
    std::unordered_map<const ir::Node*, std::size_t> added_;
    std::vector<Group> groups_;
    mutable std::vector<int> parent_;  // a union-find: lookups shorten its paths
};

// In a kernel of a single row every index is the row's: a scalar may be spread over few elements on the way to many. Only the widest
// values are stored; a kernel that wants one of the others computes it from the row's values.
inline bool is_narrow(const ir::Node& node, bool full, const Group& group) {
    return full && numel(node.shape) != group.row_count * group.inner_count;
}

// May row values of this group be used along trailing axes, all in one kernel? Then they are, from now on.
bool spread(Group& group, const ir::Node& expand);

inline bool takes_epilogues(const Group& group) {
    return group.kind == ir::KernelGraph::Kind::Rows || group.kind == ir::KernelGraph::Kind::Scan;
}

inline Shape squeezed(const Shape& shape) {
    Shape result;
    for (const std::int64_t size : shape)
        if (size != 1) result.push_back(size);
    return result;
}

// Does the node appear in the kernel's expressions? Views only change indices.
inline bool is_expression(const ir::Node& node) { return !ir::is_movement(node.op) || node.op == ir::Op::Insert; }

inline bool is_free_kind(const ir::Node& node) {
    return ir::is_elementwise(node.op) || node.op == ir::Op::Check || node.op == ir::Op::Gather ||
           node.op == ir::Op::Insert;
}

}  // namespace weft::schedule
