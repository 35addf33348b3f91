// runtime/evaluate.cpp: one run: capture the graph, find or make its plan, take all memory, then launch kernels. Whatever can fail
// for want of something (memory, a compiler) fails before the first kernel.
#include "runtime/evaluate.h"

#include "core/config.h"
#include "core/str.h"
#include "ir/custom.h"
#include "runtime/counters.h"
#include "runtime/plan_cache.h"
#include "runtime/pool.h"
#include "runtime/profile.h"
#include "runtime/threads.h"

#include <weft/error.h>

#include <mutex>
#include <optional>

namespace weft::runtime {
namespace {

using schedule::Captured;
using schedule::MemoryView;
using schedule::Plan;
using schedule::PlanStep;
using schedule::PlanValue;

// The memory of one run: a storage and an offset in elements for each value of the plan.
class Bindings {
public:
    Bindings(const Captured& captured, const Plan& plan) : captured_(captured), plan_(plan) {
        if (plan.arena_bytes) arena_ = allocate(static_cast<std::int64_t>(plan.arena_bytes));
        for (const PlanValue& value : plan.values) views_.push_back(bind(value));
    }

    const MemoryView& view(int value) const { return views_[value]; }

    // Where the kernel's parameter starts: a reversed axis starts at its lowest address, a box inside its array.
    void* pointer(int value) const {
        const MemoryView& view = views_[value];
        std::int64_t offset = schedule::lowest_offset(view);
        const PlanValue& info = plan_.values[value];
        if (info.first_constant >= 0)
            for (std::size_t d = 0; d < info.shape.size(); ++d)
                offset += static_cast<std::int64_t>(captured_.constants[info.first_constant + d]) * info.strides[d];
        return static_cast<std::byte*>(view.storage->data) + offset * static_cast<std::int64_t>(size_of(view.dtype));
    }

private:
    MemoryView bind(const PlanValue& value) const {
        MemoryView view{nullptr, value.dtype, value.shape, 0, value.strides};
        switch (value.where) {
            case PlanValue::Where::Leaf: return captured_.leaves[value.leaf];
            case PlanValue::Where::Donated:
                view.storage = captured_.leaves[value.leaf].storage;
                view.offset = captured_.leaves[value.leaf].offset;
                return view;
            case PlanValue::Where::Output: view.storage = allocate(value.bytes); return view;
            case PlanValue::Where::Arena:
                view.storage = arena_ ? arena_ : allocate(0);
                view.offset = value.arena_offset / static_cast<std::int64_t>(size_of(value.dtype));
                return view;
        }
        __builtin_unreachable();
    }

    const Captured& captured_;
    const Plan& plan_;
    ir::StorageRef arena_;
    std::vector<MemoryView> views_;
};

void raise_check(const Compiled& kernel, const backend::CheckRecord& record) {
    const ir::CheckArg& check = kernel.checks.at(record.code - 1);
    throw IndexError(str(check.what, "; got ", record.value));
}

class Runner {
public:
    Runner(const Captured& captured, const CachedPlan& plan) : captured_(captured), plan_(plan), memory_(captured, plan.plan) {
        std::size_t scratch = 0;
        for (const auto& kernel : plan.kernels)
            if (kernel) scratch = std::max(scratch, kernel->scratch_bytes);
        scratch_stride_ = (scratch + 64 + 63) / 64 * 64;
        if (scratch) scratch_ = allocate(static_cast<std::int64_t>(scratch_stride_) * thread_count());
        scalars_ = captured.scalars;
        for (const int hole : plan.plan.holes) scalars_.push_back(captured.constants[hole]);
    }

    void run() {
        for (std::size_t s = 0; s < plan_.plan.steps.size(); ++s) {
            const PlanStep& step = plan_.plan.steps[s];
            if (step.kernel.custom) run_custom(step);
            else launch(step, *plan_.kernels[s]);
        }
    }

    const Bindings& memory() const { return memory_; }

private:
    void run_custom(const PlanStep& step) {
        const ir::Node& node = *step.kernel.custom;
        std::vector<const void*> sources;
        for (std::size_t v = 0; v + 1 < step.values.size(); ++v) sources.push_back(memory_.pointer(step.values[v]));
        void* result = memory_.pointer(step.values.back());
        node.as<ir::CustomArg>().function->run(node, sources.data(), &result);
    }

    bool writes_donated(const PlanStep& step) const {
        for (const auto& output : step.kernel.graph.outputs)
            if (plan_.plan.values[step.values[output.param]].where == PlanValue::Where::Donated) return true;
        for (const int value : step.values)
            if (plan_.plan.values[value].where == PlanValue::Where::Donated) return true;
        return false;
    }

    void launch(const PlanStep& step, const Compiled& kernel) {
        const KernelTimer timer(kernel, step);
        std::vector<void*> pointers;
        for (const int value : step.values) pointers.push_back(memory_.pointer(value));
        std::vector<Word> scalars;
        for (const int slot : step.kernel.scalar_slots) scalars.push_back(scalars_[slot]);
        std::vector<backend::CheckRecord> records(static_cast<std::size_t>(thread_count()));
        std::vector<std::int64_t> record_chunk(records.size(), INT64_MAX);
        const auto chunk = [&](std::int64_t begin, std::int64_t end, int thread) {
            std::byte* scratch = scratch_ ? static_cast<std::byte*>(scratch_->data) + scratch_stride_ * static_cast<std::size_t>(thread)
                                          : nullptr;
            backend::CheckRecord record;
            kernel.program->run(pointers.data(), scalars.data(), begin, end, scratch, &record);
            if (record.code && begin < record_chunk[thread]) records[thread] = record, record_chunk[thread] = begin;
        };
        run_chunks(kernel.chunks, chunk, {.parallel = kernel.chunks > 1, .interruptible = !writes_donated(step)});
        count(counter_cells().kernels_launched);
        if (step.kernel.contraction) count(counter_cells().contractions_launched);
        std::size_t first = 0;
        for (std::size_t t = 1; t < records.size(); ++t)
            if (record_chunk[t] < record_chunk[first]) first = t;
        if (records[first].code) raise_check(kernel, records[first]);
    }

    const Captured& captured_;
    const CachedPlan& plan_;
    Bindings memory_;
    ir::StorageRef scratch_;
    std::size_t scratch_stride_ = 0;
    std::vector<Word> scalars_;
};

ir::NodeRef root_buffer(const Captured& captured, const Plan& plan, const Bindings& memory, const schedule::RootValue& root) {
    MemoryView view = root.leaf >= 0 ? captured.views[root.leaf] : memory.view(plan.outputs[root.output]);
    for (const ir::NodeRef& movement : root.views)
        if (!schedule::apply_view(*movement, view)) throw InternalError("a root's view does not fold");
    return schedule::buffer_of(view);
}

}  // namespace

Result evaluate(const Request& request) {
    std::unique_lock graph(ir::graph_lock());
    const bool donate = config().donate && !config().switched_off("donate");
    const Captured captured = schedule::capture(request.roots, donate ? request.dies : nullptr);
    std::shared_ptr<const CachedPlan> plan;
    if (!captured.outputs.empty()) plan = find_plan(captured, request.keep);
    graph.unlock();

    static const Plan kNothing;
    std::optional<Runner> runner;
    if (plan) {
        count(counter_cells().runs);
        runner.emplace(captured, *plan);
        runner->run();
    }
    static const Captured kEmpty;
    static const Bindings kNoMemory(kEmpty, kNothing);
    const Bindings& memory = runner ? runner->memory() : kNoMemory;
    graph.lock();
    Result result;
    for (const schedule::RootValue& root : captured.roots)
        result.values.push_back(root_buffer(captured, plan ? plan->plan : kNothing, memory, root));
    if (plan)
        for (const auto& [item, value] : plan->plan.kept)
            result.kept.emplace_back(ir::NodeRef(captured.items[item].node), schedule::buffer_of(memory.view(value)));
    return result;
}

}  // namespace weft::runtime
