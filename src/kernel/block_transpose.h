// kernel/block_transpose.h: a block of values turns from rows to columns in registers: stored row by row, in lanes along a row, and read
// column by column, in lanes along a column. The transpose and the tile pass read memory along its rows with this.
#pragma once

#include "kernel/kernel.h"

namespace weft::kernel {

// Rows and columns of a block whose values (of any type that is as wide or narrower) fit vectors of this machine.
int block_edge(std::size_t bytes_per_value);

class BlockTranspose {
public:
    BlockTranspose(Kernel& kernel, DType dtype, int edge);

    // block[r][l] = value(r, l) for all r (unrolled) and l (lanes)
    template <class F>
    Body fill(F value) {
        return loops([&](const NodeRef& r, const NodeRef& l) { return Body{Store{local_, row(r, l), value(r, l)}}; });
    }
    // f(c, l) for all c (unrolled) and l (lanes); at(c, l) is block[l][c] there.
    template <class F>
    Body use(F f) {
        return loops([&](const NodeRef& c, const NodeRef& l) { return f(c, l); });
    }
    NodeRef at(const NodeRef& c, const NodeRef& l) const;

private:
    template <class F>
    Body loops(F f) {
        const NodeRef u = kernel_.new_var(edge_), l = kernel_.new_var(edge_);
        Body lanes{Loop{l, LoopKind::Vector, f(u, l), true, nullptr}};
        return Body{Loop{u, LoopKind::Unrolled, std::move(lanes), false, nullptr}};
    }
    NodeRef row(const NodeRef& r, const NodeRef& l) const;

    Kernel& kernel_;
    const int edge_;
    int local_;
};

}  // namespace weft::kernel
