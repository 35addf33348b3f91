// kernel/reduce.h: emits the loops of reductions, in the order that their nodes ask for (ir/sum_order.h).
#pragma once

#include "ir/sum_order.h"
#include "kernel/expressions.h"
#include "kernel/nest.h"

namespace weft::kernel {

// A chain of additions has a limit: longer sums are blocked, and the block sums are added up. Equal numbers are the worst case: each
// addition of a chain rounds the same way. Millions of them stay right to 1e-6 with chains of 64, of which at most 16 are added at a time
// in lanes.
inline constexpr std::int64_t kLongestChain = ir::kLongestChain;
inline constexpr std::int64_t kUnblockedChain = 128;  // without lanes, of a whole sum

// A reduction to emit: result = op over the loops of value (or of left * right, fused, for a sum of products).
struct Reduction {
    ir::Op op = ir::Op::Add;
    NodeRef value;  // null for a sum of products
    NodeRef left, right;
    DType dtype = DType::F32;
    int result = -1;  // a local of size 1
};

// A value that the loops compute anyway and that later loops need again: it is stored in a row of `length` elements.
struct Kept {
    NodeRef index, value;  // functions of the loops' variables
    std::int64_t length = 0;
    int local = -1;  // the row, once it is made
};

// Do additions round, so that their order matters? Everything but sums and products of floats may run in any order.
bool rounds(const Reduction& r);

// All reductions share the loops over `vars`: one per reduced axis, outermost first; the axes that run in lanes are one. Where nothing
// rounds, loops are merged already. Values are kept where the loops run in lanes.
Body emit_reductions(Kernel& kernel, std::vector<NodeRef> vars, const ir::SumOrder& order,
                     std::vector<Reduction> reductions, std::span<Kept> kept = {});

// Splits loops (outermost first) into groups, each with at most `limit` iterations in all; a longer loop is cut into blocks. The
// replacements are added to `with`; `count` of a cut loop's inner part, if its last block is short, is in `counts` by id.
// With `once`, only the innermost group is limited: the rest is one group around it.
struct ChainGroups {
    std::vector<std::vector<NodeRef>> groups;  // outermost first
    std::vector<std::pair<int, NodeRef>> counts;
};
ChainGroups split_chains(Kernel& kernel, const std::vector<NodeRef>& vars, std::int64_t limit, Substitution& with,
                         bool once = false);

// Merges the loops of each group where memory allows it, which changes no order; the replacements are added to `with`.
void collapse_groups(Kernel& kernel, ChainGroups& split, Uses uses, Substitution& with);

}  // namespace weft::kernel
