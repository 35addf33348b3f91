// kernel/row_sums.cpp: see row_sums.h.
//
//     total = 0                                 for w < width, all at a time:
//     for b < blocks                                parts[b + w] = sum of block b + w
//       part = sum of block b         becomes   total = 0
//       total = total + part                    for b < blocks
//                                                 total = total + parts[b]
#include "kernel/row_sums.h"

#include "kernel/block_loops.h"
#include "kernel/nest.h"

#include "core/checked.h"
#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <functional>
#include <map>

namespace weft::kernel {
namespace {

bool is_scalar(const Kernel& kernel, int b) {
    const Buffer& buffer = kernel.buffers[static_cast<std::size_t>(b)];
    return buffer.role == Buffer::Role::Local && buffer.size == 1;
}

std::set<int> locals_of(const Kernel& kernel, const Parts& parts) {
    std::set<int> found;
    for (const Part& part : parts) {
        if (part.loop && part.loop->count) locals_in(kernel, part.loop->count, found);
        if (part.kind == Part::Kind::Around) found.merge(locals_of(kernel, part.inside));
        else locals_in(kernel, part.body, found);
    }
    return found;
}

std::set<int> stored_of(const Parts& parts) {
    std::set<int> stored;
    for_each_part(parts, [&](const Part& part) { stored.merge(stored_in_body(part.body)); });
    return stored;
}

// The loops over the blocks of a sum, outermost first, and what is computed for one block. Around the innermost one stand scalars only.
struct Nest {
    std::vector<const Part*> loops;
    Parts unit;              // … of a block
    Body totals;             // then: what is added up, in the order of the loops
    std::vector<int> parts;  // scalars that `unit` stores and `totals` loads
    std::int64_t blocks() const {
        std::int64_t all = 1;
        for (const Part* loop : loops) all *= loop->loop->extent();
        return all;
    }
};

class FindNest {
public:
    FindNest(const Kernel& kernel, const Parts& row) : kernel_(kernel), row_(row) {}

    // Of an Around part.
    std::optional<Nest> operator()(const Part& part) {
        Nest nest;
        std::set<int> outer;  // what is stored around the innermost loop
        const Part* at = &part;
        for (;;) {
            nest.loops.push_back(at);
            const Part* inner = nullptr;
            bool plain = true;
            for (const Part& inside : at->inside) {
                if (inside.kind == Part::Kind::Around && !inner && is_sum(inside)) inner = &inside;
                else plain = plain && inside.kind == Part::Kind::One;
            }
            if (!inner || !plain) break;
            for (const Part& inside : at->inside)
                if (inside.kind == Part::Kind::One) outer.merge(stored_in_body(inside.body));
            at = inner;
        }
        if (!split(*at, nest)) return {};
        const std::set<int> read = locals_of(kernel_, nest.unit);
        for (const int b : stored_in_body(nest.totals)) outer.insert(b);
        if (std::ranges::any_of(outer, [&](int b) { return read.contains(b); })) return {};
        return nest;
    }

private:
    // A loop around loops that are shared out and a last part of scalars.
    static bool is_sum(const Part& part) {
        return part.inside.size() > 1 && part.inside.back().kind == Part::Kind::One;
    }

    // The statements of the last part that store to what others use are the totals.
    bool split(const Part& innermost, Nest& nest) {
        if (!is_sum(innermost)) return false;
        std::set<int> outside;
        collect_outside(row_, innermost, outside);
        nest.unit = innermost.inside;
        Body& last = nest.unit.back().body;
        Body unit;
        for (const Stmt& stmt : last) {
            const Store* const store = stmt.store();
            if (!store || !is_scalar(kernel_, store->buffer)) return false;
            (outside.contains(store->buffer) ? nest.totals : unit).push_back(stmt);
        }
        last = std::move(unit);
        if (nest.totals.empty() || last.empty()) return false;
        const std::set<int> stored = stored_of(nest.unit);
        if (std::ranges::any_of(stored, [&](int b) {
                return outside.contains(b) || kernel_.buffers[static_cast<std::size_t>(b)].role != Buffer::Role::Local;
            }))
            return false;
        std::set<int> loaded;
        locals_in(kernel_, nest.totals, loaded);
        for (const int b : loaded)
            if (stored.contains(b)) {
                if (!is_scalar(kernel_, b)) return false;
                nest.parts.push_back(b);
            }
        return true;
    }

    void collect_outside(const Parts& parts, const Part& but, std::set<int>& found) const {
        for (const Part& part : parts) {
            if (&part == &but) continue;
            if (part.loop && part.loop->count) locals_in(kernel_, part.loop->count, found);
            if (part.kind == Part::Kind::Around) collect_outside(part.inside, but, found);
            else locals_in(kernel_, part.body, found);
        }
    }

    const Kernel& kernel_;
    const Parts& row_;
};

// ---- at the same time ------------------------------------------------------------------------------------------------

class SplitSums {
public:
    SplitSums(Kernel& kernel, Parts& row, std::int64_t width, std::int64_t threads)
        : kernel_(kernel), row_(row), width_(width), threads_(threads) {}

    void operator()() {
        Parts result;
        for (Part& part : row_) {
            const std::optional<Nest> nest =
                part.kind == Part::Kind::Around ? FindNest(kernel_, row_)(part) : std::nullopt;
            if (nest && nest->blocks() > 1 && is_simple(nest->unit)) split(part, *nest, result);
            else if (has_no_order(part)) split_chains(part, result);
            else result.push_back(part);
        }
        row_ = std::move(result);
    }

private:
    // Threads need not wait for each other inside of a loop: blocks may have fewer iterations than others.
    bool is_simple(const Parts& unit) const {
        return std::ranges::all_of(unit, [&](const Part& part) {
            if (part.kind == Part::Kind::Around) return part.in_threads && is_simple(part.inside);
            return end_of(part) <= threads_;
        });
    }
    static std::int64_t end_of(const Part& part) { return part.first.value_or(0) + product(part.vars); }

    void split(const Part& part, const Nest& nest, Parts& result) {
        const std::int64_t blocks = nest.blocks(), width = std::min(width_, blocks);
        std::map<int, int> parts;  // arrays of all blocks' parts
        for (const int b : nest.parts)
            parts[b] = kernel_.new_local("parts", kernel_.buffers[static_cast<std::size_t>(b)].dtype, blocks);
        const NodeRef round = kernel_.new_var(ceil_div(blocks, width));
        Parts wide = widened(nest, round, width, parts);
        if (ceil_div(blocks, width) == 1) {
            for (Part& each : wide) {
                replace(each, {{id_of(round), kernel_.index(0)}});
                result.push_back(std::move(each));
            }
        } else {
            Loop around{round, LoopKind::Serial, {}, false, nullptr};
            result.push_back({.kind = Part::Kind::Around, .loop = std::move(around), .inside = std::move(wide)});
        }
        result.push_back({.kind = Part::Kind::One, .body = Body{added(part, nest, 0, kernel_.index(0), parts)}});
    }

    void replace(Part& part, const Substitution& with) {
        part.body = substitute(kernel_, part.body, with);
        if (part.loop && part.loop->count) part.loop->count = substitute(kernel_, part.loop->count, with);
        for (Part& inner : part.inside) replace(inner, with);
    }

    using Wide =
        std::map<int, std::pair<int, std::int64_t>>;  // the array of a local, and how many elements each block has

    // The parts of `width` blocks, each of which has locals of its own.
    Parts widened(const Nest& nest, const NodeRef& round, std::int64_t width, const std::map<int, int>& parts) {
        Wide wide;
        for (const int b : stored_of(nest.unit)) {
            const Buffer narrow = kernel_.buffers[static_cast<std::size_t>(b)];
            wide[b] = {kernel_.new_local(narrow.name, narrow.dtype, narrow.size * width), narrow.size};
        }
        Parts result;
        for (const Part& part : nest.unit) result.push_back(widened(part, nest, round, width, wide, {}));
        for (const auto& [b, array] : parts) {
            Part store{.kind = Part::Kind::Shared};
            const NodeRef w = kernel_.new_var(width), block = number(round, width, w);
            store.vars = {w};
            store.body = if_there(Body{Store{array, block, kernel_.load(wide.at(b).first, w)}}, nest, block);
            result.push_back(std::move(store));
        }
        return result;
    }

    NodeRef number(const NodeRef& round, std::int64_t width, const NodeRef& w) const {
        return ir::simplify_index(*kernel_.interner, kernel_.add(kernel_.mul(round, kernel_.index(width)), w));
    }

    // A thread of each block has what one thread had. `counted` are the loops of each thread around: blocks differ in their counts.
    Part widened(const Part& part, const Nest& nest, const NodeRef& round, std::int64_t width, const Wide& wide,
                 std::vector<const Loop*> counts) {
        Part result = part;
        if (part.kind == Part::Kind::Around) {
            if (part.loop->count) counts.push_back(&*part.loop);
            result.loop->count = nullptr;
            result.inside.clear();
            for (const Part& inner : part.inside)
                result.inside.push_back(widened(inner, nest, round, width, wide, counts));
            return result;
        }
        const NodeRef w = kernel_.new_var(width), t = kernel_.new_var(threads_), block = number(round, width, w);
        const std::int64_t first = part.first.value_or(0);
        Body body = of_block(part.body, w, wide);
        for (const Loop* loop : counts)
            body = when(kernel_, kernel_.binary(ir::Op::Sub, loop->count, loop->var), std::move(body));
        body = substitute(kernel_, body, counted(kernel_, part.vars, kernel_.add(t, kernel_.index(-first))));
        if (first > 0) body = when(kernel_, kernel_.binary(ir::Op::Sub, t, kernel_.index(first - 1)), std::move(body));
        if (end_of(part) < threads_)
            body = when(kernel_, kernel_.binary(ir::Op::Sub, kernel_.index(end_of(part)), t), std::move(body));
        result.kind = Part::Kind::Shared;
        result.vars = {w, t};
        result.body = if_there(substitute(kernel_, body, of_number(nest, block)), nest, block);
        return result;
    }

    // Locals of the block with this number among those at the same time.
    Body of_block(const Body& body, const NodeRef& w, const Wide& wide) const {
        const auto at = [&](const std::pair<int, std::int64_t>& to, const NodeRef& index) {
            return ir::simplify_index(*kernel_.interner, kernel_.add(kernel_.mul(w, kernel_.index(to.second)), index));
        };
        Body result;
        for (const Stmt& stmt : body) {
            if (const Loop* const loop = stmt.loop()) {
                result.emplace_back(loop->with(of_block(loop->body, w, wide)));
                continue;
            }
            const Store& store = *stmt.store();
            const auto moved = [&](const NodeRef& root) {
                return ir::rebuild(std::span(&root, 1), [&](const ir::Node& node, const ir::Sources& sources) {
                    if (node.op == ir::Op::Load)
                        if (const auto found = wide.find(node.as<ir::LoadArg>().buffer); found != wide.end())
                            return kernel_.load(found->second.first, at(found->second, sources[0]),
                                                sources.size() > 1 ? sources[1] : nullptr);
                    return sources == node.sources ? NodeRef(&node)
                                                   : kernel_.interner->make(node.op, node.dtype, {}, sources, node.arg);
                })[0];
            };
            const auto found = wide.find(store.buffer);
            const NodeRef index = moved(store.index), value = moved(store.value);
            if (found == wide.end()) result.emplace_back(Store{store.buffer, index, value});
            else result.emplace_back(Store{found->second.first, at(found->second, index), value});
        }
        return result;
    }

    Substitution of_number(const Nest& nest, const NodeRef& block) const {
        std::vector<NodeRef> vars;
        for (const Part* loop : nest.loops) vars.push_back(loop->loop->var);
        return counted(kernel_, vars, ir::simplify_index(*kernel_.interner, block));
    }

    // Only if there is such a block.
    Body if_there(Body body, const Nest& nest, const NodeRef& block) {
        const Substitution with = of_number(nest, block);
        for (std::size_t l = nest.loops.size(); l-- > 0;) {
            const Loop& loop = *nest.loops[l]->loop;
            if (!loop.count) continue;
            const NodeRef left =
                kernel_.binary(ir::Op::Sub, substitute(kernel_, loop.count, with), substitute(kernel_, loop.var, with));
            body = when(kernel_, ir::simplify_index(*kernel_.interner, left), std::move(body));
        }
        if (ir::bounds(block).high >= nest.blocks())
            body = when(kernel_, kernel_.binary(ir::Op::Sub, kernel_.index(nest.blocks()), block), std::move(body));
        return body;
    }

    // The loops over the blocks, with loads in place of what was computed.
    Stmt added(const Part& part, const Nest& nest, std::size_t depth, const NodeRef& before,
               const std::map<int, int>& parts) {
        const NodeRef var = kernel_.new_var(part.loop->extent());
        const NodeRef number = kernel_.add(kernel_.mul(before, kernel_.index(part.loop->extent())), var);
        Body body;
        if (depth + 1 == nest.loops.size()) {
            const NodeRef at = ir::simplify_index(*kernel_.interner, number);
            for (const auto& [b, array] : parts) body.emplace_back(Store{b, kernel_.index(0), kernel_.load(array, at)});
            append(body, nest.totals);
        } else {
            for (const Part& inside : part.inside) {
                if (&inside == nest.loops[depth + 1]) body.push_back(added(inside, nest, depth + 1, number, parts));
                else append(body, inside.body);
            }
        }
        Loop loop{var, LoopKind::Serial, substitute(kernel_, body, {{part.loop->id(), var}}), false, nullptr};
        if (part.loop->count) loop.count = part.loop->count;
        return loop;
    }

    // ---- chains without an order ----

    // A loop that only accumulates, in any order: acc = max(acc, value). Of equal operands the later one wins, and the first NaN: so parts of
    // the loop, one after the other, give the same.
    bool has_no_order(const Part& part) const {
        if (part.kind != Part::Kind::Around || !part.in_threads || part.loop->count ||
            part.loop->extent() < 2 * width_ || part.inside.size() != 1 || part.inside[0].kind != Part::Kind::Shared ||
            end_of(part.inside[0]) > threads_)
            return false;
        return std::ranges::all_of(part.inside[0].body, [&](const Stmt& stmt) {
            const Store* const store = stmt.store();
            if (!store || kernel_.buffers[static_cast<std::size_t>(store->buffer)].role != Buffer::Role::Local)
                return false;
            const ir::Op op = store->value->op;
            const bool any = op == ir::Op::Max || op == ir::Op::Min || op == ir::Op::And || op == ir::Op::Or;
            if (!any && !(is_int(store->value->dtype) && (op == ir::Op::Add || op == ir::Op::Mul))) return false;
            const NodeRef acc = kernel_.load(store->buffer, store->index);
            Uses uses;
            collect_uses(store->value->sources[1], uses);
            return store->value->sources[0] == acc && std::ranges::none_of(uses.loads, [&](const NodeRef& load) {
                       return load->as<ir::LoadArg>().buffer == store->buffer;
                   });
        });
    }

    void split_chains(const Part& part, Parts& result) {
        const Part& inner = part.inside[0];
        const std::int64_t steps = ceil_div(part.loop->extent(), width_), first = inner.first.value_or(0);
        const NodeRef w = kernel_.new_var(width_), t = kernel_.new_var(threads_), q = kernel_.new_var(steps);
        const NodeRef step = kernel_.add(kernel_.mul(w, kernel_.index(steps)), q);
        const Substitution with = counted(kernel_, inner.vars, kernel_.add(t, kernel_.index(-first)));
        Body start, accumulate, finish;
        for (const Stmt& stmt : inner.body) {
            const Store& store = *stmt.store();
            const DType type = store.value->dtype;
            const ir::Op op = store.value->op;
            const int wide = kernel_.new_local("accs", type, width_ * threads_);
            const NodeRef at = kernel_.add(kernel_.mul(w, kernel_.index(threads_)), t);
            const NodeRef identity = kernel_.make(ir::Op::Const, type, {}, ir::ConstArg{ir::identity_word(op, type)});
            start.emplace_back(Store{wide, at, identity});
            accumulate.emplace_back(
                Store{wide, at,
                      kernel_.binary(op, kernel_.load(wide, at), substitute(kernel_, store.value->sources[1], with))});
            NodeRef all = kernel_.load(store.buffer, store.index);
            for (std::int64_t part_number = 0; part_number < width_; ++part_number) {
                const NodeRef from = kernel_.add(place_of(inner), kernel_.index(part_number * threads_ + first));
                all = kernel_.binary(op, all, kernel_.load(wide, ir::simplify_index(*kernel_.interner, from)));
            }
            finish.emplace_back(Store{store.buffer, store.index, all});
        }
        accumulate = substitute(kernel_, accumulate, {{part.loop->id(), step}});
        if (first > 0)
            accumulate = when(kernel_, kernel_.binary(ir::Op::Sub, t, kernel_.index(first - 1)), std::move(accumulate));
        if (end_of(inner) < threads_)
            accumulate =
                when(kernel_, kernel_.binary(ir::Op::Sub, kernel_.index(end_of(inner)), t), std::move(accumulate));
        if (part.loop->extent() % width_)
            accumulate = when(kernel_, kernel_.binary(ir::Op::Sub, kernel_.index(part.loop->extent()), step),
                              std::move(accumulate));
        result.push_back({.kind = Part::Kind::Shared, .body = std::move(start), .vars = {w, t}});
        Part chain{
            .kind = Part::Kind::Around, .loop = Loop{q, LoopKind::Serial, {}, false, nullptr}, .in_threads = true};
        chain.inside.push_back({.kind = Part::Kind::Shared, .body = std::move(accumulate), .vars = {w, t}});
        result.push_back(std::move(chain));
        Part finished = inner;
        finished.body = std::move(finish);
        result.push_back(std::move(finished));
    }

    // The number of the iteration of a nest.
    NodeRef place_of(const Part& part) const {
        NodeRef number = kernel_.index(0);
        for (const NodeRef& var : part.vars)
            number = kernel_.add(kernel_.mul(number, kernel_.index(extent_of(var))), var);
        return ir::simplify_index(*kernel_.interner, number);
    }

    Kernel& kernel_;
    Parts& row_;
    const std::int64_t width_, threads_;  // threads of each block
};

}  // namespace

std::int64_t blocks_of_sums(const Kernel& kernel, const Parts& parts) {
    std::int64_t most = 1;
    for (const Part& part : parts)
        if (part.kind == Part::Kind::Around)
            if (const std::optional<Nest> nest = FindNest(kernel, parts)(part)) most = std::max(most, nest->blocks());
    return most;
}

void share_blocks_of_sums(Kernel& kernel, Parts& parts, std::int64_t width, std::int64_t threads) {
    SplitSums(kernel, parts, width, threads)();
}

}  // namespace weft::kernel
