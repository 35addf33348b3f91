// kernel/pass_prefetch.cpp: the "prefetch" pass: rows that are read more than once (softmax, layer norm) come from memory the first time and from
// the first cache then, while memory is idle. So the second time asks for the next row.
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <iterator>
#include <optional>
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

// The loops in it that read elements again.
Decisions choose_in(const Kernel& kernel, const Loop& rows) {
    Decisions chosen;
    if (rows.kind != LoopKind::Serial || rows.count || rows.extent() < 2) return chosen;
    std::set<int> read, prefetched;  // buffers, by the statements so far
    for (const Stmt& stmt : rows.body) {
        const Loop* loop = stmt.loop();
        std::set<int> here;
        if (loop && loop->kind == LoopKind::Serial && !counts(*loop))
            for (const NodeRef& load : uses_of(loop->body).loads)
                if (is_far(kernel, load, rows)) here.insert(load->as<ir::LoadArg>().buffer);
        PrefetchRow again{rows.id(), loop ? loop->id() : -1, {}};
        for (const int b : here)
            if (read.contains(b) && prefetched.insert(b).second) again.buffers.push_back(b);
        if (!again.buffers.empty()) chosen.emplace_back(std::move(again));
        read.merge(here);
    }
    return chosen;
}

Prefetch hint(const Kernel& kernel, const NodeRef& load, const Loop& rows) {
    const NodeRef next = kernel.binary(ir::Op::Min, kernel.add(rows.var, kernel.index(1)),
                                       kernel.index(rows.extent() - 1));  // there is no row after the last
    return {substitute(kernel, load, {{rows.id(), next}})};
}

Loop with_hints(const Kernel& kernel, const Loop& loop, const Loop& rows, const std::vector<int>& buffers) {
    Loop result = loop.with({});
    for (const Stmt& stmt : loop.body) {
        if (stmt.loop()) result.body.emplace_back(with_hints(kernel, *stmt.loop(), rows, buffers));
        else result.body.push_back(stmt);
    }
    if (loop.kind != LoopKind::Vector) return result;
    std::set<int> asked;
    for (const NodeRef& load : uses_of(loop.body).loads) {
        const int b = load->as<ir::LoadArg>().buffer;
        const bool dense = ir::stride_of(*kernel.interner, load->sources[0], loop.id()) == 1;
        if (std::ranges::find(buffers, b) != buffers.end() && dense && is_far(kernel, load, rows) &&
            asked.insert(b).second)
            result.body.emplace_back(hint(kernel, load, rows));
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
    const auto applied = [&](const Loop& rows, const Stmt& stmt) -> Stmt {
        const PrefetchRow* const again = stmt.loop() ? find_decision<PrefetchRow>(chosen, stmt.loop()->id()) : nullptr;
        return again && again->rows == rows.id() ? with_hints(kernel, *stmt.loop(), rows, again->buffers) : stmt;
    };
    kernel.body = replace_loops(kernel.body, [&](const Loop& rows) -> std::optional<Body> {
        const auto is_here = [&](const Decision& one) { return std::get<PrefetchRow>(one).rows == rows.id(); };
        if (std::ranges::none_of(chosen, is_here)) return {};
        Body body;
        for (const Stmt& stmt : rows.body) body.push_back(applied(rows, stmt));
        return Body{rows.with(std::move(body))};
    });
    return kernel;
}

}  // namespace weft::kernel
