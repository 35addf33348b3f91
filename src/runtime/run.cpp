// runtime/run.cpp: one run: gathers the values asked for and the outbox, has them computed by evaluate(), and rebinds the cells.
// A transaction: until evaluate() has returned, no cell changes; if it throws, written cells go back to what they held before.
#include "runtime/evaluate.h"
#include "runtime/state.h"

#include "core/config.h"

#include <weft/error.h>

#include <unordered_set>

namespace weft::runtime {
namespace {

thread_local bool inside_run = false;

// One cell to compute. Cells may die or be written by other threads while kernels run, so they are held weakly.
struct Item {
    std::weak_ptr<Cell> cell;
    ir::NodeRef node;   // what the cell held at the start
    ir::NodeRef value;  // the same without markers: the root to compute
    bool written;       // from the outbox: goes back to its last value if the run fails
};

class Run {
public:
    explicit Run(std::span<const Tensor> asked) {
        const std::lock_guard lock(ir::graph_lock());
        drop_stale_views();
        for (const Tensor& tensor : asked) {
            add(*tensor.cell());
            asked_.push_back(stripped(current_node(*tensor.cell())));
            buffers_.emplace_back();
            keep_ = keep_ || current_node(*tensor.cell())->needs_grad;
        }
        std::vector<Cell*> outgoing;  // add() may take a cell out of the outbox
        for (const auto& [slot, entry] : state().outbox())
            if (is_ours(entry)) outgoing.push_back(entry.cell);
        for (Cell* cell : outgoing) add(*cell);
    }

    std::vector<ir::NodeRef> compute() {
        if (!items_.empty()) {
            Request request{.keep = keep_};
            for (const Item& item : items_) request.roots.push_back(item.value);
            if (config().donate) {
                auto dying = std::make_shared<const std::unordered_set<const ir::Storage*>>(dying_storages());
                request.dies = [dying](const ir::Storage& storage) { return dying->contains(&storage); };
            }
            try {
                const Result result = evaluate(request);
                succeed(result);
            } catch (...) {
                roll_back();
                throw;
            }
        }
        const std::lock_guard lock(ir::graph_lock());
        for (std::size_t i = 0; i < asked_.size(); ++i)
            if (!buffers_[i]) buffers_[i] = stored_value(asked_[i]);
        return std::move(buffers_);
    }

private:
    static bool is_ours(const Outgoing& entry) { return entry.thread == this_thread() || entry.thread == 0; }

    void add(Cell& cell) {
        if (!seen_.insert(&cell).second) return;
        const ir::NodeRef node = current_node(cell);
        if (const ir::NodeRef buffer = stored_value(node)) {
            bind(cell, buffer);
            state().take_back(cell);
            return;
        }
        const auto entry = state().outbox().find(cell.outbox_slot);
        const bool written = entry != state().outbox().end() && is_ours(entry->second);
        std::weak_ptr<Cell> weak = cell.weak_from_this();
        if (!weak.expired()) items_.push_back({std::move(weak), node, stripped(node), written});
    }

    std::unordered_set<const ir::Storage*> dying_storages() const {
        const std::lock_guard lock(ir::graph_lock());
        DyingReferences dying;
        for (const Item& item : items_) {
            dying.nodes.push_back(item.node.get());
            dying.nodes.push_back(item.value.get());
            dying.nodes.push_back(item.value.get());  // the request's
            const std::shared_ptr<Cell> cell = item.cell.lock();
            if (!cell) continue;
            if (cell->node == item.node && gives_up_node(*cell)) dying.nodes.push_back(cell->node.get());
            const auto entry = state().outbox().find(cell->outbox_slot);
            if (entry != state().outbox().end() && entry->second.last) dying.nodes.push_back(entry->second.last.get());
        }
        for (const ir::NodeRef& value : asked_) dying.nodes.push_back(value.get());
        std::unordered_set<const ir::Storage*> result;
        for (const ir::Storage* storage : storages_that_die(dying)) result.insert(storage);
        for (const Item& item : items_) result.erase(viewed_storage(*item.value));
        return result;
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

    void succeed(const Result& result) {
        const std::lock_guard lock(ir::graph_lock());
        for (std::size_t i = 0; i < items_.size(); ++i) remember(items_[i].value, result.values[i]);
        for (const auto& [node, buffer] : result.kept) remember(node, buffer);
        for (std::size_t a = 0; a < asked_.size(); ++a)
            for (std::size_t i = 0; i < items_.size() && !buffers_[a]; ++i)
                if (items_[i].value == asked_[a]) buffers_[a] = result.values[i];
        for (std::size_t i = 0; i < items_.size(); ++i) {
            const std::shared_ptr<Cell> cell = items_[i].cell.lock();
            if (!cell) continue;
            if (cell->node == items_[i].node) {
                bind(*cell, result.values[i]);
                state().take_back(*cell);
            } else if (const auto entry = state().outbox().find(cell->outbox_slot); entry != state().outbox().end()) {
                // Written again meanwhile, by another thread: this is what it goes back to if that write fails.
                if (entry->second.last) entry->second.last = result.values[i];
            }
        }
        drop_stale_views();
    }

    void roll_back() {
        const std::lock_guard lock(ir::graph_lock());
        for (const Item& item : items_) {
            const std::shared_ptr<Cell> cell = item.cell.lock();
            if (!cell || !item.written || cell->outbox_slot == 0) continue;
            const Outgoing entry = state().outbox().at(cell->outbox_slot);
            if (!(cell->node == item.node))
                continue;  // written again meanwhile, by another thread: its next run decides
            state().take_back(*cell);
            if (const std::shared_ptr<Cell> leaf = entry.gradient_of.lock(); leaf && leaf->grad.cell() == cell)
                leaf->grad = Tensor();
            if (!entry.last) continue;
            cell->node = entry.last;
            ++cell->version;
            if (cell->node->op != ir::Op::Buffer) state().list(*cell);
        }
    }

    std::vector<Item> items_;
    std::unordered_set<const Cell*> seen_;
    std::vector<ir::NodeRef> asked_;    // without markers
    std::vector<ir::NodeRef> buffers_;  // of these, as far as this run computes them
    bool keep_ = false;
};

}  // namespace

bool running() { return inside_run; }
InsideRun::InsideRun() { inside_run = true; }
InsideRun::~InsideRun() { inside_run = false; }

std::vector<ir::NodeRef> run(std::span<const Tensor> asked) {
    for (const Tensor& tensor : asked)
        if (!tensor.defined()) throw ValueError("an undefined tensor has no value");
    if (capturing) {
        if (asked.empty())
            return {};  // an optimiser's step: what is pending is computed at the end of the captured call
        throw ValueError(
            "jit: a value is read inside the captured function (item(), realize(), bool, printing …), where it is "
            "not known; return the tensor and read it outside");
    }
    if (inside_run)
        throw ValueError("a tensor is read while a run is under way on this thread: its value is not there yet");
    const std::lock_guard queue(run_lock());
    const InsideRun inside;
    std::vector<ir::NodeRef> buffers = Run(asked).compute();
    const std::lock_guard lock(ir::graph_lock());
    state().fewest_nodes = ir::graph().live();
    return buffers;
}

}  // namespace weft::runtime

namespace weft {

void realize(std::span<const Tensor> tensors) { runtime::run(tensors); }

const Tensor& Tensor::realize() const {
    runtime::run(std::span<const Tensor>(this, 1));
    return *this;
}

}  // namespace weft
