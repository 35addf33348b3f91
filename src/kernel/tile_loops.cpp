// kernel/tile_loops.cpp: makes the loops that a TileSchedule describes.
//
//   parallel  strips of the vector side, chunks of the broadcast side, or batches       no shared panel, no barrier
//     outer   blocks of the sum, as lowering cut them (there may be none)
//       pack  the strip's vector operand:    panel[p][k][lanes]                          lives in L2
//       serial  broadcast side by `tile_rows` rows, panels
//         accumulators [tile_rows][vectors] = sum over the block of row value * panel vector
//         no blocks: the epilogue runs on the accumulators. Blocks: they are added to the output or to scratch
//     the epilogue, if it could not run on the accumulators
//
// Every accumulator is one chain of fused multiply-adds in the order that lowering wrote, so the bits are those of the plain loops.
#include "kernel/tile_pack.h"
#include "kernel/tile_schedule.h"

#include "ir/index_map.h"
#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>

namespace weft::kernel {
namespace {

using ir::IndexList;
using ir::Op;
using Epilogue = TileSchedule::Epilogue;
using Parallel = TileSchedule::Parallel;

class TileLoops : TileNest {
public:
    TileLoops(const TileNest& tile, TileScratch& scratch) : TileNest(tile), scratch_(scratch) {}

    Body run() {
        const Range columns{kernel.index(0), schedule.columns()}, rows{kernel.index(0), schedule.rows()};
        const std::vector<NodeRef>& outer = schedule.outer_vars;
        switch (schedule.parallel) {
            case Parallel::None: break;
            case Parallel::Batches: {
                std::vector<NodeRef> others = outer;
                std::erase(others, schedule.parallel_var);
                Body body = loops_over(others, strips(columns, rows));
                return Body{Loop{schedule.parallel_var, LoopKind::Parallel, std::move(body), true, nullptr}};
            }
            case Parallel::Strips:
                return parallel_pieces(columns.size, schedule.parallel_size,
                                       [&](const Range& strip) { return loops_over(outer, strips(strip, rows)); });
            case Parallel::Chunks:
                return parallel_pieces(rows.size, schedule.parallel_size,
                                       [&](const Range& chunk) { return loops_over(outer, strips(columns, chunk)); });
        }
        return loops_over(outer, strips(columns, rows));
    }

private:
    // Does the epilogue run after the tiles of a strip?
    bool is_late() const { return schedule.epilogue == Epilogue::StripLoop || schedule.epilogue == Epilogue::None; }

    // The outermost loop over pieces becomes the parallel one; a shorter last piece is a condition inside it.
    template <class F>
    Body parallel_pieces(std::int64_t total, std::int64_t size, F f) {
        const std::int64_t whole = total / size, tail = total % size;
        const NodeRef p = kernel.new_var(whole + (tail > 0));
        const NodeRef start = simple(kernel.mul(p, kernel.index(size)));
        Body inside;
        if (tail == 0) {
            inside = f(Range{start, size});
        } else {
            const NodeRef left = kernel.binary(Op::Sub, kernel.index(whole), p);
            const NodeRef last = kernel.binary(Op::Sub, p, kernel.index(whole - 1));
            if (whole > 0) inside.emplace_back(serial_loop(kernel.new_var(1), f(Range{start, size}), left));
            inside.emplace_back(serial_loop(kernel.new_var(1), f(Range{kernel.index(whole * size), tail}), last));
        }
        return Body{Loop{p, LoopKind::Parallel, std::move(inside), true, nullptr}};
    }

    Body strips(const Range& columns, const Range& rows) {
        const std::int64_t width = schedule.pack_columns ? schedule.strip_width : columns.size;
        return pieces(columns, std::min(width, columns.size),
                      [&](const Range& strip, const NodeRef&) { return strip_body(strip, rows); });
    }

    Body strip_body(const Range& columns, const Range& rows) {
        int panel = -1, row_panel = -1, sums = -1;
        Body block;
        if (schedule.pack_columns) {
            const std::int64_t panels = ceil_div(columns.size, schedule.tile_columns());
            panel = scratch(scratch_.panel, "panel",
                            schedule.shift.var ? schedule.packed_steps() * shift_pitch()
                                               : panels * schedule.sum_block * schedule.tile_columns());
            append(block, pack_columns(*this, columns, panel));
        }
        if (schedule.pack_rows) {
            row_panel = scratch(scratch_.row_panel, "rows",
                                ceil_div(rows.size, schedule.tile_rows) * schedule.sum_block * schedule.tile_rows);
            append(block, pack_rows(*this, rows, row_panel));
        }
        if (is_late() && !schedule.sums_in_output) sums = scratch(scratch_.sums, "sums", rows.size * columns.size);
        const auto tiles = [&](const Range& tile, const NodeRef& row_tile) {
            return column_tiles(columns, [&](const Range& part, const NodeRef& column_tile) {
                return tile_body({tile, part, rows, columns, row_tile, column_tile, panel, row_panel, sums});
            });
        };
        if (!schedule.row_group || columns.size < kTilesAcross * schedule.tile_columns()) {
            append(block, row_tiles(rows, tiles));
        } else {
            const std::int64_t whole_tiles = ceil_div(rows.size, schedule.tile_rows) * schedule.tile_rows;
            const std::int64_t group = std::min(schedule.row_group, whole_tiles);
            row_panel = scratch(scratch_.row_panel, "rows", schedule.sum_block * group);
            append(block, pieces(rows, group, [&](const Range& some, const NodeRef&) {
                       Body body = pack_rows(*this, some, row_panel);
                       append(body, pieces(some, schedule.tile_rows, tiles));
                       return body;
                   }));
        }
        Body body = loops_over(nest.outer, std::move(block));
        if (schedule.epilogue == Epilogue::StripLoop) append(body, strip_epilogue(columns, rows, sums));
        return body;
    }

    int scratch(int& local, const char* name, std::int64_t size) {
        if (local < 0) local = kernel.new_local(name, nest.accumulate, size);
        Buffer& buffer = kernel.buffers[local];
        buffer.size = std::max(buffer.size, size);
        buffer.memory = Buffer::MemoryType::Scratch;
        return local;
    }

    // Tiles of rows that differ by one row at most: a tail of one or two rows would read all columns for few multiply-adds.
    template <class F>
    Body row_tiles(const Range& rows, F f) {
        if (schedule.pack_rows || rows.size <= schedule.tile_rows || rows.size % schedule.tile_rows == 0)
            return pieces(rows, schedule.tile_rows, f);
        const std::int64_t tiles = ceil_div(rows.size, schedule.tile_rows), size = ceil_div(rows.size, tiles),
                           larger = rows.size - tiles * (size - 1);
        Body body = pieces(Range{rows.start, larger * size}, size, f);
        const NodeRef tail = simple(kernel.add(rows.start, kernel.index(larger * size)));
        append(body, pieces(Range{tail, rows.size - larger * size}, std::max<std::int64_t>(1, size - 1), f));
        return body;
    }

    struct Tile {
        Range rows, columns;            // of this tile
        Range all_rows, all_columns;    // of the strip
        NodeRef row_tile, column_tile;  // numbers of the tile within the strip
        int panel, row_panel, sums;
    };

    // for r < rows (unrolled), and the lanes of the columns: f(r, offset of the lane, index of the accumulator, lane loop)
    template <class F>
    Body tile_loops(const Tile& tile, F f) {
        const NodeRef r = kernel.new_var(tile.rows.size);
        const std::int64_t pitch = ceil_div(tile.columns.size, schedule.lanes) * schedule.lanes;
        Body lanes = lane_loops(tile.columns.size, [&](const NodeRef& at, int lane) {
            return f(r, at, simple(kernel.add(kernel.mul(r, kernel.index(pitch)), at)), lane);
        });
        if (tile.rows.size == 1) return substitute(kernel, lanes, {{id_of(r), kernel.index(0)}});
        return Body{Loop{r, LoopKind::Unrolled, std::move(lanes), false, nullptr}};
    }

    Body tile_body(const Tile& tile) {
        const std::int64_t pitch = ceil_div(tile.columns.size, schedule.lanes) * schedule.lanes;
        const int acc = kernel.new_local("acc", nest.accumulate, tile.rows.size * pitch);
        kernel.buffers[acc].memory = Buffer::MemoryType::Register;
        const bool in_tile_loop = schedule.epilogue == Epilogue::TileLoop;
        const int held = in_tile_loop ? scratch(scratch_.tile, "tile", tile.rows.size * pitch) : -1;
        Body body = tile_loops(tile, [&](const NodeRef&, const NodeRef&, const NodeRef& slot, int) {
            return Body{Store{acc, slot, kernel.constant(nest.accumulate, 0)}};
        });
        for (const NodeRef& load : schedule.prefetched) append(body, prefetch(tile, load));
        Body terms = tile_loops(tile, [&](const NodeRef& r, const NodeRef& at, const NodeRef& slot, int) {
            const NodeRef row = row_value(tile, r), vector = vector_value(tile, at), sum = kernel.load(acc, slot);
            return Body{Store{acc, slot,
                              schedule.vector_is_left ? kernel.fma(vector, row, sum) : kernel.fma(row, vector, sum)}};
        });
        Body sums = sum_loops(nest.inner, std::move(terms));
        annotate(sums, std::vector(nest.inner.size(), LoopRole::Sum));
        append(body, std::move(sums));
        append(body, tile_loops(tile, [&](const NodeRef& r, const NodeRef& at, const NodeRef& slot, int lane) {
                   const NodeRef row = simple(kernel.add(tile.rows.start, r)),
                                 column = simple(kernel.add(tile.columns.start, at));
                   const NodeRef sum = kernel.load(acc, slot);
                   if (in_tile_loop) return Body{Store{held, slot, sum}};
                   if (!is_late()) return epilogue(row, column, sum, lane);
                   return Body{add_block(tile, row, column, sum)};
               }));
        if (in_tile_loop) append(body, tile_epilogue(tile.columns, tile.rows, held, pitch));
        return body;
    }

    Body prefetch(const Tile& tile, const NodeRef& load) {
        return tile_loops(tile, [&](const NodeRef& r, const NodeRef& at, const NodeRef&, int) {
            return at_element(Body{Prefetch{load}}, simple(kernel.add(tile.rows.start, r)),
                              simple(kernel.add(tile.columns.start, at)));
        });
    }

    NodeRef row_value(const Tile& tile, const NodeRef& r) {
        if (tile.row_panel < 0)
            return substitute(kernel, row_operand(), at_rows(simple(kernel.add(tile.rows.start, r))));
        const NodeRef base =
            kernel.add(kernel.mul(tile.row_tile, kernel.index(schedule.sum_block * schedule.tile_rows)),
                       kernel.mul(inner_position(), kernel.index(schedule.tile_rows)));
        return kernel.load(tile.row_panel, simple(kernel.add(base, r)));
    }

    NodeRef vector_value(const Tile& tile, const NodeRef& at) {
        if (!schedule.pack_columns)
            return substitute(kernel, vector_operand(), at_columns(simple(kernel.add(tile.columns.start, at))));
        NodeRef base;
        if (schedule.shift.var) {
            const NodeRef start = kernel.add(kernel.binary(Op::Sub, tile.columns.start, tile.all_columns.start),
                                             kernel.index(schedule.shift.by < 0 ? schedule.shift.more : 0));
            base = kernel.add(kernel.add(start, kernel.mul(schedule.shift.var, kernel.index(schedule.shift.by))),
                              kernel.mul(position_in(packed_vars()), kernel.index(shift_pitch())));
        } else {
            base = kernel.add(kernel.mul(tile.column_tile, kernel.index(schedule.sum_block * schedule.tile_columns())),
                              kernel.mul(inner_position(), kernel.index(schedule.tile_columns())));
        }
        return kernel.load(tile.panel, simple(kernel.add(base, at)));
    }

    Body at_element(const Body& body, const NodeRef& row, const NodeRef& column) const {
        Substitution with = at_rows(row);
        for (auto& [id, value] : at_columns(column)) with.emplace_back(id, value);
        return substitute(kernel, body, with);
    }

    Body epilogue(const NodeRef& row, const NodeRef& column, const NodeRef& total, int lane) {
        Body body = at_element(nest.epilogue, row, column);
        for (Stmt& stmt : body) stmt.store()->value = with_total(stmt.store()->value, total);
        return lane_private(kernel, body, lane);
    }

    NodeRef with_total(const NodeRef& value, const NodeRef& total) const {
        return ir::rebuild(std::span(&value, 1), [&](const ir::Node& node, const ir::Sources& sources) {
            if (node.op == Op::Load && node.as<ir::LoadArg>().buffer == nest.total) return total;
            return sources == node.sources ? NodeRef(&node)
                                           : kernel.interner->make(node.op, node.dtype, {}, sources, node.arg);
        })[0];
    }

    // Where the blocks of an element's sum meet: (buffer, index).
    std::pair<int, NodeRef> meeting_place(const Range& rows, const Range& columns, int sums, const NodeRef& row,
                                          const NodeRef& column) {
        if (schedule.sums_in_output) {
            const Store& store = *nest.epilogue.back().store();
            return {store.buffer,
                    at_element(Body{Store{store.buffer, store.index, store.value}}, row, column)[0].store()->index};
        }
        const NodeRef r = kernel.binary(Op::Sub, row, rows.start), c = kernel.binary(Op::Sub, column, columns.start);
        return {sums, simple(kernel.add(kernel.mul(r, kernel.index(columns.size)), c))};
    }

    // total = (first block ? 0 : total) + acc
    Store add_block(const Tile& tile, const NodeRef& row, const NodeRef& column, const NodeRef& acc) {
        const auto [buffer, at] = meeting_place(tile.all_rows, tile.all_columns, tile.sums, row, column);
        if (nest.outer.empty()) return Store{buffer, at, acc};
        Shape extents;
        for (const NodeRef& var : nest.outer) extents.push_back(extent_of(var));
        const NodeRef block =
            ir::flatten_index(*kernel.interner, extents, IndexList(nest.outer.begin(), nest.outer.end()));
        const NodeRef later = simple(kernel.binary(Op::CmpLt, kernel.index(0), block));
        return Store{buffer, at, kernel.add(kernel.load(buffer, at, later), acc)};
    }

    Body strip_epilogue(const Range& columns, const Range& rows, int sums) {
        return epilogue_loops(columns, rows, [&](const NodeRef& row, const NodeRef& column) {
            const auto [buffer, at] = meeting_place(rows, columns, sums, row, column);
            return kernel.load(buffer, at);
        });
    }

    Body tile_epilogue(const Range& columns, const Range& rows, int held, std::int64_t pitch) {
        return epilogue_loops(columns, rows, [&](const NodeRef& row, const NodeRef& column) {
            const NodeRef r = kernel.binary(Op::Sub, row, rows.start),
                          c = kernel.binary(Op::Sub, column, columns.start);
            return kernel.load(held, simple(kernel.add(kernel.mul(r, kernel.index(pitch)), c)));
        });
    }

    // for the rows, and the lanes of the columns: the epilogue with total(row, column)
    template <class F>
    Body epilogue_loops(const Range& columns, const Range& rows, F total) {
        const NodeRef r = kernel.new_var(rows.size);
        const NodeRef row = simple(kernel.add(rows.start, r));
        Body inner = pieces(columns, schedule.lanes, [&](const Range& part, const NodeRef&) {
            const NodeRef l = kernel.new_var(part.size), column = simple(kernel.add(part.start, l));
            return Body{Loop{l, LoopKind::Vector, epilogue(row, column, total(row, column), id_of(l)), true, nullptr}};
        });
        return Body{serial_loop(r, std::move(inner))};
    }

    TileScratch& scratch_;
};

}  // namespace

Body apply_tile_schedule(Kernel& kernel, const ContractionNest& nest, const TileSchedule& schedule,
                         TileScratch& scratch) {
    return TileLoops({kernel, nest, schedule}, scratch).run();
}

}  // namespace weft::kernel
