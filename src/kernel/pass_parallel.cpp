// kernel/pass_parallel.cpp: the "parallel" pass: the outermost independent loop is cut into chunks. Their number comes from the
// shape, never from the number of threads, so results do not depend on it.
#include "kernel/contraction_nest.h"
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "core/checked.h"
#include "ir/walk.h"

#include <algorithm>

namespace weft::kernel {
namespace {

constexpr std::int64_t kSmallKernel = 1 << 17;  // in expression nodes: below, waking a thread costs more than it brings
constexpr std::int64_t kWorkOfChunk = 1 << 16, kMostChunks = 64, kWholeVectors = 64;

std::int64_t work_of(const Body& body) {
    std::int64_t work = 0;
    for_each_store(body, [&](const Store& store, std::span<const Loop* const> around) {
        std::int64_t times = 1;
        for (const Loop* loop : around)
            if (__builtin_mul_overflow(times, loop->extent(), &times)) times = INT64_MAX / 1024;
        const NodeRef value = store.value;
        const auto nodes = static_cast<std::int64_t>(ir::topological_order(std::span(&value, 1)).size());
        work += std::min(times, INT64_MAX / 4096) * std::min<std::int64_t>(nodes, 64);
    });
    return work;
}

// Phases of a stride, each a loop over the same rows: each stores elements of its own. (Tiled ones are one loop already.)
bool are_phases(const Body& body) {
    const Loop* const first = body.size() < 2 ? nullptr : body[0].loop();
    return first && std::ranges::all_of(body, [&](const Stmt& stmt) {
               const Loop* const loop = stmt.loop();
               return loop && loop->independent && is_over_output(loop->role) && loop->kind == LoopKind::Serial &&
                      !loop->count && loop->extent() == first->extent();
           });
}

Body joined(Kernel& kernel) {
    const NodeRef row = kernel.new_var(kernel.body[0].loop()->extent());
    Body inside;
    for (const Stmt& stmt : kernel.body)
        append(inside, substitute(kernel, stmt.loop()->body, {{stmt.loop()->id(), row}}));
    return Body{Loop{row, LoopKind::Serial, std::move(inside), true, nullptr}};
}

bool has_loops(const Stmt& stmt) {
    return std::ranges::any_of(stmt.loop()->body, [](const Stmt& inner) { return inner.loop() != nullptr; });
}

}  // namespace

Decisions choose_chunks(const Kernel& kernel, const Target&) {
    const bool joins = are_phases(kernel.body);
    if ((kernel.body.size() != 1 && !joins) || !kernel.body[0].loop()) return {};
    const Loop& loop = *kernel.body[0].loop();
    if (!loop.independent || loop.kind != LoopKind::Serial || loop.extent() < 2 || loop.count) return {};
    const std::int64_t work = work_of(kernel.body);
    if (work < kSmallKernel) return {};
    const bool leaf = std::ranges::none_of(kernel.body, has_loops);
    const std::int64_t wanted = std::min({kMostChunks, std::max<std::int64_t>(2, work / kWorkOfChunk), loop.extent()});
    std::int64_t length = ceil_div(loop.extent(), wanted);
    if (leaf) length = ceil_div(length, kWholeVectors) * kWholeVectors;
    else if (loop.extent() >= 32 * wanted) length = ceil_div(length, kMaxLanes) * kMaxLanes;
    else if (length > 1) length = ceil_div(length, 2) * 2;  // rows may go in pairs
    if (length > loop.extent()) return {};
    return {Chunks{length, loop.extent(), joins}};
}

Kernel split_for_threads(Kernel kernel, const Decisions& chosen) {
    const Chunks& chunks = std::get<Chunks>(chosen[0]);
    if (chunks.joins) kernel.body = joined(kernel);
    const Loop loop = *kernel.body[0].loop();
    const std::int64_t length = chunks.length;
    const std::int64_t whole = loop.extent() / length, tail = loop.extent() % length;
    const auto chunk = [&](const NodeRef& start, std::int64_t size) {
        const NodeRef q = kernel.new_var(size);
        return Loop{q, LoopKind::Serial, copy(kernel, loop.body, {{loop.id(), kernel.add(start, q)}}), true, nullptr};
    };
    const NodeRef p = kernel.new_var(whole + (tail > 0));
    const NodeRef start = kernel.mul(p, kernel.index(length));
    Body inside;
    if (tail == 0) {
        inside.emplace_back(chunk(start, length));
    } else {  // the last chunk is shorter: each of two conditions (a loop that runs once or not at all) has its own copy
        const NodeRef left = kernel.binary(ir::Op::Sub, kernel.index(whole), p);  // > 0 for all but the last
        const NodeRef last = kernel.binary(ir::Op::Sub, p, kernel.index(whole - 1));
        inside.emplace_back(Loop{kernel.new_var(1), LoopKind::Serial, Body{chunk(start, length)}, false, left});
        inside.emplace_back(
            Loop{kernel.new_var(1), LoopKind::Serial, Body{chunk(kernel.index(whole * length), tail)}, false, last});
    }
    kernel.body = Body{Loop{p, LoopKind::Parallel, std::move(inside), true, nullptr}};
    return kernel;
}

}  // namespace weft::kernel
