// tracing/jit.cpp: the traced function that a user holds: finds the traced call that fits a call, or traces it.
#include <weft/jit.h>

#include "cells/state.h"
#include "core/str.h"
#include "pipeline/observer.h"
#include "pipeline/pipeline.h"
#include "tracing/tracer.h"

#include <weft/error.h>

#include <algorithm>
#include <atomic>
#include <mutex>

namespace weft {

using tracing::Fit;
using tracing::layout_of;
using tracing::TracedCall;
using Memory = schedule::StorageView;

namespace {

constexpr std::size_t kMostTracedCalls = 16;
constexpr int kMostAttempts = 8;  // other threads may write between the look at a cell and the run

using TracedCalls = std::vector<std::shared_ptr<const TracedCall>>;

int first_with_cell(std::span<const Tensor> inputs, std::size_t i) {
    for (std::size_t j = 0; j < i; ++j)
        if (inputs[j].cell() == inputs[i].cell()) return static_cast<int>(j);
    return static_cast<int>(i);
}

// As strides_in_base() has them, which for most inputs needs no walk along their views: an array of its own counts as row-major, and in a
// base that is, a view's strides are those of its memory.
Dims strides_seen(const Tensor& input, const Memory& memory) {
    const std::lock_guard lock(ir::graph_lock());  // who compares several has it already
    const Cell& cell = *input.cell();
    if (!cell.view) return cell.shared ? memory.strides : row_major_strides(memory.shape);
    const std::optional<Memory> base = schedule::memory_of(current_node(*cell.view->base));
    if (base && base->strides == row_major_strides(base->shape)) return memory.strides;
    return strides_in_base(input).value_or(memory.strides);
}

tracing::Signature signature_of(std::span<const Tensor> inputs, std::span<const Memory> memory) {
    tracing::Signature result{
        .inputs = {}, .same_as = {}, .in_base = {}, .mode = graph_mode(), .observed = pipeline::observer() != nullptr};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        result.inputs.push_back(layout_of(memory[i]));
        result.same_as.push_back(first_with_cell(inputs, i));
        result.in_base.push_back(strides_seen(inputs[i], memory[i]));
    }
    return result;
}

// The same as comparing with signature_of(), without making one; and the device still has the target that the plan was made for.
bool matches(const TracedCall& call, std::span<const Tensor> inputs, std::span<const Memory> memory) {
    const tracing::Signature& signature = call.signature;
    if (signature.inputs.size() != inputs.size() || !(signature.mode == graph_mode())) return false;
    if (!signature.observed && pipeline::observer()) return false;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        const tracing::Layout& layout = signature.inputs[i];
        if (layout.device != memory[i].storage->device || layout.dtype != memory[i].dtype ||
            !(layout.shape == memory[i].shape) || !(layout.strides == memory[i].strides) ||
            signature.same_as[i] != first_with_cell(inputs, i) ||
            !(signature.in_base[i] == strides_seen(inputs[i], memory[i])))
            return false;
    }
    return signature.target == pipeline::target_of(call.device);
}

void check_inputs(std::span<const Tensor> inputs) {
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!inputs[i].defined()) throw ValueError(str("jit: input ", i, " is undefined"));
        if (grad_enabled() && inputs[i].requires_grad())
            throw ValueError(str("jit: input ", i,
                                 " requires a gradient, which does not pass through a function under jit; close "
                                 "over the tensor, or pass its detach()"));
    }
}

// A loop that writes between traced calls stays bounded, as between plain ones: each call computes what is pending.
void compute_outgoing() {
    {
        const std::lock_guard lock(ir::graph_lock());
        bool any = false;
        for (auto& [slot, entry] : cells::state().outbox())
            if (entry.thread == cells::this_thread()) {
                any = true;
                entry.interrupted = false;  // what is left afterwards, the function has written
            }
        if (!any) return;
    }
    cells::run({});
}

// The memory of the inputs, which are computed if they are not.
std::vector<Memory> memory_of_inputs(std::span<const Tensor> inputs) {
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
        std::vector<Memory> result;
        {
            const std::lock_guard lock(ir::graph_lock());
            for (const Tensor& input : inputs) {
                std::optional<Memory> memory = schedule::memory_of(current_node(*input.cell()));
                if (!memory) break;
                result.push_back(std::move(*memory));
            }
        }
        if (result.size() == inputs.size()) return result;
        cells::run(inputs);
    }
    throw ValueError("jit: an input is written by another thread all the time");
}

}  // namespace

struct Jit::State {
    const Function function;
    TracedCalls calls;  // most recently used first; under the graph lock
    std::atomic<std::int64_t> traces{0};

    explicit State(Function f) : function(std::move(f)) {}

    TracedCalls known() {
        const std::lock_guard lock(ir::graph_lock());
        return calls;
    }

    void forget(const std::shared_ptr<const TracedCall>& call) {
        const std::lock_guard lock(ir::graph_lock());
        std::erase(calls, call);
    }

    void use(const std::shared_ptr<const TracedCall>& call) {
        const std::lock_guard lock(ir::graph_lock());
        const auto found = std::find(calls.begin(), calls.end(), call);
        if (found != calls.end()) std::rotate(calls.begin(), found, found + 1);
    }

    // A tensor that the function keeps is new in every call of it. If that is all, the next call needs no trace of
    // its own.
    void add(const std::shared_ptr<TracedCall>& made) {
        const std::lock_guard lock(ir::graph_lock());
        bool again = false;
        std::erase_if(calls, [&](const std::shared_ptr<const TracedCall>& old) {
            if (!(old->signature == made->signature)) return false;
            again = again || old->kept.size() == made->kept.size();
            return !old->settled;
        });
        made->settled = made->settled && (made->kept.empty() || again);
        calls.insert(calls.begin(), made);
        if (calls.size() > kMostTracedCalls) calls.pop_back();
    }

    std::optional<std::vector<Tensor>> replay_known(std::span<const Tensor> inputs);
    std::vector<Tensor> trace(std::span<const Tensor> inputs);
};

// Replays the traced call that fits, if there is one.
std::optional<std::vector<Tensor>> Jit::State::replay_known(std::span<const Tensor> inputs) {
    const TracedCalls candidates = known();
    compute_outgoing();
    for (int attempt = 0; attempt < kMostAttempts; ++attempt) {
        const std::vector<Memory> memory = memory_of_inputs(inputs);
        std::vector<Tensor> pending;
        {
            const std::lock_guard queue(cells::run_lock());
            const cells::InsideRun inside;
            for (std::size_t i = 0; i < candidates.size() && pending.empty(); ++i) {
                const std::shared_ptr<const TracedCall>& call = candidates[i];
                std::unique_lock lock(ir::graph_lock());
                if (!call->settled || !matches(*call, inputs, memory)) continue;
                tracing::Binding binding;
                const Fit found = fit(*call, inputs, memory, binding);
                lock.unlock();
                if (found == Fit::Dead) forget(call);
                for (std::shared_ptr<Cell>& cell : binding.pending) pending.emplace_back(std::move(cell));
                if (found != Fit::Ready) continue;
                if (i > 0) use(call);
                return replay(*call, inputs, binding, true);
            }
        }
        if (pending.empty()) return {};
        cells::run(pending);
    }
    return {};
}

std::vector<Tensor> Jit::State::trace(std::span<const Tensor> inputs) {
    compute_outgoing();  // what is pending is no part of the traced call
    const std::vector<Memory> memory = memory_of_inputs(inputs);
    tracing::Tracer tracer(inputs, memory, signature_of(inputs, memory));
    ++traces;
    const std::shared_ptr<TracedCall> made = tracer.trace(function);
    try {
        const std::lock_guard queue(cells::run_lock());
        const cells::InsideRun inside;
        tracing::Binding binding;
        std::unique_lock lock(ir::graph_lock());
        const Fit found = fit(*made, inputs, memory, binding);
        lock.unlock();
        if (found != Fit::Ready)
            throw ValueError("jit: tensors that the function uses were changed by another thread while it was traced");
        std::vector<Tensor> result = replay(*made, inputs, binding, false);
        add(made);
        return result;
    } catch (...) {
        tracer.thaw();
        throw;
    }
}

Jit::Jit(Function function) : state_(std::make_shared<State>(std::move(function))) {
    if (!state_->function) throw ValueError("jit: there is no function to trace");
}

std::int64_t Jit::traces() const { return state_->traces; }

std::vector<Tensor> Jit::operator()(std::span<const Tensor> inputs) const {
    check_inputs(inputs);
    if (active_tracer) return state_->function(inputs);  // part of the function that is being traced
    if (cells::running())
        throw ValueError("jit: a function under jit is called while a run is under way on this thread");
    if (std::optional<std::vector<Tensor>> result = state_->replay_known(inputs)) return std::move(*result);
    return state_->trace(inputs);
}

}  // namespace weft
