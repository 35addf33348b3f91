// kernel/pass_prefetch.cpp: the "prefetch" pass: rows that are read more than once (softmax, layer norm) come from memory the first time and from
// the first cache then, while memory is idle. So the second time asks for the next row.
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "core/str.h"
#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <functional>
#include <set>

namespace weft::kernel {
namespace {

constexpr std::int64_t kFarBytes = 1 << 20;  // of what is read: less stays in a core's own caches
constexpr std::int64_t kLeastRow = 1 << 10;  // bytes from row to row: a processor follows shorter ones by itself

class PrefetchRows {
public:
    explicit PrefetchRows(Kernel& kernel) : kernel_(kernel) {}

    std::optional<Body> operator()(const Loop& rows) {
        if (rows.kind != LoopKind::Serial || rows.count || rows.extent() < 2) return {};
        std::set<int> read, prefetched;  // buffers, by the statements so far
        Body body;
        for (const Stmt& stmt : rows.body) {
            const Loop* loop = stmt.loop();
            std::set<int> here;
            if (loop && loop->kind == LoopKind::Serial && !counts(*loop))
                for (const NodeRef& load : uses_of(loop->body).loads)
                    if (is_far(load, rows)) here.insert(load->as<ir::LoadArg>().buffer);
            std::set<int> again;
            for (const int b : here)
                if (read.contains(b) && prefetched.insert(b).second) again.insert(b);
            if (again.empty()) body.push_back(stmt);
            else body.emplace_back(with_hints(*loop, rows, again));
            read.merge(here);
        }
        if (prefetched.empty()) return {};
        any_ = true;
        return Body{rows.with(std::move(body))};
    }

    bool any() const { return any_; }

private:
    // A loop that may end early: what it would read of the next row may not be there.
    static bool counts(const Loop& loop) {
        return loop.count || std::any_of(loop.body.begin(), loop.body.end(),
                                         [](const Stmt& stmt) { return stmt.loop() && counts(*stmt.loop()); });
    }

    bool is_far(const NodeRef& load, const Loop& rows) const {
        const Buffer& from = kernel_.buffers[load->as<ir::LoadArg>().buffer];
        const auto bytes = static_cast<std::int64_t>(size_of(from.dtype));
        if (from.role != Buffer::Role::Input || load->sources.size() > 1 || from.size < kFarBytes / bytes) return false;
        const auto step = ir::stride_of(*kernel_.interner, load->sources[0], rows.id());
        return step && *step >= kLeastRow / bytes;
    }

    Loop with_hints(const Loop& loop, const Loop& rows, const std::set<int>& buffers) {
        Loop result{loop.var, loop.kind, {}, loop.independent, loop.count};
        for (const Stmt& stmt : loop.body) {
            if (stmt.loop()) result.body.emplace_back(with_hints(*stmt.loop(), rows, buffers));
            else result.body.push_back(stmt);
        }
        if (loop.kind != LoopKind::Vector) return result;
        std::set<int> asked;
        for (const NodeRef& load : uses_of(loop.body).loads) {
            const int b = load->as<ir::LoadArg>().buffer;
            const bool dense = ir::stride_of(*kernel_.interner, load->sources[0], loop.id()) == 1;
            if (buffers.contains(b) && dense && is_far(load, rows) && asked.insert(b).second)
                result.body.emplace_back(hint(load, rows));
        }
        return result;
    }

    Prefetch hint(const NodeRef& load, const Loop& rows) {
        const NodeRef next = kernel_.binary(ir::Op::Min, kernel_.add(rows.var, kernel_.index(1)),
                                            kernel_.index(rows.extent() - 1));  // there is no row after the last
        return {substitute(kernel_, load, {{rows.id(), next}})};
    }

    Kernel& kernel_;
    bool any_ = false;
};

}  // namespace

Kernel prefetch_rows(Kernel kernel, const Target&) {
    PrefetchRows prefetching(kernel);
    kernel.body = replace_loops(Body(kernel.body), std::ref(prefetching));
    if (prefetching.any()) kernel.schedule.push_back("next row prefetched");
    return kernel;
}

}  // namespace weft::kernel
