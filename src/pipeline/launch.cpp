// pipeline/launch.cpp: memory and kernels of one run. Whatever can fail for want of memory fails before the first
// kernel.
#include "pipeline/launch.h"

#include "core/interrupt.h"
#include "core/str.h"
#include "device/pool.h"
#include "device/threads.h"
#include "ir/custom.h"
#include "pipeline/counters.h"
#include "pipeline/profile.h"

#include <weft/error.h>

#include <algorithm>
#include <mutex>

namespace weft::pipeline {

using schedule::PlanStep;
using schedule::PlanValue;
using schedule::StorageView;

namespace {

void check_there(const Bound& leaf) {
    if (!leaf.storage->data && leaf.storage->bytes)
        throw ValueError("a tensor that a function writes while jit captures it, on another thread, has no value yet");
}

// The failed Check of the lowest chunk.
struct FirstFailure {
    std::mutex mutex;
    std::int64_t chunk = INT64_MAX;
    backend::CheckRecord record;

    void add(const backend::CheckRecord& failed, std::int64_t at) {
        const std::lock_guard lock(mutex);
        if (at < chunk) chunk = at, record = failed;
    }
    void raise(const Compiled& kernel) const {
        const ir::CheckArg& check = kernel.checks.at(record.code - 1);
        throw IndexError(str(check.what, "; got ", record.value));
    }
};

}  // namespace

Launch::Launch(const CachedPlan& plan, std::span<const Bound> leaves, std::span<const Word> constants,
               std::span<const Word> scalars)
    : plan_(plan), leaves_(leaves), constants_(constants), threads_(plan.target->threads), scalars_(scalars) {
    for (const Bound& leaf : leaves) check_there(leaf);
    if (plan.plan.arena_bytes) arena_ = device::allocate(static_cast<std::int64_t>(plan.plan.arena_bytes));
    taken_.reserve(plan.plan.values.size());
    for (const PlanValue& value : plan.plan.values) taken_.push_back(take(value));
    for (std::size_t v = 0; v < taken_.size(); ++v)
        if (const PlanValue& value = plan.plan.values[v]; value.where == PlanValue::Where::Inside)
            taken_[v] = {taken_[value.whole].storage, taken_[value.whole].offset + value.offset};
    scratch_stride_ = (plan.scratch_bytes + 64 + 63) / 64 * 64;
    if (plan.scratch_bytes) scratch_ = device::allocate(static_cast<std::int64_t>(scratch_stride_) * threads_);
    for (const int constant : plan.plan.run_time_constants) scalars_.push_back(constants[constant]);
    for (const Word literal : plan.plan.literals) scalars_.push_back(literal);
}

Bound Launch::take(const PlanValue& value) const {
    switch (value.where) {
        case PlanValue::Where::Leaf:
        case PlanValue::Where::Donated:
        case PlanValue::Where::Inside: return {};
        case PlanValue::Where::Output: return {device::allocate(value.bytes), 0};
        case PlanValue::Where::Arena:
            return {arena_ ? arena_ : device::allocate(0),
                    value.arena_offset / static_cast<std::int64_t>(size_of(value.dtype))};
    }
    __builtin_unreachable();
}

const Bound& Launch::bound(int value) const {
    const int leaf = plan_.plan.values[value].leaf;
    return leaf >= 0 ? leaves_[leaf] : taken_[value];
}

StorageView Launch::view(int value) const {
    const PlanValue& info = plan_.plan.values[value];
    return {{info.shape, bound(value).offset, info.strides}, bound(value).storage, info.dtype};
}

// Where the kernel's parameter starts: a reversed axis starts at its lowest address, a box inside its array.
void* Launch::pointer(int value) const {
    const PlanValue& info = plan_.plan.values[value];
    const Bound& base = bound(value);
    std::int64_t offset = base.offset;
    for (std::size_t d = 0; d < info.shape.size(); ++d)
        if (info.strides[d] < 0 && info.shape[d] > 0) offset += info.strides[d] * (info.shape[d] - 1);
    if (info.first_constant >= 0)
        for (std::size_t d = 0; d < info.shape.size(); ++d)
            offset += static_cast<std::int64_t>(constants_[info.first_constant + d]) * info.strides[d];
    return static_cast<std::byte*>(base.storage->data) + offset * static_cast<std::int64_t>(size_of(info.dtype));
}

void Launch::run() {
    for (std::size_t s = 0; s < plan_.plan.steps.size(); ++s) {
        const PlanStep& step = plan_.plan.steps[s];
        if (step.kernel.custom) run_custom(step);
        else run_kernel(step, *plan_.kernels[s]);
    }
}

void Launch::run_custom(const PlanStep& step) {
    const ir::Node& node = *step.kernel.custom;
    const std::string name = str("custom ", ir::to_string(node.arg, node.dtype));
    const KernelTimer timer(name, step, 1);
    std::vector<const void*> sources;
    std::vector<void*> results;
    for (std::size_t v = 0; v < step.values.size(); ++v)
        if (v < node.sources.size()) sources.push_back(pointer(step.values[v]));
        else results.push_back(pointer(step.values[v]));
    const auto for_each = [&](std::int64_t count, const std::function<void(std::int64_t)>& f) {
        const auto chunk = [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t i = begin; i < end; ++i) f(i);
        };
        device::run_chunks(count, chunk, chunk_options(count > 1));
    };
    node.as<ir::CustomArg>().function->run({node, sources, results, for_each});
    count(counter_cells().kernels_launched);
}

device::ChunkOptions Launch::chunk_options(bool parallel) const {
    return {.threads = threads_,
            .parallel = parallel,
            .keep_subnormals = plan_.target->numerics.keep_subnormals,
            .interruptible = !committed_};
}

bool Launch::writes_donated(const PlanStep& step) const {
    return std::any_of(step.values.begin(), step.values.end(),
                       [&](int value) { return plan_.plan.values[value].where == PlanValue::Where::Donated; });
}

void Launch::run_kernel(const PlanStep& step, const Compiled& kernel) {
    const KernelTimer timer(kernel.name, step, kernel.chunks);
    pointers_.clear();
    for (const int value : step.values) pointers_.push_back(pointer(value));
    kernel_scalars_.clear();
    for (const int slot : step.kernel.scalar_slots) kernel_scalars_.push_back(scalars_[slot]);
    FirstFailure failure;
    const auto chunk = [&](std::int64_t begin, std::int64_t end, int thread) {
        std::byte* scratch =
            scratch_ ? static_cast<std::byte*>(scratch_->data) + scratch_stride_ * static_cast<std::size_t>(thread)
                     : nullptr;
        backend::CheckRecord record{.stop = stop_wanted};
        kernel.program->run(pointers_.data(), kernel_scalars_.data(), begin, end, scratch, &record);
        throw_if_stopped();  // then it has ended early
        if (record.code) failure.add(record, begin);
    };
    committed_ = committed_ || writes_donated(step);
    device::run_chunks(kernel.chunks, chunk, chunk_options(kernel.chunks > 1));
    count(counter_cells().kernels_launched);
    if (step.kernel.contraction) count(counter_cells().contractions_launched);
    if (failure.record.code) failure.raise(kernel);
}

}  // namespace weft::pipeline
