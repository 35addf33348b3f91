// kernel/row_block.h: a row on its way to a block of threads: taken apart into parts (kernel/row_parts.h), as a schedule says. What chooses the
// rest of the schedule looks at it, and what makes the loops writes it.
#pragma once

#include "kernel/row_parts.h"

#include <cstdint>
#include <set>

namespace weft::kernel {

inline constexpr std::int64_t kExplicitRounds = 4;  // iterations of a thread that are written out in any case

struct RowBlock {
    NodeRef block, group;  // `group`: the group's number in the block; null: there is one
    Parts parts;
    std::set<int> owned;  // arrays of which each thread stores to its own elements
};

// The body, one of whose iterations over the schedule's loops is a row.
RowBlock row_block(Kernel& kernel, const GridSchedule& schedule, const Body& body);

// Its loops that each thread runs by itself; its sums with blocks computed at the same time; its staged rows.
void prepare_parts(Kernel& kernel, const GridSchedule& schedule, RowBlock& row);

}  // namespace weft::kernel
