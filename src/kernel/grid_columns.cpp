// kernel/grid_columns.cpp: see grid_columns.h.
//
//     for j < columns                             block over j by 32
//       total = 0                                   thread w < width, c < 32
//       for b < blocks                  becomes       for b = w, w + width, …:  parts[b, c] = sum of block b
//         part = sum of block b                     thread c < 32
//         total = total + part                        total = 0;  for b < blocks:  total = total + parts[b, c]
//       out[j] = total                                out[j] = total
#include "kernel/grid_columns.h"

#include "kernel/block_loops.h"
#include "kernel/nest.h"
#include "kernel/row_parts.h"

#include "core/checked.h"
#include "ir/symbolic.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace weft::kernel {
namespace {

constexpr std::int64_t kColumns = 32;     // of a block: neighbours in memory
constexpr std::int64_t kMostParts = 128;  // in shared memory, of each column

// The body of a column: what stands before the loops over blocks, what is computed for one, what is added up, and what stands behind.
struct ColumnSum {
    Body before, unit, totals, after;
    std::vector<NodeRef> vars;  // of the loops
    std::int64_t blocks() const { return product(vars); }
    std::vector<int> parts;  // scalars that `unit` stores and `totals` loads
};

bool is_scalar(const Kernel& kernel, int b) {
    const Buffer& buffer = kernel.buffers[static_cast<std::size_t>(b)];
    return buffer.role == Buffer::Role::Local && buffer.size == 1;
}

std::optional<ColumnSum> column_sum(const Kernel& kernel, const Body& body) {
    ColumnSum sum;
    const Loop* loop = nullptr;
    for (const Stmt& stmt : body) {
        if (stmt.loop() && loop) return {};
        if (stmt.loop()) loop = stmt.loop();
        else (loop ? sum.after : sum.before).push_back(stmt);
    }
    if (!loop || loop->count) return {};
    sum.vars = {loop->var};
    while (loop->body.size() == 1 && loop->body[0].loop() && !loop->body[0].loop()->count) {
        loop = loop->body[0].loop();
        sum.vars.push_back(loop->var);
    }
    if (sum.blocks() < 2 || sum.blocks() > kMostParts) return {};
    std::set<int> outside;
    locals_in(kernel, sum.before, outside);
    locals_in(kernel, sum.after, outside);
    for (const Stmt& stmt : loop->body) {
        const bool total = stmt.store() && outside.contains(stmt.store()->buffer);
        if (!total && !sum.totals.empty()) return {};
        (total ? sum.totals : sum.unit).push_back(stmt);
    }
    std::set<int> used;
    locals_in(kernel, sum.unit, used);
    const std::set<int> stored = stored_in_body(sum.unit);
    if (sum.totals.empty() || std::ranges::any_of(outside, [&](int b) { return used.contains(b); }) ||
        std::ranges::any_of(stored, [&](int b) { return !is_scalar(kernel, b); }))
        return {};
    std::set<int> loaded;
    locals_in(kernel, sum.totals, loaded);
    for (const int b : loaded)
        if (stored.contains(b)) sum.parts.push_back(b);
    if (sum.parts.empty()) return {};  // one chain
    return sum;
}

class ColumnBlocks {
public:
    ColumnBlocks(Kernel& kernel, const GridSchedule& schedule, const ColumnSum& sum)
        : kernel_(kernel), schedule_(schedule), sum_(sum), columns_(product(schedule.loops)) {
        block_ = kernel_.new_var(ceil_div(columns_, kColumns));
        for (const int b : sum.parts) {
            const DType t = kernel_.buffers[static_cast<std::size_t>(b)].dtype;
            parts_[b] = kernel_.new_local("parts", t, sum.blocks() * kColumns);
            kernel_.buffers.back().memory = Buffer::MemoryType::Shared;
        }
    }

    Stmt operator()() {
        Body threads{all_blocks(), all_totals()};
        return Loop{block_, LoopKind::Block, std::move(threads), true, nullptr};
    }

private:
    NodeRef place(const NodeRef& number, const NodeRef& c) const {
        return ir::simplify_index(*kernel_.interner, kernel_.add(kernel_.mul(number, kernel_.index(kColumns)), c));
    }

    // With the variables of column c, if there is such a column.
    Body of_column(const Body& body, const NodeRef& c) {
        const NodeRef column = place(block_, c);
        Body result = copy(kernel_, body, counted(kernel_, schedule_.loops, column));
        if (columns_ % kColumns)
            result = when(kernel_, kernel_.binary(ir::Op::Sub, kernel_.index(columns_), column), std::move(result));
        return result;
    }

    Stmt all_blocks() {
        const std::int64_t blocks = sum_.blocks();
        const NodeRef w = kernel_.new_var(schedule_.sums), c = kernel_.new_var(kColumns),
                      round = kernel_.new_var(ceil_div(blocks, schedule_.sums));
        const NodeRef number =
            ir::simplify_index(*kernel_.interner, kernel_.add(kernel_.mul(round, kernel_.index(schedule_.sums)), w));
        Body body =
            partly_unrolled(kernel_, substitute(kernel_, own_locals(sum_.unit), counted(kernel_, sum_.vars, number)));
        for (const auto& [b, array] : parts_)
            body.emplace_back(Store{array, place(number, c), kernel_.load(renamed_.at(b), kernel_.index(0))});
        if (blocks % schedule_.sums)
            body = when(kernel_, kernel_.binary(ir::Op::Sub, kernel_.index(blocks), number), std::move(body));
        Body inside = of_column(Body{Loop{round, LoopKind::Serial, std::move(body), true, nullptr}}, c);
        Body threads{Loop{c, LoopKind::Thread, std::move(inside), true, nullptr}};
        return Loop{w, LoopKind::Thread, std::move(threads), true, nullptr};
    }

    // Locals of a thread are of one Thread loop.
    Body own_locals(Body body) {
        for (const int b : stored_in_body(body)) {
            body = with_own_local(kernel_, body, b);
            renamed_[b] = static_cast<int>(kernel_.buffers.size()) - 1;
        }
        return body;
    }

    Stmt all_totals() {
        const NodeRef c = kernel_.new_var(kColumns), b = kernel_.new_var(sum_.blocks());
        Body adds;
        for (const auto& [part, array] : parts_)
            adds.emplace_back(Store{part, kernel_.index(0), kernel_.load(array, place(b, c))});
        append(adds, substitute(kernel_, sum_.totals, counted(kernel_, sum_.vars, b)));
        Body body = sum_.before;
        append(body, partly_unrolled(kernel_, Body{Loop{b, LoopKind::Serial, std::move(adds), false, nullptr}}));
        append(body, sum_.after);
        return Loop{c, LoopKind::Thread, of_column(body, c), true, nullptr};
    }

    Kernel& kernel_;
    const GridSchedule& schedule_;
    const ColumnSum& sum_;
    const std::int64_t columns_;
    NodeRef block_;
    std::map<int, int> parts_;    // arrays of all blocks' parts, in shared memory
    std::map<int, int> renamed_;  // locals of the threads that compute them
};

}  // namespace

std::optional<GridSchedule> choose_column_schedule(const Kernel& kernel, const Target& target, const Body& body,
                                                   const std::vector<NodeRef>& loops) {
    const std::optional<ColumnSum> sum = column_sum(kernel, body);
    if (!sum || product(loops) >= target.most_threads()) return {};
    GridSchedule chosen{.loops = loops, .threads = kColumns, .by_columns = true};
    while (2 * chosen.sums <= std::min(kMostSums, sum->blocks())) chosen.sums *= 2;
    return chosen;
}

Stmt columns_in_blocks(Kernel& kernel, const GridSchedule& schedule, const Body& body) {
    return ColumnBlocks(kernel, schedule, *column_sum(kernel, body))();
}

}  // namespace weft::kernel
