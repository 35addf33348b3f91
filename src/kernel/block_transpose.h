// kernel/block_transpose.h: a block of values is transposed in registers: stored row by row, in lanes along a row, and read
// column by column, in lanes along a column. The transpose and the tile pass read memory along its rows with this.
#pragma once

#include "core/target.h"
#include "kernel/kernel.h"

namespace weft::kernel {

// Rows and columns of a block whose values (of any type that is as wide or narrower) fit vectors of this machine.
int block_edge(const Target& target, std::size_t bytes_per_value);

class BlockTranspose {
public:
    BlockTranspose(Kernel& kernel, DType dtype, int edge);

    // block[r][l] = value(r, l) for r < rows (unrolled) and l < columns (lanes)
    template <class F>
    Body fill(std::int64_t rows, std::int64_t columns, F value) {
        return loops(rows, columns, [&](const NodeRef& r, const NodeRef& l) {
            return Body{Store{local_, row(r, l), value(r, l)}};
        });
    }
    // f(c, l) for c < columns (unrolled) and l < rows (lanes); at(c, l) is block[l][c] there.
    template <class F>
    Body use(std::int64_t columns, std::int64_t rows, F f) {
        return loops(columns, rows, f);
    }
    NodeRef at(const NodeRef& c, const NodeRef& l) const;

private:
    template <class F>
    Body loops(std::int64_t unrolled, std::int64_t lanes, F f) {
        const NodeRef u = kernel_.new_var(unrolled), l = kernel_.new_var(lanes);
        Body inner{Loop{l, LoopKind::Vector, f(u, l), true, nullptr}};
        return Body{Loop{u, LoopKind::Unrolled, std::move(inner), false, nullptr}};
    }
    NodeRef row(const NodeRef& r, const NodeRef& l) const;

    Kernel& kernel_;
    const int edge_;
    int local_;
};

}  // namespace weft::kernel
