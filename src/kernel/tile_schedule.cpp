// kernel/tile_schedule.cpp: decides how a contraction is tiled. Every function here reads the nest and the machine; none changes the kernel.
#include "kernel/tile_schedule.h"

#include "kernel/block_transpose.h"
#include "kernel/passes.h"
#include "kernel/tile_nest.h"

#include "core/checked.h"
#include "core/str.h"
#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <cstdlib>

namespace weft::kernel {
namespace {

using ir::Op;
using Epilogue = TileSchedule::Epilogue;
using Parallel = TileSchedule::Parallel;
using Shift = TileSchedule::Shift;
using Side = LoopRole;  // Batch, M or N

constexpr std::int64_t kPanelBytes = 600 << 10;      // of the packed strip: about half of a core's L2
constexpr std::int64_t kSumsBytes = 128 << 10;       // of sums beside it
constexpr std::int64_t kDirectOperand = 1 << 17;     // elements of the vector operand up to which packing does not pay
constexpr std::int64_t kDirectRows = 4096;           // rows of the other one up to which it is read across, unpacked
constexpr std::int64_t kRowsBytes = 128 << 10;       // of its rows that are packed for kTilesAcross tiles or more
constexpr std::int64_t kSmallContraction = 1 << 15;  // multiply-adds below which threads do not pay
constexpr std::int64_t kChunkWork = 1 << 19;         // multiply-adds of a small chunk: some microseconds
constexpr std::int64_t kBatches = 4;                 // at least, to be shared out
constexpr std::int64_t kStreams = 8;  // steps of the sum packed together: what a processor prefetches well
constexpr std::int64_t kPage = 4096;
constexpr std::int64_t kFarBytes = 128 << 10;  // of what the epilogue reads and writes: it may not be in a near cache
constexpr std::size_t kMostEpilogue = 24;      // expression nodes computed from the sums in registers

struct Problem {
    const Kernel& kernel;
    const ContractionNest& nest;
    const Target& target;

    std::optional<std::int64_t> stride(const NodeRef& index, const NodeRef& var) const {
        return ir::stride_of(*kernel.interner, index, id_of(var));
    }
    std::int64_t accumulator_bytes() const { return static_cast<std::int64_t>(size_of(nest.accumulate)); }
};

// ---- sides -----------------------------------------------------------------------------------------------------------

std::optional<std::int64_t> output_stride(const Problem& p, const NodeRef& var) {
    const Store* last = nullptr;
    for (const Stmt& stmt : p.nest.epilogue)
        if (p.kernel.buffers[stmt.store()->buffer].role == Buffer::Role::Output) last = stmt.store();
    return p.stride(last->index, var);
}

// The axes of this one's side that lie densely around it in the output, outermost first.
std::vector<NodeRef> dense_columns(const Problem& p, int fastest) {
    const std::vector<NodeRef>& axes = p.nest.rows;
    std::int64_t dense = *output_stride(p, axes[fastest]) * extent_of(axes[fastest]);
    std::vector<NodeRef> columns{axes[fastest]};
    for (int i = static_cast<int>(axes.size()) - 1; i >= 0; --i)
        if (i != fastest && p.nest.sides[i] == p.nest.sides[fastest] && output_stride(p, axes[i]) == dense) {
            columns.insert(columns.begin(), axes[i]);
            dense *= extent_of(axes[i]);
            i = static_cast<int>(axes.size());  // again, from the fastest: order in memory decides, not in the loops
        }
    return columns;
}

// The axes of this one's side, from it on in the output's order up to the first axis of another side; outermost first.
std::vector<NodeRef> neighbours(const Problem& p, int fastest) {
    std::vector<std::pair<std::int64_t, std::size_t>> by_stride;
    for (std::size_t i = 0; i < p.nest.rows.size(); ++i)
        by_stride.emplace_back(output_stride(p, p.nest.rows[i]).value_or(INT64_MAX), i);
    std::sort(by_stride.begin(), by_stride.end());
    std::vector<NodeRef> columns;
    for (const auto& [stride, i] : by_stride) {
        if (p.nest.sides[i] != p.nest.sides[fastest] || stride == INT64_MAX) break;
        columns.insert(columns.begin(), p.nest.rows[i]);
    }
    return columns;
}

// The axis of the other side along which its operand runs in memory, or -1.
int fastest_of_other_side(const Problem& p, Side side) {
    Uses uses;
    collect_uses(side == Side::M ? p.nest.right : p.nest.left, uses);
    for (std::size_t i = 0; i < p.nest.rows.size(); ++i) {
        const NodeRef& axis = p.nest.rows[i];
        if (p.nest.sides[i] == Side::Batch || p.nest.sides[i] == side || !output_stride(p, axis)) continue;
        const bool along = std::all_of(uses.loads.begin(), uses.loads.end(),
                                       [&](const NodeRef& load) { return p.stride(load->sources[0], axis) == 1; });
        if (along && !uses.loads.empty()) return static_cast<int>(i);
    }
    return -1;
}

struct Sides {
    bool vector_is_left = false;
    std::vector<NodeRef> column_vars, row_vars, outer_vars;
    bool dense = true;  // the output's fastest axis has a stride of 1
};

// The vector side is the one with the output's fastest axis; its axes that lie densely in each other are one range of columns. Where
// they are fewer than lanes (the taps of a window), the other side's are better, although its stores then jump. A phase of a stride
// has no dense axes, its stores jump anyway: there all neighbouring axes of the side are columns.
std::optional<Sides> choose_sides(const Problem& p, int lanes) {
    const std::vector<NodeRef>& axes = p.nest.rows;
    int fastest = -1;
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto stride = output_stride(p, axes[i]);
        if (stride && (fastest < 0 || *stride < *output_stride(p, axes[fastest]))) fastest = static_cast<int>(i);
    }
    if (fastest < 0 || p.nest.sides[fastest] == Side::Batch) return std::nullopt;
    Sides sides;
    sides.dense = output_stride(p, axes[fastest]) == 1;
    sides.column_vars = sides.dense ? dense_columns(p, fastest) : neighbours(p, fastest);
    if (const int other = fastest_of_other_side(p, p.nest.sides[fastest]);
        product(sides.column_vars) < lanes && other >= 0 && p.nest.outer.empty()) {
        std::vector<NodeRef> more = dense_columns(p, other);
        if (product(more) >= 2 * lanes) sides.column_vars = std::move(more), fastest = other;
    }
    const Side vector_side = p.nest.sides[fastest];
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const auto& columns = sides.column_vars;
        if (std::find(columns.begin(), columns.end(), axes[i]) != columns.end()) continue;
        const bool is_row = p.nest.sides[i] != Side::Batch && p.nest.sides[i] != vector_side;
        (is_row ? sides.row_vars : sides.outer_vars).push_back(axes[i]);
    }
    sides.vector_is_left = vector_side == Side::M;
    if (product(sides.column_vars) < 2 || product(sides.row_vars) < 2) return std::nullopt;
    return sides;
}

// ---- the register tile -----------------------------------------------------------------------------------------------

// Rows of a whole number of pages fall into the same few sets of the first cache, which has room for eight.
bool rows_collide(const Problem& p, const TileSchedule& s) {
    const NodeRef& r = row_factor(p.nest, s);
    if (!is_plain_load(r) || s.row_vars.empty()) return false;
    const auto step = p.stride(r->sources[0], s.row_vars.back());
    return step && *step != 0 && *step * static_cast<std::int64_t>(size_of(r->dtype)) % kPage == 0;
}

struct RegisterTile {
    int rows, vectors;
};

// Accumulator registers: rows by vectors per row, best first for many columns; measured, see docs/architecture.md.
RegisterTile choose_tile(const Problem& p, const TileSchedule& s) {
    if (p.target.level == CpuLevel::Avx2) return {6, 1};      // 16 lanes are two registers, of 16
    if (p.target.level == CpuLevel::Baseline) return {2, 1};  // … and four here
    const std::int64_t vectors = ceil_div(s.columns(), std::int64_t{s.lanes});
    if (vectors <= 2 && rows_collide(p, s)) return {6, static_cast<int>(vectors)};
    if (vectors == 1) return {14, 1};
    if (vectors == 2) return {12, 2};
    if (vectors == 3) return {8, 3};
    // Strips for all threads, of which each packs its own columns once.
    if (s.pack_columns && (vectors == 7 || vectors == 8) && product(s.outer_vars) < kBatches) return {12, 2};
    const auto waste = [&](int v) { return ceil_div(vectors, v) * v - vectors; };
    return waste(4) < waste(3) ? RegisterTile{6, 4} : RegisterTile{8, 3};
}

// ---- packing ---------------------------------------------------------------------------------------------------------

// A broadcast operand that is contiguous in k needs no packing: each cache line serves 16 steps.
bool reads_across(const Problem& p, const TileSchedule& s) {
    const NodeRef& r = row_factor(p.nest, s);
    return is_plain_load(r) && std::abs(p.stride(r->sources[0], p.nest.inner.back()).value_or(0)) != 1;
}

bool packs_columns(const Problem& p, const TileSchedule& s) {
    const NodeRef& v = vector_factor(p.nest, s);
    const bool unit = is_plain_load(v) && s.column_vars.size() == 1 && p.stride(v->sources[0], s.column_vars[0]) == 1;
    return !unit || s.columns() * s.sum_block * s.sum_blocks > kDirectOperand;
}

// Is memory contiguous in k, and for longer than along the columns (or rows)? Then it is read that way.
bool is_contiguous_in_k(const Problem& p, const NodeRef& operand, const std::vector<NodeRef>& positions) {
    Uses uses;
    collect_uses(operand, uses);
    const auto run = [&](const NodeRef& var) {
        bool any = false;
        for (const NodeRef& load : uses.loads) {
            const auto step = p.stride(load->sources[0], var);
            if (!step || (*step != 0 && *step != 1)) return std::int64_t{0};
            any |= *step == 1;
        }
        return any ? extent_of(var) : 0;
    };
    const std::int64_t along = run(p.nest.inner.back());
    return along >= kMaxLanes / 2 && along > run(positions.back());
}

// As many columns as fit.
std::int64_t longest_strip(const Problem& p, const TileSchedule& s) {
    const std::int64_t room = kPanelBytes / (s.packed_steps() * p.accumulator_bytes()) - s.shift.more;
    return std::max<std::int64_t>(1, room / s.tile_columns()) * s.tile_columns();
}

// An operand that is transposed while it is packed (a convolution's input, for the gradient of its weights) is read for 16 columns
// at a time. Where they are taps of a window, each has a gate of its own; if they are channels of one tap, one gate serves
// all. So an axis that no gate depends on becomes the innermost one. Stores jump then, once for the whole sum, and blocks of the
// sum meet in scratch, which must leave room for the panel. True: it is done, and the output is no longer dense.
bool move_gates_outside(const Problem& p, TileSchedule& s) {
    const NodeRef& operand = vector_factor(p.nest, s);
    std::vector<NodeRef>& columns = s.column_vars;
    if (!s.pack_columns || columns.size() < 2 || !is_contiguous_in_k(p, operand, columns)) return false;
    if (s.rows() * std::min(s.columns(), longest_strip(p, s)) * p.accumulator_bytes() > kSumsBytes) return false;
    const auto free = std::find_if(columns.begin(), columns.end(), [&](const NodeRef& var) {
        return !is_gated_by(operand, var) && extent_of(var) % s.lanes == 0;
    });
    if (!is_gated_by(operand, columns.back()) || free == columns.end()) return false;
    std::rotate(free, free + 1, columns.end());
    return true;
}

// Is the operand at column q - by * v the same for all steps v?
bool only_moves(const Problem& p, const TileSchedule& s, const Shift& shift) {
    const Kernel& kernel = p.kernel;
    const ir::LoopArg unused{kernel.next_var,
                             s.columns() + shift.more};  // q occurs in no loop: its id may be taken again
    const NodeRef q = kernel.make(Op::LoopVar, DType::I64, {}, unused),
                  first = kernel.index(shift.by < 0 ? -shift.more : 0);
    const NodeRef moved = kernel.mul(shift.var, kernel.index(shift.by));
    const NodeRef column = ir::simplify_index(*kernel.interner, kernel.binary(Op::Sub, kernel.add(q, first), moved));
    const Substitution with = unflattened(kernel, s.column_vars, column);
    return !ir::depends_on(substitute(kernel, vector_factor(p.nest, s), with), id_of(shift.var));
}

Shift choose_shift(const Problem& p, const TileSchedule& s) {
    Uses uses;
    collect_uses(vector_factor(p.nest, s), uses);
    if (!s.pack_columns || s.transpose_columns || uses.loads.empty()) return {};
    const NodeRef& index = uses.loads[0]->sources[0];
    const std::int64_t width = std::min(s.columns(), longest_strip(p, s));
    Shift best;
    std::int64_t fewest = width * 3 / 5;  // packed columns per step: more are not worth it
    for (const NodeRef& var : p.nest.inner) {
        const auto along = p.stride(index, var);
        if (!along || extent_of(var) == 1 || (p.nest.inner_count && var == p.nest.inner.front())) continue;
        std::int64_t unit = s.columns();
        for (const NodeRef& column : s.column_vars) {
            unit /= extent_of(column);
            const auto step = p.stride(index, column);
            if (!step || *step == 0 || *along % *step != 0) continue;
            Shift shift{var, *along / *step * unit, 0};
            shift.more = std::abs(shift.by) * (extent_of(var) - 1);
            if (std::abs(shift.by) > s.columns() || !only_moves(p, s, shift)) continue;
            if (const std::int64_t packed = (width + shift.more) / extent_of(var); packed < fewest)
                best = shift, fewest = packed;
        }
    }
    return best;
}

std::int64_t choose_strip_width(const Problem& p, const TileSchedule& s) {
    const std::int64_t longest = longest_strip(p, s);
    if (!s.shift.var) return longest;
    const std::int64_t panels = ceil_div(s.columns(), s.tile_columns());  // strips of about the same length
    return ceil_div(panels, ceil_div(s.columns(), longest)) * s.tile_columns();
}

// Rows that are read across, by many tiles: as many at a time as stay near.
std::int64_t choose_row_group(const Problem& p, const TileSchedule& s) {
    std::int64_t widest = s.columns(), highest = s.rows();
    if (s.parallel == Parallel::Strips) widest = std::min(widest, s.parallel_size);
    if (s.parallel == Parallel::Chunks) highest = std::min(highest, s.parallel_size);
    if (s.pack_columns) widest = std::min(widest, s.strip_width);
    if (s.pack_rows || !reads_across(p, s) || widest < kTilesAcross * s.tile_columns()) return 0;
    const std::int64_t room = kRowsBytes / (s.sum_block * s.tile_rows * p.accumulator_bytes());
    return std::clamp<std::int64_t>(room, 1, ceil_div(highest, s.tile_rows)) * s.tile_rows;
}

// ---- after the sum ---------------------------------------------------------------------------------------------------

std::size_t epilogue_nodes(const ContractionNest& nest) {
    std::vector<NodeRef> values;
    for (const Stmt& stmt : nest.epilogue) values.push_back(stmt.store()->value);
    return ir::topological_order(values).size();
}

bool is_loaded(const ContractionNest& nest, int buffer) {
    Uses uses;
    collect_uses(nest.left, uses);
    collect_uses(nest.right, uses);
    for (const Stmt& stmt : nest.epilogue) collect_uses(stmt.store()->value, uses);
    return std::any_of(uses.loads.begin(), uses.loads.end(),
                       [&](const NodeRef& load) { return load->as<ir::LoadArg>().buffer == buffer; });
}

// Blocks of the sum meet in memory: in the output itself, if that is plain (not donated, of the right type), else in scratch.
bool meets_in_output(const Problem& p, bool dense) {
    if (p.nest.outer.empty()) return false;
    const Store& store = *p.nest.epilogue.back().store();
    const Buffer& out = p.kernel.buffers[store.buffer];
    return out.role == Buffer::Role::Output && out.dtype == p.nest.accumulate && dense &&
           !is_loaded(p.nest, store.buffer);
}

// Where stores jump, whole tiles meet in scratch, as blocks of the sum do: the epilogue is then written once, and not for each register of
// each tile. Where much is computed after the sum, each tile goes through scratch for the same reason: it would be more code than the
// processor keeps.
Epilogue choose_epilogue(const Problem& p, bool dense, bool sums_in_output) {
    if (p.nest.outer.empty() && dense)
        return epilogue_nodes(p.nest) > kMostEpilogue ? Epilogue::TileLoop : Epilogue::Registers;
    const NodeRef total = p.kernel.load(p.nest.total, p.kernel.index(0));
    const bool plain = p.nest.epilogue.size() == 1 && p.nest.epilogue.back().store()->value == total;
    return sums_in_output && plain ? Epilogue::None : Epilogue::StripLoop;
}

bool is_far(const Problem& p, const TileSchedule& s, const NodeRef& load) {
    const Buffer& from = p.kernel.buffers[load->as<ir::LoadArg>().buffer];
    const NodeRef& index = load->sources[0];
    const std::int64_t bytes = from.size * static_cast<std::int64_t>(size_of(from.dtype));
    return from.role != Buffer::Role::Local && is_plain_load(load) && bytes >= kFarBytes &&
           (from.role == Buffer::Role::Input || bytes <= large_output(p.target)) && depends_on_any(index, s.row_vars) &&
           p.stride(index, s.column_vars.back()) == 1;
}

// What the epilogue reads beside the sums, and where it stores (the weights and moments that an update changes), is asked for
// before the sums, and has arrived after them.
std::vector<NodeRef> choose_prefetched(const Problem& p, const TileSchedule& s) {
    if (s.epilogue != Epilogue::Registers && s.epilogue != Epilogue::TileLoop) return {};
    Uses uses;
    for (const Stmt& stmt : p.nest.epilogue) collect_uses(stmt.store()->value, uses);
    std::vector<NodeRef> far;
    const auto add = [&](const NodeRef& load) {
        if (is_far(p, s, load) && std::find(far.begin(), far.end(), load) == far.end()) far.push_back(load);
    };
    for (const NodeRef& load : uses.loads) add(load);
    if (!far.empty())
        for (const Stmt& stmt : p.nest.epilogue) add(p.kernel.load(stmt.store()->buffer, stmt.store()->index));
    return far;
}

// ---- threads ---------------------------------------------------------------------------------------------------------

// So many panels to a strip, or up to a third fewer, that up to four threads have the least to do.
std::int64_t evenly(std::int64_t panels, std::int64_t most) {
    std::int64_t best = most;
    const auto load = [&](std::int64_t each) { return ceil_div(ceil_div(panels, each), std::int64_t{4}) * each; };
    for (std::int64_t each = most; each >= most - most / 3; --each)
        if (load(each) < load(best)) best = each;
    return best;
}

void choose_parallel(TileSchedule& s) {
    const std::int64_t work = s.columns() * s.rows() * s.sum_block * s.sum_blocks * product(s.outer_vars);
    if (work < kSmallContraction) return;
    if (!s.outer_vars.empty() && product(s.outer_vars) >= kBatches) {  // the outermost one with most to share out
        s.parallel = Parallel::Batches;
        s.parallel_var =
            *std::max_element(s.outer_vars.begin(), s.outer_vars.end(),
                              [](const NodeRef& a, const NodeRef& b) { return extent_of(a) < extent_of(b); });
        return;
    }
    const std::int64_t panels = ceil_div(s.columns(), s.tile_columns());
    if (panels >= 8 || (s.pack_columns && panels >= 4)) {  // few of them: one each, so that they share out evenly
        const std::int64_t most = panels < 8 ? 1 : s.pack_rows ? ceil_div(panels, std::int64_t{4}) : panels / 8;
        s.parallel = Parallel::Strips;
        s.parallel_size = std::min(s.strip_width, evenly(panels, most) * s.tile_columns());
        return;
    }
    if (s.rows() < 4 * s.tile_rows) return;
    // Packing is done anew in each chunk; without it, chunks may be small and share the work out evenly.
    const std::int64_t tiles = ceil_div(s.rows(), s.tile_rows), tile_work = work / tiles, quarter = ceil_div(tiles, 4);
    s.parallel = Parallel::Chunks;
    s.parallel_size =
        (s.pack_columns ? quarter : std::clamp(kChunkWork / tile_work, std::int64_t{1}, quarter)) * s.tile_rows;
}

}  // namespace

std::optional<TileSchedule> choose_tile_schedule(const Kernel& kernel, const ContractionNest& nest,
                                                 const Target& target) {
    const Problem p{kernel, nest, target};
    if (nest.inner.empty()) return std::nullopt;
    TileSchedule s;
    s.lanes = nest.accumulate == DType::F64 ? kMaxLanes / 2 : kMaxLanes;
    std::optional<Sides> sides = choose_sides(p, s.lanes);
    if (!sides) return std::nullopt;
    s.vector_is_left = sides->vector_is_left;
    s.column_vars = std::move(sides->column_vars);
    s.row_vars = std::move(sides->row_vars);
    s.outer_vars = std::move(sides->outer_vars);
    s.sum_block = product(nest.inner);
    s.sum_blocks = product(nest.outer);

    s.pack_columns = packs_columns(p, s);
    s.pack_rows = !is_plain_load(row_factor(nest, s)) || (reads_across(p, s) && s.rows() > kDirectRows);
    const RegisterTile tile = choose_tile(p, s);
    s.vectors = tile.vectors;
    s.tile_rows = static_cast<int>(std::min<std::int64_t>(tile.rows, s.rows()));

    const bool dense = sides->dense && !move_gates_outside(p, s);
    s.transpose_columns = s.pack_columns && is_contiguous_in_k(p, vector_factor(nest, s), s.column_vars);
    s.shift = choose_shift(p, s);
    s.strip_width = choose_strip_width(p, s);
    s.pack_streams = kStreams;
    s.sums_in_output = meets_in_output(p, dense);
    s.epilogue = choose_epilogue(p, dense, s.sums_in_output);
    s.prefetched = choose_prefetched(p, s);
    choose_parallel(s);
    s.row_group = choose_row_group(p, s);
    s.transpose_rows = (s.pack_rows || s.row_group) && is_contiguous_in_k(p, row_factor(nest, s), s.row_vars);
    if (s.transpose_columns || s.transpose_rows) s.transpose_edge = block_edge(target, size_of(nest.accumulate));
    return s;
}

}  // namespace weft::kernel
