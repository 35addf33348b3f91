// The peel pass by its values: padded arrays wide enough to be cut into border, interior and border. Random graphs are too narrow
// to reach it.
#include <weft/weft.h>
#include "support/backends.h"
#include "support/decisions.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace weft;

TEST_CASE("a padded array has the same elements with its borders peeled off and without") {
    for (const std::int64_t before : {0, 1, 3, 17})
        for (const std::int64_t after : {0, 2, 16}) {
            if (before + after == 0) continue;
            CAPTURE(before);
            CAPTURE(after);
            const std::int64_t rows = 8, columns = 100, width = before + columns + after;
            const Tensor x = (arange(rows * columns).to(f32) + 1).reshape({rows, columns}).contiguous();
            x.realize();
            const auto padded = [&] { return -pad(x, {before, after}) + 0.5; };
            std::vector<float> expected;
            for (std::int64_t r = 0; r < rows; ++r)
                for (std::int64_t c = 0; c < width; ++c) {
                    const bool inside = c >= before && c < before + columns;
                    expected.push_back(inside ? 0.5f - static_cast<float>(r * columns + c - before + 1) : 0.5f);
                }
            for (const std::string& backend : testing::backends()) {
                CAPTURE(backend);
                const BackendScope scope(backend);
                CHECK(testing::decides<kernel::Peel>(testing::kernel_of(padded())));
                CHECK(padded().to_vector<float>() == expected);
            }
            const BackendScope ref("ref");
            const OptScope off{"peel"};
            CHECK(padded().to_vector<float>() == expected);
        }
}

TEST_CASE("concatenated arrays are copied piece by piece") {
    for (const std::int64_t width : {16, 40, 100}) {
        CAPTURE(width);
        std::vector<Tensor> parts;
        for (int i = 0; i < 4; ++i) {
            parts.push_back((arange(8 * (width + i)).to(f32) + 1000 * i).reshape({8, width + i}).contiguous());
            parts.back().realize();
        }
        std::vector<float> expected;
        for (std::int64_t row = 0; row < 8; ++row)
            for (int i = 0; i < 4; ++i)
                for (std::int64_t c = 0; c < width + i; ++c)
                    expected.push_back(static_cast<float>(row * (width + i) + c + 1000 * i));
        for (const std::string& backend : testing::backends()) {
            CAPTURE(backend);
            const BackendScope scope(backend);
            CHECK_FALSE(testing::computes(testing::kernel_of(cat(parts, 1)), ir::Op::Where));
            CHECK(cat(parts, 1).to_vector<float>() == expected);
        }
    }
}
