// schedule/split_sums.cpp: which sums are split, and the graph of one:
//
//     C[m, n] = contraction over k                 parts[b, m, n] = contraction over the k of block b
//                                       becomes    C[m, n] = parts[0, m, n] + parts[1, m, n] + …  (SumOrder::Sequence)
//
// A last block that is shorter is a contraction of its own: filled up with zeros it would have another sign where it is zero.
#include "schedule/split_sums.h"

#include "core/checked.h"
#include "core/tensor_cores.h"
#include "ir/build.h"
#include "ir/contraction.h"
#include "ir/walk.h"
#include "schedule/ranks.h"
#include "schedule/scan_blocks.h"
#include "schedule/scatter_sums.h"

#include <algorithm>
#include <numeric>
#include <set>
#include <unordered_set>
#include <utility>
#include <vector>

namespace weft::schedule {
namespace {

using namespace ir;

constexpr std::int64_t kLeastTiled = 8;           // rows or columns below: threads share the blocks of a sum as it is
constexpr std::int64_t kMostBytes = 256ll << 20;  // of the sums of all blocks
constexpr double kWorthIt = 1.25;                 // how much longer it must take as one kernel

// What a GPU does in a time, as measured on an H200: products that it computes while it moves a byte, and while a kernel begins.
struct Rates {
    double products, launch;
    std::int64_t tile, tiles;  // rows and columns of a tile; how many of them a multiprocessor needs at a time
};
constexpr std::int64_t kSlice = 64;  // steps that tensor cores add at a time
constexpr Rates kPlain{5, 4e7, 64, 2}, kTensorCores{75, 6e8, 128, 1};

// ---- what is chosen --------------------------------------------------------------------------------------------------

// The type that memory has a factor in, before it is made wide for the sum.
DType stored_type(const Node& factor) {
    const Node* node = &factor;
    while (is_movement(node->op) && node->op != Op::Insert) node = &node->source();
    return node->op == Op::Cast && is_half(node->source().dtype) ? node->source().dtype : factor.dtype;
}

// A sum that a stride thins out is computed in phases (kernel/phases.h), of which each has its own blocks. They come from remainders in the
// conditions under which a factor is zero, of something that a kept and a summed axis move: where one is possible, the sum stays as it is.
class MayHavePhases {
public:
    MayHavePhases(const Contraction& found) : kept_(found.batch | found.m | found.n), summed_(found.k) {}

    bool operator()(const NodeRef& factor) {
        const auto enter = [](const Node& node) { return is_open(node); };
        for (const Node* node : topological_order(std::span(&factor, 1), enter)) {
            const bool inside = is_open(*node) && std::ranges::any_of(node->sources, [&](const NodeRef& source) {
                                    return conditional_.contains(source.get());
                                });
            if (inside || node->op == Op::Pad || node->op == Op::Unskew || node->op == Op::Insert ||
                node->op == Op::Iota)
                conditional_.insert(node);
        }
        AxisSets sets;
        for (std::size_t d = 0; d < factor->shape.size(); ++d) sets.push_back(AxisSet{1} << d);
        return walk(*factor, sets);
    }

private:
    static bool is_open(const Node& node) {
        return node.op != Op::Reduce && node.op != Op::Scan && node.op != Op::Scatter && node.op != Op::Custom;
    }
    bool is_mixed(AxisSet axes) const { return (axes & kept_) && (axes & summed_); }

    // Below a value whose axes are made of these axes of the sum.
    bool walk(const Node& node, const AxisSets& sets) {
        // What has different values by position, not by data. Each is asked once for the same axes.
        if (!conditional_.contains(&node) || !is_open(node) ||
            !seen_.emplace(&node, std::vector<AxisSet>(sets.begin(), sets.end())).second)
            return false;
        AxisSet all = 0;
        for (const AxisSet axes : sets) all |= axes;
        if (node.op == Op::Mod && is_mixed(all)) return true;
        if (node.op == Op::Unskew) {
            const auto& skew = node.as<SkewArg>();
            if (skew.stride != 1 && is_mixed(sets[skew.axis] | sets[skew.window])) return true;
        }
        if (node.op == Op::Reshape && splits_a_mixed_index(node, sets)) return true;
        return std::ranges::any_of(node.sources, [&](const NodeRef& source) {
            if (is_movement(node.op) && node.op != Op::Insert) return walk(*source, axes_of_source(node, sets));
            return walk(*source, source->shape == node.shape || node.op == Op::Insert
                                     ? sets
                                     : AxisSets::filled(source->shape.size(), all));
        });
    }

    // The index into an axis that a reshape has made of several is divided.
    bool splits_a_mixed_index(const Node& reshape, const AxisSets& sets) const {
        const Shape &from = reshape.source().shape, &to = reshape.shape;
        std::size_t i = 0, j = 0;
        while (i < from.size() || j < to.size()) {
            const std::size_t first = i, first_to = j;
            std::int64_t left = i < from.size() ? from[i++] : 1, right = j < to.size() ? to[j++] : 1;
            while (left != right) {
                if (left < right && i < from.size()) left *= from[i++];
                else if (j < to.size()) right *= to[j++];
                else break;
            }
            AxisSet axes = 0;
            for (std::size_t d = first_to; d < j; ++d) axes |= sets[d];
            const auto several =
                std::count_if(from.begin() + first, from.begin() + i, [](std::int64_t size) { return size != 1; });
            if (several > 1 && is_mixed(axes)) return true;
        }
        return false;
    }

    const AxisSet kept_, summed_;
    std::unordered_set<const Node*> conditional_;
    std::set<std::pair<const Node*, std::vector<AxisSet>>> seen_;
};

std::int64_t elements_along(const Shape& shape, AxisSet axes) {
    std::int64_t result = 1;
    for (std::size_t d = 0; d < shape.size(); ++d)
        if (axes >> d & 1) result *= shape[d];
    return result;
}

// ---- the graph of a split sum ----------------------------------------------------------------------------------------

class Splitter {
public:
    Splitter(const Node& reduce, const SumSplit& split)
        : reduce_(reduce), split_(split), axes_(reduce.as<ReduceArg>().axes), cut_(axes_[split.axis]) {}

    NodeRef operator()() const {
        const std::int64_t extent = reduce_.source().shape[cut_], whole = extent / split_.length * split_.length;
        NodeRef parts = sums_of_blocks(0, whole, split_.length);
        if (whole == extent) return total(parts);
        const NodeRef last = sums_of_blocks(whole, extent - whole, extent - whole);
        if (split_.axis == 0) return total(parts) + reshape(last, reduce_.shape);
        Shape all = parts->shape;
        all[split_.axis] += 1;
        Dims starts = Dims::filled(all.size(), 0);
        const NodeRef first = insert(constant(parts->dtype, Scalar(0), all), parts, starts);
        starts[split_.axis] = all[split_.axis] - 1;
        return total(insert(first, last, starts));
    }

private:
    // Of blocks of `length`, in these elements of the axis that is cut. The axes that count blocks come first.
    NodeRef sums_of_blocks(std::int64_t begin, std::int64_t count, std::int64_t length) const {
        const Node& terms = reduce_.source();
        Dims starts = Dims::filled(terms.shape.size(), 0), order, summed;
        Shape box = terms.shape, cut;
        starts[cut_] = begin;
        box[cut_] = count;
        for (std::size_t i = 0; i <= split_.axis; ++i) order.push_back(axes_[i]);
        for (std::int64_t d = 0; d < terms.rank(); ++d) {
            if (d == cut_) cut.push_back(count / length);
            cut.push_back(d == cut_ ? length : box[d]);
        }
        for (std::int64_t d = 0; d < static_cast<std::int64_t>(cut.size()); ++d) {
            if (std::find(order.begin(), order.end(), d) != order.end()) continue;
            const std::int64_t axis = d > cut_ ? d - 1 : d;
            if (std::find(axes_.begin(), axes_.end(), axis) != axes_.end())
                summed.push_back(static_cast<std::int64_t>(order.size()));
            order.push_back(d);
        }
        const auto in_blocks = [&](const NodeRef& factor) {
            return permute(reshape(shrink(factor, starts, box), cut), order);
        };
        const SumOrder chain{.kind = SumOrder::Kind::Contraction};
        return ir::reduce(Op::Add,
                          product(in_blocks(terms.sources[0]), in_blocks(terms.sources[1]), terms.as<FusedArg>()),
                          summed, &chain);
    }

    NodeRef total(const NodeRef& parts) const {
        Dims blocks = Dims::filled(split_.axis + 1, 0);
        std::iota(blocks.begin(), blocks.end(), 0);
        const SumOrder in_order{.kind = SumOrder::Kind::Sequence};
        return reshape(ir::reduce(Op::Add, parts, blocks, &in_order), reduce_.shape);
    }

    const Node& reduce_;
    const SumSplit& split_;
    const Dims& axes_;
    const std::int64_t cut_;  // the axis that is cut
};

// A sum of sums in lanes, of which the long ones come in blocks of blocks (ir/sum_order.h): each block becomes a row of its own, until there are enough
// rows for all threads.
NodeRef split_lanes(const Node& total, const Target& target) {
    const Node& sum = total.source();
    if (sum.op != Op::Reduce || is_fused_product(sum.source())) return nullptr;
    const auto &arg = sum.as<ReduceArg>(), &outer = total.as<ReduceArg>();
    const Shape& domain = sum.source().shape;
    const auto last = static_cast<std::int64_t>(domain.size()) - 1;
    const std::int64_t chains = std::int64_t{4} * sum_lanes(sum.dtype), shortest = kLongestChain * chains;
    if (arg.op != Op::Add || !is_float(sum.dtype) || arg.order.kind != SumOrder::Kind::Lanes || arg.order.chunks > 1 ||
        arg.axes.size() != 1 || arg.axes[0] != last || lane_block(domain[last], chains) <= shortest)
        return nullptr;
    Shape cut = domain;
    std::int64_t rows = numel(sum.shape);
    while (rows * chains < target.most_threads() && cut.back() > shortest) {
        const std::int64_t length = cut.back(), block = lane_block(length, chains);
        if (length % block) break;
        cut.back() = length / block;
        cut.push_back(block);
        rows *= length / block;
    }
    auto axis = static_cast<std::int64_t>(cut.size()) - 1;
    if (axis == last) return nullptr;
    const SumOrder lanes{.kind = SumOrder::Kind::Lanes, .lane_axes = 1}, in_order{.kind = SumOrder::Kind::Sequence};
    NodeRef sums = ir::reduce(Op::Add, reshape(sum.sources[0], cut), {axis}, &lanes);
    while (axis-- > last) sums = ir::reduce(Op::Add, sums, {axis}, &in_order);
    sums = sums +
           like(sums, 0);  // as the plain loops, which add the blocks to zero: a sum that was flushed to -0 becomes 0
    return ir::reduce(outer.op, reshape(sums, sum.shape), outer.axes, &outer.order);
}

}  // namespace

std::optional<SumSplit> choose_split(const Node& reduce, const Target& target) {
    const std::optional<Contraction> found = find_contraction(reduce);
    const auto& arg = reduce.as<ReduceArg>();
    if (!found || arg.order.chunks > 1 || found->multiply_adds == 0) return {};
    const Shape& domain = reduce.source().shape;
    const std::int64_t results = numel(reduce.shape), m = elements_along(domain, found->m),
                       n = elements_along(domain, found->n);
    if (found->multiply_adds / results <= kUnblockedContraction || m < kLeastTiled || n < kLeastTiled) return {};

    std::vector<std::int64_t> extents;
    for (const std::int64_t axis : arg.axes) extents.push_back(domain[axis]);
    const bool tensor_cores =
        multiplies_halves(target, stored_type(*found->left), stored_type(*found->right), reduce.dtype, m, n);
    auto [whole, length] = inner_block(extents, kContractionBlock);
    // Tensor cores have an order of their own anyway. Blocks of whole slices begin where a copy unit can read them.
    if (tensor_cores && whole == extents.size()) length = ceil_div(length, kSlice) * kSlice;
    SumSplit split{.axis = whole - 1, .length = length, .blocks = ceil_div(extents[whole - 1], length)};
    for (std::size_t i = 0; i < split.axis; ++i) split.blocks *= extents[i];
    const std::int64_t bytes_of_block = results * static_cast<std::int64_t>(size_of(reduce.dtype));
    if (split.blocks > kMostBytes / bytes_of_block) return {};

    // In products that a busy processor computes in the time. A few tiles take as long as all that run at a time.
    const Rates& rates = tensor_cores ? kTensorCores : kPlain;
    const std::int64_t tiles = elements_along(domain, found->batch) * ceil_div(m, rates.tile) * ceil_div(n, rates.tile),
                       terms = found->multiply_adds / results, at_a_time = rates.tiles * target.multiprocessors;
    const auto time = [&](std::int64_t all_tiles, std::int64_t steps) {
        return static_cast<double>(std::max(all_tiles, at_a_time)) *
               static_cast<double>(steps * rates.tile * rates.tile);
    };
    const double stored = static_cast<double>(split.blocks * bytes_of_block), loaded = stored;
    const double after =
        time(tiles * split.blocks, ceil_div(terms, split.blocks)) + rates.products * (stored + loaded) + rates.launch;
    if (time(tiles, terms) < kWorthIt * after) return {};
    MayHavePhases may_have_phases(*found);
    if (may_have_phases(found->left) || may_have_phases(found->right)) return {};
    return split;
}

Rewritten split_sums(std::span<const NodeRef> roots, const Target& target) {
    const Rule rules[] = {
        rule("split-sum", pattern::op(Op::Reduce, {pattern::x}),
             [&](const Match& m) -> NodeRef {
                 const std::optional<SumSplit> chosen = choose_split(*m.root, target);
                 return chosen ? Splitter(*m.root, *chosen)() : split_lanes(*m.root, target);
             }),
        rule("sum-of-scatter", pattern::op(Op::Scatter, {pattern::x, pattern::y, pattern::z}),
             [&](const Match& m) { return sum_of_scatter(*m.root, target); }),
        rule("sort-by-ranks", pattern::op(Op::Part, {pattern::x}),
             [&](const Match& m) { return sorted_by_ranks(*m.root, target); }),
        rule("scan-in-blocks", pattern::op(Op::Scan, {pattern::x}),
             [&](const Match& m) { return scan_in_blocks(*m.root, target); }),
        rule("search-by-halves", pattern::op(Op::Custom, {pattern::x, pattern::y}),
             [&](const Match& m) { return searched_by_halves(*m.root, target); }),
    };
    return rewrite(roots, rules);
}

}  // namespace weft::schedule
