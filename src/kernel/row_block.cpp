// kernel/row_block.cpp: see row_block.h.
#include "kernel/row_block.h"

#include "kernel/block_loops.h"
#include "kernel/nest.h"
#include "kernel/row_staging.h"
#include "kernel/row_sums.h"

namespace weft::kernel {

RowBlock row_block(Kernel& kernel, const GridSchedule& schedule, const Body& body) {
    RowBlock row{.block = kernel.new_var(product(schedule.loops) / schedule.groups)};
    NodeRef number = row.block;
    if (schedule.groups > 1) {
        row.group = kernel.new_var(schedule.groups);
        number = kernel.add(kernel.mul(row.block, kernel.index(schedule.groups)), row.group);
    }
    row.parts = parts_of(schedule.loops.empty() ? body
                                                : copy(kernel, *free_nest(*body[0].loop()).second,
                                                       counted(kernel, schedule.loops, number)));
    rename_locals(kernel, row.parts);
    row.owned = find_places(kernel, row.parts, schedule.threads);
    return row;
}

void prepare_parts(Kernel& kernel, const GridSchedule& schedule, RowBlock& row) {
    const std::vector<Part*> loops = numbered_loops(row.parts);
    for (const int number : schedule.in_threads) loops[static_cast<std::size_t>(number)]->in_threads = true;
    if (schedule.sums > 1) {
        share_blocks_of_sums(kernel, row.parts, schedule.sums, schedule.threads / schedule.sums);
        row.owned = find_places(kernel, row.parts, schedule.threads);
    }
    for (const int b : schedule.staged) stage_row(kernel, row.parts, b, schedule.threads, row.owned);
}

}  // namespace weft::kernel
