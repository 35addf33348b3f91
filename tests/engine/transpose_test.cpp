// The transpose pass by its values: sizes around the edge of a block and the length of a line, every width of element, several loads,
// and what must not be computed in another order. Random graphs are too small to reach it.
#include "support/backends.h"
#include "support/decisions.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>

using namespace weft;

namespace {

Tensor counted(const Shape& shape, DType dtype) {
    Tensor x = ((arange(numel(shape)) * 37) % 113).to(dtype).reshape(shape).contiguous();
    x.realize();
    return x;
}

bool transposes(const Tensor& x) { return testing::decides<kernel::TransposeBlocks>(x); }

// The same elements from all backends, at all levels of the processor, as from plain loops.
void check(const std::function<Tensor()>& make, bool expected_to_transpose = true) {
    std::vector<double> expected;
    {
        const BackendScope ref("ref");
        const OptScope off{"transpose", "vector", "parallel"};
        CHECK_FALSE(transposes(make()));
        expected = make().to(f64).to_vector<double>();
    }
    testing::everywhere([&] {
        CHECK(transposes(make()) == expected_to_transpose);
        Tensor x = make();
        x.realize();
        CHECK(x.to(f64).to_vector<double>() == expected);
    });
}

}  // namespace

TEST_CASE("matrices of all sizes around a block") {
    for (const Shape& shape : {Shape{16, 16}, Shape{32, 16}, Shape{17, 33}, Shape{100, 40}, Shape{31, 64}}) {
        CAPTURE(shape[0]);
        CAPTURE(shape[1]);
        const Tensor x = counted(shape, f32);
        check([&] { return x.t() + 1; });
    }
    const Tensor thin = counted({64, 3}, f32);
    check([&] { return thin.t() + 1; }, false);
}

TEST_CASE("every width of element") {
    for (const DType dtype : {u8, bool_, i16, f16, bf16, i32, f64, i64}) {
        CAPTURE(dtype);
        const Tensor x = counted({130, 70}, dtype), y = counted({70, 130}, dtype);
        check([&] { return where(y < x.t(), y, x.t()); });
    }
    const Tensor x = counted({70, 50}, f16);
    check([&] { return x.t().to(f32) * 2; });
}

TEST_CASE("several loads in one kernel") {
    const Tensor x = counted({45, 70}, f32), y = counted({45, 70}, f32), z = counted({70, 45}, f32);
    check([&] { return (x.t() * y.t()) + z; });             // one block: the product is transposed
    check([&] { return (x.t() + z) * (y.t() - z); });       // two blocks
    check([&] { return z + x.t() + arange(45).to(f32); });  // an index as a value
    check([&] { return exp(x.t() * 0.01) * 0.5; });         // maths
    check([&] { return pad(x.t(), {3, 4, 2, 1}) + 1; });    // a gate
    check([&] { return cat({x.t(), z, y.t()}, 1) + 1; });
}

TEST_CASE("more axes than two, and memory that is not dense") {
    const Tensor x = counted({3, 20, 50}, f32);
    check([&] { return x.permute({0, 2, 1}) + 1; });
    check([&] { return x.permute({2, 1, 0}) + 1; }, false);  // three values in a row are no line
    const Tensor y = counted({18, 5, 40}, f32);
    check([&] { return y.permute({2, 1, 0}) + 1; });
    const Tensor z = counted({64, 80}, f32).slice(0, Slice{3, 60}).slice(1, Slice{1, 71});
    check([&] { return z.t() + 1; });
}

TEST_CASE("an output that takes over memory is read where it is written") {
    const Tensor x = counted({40, 50}, f32);
    const auto make = [&] {
        Tensor y = counted({50, 40}, f32);
        y += x.t();
        return y;
    };
    check(make);
}
