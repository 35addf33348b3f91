// kernel/pass_tile.cpp: the "tile" pass: a contraction's loops become register tiles over packed panels. One side of the output runs
// in lanes (the *vector* side, the one whose neighbours are neighbours in memory), the other is broadcast, row by row.
//
//   parallel  strips of the vector side, chunks of the broadcast side, or batches       no shared panel, no barrier
//     outer   blocks of the sum, as lowering cut them (there may be none)
//       pack  the strip's vector operand:    panel[p][k][lanes]                          lives in L2
//       serial  broadcast side by `mr` rows · panels
//         accumulators [mr][nv vectors] = sum over the block of row value * panel vector
//         no blocks: the epilogue runs on the accumulators. Blocks: they are added to the output or to scratch
//     the epilogue, if it could not run on the accumulators
//
// Every accumulator is one chain of fused multiply-adds in the order that lowering wrote, so the bits are those of the plain loops.
#include "kernel/block_transpose.h"
#include "kernel/contraction_nest.h"
#include "kernel/lower_special.h"
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "core/checked.h"
#include "core/str.h"
#include "ir/index_map.h"
#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <cstdlib>
#include <optional>

namespace weft::kernel {
namespace {

using ir::IndexList;
using ir::Op;
using Side = ContractionNest::Side;

constexpr std::int64_t kPanelBytes = 600 << 10;   // of the packed strip: about half of a core's L2
constexpr std::int64_t kSumsBytes = 128 << 10;    // of sums beside it
constexpr std::int64_t kDirectOperand = 1 << 17;  // elements of the vector operand up to which packing does not pay
constexpr std::int64_t kDirectRows = 4096;      // rows of the broadcast operand up to which it is read across, unpacked
constexpr std::int64_t kTilesAcross = 6;        // … unless at least so many tiles would each read it so
constexpr std::int64_t kRowsBytes = 128 << 10;  // of its rows that are packed for them
constexpr std::int64_t kSmallContraction = 1 << 15;  // multiply-adds below which threads do not pay
constexpr std::int64_t kChunkWork = 1 << 19;         // multiply-adds of a small chunk: some microseconds
constexpr std::int64_t kBatches = 4;                 // at least, to be shared out
constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kStreams = 8;  // steps of the sum packed side by side: what a processor prefetches well
constexpr std::int64_t kFarBytes =
    128 << 10;                             // of what is read and written after the sums: it may not be in a near cache
constexpr std::size_t kMostEpilogue = 24;  // expression nodes computed from the sums in registers

// Accumulator registers: rows by vectors per row, best first for many columns; measured, see docs/architecture.md.
struct TileShape {
    int rows, vectors;
};

// A run of [start, start + size) of one side; the size is constant, so that every loop has a constant extent.
struct Range {
    NodeRef start;
    std::int64_t size;
};

// Arrays that tiles need, one per purpose: no two copies of the loops (for shorter strips, for phases) use theirs at the same time.
struct Scratch {
    int panel = -1, row_panel = -1, sums = -1, tile = -1;
};

class Tiler {
public:
    Tiler(Kernel& kernel, const ContractionNest& nest, Scratch& scratch, const Target& target)
        : kernel_(kernel), nest_(nest), scratch_(scratch), target_(target) {}

    std::optional<Body> run() {
        lanes_ = nest_.accumulate == DType::F64 ? kMaxLanes / 2 : kMaxLanes;
        if (nest_.inner.empty() || !choose_sides()) return std::nullopt;
        inner_length_ = product(nest_.inner);
        choose_packing();
        const TileShape tile = choose_tile();
        vectors_ = tile.vectors;
        tile_rows_ = static_cast<int>(std::min<std::int64_t>(tile.rows, rows_));
        tile_columns_ = vectors_ * lanes_;
        gates_outside();
        choose_shift();
        choose_partial_sums();
        Body body = parallel_loops();
        describe();
        return body;
    }

private:
    // ---- decisions ------------------------------------------------------------------------------------------------------

    std::optional<std::int64_t> output_stride(const NodeRef& var) const {
        const Store* last = nullptr;
        for (const Stmt& stmt : nest_.epilogue)
            if (kernel_.buffers[stmt.store()->buffer].role == Buffer::Role::Output) last = stmt.store();
        return ir::stride_of(*kernel_.interner, last->index, id_of(var));
    }

    // The vector side is the one with the output's fastest axis; its axes that lie densely in each other are one range of columns. Where
    // they are fewer than lanes (the taps of a window), the other side's are better, although its stores then jump. A phase of a stride
    // has no dense axes, its stores jump anyway: there all neighbouring axes of the side are columns.
    bool choose_sides() {
        int fastest = -1;
        for (std::size_t i = 0; i < nest_.rows.size(); ++i) {
            const auto stride = output_stride(nest_.rows[i]);
            if (stride && (fastest < 0 || *stride < *output_stride(nest_.rows[fastest]))) fastest = static_cast<int>(i);
        }
        if (fastest < 0 || nest_.sides[fastest] == Side::Batch) return false;
        dense_ = output_stride(nest_.rows[fastest]) == 1;
        column_vars_ = dense_ ? dense_columns(fastest) : neighbours(fastest);
        if (const int other = fastest_of_other_side(nest_.sides[fastest]);
            product(column_vars_) < lanes_ && other >= 0 && nest_.outer.empty()) {
            std::vector<NodeRef> more = dense_columns(other);
            if (product(more) >= 2 * lanes_) column_vars_ = std::move(more), fastest = other;
        }
        const Side vector_side = nest_.sides[fastest];
        for (std::size_t i = 0; i < nest_.rows.size(); ++i) {
            const NodeRef& var = nest_.rows[i];
            if (std::find(column_vars_.begin(), column_vars_.end(), var) != column_vars_.end()) continue;
            if (nest_.sides[i] != Side::Batch && nest_.sides[i] != vector_side) row_vars_.push_back(var);
            else outer_vars_.push_back(var);
        }
        columns_ = product(column_vars_);
        rows_ = product(row_vars_);
        vector_is_left_ = vector_side == Side::M;
        return columns_ >= 2 && rows_ >= 2;
    }

    // An operand that is turned over while it is packed (a convolution's input, for the gradient of its weights) is read for 16 columns
    // at a time. Where they are taps of a window, each has a gate of its own; if they are channels of one tap, one gate serves
    // all. So an axis that no gate depends on becomes the innermost one. Stores jump then, once for the whole sum, and blocks of the
    // sum meet in scratch, which must leave room for the panel.
    void gates_outside() {
        const NodeRef& operand = vector_factor();
        const auto bytes = static_cast<std::int64_t>(size_of(nest_.accumulate));
        if (!dense_ || !pack_columns_ || column_vars_.size() < 2 || !runs_along_sum(operand, column_vars_)) return;
        if (rows_ * std::min(columns_, strip_width()) * bytes > kSumsBytes) return;
        const auto free = std::find_if(column_vars_.begin(), column_vars_.end(), [&](const NodeRef& var) {
            return !is_gated_by(operand, var) && extent_of(var) % lanes_ == 0;
        });
        if (!is_gated_by(operand, column_vars_.back()) || free == column_vars_.end()) return;
        std::rotate(free, free + 1, column_vars_.end());
        dense_ = false;
    }

    // The axes of this one's side that lie densely around it in the output, outermost first.
    std::vector<NodeRef> dense_columns(int fastest) const {
        std::int64_t dense = *output_stride(nest_.rows[fastest]) * extent_of(nest_.rows[fastest]);
        std::vector<NodeRef> columns{nest_.rows[fastest]};
        for (int i = static_cast<int>(nest_.rows.size()) - 1; i >= 0; --i)
            if (i != fastest && nest_.sides[i] == nest_.sides[fastest] && output_stride(nest_.rows[i]) == dense) {
                columns.insert(columns.begin(), nest_.rows[i]);
                dense *= extent_of(nest_.rows[i]);
                i = static_cast<int>(
                    nest_.rows.size());  // look again, from the fastest: order in memory decides, not in the loops
            }
        return columns;
    }

    // The axes of this one's side, from it on in the output's order up to the first axis of another side; outermost first.
    std::vector<NodeRef> neighbours(int fastest) const {
        std::vector<std::pair<std::int64_t, std::size_t>> by_stride;
        for (std::size_t i = 0; i < nest_.rows.size(); ++i)
            by_stride.emplace_back(output_stride(nest_.rows[i]).value_or(INT64_MAX), i);
        std::sort(by_stride.begin(), by_stride.end());
        std::vector<NodeRef> columns;
        for (const auto& [stride, i] : by_stride) {
            if (nest_.sides[i] != nest_.sides[fastest] || stride == INT64_MAX) break;
            columns.insert(columns.begin(), nest_.rows[i]);
        }
        return columns;
    }

    // The axis of the other side along which its operand runs in memory, or -1.
    int fastest_of_other_side(Side side) const {
        const NodeRef& factor = side == Side::M ? nest_.right : nest_.left;
        Uses uses;
        collect_uses(factor, uses);
        for (std::size_t i = 0; i < nest_.rows.size(); ++i) {
            if (nest_.sides[i] == Side::Batch || nest_.sides[i] == side || !output_stride(nest_.rows[i])) continue;
            const bool along = std::all_of(uses.loads.begin(), uses.loads.end(), [&](const NodeRef& load) {
                return ir::stride_of(*kernel_.interner, load->sources[0], id_of(nest_.rows[i])) == 1;
            });
            if (along && !uses.loads.empty()) return static_cast<int>(i);
        }
        return -1;
    }

    TileShape choose_tile() const {
        if (target_.level == CpuLevel::Avx2) return {6, 1};      // 16 lanes are two registers, of 16
        if (target_.level == CpuLevel::Baseline) return {2, 1};  // … and four here
        const std::int64_t vectors = ceil_div(columns_, std::int64_t{lanes_});
        if (vectors <= 2 && rows_collide()) return {6, static_cast<int>(vectors)};
        if (vectors == 1) return {14, 1};
        if (vectors == 2) return {12, 2};
        if (vectors == 3) return {8, 3};
        // Strips for all threads, of which each packs its own columns once.
        if (pack_columns_ && (vectors == 7 || vectors == 8) && product(outer_vars_) < kBatches) return {12, 2};
        const auto waste = [&](int v) { return ceil_div(vectors, v) * v - vectors; };
        return waste(4) < waste(3) ? TileShape{6, 4} : TileShape{8, 3};
    }

    // Rows of a whole number of pages fall into the same few sets of the first cache, which has room for eight.
    bool rows_collide() const {
        const NodeRef& r = row_factor();
        if (!plain_load(r) || row_vars_.empty()) return false;
        const auto step = ir::stride_of(*kernel_.interner, r->sources[0], id_of(row_vars_.back()));
        return step && *step != 0 && *step * static_cast<std::int64_t>(size_of(r->dtype)) % kPage == 0;
    }

    const NodeRef& vector_factor() const { return vector_is_left_ ? nest_.left : nest_.right; }
    const NodeRef& row_factor() const { return vector_is_left_ ? nest_.right : nest_.left; }

    bool plain_load(const NodeRef& e) const { return e->op == Op::Load && e->sources.size() == 1; }

    void choose_packing() {
        const NodeRef& v = vector_factor();
        const bool unit = plain_load(v) && column_vars_.size() == 1 &&
                          ir::stride_of(*kernel_.interner, v->sources[0], id_of(column_vars_[0])) == 1;
        pack_columns_ = !unit || columns_ * inner_length_ * product(nest_.outer) > kDirectOperand;
        pack_rows_ = !plain_load(row_factor()) || (reads_across() && rows_ > kDirectRows);
    }

    // A broadcast operand that runs along the sum needs no packing: each cache line serves 16 steps.
    bool reads_across() const {
        const NodeRef& r = row_factor();
        return plain_load(r) &&
               std::abs(ir::stride_of(*kernel_.interner, r->sources[0], id_of(nest_.inner.back())).value_or(0)) != 1;
    }

    // Where a summed variable (a window's tap) moves the columns by whole steps, its panels are parts of one longer panel: a convolution's
    // operand is packed once for all rows of the window. Column q of that panel is column q - shift * v at step v of the sum.
    void choose_shift() {
        if (!pack_columns_ || runs_along_sum(vector_factor(), column_vars_)) return;
        Uses uses;
        collect_uses(vector_factor(), uses);
        if (uses.loads.empty()) return;
        const NodeRef& index = uses.loads[0]->sources[0];
        const std::int64_t width = std::min(columns_, strip_width());
        std::int64_t best = width * 3 / 5;  // of packed columns per step: more are not worth it
        for (const NodeRef& var : nest_.inner) {
            const auto along = ir::stride_of(*kernel_.interner, index, id_of(var));
            if (!along || extent_of(var) == 1 || (nest_.inner_count && var == nest_.inner.front())) continue;
            std::int64_t unit = columns_;
            for (const NodeRef& column : column_vars_) {
                unit /= extent_of(column);
                const auto step = ir::stride_of(*kernel_.interner, index, id_of(column));
                if (!step || *step == 0 || *along % *step != 0) continue;
                Shift shift{var, *along / *step * unit, 0};
                shift.more = std::abs(shift.by) * (extent_of(var) - 1);
                if (std::abs(shift.by) > columns_ || !only_moves(shift)) continue;
                if (const std::int64_t packed = (width + shift.more) / extent_of(var); packed < best)
                    shift_ = shift, best = packed;
            }
        }
        if (!shift_.var) return;
        const std::int64_t panels = ceil_div(columns_, tile_columns_);  // strips of about the same length
        strip_width_ = ceil_div(panels, ceil_div(columns_, strip_width())) * tile_columns_;
    }

    struct Shift {
        NodeRef var;                    // of the sum; null: there is none
        std::int64_t by = 0, more = 0;  // columns per step, and for all steps
    };

    // Is the operand at column q - by * v the same for all steps v?
    bool only_moves(const Shift& shift) {
        const NodeRef q = kernel_.new_var(columns_ + shift.more), first = kernel_.index(shift.by < 0 ? -shift.more : 0);
        const NodeRef moved = kernel_.mul(shift.var, kernel_.index(shift.by));
        const NodeRef column = simple(kernel_.binary(Op::Sub, kernel_.add(q, first), moved));
        return !ir::depends_on(substitute(kernel_, vector_factor(), at_columns(column)), id_of(shift.var));
    }

    // Blocks of the sum meet in memory: in the output itself, if that is plain (not donated, of the right type), else in scratch.
    // Where stores jump, whole tiles meet in scratch too: the epilogue is then written once, and not for each register of each tile. Where
    // much is computed after the sum, each tile goes through scratch for the same reason: it would be more code than the processor keeps.
    void choose_partial_sums() {
        late_ = !nest_.outer.empty() || !dense_;
        looped_ = !late_ && epilogue_nodes() > kMostEpilogue;
        if (nest_.outer.empty()) return;
        const Store& store = *nest_.epilogue.back().store();
        const NodeRef total = kernel_.load(nest_.total, kernel_.index(0));
        plain_epilogue_ = nest_.epilogue.size() == 1 && store.value == total;
        const Buffer& out = kernel_.buffers[store.buffer];
        sums_in_output_ =
            out.role == Buffer::Role::Output && out.dtype == nest_.accumulate && dense_ && !is_loaded(store.buffer);
        if (!sums_in_output_) plain_epilogue_ = false;
    }

    std::size_t epilogue_nodes() const {
        std::vector<NodeRef> values;
        for (const Stmt& stmt : nest_.epilogue) values.push_back(stmt.store()->value);
        return ir::topological_order(values).size();
    }

    bool is_loaded(int buffer) const {
        Uses uses;
        collect_uses(nest_.left, uses);
        collect_uses(nest_.right, uses);
        for (const Stmt& stmt : nest_.epilogue) collect_uses(stmt.store()->value, uses);
        return std::any_of(uses.loads.begin(), uses.loads.end(),
                           [&](const NodeRef& load) { return load->as<ir::LoadArg>().buffer == buffer; });
    }

    // ---- loops ----------------------------------------------------------------------------------------------------------

    Loop serial(const NodeRef& var, Body body, NodeRef count = nullptr) const {
        return Loop{var, LoopKind::Serial, std::move(body), false, std::move(count)};
    }

    // The body inside loops over fresh variables in place of these: the same loops occur in several places.
    Body loops_over(const std::vector<NodeRef>& vars, Body body) {
        Substitution with;
        std::vector<NodeRef> fresh;
        for (const NodeRef& var : vars) {
            fresh.push_back(kernel_.new_var(extent_of(var)));
            with.emplace_back(id_of(var), fresh.back());
        }
        return nested(fresh, substitute(kernel_, body, with), false);
    }

    // f(range) for whole pieces of a range and for what is left; `var` loops over the whole pieces.
    template <class F>
    Body pieces(const Range& all, std::int64_t size, F f) {
        Body body;
        if (const std::int64_t whole = all.size / size; whole == 1) {
            append(body, f(Range{all.start, size}, kernel_.index(0)));
        } else if (whole > 1) {
            const NodeRef var = kernel_.new_var(whole);
            const NodeRef start = simple(kernel_.add(all.start, kernel_.mul(var, kernel_.index(size))));
            body.emplace_back(serial(var, f(Range{start, size}, var)));
        }
        if (const std::int64_t rest = all.size % size)
            append(body, f(Range{simple(kernel_.add(all.start, kernel_.index(all.size - rest))), rest},
                           kernel_.index(all.size / size)));
        return body;
    }

    // Tiles of rows that differ by one row at most: a rest of one or two rows would read all columns for few multiply-adds.
    template <class F>
    Body row_tiles(const Range& rows, F f) {
        if (pack_rows_ || rows.size <= tile_rows_ || rows.size % tile_rows_ == 0) return pieces(rows, tile_rows_, f);
        const std::int64_t tiles = ceil_div(rows.size, tile_rows_), size = ceil_div(rows.size, tiles),
                           larger = rows.size - tiles * (size - 1);
        Body body = pieces(Range{rows.start, larger * size}, size, f);
        const NodeRef rest = simple(kernel_.add(rows.start, kernel_.index(larger * size)));
        append(body, pieces(Range{rest, rows.size - larger * size}, std::max<std::int64_t>(1, size - 1), f));
        return body;
    }

    // Tiles of columns. With one vector per row a tile waits for its loads: a rest of one shares the columns of the last tile of three. A
    // rest of at most half a vector runs in narrower registers, and faster.
    template <class F>
    Body column_tiles(const Range& columns, F f) {
        const std::int64_t whole = columns.size / tile_columns_, rest = columns.size % tile_columns_;
        if (vectors_ != 3 || whole == 0 || rest <= lanes_ / 2 || rest > lanes_)
            return pieces(columns, tile_columns_, f);
        Body body = pieces(Range{columns.start, (whole - 1) * tile_columns_}, tile_columns_, f);
        const std::int64_t done = (whole - 1) * tile_columns_, two = 2 * lanes_;
        append(body, f(Range{simple(kernel_.add(columns.start, kernel_.index(done))), two}, kernel_.index(whole - 1)));
        append(body, f(Range{simple(kernel_.add(columns.start, kernel_.index(done + two))), columns.size - done - two},
                       kernel_.index(whole)));
        return body;
    }

    NodeRef simple(const NodeRef& e) const { return ir::simplify_index(*kernel_.interner, e); }

    // The outermost loop over pieces becomes the parallel one; a shorter last piece is a condition inside it.
    template <class F>
    Body parallel_pieces(std::int64_t total, std::int64_t size, F f) {
        const std::int64_t whole = total / size, rest = total % size;
        const NodeRef p = kernel_.new_var(whole + (rest > 0));
        const NodeRef start = simple(kernel_.mul(p, kernel_.index(size)));
        Body inside;
        if (rest == 0) {
            inside = f(Range{start, size});
        } else {
            const NodeRef left = kernel_.binary(Op::Sub, kernel_.index(whole), p);
            const NodeRef last = kernel_.binary(Op::Sub, p, kernel_.index(whole - 1));
            if (whole > 0) inside.emplace_back(serial(kernel_.new_var(1), f(Range{start, size}), left));
            inside.emplace_back(serial(kernel_.new_var(1), f(Range{kernel_.index(whole * size), rest}), last));
        }
        return Body{Loop{p, LoopKind::Parallel, std::move(inside), true, nullptr}};
    }

    Body parallel_loops() {
        const std::int64_t work = columns_ * rows_ * inner_length_ * product(nest_.outer) * product(outer_vars_);
        const Range all_columns{kernel_.index(0), columns_}, all_rows{kernel_.index(0), rows_};
        if (work < kSmallContraction) return loops_over(outer_vars_, strips(all_columns, all_rows));
        if (!outer_vars_.empty() &&
            product(outer_vars_) >= kBatches) {  // the outermost batch with something to share out
            std::vector<NodeRef> inner = outer_vars_;
            const auto widest = std::max_element(inner.begin(), inner.end(), [](const NodeRef& a, const NodeRef& b) {
                return extent_of(a) < extent_of(b);
            });
            const NodeRef var = *widest;
            inner.erase(widest);
            parallel_ = str("batches of ", extent_of(var));
            return Body{Loop{var, LoopKind::Parallel, loops_over(inner, strips(all_columns, all_rows)), true, nullptr}};
        }
        const std::int64_t panels = ceil_div(columns_, tile_columns_);
        if (panels >= 8 || (pack_columns_ && panels >= 4)) {  // few of them: one each, so that they share out evenly
            const std::int64_t most = panels < 8 ? 1 : pack_rows_ ? ceil_div(panels, std::int64_t{4}) : panels / 8;
            const std::int64_t width = std::min(strip_width(), evenly(panels, most) * tile_columns_);
            parallel_ = str("strips of ", width, " columns");
            return parallel_pieces(columns_, width, [&](const Range& columns) {
                return loops_over(outer_vars_, strips(columns, all_rows));
            });
        }
        if (rows_ >= 4 * tile_rows_) {
            // Packing is done anew in each chunk; without it, chunks may be small and share the work out evenly.
            const std::int64_t tiles = ceil_div(rows_, tile_rows_), tile_work = work / tiles;
            const std::int64_t height =
                (pack_columns_ ? ceil_div(tiles, 4)
                               : std::clamp(kChunkWork / tile_work, std::int64_t{1}, ceil_div(tiles, 4))) *
                tile_rows_;
            parallel_ = str("chunks of ", height, " rows");
            return parallel_pieces(
                rows_, height, [&](const Range& rows) { return loops_over(outer_vars_, strips(all_columns, rows)); });
        }
        return loops_over(outer_vars_, strips(all_columns, all_rows));
    }

    // So many panels to a strip, or up to a third fewer, that up to four threads have the least to do.
    static std::int64_t evenly(std::int64_t panels, std::int64_t most) {
        std::int64_t best = most;
        const auto load = [&](std::int64_t each) { return ceil_div(ceil_div(panels, each), std::int64_t{4}) * each; };
        for (std::int64_t each = most; each >= most - most / 3; --each)
            if (load(each) < load(best)) best = each;
        return best;
    }

    std::int64_t strip_width() const {
        if (strip_width_) return strip_width_;
        const auto bytes = static_cast<std::int64_t>(size_of(nest_.accumulate));
        const std::int64_t room = kPanelBytes / (packed_steps() * bytes) - shift_.more;
        return std::max<std::int64_t>(1, room / tile_columns_) * tile_columns_;
    }

    std::int64_t packed_steps() const { return shift_.var ? inner_length_ / extent_of(shift_.var) : inner_length_; }

    // From step to step of a panel that serves several: an odd number of cache lines, so that steps fall into different sets.
    std::int64_t shift_pitch() const {
        const std::int64_t lines = ceil_div(std::min(strip_width(), columns_) + shift_.more, std::int64_t{lanes_});
        return (lines | 1) * lanes_;
    }

    Body strips(const Range& columns, const Range& rows) {
        const std::int64_t width = pack_columns_ ? strip_width() : columns.size;
        return pieces(columns, std::min(width, columns.size),
                      [&](const Range& strip, const NodeRef&) { return strip_body(strip, rows); });
    }

    Body strip_body(const Range& columns, const Range& rows) {
        int panel = -1, row_panel = -1, sums = -1;
        Body block;
        if (pack_columns_) {
            const std::int64_t panels = ceil_div(columns.size, tile_columns_);
            panel = scratch(scratch_.panel, "panel",
                            shift_.var ? packed_steps() * shift_pitch() : panels * inner_length_ * tile_columns_);
            append(block, pack_columns(columns, panel));
        }
        if (pack_rows_) {
            row_panel =
                scratch(scratch_.row_panel, "rows", ceil_div(rows.size, tile_rows_) * inner_length_ * tile_rows_);
            append(block, pack_rows(rows, row_panel));
        }
        if (late_ && !sums_in_output_) sums = scratch(scratch_.sums, "sums", rows.size * columns.size);
        const auto tiles = [&](const Range& tile, const NodeRef& row_tile) {
            return column_tiles(columns, [&](const Range& part, const NodeRef& column_tile) {
                return tile_body({tile, part, rows, columns, row_tile, column_tile, panel, row_panel, sums});
            });
        };
        if (pack_rows_ || !reads_across() || columns.size < kTilesAcross * tile_columns_) {
            append(block, row_tiles(rows, tiles));
        } else {  // as many rows at a time as stay near
            const auto bytes = static_cast<std::int64_t>(size_of(nest_.accumulate));
            const std::int64_t room = kRowsBytes / (inner_length_ * tile_rows_ * bytes);
            const std::int64_t group = std::clamp<std::int64_t>(room, 1, ceil_div(rows.size, tile_rows_)) * tile_rows_;
            row_panel = scratch(scratch_.row_panel, "rows", inner_length_ * group);
            row_group_ = group;
            append(block, pieces(rows, group, [&](const Range& some, const NodeRef&) {
                       Body body = pack_rows(some, row_panel);
                       append(body, pieces(some, tile_rows_, tiles));
                       return body;
                   }));
        }
        Body body = loops_over(nest_.outer, std::move(block));
        if (late_ && !plain_epilogue_) append(body, late_epilogue(columns, rows, sums));
        return body;
    }

    int scratch(int& local, const char* name, std::int64_t size) {
        if (local < 0) local = kernel_.new_local(name, nest_.accumulate, size);
        Buffer& buffer = kernel_.buffers[local];
        buffer.size = std::max(buffer.size, size);
        buffer.place = Buffer::Place::Scratch;
        return local;
    }

    // ---- packing --------------------------------------------------------------------------------------------------------

    Substitution at_columns(const NodeRef& column) const { return unflattened(column_vars_, column); }
    Substitution at_rows(const NodeRef& row) const { return unflattened(row_vars_, row); }

    Substitution unflattened(const std::vector<NodeRef>& vars, const NodeRef& position) const {
        Shape extents;
        for (const NodeRef& var : vars) extents.push_back(extent_of(var));
        const IndexList index = ir::unflatten_index(*kernel_.interner, extents, position);
        Substitution with;
        for (std::size_t i = 0; i < vars.size(); ++i) with.emplace_back(id_of(vars[i]), index[i]);
        return with;
    }

    NodeRef inner_position() const { return position_in(nest_.inner); }  // of the step within a block of the sum

    NodeRef position_in(const std::vector<NodeRef>& vars) const {  // row-major
        Shape extents;
        for (const NodeRef& var : vars) extents.push_back(extent_of(var));
        return ir::flatten_index(*kernel_.interner, extents, IndexList(vars.begin(), vars.end()));
    }

    std::vector<NodeRef> packed_vars() const {  // of the sum: those for which columns are packed one by one
        std::vector<NodeRef> vars = nest_.inner;
        std::erase(vars, shift_.var);
        return vars;
    }

    Body sum_loops(Body body) { return sum_loops(nest_.inner, std::move(body)); }
    Body sum_loops(const std::vector<NodeRef>& vars, Body body) {
        Body loops = loops_over(vars, std::move(body));
        if (nest_.inner_count) loops[0].loop()->count = nest_.inner_count;
        return loops;
    }

    static bool is_gated_by(const NodeRef& operand, const NodeRef& var) {
        Uses uses;
        collect_uses(operand, uses);
        return std::any_of(uses.gates.begin(), uses.gates.end(),
                           [&](const NodeRef& gate) { return ir::depends_on(gate, id_of(var)); });
    }

    // For packing, which may go in any order: loops that decide a gate (a convolution's taps) outside, so that the gate is
    // evaluated once for all others (its channels).
    Body packing_loops(const NodeRef& operand, const std::vector<NodeRef>& vars, Body body) {
        std::vector<NodeRef> gating, others;
        for (const NodeRef& var : vars) (is_gated_by(operand, var) ? gating : others).push_back(var);
        if (gating.empty() || nest_.inner_count) return sum_loops(vars, std::move(body));
        gating.insert(gating.end(), others.begin(), others.end());
        return loops_over(gating, std::move(body));
    }

    // for v < vectors of `columns` (unrolled), l < lanes (vector): f(offset of the lane within the columns)
    template <class F>
    Body lane_loops(std::int64_t columns, F f) {
        Body body;
        if (const std::int64_t whole = columns / lanes_) {
            const NodeRef v = kernel_.new_var(whole), l = kernel_.new_var(lanes_);
            const NodeRef at = simple(kernel_.add(kernel_.mul(v, kernel_.index(lanes_)), l));
            Body vector{Loop{l, LoopKind::Vector, f(at, id_of(l)), true, nullptr}};
            if (whole == 1) append(body, substitute(kernel_, vector, {{id_of(v), kernel_.index(0)}}));
            else body.emplace_back(Loop{v, LoopKind::Unrolled, std::move(vector), false, nullptr});
        }
        if (const std::int64_t rest = columns % lanes_) {
            const NodeRef l = kernel_.new_var(rest);
            body.emplace_back(Loop{l, LoopKind::Vector,
                                   f(simple(kernel_.add(kernel_.index(columns - rest), l)), id_of(l)), true, nullptr});
        }
        return body;
    }

    // Does memory run along the sum, and for longer than along the columns (or rows)? Then it is read that way.
    bool runs_along_sum(const NodeRef& operand, const std::vector<NodeRef>& positions) const {
        Uses uses;
        collect_uses(operand, uses);
        const auto run = [&](const NodeRef& var) {
            bool any = false;
            for (const NodeRef& load : uses.loads) {
                const auto step = ir::stride_of(*kernel_.interner, load->sources[0], id_of(var));
                if (!step || (*step != 0 && *step != 1)) return std::int64_t{0};
                any |= *step == 1;
            }
            return any ? extent_of(var) : 0;
        };
        const std::int64_t along = run(nest_.inner.back());
        return along >= kMaxLanes / 2 && along > run(positions.back());
    }

    // Packs values of `part` into [step][pitch]: blocks are read along the sum and turned over in registers.
    // `at` are an operand's variables at a position, `slot` is where step 0 of the part's first position goes.
    template <class At>
    Body pack_turned(const NodeRef& operand, const Range& part, At at, int panel, const NodeRef& slot,
                     std::int64_t pitch) {
        const int edge = block_edge(target_, size_of(nest_.accumulate));
        const NodeRef last = nest_.inner.back();
        const auto block = [&](const Range& group, const NodeRef& start, std::int64_t steps) {
            const auto step = [&](const NodeRef& offset) { return simple(kernel_.add(start, offset)); };
            BlockTranspose turn(kernel_, nest_.accumulate, edge);
            Body body = turn.fill(group.size, steps, [&](const NodeRef& r, const NodeRef& l) {
                Substitution with = at(simple(kernel_.add(kernel_.add(part.start, group.start), r)));
                with.emplace_back(id_of(last), step(l));
                return substitute(kernel_, operand, with);
            });
            append(body, turn.use(steps, group.size, [&](const NodeRef& c, const NodeRef& l) {
                const NodeRef row = substitute(kernel_, inner_position(), {{id_of(last), step(c)}});
                const NodeRef to =
                    kernel_.add(kernel_.add(slot, kernel_.mul(row, kernel_.index(pitch))), kernel_.add(group.start, l));
                return Body{Store{panel, simple(to), turn.at(c, l)}};
            }));
            return body;
        };
        const std::vector<NodeRef> around(nest_.inner.begin(), nest_.inner.end() - 1);
        return pieces(Range{kernel_.index(0), part.size}, edge, [&](const Range& group, const NodeRef&) {
            if (around.empty() && nest_.inner_count)
                return counted_blocks(edge,
                                      [&](const NodeRef& start, std::int64_t n) { return block(group, start, n); });
            Body loops = loops_over(
                around, pieces(Range{kernel_.index(0), extent_of(last)}, edge, [&](const Range& steps, const NodeRef&) {
                    return block(group, steps.start, steps.size);
                }));
            if (nest_.inner_count) loops[0].loop()->count = nest_.inner_count;
            return loops;
        });
    }

    // f(start, steps) for whole blocks of the one summed loop, whose count is known at run time, and step by step for the rest.
    template <class F>
    Body counted_blocks(std::int64_t edge, F f) {
        const std::int64_t most = extent_of(nest_.inner.back());
        const NodeRef count =
            kernel_.binary(Op::Max, kernel_.index(0), kernel_.binary(Op::Min, nest_.inner_count, kernel_.index(most)));
        const NodeRef whole = kernel_.binary(Op::IDiv, count, kernel_.index(edge));
        const NodeRef k = kernel_.new_var(ceil_div(most, edge)), left = kernel_.new_var(edge);
        const NodeRef done = kernel_.mul(whole, kernel_.index(edge));
        Body body{serial(k, f(simple(kernel_.mul(k, kernel_.index(edge))), edge), simple(whole))};
        body.emplace_back(
            serial(left, f(simple(kernel_.add(done, left)), 1), simple(kernel_.binary(Op::Sub, count, done))));
        return body;
    }

    // One panel for all steps of the shifting variable: [other steps][columns, and as many more as they are shifted by]. Columns are
    // outside the steps, which share their gates; but few steps at a time, since each is a stream of memory of its own.
    Body pack_shifted(const Range& columns, int panel) {
        const NodeRef first = kernel_.index(shift_.by < 0 ? extent_of(shift_.var) - 1 : 0);  // where q is the column
        const Range all{kernel_.index(0), columns.size + shift_.more};
        std::vector<NodeRef> vars = packed_vars();
        NodeRef base = kernel_.mul(position_in(vars), kernel_.index(shift_pitch()));
        Substitution inside = {{id_of(shift_.var), first}};
        NodeRef block;
        const auto steps = std::find_if(vars.begin(), vars.end(), [&](const NodeRef& var) {
            return !is_gated_by(vector_factor(), var) && extent_of(var) > kStreams && extent_of(var) % kStreams == 0;
        });
        if (steps != vars.end() && !nest_.inner_count) {
            block = kernel_.new_var(extent_of(*steps) / kStreams);
            const NodeRef some = kernel_.new_var(kStreams);
            inside.emplace_back(id_of(*steps), kernel_.add(kernel_.mul(block, kernel_.index(kStreams)), some));
            base = substitute(kernel_, base, {inside.back()});
            *steps = some;
        }
        Body body = pieces(all, lanes_, [&](const Range& part, const NodeRef&) {
            return packing_loops(
                vector_factor(), vars, lane_loops(part.size, [&](const NodeRef& at, int) {
                    const NodeRef q = simple(kernel_.add(part.start, at));
                    Substitution with = at_columns(simple(kernel_.add(columns.start, q)));
                    // At once: columns beyond the last must not be simplified away.
                    with.insert(with.end(), inside.begin(), inside.end());
                    return Body{Store{panel, simple(kernel_.add(base, q)), substitute(kernel_, vector_factor(), with)}};
                }));
        });
        return block ? Body{serial(block, std::move(body))} : body;
    }

    Body pack_columns(const Range& columns, int panel) {
        if (shift_.var) return pack_shifted(columns, panel);
        const bool turned = runs_along_sum(vector_factor(), column_vars_);
        return column_tiles(columns, [&](const Range& part, const NodeRef& number) {
            const NodeRef slot = kernel_.mul(number, kernel_.index(inner_length_ * tile_columns_));
            if (turned)
                return pack_turned(
                    vector_factor(), part, [&](const NodeRef& c) { return at_columns(c); }, panel, slot, tile_columns_);
            const NodeRef base = kernel_.add(slot, kernel_.mul(inner_position(), kernel_.index(tile_columns_)));
            return packing_loops(vector_factor(), nest_.inner, lane_loops(part.size, [&](const NodeRef& at, int) {
                                     const NodeRef column = simple(kernel_.add(part.start, at));
                                     return Body{Store{panel, simple(kernel_.add(base, at)),
                                                       substitute(kernel_, vector_factor(), at_columns(column))}};
                                 }));
        });
    }

    // [tile][step][row]: a tile's rows lie side by side, as they are broadcast. They are packed step by step of the sum for some tiles
    // together: where memory runs along the rows, whole lines are read so.
    Body pack_rows(const Range& rows, int row_panel) {
        const auto slot_of = [&](const NodeRef& number) {
            return kernel_.mul(number, kernel_.index(inner_length_ * tile_rows_));
        };
        if (runs_along_sum(row_factor(), row_vars_))
            return pieces(rows, tile_rows_, [&](const Range& part, const NodeRef& number) {
                return pack_turned(
                    row_factor(), part, [&](const NodeRef& r) { return at_rows(r); }, row_panel, slot_of(number),
                    tile_rows_);
            });
        return pieces(rows, kStreams * tile_rows_, [&](const Range& some, const NodeRef& group) {
            const NodeRef first = kernel_.mul(group, kernel_.index(kStreams));
            Body body = pieces(some, tile_rows_, [&](const Range& part, const NodeRef& number) {
                const NodeRef slot = slot_of(kernel_.add(first, number));
                const NodeRef base = kernel_.add(slot, kernel_.mul(inner_position(), kernel_.index(tile_rows_)));
                const NodeRef r = kernel_.new_var(part.size);
                const NodeRef value = substitute(kernel_, row_factor(), at_rows(simple(kernel_.add(part.start, r))));
                Body store{Store{row_panel, simple(kernel_.add(base, r)), value}};
                const bool contiguous =
                    plain_load(value) && ir::stride_of(*kernel_.interner, value->sources[0], id_of(r)) == 1;
                const LoopKind kind = contiguous && part.size <= kMaxLanes ? LoopKind::Vector : LoopKind::Serial;
                return Body{Loop{r, kind, std::move(store), false, nullptr}};
            });
            return packing_loops(row_factor(), nest_.inner, std::move(body));
        });
    }

    // ---- one register tile ------------------------------------------------------------------------------------------------

    struct Tile {
        Range rows, columns;            // of this tile
        Range all_rows, all_columns;    // of the strip
        NodeRef row_tile, column_tile;  // numbers of the tile within the strip
        int panel, row_panel, sums;
    };

    // for r < rows (unrolled), and the lanes of the columns: f(r, offset of the lane, index of the accumulator, lane loop)
    template <class F>
    Body tile_loops(const Tile& tile, F f) {
        const NodeRef r = kernel_.new_var(tile.rows.size);
        const std::int64_t pitch = ceil_div(tile.columns.size, lanes_) * lanes_;
        Body lanes = lane_loops(tile.columns.size, [&](const NodeRef& at, int lane) {
            return f(r, at, simple(kernel_.add(kernel_.mul(r, kernel_.index(pitch)), at)), lane);
        });
        if (tile.rows.size == 1) return substitute(kernel_, lanes, {{id_of(r), kernel_.index(0)}});
        return Body{Loop{r, LoopKind::Unrolled, std::move(lanes), false, nullptr}};
    }

    Body tile_body(const Tile& tile) {
        const std::int64_t pitch = ceil_div(tile.columns.size, lanes_) * lanes_;
        const int acc = kernel_.new_local("acc", nest_.accumulate, tile.rows.size * pitch);
        kernel_.buffers[acc].place = Buffer::Place::Register;
        const int held = looped_ ? scratch(scratch_.tile, "tile", tile.rows.size * pitch) : -1;
        Body body = tile_loops(tile, [&](const NodeRef&, const NodeRef&, const NodeRef& slot, int) {
            return Body{Store{acc, slot, kernel_.constant(nest_.accumulate, 0)}};
        });
        if (!late_) append(body, fetch_ahead(tile));
        append(body, sum_loops(tile_loops(tile, [&](const NodeRef& r, const NodeRef& at, const NodeRef& slot, int) {
                   const NodeRef row = row_value(tile, r), vector = vector_value(tile, at),
                                 sum = kernel_.load(acc, slot);
                   return Body{Store{acc, slot,
                                     vector_is_left_ ? kernel_.fma(vector, row, sum) : kernel_.fma(row, vector, sum)}};
               })));
        append(body, tile_loops(tile, [&](const NodeRef& r, const NodeRef& at, const NodeRef& slot, int lane) {
                   const NodeRef row = simple(kernel_.add(tile.rows.start, r)),
                                 column = simple(kernel_.add(tile.columns.start, at));
                   const NodeRef sum = kernel_.load(acc, slot);
                   if (looped_) return Body{Store{held, slot, sum}};
                   if (!late_) return epilogue(row, column, sum, lane);
                   return Body{add_block(tile, row, column, sum)};
               }));
        if (looped_) append(body, looped_epilogue(tile.columns, tile.rows, held, pitch));
        return body;
    }

    // What the epilogue reads beside the sums, and where it stores (the weights and moments that an update changes), is asked for
    // before the sums, and has arrived after them.
    Body fetch_ahead(const Tile& tile) {
        Uses uses;
        for (const Stmt& stmt : nest_.epilogue) collect_uses(stmt.store()->value, uses);
        std::vector<NodeRef> far;
        const auto add = [&](const NodeRef& load) {
            if (is_far(load) && std::find(far.begin(), far.end(), load) == far.end()) far.push_back(load);
        };
        for (const NodeRef& load : uses.loads) add(load);
        if (!far.empty())
            for (const Stmt& stmt : nest_.epilogue) add(kernel_.load(stmt.store()->buffer, stmt.store()->index));
        Body body;
        for (const NodeRef& load : far) append(body, fetch(tile, load));
        return body;
    }

    bool is_far(const NodeRef& load) const {
        const Buffer& from = kernel_.buffers[load->as<ir::LoadArg>().buffer];
        const NodeRef& index = load->sources[0];
        const std::int64_t bytes = from.size * static_cast<std::int64_t>(size_of(from.dtype));
        return from.role != Buffer::Role::Local && plain_load(load) && bytes >= kFarBytes &&
               (from.role == Buffer::Role::Input || bytes <= large_output(target_)) &&
               depends_on_any(index, row_vars_) &&
               ir::stride_of(*kernel_.interner, index, id_of(column_vars_.back())) == 1;
    }

    Body fetch(const Tile& tile, const NodeRef& load) {
        const int to = nowhere(kernel_, load->dtype, tile_columns_);
        return tile_loops(tile, [&](const NodeRef& r, const NodeRef& at, const NodeRef&, int) {
            return at_element(Body{Store{to, at, load}}, simple(kernel_.add(tile.rows.start, r)),
                              simple(kernel_.add(tile.columns.start, at)));
        });
    }

    NodeRef row_value(const Tile& tile, const NodeRef& r) {
        if (tile.row_panel < 0)
            return substitute(kernel_, row_factor(), at_rows(simple(kernel_.add(tile.rows.start, r))));
        const NodeRef base = kernel_.add(kernel_.mul(tile.row_tile, kernel_.index(inner_length_ * tile_rows_)),
                                         kernel_.mul(inner_position(), kernel_.index(tile_rows_)));
        return kernel_.load(tile.row_panel, simple(kernel_.add(base, r)));
    }

    NodeRef vector_value(const Tile& tile, const NodeRef& at) {
        if (!pack_columns_)
            return substitute(kernel_, vector_factor(), at_columns(simple(kernel_.add(tile.columns.start, at))));
        NodeRef base;
        if (shift_.var) {
            const NodeRef start = kernel_.add(kernel_.binary(Op::Sub, tile.columns.start, tile.all_columns.start),
                                              kernel_.index(shift_.by < 0 ? shift_.more : 0));
            base = kernel_.add(kernel_.add(start, kernel_.mul(shift_.var, kernel_.index(shift_.by))),
                               kernel_.mul(position_in(packed_vars()), kernel_.index(shift_pitch())));
        } else {
            base = kernel_.add(kernel_.mul(tile.column_tile, kernel_.index(inner_length_ * tile_columns_)),
                               kernel_.mul(inner_position(), kernel_.index(tile_columns_)));
        }
        return kernel_.load(tile.panel, simple(kernel_.add(base, at)));
    }

    // ---- after the sum ------------------------------------------------------------------------------------------------------

    Body at_element(const Body& body, const NodeRef& row, const NodeRef& column) const {
        Substitution with = at_rows(row);
        for (auto& [id, value] : at_columns(column)) with.emplace_back(id, value);
        return substitute(kernel_, body, with);
    }

    Body epilogue(const NodeRef& row, const NodeRef& column, const NodeRef& total, int lane) {
        Body body = at_element(nest_.epilogue, row, column);
        for (Stmt& stmt : body) stmt.store()->value = with_total(stmt.store()->value, total);
        return lane_private(kernel_, body, lane);
    }

    NodeRef with_total(const NodeRef& value, const NodeRef& total) const {
        return ir::rebuild(std::span(&value, 1), [&](const ir::Node& node, const ir::Sources& sources) {
            if (node.op == Op::Load && node.as<ir::LoadArg>().buffer == nest_.total) return total;
            return sources == node.sources ? NodeRef(&node)
                                           : kernel_.interner->make(node.op, node.dtype, {}, sources, node.arg);
        })[0];
    }

    // Where the blocks of an element's sum meet: (buffer, index).
    std::pair<int, NodeRef> meeting_place(const Range& rows, const Range& columns, int sums, const NodeRef& row,
                                          const NodeRef& column) {
        if (sums_in_output_) {
            const Store& store = *nest_.epilogue.back().store();
            return {store.buffer,
                    at_element(Body{Store{store.buffer, store.index, store.value}}, row, column)[0].store()->index};
        }
        const NodeRef r = kernel_.binary(Op::Sub, row, rows.start), c = kernel_.binary(Op::Sub, column, columns.start);
        return {sums, simple(kernel_.add(kernel_.mul(r, kernel_.index(columns.size)), c))};
    }

    // total = (first block ? 0 : total) + acc
    Store add_block(const Tile& tile, const NodeRef& row, const NodeRef& column, const NodeRef& acc) {
        const auto [buffer, at] = meeting_place(tile.all_rows, tile.all_columns, tile.sums, row, column);
        if (nest_.outer.empty()) return Store{buffer, at, acc};
        Shape extents;
        for (const NodeRef& var : nest_.outer) extents.push_back(extent_of(var));
        const NodeRef block =
            ir::flatten_index(*kernel_.interner, extents, IndexList(nest_.outer.begin(), nest_.outer.end()));
        const NodeRef later = simple(kernel_.binary(Op::CmpLt, kernel_.index(0), block));
        return Store{buffer, at, kernel_.add(kernel_.load(buffer, at, later), acc)};
    }

    Body late_epilogue(const Range& columns, const Range& rows, int sums) {
        return epilogue_loops(columns, rows, [&](const NodeRef& row, const NodeRef& column) {
            const auto [buffer, at] = meeting_place(rows, columns, sums, row, column);
            return kernel_.load(buffer, at);
        });
    }

    Body looped_epilogue(const Range& columns, const Range& rows, int held, std::int64_t pitch) {
        return epilogue_loops(columns, rows, [&](const NodeRef& row, const NodeRef& column) {
            const NodeRef r = kernel_.binary(Op::Sub, row, rows.start),
                          c = kernel_.binary(Op::Sub, column, columns.start);
            return kernel_.load(held, simple(kernel_.add(kernel_.mul(r, kernel_.index(pitch)), c)));
        });
    }

    // for the rows, and the lanes of the columns: the epilogue with total(row, column)
    template <class F>
    Body epilogue_loops(const Range& columns, const Range& rows, F total) {
        const NodeRef r = kernel_.new_var(rows.size);
        const NodeRef row = simple(kernel_.add(rows.start, r));
        Body inner = pieces(columns, lanes_, [&](const Range& part, const NodeRef&) {
            const NodeRef l = kernel_.new_var(part.size), column = simple(kernel_.add(part.start, l));
            return Body{Loop{l, LoopKind::Vector, epilogue(row, column, total(row, column), id_of(l)), true, nullptr}};
        });
        return Body{serial(r, std::move(inner))};
    }

    void describe() {
        kernel_.schedule.push_back(str("tile ", tile_rows_, " x ", tile_columns_, " of ", rows_, " x ", columns_,
                                       ", sum by ", inner_length_,
                                       nest_.outer.empty() ? "" : str(" in ", product(nest_.outer), " blocks")));
        if (pack_columns_)
            kernel_.schedule.push_back(str("pack columns in panels of ", tile_columns_, ", strips of ", strip_width(),
                                           shift_.var ? str(", shifted by ", shift_.by) : ""));
        if (pack_rows_) kernel_.schedule.push_back(str("pack rows by ", tile_rows_));
        if (row_group_) kernel_.schedule.push_back(str("pack rows by ", tile_rows_, ", ", row_group_, " at a time"));
        if (late_) kernel_.schedule.push_back(sums_in_output_ ? "blocks meet in the output" : "blocks meet in scratch");
        if (looped_) kernel_.schedule.push_back("tiles pass through scratch");
        if (!parallel_.empty()) kernel_.schedule.push_back("parallel over " + parallel_);
    }

    Kernel& kernel_;
    const ContractionNest& nest_;
    Scratch& scratch_;
    const Target& target_;
    std::vector<NodeRef> row_vars_, column_vars_, outer_vars_;
    std::int64_t rows_ = 1, columns_ = 1, inner_length_ = 1;
    bool vector_is_left_ = false, pack_columns_ = true, pack_rows_ = false;
    Shift shift_;
    std::int64_t strip_width_ = 0;  // if it is not as long as fits
    std::int64_t row_group_ = 0;    // rows that are packed at a time, if not all are
    bool dense_ = true;             // the output's fastest axis has a stride of 1
    bool late_ = false;             // the epilogue runs after the tiles
    bool looped_ = false;           // it is a loop after each tile
    bool sums_in_output_ = false, plain_epilogue_ = false;
    int lanes_ = kMaxLanes, vectors_ = 1, tile_rows_ = 1, tile_columns_ = kMaxLanes;
    std::string parallel_;
};

// Phases in one body. The n-th chunks of all of them are one chunk: they store to the same lines, and read about the same inputs.
Body side_by_side(Kernel& kernel, std::vector<Body> phases) {
    if (phases.size() == 1) return std::move(phases[0]);
    std::int64_t chunks = 0;
    for (const Body& phase : phases)
        if (const Loop* loop = phase[0].loop(); loop && loop->kind == LoopKind::Parallel)
            chunks = std::max(chunks, loop->extent());
    const NodeRef chunk = chunks > 0 ? kernel.new_var(chunks) : nullptr;
    Body all;
    for (Body& phase : phases) {
        const Loop* loop = phase[0].loop();
        const bool shared = chunk && phase.size() == 1 && loop && loop->independent && loop->extent() <= chunks;
        const std::int64_t extent = shared ? loop->extent() : 1;
        Body body = shared ? substitute(kernel, loop->body, {{loop->id(), chunk}}) : std::move(phase);
        if (chunk && extent != chunks) {
            const NodeRef left = kernel.binary(Op::Sub, kernel.index(extent), chunk);
            body = Body{Loop{kernel.new_var(1), LoopKind::Serial, std::move(body), false, left}};
        }
        append(all, std::move(body));
    }
    return chunk ? Body{Loop{chunk, LoopKind::Parallel, std::move(all), true, nullptr}} : all;
}

}  // namespace

Kernel tile_contraction(Kernel kernel, const Target& target) {
    Kernel tiled = kernel;
    Scratch scratch;
    std::vector<Body> phases;
    bool any = false;
    for (const auto& nest : kernel.contractions) {
        std::optional<Body> body = Tiler(tiled, *nest, scratch, target).run();
        any |= body.has_value();
        phases.push_back(body ? std::move(*body) : plain_loops(tiled, *nest));
    }
    if (!any) return kernel;
    tiled.body = side_by_side(tiled, std::move(phases));
    return tiled;
}

}  // namespace weft::kernel
