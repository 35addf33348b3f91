// kernel/lower.cpp: a KernelGraph becomes plain loops: rows outside; inside, the reductions of each row in order of dependence, then
// what is stored per row, then what is stored per element. No tiling, no vectors: that is the optimiser's.
#include "kernel/lower.h"

#include "core/str.h"
#include "ir/contraction.h"
#include "ir/symbolic.h"
#include "ir/walk.h"
#include "kernel/contraction_nest.h"
#include "kernel/lower_special.h"
#include "kernel/phases.h"
#include "kernel/reduce.h"

#include <weft/error.h>

#include <algorithm>
#include <map>
#include <unordered_map>

namespace weft::kernel {

using ir::KernelGraph;
using ir::Node;
using ir::Op;

Kernel empty_kernel(const KernelGraph& graph, const Numerics& numerics) {
    Kernel kernel;
    kernel.numerics = numerics;
    kernel.interner = std::make_shared<ir::Interner>();
    for (std::size_t p = 0; p < graph.params.size(); ++p) {
        const KernelGraph::Param& param = graph.params[p];
        kernel.buffers.push_back({.name = str(param.output ? "out" : "in", p),
                                  .dtype = param.dtype,
                                  .size = param.size,
                                  .role = param.output ? Buffer::Role::Output : Buffer::Role::Input});
    }
    kernel.parameters = static_cast<int>(graph.params.size());
    kernel.scalars = graph.scalars;
    return kernel;
}

namespace {

constexpr int kWorthKeeping = 8;  // of what costs less (in additions), computing it again is as fast as a load
constexpr std::int64_t kShortestKept = 32;       // elements; shorter rows run in lanes across rows
constexpr std::int64_t kLongestKept = 64 << 10;  // bytes: a row stays in a core's cache

std::vector<NodeRef> loop_vars(Kernel& kernel, const Shape& shape) {
    std::vector<NodeRef> vars;
    for (const std::int64_t size : shape) vars.push_back(kernel.new_var(size));
    return vars;
}

class RowLowering {
public:
    RowLowering(const KernelGraph& graph, const Numerics& numerics)
        : graph_(graph), kernel_(empty_kernel(graph, numerics)), elements_(kernel_) {}

    Kernel run() {
        row_vars_ = loop_vars(kernel_, graph_.rows);
        row_ = ir::flatten_index(*kernel_.interner, graph_.rows, IndexList(row_vars_.begin(), row_vars_.end()));
        find_reduces();
        name_kernel();
        if (reduces_.size() == 1 && lower_contraction()) return std::move(kernel_);
        find_kept();
        Body body;
        for (const auto& [key, reduces] : stages_) append(body, lower_stage(reduces));
        append(body, stores(false, row_vars_, {}));
        append(body, full_stores());
        Substitution with;
        const std::vector<NodeRef> vars = collapse(kernel_, row_vars_, uses_of(body), with);
        kernel_.body = nested(vars, substitute(kernel_, body, with), true);
        return std::move(kernel_);
    }

private:
    // ---- what is reduced, and in which order -------------------------------------------------------------------------

    void find_reduces() {
        std::vector<NodeRef> values;
        for (const KernelGraph::Output& output : graph_.outputs) values.push_back(output.value);
        std::unordered_map<const Node*, int> depth;
        for (const Node* node : ir::topological_order(values)) {
            int deepest = 0;
            for (const NodeRef& source : node->sources) deepest = std::max(deepest, depth.at(source.get()));
            if (node->op == Op::Reduce) {
                ++deepest;
                reduces_.push_back(node);
                stages_[{deepest, stage_of(*node)}].push_back(node);
            }
            depth.emplace(node, deepest);
        }
    }

    // Reductions over equal extents, in one order, share their loops.
    static std::vector<std::int64_t> stage_of(const Node& reduce) {
        const auto& arg = reduce.as<ir::ReduceArg>();
        std::vector<std::int64_t> key;
        for (const std::int64_t axis : arg.axes) key.push_back(reduce.source().shape[axis]);
        key.push_back(static_cast<std::int64_t>(arg.order.kind));
        if (arg.order.kind == ir::SumOrder::Kind::Lanes) {
            key.push_back(arg.order.lane_axes);
            key.push_back(ir::sum_lanes(reduce.dtype));
        }
        return key;
    }

    // Costly values that are needed in several stages of a row, and whose row fits a core's cache, are computed once and kept.
    void find_kept() {
        std::vector<std::vector<NodeRef>> stages;  // what each one computes per element
        for (const auto& [key, reduces] : stages_) {
            stages.emplace_back();
            for (const Node* reduce : reduces) stages.back().push_back(reduce->sources[0]);
        }
        stages.emplace_back();
        for (const KernelGraph::Output& output : graph_.outputs)
            if (output.full) stages.back().push_back(output.value);
        if (stages_.empty() || stages_.size() + !stages.back().empty() < 2) return;

        const std::int64_t rows = numel(graph_.rows);
        const auto costly = [&](const Node& node) {
            return ir::info(node.op).cost >= kWorthKeeping && ir::is_elementwise(node.op) &&
                   numel(node.shape) >= rows * kShortestKept;
        };
        std::unordered_map<const Node*, int> reached, outermost;  // number of stages
        for (const std::vector<NodeRef>& roots : stages)
            for (const Node* node : ir::topological_order(roots, [](const Node& n) { return n.op != Op::Reduce; }))
                reached[node] += costly(*node);
        const auto shared = [&](const Node& node) { return reached[&node] >= 2; };
        for (const std::vector<NodeRef>& roots : stages)
            for (const Node* node :
                 ir::topological_order(roots, [&](const Node& n) { return n.op != Op::Reduce && !shared(n); }))
                if (shared(*node) && ++outermost[node] == 2) watch(*node, numel(node->shape) / rows);
    }

    void watch(const Node& node, std::int64_t length) {
        const std::int64_t bytes = length * static_cast<std::int64_t>(size_of(node.dtype));
        if (numel(node.shape) != numel(graph_.rows) * length || kept_bytes_ + bytes > kLongestKept) return;
        kept_bytes_ += bytes;
        elements_.watch(node, row_, length);
    }

    void name_kernel() {
        std::string what = reduces_.empty() ? "map" : "";
        for (const Node* reduce : reduces_) {
            const std::string one = str(what.empty() ? "" : "_", ir::name_of(reduce->as<ir::ReduceArg>().op));
            if (what.size() + one.size() < 24) what += one;
        }
        std::string sizes;
        for (const std::int64_t size : graph_.rows) sizes += str("_", size);
        for (const std::int64_t size : graph_.inner) sizes += str("x", size);
        kernel_.name = (reduces_.empty() ? what : "reduce_" + what) + sizes;
    }

    IndexList row_index(const Shape& shape) { return ir::unflatten_index(*kernel_.interner, shape, row_); }

    // The index into a reduce's source, of which `along` is the part along the reduced axes.
    IndexList domain_index(const Node& reduce, std::span<const NodeRef> along) {
        IndexList index = row_index(reduce.shape);
        const Dims& axes = reduce.as<ir::ReduceArg>().axes;
        for (std::size_t i = 0; i < axes.size(); ++i) index[axes[i]] = along[i];
        return index;
    }

    static bool is_product(const Node& reduce) {
        return reduce.as<ir::ReduceArg>().op == Op::Add && ir::is_fused_product(reduce.source());
    }

    // The loops over the reduced axes: one each, but those that run in lanes are one loop. And the index along each axis.
    std::vector<NodeRef> reduced_vars(const Node& reduce, std::vector<NodeRef>& along) {
        const auto& arg = reduce.as<ir::ReduceArg>();
        std::vector<NodeRef> vars;
        const bool ordered = rounds({.op = arg.op, .dtype = reduce.dtype});
        const std::size_t single = arg.axes.size() - (ordered ? arg.order.lane_axes : 0);
        Shape lanes;
        for (std::size_t i = 0; i < arg.axes.size(); ++i) {
            const std::int64_t extent = reduce.source().shape[arg.axes[i]];
            if (i < single) vars.push_back(kernel_.new_var(extent));
            else lanes.push_back(extent);
        }
        along = vars;
        if (lanes.empty()) return vars;
        vars.push_back(kernel_.new_var(numel(lanes)));
        const IndexList in_lanes = ir::unflatten_index(*kernel_.interner, lanes, vars.back());
        along.insert(along.end(), in_lanes.begin(), in_lanes.end());
        return vars;
    }

    Reduction lower_reduction(const Node& reduce, const IndexList& index) {
        Reduction r{.op = reduce.as<ir::ReduceArg>().op, .dtype = reduce.dtype};
        if (is_product(reduce)) {
            const Node& product = reduce.source();
            r.left = as_factor(kernel_, product, elements_.value(product.source(0), index));
            r.right = as_factor(kernel_, product, elements_.value(product.source(1), index));
        } else {
            r.value = elements_.value(reduce.source(), index);
        }
        return r;
    }

    // Reductions over the same extents that do not depend on each other run in the same loops.
    Body lower_stage(const std::vector<const Node*>& reduces) {
        const auto ordered = std::find_if(reduces.begin(), reduces.end(), [](const Node* reduce) {
            return rounds({.op = reduce->as<ir::ReduceArg>().op, .dtype = reduce->dtype});
        });
        const Node& leader = ordered == reduces.end() ? *reduces[0] : **ordered;
        const ir::SumOrder& order = leader.as<ir::ReduceArg>().order;
        std::vector<NodeRef> along;
        std::vector<NodeRef> vars = reduced_vars(leader, along);
        std::vector<Reduction> reductions;
        for (const Node* reduce : reduces) {
            Reduction r = lower_reduction(*reduce, domain_index(*reduce, along));
            r.result = kernel_.new_local("row", r.dtype, 1);
            elements_.bind(*reduce, row_index(reduce->shape), r.result);
            reductions.push_back(std::move(r));
        }
        if (product(vars) == 0) {
            for (Reduction& r : reductions)  // nothing is read: no expression of an empty domain may survive
                r.value = kernel_.constant(r.dtype, 0), r.left = r.right = nullptr;
            return emit_reductions(kernel_, vars, order, std::move(reductions));
        }
        // An element of the row per step of the loops, in their order, and a step for each: then all of them are there afterwards.
        Shape extents;
        for (const NodeRef& var : vars) extents.push_back(extent_of(var));
        const NodeRef step = ir::flatten_index(*kernel_.interner, extents, IndexList(vars.begin(), vars.end()));
        std::vector<const Node*> nodes;
        std::vector<Kept> kept;
        for (const Elements::Noted& noted : elements_.take_noted()) {
            const bool whole = numel(noted.node->shape) == numel(graph_.rows) * product(vars);
            if (!whole || !(noted.place == step)) continue;
            nodes.push_back(noted.node);
            kept.push_back({noted.place, noted.value, product(vars)});
        }
        if (ordered == reduces.end()) vars = merge_vars(vars, reductions, kept);
        Body body = emit_reductions(kernel_, vars, order, std::move(reductions), kept);
        for (std::size_t i = 0; i < kept.size(); ++i)
            if (kept[i].local >= 0) elements_.keep(*nodes[i], kept[i].local);
        return body;
    }

    std::vector<NodeRef> merge_vars(const std::vector<NodeRef>& vars, std::vector<Reduction>& reductions,
                                    std::vector<Kept>& kept) {
        Uses uses;
        for (const Reduction& r : reductions)
            for (const NodeRef& e : {r.value, r.left, r.right})
                if (e) collect_uses(e, uses);
        Substitution with;
        std::vector<NodeRef> merged = collapse(kernel_, vars, uses, with);
        for (Reduction& r : reductions)
            for (NodeRef* e : {&r.value, &r.left, &r.right})
                if (*e) *e = substitute(kernel_, *e, with);
        for (Kept& k : kept)
            for (NodeRef* e : {&k.index, &k.value}) *e = substitute(kernel_, *e, with);
        return merged;
    }

    // ---- stores -------------------------------------------------------------------------------------------------------

    // Stores all outputs of one level. Where an output takes over memory that the kernel also reads, every value is computed
    // before the first store.
    Body stores(bool full, const std::vector<NodeRef>& rows, const std::vector<NodeRef>& inner) {
        Body body, late;
        Shape space = graph_.rows;
        IndexList vars(rows.begin(), rows.end());
        if (full) {
            space.append(graph_.inner.begin(), graph_.inner.end());
            vars.append(inner.begin(), inner.end());
        }
        const NodeRef element = ir::flatten_index(*kernel_.interner, space, vars);
        const bool aliased =
            std::any_of(graph_.outputs.begin(), graph_.outputs.end(), [&](const auto& o) { return reads(o.param); });
        for (const KernelGraph::Output& output : graph_.outputs) {
            if (output.full != full) continue;
            const IndexList index = ir::unflatten_index(*kernel_.interner, output.value->shape, element);
            NodeRef value = elements_.value(*output.value, index);
            const NodeRef at = ir::strided_position(*kernel_.interner, index, output.strides);
            if (aliased && graph_.outputs.size() > 1) {
                const int local = kernel_.new_local("new", value->dtype, 1);
                body.emplace_back(Store{local, kernel_.index(0), value});
                value = kernel_.load(local, kernel_.index(0));
                late.emplace_back(Store{output.param, at, value});
            } else {
                body.emplace_back(Store{output.param, at, value});
            }
        }
        append(body, std::move(late));
        return body;
    }

    bool reads(int param) {
        if (reads_.empty()) {
            reads_.assign(graph_.params.size(), false);
            std::vector<NodeRef> values;
            for (const KernelGraph::Output& output : graph_.outputs) values.push_back(output.value);
            for (const Node* node : ir::topological_order(values))
                if (node->op == Op::Param) reads_[node->as<ir::SlotArg>().slot] = true;
        }
        return reads_[param];
    }

    Body full_stores() {
        if (std::none_of(graph_.outputs.begin(), graph_.outputs.end(), [](const auto& o) { return o.full; })) return {};
        const std::vector<NodeRef> vars = loop_vars(kernel_, graph_.inner);
        const Body body = stores(true, row_vars_, vars);
        Substitution with;
        const std::vector<NodeRef> merged = collapse(kernel_, vars, uses_of(body), with);
        return nested(merged, substitute(kernel_, body, with), true);
    }

    // ---- contractions --------------------------------------------------------------------------------------------------

    bool lower_contraction() {
        const Node& reduce = *reduces_[0];
        const auto found = ir::find_contraction(reduce);
        if (!found || !graph_.inner.empty()) return false;
        for (const std::int64_t size : graph_.rows)
            if (size == 0) return false;
        std::vector<NodeRef> vars;
        for (const std::int64_t axis : reduce.as<ir::ReduceArg>().axes)
            vars.push_back(kernel_.new_var(reduce.source().shape[axis]));
        if (product(vars) == 0) return false;

        const Reduction r = lower_reduction(reduce, domain_index(reduce, vars));
        const int acc = kernel_.new_local("acc", r.dtype, 1);
        elements_.bind(reduce, row_index(reduce.shape), acc);
        const Body epilogue = stores(false, row_vars_, {});
        const std::vector<Phase> phases = split_phases(kernel_, row_vars_, vars, r.left, r.right);
        for (const Phase& phase : phases) append(kernel_.body, plain_loops(kernel_, nest_of(phase, acc, epilogue)));
        kernel_.name = str("contract", kernel_.name.substr(std::string("reduce_add").size()), "_over_", product(vars));
        if (phases.size() > 1) kernel_.schedule.emplace_back(SplitPhases{static_cast<std::int64_t>(phases.size())});
        return true;
    }

    ContractionNest nest_of(const Phase& phase, int acc, const Body& epilogue) {
        ContractionNest nest;
        nest.accumulate = kernel_.buffers[acc].dtype;
        nest.acc = nest.total = acc;
        nest.epilogue = substitute(kernel_, epilogue, phase.with);
        Substitution cut, with;
        ChainGroups split = sum_blocks(phase.sums, cut);
        nest.left = substitute(kernel_, phase.left, cut);
        nest.right = substitute(kernel_, phase.right, cut);
        Uses factors, all;
        collect_uses(nest.left, factors);
        collect_uses(nest.right, factors);
        all = uses_of(nest.epilogue);
        for (auto list : {&Uses::indices, &Uses::gates, &Uses::others, &Uses::loads})
            (all.*list).insert((all.*list).end(), (factors.*list).begin(), (factors.*list).end());
        collapse_groups(kernel_, split, factors, with);
        nest.rows = collapse(kernel_, phase.rows, all, with);
        if (nest.rows.empty()) nest.rows.push_back(kernel_.new_var(1));  // a phase of one element: it is one loop, too
        nest.left = substitute(kernel_, nest.left, with);
        nest.right = substitute(kernel_, nest.right, with);
        nest.epilogue = substitute(kernel_, nest.epilogue, with);
        set_sums(nest, std::move(split));
        for (const NodeRef& var : nest.rows) {
            const bool left = ir::depends_on(nest.left, id_of(var)), right = ir::depends_on(nest.right, id_of(var));
            nest.sides.push_back(left == right ? LoopRole::Batch : left ? LoopRole::M : LoopRole::N);
        }
        return nest;
    }

    // One chain, or blocks of the innermost loops inside one more loop nest.
    ChainGroups sum_blocks(const std::vector<NodeRef>& sums, Substitution& cut) {
        if (product(sums) > ir::kUnblockedContraction)
            return split_chains(kernel_, sums, ir::kContractionBlock, cut, true);
        return {.groups = {sums}, .counts = {}};
    }

    void set_sums(ContractionNest& nest, ChainGroups split) {
        nest.inner = std::move(split.groups.back());
        split.groups.pop_back();
        if (split.groups.empty()) return;
        nest.outer = std::move(split.groups.back());
        for (const auto& [id, count] : split.counts) nest.inner_count = count;  // only the first inner loop can be cut
        nest.total = kernel_.new_local("total", nest.accumulate, 1);
        // the epilogue was written for `acc`; it reads the total now
        nest.epilogue = replace_loads(nest.epilogue, nest.acc, nest.total);
    }

    Body replace_loads(const Body& body, int from, int to) {
        Body result;
        for (const Stmt& stmt : body) {
            const Store& store = *stmt.store();
            const NodeRef root = store.value;
            const std::vector<NodeRef> fresh =
                ir::rebuild(std::span(&root, 1), [&](const Node& node, const ir::Sources& sources) {
                    if (node.op == Op::Load && node.as<ir::LoadArg>().buffer == from)
                        return kernel_.load(to, kernel_.index(0));
                    return sources.empty() ? NodeRef(&node)
                                           : kernel_.interner->make(node.op, node.dtype, {}, sources, node.arg);
                });
            result.emplace_back(Store{store.buffer, store.index, fresh[0]});
        }
        return result;
    }

    const KernelGraph& graph_;
    Kernel kernel_;
    Elements elements_;
    std::vector<NodeRef> row_vars_;
    NodeRef row_;  // row-major number of the row
    std::vector<const Node*> reduces_;
    std::map<std::pair<int, std::vector<std::int64_t>>, std::vector<const Node*>> stages_;
    std::vector<bool> reads_;
    std::int64_t kept_bytes_ = 0;
};

}  // namespace

Kernel lower(const KernelGraph& graph, const Numerics& numerics) {
    Kernel kernel =
        graph.kind == KernelGraph::Kind::Rows ? RowLowering(graph, numerics).run() : lower_special(graph, numerics);
    verify(kernel, "lower");
    return kernel;
}

}  // namespace weft::kernel
