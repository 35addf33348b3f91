// ir/origins.h: where nodes came from, while somebody asks. Nodes are shared and plans are cached, so neither can hold it: it is a table beside
// the graph, which keys, caches and counters do not see. Origins are numbers; who makes the table knows what they stand for.
//
// While a scope with origins is open on a thread, each node that is made there (or was there already: equal expressions have all their
// origins) gets them. A rewrite hands a node's origins on to what it becomes.
#pragma once

#include "ir/node.h"

#include <atomic>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <unordered_map>

namespace weft::ir {

// The lowest bit says that it is a gradient's work.
using OriginId = std::uint32_t;
using OriginIds = InlineVector<OriginId, 2>;  // each once, in the order in which they came
inline constexpr OriginId kBackward = 1;

// Filled and read under the graph lock.
class Origins {
public:
    Origins() = default;
    ~Origins() { stop(); }
    Origins(const Origins&) = delete;
    Origins& operator=(const Origins&) = delete;

    void start();  // empty; nodes that are freed are forgotten
    void stop();
    void add(const Node& node, std::span<const OriginId> ids);
    std::span<const OriginId> of(const Node& node) const;
    void forget(const Node& node) { of_.erase(&node); }  // it is freed

private:
    bool started_ = false;
    std::unordered_map<const Node*, OriginIds> of_;
};

namespace detail {
extern std::atomic<int> origin_tables;  // that are started: 0 nearly always, and then nothing below costs anything
}
inline bool origins_are_kept() { return detail::origin_tables.load(std::memory_order_relaxed) > 0; }
void note_made(const Node& node);   // by the interner, with the graph lock
void note_freed(const Node& node);  // likewise

// Nodes that this thread makes while it lives have these origins in this table. `follows`: OriginsOf works inside.
class OriginScope {
public:
    OriginScope(Origins& table, std::span<const OriginId> ids, bool follows = false);
    ~OriginScope();
    OriginScope(const OriginScope&) = delete;
    OriginScope& operator=(const OriginScope&) = delete;

private:
    friend void note_made(const Node&);
    friend class OriginsOf;
    Origins& table_;
    OriginIds ids_;
    const bool follows_;
    const OriginScope* const before_;
};

// For a stage that makes one graph from another: while it lives, what is made came from what `node` came from. An op that does so for its own
// ends keeps its own origin.
class OriginsOf {
public:
    explicit OriginsOf(const Node& node) {
        if (origins_are_kept()) open(node);
    }
    void hand_to(const Node& made) const {  // also what was not made now
        if (scope_) hand(made);
    }

private:
    void open(const Node& node);
    void hand(const Node& made) const;
    std::optional<OriginScope> scope_;
};

// ---- calls of ops ----------------------------------------------------------------------------------------------------

// Who records where ops are called: gives the origin of this call. Called by the thread that calls the op, without a lock. Never destroyed:
// a call may be under way.
struct CallLog {
    virtual OriginId origin_of_call(std::string_view op) = 0;
    Origins origins;

protected:
    ~CallLog() = default;
};
void set_call_log(CallLog* log);  // null: nobody
CallLog* call_log();

// Opened by every op: what it makes came from this call, unless it is called by another op.
class CallOrigin {
public:
    explicit CallOrigin(std::string_view op) {
        if (origins_are_kept()) open(op);
    }

private:
    void open(std::string_view op);
    std::optional<OriginScope> scope_;
};

// Opened by the gradient of a node: what it makes is backward work of the node's calls.
class BackwardOrigin {
public:
    explicit BackwardOrigin(const Node& node) {
        if (origins_are_kept()) open(node);
    }

private:
    void open(const Node& node);
    std::optional<OriginScope> scope_;
};

}  // namespace weft::ir
