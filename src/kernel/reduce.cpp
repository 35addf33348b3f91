// kernel/reduce.cpp: the loops of a reduction: blocks, lanes, accumulators, and the tree that folds them.
#include "kernel/reduce.h"

#include "core/checked.h"
#include "core/str.h"
#include "ir/symbolic.h"
#include "ir/walk.h"
#include "kernel/lower_special.h"

#include <algorithm>

namespace weft::kernel {

using ir::Op;

bool rounds(const Reduction& r) { return is_float(r.dtype) && (r.op == Op::Add || r.op == Op::Mul); }

namespace {

NodeRef identity(const Kernel& kernel, const Reduction& r) {
    return kernel.make(Op::Const, r.dtype, {}, ir::ConstArg{ir::identity_word(r.op, r.dtype)});
}

NodeRef combine(const Kernel& kernel, const Reduction& r, const NodeRef& a, const NodeRef& b) {
    return kernel.binary(r.op, a, b);
}

NodeRef accumulated(const Kernel& kernel, const Reduction& r, const NodeRef& acc, const Substitution& at) {
    if (r.value) return combine(kernel, r, acc, substitute(kernel, r.value, at));
    return kernel.fma(substitute(kernel, r.left, at), substitute(kernel, r.right, at), acc);
}

}  // namespace

void collapse_groups(Kernel& kernel, ChainGroups& split, Uses uses, Substitution& with) {
    for (const auto& [id, count] : split.counts)
        uses.indices.push_back(count);  // blocks that end early depend on outer loops
    for (std::vector<NodeRef>& group : split.groups) {
        if (group.empty() || (group.size() == 1 && extent_of(group[0]) > 1)) continue;
        const int first = id_of(group[0]);
        const auto count = std::find_if(split.counts.begin(), split.counts.end(),
                                        [&](const auto& each) { return each.first == first; });
        if (count == split.counts.end()) {
            group = collapse(kernel, group, uses, with);
            continue;
        }
        // The first loop may end early: it is merged with all that is inside it, or with nothing.
        const std::int64_t inside = product(std::span(group).subspan(1));
        Substitution all, rest;
        std::vector<NodeRef> merged = collapse(kernel, group, uses, all);
        if (merged.size() == 1) {
            *count = {id_of(merged[0]), kernel.mul(count->second, kernel.index(inside))};
            group = std::move(merged);
            with.insert(with.end(), all.begin(), all.end());
            continue;
        }
        merged = collapse(kernel, {group.begin() + 1, group.end()}, uses, rest);
        merged.insert(merged.begin(), group[0]);
        group = std::move(merged);
        with.insert(with.end(), rest.begin(), rest.end());
    }
    for (auto& [id, count] : split.counts) count = substitute(kernel, count, with);
}

namespace {

class ReductionLowering {
public:
    ReductionLowering(Kernel& kernel, std::vector<NodeRef> vars, std::vector<Reduction> reductions,
                      std::span<Kept> kept)
        : kernel_(kernel), vars_(std::move(vars)), reductions_(std::move(reductions)), kept_(kept) {}

    Body run(const ir::SumOrder& order) {
        for (const NodeRef& var : vars_)
            if (extent_of(var) == 0) return store_identities();
        const bool ordered = std::any_of(reductions_.begin(), reductions_.end(), rounds);
        if (ordered) follow(order);
        else choose_lanes();
        if (lanes_ == 1 || across_) kept_ = {};
        for (Kept& kept : kept_) kept.local = kernel_.new_local("kept", kept.value->dtype, kept.length);
        std::vector<NodeRef> chain = vars_;
        if (lanes_ > 1) {
            lane_var_ = chain.back();
            chain.pop_back();
        }
        split_loops(chain, ordered ? longest_chain(order, chain) : INT64_MAX,
                    order.kind == ir::SumOrder::Kind::Contraction);
        if (groups_.empty()) groups_.emplace_back();
        if (lanes_ > 1 && ordered && extent_of(lane_var_) > kLongestChain * lanes_ * accumulators_)
            groups_.emplace_back();
        std::vector<int> results;
        for (const Reduction& r : reductions_) results.push_back(r.result);
        return level(0, results);
    }

private:
    Body store_identities() {
        Body body;
        for (const Reduction& r : reductions_)
            body.emplace_back(Store{r.result, kernel_.index(0), identity(kernel_, r)});
        return body;
    }

    // How long one chain may be, besides what the lanes do.
    std::int64_t longest_chain(const ir::SumOrder& order, const std::vector<NodeRef>& chain) const {
        const std::int64_t terms = product(chain);
        switch (order.kind) {
            case ir::SumOrder::Kind::Contraction:
                return terms <= ir::kUnblockedContraction ? terms : ir::kContractionBlock;
            case ir::SumOrder::Kind::Sequence: return terms;
            case ir::SumOrder::Kind::Chain: return terms <= kUnblockedChain ? terms : kLongestChain;
            case ir::SumOrder::Kind::Blocks:  // of a Scan alone
            case ir::SumOrder::Kind::Lanes: break;
        }
        const std::int64_t steps = extent_of(lane_var_) / (lanes_ * accumulators_);
        return kLongestChain / std::clamp<std::int64_t>(steps, 1, kLongestChain);
    }

    void split_loops(const std::vector<NodeRef>& chain, std::int64_t longest, bool once) {
        Substitution with;
        ChainGroups split = split_chains(kernel_, chain, longest, with, once);
        replace(with);
        Substitution merged;
        collapse_groups(kernel_, split, all_uses(), merged);
        replace(merged);
        counts_ = std::move(split.counts);
        groups_ = std::move(split.groups);
    }

    void replace(const Substitution& with) {
        if (with.empty()) return;
        for (Reduction& r : reductions_) {
            if (r.value) r.value = substitute(kernel_, r.value, with);
            else r.left = substitute(kernel_, r.left, with), r.right = substitute(kernel_, r.right, with);
        }
        for (Kept& kept : kept_) {
            kept.index = substitute(kernel_, kept.index, with);
            kept.value = substitute(kernel_, kept.value, with);
        }
    }

    Uses all_uses() const {
        Uses uses;
        for (const Reduction& r : reductions_)
            for (const NodeRef& e : {r.value, r.left, r.right})
                if (e) collect_uses(e, uses);
        for (const Kept& kept : kept_) uses.indices.push_back(kept.index);
        return uses;
    }

    // The order of the nodes. How the loops run through memory is another question: where it does not run along the lanes, each chain has
    // a loop of its own, and neighbours in the kept axes may be the lanes.
    void follow(const ir::SumOrder& order) {
        lanes_ = accumulators_ = 1;
        if (order.kind != ir::SumOrder::Kind::Lanes) return;
        set_lanes(ir::sum_lanes(reductions_[0].dtype));
        // What all rows share (a vector that a matrix is multiplied by) does not count, where there is something else.
        bool along = false, jumps = false;
        for (const NodeRef& load : all_uses().loads) {
            const auto step = ir::stride_of(*kernel_.interner, load->sources[0], id_of(vars_.back()));
            if (is_shared(load)) continue;
            along |= !step || *step == 1;
            jumps |= step && *step != 1 && *step != 0;
        }
        across_ = jumps && !along;
    }

    // Does its address depend on no loop but the reduction's own?
    bool is_shared(const NodeRef& load) const {
        for (const ir::Node* node : ir::topological_order(std::span(&load->sources[0], 1)))
            if (node->op == Op::LoopVar &&
                std::none_of(vars_.begin(), vars_.end(), [&](const NodeRef& var) { return var.get() == node; }))
                return false;
        return true;
    }

    void set_lanes(int lanes) {
        const std::int64_t extent = extent_of(vars_.back());
        lanes_ = lanes;
        accumulators_ = extent >= 4 * lanes ? 4 : extent >= 2 * lanes ? 2 : 1;
    }

    // Where nothing rounds, any order will do: lanes along the innermost summed axis pay when memory runs along it; else neighbours in the
    // kept axes are the lanes.
    void choose_lanes() {
        lanes_ = accumulators_ = 1;
        if (vars_.empty()) return;
        std::size_t widest = 1;
        const Uses uses = all_uses();
        for (const Reduction& r : reductions_) widest = std::max(widest, size_of(r.dtype));
        for (const NodeRef& load : uses.loads) widest = std::max(widest, size_of(load->dtype));
        const int lanes = widest > 4 ? kMaxLanes / 2 : kMaxLanes;
        if (extent_of(vars_.back()) < lanes) return;
        bool along = false;
        for (const NodeRef& load : uses.loads) {
            const auto step = ir::stride_of(*kernel_.interner, load->sources[0], id_of(vars_.back()));
            if (!step || (*step != 0 && *step != 1)) return;
            along |= *step == 1;
        }
        if (along || uses.loads.empty()) set_lanes(lanes);
    }

    // Loops of one group around the next group's result; the innermost group runs the chain itself.
    Body level(std::size_t g, const std::vector<int>& results) {
        if (g + 1 == groups_.size()) return lanes_ > 1 ? lane_block(groups_[g], results) : chain(groups_[g], results);
        Body body, inner;
        std::vector<int> parts;
        for (std::size_t i = 0; i < reductions_.size(); ++i) {
            body.emplace_back(Store{results[i], kernel_.index(0), identity(kernel_, reductions_[i])});
            parts.push_back(kernel_.new_local("part", reductions_[i].dtype, 1));
        }
        if (g + 2 == groups_.size() && groups_.back().empty() &&
            lanes_ > 1) {  // the lane loop itself is cut into blocks
            inner = blocks(kernel_.index(0), extent_of(lane_var_), parts);
        } else {
            inner = level(g + 1, parts);
        }
        append_totals(inner, results, parts);
        Body loops = with_counts(nested(groups_[g], std::move(inner), false));
        std::move(loops.begin(), loops.end(), std::back_inserter(body));
        return body;
    }

    // A range of the lane loop: one block, or a sum of some shorter ranges and what is left.
    Body blocks(const NodeRef& base, std::int64_t length, const std::vector<int>& results) {
        const std::int64_t unit = ir::lane_block(length, lanes_ * accumulators_);
        if (unit == length) return lane_range(base, length, results);
        Body body;
        std::vector<int> parts;
        for (std::size_t i = 0; i < reductions_.size(); ++i) {
            body.emplace_back(Store{results[i], kernel_.index(0), identity(kernel_, reductions_[i])});
            parts.push_back(kernel_.new_local("part", reductions_[i].dtype, 1));
        }
        const auto add = [&](const NodeRef& start, std::int64_t count) {
            Body one = blocks(ir::simplify_index(*kernel_.interner, kernel_.add(base, start)), count, parts);
            append_totals(one, results, parts);
            return one;
        };
        const NodeRef b = kernel_.new_var(length / unit);
        append(body, nested({b}, add(kernel_.mul(b, kernel_.index(unit)), unit), false));
        if (length % unit) append(body, add(kernel_.index(length / unit * unit), length % unit));
        return body;
    }

    void append_totals(Body& body, const std::vector<int>& totals, const std::vector<int>& parts) {
        for (std::size_t i = 0; i < reductions_.size(); ++i) {
            const NodeRef sum = combine(kernel_, reductions_[i], kernel_.load(totals[i], kernel_.index(0)),
                                        kernel_.load(parts[i], kernel_.index(0)));
            body.emplace_back(Store{totals[i], kernel_.index(0), sum});
        }
    }

    Body with_counts(Body body) {
        for (Stmt& stmt : body)
            if (Loop* loop = stmt.loop()) {
                for (const auto& [id, count] : counts_)
                    if (id == loop->id()) loop->count = count;
                loop->body = with_counts(std::move(loop->body));
            }
        return body;
    }

    Body chain(const std::vector<NodeRef>& vars, const std::vector<int>& results) {
        Body body, inner;
        const NodeRef zero = kernel_.index(0);
        for (std::size_t i = 0; i < reductions_.size(); ++i) {
            body.emplace_back(Store{results[i], zero, identity(kernel_, reductions_[i])});
            inner.emplace_back(
                Store{results[i], zero, accumulated(kernel_, reductions_[i], kernel_.load(results[i], zero), {})});
        }
        Body loops = with_counts(nested(vars, std::move(inner), false));
        std::move(loops.begin(), loops.end(), std::back_inserter(body));
        return body;
    }

    Body lane_block(const std::vector<NodeRef>& vars, const std::vector<int>& results) {
        if (across_) return chain_by_chain(vars, kernel_.index(0), extent_of(lane_var_), results);
        Body inner, body;
        const std::vector<int> accs = new_accumulators();
        init_lanes(body, accs);
        lane_steps(inner, kernel_.index(0), extent_of(lane_var_), accs);
        Body loops = with_counts(nested(vars, std::move(inner), false));
        std::move(loops.begin(), loops.end(), std::back_inserter(body));
        fold(body, accs, results);
        return body;
    }

    Body lane_range(const NodeRef& base, std::int64_t length, const std::vector<int>& results) {
        if (across_) return chain_by_chain({}, base, length, results);
        Body body;
        const std::vector<int> accs = new_accumulators();
        init_lanes(body, accs);
        lane_steps(body, base, length, accs);
        fold(body, accs, results);
        return body;
    }

    // The chains of the lanes one after the other: chain j has the elements j, j + step, j + 2 step …
    Body chain_by_chain(const std::vector<NodeRef>& vars, const NodeRef& base, std::int64_t length,
                        const std::vector<int>& results) {
        const std::int64_t step = lanes_ * accumulators_;
        const NodeRef zero = kernel_.index(0), j = kernel_.new_var(std::min(step, length)),
                      q = kernel_.new_var(ceil_div(length, step));
        const NodeRef position = ir::simplify_index(
            *kernel_.interner, kernel_.add(base, kernel_.add(kernel_.mul(q, kernel_.index(step)), j)));
        const Substitution element{{id_of(lane_var_), position}};
        std::vector<int> chains;
        Body body, one, inner, last;
        for (const Reduction& r : reductions_) {
            chains.push_back(kernel_.new_local("chains", r.dtype, step));
            const int acc = kernel_.new_local("acc", r.dtype, 1);
            const NodeRef sum = kernel_.load(acc, zero);
            one.emplace_back(Store{acc, zero, identity(kernel_, r)});
            inner.emplace_back(Store{acc, zero, accumulated(kernel_, r, sum, element)});
            last.emplace_back(Store{chains.back(), j, sum});
        }
        Body loop = nested({q}, std::move(inner), false);
        if (length % step)  // the last element of some chains is missing
            loop[0].loop()->count = ir::simplify_index(
                *kernel_.interner,
                kernel_.binary(Op::IDiv, kernel_.binary(Op::Sub, kernel_.index(length + step - 1), j),
                               kernel_.index(step)));
        append(one, with_counts(nested(vars, std::move(loop), false)));
        append(one, std::move(last));
        append(body, nested({j}, std::move(one), false));
        if (length < step) append_identities(body, chains, length);
        fold(body, chains, results);
        return body;
    }

    // Of a last block that is shorter than there are chains.
    void append_identities(Body& body, const std::vector<int>& chains, std::int64_t from) {
        const NodeRef j = kernel_.new_var(lanes_ * accumulators_ - from);
        const NodeRef at = ir::simplify_index(*kernel_.interner, kernel_.add(j, kernel_.index(from)));
        Body stores;
        for (std::size_t i = 0; i < chains.size(); ++i)
            stores.emplace_back(Store{chains[i], at, identity(kernel_, reductions_[i])});
        append(body, nested({j}, std::move(stores), false));
    }

    std::vector<int> new_accumulators() {
        std::vector<int> accs;
        for (const Reduction& r : reductions_) {
            accs.push_back(kernel_.new_local("acc", r.dtype, lanes_ * accumulators_));
            kernel_.buffers.back().memory = Buffer::MemoryType::Register;
        }
        return accs;
    }

    NodeRef lane_index(const NodeRef& a, const NodeRef& l) const {
        return ir::simplify_index(*kernel_.interner, kernel_.add(kernel_.mul(a, kernel_.index(lanes_)), l));
    }

    // for a < count (unrolled), l < lanes (vector): f(index of the accumulator, offset a*lanes + l)
    template <class F>
    void lane_loops(Body& body, std::int64_t first, std::int64_t count, std::int64_t lanes, F f) {
        if (count == 0 || lanes == 0) return;
        const NodeRef a = kernel_.new_var(count), l = kernel_.new_var(lanes);
        const NodeRef at = lane_index(kernel_.add(a, kernel_.index(first)), l);
        Body inner = nested({l}, f(at), true);
        Body outer = nested({a}, std::move(inner), true);
        outer[0].loop()->kind = LoopKind::Unrolled;
        std::move(outer.begin(), outer.end(), std::back_inserter(body));
    }

    void init_lanes(Body& body, const std::vector<int>& accs) {
        lane_loops(body, 0, accumulators_, lanes_, [&](const NodeRef& at) {
            Body stores;
            for (std::size_t i = 0; i < accs.size(); ++i)
                stores.emplace_back(Store{accs[i], at, identity(kernel_, reductions_[i])});
            return stores;
        });
    }

    void lane_steps(Body& body, const NodeRef& base, std::int64_t length, const std::vector<int>& accs) {
        const std::int64_t step = lanes_ * accumulators_;
        const auto updates = [&](const NodeRef& start) {
            return [&, start](const NodeRef& at) {
                const NodeRef position = ir::simplify_index(*kernel_.interner, kernel_.add(start, at));
                const Substitution element{{id_of(lane_var_), position}};
                Body stores;
                for (const Kept& kept : kept_) {
                    const NodeRef to = ir::simplify_index(*kernel_.interner, substitute(kernel_, kept.index, element));
                    stores.emplace_back(Store{kept.local, to, substitute(kernel_, kept.value, element)});
                }
                for (std::size_t i = 0; i < accs.size(); ++i) {
                    const NodeRef acc = kernel_.load(accs[i], at);
                    stores.emplace_back(Store{accs[i], at, accumulated(kernel_, reductions_[i], acc, element)});
                }
                return stores;
            };
        };
        if (length >= step) {
            const NodeRef q = kernel_.new_var(length / step);
            Body inner;
            lane_loops(inner, 0, accumulators_, lanes_,
                       updates(kernel_.add(base, kernel_.mul(q, kernel_.index(step)))));
            Body loop = nested({q}, std::move(inner), false);
            std::move(loop.begin(), loop.end(), std::back_inserter(body));
        }
        const std::int64_t done = length / step * step, tail = length - done;
        const NodeRef tail_start = kernel_.add(base, kernel_.index(done));
        lane_loops(body, 0, tail / lanes_, lanes_, updates(tail_start));
        lane_loops(body, tail / lanes_, tail % lanes_ ? 1 : 0, tail % lanes_, updates(tail_start));
    }

    // (a0 + a1) + (a2 + a3), then halves of the lanes: a fixed tree. Every step has a local of its own, so that each is stored whole.
    void fold(Body& body, const std::vector<int>& accs, const std::vector<int>& results) {
        for (std::size_t i = 0; i < accs.size(); ++i) {
            const Reduction& r = reductions_[i];
            const auto store_lanes = [&](int local, const NodeRef& lane, const NodeRef& value) {
                Body step = nested({lane}, Body{Store{local, lane, value}}, true);
                std::move(step.begin(), step.end(), std::back_inserter(body));
            };
            const NodeRef l = kernel_.new_var(lanes_);
            std::vector<NodeRef> parts;
            for (int a = 0; a < accumulators_; ++a)
                parts.push_back(kernel_.load(accs[i], lane_index(kernel_.index(a), l)));
            while (parts.size() > 1) {
                std::vector<NodeRef> next;
                for (std::size_t p = 0; p + 1 < parts.size(); p += 2)
                    next.push_back(combine(kernel_, r, parts[p], parts[p + 1]));
                parts = std::move(next);
            }
            int folded = kernel_.new_local("fold", r.dtype, lanes_);
            store_lanes(folded, l, parts[0]);
            const auto halves = [&](const NodeRef& lower, int half) {
                const NodeRef upper = ir::simplify_index(*kernel_.interner, kernel_.add(lower, kernel_.index(half)));
                return combine(kernel_, r, kernel_.load(folded, lower), kernel_.load(folded, upper));
            };
            for (int half = lanes_ / 2; half > 1; half /= 2) {
                const NodeRef h = kernel_.new_var(half), sum = halves(h, half);
                folded = kernel_.new_local("fold", r.dtype, half);
                store_lanes(folded, h, sum);
            }
            body.emplace_back(Store{results[i], kernel_.index(0), halves(kernel_.index(0), 1)});
        }
    }

    Kernel& kernel_;
    std::vector<NodeRef> vars_;
    std::vector<Reduction> reductions_;
    std::span<Kept> kept_;
    int lanes_ = 1, accumulators_ = 1;
    bool across_ = false;  // memory does not run along the lanes
    NodeRef lane_var_;
    std::vector<std::vector<NodeRef>> groups_;
    std::vector<std::pair<int, NodeRef>> counts_;
};

}  // namespace

ChainGroups split_chains(Kernel& kernel, const std::vector<NodeRef>& vars, std::int64_t limit, Substitution& with,
                         bool once) {
    ChainGroups result;
    limit = std::max<std::int64_t>(1, limit);
    std::vector<NodeRef> pending = vars;
    while (!pending.empty()) {
        if (once && !result.groups.empty()) {
            result.groups.insert(result.groups.begin(), pending);
            break;
        }
        std::vector<std::int64_t> extents;
        for (const NodeRef& var : pending) extents.push_back(extent_of(var));
        const auto [whole, length] = ir::inner_block(extents, limit);
        std::vector<NodeRef> group(pending.begin() + static_cast<std::ptrdiff_t>(whole), pending.end());
        pending.resize(whole);
        if (!pending.empty() && length > 1) {  // cut the next loop: its blocks stay outside, a block comes in
            const NodeRef var = pending.back();
            const NodeRef outer = kernel.new_var(ceil_div(extent_of(var), length)), inner = kernel.new_var(length);
            const NodeRef start = kernel.mul(outer, kernel.index(length));
            const Substitution cut{{id_of(var), kernel.add(start, inner)}};
            for (auto& [id, value] : with) value = substitute(kernel, value, cut);  // an outer part may be cut again
            for (auto& [id, count] : result.counts) count = substitute(kernel, count, cut);
            with.push_back(cut[0]);
            if (extent_of(var) % length)
                result.counts.emplace_back(id_of(inner), kernel.binary(Op::Sub, kernel.index(extent_of(var)), start));
            group.insert(group.begin(), inner);
            pending.back() = outer;
        }
        if (group.empty()) {  // limit 1
            group.push_back(pending.back());
            pending.pop_back();
        }
        result.groups.insert(result.groups.begin(), std::move(group));
    }
    return result;
}

Body emit_reductions(Kernel& kernel, std::vector<NodeRef> vars, const ir::SumOrder& order,
                     std::vector<Reduction> reductions, std::span<Kept> kept) {
    return ReductionLowering(kernel, std::move(vars), std::move(reductions), kept).run(order);
}

}  // namespace weft::kernel
