// kernel/passes.h: the optimiser's passes, in the order in which optimise() runs them.
#pragma once

#include "core/target.h"
#include "kernel/kernel.h"

namespace weft::kernel {

Kernel tile_contraction(Kernel kernel,
                        const Target& target);  // register tiles, cache blocks and packed operands for a contraction
Kernel unflatten_loops(Kernel kernel, const Target& target);  // loops over axes that were made one become two again
Kernel sum_columns(Kernel kernel,
                   const Target& target);  // where memory runs along the kept axis, that is the innermost loop
Kernel transpose_blocks(Kernel kernel,
                        const Target& target);           // loads across the stores' axis go through blocks in registers
Kernel peel_gates(Kernel kernel, const Target& target);  // border, interior and border of loops over padded arrays
Kernel split_for_threads(Kernel kernel,
                         const Target& target);  // the outermost independent loop becomes chunks, fixed by the shape
Kernel distribute_stores(Kernel kernel,
                         const Target& target);  // stores of a chunk that share no memory get a loop each
Kernel widen_loops(Kernel kernel,
                   const Target& target);  // independent loops become vectors and a shorter vector for the tail
Kernel load_segments(Kernel kernel,
                     const Target& target);  // vectors that cross the ends of rows are loaded in pieces, not gathered
Kernel jam_rows(Kernel kernel, const Target& target);  // short rows that wait for their sums are taken two at a time
Kernel jam_vectors(Kernel kernel,
                   const Target& target);  // vectors that take a long computation are computed two at a time
Kernel prefetch_rows(Kernel kernel, const Target& target);  // rows that are read again ask for the next one
Kernel mark_streams(Kernel kernel, const Target& target);   // large outputs that are written once bypass the cache
Kernel poll_long_loops(Kernel kernel,
                       const Target& target);     // loops that may run for long ask between iterations whether to go on
std::int64_t large_output(const Target& target);  // in bytes: from there on

}  // namespace weft::kernel
