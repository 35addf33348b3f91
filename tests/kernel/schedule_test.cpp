// Decisions in words: what explain() prints of them has their values.
#include "kernel/schedule.h"
#include "kernel/kernel.h"

#include <doctest/doctest.h>

#include <string>
#include <vector>

using namespace weft;
using namespace weft::kernel;

TEST_CASE("unroll-and-jam and segmented loads say of how many") {
    Kernel kernel;
    kernel.schedule = {SegmentLoad{.row = 26, .pieces = 2}, JamRows{.loop = 0, .rows = 4},
                       JamVectors{.loop = 1, .vectors = 2}, JamVectors{.loop = 2, .vectors = 1}};
    CHECK(describe(kernel) == std::vector<std::string>{"segmented loads, 2 segments of rows of 26",
                                                       "unroll-and-jam of 4 rows", "unroll-and-jam of 2 vectors",
                                                       "unroll-and-jam of the halves of a vector"});
}
