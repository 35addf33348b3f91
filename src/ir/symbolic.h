// ir/symbolic.h: integer index arithmetic. Simplifies i64 expressions of loop variables (+ - * floor-div mod, min, max,
// comparisons, logic, where) and bounds them. Lowering calls it on every index; views collapse to plain strides because of it.
#pragma once

#include "ir/node.h"

#include <cstdint>
#include <optional>

namespace weft::ir {

struct Bounds {
    std::int64_t low, high;  // inclusive; an empty loop (extent 0) has the bounds of extent 1
};

// Bounds of an i64 (or bool: 0/1) expression; saturated at the int64 range, never wrong. LoopVar has 0 … extent-1,
// ScalarParam and Load are unbounded, Check is [low, high-1].
Bounds bounds(const NodeRef& expression);

// An equal expression, for all values within the loop bounds, in canonical form: linear terms collected and ordered,
// (i*4 + j) / 4 -> i and (i*4 + j) % 4 -> j for 0 <= j < 4, (x / 4) * 4 + x % 4 -> x, comparisons decided by bounds.
// Non-index nodes inside (loads, casts) are atoms. Works in the interner given; bool expressions are simplified too.
NodeRef simplify_index(Interner& interner, const NodeRef& expression);

// The coefficient c with expression(var + 1) - expression(var) == c for all values; nothing if there is no such constant.
std::optional<std::int64_t> stride_of(Interner& interner, const NodeRef& expression, int var_id);

bool depends_on(const NodeRef& expression, int var_id);

}  // namespace weft::ir
