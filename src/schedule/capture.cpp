// schedule/capture.cpp: one walk over the pending graph. Markers vanish, computed nodes are memory, views of memory are memory.
#include "schedule/capture.h"

#include "core/checked.h"
#include "ir/build.h"
#include "ir/custom.h"

#include <weft/error.h>

#include <algorithm>
#include <unordered_map>

namespace weft::schedule {

using ir::Node;
using ir::Op;

// ---- views of memory -------------------------------------------------------------------------------------------------

StorageView view_of(const Node& buffer) {
    const auto& arg = buffer.as<ir::BufferArg>();
    return {{buffer.shape, arg.offset, arg.strides}, arg.storage, buffer.dtype};
}

NodeRef buffer_of(StorageView view) {
    return ir::buffer(std::move(view.storage), view.dtype, view.shape, view.offset, view.strides);
}

std::optional<StorageView> memory_of(const ir::NodeRef& node) {
    InlineVector<const ir::Node*, 6> views;
    const ir::Node* at = node.get();
    for (;;) {
        if (at->realized) at = at->realized.get();
        if (at->op == ir::Op::Buffer) break;
        const ir::OpKind kind = ir::info(at->op).kind;
        if (at->sources.empty() || (kind != ir::OpKind::Movement && kind != ir::OpKind::Marker)) return {};
        if (kind == ir::OpKind::Movement) views.push_back(at);
        else if (!ir::is_marker(at->op)) return {};
        at = at->sources[0].get();
    }
    StorageView view = view_of(*at);
    for (std::size_t i = views.size(); i-- > 0;)
        if (!ir::apply_view(*views[i], view)) return {};
    return view;
}

// ---- the walk --------------------------------------------------------------------------------------------------------

namespace {

void encode(std::pmr::vector<std::uint64_t>& key, const Dims& dims) {
    key.push_back(dims.size());
    key.insert(key.end(), dims.begin(), dims.end());
}

void encode(std::pmr::vector<std::uint64_t>& key, const ir::Arg& arg) {
    std::visit(
        [&](const auto& x) {
            using T = std::decay_t<decltype(x)>;
            if constexpr (std::is_same_v<T, ir::AxesArg>) encode(key, x.axes);
            else if constexpr (std::is_same_v<T, ir::BoxArg>) encode(key, x.starts);
            else if constexpr (std::is_same_v<T, ir::SkewArg>)
                key.insert(key.end(), {static_cast<std::uint64_t>(x.axis * 64 + x.window),
                                       static_cast<std::uint64_t>(x.stride), static_cast<std::uint64_t>(x.dilation)});
            else if constexpr (std::is_same_v<T, ir::ReduceArg>) {
                key.push_back(static_cast<std::uint64_t>(x.op));
                key.push_back(ir::bits_of(x.order));
                encode(key, x.axes);
            } else if constexpr (std::is_same_v<T, ir::IndexArg>)
                key.push_back(static_cast<std::uint64_t>(x.axis) * 256 + static_cast<std::uint64_t>(x.mode));
            else if constexpr (std::is_same_v<T, ir::CheckArg>) {
                key.insert(key.end(),
                           {static_cast<std::uint64_t>(x.low), static_cast<std::uint64_t>(x.high), x.what.size()});
                for (std::size_t i = 0; i < x.what.size(); i += 8) {
                    std::uint64_t word = 0;
                    std::memcpy(&word, x.what.data() + i, std::min<std::size_t>(8, x.what.size() - i));
                    key.push_back(word);
                }
            } else if constexpr (std::is_same_v<T, ir::PartArg>) key.push_back(static_cast<std::uint64_t>(x.index));
            else if constexpr (std::is_same_v<T, ir::FusedArg>) key.push_back(0xf5ed + x.windows + 2 * x.tf32);
            else if constexpr (std::is_same_v<T, ir::CustomArg>)
                key.push_back(reinterpret_cast<std::uintptr_t>(x.function.get()));
        },
        arg);
}

class Capturer {
public:
    Capturer(const Donatable& donatable, Captured& captured) : donatable_(donatable), captured_(captured) {}

    void run(std::span<const NodeRef> roots) {
        captured_.key.reserve(128);
        captured_.views.reserve(4);
        captured_.items.reserve(8);
        InlineVector<const Node*, 16> bases;
        bases.reserve(roots.size());
        captured_.roots.reserve(roots.size());
        for (const NodeRef& root : roots) bases.push_back(strip(*root));
        for (std::size_t i = 0; i < bases.size(); ++i) {
            visit(bases[i]);
            if (folds(*bases[i], captured_.roots[i])) continue;
            captured_.roots[i].views.clear();
            visit(bases[i] = &ir::unmarked(*roots[i]));
        }
        for (std::size_t i = 0; i < roots.size(); ++i) add_root(bases[i], i);
    }

    // Everything below a node that was visited.
    void keep(const Node& node) {
        if (node.mark != epoch_ || of(node).item < 0) return;
        const int top = of(node).item;
        captured_.key.push_back(0x4ee9'0000'0000 + static_cast<std::uint64_t>(top));
        InlineVector<int, 32> stack{top};
        while (!stack.empty()) {
            Captured::Item& item = captured_.items[stack[stack.size() - 1]];
            stack.pop_back();
            if (item.keep || !item.node) continue;
            item.keep = true;
            for (const int operand : item.operands) stack.push_back(operand);
        }
    }

private:
    // What a node resolved to: strided memory, or an item of the captured graph.
    struct Entry {
        int view = -1;
        int item = -1;
    };

    // A root that is a whole view of something to compute asks for that, and is a view of the memory afterwards.
    const Node* strip(const Node& root) {
        captured_.roots.emplace_back();
        std::vector<NodeRef>& views = captured_.roots.back().views;
        const Node* node = &ir::unmarked(root);
        const Node* base = node;
        std::vector<NodeRef> chain;
        while (!base->realized &&
               (base->op == Op::Reshape || base->op == Op::Permute || base->op == Op::Flip || base->op == Op::Expand)) {
            chain.insert(chain.begin(), NodeRef(base));
            base = &ir::unmarked(base->source());
        }
        if (chain.empty() || base->realized || base->sources.empty()) return node;
        // A sum can be written in the order that is asked for, and others may want it in that order too.
        const bool permutes =
            std::any_of(chain.begin(), chain.end(), [](const NodeRef& v) { return v->op == Op::Permute; });
        if (permutes && base->op == Op::Reduce) return node;
        ir::StridedView trial{base->shape, 0, row_major_strides(base->shape)};
        for (const NodeRef& view : chain)
            if (!ir::apply_view(*view, trial)) return node;
        views = std::move(chain);
        return base;
    }

    // Memory need not be dense: what strip() found for a computed base may not hold for a view of memory.
    bool folds(const Node& base, const RootValue& root) const {
        const Entry entry = entries_[base.slot];
        if (entry.view < 0) return true;
        if (root.views.empty()) return true;
        StorageView trial = captured_.views[entry.view];
        return std::all_of(root.views.begin(), root.views.end(),
                           [&](const NodeRef& view) { return ir::apply_view(*view, trial); });
    }

    void add_root(const Node* base, std::size_t r) {
        const Entry entry = entries_[base->slot];
        RootValue& root = captured_.roots[r];
        root.view = entry.view;
        if (entry.view >= 0) return;
        int& output = captured_.items[entry.item].output;
        if (output < 0) {
            output = static_cast<int>(captured_.outputs.size());
            captured_.outputs.push_back(base);
            captured_.output_items.push_back(entry.item);
            captured_.key.push_back(~std::uint64_t{0} - static_cast<std::uint64_t>(entry.item));
        }
        root.output = output;
    }

    void visit(const Node* root) {
        const auto push = [&](const Node* node) {
            if (node->mark == epoch_) return;
            node->mark = epoch_;
            stack_.push_back({node, node->in_memory() ? static_cast<std::uint32_t>(node->sources.size()) : 0});
        };
        push(root);
        while (!stack_.empty()) {
            auto& [node, next] = stack_.back();
            const std::size_t count = ir::is_marker(node->op) ? 1 : node->sources.size();
            if (next < count) {
                push(node->sources[next++].get());
            } else {
                const Entry entry = resolve(*node);
                node->slot = static_cast<std::uint32_t>(entries_.size());
                entries_.push_back(entry);
                stack_.pop_back();
            }
        }
    }

    Entry of(const NodeRef& node) const { return of(*node); }
    Entry of(const Node& node) const { return entries_[node.slot]; }

    Entry resolve(const Node& node) {
        if (node.realized) return memory(view_of(*node.realized));
        if (node.op == Op::Buffer) return memory(view_of(node));
        if (ir::is_marker(node.op)) return of(node.sources[0]);
        if (ir::is_movement(node.op) && node.op != Op::Insert) {
            if (const Entry source = of(node.sources[0]); source.view >= 0) {
                StorageView view = captured_.views[source.view];
                if (ir::apply_view(node, view)) return memory(std::move(view));
            }
        }
        if (node.op == Op::Contiguous)
            if (const Entry source = of(node.sources[0]);
                source.view >= 0 && ir::is_dense(captured_.views[source.view]))
                return source;
        return {-1, add_item(node)};
    }

    Entry memory(StorageView view) {
        captured_.views.push_back(std::move(view));
        leaf_item_.push_back(-1);
        return {static_cast<int>(captured_.views.size()) - 1, -1};
    }

    int item_of(const Entry& entry) {
        if (entry.item >= 0) return entry.item;
        int& item = leaf_item_[entry.view];
        if (item < 0) item = add_leaf(entry.view);
        return item;
    }

    // Leaves that share a storage have one number.
    std::uint32_t storage_number(const ir::Storage& storage) {
        if (storage.mark != epoch_) {
            storage.mark = epoch_;
            storage.slot = storages_++;
        }
        return storage.slot;
    }

    int add_leaf(int at) {
        const StorageView& view = captured_.views[at];
        const bool donatable = donatable_ && !view.storage->foreign && donatable_(*view.storage);
        std::pmr::vector<std::uint64_t>& key = captured_.key;
        key.push_back(0xbeef00 + static_cast<std::uint64_t>(view.dtype));
        key.push_back(storage_number(*view.storage));
        key.push_back(donatable);
        encode(key, view.shape);
        encode(key, view.strides);
        captured_.items.emplace_back().leaf = static_cast<int>(captured_.leaves.size());
        captured_.leaves.push_back({at, donatable});
        return static_cast<int>(captured_.items.size()) - 1;
    }

    int add_item(const Node& node) {
        Captured::Item item;
        item.node = &node;
        for (const NodeRef& source : node.sources) item.operands.push_back(item_of(of(source)));
        std::pmr::vector<std::uint64_t>& key = captured_.key;
        key.push_back(static_cast<std::uint64_t>(node.op) << 32 | static_cast<std::uint64_t>(node.dtype) << 16 |
                      node.sources.size());
        encode(key, node.shape);
        for (const int operand : item.operands) key.push_back(static_cast<std::uint64_t>(operand));
        if (node.op == Op::Const) {
            item.constant = static_cast<int>(captured_.constants.size());
            captured_.constants.push_back(node.as<ir::ConstArg>().value);
        } else if (node.op == Op::Var) {
            item.scalar = static_cast<int>(captured_.scalars.size());
            captured_.scalars.push_back(node.as<ir::VarArg>().value);
            captured_.scalar_nodes.push_back(&node);
        } else if (node.op == Op::Insert) {  // where a box starts is a constant like others: `x[i] = v` for many i
            item.constant = static_cast<int>(captured_.constants.size());
            for (const std::int64_t start : node.as<ir::BoxArg>().starts)
                captured_.constants.push_back(static_cast<Word>(start));
        } else {
            encode(key, node.arg);
        }
        captured_.items.push_back(std::move(item));
        return static_cast<int>(captured_.items.size()) - 1;
    }

    const Donatable& donatable_;
    Captured& captured_;
    const std::uint64_t epoch_ = ir::next_epoch();
    std::uint32_t storages_ = 0;
    InlineVector<Entry, 64> entries_;                                // by Node::slot
    InlineVector<int, 64> leaf_item_;                                // per view
    InlineVector<std::pair<const Node*, std::uint32_t>, 64> stack_;  // (node, next source)
};

}  // namespace

Captured capture(std::span<const NodeRef> roots, const Donatable& donatable, std::span<const NodeRef> keep,
                 std::pmr::memory_resource* memory) {
    Captured captured(memory);
    Capturer capturer(donatable, captured);
    capturer.run(roots);
    for (const NodeRef& node : keep) capturer.keep(*node);
    return captured;
}

CanonicalGraph canonical_graph(const Captured& captured, std::span<const int> run_time_constants) {
    CanonicalGraph graph;
    std::unordered_map<int, int> slot_of;
    for (std::size_t h = 0; h < run_time_constants.size(); ++h)
        slot_of.emplace(run_time_constants[h], static_cast<int>(captured.scalars.size() + h));
    for (const Captured::Item& item : captured.items) {
        if (item.leaf >= 0) {
            const StorageView& view = captured.leaf(item.leaf);
            graph.values.push_back(
                ir::graph().make(Op::Param, view.dtype, view.shape, {}, ir::SlotArg{item.leaf, view.strides}));
            continue;
        }
        const Node& node = *item.node;
        const auto scalar = item.constant >= 0 && node.op == Op::Const ? slot_of.find(item.constant) : slot_of.end();
        if (item.scalar >= 0 || scalar != slot_of.end()) {
            const int slot = item.scalar >= 0 ? item.scalar : scalar->second;
            graph.values.push_back(ir::graph().make(Op::ScalarParam, node.dtype, {}, {}, ir::SlotArg{slot, {}}));
            continue;
        }
        ir::Sources sources;
        for (const int operand : item.operands) {
            const int leaf = captured.items[operand].leaf;
            const bool as_is =
                node.op != Op::Custom || leaf < 0 || ir::is_dense(captured.leaf(leaf));  // C++ reads dense arrays
            sources.push_back(as_is ? graph.values[operand] : ir::contiguous(graph.values[operand]));
        }
        // A plan is for one device, whichever: its nodes do not say.
        if (sources.empty()) graph.values.push_back(ir::graph().make(node.op, node.dtype, node.shape, {}, node.arg));
        else graph.values.push_back(ir::with_sources(node, std::move(sources)));
    }
    for (const int item : captured.output_items) graph.outputs.push_back(graph.values[item]);
    return graph;
}

}  // namespace weft::schedule
