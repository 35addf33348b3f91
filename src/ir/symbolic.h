// ir/symbolic.h: integer index arithmetic. Simplifies i64 expressions of loop variables (+ - * floor-div mod, min, max,
// comparisons, logic, where) and bounds them. Lowering calls it on every index; with it views become plain strides.
#pragma once

#include "ir/node.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <utility>

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
//
// The result depends on structure alone, and simplifying it again gives the same node. It prints as
// (((s0 + i0*28) + i1) - i2) + 3: terms by their highest loop variable, subtracted ones after, the constant last; every
// i64 comparison that cannot wrap is a CmpLt (or CmpEq) with positive factors on both sides; "not x" is Xor(x, true).
// Wrapping is kept: a rule that is true of integers only applies where bounds show that nothing leaves int64. So an
// unbounded scalar in a sum stops division rules; Check bounds it. A Check goes when its value is always in range, and
// with any value that does not matter (Check * 0, a comparison its range decides): who must raise, keeps it elsewhere.
NodeRef simplify_index(Interner& interner, const NodeRef& expression);

// The same for many expressions that have parts in common: what is known of a part is kept, and so are the expressions.
class IndexSimplifier {
public:
    explicit IndexSimplifier(Interner& interner);
    ~IndexSimplifier();
    NodeRef operator()(const NodeRef& expression);

    // The expression with loop variables (by id) replaced, if it is a plain sum of them then; else null. Much faster than
    // replacing first: nothing is made but the result, which is the expression itself if no variable occurs in it.
    NodeRef plain_sum(const NodeRef& expression, std::span<const std::pair<int, NodeRef>> with);

private:
    Interner& interner_;
    std::unique_ptr<class Simplifier> simplifier_;  // made when it is first needed: most indices are plain sums
};

// The coefficient c with expression(var + 1) - expression(var) == c for all values; nothing if none is found. Fast
// on simplified expressions; others are simplified first when they must be.
std::optional<std::int64_t> stride_of(Interner& interner, const NodeRef& expression, int var_id);

bool depends_on(const NodeRef& expression, int var_id);

}  // namespace weft::ir
