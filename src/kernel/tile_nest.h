// kernel/tile_nest.h: what the tiled loops and the packing of their operands share: ranges of rows and columns, loops over pieces of them,
// and where the operands' variables are at a position.
#pragma once

#include "core/checked.h"
#include "kernel/tile_schedule.h"

namespace weft::kernel {

// A run of [start, start + size) of one side; the size is constant, so that every loop has a constant extent.
struct Range {
    NodeRef start;
    std::int64_t size;
};

// The variables of a row-major array at a position.
Substitution unflattened(const Kernel& kernel, const std::vector<NodeRef>& vars, const NodeRef& position);

inline bool is_plain_load(const NodeRef& e) { return e->op == ir::Op::Load && e->sources.size() == 1; }

// Does a gate of the operand depend on the variable?
bool is_gated_by(const NodeRef& operand, const NodeRef& var);

Loop serial_loop(const NodeRef& var, Body body, NodeRef count = nullptr);

struct TileNest {
    Kernel& kernel;
    const ContractionNest& nest;
    const TileSchedule& schedule;

    const NodeRef& vector_operand() const { return vector_factor(nest, schedule); }
    const NodeRef& row_operand() const { return row_factor(nest, schedule); }
    NodeRef simple(const NodeRef& e) const;
    Substitution at_columns(const NodeRef& column) const { return unflattened(kernel, schedule.column_vars, column); }
    Substitution at_rows(const NodeRef& row) const { return unflattened(kernel, schedule.row_vars, row); }
    NodeRef position_in(const std::vector<NodeRef>& vars) const;        // row-major
    NodeRef inner_position() const { return position_in(nest.inner); }  // of the step within a block of the sum
    std::vector<NodeRef> packed_vars() const;  // of the sum: those for which columns are packed one by one
    std::int64_t shift_pitch() const;          // from step to step of a panel that serves several

    // The body inside loops over fresh variables in place of these: the same loops occur in several places.
    Body loops_over(const std::vector<NodeRef>& vars, Body body) const;
    Body sum_loops(const std::vector<NodeRef>& vars, Body body) const;

    // f(range, number) for whole pieces of a range and for the tail; `number` counts the pieces.
    template <class F>
    Body pieces(const Range& all, std::int64_t size, F f) const;

    // f(range, number) for tiles of columns.
    template <class F>
    Body column_tiles(const Range& columns, F f) const;

    // for v < vectors of `columns` (unrolled), l < lanes (vector): f(offset of the lane within the columns, lane loop)
    template <class F>
    Body lane_loops(std::int64_t columns, F f) const;
};

template <class F>
Body TileNest::pieces(const Range& all, std::int64_t size, F f) const {
    Body body;
    if (const std::int64_t whole = all.size / size; whole == 1) {
        append(body, f(Range{all.start, size}, kernel.index(0)));
    } else if (whole > 1) {
        const NodeRef var = kernel.new_var(whole);
        const NodeRef start = simple(kernel.add(all.start, kernel.mul(var, kernel.index(size))));
        body.emplace_back(serial_loop(var, f(Range{start, size}, var)));
    }
    if (const std::int64_t tail = all.size % size)
        append(body, f(Range{simple(kernel.add(all.start, kernel.index(all.size - tail))), tail},
                       kernel.index(all.size / size)));
    return body;
}

// Tiles of columns. With one vector per row a tile waits for its loads: a tail of one vector shares the columns of the last tile of
// three. A tail of at most half a vector runs in narrower registers, and faster.
template <class F>
Body TileNest::column_tiles(const Range& columns, F f) const {
    const std::int64_t whole = columns.size / schedule.tile_columns(), tail = columns.size % schedule.tile_columns();
    if (schedule.vectors != 3 || whole == 0 || tail <= schedule.lanes / 2 || tail > schedule.lanes)
        return pieces(columns, schedule.tile_columns(), f);
    Body body = pieces(Range{columns.start, (whole - 1) * schedule.tile_columns()}, schedule.tile_columns(), f);
    const std::int64_t done = (whole - 1) * schedule.tile_columns(), two = 2 * schedule.lanes;
    append(body, f(Range{simple(kernel.add(columns.start, kernel.index(done))), two}, kernel.index(whole - 1)));
    append(body, f(Range{simple(kernel.add(columns.start, kernel.index(done + two))), columns.size - done - two},
                   kernel.index(whole)));
    return body;
}

template <class F>
Body TileNest::lane_loops(std::int64_t columns, F f) const {
    Body body;
    if (const std::int64_t whole = columns / schedule.lanes) {
        const NodeRef v = kernel.new_var(whole), l = kernel.new_var(schedule.lanes);
        const NodeRef at = simple(kernel.add(kernel.mul(v, kernel.index(schedule.lanes)), l));
        Body vector{Loop{l, LoopKind::Vector, f(at, id_of(l)), true, nullptr}};
        if (whole == 1) append(body, substitute(kernel, vector, {{id_of(v), kernel.index(0)}}));
        else body.emplace_back(Loop{v, LoopKind::Unrolled, std::move(vector), false, nullptr});
    }
    if (const std::int64_t tail = columns % schedule.lanes) {
        const NodeRef l = kernel.new_var(tail);
        body.emplace_back(
            Loop{l, LoopKind::Vector, f(simple(kernel.add(kernel.index(columns - tail), l)), id_of(l)), true, nullptr});
    }
    return body;
}

}  // namespace weft::kernel
