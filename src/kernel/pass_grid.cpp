// kernel/pass_grid.cpp: the "grid" pass, for processors with thousands of threads. Iterations of the outermost independent loops are shared
// out among the threads of all blocks; or, where there is much to do in each, among the blocks, whose threads share the loops inside.
// Nothing is computed in another order: a chain of a sum is one thread's, and threads meet where lanes would.
#include "kernel/block_loops.h"
#include "kernel/contraction_nest.h"
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "core/checked.h"
#include "ir/symbolic.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

namespace weft::kernel {
namespace {

constexpr std::int64_t kThreads = 256;             // of a block whose threads have iterations of their own …
constexpr std::int64_t kRowThreads = 64;           // … and of one that shares an iteration: the chains of a sum
constexpr std::int64_t kUnrolled = 4;              // iterations of a thread, of which all loads come first
constexpr std::int64_t kManyIterations = 1 << 20;  // from there on threads have several
constexpr std::int64_t kRowWork = 128;             // iterations of a row that a block shares; …
constexpr std::int64_t kSomeWork = 32;             // … these, where there are few rows, or a row needs much memory
constexpr std::int64_t kManyRows = 1 << 13;        // enough for threads to have rows of their own
constexpr std::int64_t kLargeLocals = 1 << 10;     // bytes of one thread: where more are wanted, a block has them

bool is_free(const Loop& loop) {
    return loop.independent && !loop.count && (loop.kind == LoopKind::Serial || loop.kind == LoopKind::Unrolled);
}

// The independent loops that stand alone in each other, outermost first, and what is inside.
std::pair<std::vector<NodeRef>, const Body*> free_nest(const Loop& loop) {
    std::vector<NodeRef> vars;
    const Loop* at = &loop;
    for (;;) {
        vars.push_back(at->var);
        const Loop* const inner = at->body.size() == 1 ? at->body[0].loop() : nullptr;
        if (!inner || !is_free(*inner)) return {std::move(vars), &at->body};
        at = inner;
    }
}

bool is_block(const Stmt& stmt) { return stmt.loop() && stmt.loop()->kind == LoopKind::Block; }

bool contains_loops(const Body& body) {
    return std::ranges::any_of(body, [](const Stmt& stmt) { return stmt.loop() != nullptr; });
}

// Iterations that the threads of a block could share.
std::int64_t shared_work(const Body& body) {
    std::int64_t work = 0;
    for (const Stmt& stmt : body)
        if (const Loop* const loop = stmt.loop()) {
            if (is_free(*loop)) work += product(free_nest(*loop).first);
            else work += std::min<std::int64_t>(loop->extent(), 1 << 20) * shared_work(loop->body);
            work = std::min<std::int64_t>(work, 1 << 30);
        }
    return work;
}

void locals_in(const Kernel& kernel, const NodeRef& expression, std::set<int>& found) {
    Uses uses;
    collect_uses(expression, uses);
    for (const NodeRef& load : uses.loads)
        if (const int b = load->as<ir::LoadArg>().buffer;
            kernel.buffers[static_cast<std::size_t>(b)].role == Buffer::Role::Local)
            found.insert(b);
}

void locals_in(const Kernel& kernel, const Body& body, std::set<int>& found) {
    for (const Stmt& stmt : body) {
        if (const Loop* const loop = stmt.loop()) {
            if (loop->count) locals_in(kernel, loop->count, found);
            locals_in(kernel, loop->body, found);
        } else if (const Store* const store = stmt.store()) {
            if (kernel.buffers[static_cast<std::size_t>(store->buffer)].role == Buffer::Role::Local)
                found.insert(store->buffer);
            locals_in(kernel, store->index, found);
            locals_in(kernel, store->value, found);
        }
    }
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

// Does a statement load what another one before it has stored? Then the values of all cannot come before all stores.
bool reads_stored(const Body& body) {
    std::set<int> stored;
    for (const Stmt& stmt : body) {
        const Store* const store = stmt.store();
        if (!store) return true;
        Uses uses;
        collect_uses(store->value, uses);
        collect_uses(store->index, uses);
        for (const NodeRef& load : uses.loads)
            if (stored.contains(load->as<ir::LoadArg>().buffer)) return true;
        stored.insert(store->buffer);
    }
    return false;
}

// Whether four iterations that follow each other access neighbours in memory, or the same element, at multiples of four.
bool accesses_neighbours(const Kernel& kernel, const std::vector<NodeRef>& vars, const Body& body) {
    const NodeRef group = kernel.make(ir::Op::LoopVar, DType::I64, {},
                                      ir::LoopArg{kernel.next_var, ceil_div(product(vars), kUnrolled)});
    const NodeRef first = kernel.mul(group, kernel.index(kUnrolled));
    std::vector<Substitution> numbers;
    for (std::int64_t u = 0; u < kUnrolled; ++u)
        numbers.push_back(counted(kernel, vars, kernel.add(first, kernel.index(u))));
    const auto at = [&](const NodeRef& index, std::int64_t u) {
        return ir::simplify_index(*kernel.interner, substitute(kernel, index, numbers[static_cast<std::size_t>(u)]));
    };
    Uses uses = uses_of(body);
    for_each_store(body, [&](const Store& store, std::span<const Loop* const>) { uses.indices.push_back(store.index); });
    return std::ranges::all_of(uses.indices, [&](const NodeRef& index) {
        const NodeRef start = at(index, 0);
        const bool same = at(index, 1) == start;
        const auto step = ir::stride_of(*kernel.interner, start, kernel.next_var);
        for (std::int64_t u = 1; u < kUnrolled; ++u)
            if (at(index, u) != (same ? start : ir::simplify_index(*kernel.interner, kernel.add(start, kernel.index(u)))))
                return false;
        return same || !step || *step % kUnrolled == 0;
    });
}

GridSchedule schedule_for(const Kernel& kernel, const Body& whole, int statement) {
    const Loop* const loop = whole.size() == 1 ? whole[0].loop() : nullptr;
    if (!loop || !is_free(*loop)) return {.statement = statement, .by_rows = true, .threads = kRowThreads};
    auto [vars, body] = free_nest(*loop);
    const std::int64_t iterations = product(vars);
    GridSchedule chosen{.statement = statement, .loops = std::move(vars)};
    const std::int64_t work = has_contraction(whole) ? 0 : shared_work(*body);
    chosen.by_rows = work >= kRowWork || (work >= kSomeWork && iterations < kManyRows) ||
                     (work >= kSomeWork && local_bytes(kernel, *body) > kLargeLocals);
    chosen.threads = chosen.by_rows ? kRowThreads : std::min(kThreads, std::max<std::int64_t>(1, iterations));
    if (!chosen.by_rows && iterations >= kManyIterations && !contains_loops(*body) && !reads_stored(*body) &&
        local_bytes(kernel, *body) == 0) {
        chosen.each = kUnrolled;
        chosen.neighbours = accesses_neighbours(kernel, chosen.loops, *body);
    }
    return chosen;
}

// ---- applying --------------------------------------------------------------------------------------------------------

Loop loop_of(const NodeRef& var, LoopKind kind, Body body, bool independent = false, NodeRef count = nullptr) {
    return Loop{var, kind, std::move(body), independent, std::move(count)};
}

// Threads have iterations of their own. Of several, the values of all are there before the first is stored, so that loads do not wait.
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
        const NodeRef start = kernel_.add(kernel_.mul(b, kernel_.index(block)), kernel_.mul(t, kernel_.index(schedule_.neighbours ? schedule_.each : 1)));
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
    Body one(const NodeRef& number) { return copy(kernel_, *body_, counted(kernel_, vars_, number)); }

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
        Body values;
        std::vector<Body> stores(body_->size());  // of each statement: neighbours stand side by side
        for (std::int64_t u = 0; u < schedule_.each; ++u) {
            const NodeRef number = ir::simplify_index(*kernel_.interner, kernel_.add(start, kernel_.index(u * step)));
            const Body statements = one(number);
            for (std::size_t s = 0; s < statements.size(); ++s) {
                const Store& store = *statements[s].store();
                const int local = kernel_.new_local("value", store.value->dtype, 1);
                values.emplace_back(Store{local, kernel_.index(0), store.value});
                stores[s].emplace_back(Store{store.buffer, store.index, kernel_.load(local, kernel_.index(0))});
            }
        }
        for (Body& each : stores) append(values, std::move(each));
        return values;
    }

    Kernel& kernel_;
    const GridSchedule& schedule_;
    std::vector<NodeRef> vars_;
    const Body* body_ = nullptr;
};

// A part of a block's work: statements of one thread; a nest of loops that the threads share, perhaps inside of loops that each of them
// runs; or a loop around other parts.
struct Part {
    enum class Kind : std::uint8_t { One, Shared, Around };
    Kind kind = Kind::One;
    Body body;                  // One, Shared
    std::vector<NodeRef> vars;  // Shared
    std::optional<Loop> loop;   // Around, without its body; Shared: a loop inside of the threads, around the body
    std::vector<Part> inside;   // Around
    std::optional<std::int64_t> first;  // Shared: the thread that has the first iteration, if that matters
};

// The threads of a block share an iteration.
class ByRows {
public:
    ByRows(Kernel& kernel, const GridSchedule& schedule, const Body& body)
        : kernel_(kernel), schedule_(schedule), body_(body) {}

    Stmt operator()() {
        const NodeRef block = kernel_.new_var(product(schedule_.loops));
        Body row = schedule_.loops.empty()
                       ? body_
                       : copy(kernel_, *free_nest(*body_[0].loop()).second, counted(kernel_, schedule_.loops, block));
        std::vector<Part> parts = parts_of(row);
        rename_locals(parts);
        find_private(parts);
        for (Part& part : parts) interchange(part);
        place_locals(parts);
        Body threads = written(parts);
        return loop_of(block, LoopKind::Block, std::move(threads), true);
    }

private:
    std::vector<Part> parts_of(const Body& body) {
        std::vector<Part> parts;
        for (const Stmt& stmt : body) {
            const Loop* const loop = stmt.loop();
            if (stmt.prefetch()) continue;
            if (loop && is_free(*loop)) {
                const auto [vars, inner] = free_nest(*loop);
                parts.push_back({.kind = Part::Kind::Shared, .body = *inner, .vars = vars});
            } else if (loop && shared_work(loop->body) > 0) {
                Loop around = loop->with({});
                around.kind = LoopKind::Serial;
                parts.push_back({.kind = Part::Kind::Around, .loop = around, .inside = parts_of(loop->body)});
            } else {
                if (parts.empty() || parts.back().kind != Part::Kind::One) parts.emplace_back();
                parts.back().body.push_back(stmt);
            }
        }
        return parts;
    }

    // Locals that every iteration of a nest stores to, at the same place, are the iteration's: other parts have other ones.
    void rename_locals(std::vector<Part>& parts) {
        for (Part& part : parts) {
            rename_locals(part.inside);
            if (part.kind != Part::Kind::Shared || product(part.vars) < 2) continue;
            std::set<int> stored;
            for_each_store(part.body, [&](const Store& store, std::span<const Loop* const>) {
                if (kernel_.buffers[static_cast<std::size_t>(store.buffer)].role == Buffer::Role::Local)
                    stored.insert(store.buffer);
            });
            for_each_store(part.body, [&](const Store& store, std::span<const Loop* const>) {
                if (depends_on_any(store.index, part.vars)) stored.erase(store.buffer);
            });
            for (const int b : stored) part.body = with_own_local(kernel_, part.body, b);
        }
    }

    // ---- locals whose element i is thread i's ----

    void find_private(std::vector<Part>& parts) {
        for (std::size_t b = 0; b < kernel_.buffers.size(); ++b) {
            const Buffer& buffer = kernel_.buffers[b];
            if (buffer.role == Buffer::Role::Local && buffer.size > 1 && buffer.size <= schedule_.threads &&
                buffer.memory == Buffer::MemoryType::Register && uses_any(parts, static_cast<int>(b)) &&
                is_private(parts, static_cast<int>(b)))
                private_.insert(static_cast<int>(b));
        }
    }

    // Every store is of a thread to its own element. Others may load it: from a copy.
    bool is_private(std::vector<Part>& parts, int b) {
        return std::ranges::all_of(parts, [&](Part& part) {
            if (part.kind == Part::Kind::Around) return is_private(part.inside, b);
            if (!stores_to(part.body, b)) return true;
            const std::optional<std::int64_t> first = own_element(part, b);
            if (!first || (part.first && *part.first != *first) || product(part.vars) + *first > schedule_.threads)
                return false;
            part.first = first;
            return true;
        });
    }

    bool uses(const Part& part, int b) const {
        if (part.kind == Part::Kind::Around) return uses_any(part.inside, b);
        std::set<int> found;
        locals_in(kernel_, part.body, found);
        return found.contains(b);
    }
    bool uses_any(const std::vector<Part>& parts, int b) const {
        return std::ranges::any_of(parts, [&](const Part& part) { return uses(part, b); });
    }
    static bool stores_to(const Body& body, int b) {
        return std::ranges::any_of(body, [&](const Stmt& stmt) {
            return stmt.loop() ? stores_to(stmt.loop()->body, b) : stmt.store() && stmt.store()->buffer == b;
        });
    }

    // The element of the first iteration, where every iteration stores to and loads from its own: the first plus its number.
    std::optional<std::int64_t> own_element(const Part& part, int b) {
        if (part.kind != Part::Kind::Shared || product(part.vars) > schedule_.threads) return {};
        std::optional<std::int64_t> first;
        bool own = true;
        const auto note = [&](const NodeRef& index) {
            const std::optional<std::int64_t> at = offset_of(part.vars, index);
            own = own && at && (!first || *first == *at);
            if (at) first = at;
        };
        for_each_store(part.body, [&](const Store& store, std::span<const Loop* const>) {
            if (store.buffer == b) note(store.index);
            Uses uses;
            collect_uses(store.value, uses);
            collect_uses(store.index, uses);
            for (const NodeRef& load : uses.loads)
                if (load->as<ir::LoadArg>().buffer == b) note(load->sources[0]);
        });
        return own ? first : std::nullopt;
    }

    // c, if the index is c + the number of the iteration.
    std::optional<std::int64_t> offset_of(const std::vector<NodeRef>& vars, const NodeRef& index) {
        const NodeRef number = kernel_.new_var(product(vars));
        const NodeRef moved = ir::simplify_index(
            *kernel_.interner,
            kernel_.binary(ir::Op::Sub, substitute(kernel_, index, counted(kernel_, vars, number)), number));
        if (moved->op != ir::Op::Const) return {};
        const auto offset = static_cast<std::int64_t>(moved->as<ir::ConstArg>().value);
        return offset >= 0 ? std::optional(offset) : std::nullopt;
    }

    // ---- loops that each thread runs by itself ----

    // A loop around threads that touch nothing of each other needs no barrier in every iteration: it moves inside.
    void interchange(Part& part) {
        if (part.kind != Part::Kind::Around) return;
        for (Part& inner : part.inside) interchange(inner);
        if (part.inside.size() != 1 || part.inside[0].kind != Part::Kind::Shared || part.inside[0].loop ||
            !is_apart(part.inside[0].body))
            return;
        Part inner = std::move(part.inside[0]);
        inner.loop = std::move(part.loop);
        part = std::move(inner);
    }

    // What is stored is a thread's own, or is not loaded here.
    bool is_apart(const Body& body) const {
        std::set<int> stored, loaded;
        for_each_store(body, [&](const Store& store, std::span<const Loop* const>) {
            stored.insert(store.buffer);
            Uses uses;
            collect_uses(store.value, uses);
            collect_uses(store.index, uses);
            for (const NodeRef& load : uses.loads) loaded.insert(load->as<ir::LoadArg>().buffer);
        });
        return std::ranges::none_of(stored, [&](int b) { return loaded.contains(b) && !private_.contains(b); });
    }

    // ---- where locals are ----

    // Those of several parts are the block's.
    void place_locals(const std::vector<Part>& parts) {
        std::map<int, int> users;
        count_users(parts, users);
        for (const auto& [b, count] : users)
            if (count > 1 && !private_.contains(b))
                kernel_.buffers[static_cast<std::size_t>(b)].memory = Buffer::MemoryType::Shared;
        for (const int b : private_) {
            const Buffer whole = kernel_.buffers[static_cast<std::size_t>(b)];
            copies_[b] = kernel_.new_local(whole.name + "s", whole.dtype, whole.size);
            kernel_.buffers.back().memory = Buffer::MemoryType::Shared;
            Buffer& own = kernel_.buffers[static_cast<std::size_t>(b)];
            own.per_thread = true;
            own.size = 1;
        }
    }

    void count_users(const std::vector<Part>& parts, std::map<int, int>& users) const {
        for (const Part& part : parts) {
            if (part.kind == Part::Kind::Around) {
                std::set<int> found;
                if (part.loop->count) locals_in(kernel_, part.loop->count, found);
                for (const int b : found) users[b] += 2;
                count_users(part.inside, users);
                continue;
            }
            std::set<int> found;
            locals_in(kernel_, part.body, found);
            if (part.loop && part.loop->count) locals_in(kernel_, part.loop->count, found);
            for (const int b : found) ++users[b];
        }
    }

    // ---- loops ----

    Body written(const std::vector<Part>& parts) {
        Body body;
        for (const Part& part : parts) {
            if (part.kind == Part::Kind::Around) {
                body.emplace_back(part.loop->with(written(part.inside)));
                continue;
            }
            std::set<int> found;
            locals_in(kernel_, part.body, found);
            Body statements = part.body;
            for (const int b : found)
                if (private_.contains(b) && own_element(part, b) != part.first.value_or(0)) {
                    append(body, {copy_out(b)});
                    statements = redirected(kernel_, statements, b, copies_.at(b));
                } else if (private_.contains(b)) {
                    statements = redirected(kernel_, statements, b, b, true);
                }
            if (part.kind == Part::Kind::One)
                body.emplace_back(loop_of(kernel_.new_var(1), LoopKind::Thread, std::move(statements), true));
            else body.emplace_back(shared(part, std::move(statements)));
        }
        return body;
    }

    // What others may load: thread i's value is element i of the copy.
    Stmt copy_out(int b) {
        const int to = copies_.at(b);
        const NodeRef t = kernel_.new_var(kernel_.buffers[static_cast<std::size_t>(to)].size);
        return loop_of(t, LoopKind::Thread, Body{Store{to, t, kernel_.load(b, kernel_.index(0))}}, true);
    }

    Stmt shared(const Part& part, Body statements) {
        const std::int64_t all = product(part.vars);
        const auto inside = [&](const NodeRef& number) {
            Body body = copy(kernel_, statements, counted(kernel_, part.vars, number));
            if (!part.loop) return body;
            const NodeRef var = kernel_.new_var(part.loop->extent());
            Loop loop = loop_of(var, LoopKind::Serial, substitute(kernel_, body, {{part.loop->id(), var}}), false);
            if (part.loop->count) loop.count = part.loop->count;
            return Body{std::move(loop)};
        };
        const std::int64_t first = part.first.value_or(0);
        if (all + first <= schedule_.threads) {
            const NodeRef t = kernel_.new_var(all + first);
            if (first == 0) return loop_of(t, LoopKind::Thread, inside(t), true);
            const NodeRef number = kernel_.binary(ir::Op::Sub, t, kernel_.index(first));
            const NodeRef mine = kernel_.binary(ir::Op::Sub, t, kernel_.index(first - 1));
            return loop_of(t, LoopKind::Thread, when(kernel_, mine, inside(number)), true);
        }
        const NodeRef t = kernel_.new_var(schedule_.threads), q = kernel_.new_var(ceil_div(all, schedule_.threads));
        const NodeRef number =
            ir::simplify_index(*kernel_.interner, kernel_.add(kernel_.mul(q, kernel_.index(schedule_.threads)), t));
        NodeRef count;
        if (all % schedule_.threads)
            count = ir::simplify_index(
                *kernel_.interner,
                kernel_.binary(ir::Op::IDiv, kernel_.binary(ir::Op::Sub, kernel_.index(all + schedule_.threads - 1), t),
                               kernel_.index(schedule_.threads)));
        Body steps{loop_of(q, LoopKind::Serial, inside(number), true, count)};
        return loop_of(t, LoopKind::Thread, std::move(steps), true);
    }

    Kernel& kernel_;
    const GridSchedule& schedule_;
    const Body& body_;
    std::set<int> private_;      // locals of which each thread has an element
    std::map<int, int> copies_;  // … that others load from
};

}  // namespace

// Statements that share no local are launches of their own. Locals in independent loops are their iterations'.
Decisions choose_grid(const Kernel& kernel, const Target&) {
    std::map<int, int> users;
    bool one = kernel.body.empty();
    for (const Stmt& stmt : kernel.body) {
        if (is_block(stmt)) continue;
        std::set<int> found;
        if (!stmt.loop() || !is_free(*stmt.loop())) locals_in(kernel, Body{stmt}, found);
        for (const int b : found) one = one || ++users[b] > 1;
        one = one || !stmt.loop();
    }
    if (one) return {GridSchedule{.by_rows = true, .threads = kRowThreads}};
    Decisions chosen;
    for (std::size_t s = 0; s < kernel.body.size(); ++s)
        if (!is_block(kernel.body[s]))
            chosen.emplace_back(schedule_for(kernel, Body{kernel.body[s]}, static_cast<int>(s)));
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
        Stmt made =
            schedule.by_rows ? ByRows(kernel, schedule, body)() : ByThreads(kernel, schedule, *body[0].loop())();
        if (schedule.statement < 0) kernel.body = Body{std::move(made)};
        else kernel.body[static_cast<std::size_t>(schedule.statement)] = std::move(made);
    }
    return kernel;
}

}  // namespace weft::kernel
