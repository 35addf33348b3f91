// The unflatten pass by its values and by what it prints: reshapes that made one axis of several, read along and across, repeated, in slices
// and of several lengths at once.
#include "support/backends.h"
#include "support/decisions.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

using namespace weft;

namespace {

Tensor counted(const Shape& shape) {
    Tensor x = ((arange(numel(shape)) * 37) % 113).to(f32).reshape(shape).contiguous();
    x.realize();
    return x;
}

using Lengths = std::vector<std::int64_t>;

Lengths rows(const Tensor& x) {
    Lengths lengths;
    for (const kernel::Kernel& kernel : testing::kernels_of(x))
        for (const kernel::Unflatten& one : testing::decisions<kernel::Unflatten>(kernel)) lengths.push_back(one.row);
    return lengths;
}

// The same elements from all backends, at all levels of the processor, as from plain loops.
void check(const std::function<Tensor()>& make, const Lengths& expected_rows) {
    std::vector<float> expected;
    {
        const BackendScope ref("ref");
        const OptScope off{"unflatten", "transpose", "vector", "parallel"};
        CHECK(rows(make()).empty());
        expected = make().to_vector<float>();
    }
    testing::everywhere([&] {
        CHECK(rows(make()) == expected_rows);
        CHECK(make().to_vector<float>() == expected);
    });
}

}  // namespace

TEST_CASE("flattened matrices: repeated elements and rows, slices, both axes exchanged") {
    const Tensor row = counted({70}), matrix = counted({70, 130});
    check([&] { return row.reshape({70, 1}).expand({70, 100}).reshape({-1}) + 1; }, {100});
    check([&] { return row.reshape({1, 70}).expand({90, 70}).reshape({-1}) * 2; }, {70});
    check([&] { return matrix.narrow(1, 3, 100).reshape({-1}) + 1; }, {100});
    check([&] { return matrix.t().reshape({-1}) + 1; }, {70});
    check([&] { return (row.reshape({70, 1}) + matrix).reshape({-1}).narrow(0, 0, 70 * 65) + 1; }, {130});
}

TEST_CASE("rows of rows, several lengths in one loop, a loop beside a sum") {
    const Tensor x = counted({6, 80, 70}), turned = counted({70, 66, 5}), images = counted({3, 20, 9, 11});
    check([&] { return x.permute({1, 0, 2}).reshape({-1}) + 1; }, {70});
    check([&] { return x.permute({2, 0, 1}).reshape({-1}) + 1; }, {480});
    check([&] { return turned.permute({2, 1, 0}).reshape({-1}) + 1; }, {70, 66});
    check([&] { return images.permute({0, 2, 3, 1}).reshape({-1, 20}) + 1; }, {99});
    check([&] { return x.permute({1, 0, 2}).reshape({480, 70}).sum(1); }, {});
    check([&] { return images.permute({2, 3, 0, 1}).reshape({99, 60}).sum(1); }, {});
}

TEST_CASE("short rows and rows that do not divide a loop stay as they are") {
    const Tensor row = counted({70});
    check([&] { return row.reshape({70, 1}).expand({70, 63}).reshape({-1}) + 1; }, {});
    check([&] { return row.reshape({70, 1}).expand({70, 100}).reshape({-1}).narrow(0, 0, 6950) + 1; }, {});
}
