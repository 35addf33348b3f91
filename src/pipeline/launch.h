// pipeline/launch.h: one run of a plan: takes all its memory, then launches its kernels in order. evaluate() and jit
// both end here.
#pragma once

#include "backend/device.h"
#include "pipeline/plan_cache.h"

#include <span>
#include <utility>
#include <vector>

namespace weft::pipeline {

class Observer;

// Memory that a leaf of a plan is bound to: where its first element lies. Shape and strides are the plan's.
struct BufferBinding {
    ir::StorageRef storage;
    std::int64_t offset = 0;
};

class Launch {
public:
    // Takes the memory; throws MemoryError, and ValueError for a leaf that only stands in for a value (see
    // tracing::Placeholder). The spans live as long as this.
    Launch(device::DeviceRuntime& device, const CachedPlan& plan, std::span<const BufferBinding> leaves,
           std::span<const Word> constants, std::span<const Word> scalars, int observed = -1);

    // The one takes the place of the other in the program. Where a device tells of a failed check later, it has its bytes, as if the run had
    // failed.
    void replace(const schedule::StorageView& value, const schedule::StorageView& before);

    // Throws IndexError of a Check, or Interrupted. `wait`: else a device may tell of a failed check later (DeviceRun::finish).
    void run(bool wait = true);
    schedule::StorageView view(int value) const;
    const BufferBinding& bound(int value) const;

private:
    class HostValues;

    BufferBinding take(const schedule::PlanValue& value) const;
    void* pointer(int value) const;
    bool writes_donated(const schedule::PlanStep& step) const;
    bool can_restore() const;
    void run_steps();
    void run_observed(Observer& observer);
    void load(const backend::Program& program, Observer& observer);
    void run_step(std::size_t s);
    void run_custom(const schedule::PlanStep& step);
    void run_kernel(const schedule::PlanStep& step, const Compiled& kernel);

    device::DeviceRuntime& device_;
    const CachedPlan& plan_;
    const std::span<const BufferBinding> leaves_;
    const std::span<const Word> constants_;
    const int observed_;                      // what an observer calls this run
    std::unique_ptr<device::DeviceRun> run_;  // null: kernels are launched at once
    ir::StorageRef arena_, scratch_;
    InlineVector<BufferBinding, 16> taken_;  // per value of the plan; empty for a leaf
    std::vector<std::pair<schedule::StorageView, schedule::StorageView>> replaced_;  // with what was there before
    bool committed_ = false;  // memory that was handed over has been written: from here on the run goes to its end
    InlineVector<Word, 16> scalars_;
    // Of the kernel that runs.
    InlineVector<void*, 32> pointers_;
    InlineVector<Word, 16> kernel_scalars_;
};

}  // namespace weft::pipeline
