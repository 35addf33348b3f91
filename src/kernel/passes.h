// kernel/passes.h: the optimiser's passes, in the order in which optimise() runs them.
#pragma once

#include "kernel/kernel.h"

namespace weft::kernel {

Kernel tile_contraction(Kernel kernel);   // register tiles, cache blocks and packed operands for a contraction
Kernel unflatten_loops(Kernel kernel);    // loops over axes that were made one become two again
Kernel sum_columns(Kernel kernel);        // where memory runs along the kept axis, that is the innermost loop
Kernel transpose_blocks(Kernel kernel);   // loads across the stores' axis go through blocks in registers
Kernel peel_gates(Kernel kernel);         // border, interior and border of loops over padded arrays
Kernel split_for_threads(Kernel kernel);  // the outermost independent loop becomes chunks, fixed by the shape
Kernel distribute_stores(Kernel kernel);  // stores of a chunk that share no memory get a loop each
Kernel widen_loops(Kernel kernel);        // independent loops become vectors and a shorter vector for the rest
Kernel load_segments(Kernel kernel);      // vectors that cross the ends of rows are loaded in pieces, not gathered
Kernel pair_rows(Kernel kernel);          // short rows that wait for their sums are taken two at a time
Kernel pair_vectors(Kernel kernel);       // vectors that take a long computation are computed two at a time
Kernel fetch_rows(Kernel kernel);         // rows that are read again ask for the next one
Kernel mark_streams(Kernel kernel);       // large outputs that are written once bypass the cache
Kernel poll_long_loops(Kernel kernel);    // loops that may run for long ask between iterations whether to go on
std::int64_t large_output();              // in bytes: from there on

}  // namespace weft::kernel
