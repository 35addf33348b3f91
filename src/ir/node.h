// ir/node.h: the one immutable, hash-consed node type, from the tensor graph to a kernel's scalar expressions.
// Equal nodes are the same pointer. The interner holds nodes weakly: dropping the last NodeRef frees a node, iteratively.
#pragma once

#include "ir/op.h"
#include "ir/storage.h"
#include "ir/sum_order.h"

#include <weft/shape.h>

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace weft::ir {

class Node;
class Interner;

// A counted reference to a node.
class NodeRef {
public:
    NodeRef() = default;
    NodeRef(std::nullptr_t) {}
    explicit NodeRef(const Node* node);  // takes a new reference
    NodeRef(const NodeRef& other);
    NodeRef(NodeRef&& other) noexcept : node_(std::exchange(other.node_, nullptr)) {}
    NodeRef& operator=(const NodeRef& other);
    NodeRef& operator=(NodeRef&& other) noexcept {
        std::swap(node_, other.node_);
        return *this;
    }
    ~NodeRef();
    static NodeRef adopt(const Node* node) {  // takes over a reference that is already counted
        NodeRef ref;
        ref.node_ = node;
        return ref;
    }

    const Node* get() const { return node_; }
    const Node* operator->() const { return node_; }
    const Node& operator*() const { return *node_; }
    explicit operator bool() const { return node_ != nullptr; }
    friend bool operator==(const NodeRef& a, const NodeRef& b) { return a.node_ == b.node_; }
    friend bool operator==(const NodeRef& a, std::nullptr_t) { return a.node_ == nullptr; }

private:
    const Node* node_ = nullptr;
};

using Sources = InlineVector<NodeRef, 3>;

// ---- arguments: one struct per kind of op; an op without one has std::monostate --------------------------------------

// clang-format off
struct ConstArg { Word value = 0; };                        // Const: the element, as a word of the node's dtype
// Var: a scalar that is no part of a plan's key (learning rate, Adam's step, random counter): a fresh id each, and the value
// it has now. A traced function (jit) calls `redraw`, where there is one, for the value of each later call.
struct VarArg { std::uint64_t id = 0; Word value = 0; std::shared_ptr<const std::function<Word()>> redraw; };
struct BufferArg { StorageRef storage; std::int64_t offset = 0; Dims strides; };  // Buffer: offset, strides in elements
struct AxesArg { Dims axes; };                              // Permute: out axis d is in axis axes[d]. Flip: flipped axes
struct BoxArg { Dims starts; };                             // Shrink, Insert: where the box starts. Pad: what goes before
struct SkewArg { int axis = 0, window = 0; std::int64_t stride = 1, dilation = 1; };  // Skew, Unskew
struct ReduceArg { Op op = Op::Add; Dims axes; SumOrder order; };  // Reduce (axes ascending, kept with size 1); Scan (one axis)
// Mul: a term of a sum of products, rounded with the addition; `windows`: of a convolution, whose axes do not lie densely in each other; `tf32`: of
// factors that are rounded to tf32 first (RoundTf32)
struct FusedArg { bool windows = false, tf32 = false; };
struct IndexArg { int axis = 0; Op mode = Op::Add; };       // Gather; Scatter (Add, Mul, Max, Min; Where means "set", last one wins)
struct CheckArg { std::int64_t low = 0, high = 0; std::string what; };  // Check: low <= value < high, else `what` is raised
struct LeafArg { std::uint64_t cell = 0; };                 // Leaf: the cell whose gradient is collected here
struct PartArg { int index = 0; };                          // Part: one result of a Custom. Contiguous, in a schedule: one of several
struct SlotArg { int slot = 0; Dims strides; };             // Param (strides in elements), ScalarParam
struct LoopArg { int id = 0; std::int64_t extent = 0; };    // LoopVar: 0 <= value < extent
struct LoadArg { int buffer = 0; };                         // Load: from a buffer or local of the kernel
struct RareArg {};                                          // Where, in a kernel: its condition hardly ever holds
struct TableArg { const float* entries = nullptr; };        // Lookup: kTableSize floats that outlive every kernel
// clang-format on

// Of a Lookup: as many as one vector register holds, so that looking up is one instruction (two and a choice with AVX2).
inline constexpr int kTableSize = 16;
inline Word look_up(const float* entries, Word index) { return to_word(entries[index % kTableSize]); }

// A derivative that a node brings along (WithGrad), and an op that is a C++ function (Custom): see ir/custom.h.
struct GradRuleObject;
struct CustomFunction;
// clang-format off
struct WithGradArg { std::shared_ptr<const GradRuleObject> rule; };
struct CustomArg { std::shared_ptr<const CustomFunction> function; };
// clang-format on

using Arg =
    std::variant<std::monostate, ConstArg, VarArg, BufferArg, AxesArg, BoxArg, SkewArg, ReduceArg, FusedArg, IndexArg,
                 CheckArg, LeafArg, PartArg, SlotArg, LoopArg, LoadArg, RareArg, TableArg, WithGradArg, CustomArg>;

bool equal(const Arg& a, const Arg& b);
std::uint64_t hash_of(const Arg& arg);
std::string to_string(const Arg& arg, DType dtype);

// ---- the node --------------------------------------------------------------------------------------------------------

class Node {
public:
    const Op op;
    const DType dtype;
    const Shape shape;  // empty for scalars and for every kernel expression
    const Sources sources;
    const Arg arg;
    const std::uint64_t hash;
    const std::uint8_t device;  // where it is computed (core/device.h); any: wherever it is used
    // Both follow from the above: a Leaf is reachable through floats without passing a Detach; ops on the longest way to memory.
    const bool needs_grad;
    const bool crosses;  // something below it, or it itself, was to be moved between devices when it was made
    const std::uint32_t depth;

    std::int64_t size(int axis) const { return shape[axis < 0 ? axis + shape.size() : axis]; }
    int rank() const { return static_cast<int>(shape.size()); }
    const Node& source(int i = 0) const { return *sources[i]; }

    template <class T>
    const T& as() const {
        return std::get<T>(arg);
    }

    // The Buffer that holds this node's value once a run has computed it. Set by the runtime, under the graph lock.
    mutable NodeRef realized;
    // Scratch of the walk that holds the graph lock (or owns the interner): mark == epoch means "seen, at slot".
    mutable std::uint64_t mark = 0;
    mutable std::uint32_t slot = 0;

    bool in_memory() const { return realized || op == Op::Buffer; }
    bool in_graph() const;  // the tensor graph, not that of a compilation

    std::uint32_t use_count() const { return references_.load(std::memory_order_relaxed); }

private:
    friend class Interner;
    friend class NodeRef;
    Node(Op op, DType dtype, Shape&& shape, Sources&& sources, Arg&& arg, std::uint64_t hash, std::uint8_t device,
         Interner* home)
        : op(op),
          dtype(dtype),
          shape(std::move(shape)),
          sources(std::move(sources)),
          arg(std::move(arg)),
          hash(hash),
          device(device),
          needs_grad(derives_need()),
          crosses(derives_crossing()),
          depth(derives_depth()),
          home_(home) {}
    ~Node() = default;
    bool derives_need() const;
    bool derives_crossing() const;
    std::uint32_t derives_depth() const;
    static void destroy(const Node* node) noexcept;

    mutable std::atomic<std::uint32_t> references_{1};
    Interner* home_;
    Node* next_in_bucket_ = nullptr;
    mutable bool interned_ = true;  // a computed node leaves the interner: an equal expression is computed anew
    mutable bool is_out_ = false;   // nobody holds it but who is about to free it
};

// Makes nodes unique. The tensor graph has one (graph()), guarded by graph_lock(); every compilation has its own.
// Where an op on these is computed; any: all of them can be anywhere. Throws ValueError if they are on different devices.
std::uint8_t common_device(Op op, const Sources& sources);

class Interner {
public:
    explicit Interner(bool shared = false) : shared_(shared) { buckets_.resize(64); }
    ~Interner();
    Interner(const Interner&) = delete;
    Interner& operator=(const Interner&) = delete;

    // `device`: of a leaf, and of a ToDevice; others are where their sources are. Throws ValueError if those are on different devices.
    NodeRef make(Op op, DType dtype, Shape shape, Sources sources, Arg arg = {}, std::uint8_t device = kAnyDevice);
    void forget(const Node& node);  // later equal expressions become a node of their own
    std::size_t live() const { return live_; }

private:
    friend class Node;
    void unlink(const Node* node);
    void rehash();
    void* allocate();
    void take_out(const Node* node);                // which is about to be freed; under the lock
    bool keep(void* memory);                        // of a node, for a later one; false: there is enough
    void give_back(std::span<void* const> memory);  // of nodes of the tensor graph

    const bool shared_;
    std::vector<Node*> buckets_;
    // Nodes of a compilation are many and short-lived: they come from blocks that go with the interner. The tensor graph's come from
    // the heap, since threads drop them at any time; some are kept, for a step makes as many as the one before.
    std::vector<std::unique_ptr<std::byte[]>> blocks_;
    std::size_t used_ = 0;   // of the last block, in nodes
    void* free_ = nullptr;   // a list, linked through the nodes' memory
    std::size_t kept_ = 0;   // in it, of the tensor graph
    std::size_t count_ = 0;  // nodes in buckets
    std::size_t live_ = 0;   // nodes alive
};

Interner& graph();                   // the tensor graph's interner
std::recursive_mutex& graph_lock();  // guards it, cells, keys and walk marks
std::uint64_t next_epoch();          // a fresh value for Node::mark
std::uint64_t fresh_id();            // a fresh number for Var and Leaf
std::size_t live_nodes();            // of the tensor graph

inline NodeRef::NodeRef(const Node* node) : node_(node) {
    if (node_) node_->references_.fetch_add(1, std::memory_order_relaxed);
}
inline NodeRef::NodeRef(const NodeRef& other) : NodeRef(other.node_) {}
inline NodeRef& NodeRef::operator=(const NodeRef& other) {
    NodeRef copy(other);
    std::swap(node_, copy.node_);
    return *this;
}
inline NodeRef::~NodeRef() {
    if (node_ && node_->references_.fetch_sub(1, std::memory_order_acq_rel) == 1) Node::destroy(node_);
}

inline std::int64_t bytes_of(const Node& node) {
    return numel(node.shape) * static_cast<std::int64_t>(size_of(node.dtype));
}

// What a node is without the markers around it, or the first of them that is in memory itself.
inline const Node& unmarked(const Node& marked) {
    const Node* node = &marked;
    while (!node->realized && is_marker(node->op)) node = node->sources[0].get();
    return *node;
}

struct NodeHash {
    std::size_t operator()(const NodeRef& node) const { return std::hash<const Node*>()(node.get()); }
};

}  // namespace weft::ir
