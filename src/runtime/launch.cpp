// runtime/launch.cpp: memory and kernels of one run. Whatever can fail for want of memory fails before the first
// kernel.
#include "runtime/launch.h"

#include "core/str.h"
#include "ir/custom.h"
#include "runtime/counters.h"
#include "runtime/pool.h"
#include "runtime/profile.h"
#include "runtime/threads.h"

#include <weft/error.h>

#include <algorithm>

namespace weft::runtime {

using schedule::MemoryView;
using schedule::PlanStep;
using schedule::PlanValue;

namespace {

void check_there(const Bound& leaf) {
    if (!leaf.storage->data && leaf.storage->bytes)
        throw ValueError("a tensor that a function writes while jit captures it, on another thread, has no value yet");
}

void raise_check(const Compiled& kernel, const backend::CheckRecord& record) {
    const ir::CheckArg& check = kernel.checks.at(record.code - 1);
    throw IndexError(str(check.what, "; got ", record.value));
}

}  // namespace

Launch::Launch(const CachedPlan& plan, std::span<const Bound> leaves, std::span<const Word> constants,
               std::span<const Word> scalars)
    : plan_(plan), leaves_(leaves), constants_(constants), scalars_(scalars.begin(), scalars.end()) {
    for (const Bound& leaf : leaves) check_there(leaf);
    if (plan.plan.arena_bytes) arena_ = allocate(static_cast<std::int64_t>(plan.plan.arena_bytes));
    values_.reserve(plan.plan.values.size());
    for (const PlanValue& value : plan.plan.values) values_.push_back(bind(value));
    std::size_t scratch = 0;
    for (const auto& kernel : plan.kernels)
        if (kernel) scratch = std::max(scratch, kernel->scratch_bytes);
    scratch_stride_ = (scratch + 64 + 63) / 64 * 64;
    if (scratch) scratch_ = allocate(static_cast<std::int64_t>(scratch_stride_) * thread_count());
    for (const int hole : plan.plan.holes) scalars_.push_back(constants[hole]);
    records_.resize(static_cast<std::size_t>(thread_count()));
    record_chunks_.resize(records_.size());
}

Bound Launch::bind(const PlanValue& value) const {
    switch (value.where) {
        case PlanValue::Where::Leaf:
        case PlanValue::Where::Donated: return leaves_[value.leaf];
        case PlanValue::Where::Output: return {allocate(value.bytes), 0};
        case PlanValue::Where::Arena:
            return {arena_ ? arena_ : allocate(0),
                    value.arena_offset / static_cast<std::int64_t>(size_of(value.dtype))};
    }
    __builtin_unreachable();
}

MemoryView Launch::view(int value) const {
    const PlanValue& info = plan_.plan.values[value];
    return {values_[value].storage, info.dtype, info.shape, values_[value].offset, info.strides};
}

// Where the kernel's parameter starts: a reversed axis starts at its lowest address, a box inside its array.
void* Launch::pointer(int value) const {
    const PlanValue& info = plan_.plan.values[value];
    std::int64_t offset = values_[value].offset;
    for (std::size_t d = 0; d < info.shape.size(); ++d)
        if (info.strides[d] < 0 && info.shape[d] > 0) offset += info.strides[d] * (info.shape[d] - 1);
    if (info.first_constant >= 0)
        for (std::size_t d = 0; d < info.shape.size(); ++d)
            offset += static_cast<std::int64_t>(constants_[info.first_constant + d]) * info.strides[d];
    return static_cast<std::byte*>(values_[value].storage->data) +
           offset * static_cast<std::int64_t>(size_of(info.dtype));
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
    std::vector<const void*> sources;
    for (std::size_t v = 0; v + 1 < step.values.size(); ++v) sources.push_back(pointer(step.values[v]));
    void* result = pointer(step.values.back());
    node.as<ir::CustomArg>().function->run(node, sources.data(), &result);
}

bool Launch::writes_donated(const PlanStep& step) const {
    return std::any_of(step.values.begin(), step.values.end(),
                       [&](int value) { return plan_.plan.values[value].where == PlanValue::Where::Donated; });
}

void Launch::run_kernel(const PlanStep& step, const Compiled& kernel) {
    const KernelTimer timer(kernel, step);
    pointers_.clear();
    for (const int value : step.values) pointers_.push_back(pointer(value));
    kernel_scalars_.clear();
    for (const int slot : step.kernel.scalar_slots) kernel_scalars_.push_back(scalars_[slot]);
    std::fill(records_.begin(), records_.end(), backend::CheckRecord());
    std::fill(record_chunks_.begin(), record_chunks_.end(), INT64_MAX);
    const auto chunk = [&](std::int64_t begin, std::int64_t end, int thread) {
        std::byte* scratch =
            scratch_ ? static_cast<std::byte*>(scratch_->data) + scratch_stride_ * static_cast<std::size_t>(thread)
                     : nullptr;
        backend::CheckRecord record;
        kernel.program->run(pointers_.data(), kernel_scalars_.data(), begin, end, scratch, &record);
        if (record.code && begin < record_chunks_[thread]) records_[thread] = record, record_chunks_[thread] = begin;
    };
    committed_ = committed_ || writes_donated(step);
    run_chunks(kernel.chunks, chunk, {.parallel = kernel.chunks > 1, .interruptible = !committed_});
    count(counter_cells().kernels_launched);
    if (step.kernel.contraction) count(counter_cells().contractions_launched);
    std::size_t first = 0;
    for (std::size_t t = 1; t < records_.size(); ++t)
        if (record_chunks_[t] < record_chunks_[first]) first = t;
    if (records_[first].code) raise_check(kernel, records_[first]);
}

}  // namespace weft::runtime
