// schedule/split_sums.cpp: which sums are split, and the graph of one:
//
//     C[m, n] = contraction over k                 parts[b, m, n] = contraction over the k of block b
//                                       becomes    C[m, n] = parts[0, m, n] + parts[1, m, n] + …  (SumOrder::Sequence)
//
// A last block that is shorter is a contraction of its own: filled up with zeros it would have another sign where it is zero.
#include "schedule/split_sums.h"

#include "core/checked.h"
#include "ir/build.h"
#include "ir/contraction.h"
#include "ir/walk.h"

#include <algorithm>
#include <numeric>
#include <unordered_set>

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

bool is_of_halves(const Node& factor) {
    const Node* node = &factor;
    while (is_movement(node->op) && node->op != Op::Insert) node = &node->source();
    return node->op == Op::Cast && is_half(node->source().dtype);
}

// Does it make one axis of several?
bool merges_axes(const Node& reshape) {
    const Shape &from = reshape.source().shape, &to = reshape.shape;
    std::size_t i = 0, j = 0;
    while (i < from.size() || j < to.size()) {
        const std::size_t first = i;
        std::int64_t left = i < from.size() ? from[i++] : 1, right = j < to.size() ? to[j++] : 1;
        while (left != right) {
            if (left < right && i < from.size()) left *= from[i++];
            else if (j < to.size()) right *= to[j++];
            else break;
        }
        if (std::count_if(from.begin() + first, from.begin() + i, [](std::int64_t size) { return size != 1; }) > 1)
            return true;
    }
    return false;
}

// A sum that a stride thins out is computed in phases (kernel/phases.h), of which each has its own blocks. They come from remainders in the
// conditions under which a factor is zero: where one is possible, the sum stays as it is.
bool may_have_phases(const NodeRef& factor) {
    const auto enter = [](const Node& node) {
        return node.op != Op::Reduce && node.op != Op::Scan && node.op != Op::Scatter && node.op != Op::Custom;
    };
    std::unordered_set<const Node*> conditions;  // what has different values by position, not by data
    for (const Node* node : topological_order(std::span(&factor, 1), enter)) {
        if (!enter(*node)) continue;
        if (node->op == Op::Unskew && node->as<SkewArg>().stride != 1) return true;
        const bool inside = std::ranges::any_of(
            node->sources, [&](const NodeRef& source) { return conditions.contains(source.get()); });
        if (inside && (node->op == Op::Mod || (node->op == Op::Reshape && merges_axes(*node)))) return true;
        if (inside || node->op == Op::Pad || node->op == Op::Unskew || node->op == Op::Insert || node->op == Op::Iota)
            conditions.insert(node);
    }
    return false;
}

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
    const bool tensor_cores = target.tensor_cores && is_of_halves(*found->left) && is_of_halves(*found->right);
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
    if (may_have_phases(found->left) || may_have_phases(found->right)) return {};
    return split;
}

Rewritten split_sums(std::span<const NodeRef> roots, const Target& target) {
    const Rule split = rule("split-sum", pattern::op(Op::Reduce, {pattern::x}), [&](const Match& m) -> NodeRef {
        const std::optional<SumSplit> chosen = choose_split(*m.root, target);
        return chosen ? Splitter(*m.root, *chosen)() : nullptr;
    });
    return rewrite(roots, std::span(&split, 1));
}

}  // namespace weft::schedule
