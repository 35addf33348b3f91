// pipeline/launch.cpp: memory and kernels of one run. Whatever can fail for want of memory fails before the first
// kernel.
#include "pipeline/launch.h"

#include "core/str.h"
#include "device/threads.h"
#include "ir/custom.h"
#include "pipeline/counters.h"
#include "pipeline/observer.h"
#include "pipeline/profile.h"

#include <weft/error.h>

#include <algorithm>

namespace weft::pipeline {

using schedule::PlanStep;
using schedule::PlanValue;
using schedule::StorageView;

namespace {

void check_there(const BufferBinding& leaf) {
    if (leaf.storage->placeholder)
        throw ValueError("a tensor that a function writes while jit traces it, on another thread, has no value yet");
}

}  // namespace

Launch::Launch(device::DeviceRuntime& device, const CachedPlan& plan, std::span<const BufferBinding> leaves,
               std::span<const Word> constants, std::span<const Word> scalars, int observed)
    : device_(device), plan_(plan), leaves_(leaves), constants_(constants), observed_(observed), scalars_(scalars) {
    for (const BufferBinding& leaf : leaves) check_there(leaf);
    if (plan.plan.arena_bytes) arena_ = device_.allocate(static_cast<std::int64_t>(plan.plan.arena_bytes));
    taken_.reserve(plan.plan.values.size());
    for (const PlanValue& value : plan.plan.values) taken_.push_back(take(value));
    for (std::size_t v = 0; v < taken_.size(); ++v)
        if (const PlanValue& value = plan.plan.values[v]; value.where == PlanValue::Where::Inside)
            taken_[v] = {taken_[value.whole].storage, taken_[value.whole].offset + value.offset};
    if (plan.scratch_bytes) scratch_ = device_.allocate_scratch(plan.scratch_bytes, *plan.target);
    for (const int constant : plan.plan.run_time_constants) scalars_.push_back(constants[constant]);
    for (const Word literal : plan.plan.literals) scalars_.push_back(literal);
}

BufferBinding Launch::take(const PlanValue& value) const {
    switch (value.where) {
        case PlanValue::Where::Leaf:
        case PlanValue::Where::Donated:
        case PlanValue::Where::Inside: return {};
        case PlanValue::Where::Output: return {device_.allocate(value.bytes), 0};
        case PlanValue::Where::Arena:
            return {arena_ ? arena_ : device_.allocate(0),
                    value.arena_offset / static_cast<std::int64_t>(size_of(value.dtype))};
    }
    __builtin_unreachable();
}

const BufferBinding& Launch::bound(int value) const {
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
    const BufferBinding& base = bound(value);
    std::int64_t offset = base.offset;
    for (std::size_t d = 0; d < info.shape.size(); ++d)
        if (info.strides[d] < 0 && info.shape[d] > 0) offset += info.strides[d] * (info.shape[d] - 1);
    if (info.first_constant >= 0)
        for (std::size_t d = 0; d < info.shape.size(); ++d)
            offset += static_cast<std::int64_t>(constants_[info.first_constant + d]) * info.strides[d];
    const std::int64_t bytes = offset * static_cast<std::int64_t>(size_of(info.dtype));
    return reinterpret_cast<void*>(base.storage->address + static_cast<std::uintptr_t>(bytes));
}

void Launch::replace(const StorageView& value, const StorageView& before) {
    if (!device_.is_host() && value.storage != before.storage) replaced_.emplace_back(value, before);
}

// By copies, in any order.
bool Launch::can_restore() const {
    const auto is_dense = [](const StorageView& view) { return view.strides == row_major_strides(view.shape); };
    return std::ranges::all_of(replaced_, [&](const auto& pair) {
        const auto& [value, before] = pair;
        return value.dtype == before.dtype && value.shape == before.shape && is_dense(value) && is_dense(before) &&
               before.storage->device == value.storage->device &&
               std::ranges::none_of(replaced_,
                                    [&](const auto& other) { return other.second.storage == value.storage; });
    });
}

void Launch::run(bool wait) {
    wait = wait || !can_restore();
    if (!device_.is_host()) run_ = device_.begin_run(plan_.states[device_.number()]);
    Observer* const watching = observer();
    if (watching) run_observed(*watching);
    else run_steps();
    if (!run_) return;
    const auto address = [](const StorageView& view) {
        return view.storage->address + static_cast<std::uintptr_t>(view.offset) * size_of(view.dtype);
    };
    if (!wait)
        for (const auto& [value, before] : replaced_)
            run_->restore(address(value), address(before),
                          static_cast<std::size_t>(numel(value.shape)) * size_of(value.dtype));
    const std::int64_t start = watching ? now() : 0;
    run_->finish(wait);
    run_.reset();
    if (watching) watching->waited(device_.number(), start, now());
}

void Launch::run_steps() {
    for (std::size_t s = 0; s < plan_.plan.steps.size(); ++s) run_step(s);
}

void Launch::run_step(std::size_t s) {
    const PlanStep& step = plan_.plan.steps[s];
    if (step.kernel.custom) run_custom(step);
    else run_kernel(step, *plan_.kernels[s]);
}

// The driver's compiler is no part of a kernel's time.
void Launch::load(const backend::Program& program, Observer& observer) {
    const std::int64_t start = now();
    device_.prepare(program);
    constexpr std::int64_t kNoticed = 10'000;
    if (const std::int64_t end = now(); end - start > kNoticed) observer.planned(start, end);
}

// A device is not waited for: its times are asked for later.
void Launch::run_observed(Observer& observer) {
    device::ThreadLog log;
    for (std::size_t s = 0; s < plan_.plan.steps.size(); ++s) {
        const bool on_device = plan_.kernels[s] && !device_.is_host();
        log.spans.clear();
        if (on_device) load(*plan_.kernels[s]->program, observer);
        auto began = on_device ? device_.mark() : nullptr;
        const std::int64_t start = now();
        run_step(s);
        if (run_) run_->flush();
        const std::int64_t end = now();
        auto ended = on_device ? device_.mark() : nullptr;
        observer.launched({.run = observed_,
                           .step = s,
                           .start = start,
                           .end = end,
                           .threads = log.spans,
                           .began = std::move(began),
                           .ended = std::move(ended),
                           .device = &device_,
                           .kernel = plan_.kernels[s]});
    }
    for (std::size_t v = 0; v < plan_.plan.values.size(); ++v)
        if (plan_.plan.values[v].where == PlanValue::Where::Output)
            observer.stored(observed_, static_cast<int>(v), taken_[v].storage);
}

// Host functions read and write the host's memory: on other devices, copies of it.
class Launch::HostValues {
public:
    HostValues(const Launch& launch, const PlanStep& step, std::size_t sources) : launch_(launch), step_(step) {
        copies_.resize(launch.device_.is_host() ? 0 : step.values.size());
        for (std::size_t v = 0; v < step.values.size(); ++v)
            pointers_.push_back(copies_.empty() ? launch.pointer(step.values[v]) : copied(v, v < sources));
    }
    void* operator[](std::size_t v) const { return pointers_[v]; }

    void write_back(std::size_t sources) const {
        for (std::size_t v = sources; v < copies_.size(); ++v) {
            const auto [storage, offset] = place(v);
            launch_.device_.write(*storage, offset, copies_[v].data(), copies_[v].size());
        }
    }

private:
    const PlanValue& value(std::size_t v) const { return launch_.plan_.plan.values[step_.values[v]]; }
    std::pair<const ir::Storage*, std::int64_t> place(std::size_t v) const {
        const BufferBinding& bound = launch_.bound(step_.values[v]);
        return {bound.storage.get(), bound.offset * static_cast<std::int64_t>(size_of(value(v).dtype))};
    }
    void* copied(std::size_t v, bool is_source) {
        copies_[v].resize(static_cast<std::size_t>(numel(value(v).shape)) * size_of(value(v).dtype));
        const auto [storage, offset] = place(v);
        if (is_source) launch_.device_.read(*storage, offset, copies_[v].data(), copies_[v].size());
        return copies_[v].data();
    }

    const Launch& launch_;
    const PlanStep& step_;
    std::vector<void*> pointers_;
    std::vector<std::vector<std::byte>> copies_;  // empty on the host
};

void Launch::run_custom(const PlanStep& step) {
    const ir::Node& node = *step.kernel.custom;
    const KernelTimer timer(device_, step);
    if (run_) run_->flush();
    const HostValues values(*this, step, node.sources.size());
    std::vector<const void*> sources;
    std::vector<void*> results;
    for (std::size_t v = 0; v < step.values.size(); ++v)
        if (v < node.sources.size()) sources.push_back(values[v]);
        else results.push_back(values[v]);
    const auto for_each = [&](std::int64_t count, const std::function<void(std::int64_t)>& f) {
        const auto chunk = [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t i = begin; i < end; ++i) f(i);
        };
        device::run_chunks(count, chunk,
                           {.threads = plan_.target->threads,
                            .parallel = count > 1,
                            .keep_subnormals = plan_.target->numerics.keep_subnormals,
                            .interruptible = !committed_});
    };
    node.as<ir::CustomArg>().function->run({node, sources, results, for_each, plan_.target->level});
    values.write_back(node.sources.size());
    count(counter_cells().kernels_launched);
}

bool Launch::writes_donated(const PlanStep& step) const {
    return std::any_of(step.values.begin(), step.values.end(),
                       [&](int value) { return plan_.plan.values[value].where == PlanValue::Where::Donated; });
}

void Launch::run_kernel(const PlanStep& step, const Compiled& kernel) {
    const KernelTimer timer(device_, step, &kernel);
    pointers_.clear();
    for (const int value : step.values) pointers_.push_back(pointer(value));
    kernel_scalars_.clear();
    for (const int slot : step.kernel.scalar_slots) kernel_scalars_.push_back(scalars_[slot]);
    committed_ = committed_ || writes_donated(step);
    count(counter_cells().kernels_launched);
    if (step.kernel.contraction) count(counter_cells().contractions_launched);
    const device::KernelLaunch launch{.program = *kernel.program,
                                      .target = *plan_.target,
                                      .buffers = {pointers_.data(), pointers_.size()},
                                      .scalars = {kernel_scalars_.data(), kernel_scalars_.size()},
                                      .checks = kernel.checks,
                                      .chunks = kernel.chunks,
                                      .scratch = scratch_.get(),
                                      .interruptible = !committed_};
    if (run_) run_->launch(launch);
    else device_.launch(launch);
}

}  // namespace weft::pipeline
