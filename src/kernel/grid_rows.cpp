// kernel/grid_rows.cpp: see grid_rows.h. Of the parts of a row (kernel/row_parts.h):
// - Shared parts, loops without an order, run on all threads of the group.
// - Scalars are computed by every thread, or by one of them.
// - A loop around threads stands inside of them, where the schedule says so.
// - Arrays of which each thread has its own elements are registers, from which others get copies through shared memory.
#include "kernel/grid_rows.h"

#include "kernel/block_loops.h"
#include "kernel/nest.h"
#include "kernel/row_block.h"

#include "core/checked.h"
#include "ir/symbolic.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace weft::kernel {
namespace {

class RowLoops {
public:
    RowLoops(Kernel& kernel, const GridSchedule& schedule, const Body& body)
        : kernel_(kernel), schedule_(schedule), threads_(schedule.threads), row_(row_block(kernel, schedule, body)) {
        prepare_parts(kernel_, schedule_, row_);
        place_locals();
    }

    Stmt operator()() { return Loop{row_.block, LoopKind::Block, written(row_.parts), true, nullptr}; }

private:
    // ---- locals, where the schedule has them ----

    void place_locals() {
        const std::vector<int> locals = numbered_locals(kernel_, row_.parts);
        const auto named = [&](const std::vector<int>& numbers) {
            std::set<int> found;
            for (const int number : numbers) found.insert(locals[static_cast<std::size_t>(number)]);
            return found;
        };
        registers_ = named(schedule_.registers);
        replicated_ = named(schedule_.replicated);
        for (const int b : named(schedule_.shared)) share(b);
        for (const int b : replicated_) kernel_.buffers[static_cast<std::size_t>(b)].per_thread = true;
        const std::set<int> copied = named(schedule_.copied);
        for (const int b : registers_) {
            const Buffer whole = kernel_.buffers[static_cast<std::size_t>(b)];
            if (copied.contains(b)) {
                copies_[b] = kernel_.new_local(whole.name + "s", whole.dtype, whole.size);
                share(copies_[b]);
            }
            Buffer& own = kernel_.buffers[static_cast<std::size_t>(b)];
            own.per_thread = true;
            own.memory = Buffer::MemoryType::Register;
            own.size = ceil_div(whole.size, threads_);
        }
    }

    // Each group has its own elements.
    void share(int b) {
        Buffer& buffer = kernel_.buffers[static_cast<std::size_t>(b)];
        shared_[b] = buffer.size;
        buffer.memory = Buffer::MemoryType::Shared;
        buffer.size *= schedule_.groups;
    }

    bool is_replicated(const Stmt& stmt) const {
        return std::ranges::all_of(stored_in_body(Body{stmt}), [&](int b) { return replicated_.contains(b); });
    }

    // ---- writing ----

    Body written(const Parts& parts) {
        Body body;
        for (const Part& part : parts) {
            if (part.kind == Part::Kind::Around && !part.in_threads) {
                body.emplace_back(part.loop->with(written(part.inside)));
                continue;
            }
            for (const int b : loaded_from_others(part)) body.push_back(copy_out(b));
            body.push_back(part.kind == Part::Kind::One ? once(part) : shared(part));
        }
        return body;
    }

    std::set<int> loaded_from_others(const Part& part) const {
        std::set<int> found;
        const auto look = [&](const Part& each) {
            for (const int b : registers_)
                if (!loads_own(kernel_, each, b, threads_)) found.insert(b);
        };
        if (part.kind == Part::Kind::Around) for_each_part(part.inside, look);
        else look(part);
        return found;
    }

    // Threads 0 … count - 1 of each group, or all of them: f sees to the others.
    Stmt each_thread(std::int64_t count, const std::function<Body(const NodeRef&)>& f) {
        if (!row_.group) {
            const NodeRef t = kernel_.new_var(count);
            return Loop{t, LoopKind::Thread, f(t), true, nullptr};
        }
        const NodeRef g = kernel_.new_var(schedule_.groups), t = kernel_.new_var(threads_);
        Body body = substitute(kernel_, of_group(f(t)), {{id_of(row_.group), g}});
        return Loop{g, LoopKind::Thread, Body{Loop{t, LoopKind::Thread, std::move(body), true, nullptr}}, true,
                    nullptr};
    }

    // The group's own elements of what is shared.
    Body of_group(const Body& body) const {
        const auto at = [&](int b, const NodeRef& index) {
            return kernel_.add(index, kernel_.mul(row_.group, kernel_.index(shared_.at(b))));
        };
        Body result = with_loads(kernel_, body, [&](const ir::Node& load, const ir::Sources& sources) -> NodeRef {
            const int b = load.as<ir::LoadArg>().buffer;
            if (!shared_.contains(b)) return nullptr;
            return kernel_.load(b, ir::simplify_index(*kernel_.interner, at(b, sources[0])),
                                sources.size() > 1 ? sources[1] : nullptr);
        });
        const auto move = [&](const auto& self, Body& statements) -> void {
            for (Stmt& stmt : statements) {
                if (stmt.loop()) self(self, stmt.loop()->body);
                else if (Store* const store = stmt.store(); store && shared_.contains(store->buffer))
                    store->index = ir::simplify_index(*kernel_.interner, at(store->buffer, store->index));
            }
        };
        move(move, result);
        return result;
    }

    Stmt once(const Part& part) {
        const bool all = std::ranges::any_of(part.body, [&](const Stmt& stmt) { return is_replicated(stmt); });
        return each_thread(all ? threads_ : 1, [&](const NodeRef& t) {
            Body body;
            for (const Stmt& stmt : from_copies(part.body))
                append(body, is_replicated(stmt) ? Body{stmt} : guarded(Body{stmt}, t, 0, 1));
            return body;
        });
    }

    Body from_copies(const Body& body) const {
        return with_loads(kernel_, body, [&](const ir::Node& load, const ir::Sources& sources) -> NodeRef {
            const auto found = copies_.find(load.as<ir::LoadArg>().buffer);
            return found == copies_.end() ? nullptr : kernel_.load(found->second, sources[0]);
        });
    }

    // What others may load: the elements of all threads.
    Stmt copy_out(int b) {
        const int to = copies_.at(b);
        const std::int64_t size = shared_.at(to);
        return each_thread(std::min(size, threads_), [&](const NodeRef& t) {
            Body body;
            for (std::int64_t slot = 0; slot * threads_ < size; ++slot) {
                const NodeRef at =
                    ir::simplify_index(*kernel_.interner, kernel_.add(t, kernel_.index(slot * threads_)));
                Body store{Store{to, at, kernel_.load(b, kernel_.index(slot))}};
                append(body, guarded(std::move(store), t, 0, size - slot * threads_));
            }
            return body;
        });
    }

    // For threads from `low` up to `high`.
    Body guarded(Body body, const NodeRef& t, std::int64_t low, std::int64_t high) {
        if (low > 0) body = when(kernel_, kernel_.binary(ir::Op::Sub, t, kernel_.index(low - 1)), std::move(body));
        if (high < extent_of(t))
            body = when(kernel_, kernel_.binary(ir::Op::Sub, kernel_.index(high), t), std::move(body));
        return body;
    }

    Stmt shared(const Part& part) {
        const std::int64_t last = part.kind == Part::Kind::Shared ? end_of(part) : threads_;
        return each_thread(std::min(last, threads_), [&](const NodeRef& t) { return of_thread(part, t); });
    }

    static std::int64_t end_of(const Part& part) { return part.first.value_or(0) + product(part.vars); }

    Body of_thread(const Part& part, const NodeRef& t) {
        if (part.kind == Part::Kind::Shared) return rounds_of(part, t);
        Body body;
        for (const Part& inner : part.inside) append(body, of_thread(inner, t));
        return loop_of_thread(*part.loop, std::move(body));
    }

    Body loop_of_thread(const Loop& around, Body body) {
        Loop loop = around.with(std::move(body));
        loop.kind = schedule_.unrolled && !loop.count ? LoopKind::Unrolled : LoopKind::Serial;
        return partly_unrolled(kernel_, Body{std::move(loop)});
    }

    // Whether what a part loads from inputs would wait for what it has stored to outputs in the iteration before.
    bool loads_and_stores(const Body& body) const {
        const auto is_memory = [&](int b) {
            return kernel_.buffers[static_cast<std::size_t>(b)].role != Buffer::Role::Local;
        };
        return !reads_stored(body) && std::ranges::all_of(stored_in_body(body), is_memory) &&
               std::ranges::any_of(uses_of(body).loads,
                                   [&](const NodeRef& load) { return is_memory(load->as<ir::LoadArg>().buffer); });
    }
    static std::int64_t some_of(std::int64_t rounds) {
        constexpr std::int64_t kMost = 8;
        std::int64_t some = kMost;
        while (rounds % some) some /= 2;
        return some;
    }

    // The iterations of one thread: those whose place is its number, modulo the threads.
    Body rounds_of(const Part& part, const NodeRef& t) {
        const std::int64_t first = part.first.value_or(0), end = end_of(part);
        const std::int64_t rounds = ceil_div(end, threads_), whole = first == 0 ? end / threads_ : 0;
        Body body;
        std::int64_t r = 0;
        if (whole > kExplicitRounds) {
            const std::int64_t some = loads_and_stores(part.body) ? some_of(whole) : 1;
            const NodeRef q = kernel_.new_var(whole / some);
            std::vector<Body> together;
            for (std::int64_t u = 0; u < some; ++u)
                together.push_back(one(part, t, kernel_.add(kernel_.mul(q, kernel_.index(some)), kernel_.index(u))));
            if (some > 1)
                body.emplace_back(Loop{q, schedule_.unrolled ? LoopKind::Unrolled : LoopKind::Serial,
                                       values_first(kernel_, together), true, nullptr});
            else append(body, loop_of_thread(Loop{q, LoopKind::Serial, {}, true, nullptr}, std::move(together[0])));
            r = whole;
        }
        for (; r < rounds; ++r)
            append(body, guarded(one(part, t, kernel_.index(r)), t, std::max<std::int64_t>(0, first - r * threads_),
                                 end - r * threads_));
        return body;
    }

    Body one(const Part& part, const NodeRef& t, const NodeRef& round) {
        const NodeRef number = kernel_.add(kernel_.add(kernel_.mul(round, kernel_.index(threads_)), t),
                                           kernel_.index(-part.first.value_or(0)));
        return copy(kernel_, own_elements(part, round),
                    counted(kernel_, part.vars, ir::simplify_index(*kernel_.interner, number)));
    }

    // Elements in registers by their slot; those of other threads from the copy.
    Body own_elements(const Part& part, const NodeRef& round) const {
        const auto slot_of = [&](const NodeRef& index) -> NodeRef {
            const NodeRef slot = own_slot(kernel_, index, part.vars, part.first.value_or(0), threads_);
            return slot ? ir::simplify_index(*kernel_.interner, kernel_.add(slot, round)) : nullptr;
        };
        Body result = with_loads(kernel_, part.body, [&](const ir::Node& load, const ir::Sources& sources) -> NodeRef {
            const int b = load.as<ir::LoadArg>().buffer;
            if (!registers_.contains(b)) return nullptr;
            const NodeRef gate = sources.size() > 1 ? sources[1] : nullptr;
            if (const NodeRef slot = slot_of(load.sources[0])) return kernel_.load(b, slot, gate);
            return kernel_.load(copies_.at(b), sources[0], gate);
        });
        const auto move = [&](const auto& self, Body& statements) -> void {
            for (Stmt& stmt : statements) {
                if (stmt.loop()) self(self, stmt.loop()->body);
                else if (Store* const store = stmt.store(); store && registers_.contains(store->buffer))
                    store->index = slot_of(store->index);
            }
        };
        move(move, result);
        return result;
    }

    Kernel& kernel_;
    const GridSchedule& schedule_;
    const std::int64_t threads_;  // of a group
    RowBlock row_;
    std::set<int> registers_, replicated_;  // locals that the schedule has there
    std::map<int, std::int64_t> shared_;    // elements of a group, by local
    std::map<int, int> copies_;             // of `registers_`, for other threads
};

}  // namespace

Stmt rows_in_blocks(Kernel& kernel, const GridSchedule& schedule, const Body& body) {
    return RowLoops(kernel, schedule, body)();
}

}  // namespace weft::kernel
