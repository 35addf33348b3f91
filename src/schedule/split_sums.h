// schedule/split_sums.h: contractions with few results and a long sum, for processors with thousands of threads: the gradient of a
// convolution's weights. Tiles of the results alone do not keep such a processor busy. The blocks of the sum (ir/sum_order.h) do not wait for
// each other, so they become a batch of contractions, one chain each, whose results are stored; a sum adds these in the order of the blocks.
// That is the order that the contraction has as one kernel: no bit depends on it.
#pragma once

#include "core/target.h"
#include "ir/rewrite.h"

#include <optional>
#include <span>

namespace weft::schedule {

// How the sum is cut: blocks are counted by the reduced axes before `axis` and by every `length` elements of it.
struct SumSplit {
    std::size_t axis = 0;  // which of the reduced axes
    std::int64_t length = 1, blocks = 1;
    bool operator==(const SumSplit&) const = default;
};

// None: the node is no such contraction, or one kernel computes it as fast.
std::optional<SumSplit> choose_split(const ir::Node& reduce, const Target& target);

// The graph with all sums split for which it is chosen.
ir::Rewritten split_sums(std::span<const ir::NodeRef> roots, const Target& target);

}  // namespace weft::schedule
