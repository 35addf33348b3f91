// runtime/run.cpp: one run: gathers the values asked for and the outbox, has
// them computed by evaluate(), and rebinds the cells. A transaction: until
// evaluate() has returned, no cell changes; if it throws, written cells go back
// to what they held before.
#include "runtime/evaluate.h"
#include "runtime/state.h"

#include "core/config.h"

#include <weft/error.h>

#include <unordered_set>

namespace weft::runtime {
namespace {

thread_local bool inside_run = false;

struct InsideRun {
    InsideRun() { inside_run = true; }
    ~InsideRun() { inside_run = false; }
};

// One cell to compute. Cells may die or be written by other threads while
// kernels run, so they are held weakly.
struct Item {
    std::weak_ptr<Cell> cell;
    ir::NodeRef node;   // what the cell held at the start
    ir::NodeRef value;  // the same without markers: the root to compute
    bool written;       // from the outbox: goes back to its last value if the run fails
};

// Depth first, so that a graph with data in it is known after a few steps.
bool is_made_of_constants(const ir::Node& root) {
    const std::uint64_t epoch = ir::next_epoch();
    std::vector<const ir::Node*> stack{&root};
    while (!stack.empty()) {
        const ir::Node* const node = stack.back();
        stack.pop_back();
        if (node->mark == epoch) continue;
        node->mark = epoch;
        if (node->op == ir::Op::Buffer || node->op == ir::Op::Var || node->op == ir::Op::Leaf ||
            node->op == ir::Op::Detach || node->op == ir::Op::WithGrad)
            return false;  // no plan has these
        for (const ir::NodeRef& source : node->sources) stack.push_back(source.get());
    }
    return true;
}

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
    // A view of a cell that was written since holds an old value, which nobody
    // will ask for: it is derived anew when used. Until then it holds no memory.
    static void drop_stale_views() {
        for (Cell* cell = state().first(); cell; cell = cell->next)
            if (cell->view && cell->view->version != cell->view->base->version) cell->node = nullptr;
    }

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

    // A root that is a mere view of a buffer is handed back as such: then the
    // memory lives on in the result.
    static const ir::Storage* viewed_storage(const ir::Node& root) {
        const ir::Node* node = &root;
        for (;;) {
            if (node->realized) node = node->realized.get();
            if (node->op == ir::Op::Buffer) return node->as<ir::BufferArg>().storage.get();
            const ir::OpKind kind = ir::info(node->op).kind;
            if (kind != ir::OpKind::Movement && kind != ir::OpKind::Marker) return nullptr;
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
                // Written again meanwhile, by another thread: this is what it goes back
                // to if that write fails.
                if (entry->second.last) entry->second.last = result.values[i];
            }
        }
        drop_stale_views();
    }

    // Consumers already built use the value; an equal expression built later is
    // computed anew. What is made of constants alone is the same node in every
    // graph, in cached plans too: there the buffer would stay for ever.
    static void remember(const ir::NodeRef& node, const ir::NodeRef& buffer) {
        if (node->op == ir::Op::Buffer || is_made_of_constants(*node)) return;
        node->realized = buffer;
        ir::graph().forget(*node);
    }

    void roll_back() {
        const std::lock_guard lock(ir::graph_lock());
        for (const Item& item : items_) {
            const std::shared_ptr<Cell> cell = item.cell.lock();
            if (!cell || !item.written || cell->outbox_slot == 0) continue;
            const Outgoing entry = state().outbox().at(cell->outbox_slot);
            if (!(cell->node == item.node))
                continue;  // written again meanwhile, by another thread: its next run
                           // decides
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

std::vector<ir::NodeRef> run(std::span<const Tensor> asked) {
    for (const Tensor& tensor : asked)
        if (!tensor.defined()) throw ValueError("an undefined tensor has no value");
    if (inside_run)
        throw ValueError(
            "a tensor is read while a run is under way on this "
            "thread: its value is not there yet");
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
