// ir/contraction.h: recognises a sum of products and sorts its ranges. Fuse asks what a prologue would cost, src/kernel
// how to tile; nothing else in Weft knows what a matmul or a convolution is.
#pragma once

#include "ir/node.h"

#include <cstdint>
#include <functional>
#include <optional>

namespace weft::ir {

using AxisSet = std::uint64_t;  // bit d: axis d

// Which axes of `value` (as seen from its own shape) it really depends on: an axis that its views broadcast does not count. Only views are
// followed: what is computed may be stored or not, and depends on all of its axes either way. `is_leaf` says where to stop before that.
AxisSet axes_read(const Node& value, const std::function<bool(const Node&)>& is_leaf = nullptr);

// Per axis of a value: the axes of a domain that its index there is made of. Through a movement op, from the view to its source.
using AxisSets = InlineVector<AxisSet, 6>;
AxisSets axes_of_source(const Node& view, const AxisSets& sets);

// A term of a sum of products (ir::product).
inline bool is_fused_product(const Node& node) {
    return node.op == Op::Mul && std::holds_alternative<FusedArg>(node.arg);
}

struct Contraction {
    NodeRef left, right;              // the factors, both of the domain's shape
    AxisSet batch = 0, m = 0, n = 0;  // kept ranges of both factors, of the left, of the right
    AxisSet k = 0;                    // summed ranges
    std::int64_t multiply_adds = 0;
    bool is_thin() const { return !m || !n; }  // a convolution with one output channel
};

// A sum that a stride thins out (UNSKEW inside a contraction) is computed as one sum per phase of the stride, up to this many.
inline constexpr std::int64_t kMostPhases = 16;

// The contraction that a sum of a product over `axes` is, if it is one: of a fused product whose factors each have a kept range of their own;
// of a convolution's, if one of them has.
std::optional<Contraction> find_contraction(const Node& product, const Dims& axes,
                                            const std::function<bool(const Node&)>& is_leaf = nullptr);

// … that a Reduce node is, which is one by its order.
std::optional<Contraction> find_contraction(const Node& reduce,
                                            const std::function<bool(const Node&)>& is_leaf = nullptr);

}  // namespace weft::ir
