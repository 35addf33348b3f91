// kernel/box_copy.h: factors of a contraction that are arrays, of which a copy unit brings boxes into shared memory, and the pipelines in which it does so.
#pragma once

#include "kernel/contraction_nest.h"
#include "kernel/kernel.h"

#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace weft::kernel {

// A factor as an array over the numbers of its side (rows or columns of the output), the steps of the sum, and the batch.
struct BoxView {
    int buffer = -1;
    std::int64_t offset = 0;                              // in elements
    std::int64_t side_stride = 0, sum_stride = 0;         // one of them is 1
    std::vector<std::pair<NodeRef, std::int64_t>> batch;  // loop variables, and their strides
    bool contiguous_in_k() const { return sum_stride == 1; }
};
// None, if the load is gated, or the array is not one that a copy unit takes: its other strides are multiples of 16 bytes.
std::optional<BoxView> box_view(const Kernel& kernel, const ContractionNest& nest, const NodeRef& load, LoopRole side);

// Steps of all blocks of the sum together, of which the last may be shorter; 0 if that is not known.
std::int64_t steps_of_sum(const Kernel& kernel, const ContractionNest& nest);

std::int64_t box_row(DType t);  // elements along the first axis of every box

// What a Copy loop with this variable does, one element for each of its iterations.
Body elements_of(const Kernel& kernel, const BoxCopy& box, const NodeRef& element);
Stmt copy_of(Kernel& kernel, BoxCopy box);

// A Serial loop in a block: Copy loops, then one nest of Thread loops.
bool is_pipeline(const Loop& loop);
std::span<const Stmt> copies_of(const Loop& pipeline);
const Loop& threads_of(const Loop& pipeline);                        // the outermost Thread loop
std::int64_t slices_of(const Kernel& kernel, const Loop& pipeline);  // of each local that it copies to

}  // namespace weft::kernel
