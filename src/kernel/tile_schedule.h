// kernel/tile_schedule.h: how a contraction is tiled, as a value: which side runs in lanes, the register tile, what is packed, where sums
// meet, what the epilogue waits for, what threads share out. choose_tile_schedule() changes nothing; apply_tile_schedule() decides nothing.
#pragma once

#include "core/target.h"
#include "kernel/contraction_nest.h"
#include "kernel/nest.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace weft::kernel {

// The variables and loads in it belong to the kernel: it must not outlive that.
struct TileSchedule {
    // Where a summed variable (a window's tap) moves the columns by whole steps, its panels are parts of one longer panel: a convolution's
    // operand is packed once for all rows of the window. Column q of that panel is column q - by * v at step v of the sum.
    struct Shift {
        NodeRef var;                    // of the sum; null: there is none
        std::int64_t by = 0, more = 0;  // columns per step, and for all steps
        bool operator==(const Shift&) const = default;
    };
    enum class Epilogue : std::uint8_t {
        Registers,  // on the accumulators
        TileLoop,   // a loop after each tile, which passes through scratch: much is computed
        StripLoop,  // a loop after all tiles of a strip: blocks of the sum have met then, or stores jump
        None,       // blocks of the sum meet in the output, and that is all
    };
    enum class Parallel : std::uint8_t { None, Batches, Strips, Chunks };

    // The variables of the output's loops, outermost first. Columns run in lanes: they belong to the vector operand, the rows to the other
    // one, which is broadcast. The others are loops around all tiles.
    bool vector_is_left = false;
    std::vector<NodeRef> column_vars, row_vars, outer_vars;
    std::int64_t sum_block = 1, sum_blocks = 1;  // steps of the sum in registers, and how often

    int lanes = kMaxLanes, vectors = 1, tile_rows = 1;  // the register tile: rows by vectors of lanes

    bool pack_columns = true;        // of a strip, in panels as wide as a tile
    bool transpose_columns = false;  // … memory is contiguous in k: blocks are transposed in registers
    std::int64_t strip_width = 0;    // columns that are packed at a time
    Shift shift;
    bool pack_rows = false;  // all of them, in panels as high as a tile
    bool transpose_rows = false;
    std::int64_t row_group = 0;  // rows that are packed at a time, if not all are; 0: rows are read where they are
    int transpose_edge = 0;      // elements in a row of a block that is transposed

    Epilogue epilogue = Epilogue::Registers;
    bool sums_in_output = false;      // blocks of the sum meet in the output, not in scratch
    std::vector<NodeRef> prefetched;  // loads that are asked for before the sums, since the epilogue wants them after

    Parallel parallel = Parallel::None;
    NodeRef parallel_var;            // Batches: which of `outer_vars`
    std::int64_t parallel_size = 0;  // Strips: columns of each. Chunks: rows of each

    std::int64_t rows() const { return product(row_vars); }
    std::int64_t columns() const { return product(column_vars); }
    int tile_columns() const { return vectors * lanes; }
    // Steps of the sum in a panel: those of the shifting variable share theirs.
    std::int64_t packed_steps() const { return shift.var ? sum_block / extent_of(shift.var) : sum_block; }
    bool operator==(const TileSchedule&) const = default;
};

// Rows that are packed in groups are packed for strips of so many tiles; narrower ones read them where they are.
inline constexpr std::int64_t kTilesAcross = 6;

// Nothing: the plain loops are as good.
std::optional<TileSchedule> choose_tile_schedule(const Kernel& kernel, const ContractionNest& nest,
                                                 const Target& target);

std::string to_string(const TileSchedule& schedule);              // all of it, in a line
std::vector<std::string> describe(const TileSchedule& schedule);  // a sentence per decision, for explain()

// Arrays that tiles need, one per purpose: no two copies of the loops (for shorter strips, for phases) use theirs at the same time.
struct TileScratch {
    int panel = -1, row_panel = -1, sums = -1, tile = -1;
};

Body apply_tile_schedule(Kernel& kernel, const ContractionNest& nest, const TileSchedule& schedule,
                         TileScratch& scratch);

inline const NodeRef& vector_factor(const ContractionNest& nest, const TileSchedule& schedule) {
    return schedule.vector_is_left ? nest.left : nest.right;
}
inline const NodeRef& row_factor(const ContractionNest& nest, const TileSchedule& schedule) {
    return schedule.vector_is_left ? nest.right : nest.left;
}

}  // namespace weft::kernel
