// cells/state.h: what the process knows about its tensors besides their values: which cells are pending, which belong to the
// next run (the outbox), and which cell collects a leaf's gradient. All guarded by the graph lock, except run_lock().
#pragma once

#include "ir/node.h"
#include "tensor/cell.h"

#include <weft/write_group.h>

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <span>
#include <unordered_map>
#include <vector>

namespace weft {

const std::shared_ptr<WriteGroup::Fate>& current_write_group();  // of this thread; null: none

}  // namespace weft

namespace weft::cells {

// A cell that the next run of its thread computes, whether or not anybody asks: it was written in place, it is a gradient or
// the root of a backward(), or its graph is being let go.
struct Outgoing {
    // One write since the cell was last computed. Undoing the writes from the last one on, each gives back what was before it.
    struct Write {
        ir::NodeRef before;  // null: a leaf's gradient was made
        std::shared_ptr<WriteGroup::Fate> group;
        std::uint64_t number = 0;  // counts the writes of the process
    };
    Cell* cell = nullptr;      // alive: a cell that is destroyed takes its entry out
    std::uint64_t thread = 0;  // 0: the thread is gone, anybody may compute it
    bool interrupted = false;  // its run was interrupted: from now on it is computed only when asked for
    std::vector<Write> writes;
    std::weak_ptr<Cell> gradient_of;  // the leaf whose gradient this cell is since the first of the writes …
    Tensor gradient_before;           // … and the one before

    const ir::NodeRef* base() const { return writes.empty() || !writes[0].before ? nullptr : &writes[0].before; }
};

class State {
public:
    // Cells that are not yet computed, and views; oldest first.
    Cell* first_pending() const { return pending_.first; }
    Cell* first_view() const { return views_.first; }
    void list(Cell& cell);
    void unlist(Cell& cell);

    // Ordered by the time of entry, so that equal steps of a loop make equal plans.
    std::map<std::uint64_t, Outgoing>& outbox() { return outbox_; }
    Outgoing& send(Cell& cell);  // enters the cell, or finds its entry; it now belongs to this thread
    void note_write(Cell& cell, ir::NodeRef before);  // sends it; `before` as in Outgoing::Write
    void take_back(Cell& cell);
    void adopt_outbox();  // after a fork: the other threads are gone, and this one computes what they wrote
    Outgoing* entry_of(const Cell& cell);  // null: not in the outbox

    std::unordered_map<std::uint64_t, Cell*> leaves;  // by Cell::id
    std::vector<std::weak_ptr<Cell>>
        with_snapshot;  // a run lets go of the copies: what is recorded holds what it needs
    // How much is pending counts from here: the fewest nodes since the last run, and the bytes in use after it.
    std::size_t fewest_nodes = 0;
    std::int64_t bytes_after_run = 0;
    std::uint64_t cut_at = 0;  // what kind of value the last run of a long history ended with

private:
    struct List {
        Cell *first = nullptr, *last = nullptr;
    };
    List pending_, views_;
    std::map<std::uint64_t, Outgoing> outbox_;
    std::uint64_t next_slot_ = 0, next_write_ = 0;
};

// Undoes, or does again, what a write did to its cell. The caller keeps the list of writes.
void put_value(Cell& cell, const ir::NodeRef& node);
void undo_write(Cell& cell);  // the last one in its entry (cells/recover.cpp)

State& state();
std::mutex& run_lock();       // runs queue here; never taken while holding the graph lock
std::uint64_t this_thread();  // a number of its own for each thread, never 0

// Beyond these an op runs the graph by itself. New nodes, and the length of a history without gradients: as if its result had been read. A
// history with gradients ends with a backward pass and an optimiser's step, which are better planned whole. Bytes taken since the last run:
// what holds more memory than it takes is computed.
inline constexpr std::size_t kPendingNodes = 100'000;
inline constexpr std::int64_t kPendingBytes = std::int64_t{256} << 20;
inline constexpr std::uint32_t kPendingDepth = 1024;  // longer pieces cost more to plan, and run no faster

// ---- values ----------------------------------------------------------------------------------------------------------

ir::NodeRef stripped(const ir::NodeRef& node);  // without the markers around the value: Leaf, Detach, WithGrad
ir::NodeRef stored_value(
    const ir::NodeRef& node);  // the Buffer that holds the node's value; null if it is not computed

// A value whose history has been let go: it still needs a gradient, and asking for one raises.
ir::NodeRef let_go(const ir::NodeRef& value);

ir::NodeRef let_go_history(const ir::NodeRef& history);  // the same, of a history without a value: holds nothing of it

// Where a cell keeps a computed value: what is written to shared memory is copied there.
ir::NodeRef kept_in_place(const Cell& cell, const ir::NodeRef& buffer);
void drop_snapshots();
bool can_write_memory(Cell& cell);  // one that reads_shared(): whether each element has an address of its own
void write_memory(const Tensor& target,
                  const ir::NodeRef& value);  // runs, and stores the value there; takes both locks

// Gives a cell the buffer that holds its value now, in the form that its role asks for.
void bind(Cell& cell, const ir::NodeRef& buffer);
bool gives_up_node(const Cell& cell);  // whether bind() will replace the cell's node

// Consumers already built use the value; an equal expression built later is computed anew.
void remember(const ir::NodeRef& node, const ir::NodeRef& buffer, bool sliced = false);

// A view of a cell that was written since holds an old value, which nobody will ask for: it is derived anew when used. Until
// then it holds no memory.
void drop_stale_views();

// ---- running (cells/run.cpp) ---------------------------------------------------------------------------------------

// Computes these tensors and this thread's outbox in one run; returns the Buffers of the tensors. Takes both locks.
using Buffers = InlineVector<ir::NodeRef, 4>;
Buffers run(std::span<const Tensor> asked);
bool running();  // whether this thread is inside a run

// Says so, while one lives; the thread holds the run lock.
struct InsideRun {
    InsideRun();
    ~InsideRun();
    InsideRun(const InsideRun&) = delete;
    InsideRun& operator=(const InsideRun&) = delete;
};

// Finds the storages that no reference is left to once these references to nodes (one entry each) are dropped. Their
// Storage::donatable_in is then the number returned. The caller holds the graph lock.
std::uint64_t find_donatable_storages(std::span<const ir::Node* const> dropped);

}  // namespace weft::cells
