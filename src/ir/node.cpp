// ir/node.cpp: the interner: hash-consing, weak ownership, iterative freeing; and the arguments' equality and hash.
#include "ir/node.h"

#include "core/checked.h"
#include "core/str.h"
#include "ir/custom.h"
#include "ir/origins.h"

#include <weft/error.h>

#include <cstring>

namespace weft::ir {
namespace {

constexpr std::uint64_t mix(std::uint64_t a, std::uint64_t b) {
    std::uint64_t x = (a ^ (b + 0x9e3779b97f4a7c15 + (a << 6) + (a >> 2))) * 0xff51afd7ed558ccd;
    return x ^ (x >> 32);
}

std::uint64_t hash_dims(const Dims& dims) {
    std::uint64_t h = dims.size();
    for (const std::int64_t d : dims) h = mix(h, static_cast<std::uint64_t>(d));
    return h;
}

template <class... F>
struct Overloaded : F... {
    using F::operator()...;
};

std::uint64_t pointer_bits(const void* p) { return reinterpret_cast<std::uintptr_t>(p); }

// Memory of nodes that the tensor graph keeps for later ones.
#if defined(__SANITIZE_ADDRESS__)
constexpr std::size_t kMostKept = 0;  // it shall see who uses a node that is gone
#else
constexpr std::size_t kMostKept = 4096;
#endif

}  // namespace

bool equal(const Arg& a, const Arg& b) {
    if (a.index() != b.index()) return false;
    return std::visit(
        [&](const auto& x) {
            using T = std::decay_t<decltype(x)>;
            const T& y = std::get<T>(b);
            if constexpr (std::is_same_v<T, std::monostate> || std::is_same_v<T, RareArg>) return true;
            else if constexpr (std::is_same_v<T, FusedArg>) return x.windows == y.windows && x.tf32 == y.tf32;
            else if constexpr (std::is_same_v<T, ConstArg>) return x.value == y.value;
            else if constexpr (std::is_same_v<T, VarArg>) return x.id == y.id;
            else if constexpr (std::is_same_v<T, BufferArg>)
                return x.storage == y.storage && x.offset == y.offset && x.strides == y.strides;
            else if constexpr (std::is_same_v<T, AxesArg>) return x.axes == y.axes;
            else if constexpr (std::is_same_v<T, BoxArg>) return x.starts == y.starts;
            else if constexpr (std::is_same_v<T, SkewArg>)
                return x.axis == y.axis && x.window == y.window && x.stride == y.stride && x.dilation == y.dilation;
            else if constexpr (std::is_same_v<T, ReduceArg>)
                return x.op == y.op && x.axes == y.axes && x.order == y.order;
            else if constexpr (std::is_same_v<T, IndexArg>) return x.axis == y.axis && x.mode == y.mode;
            else if constexpr (std::is_same_v<T, CheckArg>)
                return x.low == y.low && x.high == y.high && x.what == y.what;
            else if constexpr (std::is_same_v<T, LeafArg>) return x.cell == y.cell;
            else if constexpr (std::is_same_v<T, PartArg>) return x.index == y.index;
            else if constexpr (std::is_same_v<T, SlotArg>) return x.slot == y.slot && x.strides == y.strides;
            else if constexpr (std::is_same_v<T, LoopArg>) return x.id == y.id && x.extent == y.extent;
            else if constexpr (std::is_same_v<T, LoadArg>) return x.buffer == y.buffer;
            else if constexpr (std::is_same_v<T, TableArg>) return x.entries == y.entries;
            else if constexpr (std::is_same_v<T, WithGradArg>) return x.rule == y.rule;
            else return x.function == y.function;
        },
        a);
}

std::uint64_t hash_of(const Arg& arg) {
    const std::uint64_t h =
        std::visit(Overloaded{
                       [](const std::monostate&) { return std::uint64_t{0}; },
                       [](const ConstArg& x) { return x.value; },
                       [](const VarArg& x) { return x.id; },
                       [](const BufferArg& x) {
                           return mix(mix(pointer_bits(x.storage.get()), static_cast<std::uint64_t>(x.offset)),
                                      hash_dims(x.strides));
                       },
                       [](const AxesArg& x) { return hash_dims(x.axes); },
                       [](const BoxArg& x) { return hash_dims(x.starts); },
                       [](const SkewArg& x) {
                           return mix(mix(x.axis * 64 + x.window, static_cast<std::uint64_t>(x.stride)),
                                      static_cast<std::uint64_t>(x.dilation));
                       },
                       [](const ReduceArg& x) {
                           return mix(mix(static_cast<std::uint64_t>(x.op), hash_dims(x.axes)), bits_of(x.order));
                       },
                       [](const IndexArg& x) {
                           return mix(static_cast<std::uint64_t>(x.axis), static_cast<std::uint64_t>(x.mode));
                       },
                       [](const CheckArg& x) {
                           return mix(mix(static_cast<std::uint64_t>(x.low), static_cast<std::uint64_t>(x.high)),
                                      std::hash<std::string>()(x.what));
                       },
                       [](const LeafArg& x) { return x.cell; },
                       [](const PartArg& x) { return static_cast<std::uint64_t>(x.index); },
                       [](const SlotArg& x) { return mix(static_cast<std::uint64_t>(x.slot), hash_dims(x.strides)); },
                       [](const LoopArg& x) {
                           return mix(static_cast<std::uint64_t>(x.id), static_cast<std::uint64_t>(x.extent));
                       },
                       [](const LoadArg& x) { return static_cast<std::uint64_t>(x.buffer); },
                       [](const RareArg&) { return std::uint64_t{1}; },
                       [](const FusedArg& x) { return std::uint64_t{2} + x.windows + 2 * x.tf32; },
                       [](const TableArg& x) { return pointer_bits(x.entries); },
                       [](const WithGradArg& x) { return pointer_bits(x.rule.get()); },
                       [](const CustomArg& x) { return pointer_bits(x.function.get()); },
                   },
                   arg);
    return mix(arg.index(), h);
}

std::string to_string(const Arg& arg, DType dtype) {
    return std::visit(
        Overloaded{
            [](const std::monostate&) { return std::string(); },
            [&](const ConstArg& x) { return word_to_string(dtype, x.value); },
            [](const VarArg& x) { return str("#", x.id); },
            [](const BufferArg& x) { return str("offset=", x.offset, " strides=", x.strides); },
            [](const AxesArg& x) { return str(x.axes); },
            [](const BoxArg& x) { return str("at ", x.starts); },
            [](const SkewArg& x) {
                return str("axis=", x.axis, " window=", x.window, " stride=", x.stride, " dilation=", x.dilation);
            },
            [](const ReduceArg& x) { return str(name_of(x.op), " ", x.axes, to_string(x.order)); },
            [](const IndexArg& x) { return str("axis=", x.axis, " ", x.mode == Op::Add ? "add" : "set"); },
            [](const CheckArg& x) { return str(x.low, " <= x < ", x.high); },
            [](const LeafArg& x) { return str("cell ", x.cell); },
            [](const PartArg& x) { return str(x.index); },
            [](const SlotArg& x) { return str("$", x.slot, x.strides.empty() ? "" : str(" strides=", x.strides)); },
            [](const LoopArg& x) { return str("i", x.id, " < ", x.extent); },
            [](const LoadArg& x) { return str("buffer ", x.buffer); },
            [](const RareArg&) { return std::string("rare"); },
            [](const FusedArg& x) { return std::string(x.tf32 ? "fused tf32" : "fused"); },
            [](const TableArg& x) { return str("table ", x.entries[0], ", ", x.entries[1], " …"); },
            [](const WithGradArg& x) { return x.rule->name; },
            [](const CustomArg& x) {
                const CustomFunction& function = *x.function;
                return function.parameters.empty() ? function.name : str(function.name, " ", function.parameters);
            },
        },
        arg);
}

// ---- interner --------------------------------------------------------------------------------------------------------

Interner::~Interner() = default;

std::uint8_t common_device(Op op, const Sources& sources) {
    std::uint8_t device = kAnyDevice;
    for (const NodeRef& source : sources) {
        if (source->device == device || source->device == kAnyDevice) continue;
        if (device != kAnyDevice)
            throw ValueError(str(name_of(op), ": one operand is on ", Device::of_number(device).name(),
                                 " and another on ", Device::of_number(source->device).name(),
                                 "; move one of them with to()"));
        device = source->device;
    }
    return device;
}

NodeRef Interner::make(Op op, DType dtype, Shape shape, Sources sources, Arg arg, std::uint8_t device) {
    if (!sources.empty() && op != Op::ToDevice) device = common_device(op, sources);
    if (!bytes_fit(shape))
        throw_too_large(
            str(name_of(op), " would have the shape ", shape, ", whose number of bytes does not fit 63 bits"));
    std::uint64_t h = mix(static_cast<std::uint64_t>(op) * 16 + static_cast<std::uint64_t>(dtype), hash_dims(shape));
    for (const NodeRef& source : sources) h = mix(h, pointer_bits(source.get()));
    h = mix(h, hash_of(arg) + device);

    std::unique_lock<std::recursive_mutex> lock;
    if (shared_) lock = std::unique_lock(graph_lock());
    for (Node* node = buckets_[h & (buckets_.size() - 1)]; node; node = node->next_in_bucket_) {
        if (node->hash != h || node->op != op || node->dtype != dtype || node->device != device ||
            !(node->shape == shape) || !(node->sources == sources) || !equal(node->arg, arg))
            continue;
        // A node whose count has reached zero is about to be freed by a thread that waits for the lock: leave it alone.
        std::uint32_t count = node->references_.load(std::memory_order_relaxed);
        while (count != 0)
            if (node->references_.compare_exchange_weak(count, count + 1)) {
                if (shared_ && origins_are_kept()) note_made(*node);
                return NodeRef::adopt(node);
            }
    }
    if (count_ >= buckets_.size()) rehash();
    Node* node =
        new (allocate()) Node(op, dtype, std::move(shape), std::move(sources), std::move(arg), h, device, this);
    Node*& bucket = buckets_[h & (buckets_.size() - 1)];
    node->next_in_bucket_ = bucket;
    bucket = node;
    ++count_;
    ++live_;
    if (shared_ && origins_are_kept()) note_made(*node);
    return NodeRef::adopt(node);
}

void* Interner::allocate() {
    constexpr std::size_t kNodesPerBlock = 128;
    if (free_) {
        void* const memory = free_;
        std::memcpy(&free_, memory, sizeof free_);
        kept_ -= shared_;
        return memory;
    }
    if (shared_) return ::operator new(sizeof(Node));
    if (blocks_.empty() || used_ == kNodesPerBlock) {
        blocks_.push_back(std::make_unique_for_overwrite<std::byte[]>(kNodesPerBlock * sizeof(Node)));
        used_ = 0;
    }
    return blocks_.back().get() + used_++ * sizeof(Node);
}

bool Interner::keep(void* memory) {
    if (shared_ && kept_ == kMostKept) return false;
    kept_ += shared_;
    std::memcpy(memory, &free_, sizeof free_);
    free_ = memory;
    return true;
}

void Interner::forget(const Node& node) {
    std::unique_lock<std::recursive_mutex> lock;
    if (shared_) lock = std::unique_lock(graph_lock());
    unlink(&node);
}

void Interner::unlink(const Node* node) {
    if (!node->interned_) return;
    Node** link = &buckets_[node->hash & (buckets_.size() - 1)];
    while (*link != node) link = &(*link)->next_in_bucket_;
    *link = node->next_in_bucket_;
    node->interned_ = false;
    --count_;
}

void Interner::rehash() {
    std::vector<Node*> old(2 * buckets_.size());
    old.swap(buckets_);
    for (Node* node : old) {
        while (node) {
            Node* next = node->next_in_bucket_;
            Node*& bucket = buckets_[node->hash & (buckets_.size() - 1)];
            node->next_in_bucket_ = bucket;
            bucket = node;
            node = next;
        }
    }
}

// A WithGrad differentiates through its inputs, not its value; a Custom's parts may be floats though its own dtype is not.
bool Node::derives_need() const {
    if (op == Op::Detach || (!is_float(dtype) && op != Op::Custom)) return false;
    if (op == Op::Leaf) return true;
    for (std::size_t i = op == Op::WithGrad ? 1 : 0; i < sources.size(); ++i)
        if (sources[i]->needs_grad) return true;
    return false;
}

bool Node::derives_crossing() const {
    if (op == Op::ToDevice) return true;
    for (const NodeRef& source : sources)
        if (source->crosses && !source->realized) return true;
    return false;
}

bool Node::in_graph() const { return home_->shared_; }

std::uint32_t Node::derives_depth() const {
    std::uint32_t deepest = 0;
    for (const NodeRef& source : sources)
        if (!source->realized) deepest = std::max(deepest, source->depth + 1);
    return deepest;
}

// The node, and what only it keeps alive: nobody else can find that now, so it need not ask for the lock when its turn comes.
void Interner::take_out(const Node* node) {
    InlineVector<const Node*, 32> stack{node};
    while (!stack.empty()) {
        const Node* const dead = stack.back();
        stack.pop_back();
        unlink(dead);
        dead->is_out_ = true;
        --live_;
        if (shared_ && origins_are_kept()) note_freed(*dead);
        const auto follow = [&](const NodeRef& held) {
            if (held && held->use_count() == 1 && held->home_ == this) stack.push_back(held.get());
        };
        for (const NodeRef& source : dead->sources) follow(source);
        follow(dead->realized);
    }
}

void Interner::give_back(std::span<void* const> memory) {
    if (memory.size() == 1) return ::operator delete(memory[0], sizeof(Node));  // not worth the lock
    const std::lock_guard lock(graph_lock());
    for (void* const each : memory)
        if (!keep(each)) ::operator delete(each, sizeof(Node));
}

// Frees a node and what only it kept alive, with an explicit list instead of recursion: deleting a node drops its sources,
// and a source that loses its last reference meanwhile comes back here, finds the list in use, and queues itself.
void Node::destroy(const Node* node) noexcept {
    using List = InlineVector<const Node*, 16>;
    constinit thread_local List* queue = nullptr;
    if (queue) {
        queue->push_back(node);
        return;
    }
    List list{node};
    InlineVector<void*, 32> memory;  // of the tensor graph
    queue = &list;
    while (!list.empty()) {
        const Node* dead = list.back();
        list.pop_back();
        Interner& home = *dead->home_;
        if (!dead->is_out_) {
            std::unique_lock<std::recursive_mutex> lock;
            if (home.shared_) lock = std::unique_lock(graph_lock());
            home.take_out(dead);
        }
        dead->~Node();
        if (home.shared_) memory.push_back(const_cast<Node*>(dead));
        else home.keep(const_cast<Node*>(dead));
    }
    queue = nullptr;
    if (!memory.empty()) graph().give_back(memory);
}

// The process's graph is never destroyed: tensors in static storage may outlive any order of destruction.
Interner& graph() {
    static Interner& interner = *new Interner(true);
    return interner;
}

std::recursive_mutex& graph_lock() {
    static std::recursive_mutex& lock = *new std::recursive_mutex;
    return lock;
}

std::uint64_t next_epoch() {
    static std::atomic<std::uint64_t> epoch{0};
    return ++epoch;
}

std::uint64_t fresh_id() {
    static std::atomic<std::uint64_t> id{0};
    return ++id;
}

std::size_t live_nodes() {
    const std::lock_guard lock(graph_lock());
    return graph().live();
}

}  // namespace weft::ir
