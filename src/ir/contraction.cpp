// ir/contraction.cpp: follows each factor's views down to what they look at, with one bit set per axis.
#include "ir/contraction.h"

namespace weft::ir {
namespace {

// A reshape ties together the axes between two points where both shapes have the same running product.
AxisSets through_reshape(const Shape& from, const Shape& to, const AxisSets& sets) {
    AxisSets result = AxisSets::filled(from.size(), 0);
    std::size_t i = 0, j = 0;
    while (i < from.size() || j < to.size()) {
        const std::size_t first_i = i, first_j = j;
        std::int64_t left = i < from.size() ? from[i++] : 1, right = j < to.size() ? to[j++] : 1;
        while (left != right) {
            if (left < right && i < from.size()) left *= from[i++];
            else if (j < to.size()) right *= to[j++];
            else break;
        }
        AxisSet all = 0;
        for (std::size_t d = first_j; d < j; ++d) all |= sets[d];
        for (std::size_t d = first_i; d < i; ++d)
            if (from[d] != 1) result[d] = all;
    }
    return result;
}

// Axes along which a zero-filling view is not the same everywhere, even if its source has one element there.
AxisSet axes_of_gate(const Node& node, const AxisSets& sets) {
    AxisSet gate = 0;
    if (node.op == Op::Pad) {
        for (std::size_t d = 0; d < sets.size(); ++d)
            if (node.source().shape[d] != node.shape[d]) gate |= sets[d];
    } else if (node.op == Op::Unskew) {
        const auto& skew = node.as<SkewArg>();
        gate = sets[skew.axis] | sets[skew.window];
    }
    return gate;
}

// Of strided memory: an axis that was expanded has stride 0.
const Dims* strides_of(const Node& node) {
    if (const auto* param = std::get_if<SlotArg>(&node.arg)) return &param->strides;
    if (const auto* buffer = std::get_if<BufferArg>(&node.arg)) return &buffer->strides;
    return nullptr;
}

}  // namespace

AxisSets axes_of_source(const Node& view, const AxisSets& sets) {
    const Shape& from = view.source().shape;
    AxisSets result = sets;
    switch (view.op) {
        case Op::Reshape: return through_reshape(from, view.shape, sets);
        case Op::Permute:
            for (std::size_t d = 0; d < sets.size(); ++d) result[view.as<AxesArg>().axes[d]] = sets[d];
            return result;
        case Op::Expand:
            for (std::size_t d = 0; d < sets.size(); ++d)
                if (from[d] == 1) result[d] = 0;
            return result;
        case Op::Skew:
        case Op::Unskew: {
            const auto& skew = view.as<SkewArg>();
            result[skew.axis] |= result[skew.window];
            return result;
        }
        default: return result;
    }
}

AxisSet axes_read(const Node& value, const std::function<bool(const Node&)>& is_leaf) {
    AxisSets sets;
    for (std::size_t d = 0; d < value.shape.size(); ++d) sets.push_back(AxisSet{1} << d);
    AxisSet used = 0;
    const Node* node = &value;
    while (!(is_leaf && is_leaf(*node))) {
        if (is_marker(node->op)) {
            node = &node->source();
            continue;
        }
        if (!is_movement(node->op) || node->op == Op::Insert) break;
        used |= axes_of_gate(*node, sets);
        sets = axes_of_source(*node, sets);
        node = &node->source();
    }
    const Dims* strides = strides_of(*node);
    for (std::size_t d = 0; d < sets.size(); ++d) {
        const bool expanded = strides && d < strides->size() && (*strides)[d] == 0;
        if (node->shape[d] != 1 && !expanded) used |= sets[d];
    }
    return used;
}

std::optional<Contraction> find_contraction(const Node& product, const Dims& axes,
                                            const std::function<bool(const Node&)>& is_leaf) {
    if (!is_fused_product(product) || (is_leaf && is_leaf(product))) return std::nullopt;
    AxisSet reduced = 0;
    for (const std::int64_t axis : axes) reduced |= AxisSet{1} << axis;
    const AxisSet left = axes_read(product.source(0), is_leaf), right = axes_read(product.source(1), is_leaf);
    Contraction found{product.sources[0], product.sources[1]};
    for (std::size_t d = 0; d < product.shape.size(); ++d) {
        const AxisSet bit = AxisSet{1} << d;
        if (product.shape[d] == 1) continue;
        if (reduced & bit) found.k |= bit;
        else if ((left & bit) && !(right & bit)) found.m |= bit;
        else if ((right & bit) && !(left & bit)) found.n |= bit;
        else found.batch |= bit;
    }
    // A convolution with one output channel has axes on one side alone, and is summed like the others.
    const bool windows = product.as<FusedArg>().windows && (found.m || found.n);
    if (!found.k || (found.is_thin() && !windows)) return std::nullopt;
    found.multiply_adds = numel(product.shape);
    return found;
}

std::optional<Contraction> find_contraction(const Node& reduce, const std::function<bool(const Node&)>& is_leaf) {
    if (reduce.op != Op::Reduce || reduce.as<ReduceArg>().order.kind != SumOrder::Kind::Contraction)
        return std::nullopt;
    return find_contraction(reduce.source(), reduce.as<ReduceArg>().axes, is_leaf);
}

}  // namespace weft::ir
