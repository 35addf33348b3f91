// kernel/block_transpose.cpp: the register local of a transposed block.
#include "kernel/block_transpose.h"

#include "ir/symbolic.h"

#include <algorithm>

namespace weft::kernel {

int block_edge(const Target& target, std::size_t bytes_per_value) {
    const int wide = bytes_per_value > 4 ? 2 : 1;
    return (target.level == CpuLevel::Avx512 ? kMaxLanes : kMaxLanes / 2) / wide;
}

BlockTranspose::BlockTranspose(Kernel& kernel, DType dtype, int edge)
    : kernel_(kernel), edge_(edge), local_(kernel.new_local("block", dtype, std::int64_t{edge} * edge)) {
    kernel_.buffers[local_].memory = Buffer::MemoryType::Register;
}

NodeRef BlockTranspose::row(const NodeRef& r, const NodeRef& l) const {
    return ir::simplify_index(*kernel_.interner, kernel_.add(kernel_.mul(r, kernel_.index(edge_)), l));
}

NodeRef BlockTranspose::at(const NodeRef& c, const NodeRef& l) const { return kernel_.load(local_, row(l, c)); }

}  // namespace weft::kernel
