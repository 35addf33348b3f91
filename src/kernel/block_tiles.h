// kernel/block_tiles.h: a contraction in tiles, one for each block, whatever computes their products: which block has which tile, how steps of the
// sum are counted, and what becomes of the sums. Rows and columns beyond the output repeat the last one.
#pragma once

#include "kernel/contraction_nest.h"
#include "kernel/kernel.h"

#include <functional>
#include <vector>

namespace weft::kernel {

class BlockTiles {
public:
    BlockTiles(Kernel& kernel, const ContractionNest& nest, const BlockTile& tile);
    virtual ~BlockTiles() = default;
    Stmt operator()();

protected:
    // What threads do until they have their sums in `total_`: element (i, j) of a thread's tile is at i * thread_columns + j.
    virtual Body sums() = 0;
    // Where in the block's tile the elements of thread (y, x) are. Columns come in groups of neighbours.
    virtual NodeRef row_of(const NodeRef& y, std::int64_t i) const = 0;
    virtual NodeRef column_of(const NodeRef& x, std::int64_t j) const = 0;

    int local(std::string name, DType dtype, std::int64_t size, Buffer::MemoryType memory);
    int registers(std::string name, DType dtype, std::int64_t size) {
        return local(std::move(name), dtype, size, Buffer::MemoryType::Register);
    }
    int per_thread(std::string name);

    NodeRef simplified(const NodeRef& index) const;
    NodeRef times(const NodeRef& a, std::int64_t by) const;
    NodeRef plus(const NodeRef& a, const NodeRef& b) const;
    NodeRef plus(const NodeRef& a, std::int64_t b) const { return plus(a, kernel_.index(b)); }
    NodeRef minus(const NodeRef& a, const NodeRef& b) const;
    NodeRef quotient(const NodeRef& a, std::int64_t by) const;
    NodeRef remainder(const NodeRef& a, std::int64_t by) const;
    NodeRef least(const NodeRef& a, const NodeRef& b) const;
    NodeRef element(int local, std::int64_t e) const { return kernel_.load(local, kernel_.index(e)); }
    Store zero(int local, std::int64_t e) const;

    NodeRef batch_number(const NodeRef& var) const { return substitute(kernel_, var, with_); }
    std::int64_t down() const;  // tiles
    std::int64_t across() const;
    std::int64_t thread_count() const { return high_ * wide_; }
    Stmt threads(const std::function<Body(const NodeRef&, const NodeRef&)>& body);
    Body each_element(const std::function<Store(std::int64_t)>& store) const;

    // The sum comes in blocks, a block in slices.
    std::int64_t steps_of_block() const;
    std::int64_t slices_of_block() const;
    std::int64_t all_slices() const;
    Substitution of_block(const NodeRef& s) const;      // the block that slice s is in
    NodeRef first_step(const NodeRef& s) const;         // of the slice, in its block
    NodeRef limit(const Substitution& of_block) const;  // steps of the block: all, or fewer in the last one
    bool is_even() const;                               // all slices are full
    NodeRef in_bounds(const NodeRef& factor) const;
    bool is_contiguous_in_k(const NodeRef& factor, const std::vector<NodeRef>& side) const;
    // Whether so many that follow each other, as these loops count, from a multiple of that on, are neighbours in memory.
    bool are_neighbours(const NodeRef& factor, const std::vector<NodeRef>& counters, std::int64_t count) const;
    // … for steps of the sum, of which each block has a multiple of that.
    bool sum_comes_in_pieces(const NodeRef& factor, std::int64_t piece) const;

    Kernel& kernel_;
    const ContractionNest& nest_;
    const BlockTile tile_;
    const std::vector<NodeRef> m_, n_, batch_;
    std::int64_t high_ = 0, wide_ = 0;  // threads of a block
    std::int64_t group_ = 1;            // columns of a thread that are neighbours
    std::int64_t most_together_ = 4;    // elements of a row that a thread takes from shared memory
    std::int64_t pad_ = 4;              // between rows of sums in shared memory: they begin in other banks
    NodeRef first_row_, first_column_;  // of the block's tile
    int total_ = -1;

private:
    std::vector<NodeRef> place();
    Body one_element(const NodeRef& row, const NodeRef& column, int sum);
    Body if_row(Body body, const NodeRef& row);
    Body if_column(Body body, const NodeRef& column);
    bool columns_together() const;
    Body neighbours(const NodeRef& row, const std::function<NodeRef(std::int64_t)>& column, std::int64_t count,
                    const std::function<int(std::int64_t)>& sum);
    Body epilogue_in_registers();
    Body epilogue_in_memory();
    Body own_locals(Body epilogue);

    Substitution with_;  // what the block says of the variables of the batch
    Body row_sums_;      // of the epilogue that is being written
    // The epilogue of element (row, column). Several axes that are one in the output (channels and taps of a kernel) are put together again
    // here: the numbers of a tile's columns, which may be no multiples of their extents, would leave quotients.
    const NodeRef row_, column_;
    Body epilogue_;
};

std::vector<NodeRef> of_side(const ContractionNest& nest, LoopRole side);

// Products by fused multiply-adds, in the order of the plain loops; by tensor cores, in theirs.
Stmt multiply_add_tiles(Kernel& kernel, const ContractionNest& nest, const BlockTile& tile);
Stmt tensor_tiles(Kernel& kernel, const ContractionNest& nest, const BlockTile& tile);  // of halves
Stmt tf32_tiles(Kernel& kernel, const ContractionNest& nest, const BlockTile& tile);  // of f32 that are rounded to tf32

}  // namespace weft::kernel
