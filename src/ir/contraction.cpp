// ir/contraction.cpp: follows each factor's views down to its leaves with one bit set per axis.
#include "ir/contraction.h"

#include "ir/walk.h"

#include <unordered_map>

namespace weft::ir {
namespace {

using AxisSets = InlineVector<AxisSet, 6>;  // per axis of a node: the domain axes it stands for

// A reshape ties together the axes between two points where both shapes have the same running product.
AxisSets through_reshape(const Shape& from, const Shape& to, const AxisSets& sets) {
    AxisSets result(from.size(), 0);
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

AxisSets to_source(const Node& node, std::size_t which, const AxisSets& sets) {
    const Shape& from = node.sources[which]->shape;
    AxisSets result = sets;
    switch (node.op) {
        case Op::Reshape: return through_reshape(from, node.shape, sets);
        case Op::Permute:
            for (std::size_t d = 0; d < sets.size(); ++d) result[node.as<AxesArg>().axes[d]] = sets[d];
            return result;
        case Op::Expand:
            for (std::size_t d = 0; d < sets.size(); ++d)
                if (from[d] == 1) result[d] = 0;
            return result;
        case Op::Skew:
        case Op::Unskew: {
            const auto& skew = node.as<SkewArg>();
            result[skew.axis] |= result[skew.window];
            return result;
        }
        case Op::Reduce: {  // what is summed inside depends on no outer axis
            for (const std::int64_t axis : node.as<ReduceArg>().axes) result[axis] = 0;
            return result;
        }
        case Op::Scan:
        case Op::Gather:
        case Op::Scatter: return result;
        default: result.resize(from.size(), 0); return result;
    }
}

// Axes along which a zero-filling view is not the same everywhere, even if its source has one element there.
AxisSet axes_of_gate(const Node& node, const AxisSets& sets) {
    AxisSet gate = 0;
    if (node.op == Op::Pad || node.op == Op::Insert) {
        const Shape& box = node.sources.back()->shape;
        for (std::size_t d = 0; d < sets.size(); ++d)
            if (box[d] != node.shape[d]) gate |= sets[d];
    } else if (node.op == Op::Unskew) {
        const auto& skew = node.as<SkewArg>();
        gate = sets[skew.axis] | sets[skew.window];
    }
    return gate;
}

}  // namespace

AxisSet axes_read(const Node& value, const std::function<bool(const Node&)>& is_leaf) {
    const NodeRef root(&value);
    const auto enter = [&](const Node& node) { return !(is_leaf && is_leaf(node)); };
    const std::vector<const Node*> order = topological_order(std::span(&root, 1), enter);
    std::unordered_map<const Node*, AxisSets> sets;
    AxisSets own;
    for (std::size_t d = 0; d < value.shape.size(); ++d) own.push_back(AxisSet{1} << d);
    sets.emplace(&value, own);
    AxisSet used = 0;
    for (auto it = order.rbegin(); it != order.rend(); ++it) {
        const Node& node = **it;
        const AxisSets& mine = sets.at(&node);
        if (node.sources.empty() || !enter(node)) {
            const auto* param = std::get_if<SlotArg>(&node.arg);
            for (std::size_t d = 0; d < mine.size(); ++d) {
                const bool broadcast = param && d < param->strides.size() && param->strides[d] == 0;
                if (node.shape[d] != 1 && !broadcast) used |= mine[d];
            }
            continue;
        }
        used |= axes_of_gate(node, mine);
        for (std::size_t i = 0; i < node.sources.size(); ++i) {
            const AxisSets passed = to_source(node, i, mine);
            const auto [found, fresh] = sets.try_emplace(node.sources[i].get(), passed);
            if (!fresh)
                for (std::size_t d = 0; d < passed.size(); ++d) found->second[d] |= passed[d];
        }
    }
    return used;
}

std::optional<Contraction> find_contraction(const Node& reduce, const std::function<bool(const Node&)>& is_leaf) {
    if (reduce.op != Op::Reduce || reduce.as<ReduceArg>().op != Op::Add) return std::nullopt;
    const Node& product = reduce.source();
    if (product.op != Op::Mul || !is_float(product.dtype) || (is_leaf && is_leaf(product))) return std::nullopt;
    AxisSet reduced = 0;
    for (const std::int64_t axis : reduce.as<ReduceArg>().axes) reduced |= AxisSet{1} << axis;
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
    if (!found.m || !found.n || !found.k) return std::nullopt;
    found.multiply_adds = numel(product.shape);
    return found;
}

}  // namespace weft::ir
