// kernel/tile_describe.cpp: a TileSchedule in words, for explain() and tests.
#include "kernel/tile_schedule.h"

#include "core/str.h"

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

}  // namespace

std::vector<std::string> describe(const TileSchedule& s) {
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
    text += str("; epilogue ", words_for(s.epilogue), s.sums_in_output ? ", sums meet in the output" : "",
                s.prefetched.empty() ? "" : str(", ", s.prefetched.size(), " prefetched"), "; parallel ",
                words_for_parallel(s));
    return text;
}

}  // namespace weft::kernel
