// Where threads that share a row have its values: decided as a value, before there are loops (kernel/row_schedule.h).
#include "support/decisions.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

#include <algorithm>

using namespace weft;

TEST_CASE("a softmax on a GPU has its row in registers, and its sums meet in shared memory") {
    const DeviceScope scope("simulated");
    const Tensor x = rand({300, 1000}).realize();
    const kernel::Kernel kernel = testing::kernel_of(softmax(x, -1));
    const std::vector<kernel::GridSchedule> chosen = testing::decisions<kernel::GridSchedule>(kernel);
    REQUIRE(chosen.size() == 1);
    const kernel::GridSchedule& rows = chosen[0];
    CHECK(rows.by_rows);
    CHECK(rows.unrolled);
    CHECK(rows.staged == std::vector<int>{0});
    CHECK(rows.in_threads.size() == 2);  // over the terms of a chain: of the maximum, and of the sum
    CHECK(rows.registers.size() == 4);   // two accumulators, the exponentials, the staged row
    CHECK(rows.copied.size() == 2);      // the accumulators
    CHECK(rows.replicated.size() == 2);  // the maximum and the sum
    CHECK(rows.shared.size() == 8);      // what threads fold
    const auto count = [&](auto is) { return std::ranges::count_if(kernel.buffers, is); };
    using kernel::Buffer;
    CHECK(count([](const Buffer& b) { return b.per_thread; }) == 4 + 2);
    CHECK(count([](const Buffer& b) { return b.memory == Buffer::MemoryType::Shared; }) == 8 + 2);
}
