// bench/rows/rows.h: the rows of the table, by topic.
#pragma once

#include "harness/harness.h"

namespace bench {

void matmul_rows(Harness& harness);
void conv_rows(Harness& harness);
void memory_rows(Harness& harness);   // elementwise work, reductions, rows
void compile_rows(Harness& harness);  // from a graph to a callable kernel
void step_rows(Harness& harness);     // training steps, building an op

// Prints the milliseconds of the first training step, in a process that has done nothing before it; step_rows() starts such a process.
inline constexpr const char* kColdStep = "--cold-step";
int cold_step();

}  // namespace bench
