// tracing/traced_call.h: what jit keeps of a traced call: a plan, where its leaves come from, and what becomes of its
// results. It owns no memory but that of constants made inside the function, and no node: cells are held weakly and
// read at each call.
#pragma once

#include "pipeline/launch.h"
#include "tensor/cell.h"
#include "tensor/graph_mode.h"

#include <weft/tensor.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft::tracing {

// Memory without its address.
struct Layout {
    std::uint8_t device = kCpu;
    DType dtype = DType::F32;
    Shape shape;
    Dims strides;
    friend bool operator==(const Layout&, const Layout&) = default;
};

// What calls must have in common to be served by one traced call, besides the state of the cells.
struct Signature {
    std::vector<Layout> inputs;
    std::vector<int> same_as;   // per input: the first input with the same cell
    std::vector<Dims> in_base;  // per input: its strides in its base, which contiguous() and reshape() ask for
    GraphMode mode;
    bool observed = false;  // traced while a profile was taken: its kernels know their lines
    TargetRef target =
        nullptr;  // of the device that it computes on, known once it is traced; equal ones are one object
    friend bool operator==(const Signature&, const Signature&) = default;
};

// A cell that was there before the call, and that the function has looked at.
struct Watched {
    std::weak_ptr<Cell> cell;
    int grad_of = -1;  // it is the gradient of this watched cell, whichever cell that is then
    bool requires_grad = false, has_grad = false;
    std::weak_ptr<Cell> grad_view;  // a gradient that is a view of other memory must be the same one
    bool used = false;              // its value is bound to a leaf, or handed back
    Layout layout;                  // of the value, if used
};

struct TracedCall {
    // Memory of slot s (the inputs, then the watched cells) from this many elements on; -1: of a constant.
    struct MemoryRef {
        int slot = -1;
        std::int64_t offset = 0;
        ir::StorageRef constant;
    };
    struct Root {
        int value = -1;   // of the plan; -1: memory that is there already
        MemoryRef place;  // its offset counts from the value, or from the slot
        Layout layout;
    };
    struct Output {
        enum class Kind { Undefined, Fresh, Input, Cell, Same } kind = Kind::Undefined;
        int index = 0;  // of the root, input, watched cell, or earlier output
    };
    struct Write {
        int slot = 0, root = 0;
    };
    struct Gradient {
        int leaf = 0;              // the watched cell whose .grad is another one afterwards
        int root = -1;             // a new tensor with this value
        std::weak_ptr<Cell> cell;  // or this one; both missing: none
    };
    struct Kept {
        std::weak_ptr<Cell> cell;  // made inside the function, and kept by it
        int root = 0;
    };
    struct Redraw {
        std::uint64_t id = 0;
        int slot = 0;
        std::shared_ptr<const std::function<Word()>> draw;
    };

    Signature signature;
    std::vector<Watched> watched;
    std::uint8_t device = kCpu;                        // that it runs on
    std::shared_ptr<const pipeline::CachedPlan> plan;  // null: nothing to compute
    int observed = -1;                                 // what the observer of the trace calls its runs
    std::vector<MemoryRef> leaves;
    std::vector<Word> constants, scalars;
    std::vector<Redraw> redraws;  // in the order of the function's calls
    std::vector<Root> roots;
    std::vector<Output> outputs;
    std::vector<Write> writes;
    std::vector<Gradient> gradients;
    std::vector<Kept> kept;
    bool settled = true;  // false: the next call traces again, since the function set up state of its own
};

inline Layout layout_of(const schedule::StorageView& view) {
    return {view.storage ? view.storage->device : kCpu, view.dtype, view.shape, view.strides};
}

enum class Fit { Ready, Pending, Other, Dead };  // Other: another traced call may fit; Dead: this one never will again

// What a traced call is bound to in a later one.
struct Binding {
    std::vector<std::shared_ptr<Cell>> cells;  // by slot; alive until the call is done
    std::vector<pipeline::BufferBinding> slots;
    std::vector<std::shared_ptr<Cell>> pending;  // Fit::Pending: compute these first
};

// Whether the cells are as they were when it was traced. Throws ValueError if no traced call can serve this one.
// The caller holds the graph lock.
Fit fit(const TracedCall& call, std::span<const Tensor> inputs, std::span<const schedule::StorageView> memory,
        Binding& binding);

// Runs it and binds the results. If it throws, nothing has changed. The caller holds the run lock, is inside a run, and
// does not hold the graph lock.
std::vector<Tensor> replay(const TracedCall& call, std::span<const Tensor> inputs, const Binding& binding, bool redraw);

}  // namespace weft::tracing
