// cells/run.cpp: one run: gathers the values asked for and the outbox, has them computed by evaluate(), and rebinds the cells.
// A transaction: until evaluate() has returned, no cell changes. If it throws, what did not need the value that failed is computed
// without it, and the other cells go back to what they held before (recover.h).
#include "cells/companions.h"
#include "cells/recover.h"
#include "cells/state.h"
#include "device/pool.h"
#include "pipeline/pipeline.h"

#include "pipeline/counters.h"

#include <weft/error.h>

#include <algorithm>
#include <optional>

namespace weft::cells {
namespace {

thread_local bool inside_run = false;

// One cell to compute. Cells may be destroyed or written by other threads while kernels run, so they are held weakly.
struct Item {
    std::weak_ptr<Cell> cell;
    ir::NodeRef node;  // what the cell held at the start; without markers it is the root to compute
    bool written;      // from the outbox: it may go back to its value before
};

// Holds the graph lock, except while kernels run.
class Run {
public:
    // `sliced`: a pending graph reads slices of what is asked for.
    explicit Run(std::span<const Tensor> asked, bool sliced = false) : sliced_(sliced) {
        drop_stale_views();
        drop_snapshots();
        request_.wait = !asked.empty();  // an optimiser's step
        asked_.reserve(asked.size());
        buffers_.reserve(asked.size());
        for (const Tensor& tensor : asked) {
            Cell& cell = *tensor.cell();
            add(cell);
            asked_.push_back(cell.item);
            buffers_.push_back(cell.item < 0 ? stored_value(current_node(cell)) : nullptr);
            if (cell.item >= 0 && current_node(cell)->needs_grad)
                request_.keep.push_back(request_.roots[static_cast<std::size_t>(cell.item)]);
        }
        InlineVector<Cell*, 16> outgoing;  // add() may take a cell out of the outbox
        for (const auto& [slot, entry] : state().outbox())
            if (is_ours(entry) && !entry.interrupted) outgoing.push_back(entry.cell);
        for (Cell* cell : outgoing) add(*cell);
    }

    // What is better computed by a run of its own: then a slice of it is memory, which has one plan for all starts.
    std::vector<Tensor> first() {
        std::vector<Tensor> tensors;
        if (items_.empty() || !others_pending(number_)) return tensors;
        found_ = find();
        for (std::shared_ptr<Cell>& cell : found_->first) tensors.emplace_back(std::move(cell));
        return tensors;
    }

    // What is left to compute afterwards.
    std::vector<Tensor> after() {
        std::vector<Tensor> tensors;
        for (std::shared_ptr<Cell>& cell : after_) tensors.emplace_back(std::move(cell));
        return tensors;
    }

    Buffers compute() {
        try {
            compute_items();
        } catch (const Interrupted&) {
            set_aside(written());
            throw;
        } catch (...) {
            keep_what_can_be();
            throw;
        }
        state().fewest_nodes = ir::graph().live();
        state().bytes_after_run = device::bytes_in_use();
        return std::move(buffers_);
    }

private:
    static bool is_ours(const Outgoing& entry) { return entry.thread == this_thread() || entry.thread == 0; }

    // Where there is too little memory for what is computed along, the run does without.
    void compute_items() {
        if (items_.empty()) return;
        const std::size_t asked = items_.size(), kept = request_.keep.size();
        if (!add_companions()) return evaluate_items();
        try {
            evaluate_items();
        } catch (const MemoryError&) {
            while (items_.size() > asked) items_.pop_back();
            request_.roots.resize(asked);
            request_.keep.resize(kept);
            rebuilt_.clear();
            after_.clear();
            evaluate_items();
        }
    }

    void evaluate_items() {
        request_.before.clear();
        request_.donatable = [walk = find_donatable()](const ir::Storage& storage) {
            return storage.donatable_in == walk;
        };
        if (!request_.wait) find_replaced();
        succeed(evaluate(request_, graph_));
    }

    // After find_donatable(), which counts references.
    void find_replaced() {
        for (const Item& item : items_) {
            const std::shared_ptr<Cell> cell = item.cell.lock();
            const Outgoing* const entry = cell ? state().entry_of(*cell) : nullptr;
            const ir::NodeRef* const base = entry ? entry->base() : nullptr;
            request_.before.push_back(base ? stored_value(*base) : nullptr);
            if (base && !request_.before.back()) request_.wait = true;  // it is not there to be brought back
        }
    }

    Companions find() const {
        std::vector<ir::NodeRef> replaced;
        for (const Item& item : items_)
            if (const std::shared_ptr<Cell> cell = item.cell.lock(); cell && item.written)
                if (const Outgoing* const entry = state().entry_of(*cell); entry && entry->base())
                    replaced.push_back(*entry->base());
        return find_companions(request_.roots, replaced, number_);
    }

    bool add_companions() {
        if (!found_ && !others_pending(number_)) return false;
        Companions found = found_ ? std::move(*found_) : find();
        found_.reset();
        for (const std::shared_ptr<Cell>& cell : found.first) add(*cell);
        for (const std::shared_ptr<Cell>& cell : found.cells) add(*cell);
        for (ir::NodeRef& value : found.values)
            if (std::find(request_.roots.begin(), request_.roots.end(), value) == request_.roots.end())
                request_.roots.push_back(std::move(value));
        for (ir::NodeRef& node : found.histories) request_.keep.push_back(std::move(node));
        rebuilt_ = std::move(found.rebuilt);
        rebuilt_.insert(rebuilt_.end(), found.after.begin(), found.after.end());
        after_ = std::move(found.after);
        pipeline::count(pipeline::counter_cells().values_kept,
                        static_cast<std::int64_t>(request_.roots.size() - items_.size()));
        return !found.first.empty() || !found.cells.empty() || request_.roots.size() > items_.size();
    }

    void add(Cell& cell) {
        if (cell.run == number_) return;
        cell.run = number_;
        cell.item = -1;
        const ir::NodeRef& node = current_node(cell);
        const bool stored = ir::unmarked(*node).in_memory();
        if (const ir::NodeRef buffer = stored ? stored_value(node) : viewed_memory(node)) {
            bind(cell, buffer);
            state().take_back(cell);
            return;
        }
        std::weak_ptr<Cell> weak = cell.weak_from_this();
        if (weak.expired()) return;
        const Outgoing* const entry = state().entry_of(cell);
        cell.item = static_cast<int>(items_.size());
        request_.roots.push_back(stripped(node));
        items_.push_back({std::move(weak), node, entry && is_ours(*entry)});
    }

    // A view of memory is memory, too: there is nothing to evaluate.
    ir::NodeRef viewed_memory(const ir::NodeRef& node) const {
        const ir::NodeRef buffer = pipeline::viewed_memory(node);
        if (buffer) remember(stripped(node), buffer, sliced_);
        return buffer;
    }

    std::uint64_t find_donatable() const {
        InlineVector<const ir::Node*, 32> dropped;
        for (const Item& item : items_) {
            dropped.push_back(item.node.get());
            const std::shared_ptr<Cell> cell = item.cell.lock();
            if (!cell) continue;
            if (cell->node == item.node && gives_up_node(*cell)) dropped.push_back(cell->node.get());
            const Outgoing* const entry = state().entry_of(*cell);
            if (!entry) continue;
            for (const Outgoing::Write& write : entry->writes)
                if (write.before) dropped.push_back(write.before.get());
        }
        for (const ir::NodeRef& root : request_.roots) dropped.push_back(root.get());
        const std::uint64_t walk = find_donatable_storages(dropped);
        for (const ir::NodeRef& root : request_.roots)
            if (const ir::Storage* storage = viewed_storage(*root)) storage->donatable_in = 0;
        return walk;
    }

    // A root that is a mere view of a buffer is handed back as such: then the memory lives on in the result.
    static const ir::Storage* viewed_storage(const ir::Node& root) {
        const ir::Node* node = &root;
        for (;;) {
            if (node->realized) node = node->realized.get();
            if (node->op == ir::Op::Buffer) return node->as<ir::BufferArg>().storage.get();
            const ir::OpKind kind = ir::info(node->op).kind;
            if ((kind != ir::OpKind::Movement && kind != ir::OpKind::Marker) || node->op == ir::Op::Insert)
                return nullptr;
            if (node->sources.empty()) return nullptr;
            node = node->sources[0].get();
        }
    }

    void succeed(const pipeline::Result& result) {
        for (std::size_t i = 0; i < result.values.size(); ++i) remember(request_.roots[i], result.values[i], sliced_);
        for (const auto& [node, buffer] : result.kept) remember(node, buffer);
        for (std::size_t i = 0; i < asked_.size(); ++i)
            if (asked_[i] >= 0) buffers_[i] = result.values[asked_[i]];
        for (std::size_t i = 0; i < items_.size(); ++i) {
            const std::shared_ptr<Cell> cell = items_[i].cell.lock();
            if (!cell) continue;
            Outgoing* const entry = state().entry_of(*cell);
            if (cell->node == items_[i].node) {
                if (gives_up_node(*cell)) bind(*cell, result.values[i]);
                else kept_in_place(*cell, result.values[i]);
                if (entry) keep_groups(entry->writes);
                state().take_back(*cell);
            } else if (entry) {
                written_meanwhile(*entry, items_[i].node, result.values[i]);
            }
        }
        for (const std::shared_ptr<Cell>& cell : rebuilt_)
            if (!cell->node->needs_grad && !stored_value(cell->node))
                cell->node = on_memory(cell->node), ++cell->binding;
        drop_stale_views();
    }

    static void keep_groups(std::span<const Outgoing::Write> writes) {
        for (const Outgoing::Write& write : writes)
            if (write.group) write.group->kept = true;
    }

    // By another thread: the value that was computed is what the cell goes back to if the later writes fail.
    static void written_meanwhile(Outgoing& entry, const ir::NodeRef& node, const ir::NodeRef& buffer) {
        auto& writes = entry.writes;
        auto first = std::ranges::find(writes, node, &Outgoing::Write::before);
        if (first == writes.end()) first = writes.begin();
        if (first == writes.end() || !first->before) return;
        keep_groups({writes.begin(), first});
        first->before = buffer;
        writes.erase(writes.begin(), first);
    }

    // The cells of the outbox that are as they were at the start; of others the next run decides.
    Cells written() const {
        Cells result;
        for (const Item& item : items_) {
            std::shared_ptr<Cell> cell = item.cell.lock();
            if (cell && item.written && cell->outbox_slot != 0 && cell->node == item.node)
                result.push_back(std::move(cell));
        }
        return result;
    }

    // After an interrupt nothing is lost, and nobody who did not ask waits for it again.
    static void set_aside(const Cells& cells) {
        for (const std::shared_ptr<Cell>& cell : cells)
            if (Outgoing* const entry = state().entry_of(*cell)) entry->interrupted = true;
    }

    void keep_what_can_be() {
        const Cells cells = written();
        asked_.clear();
        try {
            recover(cells, [this](std::span<const std::shared_ptr<Cell>> some) { return computes(some); });
        } catch (const Interrupted&) {  // Python sees its signal once more, after the error that this began with
            set_aside(cells);
        }
    }

    bool computes(std::span<const std::shared_ptr<Cell>> cells) {
        items_.clear();
        request_ = {};
        rebuilt_.clear();
        number_ = ir::next_epoch();
        for (const std::shared_ptr<Cell>& cell : cells) add(*cell);
        try {
            compute_items();
            return true;
        } catch (const Interrupted&) {
            throw;
        } catch (...) {
            return false;
        }
    }

    const bool sliced_;
    InlineVector<int, 4> asked_;               // their places among the items; -1: in memory already
    Buffers buffers_;                          // of these
    std::uint64_t number_ = ir::next_epoch();  // marks the cells that have been looked at
    InlineVector<Item, 4> items_;
    pipeline::Request request_;  // a root per item, then values that are stored for others
    Cells rebuilt_, after_;
    std::optional<Companions> found_;
    // The last member: what the run lets go of, it lets go of without the lock.
    std::unique_lock<std::recursive_mutex> graph_{ir::graph_lock()};
};

// Nobody has asked for these: what there is no memory for is computed when it is read.
void compute_along(std::span<const Tensor> tensors, bool sliced) {
    try {
        Run(tensors, sliced).compute();
    } catch (const MemoryError&) {}
}

}  // namespace

bool running() { return inside_run; }
InsideRun::InsideRun() { inside_run = true; }
InsideRun::~InsideRun() { inside_run = false; }

Buffers run(std::span<const Tensor> asked) {
    for (const Tensor& tensor : asked)
        if (!tensor.defined()) throw ValueError("an undefined tensor has no value");
    if (active_tracer) {
        if (asked.empty()) return {};  // an optimiser's step: what is pending is computed at the end of the traced call
        throw ValueError(
            "jit: a value is read inside the traced function (item(), realize(), bool, printing …), where it is "
            "not known; return the tensor and read it outside");
    }
    if (inside_run)
        throw ValueError("a tensor is read while a run is under way on this thread: its value is not there yet");
    const std::lock_guard queue(run_lock());
    const InsideRun inside;
    std::optional<Run> run(std::in_place, asked);
    if (const std::vector<Tensor> first = run->first(); !first.empty()) {
        run.reset();
        compute_along(first, true);
        run.emplace(asked);
    }
    Buffers result = run->compute();
    const std::vector<Tensor> after = run->after();
    run.reset();
    if (!after.empty()) compute_along(after, false);
    return result;
}

}  // namespace weft::cells

namespace weft {

bool inside_run() { return cells::running(); }

void realize(std::span<const Tensor> tensors) { cells::run(tensors); }

const Tensor& Tensor::realize() const {
    cells::run(std::span<const Tensor>(this, 1));
    return *this;
}

}  // namespace weft
