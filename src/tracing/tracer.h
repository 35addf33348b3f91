// tracing/tracer.h: traces one call of a function for jit. The function sees placeholders instead of values: of its
// inputs, and of every cell that was there before. So the graph it builds says by itself where each value comes from.
#pragma once

#include "tracing/traced_call.h"

#include <weft/jit.h>

#include <deque>
#include <unordered_map>

namespace weft::tracing {

// A storage without memory, in the place of a slot's (an input's, a watched cell's). A run that meets one refuses.
class Placeholder final : public ir::Storage {
public:
    Placeholder(int slot, std::size_t size, std::uint8_t on) : slot(slot) {
        device = on;
        bytes = size;
        foreign = placeholder = true;
    }
    const int slot;
};

class Tracer final : public ActiveTracer {
public:
    Tracer(std::span<const Tensor> inputs, std::span<const schedule::StorageView> memory, Signature signature);

    // Calls the function. Afterwards, also if it throws, every cell holds what it held before; the traced call is yet to
    // be replayed.
    std::shared_ptr<TracedCall> trace(const Jit::Function& function);

    // If that fails: tensors that the function made and kept get the value that they would have without jit.
    void thaw();

private:
    struct StandIn {
        std::shared_ptr<Cell> cell;
        ir::NodeRef before;  // what the cell held when it was first looked at
        ir::NodeRef node;    // what the function sees
        Layout layout;       // of the placeholder
        std::int64_t offset = 0;
        Tensor grad;
        bool requires_grad = false;
        int grad_of = -1;  // index of the stand-in whose gradient it is
    };

    const ir::NodeRef* stand_in(Cell& cell) override;
    const Dims* strides_of(const Cell& cell) const override;
    StandIn& find(Cell& cell);
    ir::NodeRef placeholder(int slot, const Layout& layout, std::int64_t& offset) const;
    bool is_inside(const Cell& cell) const { return cell.made_in == id; }
    bool is_written(const Cell& cell) const;  // by this thread, since the trace began
    int input_of(const Cell& cell) const;     // -1: it is no input
    int slot_of(int stand_in) const { return static_cast<int>(inputs_.size()) + stand_in; }

    // What the function did, in terms of cells …
    void collect(std::vector<Tensor>& outputs);
    TracedCall::Output collect_output(const Tensor& output, std::unordered_map<const Cell*, int>& seen);
    void collect_writes();
    void collect_gradients();
    void collect_kept();
    int add_root(Cell& cell);
    void undo();
    // … and in terms of memory.
    void plan_it(std::unique_lock<std::recursive_mutex>& graph);
    std::uint8_t common_device() const;  // of all that is to be computed
    void note_watched(const std::vector<bool>& used);
    TracedCall::MemoryRef place_of(const ir::StorageRef& storage, std::int64_t offset, std::vector<bool>& used) const;
    void compute_pending();

    std::vector<Tensor> inputs_;  // placeholders
    std::vector<schedule::StorageView> memory_;
    std::vector<std::int64_t> offsets_;
    std::deque<StandIn> stand_ins_;
    std::unordered_map<const Cell*, int> index_, gradients_of_;
    std::vector<ir::NodeRef> roots_;
    bool undone_ = false;
    std::shared_ptr<TracedCall> traced_ = std::make_shared<TracedCall>();
};

}  // namespace weft::tracing
