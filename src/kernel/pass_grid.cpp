// kernel/pass_grid.cpp: the "grid" pass, for processors with thousands of threads. Iterations of the outermost independent loops are shared
// out among the threads of all blocks; or, where there is much to do in each, among the blocks, whose threads share the loops inside.
// Nothing is computed in another order: a chain of a sum is one thread's, and threads meet where lanes would.
#include "kernel/block_loops.h"
#include "kernel/contraction_nest.h"
#include "kernel/grid_columns.h"
#include "kernel/grid_rows.h"
#include "kernel/grid_transpose.h"
#include "kernel/nest.h"
#include "kernel/passes.h"
#include "kernel/row_parts.h"
#include "kernel/row_schedule.h"

#include "core/checked.h"
#include "ir/symbolic.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace weft::kernel {
namespace {

constexpr std::int64_t kThreads = 256;  // of a block whose threads have iterations of their own
constexpr std::int64_t kFewestThreads = 32;
constexpr std::int64_t kUnrolled = 4;              // iterations of a thread, of which all loads come first
constexpr std::int64_t kManyIterations = 1 << 20;  // from there on threads have several
constexpr std::int64_t kManyTransposed = 1 << 14;  // from there on loads across memory pass through shared memory
constexpr std::int64_t kRowWork = 128;             // iterations of a row that a block shares; …
constexpr std::int64_t kSomeWork = 32;             // … these, where there are few rows, or a row needs much memory
constexpr std::int64_t kManyRows = 1 << 13;        // enough for threads to have rows of their own
constexpr std::int64_t kLargeLocals = 1 << 10;     // bytes of one thread: where more are wanted, a block has them

bool is_block(const Stmt& stmt) { return stmt.loop() && stmt.loop()->kind == LoopKind::Block; }

bool contains_loops(const Body& body) {
    return std::ranges::any_of(body, [](const Stmt& stmt) { return stmt.loop() != nullptr; });
}

std::int64_t local_bytes(const Kernel& kernel, const Body& body) {
    std::set<int> locals;
    locals_in(kernel, body, locals);
    std::int64_t bytes = 0;
    for (const int b : locals) {
        const Buffer& buffer = kernel.buffers[static_cast<std::size_t>(b)];
        bytes += buffer.size * static_cast<std::int64_t>(size_of(buffer.dtype));
    }
    return bytes;
}

// Whether four iterations that follow each other access neighbours in memory, or the same element, at multiples of four.
bool accesses_neighbours(const Kernel& kernel, const std::vector<NodeRef>& vars, const Body& body) {
    const NodeRef group =
        kernel.make(ir::Op::LoopVar, DType::I64, {}, ir::LoopArg{kernel.next_var, ceil_div(product(vars), kUnrolled)});
    const NodeRef first = kernel.mul(group, kernel.index(kUnrolled));
    std::vector<Substitution> numbers;
    for (std::int64_t u = 0; u < kUnrolled; ++u)
        numbers.push_back(counted(kernel, vars, kernel.add(first, kernel.index(u))));
    const auto at = [&](const NodeRef& index, std::int64_t u) {
        return ir::simplify_index(*kernel.interner, substitute(kernel, index, numbers[static_cast<std::size_t>(u)]));
    };
    Uses uses = uses_of(body);
    for_each_store(body,
                   [&](const Store& store, std::span<const Loop* const>) { uses.indices.push_back(store.index); });
    return std::ranges::all_of(uses.indices, [&](const NodeRef& index) {
        const NodeRef start = at(index, 0);
        const bool same = at(index, 1) == start;
        const auto step = ir::stride_of(*kernel.interner, start, kernel.next_var);
        for (std::int64_t u = 1; u < kUnrolled; ++u)
            if (at(index, u) !=
                (same ? start : ir::simplify_index(*kernel.interner, kernel.add(start, kernel.index(u)))))
                return false;
        return same || !step || *step % kUnrolled == 0;
    });
}

GridSchedule schedule_for(const Kernel& kernel, const Target& target, const Body& whole, int statement) {
    const Loop* const loop = whole.size() == 1 ? whole[0].loop() : nullptr;
    GridSchedule chosen{.statement = statement};
    if (!loop || !is_free(*loop)) {
        chosen = choose_row_schedule(kernel, target, whole, {});
        chosen.statement = statement;
        return chosen;
    }
    auto [vars, body] = free_nest(*loop);
    const std::int64_t iterations = product(vars), work = has_contraction(whole) ? 0 : shared_work(*body);
    if (work >= kRowWork || (work >= kSomeWork && iterations < kManyRows) ||
        (work >= kSomeWork && local_bytes(kernel, *body) > kLargeLocals)) {
        chosen = choose_row_schedule(kernel, target, whole, std::move(vars));
        chosen.statement = statement;
        return chosen;
    }
    if (std::optional<GridSchedule> columns = choose_column_schedule(kernel, target, *body, vars)) {
        columns->statement = statement;
        return *columns;
    }
    chosen.loops = std::move(vars);
    chosen.threads = kThreads;
    if (contains_loops(*body))  // few long iterations: every multiprocessor shall have some
        while (chosen.threads > kFewestThreads && iterations < 2 * target.multiprocessors * chosen.threads)
            chosen.threads /= 2;
    chosen.threads = std::min(chosen.threads, std::max<std::int64_t>(1, iterations));
    if (iterations >= kManyIterations && !contains_loops(*body) && !reads_stored(*body) &&
        local_bytes(kernel, *body) == 0) {
        chosen.each = kUnrolled;
        chosen.neighbours = accesses_neighbours(kernel, chosen.loops, *body);
    }
    if (std::optional<GridSchedule> transposed = choose_transpose_schedule(kernel, *body, chosen.loops);
        transposed && iterations >= kManyTransposed) {
        transposed->statement = statement;
        return *transposed;
    }
    return chosen;
}

// ---- applying --------------------------------------------------------------------------------------------------------

Loop loop_of(const NodeRef& var, LoopKind kind, Body body, bool independent = false, NodeRef count = nullptr) {
    return Loop{var, kind, std::move(body), independent, std::move(count)};
}

// Threads have iterations of their own.
class ByThreads {
public:
    ByThreads(Kernel& kernel, const GridSchedule& schedule, const Loop& loop) : kernel_(kernel), schedule_(schedule) {
        const auto [vars, body] = free_nest(loop);
        vars_ = vars;
        body_ = body;
    }

    Stmt operator()() {
        const std::int64_t all = product(vars_), block = schedule_.threads * schedule_.each;
        const NodeRef b = kernel_.new_var(ceil_div(all, block));
        const NodeRef t = kernel_.new_var(schedule_.threads);
        const NodeRef start = kernel_.add(kernel_.mul(b, kernel_.index(block)),
                                          kernel_.mul(t, kernel_.index(schedule_.neighbours ? schedule_.each : 1)));
        const std::int64_t whole = all / block;
        Body inside;
        if (schedule_.each == 1) {
            inside = all % block ? when(kernel_, kernel_.binary(ir::Op::Sub, kernel_.index(all), start), one(start))
                                 : one(start);
        } else {
            Body several = unrolled(start);
            if (all % block == 0) inside = std::move(several);
            else {  // all but the last block
                append(inside, when(kernel_, kernel_.binary(ir::Op::Sub, kernel_.index(whole), b), std::move(several)));
                append(inside, when(kernel_, kernel_.binary(ir::Op::Sub, b, kernel_.index(whole - 1)),
                                    tail(t, all, whole * block)));
            }
        }
        Body threads{loop_of(t, LoopKind::Thread, std::move(inside), true)};
        return loop_of(b, LoopKind::Block, std::move(threads), true);
    }

private:
    Body one(const NodeRef& number) {
        return partly_unrolled(kernel_, copy(kernel_, *body_, counted(kernel_, vars_, number)));
    }

    // The iterations beyond the last whole block.
    Body tail(const NodeRef& t, std::int64_t all, std::int64_t first) {
        const NodeRef q = kernel_.new_var(schedule_.each);
        const NodeRef number = ir::simplify_index(
            *kernel_.interner,
            kernel_.add(kernel_.add(kernel_.mul(q, kernel_.index(schedule_.threads)), t), kernel_.index(first)));
        Body step = when(kernel_, kernel_.binary(ir::Op::Sub, kernel_.index(all), number), one(number));
        return Body{loop_of(q, LoopKind::Serial, std::move(step), true)};
    }

    Body unrolled(const NodeRef& start) {
        const std::int64_t step = schedule_.neighbours ? 1 : schedule_.threads;
        std::vector<Body> iterations;
        for (std::int64_t u = 0; u < schedule_.each; ++u)
            iterations.push_back(
                one(ir::simplify_index(*kernel_.interner, kernel_.add(start, kernel_.index(u * step)))));
        return values_first(kernel_, iterations);
    }

    Kernel& kernel_;
    const GridSchedule& schedule_;
    std::vector<NodeRef> vars_;
    const Body* body_ = nullptr;
};

}  // namespace

// Statements that share no local are launches of their own. Locals in independent loops are their iterations'.
Decisions choose_grid(const Kernel& kernel, const Target& target) {
    std::map<int, int> users;
    bool one = kernel.body.empty();
    for (const Stmt& stmt : kernel.body) {
        if (is_block(stmt)) continue;
        std::set<int> found;
        if (!stmt.loop() || !is_free(*stmt.loop())) locals_in(kernel, Body{stmt}, found);
        for (const int b : found) one = one || ++users[b] > 1;
        one = one || !stmt.loop();
    }
    if (one) return {choose_row_schedule(kernel, target, kernel.body, {})};
    Decisions chosen;
    for (std::size_t s = 0; s < kernel.body.size(); ++s)
        if (!is_block(kernel.body[s]))
            chosen.emplace_back(schedule_for(kernel, target, Body{kernel.body[s]}, static_cast<int>(s)));
    return chosen;
}

Kernel share_among_threads(Kernel kernel, const Decisions& chosen) {
    const Body whole = kernel.body;
    std::set<int> used;
    for (const Decision& decision : chosen) {
        const auto& schedule = std::get<GridSchedule>(decision);
        Body body = schedule.statement < 0 ? whole : Body{whole[static_cast<std::size_t>(schedule.statement)]};
        std::set<int> locals;
        locals_in(kernel, body, locals);
        for (const int b : locals)
            if (!used.insert(b).second) body = with_own_local(kernel, body, b);
        Stmt made = schedule.by_rows ? rows_in_blocks(kernel, schedule, body)
                    : !schedule.transposed.empty()
                        ? transposes_in_blocks(kernel, schedule, *free_nest(*body[0].loop()).second)
                    : schedule.by_columns ? columns_in_blocks(kernel, schedule, *free_nest(*body[0].loop()).second)
                                          : ByThreads(kernel, schedule, *body[0].loop())();
        if (schedule.statement < 0) kernel.body = Body{std::move(made)};
        else kernel.body[static_cast<std::size_t>(schedule.statement)] = std::move(made);
    }
    return kernel;
}

}  // namespace weft::kernel
