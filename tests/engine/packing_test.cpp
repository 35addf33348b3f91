// Contractions whose operands lie in memory in every way: packed as they are, through blocks that are transposed, or not at all. The
// bits are those of plain loops, for every level of the processor. Random graphs are too small to reach most of this.
#include "core/config.h"
#include "core/cpu.h"
#include "support/backends.h"
#include "support/decisions.h"
#include "support/differential.h"
#include "support/some.h"
#include "support/target.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>
#include <utility>

using namespace weft;
using testing::some;
using testing::values;

namespace {

// The kernel as plain loops on `ref`, then tiled for each level of the processor.
void check(const std::function<Tensor()>& make) {
    const std::string cpu = config().cpu;
    std::vector<double> expected;
    {
        const BackendScope ref("ref");
        const OptScope off{"all"};
        expected = values(make());
    }
    for (const char* level : {"native", "avx2", "sse"})
        for (const char* backend : {"c", "x86"}) {
            if (!testing::have_backend(backend)) continue;
            CAPTURE(level);
            CAPTURE(backend);
            config().cpu = level;
            const BackendScope scope(backend);
            CHECK(values(make()) == expected);
        }
    config().cpu = cpu;
}

// Of the tiles of the only kernel: the number that f gives.
template <class F>
auto of_tiles(const Tensor& x, F f) {
    const std::vector<kernel::Kernel> kernels = testing::kernels_of(x);
    return f(testing::decisions<kernel::TileSchedule>(kernels.at(0)).at(0));
}
std::int64_t strips_of(const Tensor& x) {  // columns of each; 0: threads share out something else
    return of_tiles(x, [](const kernel::TileSchedule& tile) {
        return tile.parallel == kernel::TileSchedule::Parallel::Strips ? tile.parallel_size : 0;
    });
}
std::pair<int, int> tile_of(const Tensor& x) {
    return of_tiles(x, [](const kernel::TileSchedule& tile) { return std::pair(tile.tile_rows, tile.tile_columns()); });
}
std::int64_t packed_rows_of(const Tensor& x) {  // at a time
    return of_tiles(x, [](const kernel::TileSchedule& tile) { return tile.pack_rows ? tile.rows() : tile.row_group; });
}

}  // namespace

TEST_CASE("matrices of odd sizes, each transposed or not") {
    struct Size {
        std::int64_t m, k, n;
    };
    for (const auto& [m, k, n] :
         {Size{7, 37, 53}, Size{33, 16, 17}, Size{20, 600, 49}, Size{9, 1100, 70}, Size{2, 9, 3}}) {
        CAPTURE(m);
        CAPTURE(k);
        CAPTURE(n);
        const Tensor a = some({m, k}), b = some({k, n}), at = some({k, m}), bt = some({n, k});
        check([&] { return matmul(a, b); });
        check([&] { return matmul(a, bt.t()); });
        check([&] { return matmul(at.t(), b); });
        check([&] { return matmul(at.t(), bt.t()); });
        check([&] { return matmul(a * 0.5, bt.t() - 0.25); });  // both are packed, along the sum
    }
}

TEST_CASE("what an update reads and writes after the sums is prefetched before them") {
    const Tensor a = some({9, 190}), b = some({9, 180}), w = some({190, 180}), m = some({190, 180});  // 137 kB each
    const auto update = [&] {
        const Tensor g = matmul(a.t(), b), mean = m * 0.9 + g * 0.1;
        return w - mean / (sqrt(g * g * 0.01 + 1) + 1e-8) * 0.5;
    };
    check(update);
    const auto prefetched = [](const Tensor& x) {  // how many arrays
        return testing::prefetched(testing::kernel_of(x).body).size();
    };
    CHECK(prefetched(update()) == 3);                                                    // w, m and the result
    CHECK(prefetched(w.slice(0, {0, 100}) - matmul(a.slice(1, {0, 100}).t(), b)) == 0);  // small
    CHECK(prefetched(w.slice(0, {0, 1}) - matmul(a.t(), b)) == 0);                       // the same row for all
    CHECK(prefetched(matmul(a.t(), b)) == 0);
}

TEST_CASE("a convolution with a cropped image added: rows of the two end at different places") {
    const Tensor x = some({1, 4, 26, 26}), w = some({64, 4, 3, 3}), image = some({1, 64, 28, 28});
    check([&] { return image.slice(2, {1, 27}).slice(3, {1, 27}) - conv2d(x, w, {}, {.padding = 1}); });
}

TEST_CASE("eight vectors of columns that are packed: strips of two") {
    const Tensor a = some({25, 90}), b = some({125, 90});
    check([&] { return relu(matmul(a, b.t())); });
    if (testing::level_here() != CpuLevel::Avx512) return;  // other tiles
    CHECK(strips_of(matmul(a, b.t())) == 32);
    CHECK(strips_of(matmul(some({128, 64}).t(), some({128, 784}))) == 96);  // 8 and a bit, not 3
}

TEST_CASE("rows that many tiles would read across are packed, some at a time; strips are shared out evenly") {
    for (const auto& [m, k, n] : {std::array<std::int64_t, 3>{100, 300, 1600}, {41, 70, 1540}, {5, 1030, 780}}) {
        CAPTURE(m);
        const Tensor at = some({k, m}), b = some({k, n});
        check([&] { return matmul(at.t(), b); });
        check([&] { return matmul(at.t(), b * 0.5) + 1; });
    }
    if (testing::level_here() == CpuLevel::Avx512) {  // rows that are pages apart share the sets of a cache
        CHECK(tile_of(matmul(some({60, 1024}), some({1024, 10}))) == std::pair(6, 16));
        CHECK(tile_of(matmul(some({60, 1000}), some({1000, 10}))) == std::pair(14, 16));
    }
    const testing::CpuScope scope("avx2");
    if (testing::level_here() != CpuLevel::Avx2) return;
    CHECK(packed_rows_of(matmul(some({1000, 64}).t(), some({1000, 1024}))) == 30);
    CHECK(packed_rows_of(matmul(some({64, 1000}), some({1000, 1024}))) == 0);  // each line serves many steps
    CHECK(strips_of(matmul(some({64, 300}), some({300, 576}))) == 48);         // 12, not 9
}

TEST_CASE("other types, batches and sums over several axes") {
    const Tensor a = some({20, 50}, f64), b = some({30, 50}, f64);
    check([&] { return matmul(a, b.t()); });
    const Tensor ah = some({20, 50}, f16), bh = some({30, 50}, f16);
    check([&] { return matmul(ah, bh.t()); });
    const Tensor many = some({5, 20, 40}), others = some({5, 35, 40});
    check([&] { return matmul(many, others.transpose(1, 2)); });
    const Tensor x = some({2, 3, 20, 20}), w = some({8, 3, 3, 3}), seed = some({2, 8, 20, 20});
    check([&] { return conv2d(x, w, {}, {.padding = 1}); });
    const auto grad = [&](int which) {
        Tensor leaf_x = x.detach(), leaf_w = w.detach();
        leaf_x.set_requires_grad(), leaf_w.set_requires_grad();
        const std::vector<Tensor> targets{which ? leaf_w : leaf_x};
        return gradient(conv2d(leaf_x, leaf_w, {}, {.padding = 1}), targets, seed)[0];
    };
    check([&] { return grad(0); });
    check([&] { return grad(1); });  // the windows are packed along the image's rows
}

TEST_CASE("where the output's fastest axis is short, lanes run along the other side") {
    const Tensor a = some({20, 50}), b = some({20, 9}), bias = some({9});
    const auto make = [&] { return matmul(a.t(), b) + bias; };
    const Explanation plan = explain(make());
    REQUIRE(plan.kernels.size() == 1);
    const std::vector<kernel::Kernel> kernels = testing::kernels_of(make());
    const auto tiles = testing::decisions<kernel::TileSchedule>(kernels[0]);
    REQUIRE(tiles.size() == 1);
    CHECK(tiles[0].rows() == 9);
    CHECK(tiles[0].columns() == 50);
    check(make);
    const Tensor long_a = some({1100, 50}), long_b = some({1100, 9});  // blocks of the sum meet where lanes run
    check([&] { return matmul(long_a.t(), long_b); });
}

TEST_CASE("a gradient of a convolution's weights is packed channel by channel, so that one gate serves 16 columns") {
    const auto meet_in_scratch = [](const Tensor& x) {
        const std::vector<kernel::Kernel> kernels = testing::kernels_of(x);
        return std::ranges::any_of(
            testing::decisions<kernel::TileSchedule>(kernels[0]), [](const kernel::TileSchedule& tile) {
                return tile.epilogue == kernel::TileSchedule::Epilogue::StripLoop && !tile.sums_in_output;
            });
    };
    struct Size {
        std::int64_t images, in, out, side, window;
        bool by_channel;
    };
    for (const auto& [images, in, out, side, window, by_channel] :
         {Size{3, 32, 12, 18, 3, true}, Size{2, 16, 9, 13, 5, true}, Size{1, 16, 5, 12, 3, true},
          Size{3, 24, 12, 18, 3, false}}) {  // 24 channels: a vector of them would cross a tap
        CAPTURE(in);
        CAPTURE(side);
        const Conv2dOptions options{.padding = window / 2};
        const Tensor x = some({images, in, side, side});
        Tensor w = some({out, in, window, window});
        w.set_requires_grad();
        const Tensor seed = some({images, out, side, side}), bias = some({in, window, window});
        const std::vector<Tensor> of_w{w};
        const auto slope = [&] { return gradient(conv2d(x, w, {}, options), of_w, seed)[0]; };
        check(slope);
        check([&] { return slope() * 0.5 + bias; });  // the epilogue finds its places, too
        CHECK(meet_in_scratch(slope()) == by_channel);
    }
}

TEST_CASE("a tail of one vector of columns shares those of the last tile") {
    const std::string cpu = std::exchange(config().cpu, "native");
    for (const std::int64_t n : {160, 155, 208}) {  // 10 vectors, as many with a shorter last one, 13
        CAPTURE(n);
        const Tensor a = some({24, 70}), b = some({70, n}), large = some({1100, n}), left = some({24, 1100});
        check([&] { return matmul(a, b) + 1; });
        check([&] { return matmul(left, large); });               // packed, in blocks
        if (testing::level_here() != CpuLevel::Avx512) continue;  // tiles of other machines are one vector wide
        const auto has_sums_of = [](const Tensor& x, std::int64_t size) {  // in registers
            return std::ranges::count(testing::locals(testing::kernel_of(x), "acc"), size) > 0;
        };
        CHECK(has_sums_of(matmul(a, b), 256));
        CHECK_FALSE(has_sums_of(matmul(a, b), 128));
        CHECK_FALSE(has_sums_of(matmul(a, some({70, 148})), 256));  // four lanes are better off alone
    }
    config().cpu = cpu;
}
