// tests/kernel/tile_schedule_test.cpp: what the tile pass decides, by the value that it hands to the loops.
#include "kernel/tile_schedule.h"
#include "kernel/graphs.h"
#include "kernel/lower.h"

#include <doctest/doctest.h>

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

}  // namespace

TEST_CASE("a small product is tiled in place; the tile fits the registers of the level") {
    CHECK(to_string(chosen(test::product(61, 70, 83)).schedule) ==
          "columns [i4<83] of the right, rows [i3<61], outer []; sum 1 x 70; tile 8 x 3 x 16; columns in place; rows "
          "in place; "
          "epilogue in registers; parallel chunks of 16 rows");
    CHECK(to_string(chosen(test::product(61, 70, 83), CpuLevel::Avx2).schedule) ==
          "columns [i4<83] of the right, rows [i3<61], outer []; sum 1 x 70; tile 6 x 1 x 16; columns in place; rows "
          "in place; "
          "epilogue in registers; parallel chunks of 18 rows");
}

TEST_CASE("a long sum is blocked, its columns are packed, and its blocks meet in the output") {
    const auto [kernel, schedule] = chosen(test::product(100, 2000, 200));
    CHECK(to_string(schedule) ==
          "columns [i6<200] of the right, rows [i5<100], outer []; sum 4 x 500; tile 8 x 3 x 16; columns packed, "
          "strips of 288; "
          "rows in place; epilogue none, sums meet in the output; parallel strips of 48 columns");
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
