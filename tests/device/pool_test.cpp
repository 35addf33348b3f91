// Memory: size classes, reuse, alignment and staggering, limits, failing allocations, and many threads at once.
#include "device/pool.h"

#include <weft/error.h>

#include <doctest/doctest.h>

#include <atomic>
#include <cstring>
#include <random>
#include <set>
#include <string>
#include <thread>
#include <vector>

using namespace weft;
using namespace weft::device;

namespace {

std::uintptr_t address(const ir::StorageRef& s) { return s->address; }

}  // namespace

TEST_CASE("a freed block is used again, by an allocation of its size class") {
    trim_pool();
    auto a = allocate(100'000);
    const std::uintptr_t place = a->address;
    CHECK(a->bytes == 100'000);
    CHECK_FALSE(a->foreign);
    a.reset();
    const auto before = pool_stats();
    const auto b = allocate(100'001);
    CHECK(b->address == place);
    CHECK(pool_stats().fresh_allocations == before.fresh_allocations);
    CHECK(pool_stats().allocations == before.allocations + 1);
}

TEST_CASE("every block is aligned to a cache line and wholly usable") {
    for (const std::int64_t bytes : {0, 1, 63, 64, 65, 4096, 16384, 100'000, 2'097'152, 5'000'001}) {
        const auto s = allocate(bytes);
        REQUIRE(s->address != 0);
        CHECK(address(s) % 64 == 0);
        std::memset(ir::host_bytes(*s), 0xa5, s->bytes);
    }
}

TEST_CASE("large blocks of one size start in different cache sets") {
    for (const std::int64_t bytes : {65'536, 4'194'304}) {
        trim_pool();  // blocks that earlier tests left may have had any neighbours
        std::vector<ir::StorageRef> blocks;
        std::set<std::uintptr_t> sets;
        for (int i = 0; i < 14; ++i) {
            blocks.push_back(allocate(bytes));
            sets.insert(address(blocks.back()) / 64 % 64);
        }
        CHECK(sets.size() >= 12);
    }
}

TEST_CASE("what does not fit the machine is refused with the byte count") {
    const auto before = pool_stats();
    for (const std::int64_t bytes : {std::int64_t{1} << 42, std::int64_t{1} << 62, INT64_MAX}) {
        try {
            allocate(bytes);
            FAIL("allocated ", bytes, " bytes");
        } catch (const MemoryError& e) {
            CHECK(std::string(e.what()).find(std::to_string(bytes)) != std::string::npos);
        }
    }
    CHECK_THROWS_AS(allocate(-1), MemoryError);
    CHECK(pool_stats().bytes_in_use == before.bytes_in_use);
    CHECK(pool_stats().live_buffers == before.live_buffers);
}

TEST_CASE("a limit can be set, and kept blocks make room before it is reached") {
    trim_pool();
    const std::int64_t base = pool_stats().bytes_in_use;
    set_pool_limit(base + 3'000'000);
    {
        auto a = allocate(2'000'000);
        CHECK_THROWS_AS(allocate(2'000'000), MemoryError);
        a.reset();
        CHECK_NOTHROW(allocate(1'200'000));  // the kept block is too large to serve and is freed
    }
    set_pool_limit(0);
}

TEST_CASE("fail_allocation_after makes the n-th allocation fail, once") {
    fail_allocation_after(2);
    CHECK_NOTHROW(allocate(10));
    CHECK_THROWS_AS(allocate(10), MemoryError);
    CHECK_NOTHROW(allocate(10));
}

TEST_CASE("what is kept for reuse is bounded") {
    trim_pool();
    set_pool_retention(10'000'000);
    for (int i = 1; i <= 40; ++i) allocate(i * 100'000);
    CHECK(pool_stats().bytes_kept <= 10'000'000);
    {
        std::vector<ir::StorageRef>
            set;  // a working set above the bound stays as a whole: the next step takes it again
        for (int i = 0; i < 8; ++i) set.push_back(allocate(4'000'000));
    }
    const auto before = pool_stats();
    {
        std::vector<ir::StorageRef> set;
        for (int i = 0; i < 8; ++i) set.push_back(allocate(4'000'000));
    }
    CHECK(pool_stats().fresh_allocations == before.fresh_allocations);
    set_pool_retention(std::int64_t{1} << 30);
    trim_pool();
    CHECK(pool_stats().bytes_kept == 0);
}

TEST_CASE("many threads allocate, write and free at once") {
    const auto before = pool_stats();
    std::vector<std::thread> threads;
    std::atomic<int> wrong{0};
    for (int t = 0; t < 4; ++t) {
        threads.emplace_back([t, &wrong] {
            std::mt19937 random(t);
            std::vector<ir::StorageRef> held(16);
            for (int i = 0; i < 2000; ++i) {
                auto& slot = held[random() % held.size()];
                if (slot && ir::host_bytes(*slot)[slot->bytes - 1] != static_cast<std::byte>(t)) ++wrong;
                slot = allocate(1 + random() % 50'000);
                std::memset(ir::host_bytes(*slot), t, slot->bytes);
            }
        });
    }
    for (auto& t : threads) t.join();
    CHECK(wrong == 0);
    CHECK(pool_stats().live_buffers == before.live_buffers);
    CHECK(pool_stats().bytes_in_use == before.bytes_in_use);
}
