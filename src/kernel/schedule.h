// kernel/schedule.h: how a kernel is run, as data. Every pass of the optimiser chooses such values from the loops and the target, and makes
// the loops that they ask for: choosing changes nothing, and applying decides nothing. explain() prints them, and tests compare them.
//
// Loops are named by the ids of their variables. Variables and loads belong to the kernel: no decision outlives it.
#pragma once

#include "ir/node.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace weft::kernel {

using ir::NodeRef;

struct Kernel;

// How a contraction is tiled: which side runs in lanes, the register tile, what is packed, where sums meet, what the epilogue waits for,
// what threads share out.
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

    int phase = 0;  // of contractions_of()

    // The variables of the output's loops, outermost first. Columns run in lanes: they belong to the vector operand, the rows to the other
    // one, which is broadcast. The others are loops around all tiles.
    bool vector_is_left = false;
    std::vector<NodeRef> column_vars, row_vars, outer_vars;
    std::int64_t sum_block = 1, sum_blocks = 1;  // steps of the sum in registers, and how often

    int lanes = 1, vectors = 1, tile_rows = 1;  // the register tile: rows by vectors of lanes

    bool pack_columns = true;        // of a strip, in panels as wide as a tile
    bool transpose_columns = false;  // … memory is contiguous in k: blocks are transposed in registers
    std::int64_t strip_width = 0;    // columns that are packed at a time
    Shift shift;
    bool pack_rows = false;  // all of them, in panels as high as a tile
    bool transpose_rows = false;
    std::int64_t row_group = 0;     // rows that are packed at a time, if not all are; 0: rows are read where they are
    int transpose_edge = 0;         // elements in a row of a block that is transposed
    std::int64_t pack_streams = 1;  // steps of the sum that are packed together

    Epilogue epilogue = Epilogue::Registers;
    bool sums_in_output = false;      // blocks of the sum meet in the output, not in scratch
    std::vector<NodeRef> prefetched;  // loads that are asked for before the sums, since the epilogue wants them after

    Parallel parallel = Parallel::None;
    NodeRef parallel_var;            // Batches: which of `outer_vars`
    std::int64_t parallel_size = 0;  // Strips: columns of each. Chunks: rows of each

    std::int64_t rows() const;
    std::int64_t columns() const;
    int tile_columns() const { return vectors * lanes; }
    // Steps of the sum in a panel: those of the shifting variable share theirs.
    std::int64_t packed_steps() const;
    bool operator==(const TileSchedule&) const = default;
};

// A sum that a stride thins out is computed as one sum per phase of the stride. Lowering decides this.
struct SplitPhases {
    std::int64_t phases = 0;
    bool operator==(const SplitPhases&) const = default;
};

// A loop over axes that a reshape made one becomes a loop over rows and one over their elements.
struct Unflatten {
    int loop = -1;
    std::int64_t row = 0;  // elements
    bool operator==(const Unflatten&) const = default;
};

// The innermost loop of the nest, over columns, moves inside the sums, for a strip of columns at a time.
struct ColumnStrips {
    NodeRef column;
    std::int64_t width = 0;
    int lanes = 1;
    std::int64_t steps = 1;   // of a sum per visit of its column
    std::vector<int> arrays;  // locals of which every column of a strip gets one
    bool operator==(const ColumnStrips&) const = default;
};

// Values that are computed in lanes along another loop than the stores', and transposed in registers.
struct TransposeBlocks {
    NodeRef along, across;    // the loop of the stores, and that of these values
    int edge = 0;             // of a block
    std::int64_t blocks = 1;  // in a line of the output
    std::vector<NodeRef> values;
    bool operator==(const TransposeBlocks&) const = default;
};

// A loop is cut where gates change.
struct Peel {
    int loop = -1;
    std::vector<std::int64_t> cuts;
    bool operator==(const Peel&) const = default;
};

// The outermost loop becomes chunks for threads.
struct Chunks {
    std::int64_t length = 0, of = 0;  // iterations
    bool joins = false;               // the phases of a contraction are one loop first
    bool operator==(const Chunks&) const = default;
};

// A statement, or all of the kernel, becomes blocks of threads.
struct GridSchedule {
    int statement = -1;          // of the body; -1: all of it
    std::vector<NodeRef> loops;  // the variables of the loops whose iterations are shared out, outermost first
    std::int64_t threads = 1;    // of a block, or of a group

    // Among threads: each has iterations of its own.
    std::int64_t each = 1;    // of which all loads come first
    bool neighbours = false;  // they follow each other: one instruction loads for all of them

    // Among groups of threads, which share the loops inside of an iteration, a row.
    bool by_rows = false;
    std::int64_t groups = 1;  // of a block
    bool unrolled = false;    // loops over a row are written out: its elements stay in registers
    std::vector<int> staged;  // inputs of which a row is loaded once, before all else
    // The row's own loops and locals, by their numbers (kernel/row_parts.h).
    std::vector<int> in_threads;  // loops around loops that are shared out: each thread runs them by itself
    std::vector<int> registers;   // arrays of which each thread has its own elements in registers
    std::vector<int> copied;      // … of which other threads load a copy in shared memory
    std::vector<int>
        replicated;  // scalars that every thread computes for itself: that costs less than to wait for one of them
    std::vector<int> shared;  // in shared memory: what several parts use

    // Among squares of two axes: these loads run along another axis than the stores, and pass through shared memory.
    int across = -1;  // its loop
    std::vector<NodeRef> transposed;

    // Among columns of a block, which have several threads each.
    bool by_columns = false;

    std::int64_t sums = 1;  // by rows or columns: blocks of a sum that are computed at a time
    bool operator==(const GridSchedule&) const = default;
};

// A contraction is computed in tiles, one for each block of threads, which have tiles of their own in it.
struct BlockTile {
    int statement = 0;  // of the body
    std::int64_t rows = 0, columns = 0;
    std::int64_t thread_rows = 0, thread_columns = 0;
    std::int64_t depth = 0;   // steps of the sum in a slice, whose factors are brought into shared memory together
    std::int64_t slices = 1;  // for which there is room
    bool epilogue_in_registers = false;  // else the sums pass through shared memory
    bool tensor = false;                 // by tensor cores
    bool boxes = false;                  // … whose slices a copy unit brings, as boxes of arrays
    bool operator==(const BlockTile&) const = default;
};

// Each of the stores in a loop gets a loop of its own.
struct Distribute {
    int loop = -1;
    std::size_t stores = 0;
    bool operator==(const Distribute&) const = default;
};

struct Vectorize {
    int loop = -1;
    int lanes = 1;
    bool whole = false;         // the loop has as many iterations as lanes, and locals that are indexed by the lane
    std::vector<int> unrolled;  // loops in it that are written out
    bool operator==(const Vectorize&) const = default;
};

// A load whose lanes cross the ends of rows is loaded piece by piece.
struct SegmentLoad {
    NodeRef lane, load;
    NodeRef position;                  // in rows that are counted through: the lane moves it by 1
    std::int64_t row = 0, pieces = 0;  // elements of a row
    bool operator==(const SegmentLoad&) const = default;
};

// Unroll-and-jam: rows, or vectors, that are computed at the same time.
struct JamRows {
    int loop = -1;
    std::int64_t rows = 1;
    bool operator==(const JamRows&) const = default;
};
struct JamVectors {
    int loop = -1;
    std::int64_t vectors = 1;
    bool operator==(const JamVectors&) const = default;
};

// What reads a row again asks for the same elements of the next one.
struct PrefetchRow {
    int rows = -1, loop = -1;  // the loop over rows, and the vector loop in it
    NodeRef load;              // … that this load is in
    bool operator==(const PrefetchRow&) const = default;
};

// Stores to an output bypass the cache.
struct Stream {
    int buffer = -1;
    bool operator==(const Stream&) const = default;
};

// A loop asks after so many iterations whether to go on.
struct Poll {
    int loop = -1;
    std::int64_t iterations = 1;
    bool operator==(const Poll&) const = default;
};

using Decision =
    std::variant<SplitPhases, TileSchedule, Unflatten, ColumnStrips, TransposeBlocks, Peel, Chunks, GridSchedule,
                 BlockTile, Distribute, Vectorize, SegmentLoad, JamRows, JamVectors, PrefetchRow, Stream, Poll>;
using Decisions = std::vector<Decision>;

// The decision of a kind for a loop, if there is one.
template <class Kind>
const Kind* find_decision(const Decisions& decisions, int loop) {
    for (const Decision& decision : decisions)
        if (const Kind* found = std::get_if<Kind>(&decision); found && found->loop == loop) return found;
    return nullptr;
}

std::string to_string(const TileSchedule& schedule);  // all of it, in a line
std::vector<std::string> describe(
    const Kernel& kernel);  // its schedule in words, for people: a sentence per kind of decision

}  // namespace weft::kernel
