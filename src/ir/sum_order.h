// ir/sum_order.h: the order in which a Reduce adds its terms, and with that the bits of every sum. It is decided once, when the node is
// built, from the logical shape alone, and travels with the node. So it does not matter what is stored, how memory is laid out, what
// runs in the same kernel, on which device or on how many threads: whoever computes the sum follows this order.
#pragma once

#include "ir/op.h"

#include <weft/shape.h>

#include <cstdint>
#include <span>
#include <string>

namespace weft::ir {

class Node;

// - Chain: one running sum per result, through the reduced axes in row-major order.
// - Lanes: the last reduced axes, seen as one axis of n elements, are added in c interleaved chains: element k goes to chain k mod c.
//   c is sum_lanes() times 4, 2 or 1 (n of at least 4 or 2 times as many); the chains are folded as a tree (see kernel/reduce.cpp).
// - Contraction: one chain of fused multiply-adds, in blocks (kUnblockedContraction).
// In each of them a chain of roundings has a limit (kernel/reduce.h): longer ones are cut into blocks, and block sums are added in order.
// - Blocks: of a running sum (Scan). Its terms are cut into blocks of `chunks`, of which each has a chain of its own; a result is the sum of the blocks
//   before, added up in order, and of its block up to there. So blocks can be computed at the same time, and sums of positive terms still never fall.
// - Sequence: a chain without that limit: its terms are the block sums of a contraction, which are added one after the other.
// With `chunks` > 1 the axes of a Reduce first … last, as one axis, are first cut into so many equal parts: a sum per part, then the sum of those.
struct SumOrder {
    enum class Kind : std::uint8_t { Chain, Lanes, Contraction, Sequence, Blocks };
    Kind kind = Kind::Chain;
    std::uint8_t lane_axes = 0;  // Lanes: how many of the reduced axes, counted from the last
    std::int32_t chunks = 1;
    std::int32_t first = 0, last = 0;
    bool operator==(const SumOrder&) const = default;
};

// Lanes of a sum: as many elements as fill the widest vector register that any processor has.
inline constexpr int kSumLanes = 16;
inline int sum_lanes(DType dtype) { return size_of(dtype) > 4 ? kSumLanes / 2 : kSumLanes; }

// `axes` ascending, none of size 1.
SumOrder sum_order(Op op, const Node& source, const Dims& axes);

// … of a running sum or product along an axis (maxima and integers have no order).
SumOrder scan_order(Op op, const Node& source, int axis);
std::int64_t scan_block(std::int64_t length);  // about the root of the length

// … of a sum that is no contraction and is not cut; `windows`: the axes are those of sliding windows, which memory does not run through.
SumOrder plain_order(const Node& source, const Dims& axes, bool windows);

// The blocks of a contraction's sum: one chain up to kUnblockedContraction terms, else blocks of at most kContractionBlock.
inline constexpr std::int64_t kContractionBlock = 512, kUnblockedContraction = 1024;

// A block of at most `limit` steps of loops with these extents, outermost first: all of the loops from `whole` on, inside `length` steps of
// the loop before them. The last block of that loop may be shorter. whole = 0: all loops are in one block.
struct InnerBlock {
    std::size_t whole = 0;
    std::int64_t length = 1;
};
InnerBlock inner_block(std::span<const std::int64_t> extents, std::int64_t limit);

// A sum in so many chains of lanes, of `length` elements: blocks whose sums are added in order. One block: `length` itself.
inline constexpr std::int64_t kLongestChain = 64, kLaneBlocks = 16;
std::int64_t lane_block(std::int64_t length, std::int64_t chains);

std::uint64_t bits_of(const SumOrder& order);  // for hashes and keys: different for different orders
std::string to_string(const SumOrder& order);  // " in lanes", or nothing for a plain chain

}  // namespace weft::ir
