// tensor/cell.h: the cell behind a Tensor handle. Values are immutable nodes; a cell is a box that holds one and is rebound.
// Everything here is guarded by the graph lock; the functions take it themselves.
#pragma once

#include "ir/node.h"

#include <weft/tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>

namespace weft {

using ReadView = std::function<ir::NodeRef(const ir::NodeRef& base)>;  // the view of a base value
using WriteView = std::function<ir::NodeRef(const ir::NodeRef& base, const ir::NodeRef& value)>;  // base, view replaced

// One link of a chain of views: x[0].t() has two, and shares the first with x[0].
struct ViewStep {
    std::shared_ptr<const ViewStep> before;
    ReadView read;
    WriteView write;
    bool detached = false;  // hands no gradient to the base, and writing through it records none there
    bool no_grad = false;   // detached because it was made under no_grad, not by detach(): it never has a history
    // A detached tensor that was written since has a history of its own: its value is the base's, its gradient flows to this node.
    mutable ir::NodeRef history;
    ~ViewStep();  // iterative: chains may be long
};

struct ViewOf {
    std::shared_ptr<Cell> base;  // never itself a view
    std::shared_ptr<const ViewStep> last;
    std::uint64_t version = 0, binding = 0;  // of the base, when the view was derived

    ir::NodeRef read(const ir::NodeRef& base_value) const;
    struct Written {
        ir::NodeRef base;      // the new value of the base
        ir::NodeRef detached;  // of the detached tensor on the way, with its history; null: there is none
    };
    Written write(const ir::NodeRef& base_value, const ir::NodeRef& value) const;
    const ViewStep* detached() const;  // the last such step; null: none
};

// A value with the history of another one: what PyTorch has where memory is shared and gradients are not.
ir::NodeRef keeping_history(const ir::NodeRef& value, const ir::NodeRef& history);
const ir::NodeRef& history_of(const ir::NodeRef& node);  // that it was made with; a node that was not is its own

struct CellHooks;
namespace cells {
struct Loan;
}

struct Cell : std::enable_shared_from_this<Cell> {
    ir::NodeRef
        node;  // the value: pending, a Buffer, or Leaf(id, value) if a gradient is collected here; null: a stale view
    std::uint64_t id = 0;        // fresh, given when it first becomes a leaf
    std::uint64_t version = 0;   // counts writes
    std::uint64_t binding = 0;   // counts new nodes for the same value: a run has computed it
    bool requires_grad = false;  // this cell is a leaf
    bool retains_grad = false;
    bool used =
        false;  // as an operand or a base: other cells may have been computed from this very one, not just from an equal node
    Tensor grad;
    std::unique_ptr<ViewOf> view;      // null for a cell of its own
    std::unique_ptr<CellHooks> hooks;  // on its gradient (tensor/hooks.h); null: none
    // Memory that another library may write at any time (weft/shared_memory.h): its Buffer, which the cell holds unless it has been
    // written and the value is not computed yet; null: none. And the copy that ops have used since the last run, of it or of a view of it.
    ir::NodeRef shared;
    ir::StorageRef snapshot;
    std::weak_ptr<cells::Loan> loan;  // of memory that is shared because it was lent
    // Bookkeeping of src/cells: the list of views or that of cells that are not yet computed, and the place in the outbox.
    enum class Listed : std::uint8_t { No, Pending, View };
    Cell *previous = nullptr, *next = nullptr;
    Listed listed = Listed::No;
    std::uint64_t outbox_slot = 0;  // 0: not in it
    std::uint64_t run = 0;          // the last run that looked at it, and its place there; -1: the value was in memory
    int item = -1;
    const std::uint64_t made_in;  // the ActiveTracer that it was made under, by id; 0: none

    Cell();
    ~Cell();
    Cell(const Cell&) = delete;
    Cell& operator=(const Cell&) = delete;
};

// Views that were derived before have an old value now. How often that has happened, in all cells; under the graph lock.
inline std::uint64_t cells_written = 0;
inline void mark_written(Cell& cell) {
    ++cell.version;
    ++cells_written;
}

// While jit traces a function, the function's thread sees stand-ins for the values of all cells that were there before.
class ActiveTracer {
public:
    const std::uint64_t id;
    virtual const ir::NodeRef* stand_in(Cell& cell) = 0;  // null: the cell's own node; the caller holds the graph lock
    // Of an input of the function, which is no view of anything here, but may be one of the caller's; null: it is no input.
    virtual const Dims* strides_of(const Cell& cell) const = 0;

protected:
    explicit ActiveTracer(std::uint64_t id) : id(id) {}
    ~ActiveTracer() = default;
};
extern constinit thread_local ActiveTracer* active_tracer;  // null: nothing is traced on this thread

// The node to compute with: a view whose base was written is derived anew; of shared memory it is a copy. Throws ValueError for an
// undefined tensor.
ir::NodeRef node_of(const Tensor& tensor);
ir::NodeRef node_under_lock(const Tensor& tensor);  // the same, of a defined one; the caller holds the graph lock
const ir::Node& facts_of(const Tensor& tensor);     // shape, dtype and device alone are true; under the graph lock
const ir::NodeRef& current_node(Cell& cell);        // the value itself; the caller holds the graph lock
bool reads_shared(const Cell& cell);  // whether that is shared memory, or a view of it; under the graph lock

// The result of an op that reads a few elements of x. Of shared memory they are read now, and the others are not copied.
Tensor make_selection(const Tensor& x, const std::function<ir::NodeRef(const ir::NodeRef& x)>& select);

// A tensor with a new cell for an op's result. Under NoGrad a result that would need a gradient is wrapped in Detach.
// May run the graph when very much is pending, so the caller does not hold the graph lock.
Tensor make_tensor(ir::NodeRef node);
Tensor make_number(ir::NodeRef node);  // the same of one that is on no device: it goes along with any operand

// Where a tensor's elements lie in its base (itself, if it is no view), whose own are taken to lie in row-major order: strides of its axes.
// None: not at regular distances.
std::optional<Dims> strides_in_base(const Tensor& x);

// A tensor that is a view of `base`: composed with base's own view, if it is one.
Tensor make_view(const Tensor& base, ReadView read, WriteView write, bool detached = false);

inline bool needs_grad(const ir::NodeRef& node) { return node->needs_grad; }

// Declared here for src/tensor, defined in src/cells, which alone knows the pool and the outbox.
ir::StorageRef new_storage(std::span<const std::byte> elements);  // a copy on the default device; throws MemoryError
ir::NodeRef snapshot_of(Cell& cell);  // the value of one that reads_shared(), copied; under the graph lock
void list_cell(Cell& cell);           // "this cell is a view or not yet computed"
void unlist_cell(Cell& cell);
bool inside_run();                         // whether this thread computes a graph just now
void relieve(const Tensor& newest);        // runs the graph if very much is pending
bool is_too_much(const ir::Node& newest);  // whether it would; under the graph lock

}  // namespace weft
