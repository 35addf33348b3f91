// kernel/row_schedule.cpp: see row_schedule.h. Decides how many threads share a row, and where its loops and locals are:
// - Scalars are computed by every thread for itself: that costs less than waiting for one of them.
// - A loop around threads that meet nobody moves inside of them, so that no iteration ends with a barrier.
// - Arrays of which each thread accumulates its own elements are registers. Others load them from a copy in shared memory.
// - Rows of inputs that several parts load are staged (kernel/row_staging.h).
// It looks at the parts of a copy of the kernel, and changes nothing.
#include "kernel/row_schedule.h"

#include "kernel/block_loops.h"
#include "kernel/nest.h"
#include "kernel/row_block.h"
#include "kernel/row_staging.h"
#include "kernel/row_sums.h"

#include "core/checked.h"
#include "ir/walk.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace weft::kernel {
namespace {

constexpr std::int64_t kWarp = 32;              // threads that need no barrier
constexpr std::int64_t kThreadSlots = 64;       // elements of an array in the registers of a thread
constexpr std::int64_t kMostWork = 4096;        // ops of one thread that are written out
constexpr std::int64_t kMostGroups = 4;         // of a block
constexpr std::int64_t kMostStaged = 32 << 10;  // bytes of a row in shared memory

// ---- what is known of a row ------------------------------------------------------------------------------------------

// The longest loop that threads share, with the loops around it.
std::int64_t longest_row(const Parts& parts) {
    std::int64_t longest = 1;
    for (const Part& part : parts) {
        if (part.kind == Part::Kind::Shared) longest = std::max(longest, product(part.vars));
        if (part.kind == Part::Kind::Around)
            longest =
                std::max(longest, std::min<std::int64_t>(part.loop->extent(), 1 << 20) * longest_row(part.inside));
    }
    return longest;
}

std::int64_t ops_of(const Body& body) {
    std::vector<NodeRef> values;
    for_each_store(body, [&](const Store& store, std::span<const Loop* const>) { values.push_back(store.value); });
    std::int64_t ops = static_cast<std::int64_t>(values.size());
    for (const ir::Node* node : ir::topological_order(values)) ops += !node->sources.empty();
    return ops;
}

// Ops of a thread, if all its loops are written out.
std::int64_t work_of(const Parts& parts, std::int64_t threads) {
    std::int64_t work = 0;
    for (const Part& part : parts) {
        if (part.kind == Part::Kind::Shared) work += ceil_div(product(part.vars), threads) * ops_of(part.body);
        if (part.kind == Part::Kind::Around)
            work += std::min<std::int64_t>(part.loop->extent(), 1 << 20) * work_of(part.inside, threads);
    }
    return std::min<std::int64_t>(work, 1 << 30);
}

// Whether barriers stand in loops: then these cannot be written out.
bool has_barriers_inside(const Parts& parts) {
    return std::ranges::any_of(parts,
                               [](const Part& part) { return part.kind == Part::Kind::Around && !part.in_threads; });
}

// ---- loops that each thread runs by itself ---------------------------------------------------------------------------

// What is stored is a thread's own, or is not loaded here.
bool is_apart(const Kernel& kernel, const Parts& parts, const std::set<int>& owned, std::int64_t threads) {
    std::set<int> stored;
    for_each_part(parts, [&](const Part& part) { stored.merge(stored_in_body(part.body)); });
    bool apart = true;
    for_each_part(parts, [&](const Part& part) {
        for (const int b : stored)
            apart = apart && (!is_loaded(part, b) || (owned.contains(b) && loads_own(kernel, part, b, threads)));
    });
    return apart;
}

void interchange(const Kernel& kernel, Part& part, const std::set<int>& owned, std::int64_t threads) {
    if (part.kind != Part::Kind::Around) return;
    for (Part& inner : part.inside) interchange(kernel, inner, owned, threads);
    part.in_threads =
        std::ranges::all_of(part.inside,
                            [](const Part& inner) { return inner.kind == Part::Kind::Shared || inner.in_threads; }) &&
        is_apart(kernel, part.inside, owned, threads);
}

// A row of the schedule so far, with its loops interchanged; the schedule says which, then.
RowBlock interchanged(Kernel& kernel, GridSchedule& schedule, const Body& body) {
    RowBlock row = row_block(kernel, schedule, body);
    for (Part& part : row.parts) interchange(kernel, part, row.owned, schedule.threads);
    schedule.in_threads.clear();
    const std::vector<Part*> loops = numbered_loops(row.parts);
    for (std::size_t i = 0; i < loops.size(); ++i)
        if (loops[i]->in_threads) schedule.in_threads.push_back(static_cast<int>(i));
    return row;
}

// ---- where locals are ------------------------------------------------------------------------------------------------

class RowLocals {
public:
    RowLocals(const Kernel& kernel, const GridSchedule& schedule, const RowBlock& row)
        : kernel_(kernel), threads_(schedule.threads), row_(row) {
        find_registers(schedule.unrolled);
        find_replicated();
    }

    void write_to(GridSchedule& schedule) const {
        std::map<int, int> users;
        count_users(row_.parts, users);
        const std::vector<int> locals = numbered_locals(kernel_, row_.parts);
        for (std::size_t i = 0; i < locals.size(); ++i) {
            const int b = locals[i], number = static_cast<int>(i);
            if (registers_.contains(b)) schedule.registers.push_back(number);
            if (registers_.contains(b) && is_loaded_by_others(b)) schedule.copied.push_back(number);
            if (replicated_.contains(b)) schedule.replicated.push_back(number);
            if (users[b] > 1 && !registers_.contains(b) && !replicated_.contains(b)) schedule.shared.push_back(number);
        }
    }

private:
    // Those that a part both loads and stores accumulate something; and, where loops are written out, those that nobody else loads.
    void find_registers(bool unrolled) {
        for (const int b : row_.owned) {
            const std::int64_t slots = ceil_div(kernel_.buffers[static_cast<std::size_t>(b)].size, threads_);
            bool accumulates = false, all_own = true;
            for_each_part(row_.parts, [&](const Part& part) {
                std::set<int> used;
                locals_in(kernel_, part.body, used);
                if (!used.contains(b)) return;
                const bool own = loads_own(kernel_, part, b, threads_);
                accumulates = accumulates || (own && is_loaded(part, b) && stored_in_body(part.body).contains(b));
                all_own = all_own && own;
            });
            if ((accumulates && slots <= kExplicitRounds) || (unrolled && all_own && slots <= kThreadSlots))
                registers_.insert(b);
        }
    }

    bool is_loaded_by_others(int b) const {
        bool loaded = false;
        for_each_part(row_.parts, [&](const Part& part) { loaded = loaded || !loads_own(kernel_, part, b, threads_); });
        return loaded;
    }

    // All that the statement stores to.
    static std::set<int> stored_by(const Stmt& stmt) { return stored_in_body(Body{stmt}); }

    void find_replicated() {
        std::set<int> refused;
        for_each_part(row_.parts, [&](const Part& part) {
            for (const int b : stored_in_body(part.body)) {
                const Buffer& buffer = kernel_.buffers[static_cast<std::size_t>(b)];
                const bool scalar = buffer.role == Buffer::Role::Local && buffer.size == 1;
                (part.kind == Part::Kind::One && scalar ? replicated_ : refused).insert(b);
            }
            if (part.kind == Part::Kind::One) refuse_overwritten(part, refused);
        });
        for (const int b : refused) replicated_.erase(b);
        for (bool changed = true; changed;) {  // a statement is run by all threads, or by one
            changed = false;
            for_each_part(row_.parts, [&](const Part& part) {
                if (part.kind != Part::Kind::One) return;
                for (const Stmt& stmt : part.body) {
                    const std::set<int> stored = stored_by(stmt);
                    if (std::ranges::all_of(stored, [&](int b) { return replicated_.contains(b); })) continue;
                    for (const int b : stored) changed = replicated_.erase(b) > 0 || changed;
                }
            });
        }
    }

    // What one thread stores here may be gone before the others have loaded it.
    void refuse_overwritten(const Part& part, std::set<int>& refused) const {
        const std::set<int> stored = stored_in_body(part.body);
        for (const Stmt& stmt : part.body)
            for (const NodeRef& load : uses_of(Body{stmt}).loads) {
                const int b = load->as<ir::LoadArg>().buffer;
                if (stored.contains(b) && kernel_.buffers[static_cast<std::size_t>(b)].role != Buffer::Role::Local)
                    refused.merge(stored_by(stmt));
            }
    }

    void count_users(const Parts& parts, std::map<int, int>& users) const {
        for (const Part& part : parts) {
            std::set<int> found;
            if (part.kind == Part::Kind::Around) {
                if (part.loop->count) locals_in(kernel_, part.loop->count, found);
                for (const int b : found) users[b] += 2;
                count_users(part.inside, users);
                continue;
            }
            locals_in(kernel_, part.body, found);
            for (const int b : found) ++users[b];
        }
    }

    const Kernel& kernel_;
    const std::int64_t threads_;
    const RowBlock& row_;
    std::set<int> registers_, replicated_;
};

// ---- threads ---------------------------------------------------------------------------------------------------------

// Rows of so many elements: how many threads have one, and how many of them are in a block.
void choose_threads(GridSchedule& schedule, const Target& target, std::int64_t length) {
    const std::int64_t enough_blocks = std::int64_t{2} * target.multiprocessors, rows = product(schedule.loops);
    schedule.threads = length > kWarp * kThreadSlots || rows < enough_blocks ? 2 * kWarp : kWarp;
    for (std::int64_t groups = kMostGroups; groups > 1 && schedule.threads == kWarp; groups /= 2)
        if (rows % groups == 0 && rows / groups >= enough_blocks) {
            schedule.groups = groups;
            break;
        }
}

void choose_sums(GridSchedule& schedule, const Target& target, std::int64_t blocks) {
    if (schedule.threads <= kWarp) return;
    const std::int64_t rows = product(schedule.loops), most = std::min(kMostSums, blocks);
    while (2 * schedule.sums <= most && rows * schedule.threads < target.most_threads()) {
        schedule.sums *= 2;
        schedule.threads *= 2;
    }
}

void choose_staged(GridSchedule& schedule, const Kernel& kernel, RowBlock& row) {
    const StagedRows staged(kernel, row.parts, schedule.threads);
    std::int64_t bytes = 0;
    for (const int b : staged.buffers()) {
        const std::optional<StagedRow> one = staged.row_of(b);
        if (!one) continue;
        const DType t = kernel.buffers[static_cast<std::size_t>(b)].dtype;
        const bool registers = schedule.unrolled && one->own && one->length <= schedule.threads * kThreadSlots;
        if (!registers && (bytes += one->length * static_cast<std::int64_t>(size_of(t))) > kMostStaged) continue;
        schedule.staged.push_back(b);
    }
}

}  // namespace

GridSchedule choose_row_schedule(const Kernel& kernel, const Target& target, const Body& body,
                                 std::vector<NodeRef> loops) {
    GridSchedule chosen{.loops = std::move(loops), .threads = kWarp, .by_rows = true};
    Kernel first = kernel;
    const std::int64_t length = longest_row(row_block(first, chosen, body).parts);
    choose_threads(chosen, target, length);
    Kernel second = kernel;
    RowBlock row = interchanged(second, chosen, body);
    chosen.unrolled = !has_barriers_inside(row.parts) && length <= chosen.threads * kThreadSlots &&
                      work_of(row.parts, chosen.threads) <= kMostWork;
    choose_sums(chosen, target, blocks_of_sums(second, row.parts));
    choose_staged(chosen, second, row);
    Kernel last = kernel;
    row = interchanged(last, chosen, body);  // of as many threads as there are now
    prepare_parts(last, chosen, row);
    RowLocals(last, chosen, row).write_to(chosen);
    return chosen;
}

}  // namespace weft::kernel
