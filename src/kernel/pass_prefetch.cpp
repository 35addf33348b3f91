// kernel/pass_prefetch.cpp: the "prefetch" pass: rows that are read more than once (softmax, layer norm) come from memory the first time and from
// the first cache then, while memory is idle. So the second time asks for the next row.
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "ir/symbolic.h"

#include <algorithm>
#include <iterator>
#include <set>

namespace weft::kernel {
namespace {

constexpr std::int64_t kFarBytes = 1 << 20;  // of what is read: less stays in a core's own caches
constexpr std::int64_t kLeastRow = 1 << 10;  // bytes from row to row: a processor follows shorter ones by itself

// A loop that may end early: what it would read of the next row may not be there.
bool counts(const Loop& loop) {
    return loop.count || std::any_of(loop.body.begin(), loop.body.end(),
                                     [](const Stmt& stmt) { return stmt.loop() && counts(*stmt.loop()); });
}

bool is_far(const Kernel& kernel, const NodeRef& load, const Loop& rows) {
    const Buffer& from = kernel.buffers[load->as<ir::LoadArg>().buffer];
    const auto bytes = static_cast<std::int64_t>(size_of(from.dtype));
    if (from.role != Buffer::Role::Input || load->sources.size() > 1 || from.size < kFarBytes / bytes) return false;
    const auto step = ir::stride_of(*kernel.interner, load->sources[0], rows.id());
    return step && *step >= kLeastRow / bytes;
}

// The loads of vector loops in it that read these buffers densely, one of each buffer.
void choose_loads(const Kernel& kernel, const Loop& loop, const Loop& rows, const std::set<int>& buffers,
                  Decisions& chosen) {
    for (const Stmt& stmt : loop.body)
        if (stmt.loop()) choose_loads(kernel, *stmt.loop(), rows, buffers, chosen);
    if (loop.kind != LoopKind::Vector) return;
    std::set<int> asked;
    for (const NodeRef& load : uses_of(loop.body).loads) {
        const int b = load->as<ir::LoadArg>().buffer;
        const bool dense = ir::stride_of(*kernel.interner, load->sources[0], loop.id()) == 1;
        if (buffers.contains(b) && dense && is_far(kernel, load, rows) && asked.insert(b).second)
            chosen.emplace_back(PrefetchRow{rows.id(), loop.id(), load});
    }
}

// What is read again in it.
Decisions choose_in(const Kernel& kernel, const Loop& rows) {
    Decisions chosen;
    if (rows.kind != LoopKind::Serial || rows.count || rows.extent() < 2) return chosen;
    std::set<int> read, prefetched;  // buffers, by the statements so far
    for (const Stmt& stmt : rows.body) {
        const Loop* loop = stmt.loop();
        if (!loop || loop->kind != LoopKind::Serial || counts(*loop)) continue;
        std::set<int> here, again;
        for (const NodeRef& load : uses_of(loop->body).loads)
            if (is_far(kernel, load, rows)) here.insert(load->as<ir::LoadArg>().buffer);
        for (const int b : here)
            if (read.contains(b) && prefetched.insert(b).second) again.insert(b);
        if (!again.empty()) choose_loads(kernel, *loop, rows, again, chosen);
        read.merge(here);
    }
    return chosen;
}

Prefetch of_next_row(const Kernel& kernel, const NodeRef& load, const Loop& rows) {
    const NodeRef next = kernel.binary(ir::Op::Min, kernel.add(rows.var, kernel.index(1)),
                                       kernel.index(rows.extent() - 1));  // there is no row after the last
    return {substitute(kernel, load, {{rows.id(), next}})};
}

// `rows`: the loop over rows that this is in; null: none yet.
Body with_prefetches(const Kernel& kernel, const Body& body, const Loop* rows, const Decisions& chosen) {
    Body result;
    for (const Stmt& stmt : body) {
        const Loop* const loop = stmt.loop();
        if (!loop) {
            result.push_back(stmt);
            continue;
        }
        const bool is_rows = std::ranges::any_of(
            chosen, [&](const Decision& one) { return std::get<PrefetchRow>(one).rows == loop->id(); });
        Loop kept = loop->with(with_prefetches(kernel, loop->body, is_rows ? loop : rows, chosen));
        for (const Decision& decision : chosen)
            if (const PrefetchRow& one = std::get<PrefetchRow>(decision); one.loop == loop->id())
                kept.body.emplace_back(of_next_row(kernel, one.load, *rows));
        result.emplace_back(std::move(kept));
    }
    return result;
}

}  // namespace

Decisions choose_prefetches(const Kernel& kernel, const Target&) {
    Decisions chosen;
    choose_loops(kernel.body, [&](const Loop& rows) {
        Decisions here = choose_in(kernel, rows);
        std::ranges::copy(here, std::back_inserter(chosen));
        return !here.empty();
    });
    return chosen;
}

Kernel prefetch_rows(Kernel kernel, const Decisions& chosen) {
    kernel.body = with_prefetches(kernel, kernel.body, nullptr, chosen);
    return kernel;
}

}  // namespace weft::kernel
