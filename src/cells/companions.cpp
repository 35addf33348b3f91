// cells/companions.cpp: most runs have none, and find that out from the list of pending cells alone. Otherwise one walk marks what the
// run computes, and one from each pending cell ends where it meets that.
#include "cells/companions.h"

#include "cells/state.h"
#include "ir/build.h"
#include "ir/custom.h"
#include "ir/walk.h"
#include "schedule/worth_storing.h"

#include <algorithm>

namespace weft::cells {
namespace {

using ir::Node;
using ir::Op;

constexpr std::size_t kMostNodes = 1000;     // of a tensor that is computed along
constexpr std::size_t kMostWalked = 10'000;  // in one run, looking for companions

std::size_t value_sources(const Node& node) { return ir::is_marker(node.op) ? 1 : node.sources.size(); }
bool may_raise(Op op) { return op == Op::Check || op == Op::Custom; }

// A view follows its base, which is listed itself if it is pending.
bool is_pending(const Cell& cell, std::uint64_t run) {
    return cell.run != run && cell.node && cell.made_in == 0 && !ir::unmarked(*cell.node).in_memory();
}

// A pending tensor and what it is made of, down to memory and to what the run computes.
struct Pending {
    Cell* cell;
    std::vector<const Node*> met;  // nodes of the run
    std::size_t nodes = 0;         // of its own
    bool raises = false;           // one of them may
    bool slices = false;           // one of them is a slice of what the run computes
    bool replaced = false;         // it reads memory that the run writes anew
};

class Finder {
public:
    Finder(std::span<const ir::NodeRef> roots, std::span<const ir::NodeRef> replaced, std::uint64_t run)
        : roots_(roots), replaced_(replaced) {
        for (Cell* cell = state().first_pending(); cell; cell = cell->next)
            if (is_pending(*cell, run)) pending_.push_back({.cell = cell});
    }

    Companions find() {
        if (pending_.empty()) return {};
        mark_run();
        for (Pending& pending : pending_) walk(pending);
        for (const Pending& pending : pending_)  // the cost rule has marks of its own
            if (pending.replaced || !pending.met.empty()) add(pending);
        return std::move(result_);
    }

private:
    void mark_run() {
        std::vector<const Node*> stack;
        const auto push = [&](const Node* node) {
            if (node->mark == run_ || node->in_memory()) return;
            node->mark = run_;
            stack.push_back(node);
        };
        for (const ir::NodeRef& before : replaced_)
            if (const ir::NodeRef buffer = stored_value(before)) buffer->as<ir::BufferArg>().storage->mark = run_;
        for (const ir::NodeRef& root : roots_) push(root.get());
        while (!stack.empty()) {
            const Node& node = *stack.back();
            stack.pop_back();
            for (std::size_t i = 0; i < value_sources(node); ++i) push(node.sources[i].get());
            const bool picks = node.op == Op::Shrink || node.op == Op::Gather;
            if (!picks) continue;
            const Node& source = ir::unmarked(node.source());
            if (source.in_memory()) continue;
            sliced_.push_back(&source);
            if (node.op == Op::Shrink) shrunk_.push_back(&source);
        }
    }

    bool is_of_run(const Node& node) const { return node.mark == run_ && !node.in_memory(); }

    void walk(Pending& pending) {
        const std::uint64_t own = ir::next_epoch();
        std::vector<const Node*> stack{pending.cell->node.get()};
        std::vector<const Node*>& met = pending.met;
        while (!stack.empty() && ++walked_ <= kMostWalked) {
            const Node& node = *stack.back();
            stack.pop_back();
            if (node.mark == own) continue;
            if (node.in_memory()) {
                const Node& buffer = node.realized ? *node.realized : node;
                pending.replaced |= buffer.as<ir::BufferArg>().storage->mark == run_;
                continue;
            }
            if (node.mark == run_) {
                const Node& value = ir::unmarked(node);
                if (std::find(met.begin(), met.end(), &value) == met.end()) met.push_back(&value);
                continue;
            }
            node.mark = own;
            pending.nodes += !ir::is_marker(node.op);
            pending.raises |= may_raise(node.op);
            pending.slices |= node.op == Op::Shrink && is_of_run(ir::unmarked(node.source()));
            for (std::size_t i = 0; i < value_sources(node); ++i) stack.push_back(node.sources[i].get());
        }
        pending.raises |= !stack.empty();  // who knows
    }

    void add(const Pending& pending) {
        const auto is_shared = [&](const Node* met) {
            return is_sliced(*met) || !schedule::worth_storing(*met).empty();
        };
        if (!pending.replaced && std::none_of(pending.met.begin(), pending.met.end(), is_shared)) return;
        const ir::NodeRef value = stripped(pending.cell->node);
        if (pending.cell->node->needs_grad && !gives_up_node(*pending.cell)) {
            for (const Node* met : pending.met) {
                store(*met);
                result_.histories.emplace_back(met);
            }
            return;
        }
        if (pending.raises || pending.nodes > kMostNodes) {  // it is computed when it is read
            for (const Node* met : pending.met) store(*met);
            return;
        }
        const auto is_root = [&](const Node* met) {
            return std::any_of(roots_.begin(), roots_.end(),
                               [&](const ir::NodeRef& root) { return root.get() == met; });
        };
        const bool on_roots = std::all_of(pending.met.begin(), pending.met.end(), is_root);
        if (pending.slices && on_roots && !pending.replaced) {
            std::int64_t held = 0;
            for (const Node* met : pending.met) held += ir::bytes_of(*met);
            return add_cell(pending, 2 * ir::bytes_of(*value) <= held ? result_.after : result_.rebuilt);
        }
        const std::vector<const Node*> stored = schedule::worth_storing(*value);
        const bool whole =
            std::any_of(stored.begin(), stored.end(), [&](const Node* node) { return is_of(*value, *node); });
        if (is_shrunk(*value) && !pending.replaced) return add_cell(pending, result_.first);
        if (whole || pending.replaced || is_sliced(*value)) return add_cell(pending, result_.cells);
        for (const Node* node : stored) result_.values.emplace_back(node);
        if (stored.empty()) return;
        add_cell(pending, result_.rebuilt);
    }

    static void add_cell(const Pending& pending, std::vector<std::shared_ptr<Cell>>& cells) {
        if (std::shared_ptr<Cell> cell = pending.cell->weak_from_this().lock()) cells.push_back(std::move(cell));
    }

    void store(const Node& met) {
        if (met.op == Op::Custom)
            for (std::size_t i = 0; i < met.as<ir::CustomArg>().function->results.size(); ++i)
                result_.values.push_back(ir::part(ir::NodeRef(&met), static_cast<int>(i)));
        else store_value(met);
    }

    void store_value(const Node& met) {
        for (const Node* node : schedule::worth_storing(met)) result_.values.emplace_back(node);
        if (is_sliced(met)) result_.values.emplace_back(&met);
    }

    // Does the run read a slice of the value, or of what it is a view of?
    bool is_shrunk(const Node& value) const {
        return std::any_of(shrunk_.begin(), shrunk_.end(), [&](const Node* node) { return is_of(value, *node); });
    }

    // Is `stored` the value, but for views and markers?
    static bool is_of(const Node& value, const Node& stored) {
        const Node* node = &value;
        while (node != &stored && (ir::is_marker(node->op) || (ir::is_movement(node->op) && node->op != Op::Insert)))
            node = node->sources[0].get();
        return node == &stored;
    }

    // Of a value that is read in parts, other parts will be read.
    bool is_sliced(const Node& node) const { return is_among(node, sliced_); }
    static bool is_among(const Node& node, const std::vector<const Node*>& nodes) {
        return std::find(nodes.begin(), nodes.end(), &node) != nodes.end();
    }

    const std::span<const ir::NodeRef> roots_, replaced_;
    const std::uint64_t run_ = ir::next_epoch();
    std::vector<Pending> pending_;
    std::vector<const Node*> sliced_, shrunk_;  // nodes of the run of which it reads parts, and those by a slice
    std::size_t walked_ = 0;
    Companions result_;
};

}  // namespace

bool others_pending(std::uint64_t run) {
    for (const Cell* cell = state().first_pending(); cell; cell = cell->next)
        if (is_pending(*cell, run)) return true;
    return false;
}

Companions find_companions(std::span<const ir::NodeRef> roots, std::span<const ir::NodeRef> replaced,
                           std::uint64_t run) {
    return Finder(roots, replaced, run).find();
}

std::vector<Tensor> worth_computing() {
    std::vector<Tensor> result;
    for (Cell* cell = state().first_pending(); cell; cell = cell->next) {
        if (!cell->node || cell->made_in != 0 || cell->outbox_slot != 0) continue;  // the outbox is computed anyway
        if (cell->node->needs_grad || stored_value(cell->node)) continue;
        const auto enter = [](const Node& node) { return !node.in_memory(); };
        const std::vector<const Node*> nodes = ir::topological_order(std::span(&cell->node, 1), enter);
        const auto raises = [](const Node* node) { return may_raise(node->op) && !node->in_memory(); };
        if (std::any_of(nodes.begin(), nodes.end(), raises)) continue;
        std::int64_t held = 0;
        for (const Node* node : nodes)
            if (node->in_memory()) held += ir::bytes_of(*node);
        if (ir::bytes_of(*cell->node) > held) continue;
        if (std::shared_ptr<Cell> alive = cell->weak_from_this().lock()) result.emplace_back(std::move(alive));
    }
    return result;
}

ir::NodeRef on_memory(const ir::NodeRef& node) {
    const auto enter = [](const Node& n) { return !n.realized; };
    std::vector<std::pair<const Node*, ir::NodeRef>> done;
    const std::vector<const Node*> order = ir::topological_order(std::span(&node, 1), enter);
    for (const Node* n : order) {  // `slot` is the place in the order
        if (n->realized) {
            done.emplace_back(n, n->realized);
            continue;
        }
        ir::Sources sources;
        bool same = true;
        for (const ir::NodeRef& source : n->sources) {
            sources.push_back(done[source->slot].second);
            same = same && sources[sources.size() - 1] == source;
        }
        done.emplace_back(n, same ? ir::NodeRef(n) : ir::with_sources(*n, std::move(sources)));
    }
    return done.back().second;
}

}  // namespace weft::cells
