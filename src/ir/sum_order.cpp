// ir/sum_order.cpp: what a sum's order follows from: its shape, its axes, and whether it is a contraction.
#include "ir/sum_order.h"

#include "core/checked.h"
#include "core/str.h"
#include "ir/contraction.h"
#include "ir/node.h"

#include <algorithm>

namespace weft::ir {
namespace {

// A long reduction with few results is cut into chunks: they run in parallel.
constexpr std::int64_t kChunkedFrom = 1 << 17, kFewResults = 64, kChunk = 1 << 14, kMostChunks = 256;

// A long array summed along its leading axes: cut by rows, each chunk reads memory from one end to the other.
constexpr std::int64_t kManyElements = 1 << 21, kMostColumns = 1 << 14, kRowChunk = 256, kMostRowChunks = 16;

// A contraction with few results has nothing to share out but its sum.
constexpr std::int64_t kFewProducts = 1 << 12, kLongContraction = 1 << 13, kContractionChunk = 1 << 19,
                       kMostContractionChunks = 16;

bool contains(const Dims& axes, std::size_t d) {
    return std::find(axes.begin(), axes.end(), static_cast<std::int64_t>(d)) != axes.end();
}

// The reduced axes at the end of the shape, axes of size 1 aside, are one axis. Lanes run along it where the last of them fills them, or
// where all of them fill two vectors. Of windows only the last axis counts: a small window is added up one element after the other, in
// lanes over windows.
int lane_axes(const Shape& shape, const Dims& axes, int lanes, bool windows) {
    int count = 0;
    std::int64_t run = 1, last = 0;
    for (std::size_t d = shape.size(); d-- > 0;) {
        if (shape[d] == 1) continue;
        if (!contains(axes, d)) break;
        if (count++ == 0) last = shape[d];
        if (__builtin_mul_overflow(run, shape[d], &run)) run = INT64_MAX;
    }
    if (windows) return last >= lanes ? 1 : 0;
    return last >= lanes || run >= 2 * lanes ? count : 0;
}

void choose_chunks(SumOrder& order, const Shape& shape, const Dims& axes, std::int64_t results, std::int64_t terms) {
    bool leading = true;
    for (std::size_t i = 0; i < axes.size(); ++i) leading &= axes[i] == static_cast<std::int64_t>(i);
    const bool few = results <= kFewResults && terms >= kChunkedFrom;
    const bool across = leading && results > kFewResults && results <= kMostColumns && terms >= 4 * kRowChunk &&
                        results * terms >= kManyElements && order.kind != SumOrder::Kind::Contraction;
    if (!few && !across) return;
    // All reduced axes as one, if they are neighbours (axes of size 1 do not count); else the longest one is cut.
    auto first = static_cast<std::size_t>(axes.front()), last = static_cast<std::size_t>(axes.back());
    bool neighbours = true;
    for (std::size_t d = first; d <= last; ++d) neighbours &= shape[d] == 1 || contains(axes, d);
    if (!neighbours) {
        for (const std::int64_t axis : axes)
            if (shape[axis] > shape[first]) first = static_cast<std::size_t>(axis);
        last = first;
    }
    std::int64_t length = 1;
    for (std::size_t d = first; d <= last; ++d) length *= shape[d];
    std::int64_t chunks =
        across ? std::min(kMostRowChunks, terms / kRowChunk) : std::min(kMostChunks, ceil_div(terms, kChunk));
    while (chunks > 1 && length % chunks != 0) --chunks;
    if (chunks < (across ? 4 : 8)) return;  // an awkward length: one kernel
    order.chunks = static_cast<std::int32_t>(chunks);
    order.first = static_cast<std::int32_t>(first);
    order.last = static_cast<std::int32_t>(last);
}

void choose_contraction_chunks(SumOrder& order, const Contraction& found, const Shape& shape, const Dims& axes,
                               std::int64_t results, std::int64_t terms) {
    if (results > kFewProducts || terms < kLongContraction || found.batch) return;
    const std::int64_t most = std::min(kMostContractionChunks, found.multiply_adds / kContractionChunk);
    std::int64_t chunks = 3;  // fewer are not worth it
    for (const std::int64_t axis : axes) {
        std::int64_t parts = std::min(most, shape[axis]);
        while (parts > chunks && shape[axis] % parts != 0) --parts;
        if (parts <= chunks) continue;
        chunks = parts;
        order.chunks = static_cast<std::int32_t>(parts);
        order.first = order.last = static_cast<std::int32_t>(axis);
    }
}

// Shorter running sums are computed by one thread each, and so are those that memory does not run through: columns have neighbours.
constexpr std::int64_t kLongScan = 1 << 12, kShortestScanBlock = 64, kLongestScanBlock = 1 << 14;

}  // namespace

std::int64_t scan_block(std::int64_t length) {
    std::int64_t block = kShortestScanBlock;
    while (block < kLongestScanBlock && block * block < length) block *= 2;
    return block;
}

SumOrder scan_order(Op op, const Node& source, int axis) {
    const auto d = static_cast<std::size_t>(axis);
    std::int64_t behind = 1;
    for (std::size_t i = d + 1; i < source.shape.size(); ++i) behind *= source.shape[i];
    if (!is_float(source.dtype) || (op != Op::Add && op != Op::Mul) || behind != 1 || source.shape[d] < kLongScan)
        return {};
    return {.kind = SumOrder::Kind::Blocks, .chunks = static_cast<std::int32_t>(scan_block(source.shape[d]))};
}

SumOrder plain_order(const Node& source, const Dims& axes, bool windows) {
    const int run = lane_axes(source.shape, axes, sum_lanes(source.dtype), windows);
    if (run == 0) return {};
    return {.kind = SumOrder::Kind::Lanes, .lane_axes = static_cast<std::uint8_t>(run)};
}

SumOrder sum_order(Op op, const Node& source, const Dims& axes) {
    SumOrder order;
    std::int64_t results = 1, terms = 1;
    for (std::size_t d = 0; d < source.shape.size(); ++d) (contains(axes, d) ? terms : results) *= source.shape[d];
    if (results == 0 || terms == 0) return order;
    const auto contraction = op == Op::Add ? find_contraction(source, axes) : std::nullopt;
    // With axes on one side alone and batches (a depthwise convolution), short sums have nothing in common: lanes run over windows.
    if (contraction && !(contraction->is_thin() && contraction->batch)) {
        order.kind = SumOrder::Kind::Contraction;
        choose_contraction_chunks(order, *contraction, source.shape, axes, results, terms);
    } else {
        const bool windows = is_fused_product(source) && source.as<FusedArg>().windows;
        order = plain_order(source, axes, windows);
    }
    if (order.chunks == 1) choose_chunks(order, source.shape, axes, results, terms);
    return order;
}

InnerBlock inner_block(std::span<const std::int64_t> extents, std::int64_t limit) {
    InnerBlock block{.whole = extents.size()};
    while (block.whole > 0 && extents[block.whole - 1] <= limit) limit /= extents[--block.whole];
    if (block.whole == 0 || limit < 2) return block;
    const std::int64_t extent = extents[block.whole - 1];
    block.length = ceil_div(extent, ceil_div(extent, limit));
    return block;
}

std::int64_t lane_block(std::int64_t length, std::int64_t chains) {
    std::int64_t block = kLongestChain * chains;
    if (length <= block) return length;
    while (ceil_div(length, block) > kLaneBlocks) block *= kLaneBlocks;
    return block;
}

std::uint64_t bits_of(const SumOrder& order) {
    return static_cast<std::uint64_t>(order.kind) | std::uint64_t{order.lane_axes} << 8 |
           static_cast<std::uint64_t>(order.chunks) << 16 | static_cast<std::uint64_t>(order.first) << 32 |
           static_cast<std::uint64_t>(order.last) << 48;
}

std::string to_string(const SumOrder& order) {
    constexpr std::string_view kKinds[] = {"", " in lanes", " contracted", " in sequence", " in blocks of "};
    if (order.kind == SumOrder::Kind::Blocks) return str(kKinds[static_cast<int>(order.kind)], order.chunks);
    return str(kKinds[static_cast<int>(order.kind)], order.chunks > 1 ? str(" in ", order.chunks, " chunks") : "");
}

}  // namespace weft::ir
