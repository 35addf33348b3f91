// cells/state.cpp: the list of pending cells, the outbox, the leaves; what becomes of a cell when it is destroyed, and of all this in
// a forked child.
#include "cells/state.h"

#include "backend/device.h"
#include "cells/companions.h"
#include "core/leaf_mutex.h"
#include "device/pool.h"
#include "device/threads.h"
#include "ir/build.h"
#include "ir/custom.h"
#include "ir/walk.h"
#include "tensor/hooks.h"

#include <weft/error.h>

#include <pthread.h>

#include <algorithm>
#include <new>

namespace weft {
namespace {

using cells::state;

// ---- fork ------------------------------------------------------------------------------------------------------------
// A fork waits until nobody builds, runs, compiles or hands out work, and then for the leaf mutexes: every other lock of the library is
// only taken by somebody who holds one of these. Code and memory are the child's own copies. In the child the locks are made anew: a recursive mutex
// remembers its owner by a number that the child's thread does not have.

void before_fork() {
    if (!cells::running()) cells::run_lock().lock();  // a backend may start a compiler from inside a run
    ir::graph_lock().lock();
    device::lock_threads();
    lock_leaves();
}

void after_fork_in_parent() {
    unlock_leaves();
    device::unlock_threads();
    ir::graph_lock().unlock();
    if (!cells::running()) cells::run_lock().unlock();
}

void after_fork_in_child() {
    reset_leaves_in_child();
    device::reset_threads_in_child();
    new (&ir::graph_lock()) std::recursive_mutex;
    state().adopt_outbox();
    if (!cells::running()) new (&cells::run_lock()) std::mutex;
}

void watch_forks() {
    static const int registered = pthread_atfork(before_fork, after_fork_in_parent, after_fork_in_child);
    (void)registered;
}

}  // namespace

// ---- cells -----------------------------------------------------------------------------------------------------------

Cell::Cell() : made_in(active_tracer ? active_tracer->id : 0) { watch_forks(); }

Cell::~Cell() {
    const std::lock_guard lock(ir::graph_lock());
    state().unlist(*this);
    state().take_back(*this);
    if (id != 0) state().leaves.erase(id);
}

void check_available(Device device) { device::runtime_of(device.number()); }

ir::StorageRef new_storage(std::span<const std::byte> elements) {
    device::DeviceRuntime& runtime = device::runtime_of(default_device().number());
    ir::StorageRef storage = runtime.allocate(static_cast<std::int64_t>(elements.size()));
    runtime.write(*storage, 0, elements.data(), elements.size());
    return storage;
}
void list_cell(Cell& cell) { state().list(cell); }
void unlist_cell(Cell& cell) { state().unlist(cell); }

// ---- what is pending has bounds --------------------------------------------------------------------------------------

namespace {

// A loop that nobody reads is cut where it was cut before, so that the pieces have one plan: at the next value of that kind.
bool ends_long_history(const ir::Node& node) {
    if (node.needs_grad || node.depth < cells::kPendingDepth) return false;
    std::uint64_t kind = static_cast<std::uint64_t>(node.op) << 8 | static_cast<std::uint64_t>(node.dtype);
    for (const std::int64_t size : node.shape) kind = kind * 31 + static_cast<std::uint64_t>(size);
    if (kind != state().cut_at && node.depth < 2 * cells::kPendingDepth) return false;
    state().cut_at = kind;
    return true;
}

bool many_nodes() {
    const std::size_t nodes = ir::graph().live();
    state().fewest_nodes = std::min(state().fewest_nodes, nodes);
    return nodes >= state().fewest_nodes + cells::kPendingNodes;
}

bool many_bytes() {
    const std::int64_t bytes = device::bytes_in_use();
    state().bytes_after_run = std::min(state().bytes_after_run, bytes);
    return bytes >= state().bytes_after_run + cells::kPendingBytes;
}

}  // namespace

bool is_too_much(const ir::Node& newest) {
    if (cells::running() || active_tracer) return false;
    if (many_nodes() || many_bytes()) return true;
    return newest.depth >= cells::kPendingDepth && !current_write_group() && ends_long_history(newest);
}

void relieve(const Tensor& newest) {
    if (cells::running() || active_tracer) return;
    std::vector<Tensor> asked;
    {
        const std::lock_guard lock(ir::graph_lock());
        const ir::NodeRef& node = newest.cell()->node;
        if (many_nodes()) asked = {newest};
        else if (many_bytes()) asked = cells::worth_computing();
        else if (node && !current_write_group() && ends_long_history(*node)) asked = {newest};
        else return;
        state().fewest_nodes = ir::graph().live();  // also if the run fails: the next op shall not try again
        state().bytes_after_run = device::bytes_in_use();
    }
    try {
        cells::run(asked);
    } catch (const MemoryError&) {  // nobody has asked
    }
}

}  // namespace weft

namespace weft::cells {

// Never destroyed: tensors in static storage may outlive any order of destruction.
State& state() {
    static State& instance = *new State;
    return instance;
}

std::mutex& run_lock() {
    static std::mutex& lock = *new std::mutex;
    return lock;
}

namespace {

// When a thread ends, its entries are left to whoever runs next.
struct ThreadName {
    const std::uint64_t id = ir::fresh_id();
    ~ThreadName() {
        const std::lock_guard lock(ir::graph_lock());
        for (auto& [slot, entry] : state().outbox())
            if (entry.thread == id) entry.thread = 0;
    }
};

}  // namespace

std::uint64_t this_thread() {
    thread_local const ThreadName name;
    return name.id;
}

void State::list(Cell& cell) {
    if (cell.listed != Cell::Listed::No) return;
    cell.listed = cell.view ? Cell::Listed::View : Cell::Listed::Pending;
    List& list = cell.view ? views_ : pending_;
    cell.previous = list.last;
    cell.next = nullptr;
    (list.last ? list.last->next : list.first) = &cell;
    list.last = &cell;
}

void State::unlist(Cell& cell) {
    if (cell.listed == Cell::Listed::No) return;
    List& list = cell.listed == Cell::Listed::View ? views_ : pending_;
    cell.listed = Cell::Listed::No;
    (cell.previous ? cell.previous->next : list.first) = cell.next;
    (cell.next ? cell.next->previous : list.last) = cell.previous;
    cell.previous = cell.next = nullptr;
}

Outgoing& State::send(Cell& cell) {
    if (cell.outbox_slot == 0) cell.outbox_slot = ++next_slot_;
    Outgoing& entry = outbox_[cell.outbox_slot];
    entry.cell = &cell;
    entry.thread = this_thread();
    entry.interrupted = false;
    return entry;
}

void State::note_write(Cell& cell, ir::NodeRef before) {
    std::vector<Outgoing::Write>& writes = send(cell).writes;
    // A value that was written over and is part of nothing else is not kept, unless it is the last: a loop that only writes holds two.
    if (writes.size() > 1)
        if (const Outgoing::Write& last = writes.back(); !last.group && last.before && last.before->use_count() == 1)
            writes.pop_back();
    writes.push_back({std::move(before), current_write_group(), ++next_write_});
}

void put_value(Cell& cell, const ir::NodeRef& node) {
    cell.node = node;
    mark_written(cell);
    if (!cell.requires_grad && node->op != ir::Op::Buffer) state().list(cell);
}

void State::adopt_outbox() {
    const std::uint64_t here = this_thread();
    for (auto& [slot, entry] : outbox_)
        if (entry.thread != here) entry.thread = 0;
}

void State::take_back(Cell& cell) {
    if (cell.outbox_slot != 0) outbox_.erase(std::exchange(cell.outbox_slot, 0));
}

Outgoing* State::entry_of(const Cell& cell) { return cell.outbox_slot == 0 ? nullptr : &outbox_.at(cell.outbox_slot); }

// ---- values ----------------------------------------------------------------------------------------------------------

namespace {

const std::shared_ptr<const ir::GradRuleObject>& let_go_rule() {
    static const auto& rule =
        *new std::shared_ptr<const ir::GradRuleObject>(std::make_shared<ir::GradRuleObject>(ir::GradRuleObject{
            "let go", [](const auto&, const auto&) -> ir::Grads {
                throw GradError(
                    "backward(): an earlier backward() has let go of this part of the graph; to differentiate it a "
                    "second time, pass retain_graph = true to the first one");
            }}));
    return rule;
}

bool is_let_go(const ir::Node& node) {
    return node.op == ir::Op::WithGrad && node.as<ir::WithGradArg>().rule == let_go_rule();
}

}  // namespace

ir::NodeRef stripped(const ir::NodeRef& node) {
    const ir::Node* n = node.get();
    while (ir::is_marker(n->op)) n = n->sources[0].get();
    return ir::NodeRef(n);
}

ir::NodeRef stored_value(const ir::NodeRef& node) {
    const ir::Node& value = ir::unmarked(*node);
    if (value.realized) return value.realized;
    return value.op == ir::Op::Buffer ? ir::NodeRef(&value) : nullptr;
}

ir::NodeRef let_go(const ir::NodeRef& value) {
    if (is_let_go(*value)) return value;
    const ir::NodeRef input[] = {ir::leaf(0, ir::constant(DType::F32, Scalar(0.0)))};  // no cell has the id 0
    return ir::with_grad(value, input, let_go_rule());
}

ir::NodeRef let_go_history(const ir::NodeRef& history) { return let_go(ir::like(history, 0.0)); }

bool gives_up_node(const Cell& cell) { return cell.requires_grad || !cell.node->needs_grad || is_let_go(*cell.node); }

void bind(Cell& cell, const ir::NodeRef& computed) {
    if (!gives_up_node(cell)) return;  // its history is still wanted; stripped(node)->realized holds the value
    const ir::NodeRef buffer = kept_in_place(cell, computed);
    if (cell.requires_grad) {
        cell.node = ir::leaf(cell.id, buffer);
    } else if (is_let_go(*cell.node)) {
        cell.node = let_go(buffer);
        mark_written(cell);  // views still hold the history that this was to end
    } else {
        cell.node = buffer;
    }
    ++cell.binding;
    if (!cell.view) state().unlist(cell);
}

// What is made of constants alone is the same node in every graph, in cached plans too: there the buffer would stay as long as the plan. A
// short table that a pending graph reads in slices (a schedule of noise) may.
void remember(const ir::NodeRef& node, const ir::NodeRef& buffer, bool sliced) {
    constexpr std::int64_t kMostBytes = std::int64_t{64} << 10;
    if (node->op == ir::Op::Buffer) return;
    const bool table = sliced && ir::bytes_of(*node) <= kMostBytes;
    if (!table && ir::is_made_of_constants(*node)) return;
    node->realized = buffer;
    ir::graph().forget(*node);
}

void drop_stale_views() {
    static std::uint64_t seen = 0;
    if (std::exchange(seen, cells_written) == cells_written) return;
    for (Cell* cell = state().first_view(); cell; cell = cell->next)
        if (cell->view->version != cell->view->base->version) cell->node = nullptr;
}

}  // namespace weft::cells
