// schedule/views_into_reduce.cpp: a sum is written as kept axes followed by summed axes; then a view of the sum is the same view of
// each factor with the summed axes untouched. Zero-filling goes to the one factor whose index it guards.
#include "schedule/views_into_reduce.h"

#include "ir/build.h"
#include "ir/contraction.h"

#include <algorithm>
#include <optional>

namespace weft::schedule {
namespace {

using namespace ir;

// sum over the trailing axes of factors[0] * factors[1] (or of one factor): `kept` is the shape of the value.
struct Sum {
    Op op = Op::Add;
    Shape kept, summed;
    std::vector<NodeRef> factors;
    FusedArg fused;  // of two factors

    Shape domain() const {
        Shape all = kept;
        all.append(summed.begin(), summed.end());
        return all;
    }
};

std::optional<Sum> as_sum(const Node& reduce_node) {
    Sum sum;
    sum.op = reduce_node.as<ReduceArg>().op;
    sum.kept = reduce_node.shape;
    const Dims& axes = reduce_node.as<ReduceArg>().axes;
    Dims order;
    for (std::int64_t d = 0; d < reduce_node.rank(); ++d)
        if (std::find(axes.begin(), axes.end(), d) == axes.end()) order.push_back(d);
    for (const std::int64_t axis : axes) {
        order.push_back(axis);
        sum.summed.push_back(reduce_node.source().shape[axis]);
    }
    const Node& source = reduce_node.source();
    const bool fused = sum.op == Op::Add && is_fused_product(source);
    if (fused) sum.fused = source.as<FusedArg>();
    sum.factors = fused ? std::vector<NodeRef>{source.sources[0], source.sources[1]}
                        : std::vector<NodeRef>{reduce_node.sources[0]};
    for (NodeRef& factor : sum.factors) factor = reshape(permute(factor, order), sum.domain());
    return sum;
}

Dims with_zeros(Dims dims, std::size_t more) {
    dims.resize(dims.size() + more, 0);
    return dims;
}

// Applies a zero-filling view to the one factor that depends on the axis; the others just get longer there.
template <class F>
bool zero_fill(Sum& sum, const Shape& shape, AxisSet axes, F view) {
    int guarded = -1;
    for (std::size_t i = 0; i < sum.factors.size(); ++i)
        if (axes_read(*sum.factors[i]) & axes) {
            if (guarded >= 0) return false;
            guarded = static_cast<int>(i);
        }
    if (guarded < 0) guarded = 0;
    sum.kept = shape;
    const Shape domain = sum.domain();
    for (std::size_t i = 0; i < sum.factors.size(); ++i) {
        NodeRef& factor = sum.factors[i];
        if (static_cast<int>(i) == guarded) {
            factor = view(factor);
            continue;
        }
        Shape one = factor->shape;
        for (std::size_t d = 0; d < one.size(); ++d)
            if (axes >> d & 1) one[d] = std::min<std::int64_t>(1, one[d]);
        factor = expand(shrink(factor, Dims::filled(one.size(), 0), one), domain);
    }
    return true;
}

bool apply(Sum& sum, const Node& view) {
    const std::size_t more = sum.summed.size();
    const auto each = [&](auto f) {
        sum.kept = view.shape;
        for (NodeRef& factor : sum.factors) factor = f(factor);
        return true;
    };
    switch (view.op) {
        case Op::Reshape: return each([&](const NodeRef& x) { return reshape(x, sum.domain()); });
        case Op::Permute: {
            Dims axes = view.as<AxesArg>().axes;
            for (std::size_t i = 0; i < more; ++i) axes.push_back(static_cast<std::int64_t>(axes.size()));
            return each([&](const NodeRef& x) { return permute(x, axes); });
        }
        case Op::Shrink:
            return each(
                [&](const NodeRef& x) { return shrink(x, with_zeros(view.as<BoxArg>().starts, more), sum.domain()); });
        case Op::Flip: return each([&](const NodeRef& x) { return flip(x, view.as<AxesArg>().axes); });
        case Op::Unskew: {
            const SkewArg skew = view.as<SkewArg>();
            return zero_fill(sum, view.shape, AxisSet{1} << skew.axis,
                             [&](const NodeRef& x) { return unskew(x, skew, view.shape[skew.axis]); });
        }
        default: return false;
    }
}

// The views between a node and the Reduce below it, innermost first; nothing if there is another op in between.
std::optional<std::vector<const Node*>> views_below(const Match& match) {
    std::vector<const Node*> views;
    const Node* node = &match.root->source();
    while (node->op != Op::Reduce) {
        const bool moves = node->op == Op::Reshape || node->op == Op::Permute || node->op == Op::Shrink ||
                           node->op == Op::Flip || node->op == Op::Unskew;
        if (!moves) return std::nullopt;
        views.insert(views.begin(), node);
        node = &node->source();
    }
    return views;
}

// Does nothing else read the Reduce or one of the views? Else the sum would be computed twice.
bool reads_alone(const Match& match, std::span<const Node* const> views, const Node& inner) {
    return match.used_once(inner) &&
           std::all_of(views.begin(), views.end(), [&](const Node* view) { return match.used_once(*view); });
}

// The sum of a product over `axes`. A kept axis of which it does not depend has size 1.
NodeRef sum_over(NodeRef left, NodeRef right, const FusedArg& arg, const Dims& axes) {
    const AxisSet read = axes_read(*left) | axes_read(*right);
    Shape sizes = left->shape;
    for (std::size_t d = 0; d < sizes.size(); ++d) {
        const bool summed = std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
        if (!summed && !(read >> d & 1) && sizes[d] > 0) sizes[d] = 1;
    }
    const Dims none = Dims::filled(sizes.size(), 0);
    return reduce(Op::Add, product(shrink(left, none, sizes), shrink(right, none, sizes), arg), axes);
}

NodeRef finish(const Sum& sum, Dims axes, const SumOrder* order = nullptr) {
    for (std::size_t i = 0; i < sum.summed.size(); ++i) axes.push_back(static_cast<std::int64_t>(sum.kept.size() + i));
    const NodeRef term = sum.factors.size() == 2 ? product(sum.factors[0], sum.factors[1], sum.fused) : sum.factors[0];
    return reduce(sum.op, term, axes, order);
}

}  // namespace

// Strides leave zeros between the elements. src/kernel skips them where the window decides which elements a term reaches: it must
// be among the `summed` axes (of the outermost view), its steps may not all be multiples of the stride, and the phases may not be too many.
bool may_merge_strides(std::span<const Node* const> views, const Dims& summed, const Node& merged) {
    std::int64_t phases = 1;
    AxisSet inside = 0;
    for (const std::int64_t axis : summed) inside |= AxisSet{1} << axis;
    bool known = true;  // which axes are summed, seen from this view
    for (auto view = views.rbegin(); view != views.rend(); ++view) {
        if ((*view)->op == Op::Reshape || (*view)->op == Op::Permute) known = false;
        if ((*view)->op != Op::Unskew || (*view)->as<SkewArg>().stride == 1) continue;
        const auto& skew = (*view)->as<SkewArg>();
        if (!known || !(inside >> skew.window & 1) || (inside >> skew.axis & 1)) return false;
        if ((*view)->shape[skew.window] == 1 || skew.dilation % skew.stride == 0) return false;
        if (__builtin_mul_overflow(phases, skew.stride, &phases)) return false;
    }
    return phases == 1 || (phases <= kMostPhases && find_contraction(merged));
}

// The order of the sum changes with this, so it is done wherever the graph has this form, whoever else reads the inner sum: no handle does.
NodeRef merge_sum_of_views(const Match& match) {
    const Node& outer = *match.root;
    if (outer.as<ReduceArg>().op != Op::Add) return nullptr;
    const auto views = views_below(match);
    if (!views) return nullptr;
    const Node& inner = views->empty() ? outer.source() : views->front()->source();
    if (inner.as<ReduceArg>().op != Op::Add) return nullptr;
    const bool fills = std::any_of(views->begin(), views->end(), [](const Node* v) { return v->op == Op::Unskew; });
    if (!fills || !is_fused_product(inner.source()))
        return nullptr;  // a plain sum of sums keeps its two steps: they are its blocks
    auto sum = as_sum(inner);
    for (const Node* view : *views)
        if (!apply(*sum, *view)) return nullptr;
    const NodeRef merged = finish(*sum, outer.as<ReduceArg>().axes);
    if (!may_merge_strides(*views, outer.as<ReduceArg>().axes, *merged)) return nullptr;
    return reshape(merged, outer.shape);
}

// Likewise: the terms are fused products, which nothing stores.
NodeRef sum_of_products(const Match& match) {
    const auto& arg = match.root->as<ReduceArg>();
    const Node* sum = &match.root->source();
    Dims order;
    for (std::int64_t d = 0; d < sum->rank(); ++d) order.push_back(d);
    if (sum->op == Op::Permute) {
        order = sum->as<AxesArg>().axes;
        sum = &sum->source();
    }
    if (arg.op != Op::Add || sum->op != Op::Add) return nullptr;
    std::vector<const Node*> stack{sum};
    std::vector<NodeRef> parts;
    bool contracts = false;
    while (!stack.empty()) {
        const Node* term = stack.back();
        stack.pop_back();
        if (term->op == Op::Add) {
            stack.push_back(term->sources[1].get());
            stack.push_back(term->sources[0].get());
            continue;
        }
        if (!is_fused_product(*term)) return nullptr;
        parts.push_back(sum_over(permute(term->sources[0], order), permute(term->sources[1], order),
                                 term->as<FusedArg>(), arg.axes));
        contracts |= find_contraction(*parts.back()).has_value();
    }
    if (!contracts) return nullptr;
    NodeRef total;
    for (const NodeRef& part : parts) {
        const NodeRef whole = expand(part, match.root->shape);
        total = total ? total + whole : whole;
    }
    return total;
}

NodeRef sum_of_disjoint_windows(const Match& match) {
    // How far windows are apart. One window alone is as far from the next as one likes.
    const auto stride_of = [](const Node& unskew) {
        const auto& skew = unskew.as<SkewArg>();
        const bool alone = unskew.source().shape[skew.axis] == 1;
        return alone ? unskew.shape[skew.window] : static_cast<std::int64_t>(skew.stride);
    };
    const Node& sum = *match.root;
    if (sum.as<ReduceArg>().op != Op::Add) return nullptr;
    Dims left = sum.as<ReduceArg>().axes;  // still to be summed
    const Node* node = &sum.source();
    std::vector<const Node*> fills;
    for (; node->op == Op::Unskew; node = &node->source()) {
        const auto& skew = node->as<SkewArg>();
        const auto window = std::find(left.begin(), left.end(), skew.window);
        const bool axis_summed = std::find(left.begin(), left.end(), skew.axis) != left.end();
        if (window == left.end() || axis_summed || skew.dilation != 1 || stride_of(*node) < node->shape[skew.window])
            break;
        left.erase(window);
        fills.push_back(node);
    }
    if (fills.empty()) return nullptr;

    // i // stride and i % stride are neighbouring axes of what is i afterwards. A window shorter than its stride ends in zeros.
    const auto rank = static_cast<std::size_t>(node->rank());
    Dims none = Dims::filled(rank), longer = none, order;
    Shape sizes = node->shape;
    const auto fill_of = [&](std::int64_t d, bool window) -> const Node* {
        for (const Node* fill : fills)
            if ((window ? fill->as<SkewArg>().window : fill->as<SkewArg>().axis) == d) return fill;
        return nullptr;
    };
    for (std::int64_t d = 0; d < node->rank(); ++d) {
        if (const Node* fill = fill_of(d, true)) {
            longer[d] = stride_of(*fill) - node->shape[d];
            sizes[d] = 1;
            continue;
        }
        order.push_back(d);
        if (const Node* fill = fill_of(d, false)) {
            order.push_back(fill->as<SkewArg>().window);
            sizes[d] *= stride_of(*fill);
        }
    }
    NodeRef x = reshape(permute(pad(NodeRef(node), none, longer), order), sizes);
    Dims after = Dims::filled(rank);
    for (const Node* fill : fills) {
        const int d = fill->as<SkewArg>().axis;
        after[d] = std::max<std::int64_t>(0, fill->shape[d] - sizes[d]);
        sizes[d] = std::min(fill->shape[d], sizes[d]);
    }
    x = pad(shrink(x, none, sizes), none, after);
    if (!left.empty()) return reduce(Op::Add, x, left);
    return is_float(x->dtype) ? x + constant(x->dtype, 0, x->shape) : x;  // a sum that starts at 0 is never -0
}

NodeRef view_before_reduce(const Match& match) {
    const Node& view = *match.root;
    const auto views = views_below(match);
    if (!views) return nullptr;
    const Node& inner = views->empty() ? view.source() : views->front()->source();
    if (!reads_alone(match, *views, inner)) return nullptr;
    if (std::any_of(views->begin(), views->end(), [](const Node* v) { return v->op == Op::Unskew; })) return nullptr;
    auto sum = as_sum(inner);
    for (const Node* inside : *views)
        if (!apply(*sum, *inside)) return nullptr;
    if (!apply(*sum, view)) return nullptr;
    return reshape(finish(*sum, {}, &inner.as<ReduceArg>().order), view.shape);
}

}  // namespace weft::schedule
