// ir/origins.cpp: the tables, and the scopes of each thread.
#include "ir/origins.h"

#include <algorithm>
#include <mutex>
#include <utility>
#include <vector>

namespace weft::ir {

std::atomic<int> detail::origin_tables{0};

namespace {

std::vector<Origins*>& tables() {  // under the graph lock
    static std::vector<Origins*>& all = *new std::vector<Origins*>;
    return all;
}

constinit thread_local const OriginScope* innermost = nullptr;
std::atomic<CallLog*> current_log{nullptr};

}  // namespace

void Origins::start() {
    const std::lock_guard lock(graph_lock());
    if (std::exchange(started_, true)) return;
    of_.clear();
    tables().push_back(this);
    ++detail::origin_tables;
}

void Origins::stop() {
    const std::lock_guard lock(graph_lock());
    if (!std::exchange(started_, false)) return;
    std::erase(tables(), this);
    --detail::origin_tables;
    of_.clear();
}

void Origins::add(const Node& node, std::span<const OriginId> ids) {
    if (ids.empty() || !started_) return;
    OriginIds& known = of_[&node];
    for (const OriginId id : ids)
        if (std::find(known.begin(), known.end(), id) == known.end()) known.push_back(id);
}

std::span<const OriginId> Origins::of(const Node& node) const {
    const auto found = of_.find(&node);
    return found == of_.end() ? std::span<const OriginId>() : std::span(found->second.data(), found->second.size());
}

void note_made(const Node& node) {
    if (innermost) innermost->table_.add(node, {innermost->ids_.data(), innermost->ids_.size()});
}

void note_freed(const Node& node) {
    for (Origins* table : tables()) table->forget(node);
}

OriginScope::OriginScope(Origins& table, std::span<const OriginId> ids, bool follows)
    : table_(table), ids_(ids), follows_(follows), before_(innermost) {
    innermost = this;
}
OriginScope::~OriginScope() { innermost = before_; }

void OriginsOf::open(const Node& node) {
    CallLog* const calls = call_log();
    if (!node.in_graph() || (innermost ? !innermost->follows_ : !calls)) return;
    Origins& table = innermost ? innermost->table_ : calls->origins;
    const std::lock_guard lock(graph_lock());
    scope_.emplace(table, table.of(node), true);
}

void OriginsOf::hand(const Node& made) const {
    const std::lock_guard lock(graph_lock());
    scope_->table_.add(made, {scope_->ids_.data(), scope_->ids_.size()});
}

void set_call_log(CallLog* now) { current_log = now; }
CallLog* call_log() { return current_log.load(std::memory_order_acquire); }

void CallOrigin::open(std::string_view op) {
    CallLog* const now = call_log();
    if (!now || innermost) return;
    const OriginId id = now->origin_of_call(op);
    scope_.emplace(now->origins, std::span(&id, 1));
}

void BackwardOrigin::open(const Node& node) {
    CallLog* const now = call_log();
    if (!now) return;
    OriginIds ids;
    const std::lock_guard lock(graph_lock());
    for (const OriginId id : now->origins.of(node)) ids.push_back(id | kBackward);
    if (!ids.empty()) scope_.emplace(now->origins, std::span(ids.data(), ids.size()));
}

}  // namespace weft::ir
