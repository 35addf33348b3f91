// kernel/tile_pack.cpp: packs operands for tiles: columns into panels, rows tile by tile. Where memory is contiguous in k, blocks are
// transposed in registers.
#include "kernel/tile_pack.h"

#include "kernel/block_transpose.h"

#include "ir/symbolic.h"

#include <algorithm>

namespace weft::kernel {
namespace {

using ir::Op;

struct Packer : TileNest {
    Body pack_columns(const Range& columns, int panel) {
        if (schedule.shift.var) return pack_shifted(columns, panel);
        return column_tiles(columns, [&](const Range& part, const NodeRef& number) {
            const NodeRef slot = kernel.mul(number, kernel.index(schedule.sum_block * schedule.tile_columns()));
            if (schedule.transpose_columns)
                return pack_transposed(
                    vector_operand(), part, [&](const NodeRef& c) { return at_columns(c); }, panel, slot,
                    schedule.tile_columns());
            const NodeRef base = kernel.add(slot, kernel.mul(inner_position(), kernel.index(schedule.tile_columns())));
            return packing_loops(vector_operand(), nest.inner, lane_loops(part.size, [&](const NodeRef& at, int) {
                                     const NodeRef column = simple(kernel.add(part.start, at));
                                     return Body{Store{panel, simple(kernel.add(base, at)),
                                                       substitute(kernel, vector_operand(), at_columns(column))}};
                                 }));
        });
    }

    // [tile][step][row]: a tile's rows are contiguous, as they are broadcast. They are packed step by step of the sum for some tiles
    // together: where memory runs along the rows, whole lines are read so.
    Body pack_rows(const Range& rows, int row_panel) {
        const auto slot_of = [&](const NodeRef& number) {
            return kernel.mul(number, kernel.index(schedule.sum_block * schedule.tile_rows));
        };
        if (schedule.transpose_rows)
            return pieces(rows, schedule.tile_rows, [&](const Range& part, const NodeRef& number) {
                return pack_transposed(
                    row_operand(), part, [&](const NodeRef& r) { return at_rows(r); }, row_panel, slot_of(number),
                    schedule.tile_rows);
            });
        return pieces(rows, schedule.pack_streams * schedule.tile_rows, [&](const Range& some, const NodeRef& group) {
            const NodeRef first = kernel.mul(group, kernel.index(schedule.pack_streams));
            Body body = pieces(some, schedule.tile_rows, [&](const Range& part, const NodeRef& number) {
                const NodeRef slot = slot_of(kernel.add(first, number));
                const NodeRef base = kernel.add(slot, kernel.mul(inner_position(), kernel.index(schedule.tile_rows)));
                const NodeRef r = kernel.new_var(part.size);
                const NodeRef value = substitute(kernel, row_operand(), at_rows(simple(kernel.add(part.start, r))));
                Body store{Store{row_panel, simple(kernel.add(base, r)), value}};
                const bool contiguous =
                    is_plain_load(value) && ir::stride_of(*kernel.interner, value->sources[0], id_of(r)) == 1;
                const LoopKind kind = contiguous && part.size <= kMaxLanes ? LoopKind::Vector : LoopKind::Serial;
                return Body{Loop{r, kind, std::move(store), false, nullptr}};
            });
            return packing_loops(row_operand(), nest.inner, std::move(body));
        });
    }

    // For packing, which may go in any order: loops that decide a gate (a convolution's taps) outside, so that the gate is
    // evaluated once for all others (its channels).
    Body packing_loops(const NodeRef& operand, const std::vector<NodeRef>& vars, Body body) {
        std::vector<NodeRef> gating, others;
        for (const NodeRef& var : vars) (is_gated_by(operand, var) ? gating : others).push_back(var);
        if (gating.empty() || nest.inner_count) return sum_loops(vars, std::move(body));
        gating.insert(gating.end(), others.begin(), others.end());
        return loops_over(gating, std::move(body));
    }

    // One panel for all steps of the shifting variable: [other steps][columns, and as many more as they are shifted by]. Columns are
    // outside the steps, which share their gates; but few steps at a time, since each is a stream of memory of its own.
    Body pack_shifted(const Range& columns, int panel) {
        const NodeRef first =
            kernel.index(schedule.shift.by < 0 ? extent_of(schedule.shift.var) - 1 : 0);  // where q is the column
        const Range all{kernel.index(0), columns.size + schedule.shift.more};
        std::vector<NodeRef> vars = packed_vars();
        NodeRef base = kernel.mul(position_in(vars), kernel.index(shift_pitch()));
        Substitution inside = {{id_of(schedule.shift.var), first}};
        NodeRef block;
        const auto steps = std::find_if(vars.begin(), vars.end(), [&](const NodeRef& var) {
            return !is_gated_by(vector_operand(), var) && extent_of(var) > schedule.pack_streams &&
                   extent_of(var) % schedule.pack_streams == 0;
        });
        if (steps != vars.end() && !nest.inner_count) {
            block = kernel.new_var(extent_of(*steps) / schedule.pack_streams);
            const NodeRef some = kernel.new_var(schedule.pack_streams);
            inside.emplace_back(id_of(*steps),
                                kernel.add(kernel.mul(block, kernel.index(schedule.pack_streams)), some));
            base = substitute(kernel, base, {inside.back()});
            *steps = some;
        }
        Body body = pieces(all, schedule.lanes, [&](const Range& part, const NodeRef&) {
            return packing_loops(
                vector_operand(), vars, lane_loops(part.size, [&](const NodeRef& at, int) {
                    const NodeRef q = simple(kernel.add(part.start, at));
                    Substitution with = at_columns(simple(kernel.add(columns.start, q)));
                    // At once: columns beyond the last must not be simplified away.
                    with.insert(with.end(), inside.begin(), inside.end());
                    return Body{Store{panel, simple(kernel.add(base, q)), substitute(kernel, vector_operand(), with)}};
                }));
        });
        return block ? Body{serial_loop(block, std::move(body))} : body;
    }

    // Packs values of `part` into [step][pitch]: blocks are read along the sum and transposed in registers.
    // `at` are an operand's variables at a position, `slot` is where step 0 of the part's first position goes.
    template <class At>
    Body pack_transposed(const NodeRef& operand, const Range& part, At at, int panel, const NodeRef& slot,
                         std::int64_t pitch) {
        const int edge = schedule.transpose_edge;
        const NodeRef last = nest.inner.back();
        const auto block = [&](const Range& group, const NodeRef& start, std::int64_t steps) {
            const auto step = [&](const NodeRef& offset) { return simple(kernel.add(start, offset)); };
            BlockTranspose transpose(kernel, nest.accumulate, edge);
            Body body = transpose.fill(group.size, steps, [&](const NodeRef& r, const NodeRef& l) {
                Substitution with = at(simple(kernel.add(kernel.add(part.start, group.start), r)));
                with.emplace_back(id_of(last), step(l));
                return substitute(kernel, operand, with);
            });
            append(body, transpose.use(steps, group.size, [&](const NodeRef& c, const NodeRef& l) {
                const NodeRef row = substitute(kernel, inner_position(), {{id_of(last), step(c)}});
                const NodeRef to =
                    kernel.add(kernel.add(slot, kernel.mul(row, kernel.index(pitch))), kernel.add(group.start, l));
                return Body{Store{panel, simple(to), transpose.at(c, l)}};
            }));
            return body;
        };
        const std::vector<NodeRef> around(nest.inner.begin(), nest.inner.end() - 1);
        return pieces(Range{kernel.index(0), part.size}, edge, [&](const Range& group, const NodeRef&) {
            if (around.empty() && nest.inner_count)
                return counted_blocks(edge,
                                      [&](const NodeRef& start, std::int64_t n) { return block(group, start, n); });
            Body loops = loops_over(
                around, pieces(Range{kernel.index(0), extent_of(last)}, edge, [&](const Range& steps, const NodeRef&) {
                    return block(group, steps.start, steps.size);
                }));
            if (nest.inner_count) loops[0].loop()->count = nest.inner_count;
            return loops;
        });
    }

    // f(start, steps) for whole blocks of the one summed loop, whose count is known at run time, and step by step for the tail.
    template <class F>
    Body counted_blocks(std::int64_t edge, F f) {
        const std::int64_t most = extent_of(nest.inner.back());
        const NodeRef count =
            kernel.binary(Op::Max, kernel.index(0), kernel.binary(Op::Min, nest.inner_count, kernel.index(most)));
        const NodeRef whole = kernel.binary(Op::IDiv, count, kernel.index(edge));
        const NodeRef k = kernel.new_var(ceil_div(most, edge)), left = kernel.new_var(edge);
        const NodeRef done = kernel.mul(whole, kernel.index(edge));
        Body body{serial_loop(k, f(simple(kernel.mul(k, kernel.index(edge))), edge), simple(whole))};
        body.emplace_back(
            serial_loop(left, f(simple(kernel.add(done, left)), 1), simple(kernel.binary(Op::Sub, count, done))));
        return body;
    }
};

}  // namespace

Body pack_columns(const TileNest& tile, const Range& columns, int panel) {
    return Packer{tile}.pack_columns(columns, panel);
}
Body pack_rows(const TileNest& tile, const Range& rows, int row_panel) {
    return Packer{tile}.pack_rows(rows, row_panel);
}

}  // namespace weft::kernel
