// schedule/simplify.cpp: the rules. x, y, z are any nodes; c0, c1, c2 are constants; commutative ops match either way round.
#include "schedule/simplify.h"

#include "core/checked.h"
#include "ir/build.h"
#include "ir/contraction.h"
#include "ir/walk.h"
#include "schedule/boxes.h"
#include "schedule/views_into_reduce.h"

#include <weft/error.h>

#include <algorithm>
#include <cmath>

namespace weft::schedule {
namespace {

using namespace ir;
using namespace ir::pattern;

// A value that may raise stays, even where it does not matter: a wrong label is a mistake in any case.
bool may_raise(const NodeRef& root) {
    const std::vector<const Node*> nodes = topological_order(std::span(&root, 1));
    return std::any_of(nodes.begin(), nodes.end(), [](const Node* node) { return node->op == Op::Check; });
}

// 1 / c where that is exact, and both are normal numbers: c is a power of two.
NodeRef exact_inverse(const NodeRef& c) {
    const DType t = c->dtype;
    if (t != DType::F32 && t != DType::F64) return nullptr;
    const double value = word_to_double(t, constant_value(c)->as<ConstArg>().value),
                 lowest = t == DType::F32 ? 0x1p-126 : 0x1p-1022;
    int exponent = 0;
    if (std::fabs(std::frexp(value, &exponent)) != 0.5 || std::fabs(value) < lowest || std::fabs(1 / value) < lowest)
        return nullptr;
    return constant(t, 1 / value, c->shape);
}

// x*1 and x-0 may drop a flush of a subnormal, never another bit. x+0 turns -0 into 0, x*0 loses NaN: they stay.
const std::vector<Rule> kArithmeticRules = {
    rule("mul-one", x * 1, [](const Match& m) { return m[x]; }),
    rule("sub-zero", x - 0, [](const Match& m) { return m[x]; }),
    rule("div-one", x / 1, [](const Match& m) { return m[x]; }),
    rule("div-power-of-two", x / c0,
         [](const Match& m) -> NodeRef {  // the same bits, without the division
             const NodeRef inverse = exact_inverse(m[c0]);
             return inverse ? m[x] * inverse : nullptr;
         }),
    rule("neg-neg", op(Op::Neg, {op(Op::Neg, {x})}), [](const Match& m) { return m[x]; }),
    rule("add-zero", x + 0, [](const Match& m) -> NodeRef { return is_float(m[x]->dtype) ? nullptr : m[x]; }),
    rule("mul-zero", x * 0,
         [](const Match& m) -> NodeRef {
             return is_float(m[x]->dtype) || may_raise(m[x]) ? nullptr : constant(m[x]->dtype, 0, m[x]->shape);
         }),
    rule("mul-mul", (x * c0) * c1,
         [](const Match& m) -> NodeRef {  // floats would change bits
             return is_float(m[x]->dtype) ? nullptr : m[x] * (m[c0] * m[c1]);
         }),
    rule("where-same", op(Op::Where, {x, y, y}),
         [](const Match& m) -> NodeRef { return may_raise(m[x]) ? nullptr : m[y]; }),
    rule("where-constant", op(Op::Where, {c0, x, y}),
         [](const Match& m) { return constant_value(m[c0])->as<ConstArg>().value ? m[x] : m[y]; }),
    rule("contiguous-contiguous", op(Op::Contiguous, {op(Op::Contiguous, {x})}),
         [](const Match& m) { return m.root->sources[0]; }),
};

// ---- views ------------------------------------------------------------------------------------------------------------

const std::vector<Rule> kViewRules = {
    rule("reshape-reshape", op(Op::Reshape, {op(Op::Reshape, {x})}),
         [](const Match& m) { return reshape(m[x], m.root->shape); }),
    rule("reshape-nothing", op(Op::Reshape, {x}), [](const Match& m) { return reshape(m[x], m.root->shape); }),
    rule("permute-permute", op(Op::Permute, {op(Op::Permute, {x})}),
         [](const Match& m) {
             Dims axes;
             for (const std::int64_t axis : m.root->as<AxesArg>().axes)
                 axes.push_back(m.root->source().as<AxesArg>().axes[axis]);
             return permute(m[x], axes);
         }),
    rule("expand-expand", op(Op::Expand, {op(Op::Expand, {x})}),
         [](const Match& m) { return expand(m[x], m.root->shape); }),
    rule("shrink-of-boxes", op(Op::Shrink, {x}), shrink_of_boxes),
    rule("sum-of-boxes", x + y, sum_of_boxes),
};

// ---- reductions -------------------------------------------------------------------------------------------------------

// A sum in chunks (ir/sum_order.h): first one sum per chunk, in parallel, then their sum.
NodeRef split_reduction(const Match& m) {
    const Node& reduce_node = *m.root;
    const auto& arg = reduce_node.as<ReduceArg>();
    if (arg.order.chunks == 1) return nullptr;
    const NodeRef& from = reduce_node.sources[0];
    const auto first = static_cast<std::size_t>(arg.order.first), last = static_cast<std::size_t>(arg.order.last);
    std::int64_t length = 1;
    for (std::size_t d = first; d <= last; ++d) length *= from->shape[d];
    Shape cut;
    Dims inner_axes;
    for (std::size_t d = 0; d < from->shape.size(); ++d) {
        if (d == first) {
            cut.push_back(arg.order.chunks);
            inner_axes.push_back(static_cast<std::int64_t>(cut.size()));
            cut.push_back(length / arg.order.chunks);
        } else if (d < first || d > last) {
            if (std::find(arg.axes.begin(), arg.axes.end(), static_cast<std::int64_t>(d)) != arg.axes.end())
                inner_axes.push_back(static_cast<std::int64_t>(cut.size()));
            cut.push_back(from->shape[d]);
        }
    }
    const NodeRef terms = is_fused_product(*from) ? product(reshape(from->sources[0], cut),
                                                            reshape(from->sources[1], cut), from->as<FusedArg>())
                                                  : reshape(from, cut);
    const SumOrder contracted{.kind = SumOrder::Kind::Contraction};
    const NodeRef parts =
        reduce(arg.op, terms, inner_axes, arg.order.kind == SumOrder::Kind::Contraction ? &contracted : nullptr);
    return reshape(reduce(arg.op, parts, {static_cast<std::int64_t>(first)}), reduce_node.shape);
}

// One index per row: out[r, j] = j == index[r] ? base[r, j] + value[r] : base[r, j]. It fuses; a scatter does not.
NodeRef scatter_to_where(const Match& m) {
    const Node& scatter_node = *m.root;
    const auto& arg = scatter_node.as<IndexArg>();
    const NodeRef &base = scatter_node.sources[0], &index = scatter_node.sources[1], &value = scatter_node.sources[2];
    if (index->shape[arg.axis] != 1) return nullptr;
    Shape line = Shape::filled(base->shape.size(), 1);
    line[arg.axis] = base->shape[arg.axis];
    const NodeRef here =
        equal_to(expand(reshape(iota(base->shape[arg.axis]), line), base->shape), expand(index, base->shape));
    const NodeRef spread = expand(value, base->shape);
    if (arg.mode == Op::Where) return where(here, spread, base);
    const Node* zero = constant_value(base);
    if (arg.mode == Op::Add && zero && zero->as<ConstArg>().value == 0) return where(here, spread, base);
    return where(here, binary(arg.mode, base, spread), base);
}

const std::vector<Rule> kReductionRules = {
    rule("merge-sum-of-views", op(Op::Reduce, {x}), merge_sum_of_views),
    rule("sum-of-disjoint-windows", op(Op::Reduce, {x}), sum_of_disjoint_windows),
    rule("shrink-before-reduce", op(Op::Shrink, {x}), view_before_reduce),
    rule("permute-before-reduce", op(Op::Permute, {x}), view_before_reduce),
    rule("sum-of-products", op(Op::Reduce, {x}), sum_of_products),
    rule("split-reduction", op(Op::Reduce, {x}), split_reduction),
    rule("scatter-one", op(Op::Scatter, {x, y, z}), scatter_to_where),
};

std::vector<Rule> all_rules() {
    std::vector<Rule> rules = kArithmeticRules;
    rules.insert(rules.end(), kViewRules.begin(), kViewRules.end());
    rules.insert(rules.end(), kReductionRules.begin(), kReductionRules.end());
    return rules;
}

}  // namespace

Rewritten simplify(std::span<const NodeRef> roots) {
    static const std::vector<Rule> rules = all_rules();
    return rewrite(roots, rules);
}

}  // namespace weft::schedule
