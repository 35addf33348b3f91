// ir/contraction.h: recognises a sum of products and sorts its ranges. Fuse asks what a prologue would cost, the kernel room
// how to tile; nothing else in Weft knows what a matmul or a convolution is.
#pragma once

#include "ir/node.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace weft::ir {

using AxisSet = std::uint64_t;  // bit d: axis d

// Which axes of `value` (as seen from its own shape) its leaves really depend on: a broadcast axis does not count.
// `is_leaf` says where to stop (null: at nodes without sources).
AxisSet axes_read(const Node& value, const std::function<bool(const Node&)>& is_leaf = nullptr);

struct Contraction {
    NodeRef left, right;              // the factors, both of the domain's shape
    AxisSet batch = 0, m = 0, n = 0;  // kept ranges of both factors, of the left, of the right
    AxisSet k = 0;                    // summed ranges
    std::int64_t multiply_adds = 0;
};

// A sum that a stride thins out (UNSKEW inside a contraction) is computed as one sum per phase of the stride, up to this many.
inline constexpr std::int64_t kMostPhases = 16;

// The contraction that a Reduce node is, if it is one: Reduce(add) of a Mul whose factors each have a kept range of their own.
std::optional<Contraction> find_contraction(const Node& reduce,
                                            const std::function<bool(const Node&)>& is_leaf = nullptr);

}  // namespace weft::ir
