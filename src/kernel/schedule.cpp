// kernel/schedule.cpp: decisions in words, for explain().
#include "kernel/schedule.h"

#include "core/str.h"
#include "kernel/kernel.h"
#include "kernel/nest.h"

#include <algorithm>

namespace weft::kernel {
namespace {

using Epilogue = TileSchedule::Epilogue;
using Parallel = TileSchedule::Parallel;

std::string names_of(const std::vector<NodeRef>& vars) {
    std::string names;
    for (const NodeRef& var : vars) names += str(names.empty() ? "" : " ", "i", id_of(var), "<", extent_of(var));
    return "[" + names + "]";
}

std::string words_for_parallel(const TileSchedule& s) {
    switch (s.parallel) {
        case Parallel::None: break;
        case Parallel::Batches: return str("batches of ", extent_of(s.parallel_var));
        case Parallel::Strips: return str("strips of ", s.parallel_size, " columns");
        case Parallel::Chunks: return str("chunks of ", s.parallel_size, " rows");
    }
    return "nothing";
}

std::string_view words_for(Epilogue epilogue) {
    switch (epilogue) {
        case Epilogue::Registers: return "in registers";
        case Epilogue::TileLoop: return "a loop after each tile";
        case Epilogue::StripLoop: return "a loop after each strip";
        case Epilogue::None: break;
    }
    return "none";
}

// One sentence for all decisions of a kind, where they are many and alike.
struct Describe {
    const Kernel& kernel;

    template <class Kind, class Number>
    std::int64_t sum(Number number) const {
        std::int64_t total = 0;
        for (const Decision& decision : kernel.schedule)
            if (const Kind* one = std::get_if<Kind>(&decision)) total += number(*one);
        return total;
    }
    int widest() const {
        int lanes = 0;
        for (const Decision& decision : kernel.schedule)
            if (const Vectorize* one = std::get_if<Vectorize>(&decision)) lanes = std::max(lanes, one->lanes);
        return lanes;
    }

    std::vector<std::string> operator()(const TileSchedule& tile) const;
    std::string operator()(const SplitPhases& split) const {
        return str("split into the ", split.phases, " phases of a stride");
    }
    std::string operator()(const Unflatten& rows) const { return str("rows of ", rows.row); }
    std::string operator()(const ColumnStrips& strips) const {
        return str("columns in strips of ", strips.width, " of ", extent_of(strips.column), ", ", strips.steps,
                   " steps at a time");
    }
    std::string operator()(const TransposeBlocks& blocks) const {
        return str("transpose blocks of ", blocks.edge, " x ", blocks.edge);
    }
    std::string operator()(const Peel&) const {
        return str("peel the borders of ", sum<Peel>([](const Peel&) { return 1; }), " loops");
    }
    std::string operator()(const Chunks& chunks) const { return str("parallel by ", chunks.length, " of ", chunks.of); }
    std::string operator()(const GridSchedule& grid) const {
        const std::int64_t all = product(grid.loops);
        if (grid.by_rows)
            return str(grid.threads, " threads for each of ", all, " rows",
                       grid.groups > 1 ? str(", ", grid.groups, " in a block") : "",
                       grid.unrolled ? ", in registers" : "",
                       grid.sums > 1 ? str(", ", grid.sums, " blocks of sums at a time") : "");
        if (!grid.transposed.empty())
            return str("threads for ", all, ", transposed in shared memory by blocks of ", grid.threads);
        if (grid.by_columns)
            return str(grid.sums, " threads for each of ", all, " columns, ", grid.threads, " in a block");
        return str("threads for ", all, ", in blocks of ", grid.threads,
                   grid.each > 1 ? str(", each for ", grid.each) : "");
    }
    std::string operator()(const BlockTile& tile) const {
        if (tile.tensor)
            return str("tile ", tile.rows, " x ", tile.columns, " of a block, by tensor cores, sum by ", tile.depth,
                       " in shared memory, ", tile.slices, " slices", tile.boxes ? ", copied as boxes" : "");
        return str("tile ", tile.rows, " x ", tile.columns, " of a block, ", tile.thread_rows, " x ",
                   tile.thread_columns, " of a thread, sum by ", tile.depth, " in shared memory, ", tile.slices,
                   " slices");
    }
    std::string operator()(const Distribute&) const {
        const auto stores = [](const Distribute& one) { return static_cast<std::int64_t>(one.stores); };
        return str("distribute ", sum<Distribute>(stores), " stores over loops of their own");
    }
    std::string operator()(const Vectorize&) const { return str("vector by ", widest()); }
    std::string operator()(const SegmentLoad& load) const {
        return str("segmented loads, ", load.pieces, " segments of rows of ", load.row);
    }
    std::string operator()(const JamRows& jam) const { return str("unroll-and-jam of ", jam.rows, " rows"); }
    std::string operator()(const JamVectors& jam) const {
        return jam.vectors > 1 ? str("unroll-and-jam of ", jam.vectors, " vectors")
                               : "unroll-and-jam of the halves of a vector";  // AVX2's registers hold a half
    }
    std::string operator()(const PrefetchRow&) const { return "next row prefetched"; }
    std::string operator()(const Stream& stream) const {
        return str("stream ", kernel.buffers[static_cast<std::size_t>(stream.buffer)].name);
    }
    std::string operator()(const Poll&) const { return "asks between iterations whether to go on"; }
};

std::vector<std::string> Describe::operator()(const TileSchedule& s) const {
    std::vector<std::string> lines;
    lines.push_back(str("tile ", s.tile_rows, " x ", s.tile_columns(), " of ", s.rows(), " x ", s.columns(),
                        ", sum by ", s.sum_block, s.sum_blocks > 1 ? str(" in ", s.sum_blocks, " blocks") : ""));
    if (s.pack_columns)
        lines.push_back(str("pack columns in panels of ", s.tile_columns(), ", strips of ", s.strip_width,
                            s.shift.var ? str(", shifted by ", s.shift.by) : ""));
    if (s.pack_rows) lines.push_back(str("pack rows by ", s.tile_rows));
    if (s.row_group) lines.push_back(str("pack rows by ", s.tile_rows, ", ", s.row_group, " at a time"));
    if (s.epilogue == Epilogue::StripLoop || s.epilogue == Epilogue::None)
        lines.emplace_back(s.sums_in_output ? "blocks meet in the output" : "blocks meet in scratch");
    if (s.epilogue == Epilogue::TileLoop) lines.emplace_back("tiles pass through scratch");
    if (s.parallel != Parallel::None) lines.push_back("parallel over " + words_for_parallel(s));
    return lines;
}

}  // namespace

std::vector<std::string> describe(const Kernel& kernel) {
    std::vector<std::string> lines;
    const auto add = [&](std::string line) {
        if (std::ranges::find(lines, line) == lines.end()) lines.push_back(std::move(line));
    };
    const Describe words{kernel};
    for (const Decision& decision : kernel.schedule)
        if (const TileSchedule* tile = std::get_if<TileSchedule>(&decision)) std::ranges::for_each(words(*tile), add);
        else
            std::visit(
                [&](const auto& one) {
                    if constexpr (!std::is_same_v<std::decay_t<decltype(one)>, TileSchedule>) add(words(one));
                },
                decision);
    return lines;
}

std::int64_t TileSchedule::rows() const { return product(row_vars); }
std::int64_t TileSchedule::columns() const { return product(column_vars); }
std::int64_t TileSchedule::packed_steps() const { return shift.var ? sum_block / extent_of(shift.var) : sum_block; }

std::string to_string(const TileSchedule& s) {
    std::string text = str("columns ", names_of(s.column_vars), " of the ", s.vector_is_left ? "left" : "right",
                           ", rows ", names_of(s.row_vars), ", outer ", names_of(s.outer_vars), "; sum ", s.sum_blocks,
                           " x ", s.sum_block, "; tile ", s.tile_rows, " x ", s.vectors, " x ", s.lanes, "; columns ");
    if (!s.pack_columns) text += "in place";
    else text += str("packed", s.transpose_columns ? ", transposed" : "", ", strips of ", s.strip_width);
    if (s.shift.var) text += str(", i", id_of(s.shift.var), " shifts by ", s.shift.by, ", ", s.shift.more, " more");
    text += "; rows ";
    if (s.pack_rows) text += "packed";
    else text += s.row_group ? str("packed ", s.row_group, " at a time") : "in place";
    if (s.transpose_rows) text += ", transposed";
    if (s.transpose_edge) text += str(", blocks of ", s.transpose_edge);
    if (s.pack_rows || s.pack_columns) text += str(", ", s.pack_streams, " streams");
    text += str("; epilogue ", words_for(s.epilogue), s.sums_in_output ? ", sums meet in the output" : "",
                s.prefetched.empty() ? "" : str(", ", s.prefetched.size(), " prefetched"), "; parallel ",
                words_for_parallel(s));
    return text;
}

}  // namespace weft::kernel
