// kernel/block_loops.h: what the passes for blocks of threads share.
#pragma once

#include "kernel/kernel.h"

#include <vector>

namespace weft::kernel {

inline constexpr std::int64_t kMostSums = 16;  // blocks of a sum that are computed at a time

// Replaces loop variables by what a number, that counts through all of them, says.
Substitution counted(const Kernel& kernel, const std::vector<NodeRef>& vars, NodeRef number);

// The statements with another buffer in place of one; with `own` its only element.
Body redirected(const Kernel& kernel, const Body& body, int from, int to, bool own = false);

// The statements with a local of their own in place of one that others use, too.
Body with_own_local(Kernel& kernel, const Body& body, int local);

// The innermost serial loops with some iterations written out, so that their loads do not wait for each other.
Body partly_unrolled(Kernel& kernel, const Body& body);

// Does a statement load what another one before it has stored? Then the values of all cannot come before all stores.
bool reads_stored(const Body& body);

// Iterations that do not depend on each other, of statements that are stores: the values of all are there before the first is stored, so that loads do not
// wait for stores. Stores of one statement stand beside each other.
Body values_first(Kernel& kernel, const std::vector<Body>& iterations);

// A body that runs if a number is positive.
Body when(Kernel& kernel, const NodeRef& positive, Body body);

}  // namespace weft::kernel
