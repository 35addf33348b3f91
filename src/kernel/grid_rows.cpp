// kernel/grid_rows.cpp: see grid_rows.h. A row is taken apart into parts (kernel/row_parts.h):
// - Shared parts, loops without an order, run on all threads of the group.
// - Scalars are computed by every thread for itself: that costs less than waiting for one of them.
// - A loop around threads that meet nobody moves inside of them, so that no iteration ends with a barrier.
// - Arrays of which each thread accumulates its own elements are registers. Others load them from a copy in shared memory.
// - Rows of inputs that several parts load are staged: loaded once, into registers or shared memory.
#include "kernel/grid_rows.h"

#include "kernel/block_loops.h"
#include "kernel/linear_form.h"
#include "kernel/nest.h"
#include "kernel/row_parts.h"
#include "kernel/row_sums.h"

#include "core/checked.h"
#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

namespace weft::kernel {
namespace {

constexpr std::int64_t kWarp = 32;              // threads that need no barrier
constexpr std::int64_t kThreadSlots = 64;       // elements of an array in the registers of a thread
constexpr std::int64_t kMostWork = 4096;        // ops of one thread that are written out
constexpr std::int64_t kMostGroups = 4;         // of a block
constexpr std::int64_t kMostStaged = 32 << 10;  // bytes of a row in shared memory
constexpr std::int64_t kExplicitRounds = 4;     // iterations of a thread that are written out in any case

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

// A row of an input: elements base … base + length - 1, and the place of each load in it.
struct StagedRow {
    NodeRef base;
    std::int64_t length = 0;
    std::map<const ir::Node*, NodeRef> places;  // by load
    bool own = true;                            // each thread loads its own elements only
};

// Looks for rows of inputs that several shared parts load.
class StagedRows {
public:
    StagedRows(const Kernel& kernel, Parts& parts, std::int64_t threads) : kernel_(kernel), threads_(threads) {
        collect(parts, {});
    }

    std::optional<StagedRow> row_of(int buffer) {
        if (kernel_.buffers[static_cast<std::size_t>(buffer)].role == Buffer::Role::Local || !safe_.contains(buffer))
            return {};
        const auto found = loads_.find(buffer);
        if (found == loads_.end()) return {};
        std::set<const Part*> parts;
        for (const Loaded& load : found->second) parts.insert(load.part);
        if (parts.size() < 2) return {};
        return common_row(found->second);
    }

    std::vector<int> buffers() const {
        std::vector<int> all;
        for (const auto& [b, loads] : loads_) all.push_back(b);
        return all;
    }

private:
    struct Loaded {
        Part* part;
        NodeRef load;
        std::set<int> inner;  // ids of the loops inside of the row
    };

    void collect(Parts& parts, std::set<int> inner) {
        for (Part& part : parts) {
            std::set<int> here = inner;
            if (part.kind == Part::Kind::Around) {
                here.insert(part.loop->id());
                collect(part.inside, here);
                continue;
            }
            for (const NodeRef& var : part.vars) here.insert(id_of(var));
            for (const NodeRef& load : uses_of(part.body).loads) {
                const int b = load->as<ir::LoadArg>().buffer;
                const bool plain = part.kind == Part::Kind::Shared && load->sources.size() == 1 && !stored_.contains(b);
                if (loads_[b].empty()) safe_.insert(b);
                if (!plain) safe_.erase(b);
                loads_[b].push_back({&part, load, here});
            }
            for (const int b : stored_in_body(part.body)) stored_.insert(b);
        }
    }

    std::optional<StagedRow> common_row(const std::vector<Loaded>& loads) {
        std::map<const ir::Node*, std::int64_t> base;
        std::vector<LinearForm> places;
        std::int64_t low = INT64_MAX, high = INT64_MIN;
        for (const Loaded& loaded : loads) {
            const LinearForm index = linear_form(*loaded.load->sources[0]);
            if (!index.exact) return {};
            LinearForm place;
            place.constant = index.constant;
            std::map<const ir::Node*, std::int64_t> outside;
            std::int64_t least = index.constant, most = index.constant;
            for (const LinearForm::Term& term : index.terms) {
                if (!is_inside(*term.atom, loaded.inner)) {
                    if (!is_outside(*term.atom, loaded.inner)) return {};
                    outside[term.atom] = term.factor;
                    continue;
                }
                const std::int64_t last = term.atom->as<ir::LoopArg>().extent - 1;
                least += std::min<std::int64_t>(0, term.factor * last);
                most += std::max<std::int64_t>(0, term.factor * last);
                place.terms.push_back(term);
            }
            if (!places.empty() && outside != base) return {};
            base = std::move(outside);
            places.push_back(std::move(place));
            low = std::min(low, least);
            high = std::max(high, most);
        }
        return made(loads, base, places, low, high - low + 1);
    }

    std::optional<StagedRow> made(const std::vector<Loaded>& loads, const std::map<const ir::Node*, std::int64_t>& base,
                                  const std::vector<LinearForm>& places, std::int64_t low, std::int64_t length) {
        StagedRow row;
        row.length = length;
        row.base = kernel_.index(low);
        for (const auto& [atom, factor] : base)
            row.base = kernel_.add(row.base, kernel_.mul(NodeRef(atom), kernel_.index(factor)));
        row.base = ir::simplify_index(*kernel_.interner, row.base);
        for (std::size_t i = 0; i < loads.size(); ++i) {
            NodeRef place = kernel_.index(places[i].constant - low);
            for (const LinearForm::Term& term : places[i].terms)
                place = kernel_.add(place, kernel_.mul(NodeRef(term.atom), kernel_.index(term.factor)));
            place = ir::simplify_index(*kernel_.interner, place);
            const auto first = own_place(kernel_, place, loads[i].part->vars, threads_);
            row.own = row.own && first && first == loads[i].part->first.value_or(*first);
            row.places[loads[i].load.get()] = std::move(place);
        }
        return row;
    }

    static bool is_inside(const ir::Node& atom, const std::set<int>& inner) {
        return atom.op == ir::Op::LoopVar && inner.contains(atom.as<ir::LoopArg>().id);
    }
    static bool is_outside(const ir::Node& atom, const std::set<int>& inner) {
        return std::ranges::none_of(inner, [&](int id) { return ir::depends_on(NodeRef(&atom), id); });
    }

    const Kernel& kernel_;
    const std::int64_t threads_;
    std::map<int, std::vector<Loaded>> loads_;
    std::set<int> stored_, safe_;  // safe: loaded before anything is stored to it, by shared parts without gates
};

// ---- the loops -------------------------------------------------------------------------------------------------------

class RowBlocks {
public:
    RowBlocks(Kernel& kernel, const GridSchedule& schedule, const Body& body)
        : kernel_(kernel), schedule_(schedule), threads_(schedule.threads) {
        block_ = kernel_.new_var(product(schedule.loops) / schedule.groups);
        NodeRef row = block_;
        if (schedule.groups > 1) {
            group_ = kernel_.new_var(schedule.groups);
            row = kernel_.add(kernel_.mul(block_, kernel_.index(schedule.groups)), group_);
        }
        parts_ = parts_of(schedule.loops.empty() ? body
                                                 : copy(kernel_, *free_nest(*body[0].loop()).second,
                                                        counted(kernel_, schedule.loops, row)));
        rename_locals(kernel_, parts_);
    }

    Stmt operator()() {
        prepare();
        if (schedule_.sums > 1) {
            share_blocks_of_sums(kernel_, parts_, schedule_.sums, threads_ / schedule_.sums);
            find_places(parts_);
        }
        for (const int b : schedule_.staged) stage(b);
        find_registers();
        find_replicated();
        place_locals();
        return Loop{block_, LoopKind::Block, written(parts_), true, nullptr};
    }

    // Parts whose loops are interchanged, for who chooses.
    Parts& prepare() {
        find_places(parts_);
        for (Part& part : parts_) interchange(part);
        return parts_;
    }

private:
    // ---- arrays of which each thread has its own elements ----

    bool is_array(int b) const {
        const Buffer& buffer = kernel_.buffers[static_cast<std::size_t>(b)];
        return buffer.role == Buffer::Role::Local && buffer.size > 1;
    }

    // Notes whose each iteration is: that of an element that it stores to. An array is owned if each of its stores agrees.
    void find_places(Parts& parts) {
        std::set<int> refused;
        owned_.clear();
        for_each_part(parts, [&](Part& part) {
            part.first.reset();
            for_each_store(part.body, [&](const Store& store, std::span<const Loop* const>) {
                if (!is_array(store.buffer)) return;
                const auto first = part.kind == Part::Kind::Shared
                                       ? own_place(kernel_, store.index, part.vars, threads_)
                                       : std::nullopt;
                if (first && first == part.first.value_or(*first)) {
                    part.first = first;
                    owned_.insert(store.buffer);
                } else {
                    refused.insert(store.buffer);
                }
            });
        });
        for (const int b : refused) owned_.erase(b);
    }

    static bool is_loaded(const Part& part, int b) {
        return std::ranges::any_of(uses_of(part.body).loads,
                                   [&](const NodeRef& load) { return load->as<ir::LoadArg>().buffer == b; });
    }
    bool loads_own(const Part& part, int b) const {
        if (part.kind != Part::Kind::Shared) return !is_loaded(part, b);
        for (const NodeRef& load : uses_of(part.body).loads)
            if (load->as<ir::LoadArg>().buffer == b &&
                own_place(kernel_, load->sources[0], part.vars, threads_) != part.first.value_or(0))
                return false;
        return true;
    }

    // Those that a part both loads and stores accumulate something; and, where loops are written out, those that nobody else loads.
    void find_registers() {
        for (const int b : owned_) {
            const std::int64_t slots = ceil_div(kernel_.buffers[static_cast<std::size_t>(b)].size, threads_);
            bool accumulates = false, all_own = true;
            for_each_part(parts_, [&](const Part& part) {
                std::set<int> used;
                locals_in(kernel_, part.body, used);
                if (!used.contains(b)) return;
                const bool own = loads_own(part, b);
                accumulates = accumulates || (own && is_loaded(part, b) && stored_in_body(part.body).contains(b));
                all_own = all_own && own;
            });
            if ((accumulates && slots <= kExplicitRounds) || (schedule_.unrolled && all_own && slots <= kThreadSlots))
                registers_.insert(b);
        }
    }

    // ---- loops that each thread runs by itself ----

    void interchange(Part& part) {
        if (part.kind != Part::Kind::Around) return;
        for (Part& inner : part.inside) interchange(inner);
        part.in_threads =
            std::ranges::all_of(
                part.inside, [](const Part& inner) { return inner.kind == Part::Kind::Shared || inner.in_threads; }) &&
            is_apart(part.inside);
    }

    // What is stored is a thread's own, or is not loaded here.
    bool is_apart(const Parts& parts) const {
        std::set<int> stored;
        for_each_part(parts, [&](const Part& part) { stored.merge(stored_in_body(part.body)); });
        bool apart = true;
        for_each_part(parts, [&](const Part& part) {
            for (const int b : stored)
                apart = apart && (!is_loaded(part, b) || (owned_.contains(b) && loads_own(part, b)));
        });
        return apart;
    }

    // ---- staged rows ----

    void stage(int buffer) {
        const std::optional<StagedRow> row = StagedRows(kernel_, parts_, threads_).row_of(buffer);
        if (!row) return;
        const DType t = kernel_.buffers[static_cast<std::size_t>(buffer)].dtype;
        const int local = kernel_.new_local("staged", t, row->length);
        for_each_part(parts_, [&](Part& part) {
            if (part.kind != Part::Kind::Shared) return;
            part.body = with_loads(part.body, [&](const ir::Node& load, const ir::Sources&) -> NodeRef {
                const auto found = row->places.find(&load);
                return found == row->places.end() ? nullptr : kernel_.load(local, found->second);
            });
        });
        const NodeRef n = kernel_.new_var(row->length);
        Body copied{Store{local, n, kernel_.load(buffer, kernel_.add(row->base, n))}};
        parts_.insert(parts_.begin(),
                      Part{.kind = Part::Kind::Shared, .body = std::move(copied), .vars = {n}, .first = 0});
        if (row->own) {
            owned_.insert(local);
            for_each_part(parts_, [&](Part& part) {
                for (const NodeRef& load : uses_of(part.body).loads)
                    if (load->as<ir::LoadArg>().buffer == local)
                        part.first = own_place(kernel_, load->sources[0], part.vars, threads_);
            });
        }
    }

    // The statements with loads replaced where f gives something else.
    using ReplaceLoad = std::function<NodeRef(const ir::Node&, const ir::Sources&)>;
    NodeRef with_loads(const NodeRef& root, const ReplaceLoad& f) const {
        return ir::rebuild(std::span(&root, 1), [&](const ir::Node& node, const ir::Sources& sources) {
            if (node.op == ir::Op::Load)
                if (NodeRef other = f(node, sources)) return other;
            return sources == node.sources ? NodeRef(&node)
                                           : kernel_.interner->make(node.op, node.dtype, {}, sources, node.arg);
        })[0];
    }
    Body with_loads(const Body& body, const ReplaceLoad& f) const {
        Body result;
        for (const Stmt& stmt : body) {
            if (const Loop* const loop = stmt.loop()) {
                Loop other = loop->with(with_loads(loop->body, f));
                if (other.count) other.count = with_loads(other.count, f);
                result.emplace_back(std::move(other));
            } else if (const Store* const store = stmt.store()) {
                result.emplace_back(Store{store->buffer, with_loads(store->index, f), with_loads(store->value, f)});
            }
        }
        return result;
    }

    // ---- scalars that every thread computes for itself ----

    // All that the statement stores to.
    static std::set<int> stored_by(const Stmt& stmt) { return stored_in_body(Body{stmt}); }

    void find_replicated() {
        std::set<int> refused;
        for_each_part(parts_, [&](const Part& part) {
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
            for_each_part(parts_, [&](const Part& part) {
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

    bool is_replicated(const Stmt& stmt) const {
        return std::ranges::all_of(stored_by(stmt), [&](int b) { return replicated_.contains(b); });
    }

    // ---- where locals are ----

    void place_locals() {
        std::map<int, int> users;
        count_users(parts_, users);
        for (const auto& [b, count] : users)
            if (count > 1 && !registers_.contains(b) && !replicated_.contains(b)) share(b);
        for (const int b : replicated_) kernel_.buffers[static_cast<std::size_t>(b)].per_thread = true;
        for (const int b : registers_) {
            const Buffer whole = kernel_.buffers[static_cast<std::size_t>(b)];
            bool loaded = false;
            for_each_part(parts_, [&](const Part& part) { loaded = loaded || !loads_own(part, b); });
            if (loaded) {
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
                if (!loads_own(each, b)) found.insert(b);
        };
        if (part.kind == Part::Kind::Around) for_each_part(part.inside, look);
        else look(part);
        return found;
    }

    // Threads 0 … count - 1 of each group, or all of them: f sees to the others.
    Stmt each_thread(std::int64_t count, const std::function<Body(const NodeRef&)>& f) {
        if (!group_) {
            const NodeRef t = kernel_.new_var(count);
            return Loop{t, LoopKind::Thread, f(t), true, nullptr};
        }
        const NodeRef g = kernel_.new_var(schedule_.groups), t = kernel_.new_var(threads_);
        Body body = substitute(kernel_, of_group(f(t)), {{id_of(group_), g}});
        return Loop{g, LoopKind::Thread, Body{Loop{t, LoopKind::Thread, std::move(body), true, nullptr}}, true,
                    nullptr};
    }

    // The group's own elements of what is shared.
    Body of_group(const Body& body) const {
        const auto at = [&](int b, const NodeRef& index) {
            return kernel_.add(index, kernel_.mul(group_, kernel_.index(shared_.at(b))));
        };
        Body result = with_loads(body, [&](const ir::Node& load, const ir::Sources& sources) -> NodeRef {
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
        return with_loads(body, [&](const ir::Node& load, const ir::Sources& sources) -> NodeRef {
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
        Body result = with_loads(part.body, [&](const ir::Node& load, const ir::Sources& sources) -> NodeRef {
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
    NodeRef block_, group_;       // the group's number in the block; null: there is one
    Parts parts_;
    std::set<int> owned_;                 // arrays of which each thread stores to its own elements
    std::set<int> registers_;             // … which are its registers
    std::set<int> replicated_;            // scalars that every thread computes
    std::map<int, std::int64_t> shared_;  // elements of a group, by local
    std::map<int, int> copies_;           // of `registers_`, for other threads
};

}  // namespace

GridSchedule choose_row_schedule(const Kernel& kernel, const Target& target, const Body& body,
                                 std::vector<NodeRef> loops) {
    const std::int64_t enough_blocks = std::int64_t{2} * target.multiprocessors;
    GridSchedule chosen{.loops = std::move(loops), .threads = kWarp, .by_rows = true};
    Kernel trial = kernel;
    const std::int64_t rows = product(chosen.loops);
    const std::int64_t length = longest_row(RowBlocks(trial, chosen, body).prepare());
    if (length > kWarp * kThreadSlots || rows < enough_blocks) chosen.threads = 2 * kWarp;
    for (std::int64_t groups = kMostGroups; groups > 1 && chosen.threads == kWarp; groups /= 2)
        if (rows % groups == 0 && rows / groups >= enough_blocks) {
            chosen.groups = groups;
            break;
        }
    Kernel again = kernel;
    RowBlocks blocks(again, chosen, body);
    Parts& prepared = blocks.prepare();
    chosen.unrolled = !has_barriers_inside(prepared) && length <= chosen.threads * kThreadSlots &&
                      work_of(prepared, chosen.threads) <= kMostWork;
    if (chosen.threads > kWarp)
        for (const std::int64_t most = std::min(kMostSums, blocks_of_sums(again, prepared));
             2 * chosen.sums <= most && rows * chosen.threads < target.most_threads();) {
            chosen.sums *= 2;
            chosen.threads *= 2;
        }
    StagedRows staged(again, prepared, chosen.threads);
    std::int64_t bytes = 0;
    for (const int b : staged.buffers()) {
        const std::optional<StagedRow> row = staged.row_of(b);
        if (!row) continue;
        const DType t = kernel.buffers[static_cast<std::size_t>(b)].dtype;
        const bool registers = chosen.unrolled && row->own && row->length <= chosen.threads * kThreadSlots;
        if (!registers && (bytes += row->length * static_cast<std::int64_t>(size_of(t))) > kMostStaged) continue;
        chosen.staged.push_back(b);
    }
    return chosen;
}

Stmt rows_in_blocks(Kernel& kernel, const GridSchedule& schedule, const Body& body) {
    return RowBlocks(kernel, schedule, body)();
}

}  // namespace weft::kernel
