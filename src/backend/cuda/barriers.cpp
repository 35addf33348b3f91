// backend/cuda/barriers.cpp: walks over the Thread loops of a block in their order, with the accesses that no barrier lies behind.
#include "backend/cuda/barriers.h"

#include "backend/linear.h"
#include "ir/symbolic.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <vector>

namespace weft::backend::cuda {
namespace {

using ir::Node;
using ir::Op;
using kernel::Body;
using kernel::Buffer;
using kernel::Loop;
using kernel::LoopKind;
using kernel::Stmt;

// The threads of a nest: one axis, or groups of an inner one.
struct Nest {
    const Loop* groups = nullptr;  // null: one axis
    const Loop* threads = nullptr;
};

Nest nest_of(const Loop& outer) {
    const Loop* const inner = outer.body.size() == 1 ? outer.body[0].loop() : nullptr;
    if (inner && inner->kind == LoopKind::Thread) return {&outer, inner};
    return {nullptr, &outer};
}

// Where threads access a buffer: at group * stride + a number below the stride, which may be the thread's own, modulo how many there are.
struct Access {
    int buffer = -1;
    bool store = false;
    std::int64_t stride = 0;   // between groups; 0: it is not known to keep to its group
    std::int64_t modulus = 0;  // the thread has the elements with its number modulo this; 0: it is not known to
    std::int64_t width = 0;    // threads of a group
};

Access access_of(int buffer, bool store, const Node& index, const Nest& nest) {
    Access result{buffer, store};
    result.width = nest.threads->extent();
    std::int64_t low = 0, high = 0, of_thread = 0, of_group = 0, divisor = 0;
    const Linear sum = linear(index);
    low = high = sum.constant;
    divisor = sum.constant;
    for (const auto& [atom, factor] : sum.terms) {
        if (nest.groups && atom == nest.groups->var.get()) {
            of_group = factor;
            continue;
        }
        const ir::Bounds bounds = ir::bounds(ir::NodeRef(atom));
        if (bounds.low < -(std::int64_t{1} << 40) || bounds.high > (std::int64_t{1} << 40)) return result;
        low += std::min(factor * bounds.low, factor * bounds.high);
        high += std::max(factor * bounds.low, factor * bounds.high);
        if (atom == nest.threads->var.get()) of_thread = factor;
        else if (ir::depends_on(ir::NodeRef(atom), nest.threads->id()) ||
                 (nest.groups && ir::depends_on(ir::NodeRef(atom), nest.groups->id())))
            return result;
        else divisor = std::gcd(divisor, factor);
    }
    if (low < 0) return result;
    if (nest.groups) {
        if (of_group <= high) return result;  // or the elements of groups overlap
        result.stride = of_group;
    } else {
        result.stride = -1;  // one group
    }
    if (of_thread == 1) result.modulus = divisor;  // 0: the thread's number is all
    else result.modulus = -1;
    return result;
}

// The least that two accesses of one buffer need between them.
Sync needed(const Access& a, const Access& b) {
    if (a.buffer != b.buffer || (!a.store && !b.store)) return Sync::None;
    if (a.stride == 0 || a.stride != b.stride) return Sync::Block;
    if (a.stride > 0 && a.width != b.width) return Sync::Block;  // groups of other threads
    const std::int64_t width = std::max(a.width, b.width);
    const auto own = [&](const Access& x) { return x.modulus == 0 || (x.modulus > 0 && x.modulus % width == 0); };
    if (own(a) && own(b)) return Sync::None;  // the same element: the same thread
    if (a.stride < 0 || width % kWarp) return Sync::Block;
    return width == kWarp ? Sync::Warp : Sync::Group;
}

class Walk {
public:
    Walk(const kernel::Kernel& kernel, Barriers& barriers, std::span<const SharedPlace> places)
        : kernel_(kernel), barriers_(barriers), places_(places) {
        find_stored(kernel.body);
    }

    void body(const Body& body) {
        for (const Stmt& stmt : body) {
            const Loop* const loop = stmt.loop();
            if (!loop) continue;
            if (loop->kind == LoopKind::Thread) threads(*loop);
            else if (loop->kind == LoopKind::Copy) recent_.clear();  // who copies waits before and after
            else around(*loop);
        }
    }

private:
    // The accesses at the end of an iteration come before those of the next one.
    void around(const Loop& loop) {
        const std::vector<Access> before = recent_;
        body(loop.body);
        body(loop.body);
        recent_.insert(recent_.end(), before.begin(), before.end());  // it may have no iterations
    }

    void threads(const Loop& loop) {
        const Nest nest = nest_of(loop);
        std::vector<Access> here;
        collect(nest.threads->body, nest, here);
        Sync sync = Sync::None;
        for (const Access& a : recent_)
            for (const Access& b : here) sync = std::max(sync, share_bytes(a, b) ? Sync::Block : needed(a, b));
        Sync& noted = barriers_[&loop];
        noted = std::max(noted, sync);
        if (noted == Sync::Block) recent_.clear();
        recent_.insert(recent_.end(), here.begin(), here.end());
    }

    // Different locals in the same place.
    bool share_bytes(const Access& a, const Access& b) const {
        return a.buffer != b.buffer && (a.store || b.store) &&
               places_[static_cast<std::size_t>(a.buffer)].meets(places_[static_cast<std::size_t>(b.buffer)]);
    }

    void collect(const Body& body, const Nest& nest, std::vector<Access>& accesses) {
        for (const Stmt& stmt : body) {
            if (const Loop* const loop = stmt.loop()) {
                if (loop->count) collect(*loop->count, nest, accesses);
                collect(loop->body, nest, accesses);
            } else if (const kernel::Store* const store = stmt.store()) {
                collect(*store->index, nest, accesses);
                collect(*store->value, nest, accesses);
                add(store->buffer, true, *store->index, nest, accesses);
            }
        }
    }

    void collect(const Node& root, const Nest& nest, std::vector<Access>& accesses) {
        std::vector<const Node*> pending{&root};
        std::set<const Node*> seen;
        while (!pending.empty()) {
            const Node* const node = pending.back();
            pending.pop_back();
            if (!seen.insert(node).second) continue;
            if (node->op == Op::Load) add(node->as<ir::LoadArg>().buffer, false, node->source(), nest, accesses);
            for (const ir::NodeRef& source : node->sources) pending.push_back(source.get());
        }
    }

    void add(int b, bool store, const Node& index, const Nest& nest, std::vector<Access>& accesses) {
        const Buffer& buffer = kernel_.buffers[static_cast<std::size_t>(b)];
        const bool own = buffer.role == Buffer::Role::Local && buffer.memory != Buffer::MemoryType::Shared;
        if (own || !stored_.contains(b)) return;  // of one thread, or only loaded
        const Access access = access_of(b, store, index, nest);
        const auto same = [&](const Access& other) {
            return other.buffer == b && other.store == store && other.stride == access.stride &&
                   other.modulus == access.modulus && other.width == access.width;
        };
        if (std::ranges::none_of(accesses, same)) accesses.push_back(access);
    }

    void find_stored(const Body& body) {
        for (const Stmt& stmt : body) {
            if (const Loop* const loop = stmt.loop()) find_stored(loop->body);
            else if (stmt.store()) stored_.insert(stmt.store()->buffer);
        }
    }

    const kernel::Kernel& kernel_;
    Barriers& barriers_;
    const std::span<const SharedPlace> places_;
    std::vector<Access> recent_;  // since the last barrier of the block
    std::set<int> stored_;
};

}  // namespace

Barriers barriers_of(const kernel::Kernel& kernel, const Loop& block, std::int64_t threads,
                     std::span<const SharedPlace> places) {
    Barriers barriers;
    Walk(kernel, barriers, places).body(block.body);
    if (threads <= kWarp)
        for (auto& [loop, sync] : barriers)
            if (sync == Sync::Block) sync = Sync::Warp;
    return barriers;
}

}  // namespace weft::backend::cuda
