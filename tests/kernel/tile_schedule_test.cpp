// tests/kernel/tile_schedule_test.cpp: what the tile pass decides, by the value that it hands to the loops.
#include "kernel/tile_schedule.h"
#include "kernel/graphs.h"
#include "kernel/lower.h"

#include <doctest/doctest.h>

#include <tuple>

using namespace weft;
using namespace weft::kernel;

namespace {

struct Chosen {
    Kernel kernel;  // owns the schedule's variables
    TileSchedule schedule;
};

Chosen chosen(const ir::KernelGraph& graph, CpuLevel level = CpuLevel::Avx512) {
    const Kernel kernel = lower(graph);
    const std::vector<ContractionNest> nests = contractions_of(kernel);
    REQUIRE(nests.size() == 1);
    const int vars = kernel.next_var;
    const std::size_t buffers = kernel.buffers.size();
    const auto schedule = choose_tile_schedule(kernel, nests[0], cpu_target(level));
    CHECK(kernel.next_var == vars);  // choosing changes nothing
    CHECK(kernel.buffers.size() == buffers);
    CHECK(schedule == choose_tile_schedule(kernel, nests[0], cpu_target(level)));
    REQUIRE(schedule);
    return {kernel, *schedule};
}

// The variables of the columns, of which there is one with this extent; and of the rows.
std::vector<NodeRef> column_of(const TileSchedule& schedule, std::int64_t extent) {
    REQUIRE(schedule.column_vars.size() == 1);
    CHECK(schedule.columns() == extent);
    return schedule.column_vars;
}
std::vector<NodeRef> row_of(const TileSchedule& schedule, std::int64_t extent) {
    REQUIRE(schedule.row_vars.size() == 1);
    CHECK(schedule.rows() == extent);
    return schedule.row_vars;
}

}  // namespace

TEST_CASE("a small product is tiled in place; the tile fits the registers of the level") {
    for (const auto& [level, rows, vectors, chunk] :
         {std::tuple{CpuLevel::Avx512, 8, 3, 16}, std::tuple{CpuLevel::Avx2, 6, 1, 18}}) {
        const auto [kernel, found] = chosen(test::product(61, 70, 83), level);
        CHECK(found == TileSchedule{.column_vars = column_of(found, 83),
                                    .row_vars = row_of(found, 61),
                                    .sum_block = 70,
                                    .lanes = 16,
                                    .vectors = vectors,
                                    .tile_rows = rows,
                                    .pack_columns = false,
                                    .strip_width = found.strip_width,  // of columns in place: nobody asks
                                    .pack_streams = 8,
                                    .parallel = TileSchedule::Parallel::Chunks,
                                    .parallel_size = chunk});
    }
}

TEST_CASE("a long sum is blocked, its columns are packed, and its blocks meet in the output") {
    const auto [kernel, schedule] = chosen(test::product(100, 2000, 200));
    CHECK(schedule == TileSchedule{.column_vars = column_of(schedule, 200),
                                   .row_vars = row_of(schedule, 100),
                                   .sum_block = 500,
                                   .sum_blocks = 4,
                                   .lanes = 16,
                                   .vectors = 3,
                                   .tile_rows = 8,
                                   .strip_width = 288,
                                   .pack_streams = 8,
                                   .epilogue = TileSchedule::Epilogue::None,
                                   .sums_in_output = true,
                                   .parallel = TileSchedule::Parallel::Strips,
                                   .parallel_size = 48});
    Kernel tiled = kernel;
    tiled.schedule = {schedule, Vectorize{1, 8}, Vectorize{2, 16}, Peel{3, {1, 9}}};
    CHECK(describe(tiled) == std::vector<std::string>{"tile 8 x 48 of 100 x 200, sum by 500 in 4 blocks",
                                                      "pack columns in panels of 48, strips of 288",
                                                      "blocks meet in the output", "parallel over strips of 48 columns",
                                                      "vector by 16", "peel the borders of 1 loops"});
}

TEST_CASE("an operand that is contiguous in k is packed through transposed blocks") {
    const auto [kernel, schedule] = chosen(test::product(300, 300, 300, true));
    CHECK(schedule.transpose_columns);
    CHECK(schedule.transpose_edge == 16);
    CHECK(chosen(test::product(300, 300, 300, true), CpuLevel::Avx2).schedule.transpose_edge == 8);
    CHECK_FALSE(chosen(test::product(300, 300, 300)).schedule.transpose_columns);
}

TEST_CASE("schedules differ where a decision differs") {
    const auto [kernel, schedule] = chosen(test::product(5000, 40, 20));
    CHECK(schedule.tile_rows == 12);
    CHECK(schedule.parallel == TileSchedule::Parallel::Chunks);
    CHECK(schedule.parallel_size == 648);
    TileSchedule other = schedule;
    other.parallel_size = 324;
    CHECK(other != schedule);
    CHECK(to_string(other) != to_string(schedule));
}
