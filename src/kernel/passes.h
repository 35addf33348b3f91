// kernel/passes.h: the optimiser's passes, in the order in which optimise() runs them. Each chooses decisions for a kernel and a target, and
// applies them (kernel/schedule.h).
#pragma once

#include "core/target.h"
#include "kernel/kernel.h"

namespace weft::kernel {

// Register tiles, cache blocks and packed operands for a contraction.
Decisions choose_tiles(const Kernel& kernel, const Target& target);
Kernel tile_contractions(Kernel kernel, const Decisions& chosen);

// Loops over axes that were made one become two again.
Decisions choose_unflatten(const Kernel& kernel, const Target& target);
Kernel unflatten_loops(Kernel kernel, const Decisions& chosen);

// Where memory runs along the kept axis, that is the innermost loop.
Decisions choose_columns(const Kernel& kernel, const Target& target);
Kernel sum_columns(Kernel kernel, const Decisions& chosen);

// Loads across the stores' axis go through blocks in registers.
Decisions choose_transposes(const Kernel& kernel, const Target& target);
Kernel transpose_blocks(Kernel kernel, const Decisions& chosen);

// Border, interior and border of loops over padded arrays.
Decisions choose_cuts(const Kernel& kernel, const Target& target);
Kernel peel_gates(Kernel kernel, const Decisions& chosen);

// The outermost independent loop becomes chunks, fixed by the shape.
Decisions choose_chunks(const Kernel& kernel, const Target& target);
Kernel split_for_threads(Kernel kernel, const Decisions& chosen);

// For processors with thousands of threads: tiles of a contraction for blocks and threads.
Decisions choose_block_tiles(const Kernel& kernel, const Target& target);
Kernel tile_for_blocks(Kernel kernel, const Decisions& chosen);

// For processors with thousands of threads: which iteration is whose.
Decisions choose_grid(const Kernel& kernel, const Target& target);
Kernel share_among_threads(Kernel kernel, const Decisions& chosen);

// Stores of a chunk that share no memory get a loop each.
Decisions choose_distribution(const Kernel& kernel, const Target& target);
Kernel distribute_stores(Kernel kernel, const Decisions& chosen);

// Independent loops become vectors and a shorter vector for the tail.
Decisions choose_vectors(const Kernel& kernel, const Target& target);
Kernel widen_loops(Kernel kernel, const Decisions& chosen);

// Vectors that cross the ends of rows are loaded in pieces, not gathered.
Decisions choose_segments(const Kernel& kernel, const Target& target);
Kernel load_segments(Kernel kernel, const Decisions& chosen);

// Unroll-and-jam: short rows that wait for their sums are taken two at a time …
Decisions choose_jammed_rows(const Kernel& kernel, const Target& target);
Kernel jam_rows(Kernel kernel, const Decisions& chosen);
// … and so are vectors that take a long computation.
Decisions choose_jammed_vectors(const Kernel& kernel, const Target& target);
Kernel jam_vectors(Kernel kernel, const Decisions& chosen);

// Rows that are read again ask for the next one.
Decisions choose_prefetches(const Kernel& kernel, const Target& target);
Kernel prefetch_rows(Kernel kernel, const Decisions& chosen);

// Large outputs that are written once bypass the cache.
Decisions choose_streams(const Kernel& kernel, const Target& target);
Kernel mark_streams(Kernel kernel, const Decisions& chosen);
std::int64_t large_output(const Target& target);  // in bytes: from there on

// Loops that may run for long ask between iterations whether to go on.
Decisions choose_polls(const Kernel& kernel, const Target& target);
Kernel poll_long_loops(Kernel kernel, const Decisions& chosen);

}  // namespace weft::kernel
