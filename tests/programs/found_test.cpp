// What random programs have found in the schedule, each as small as it gets.
#include <weft/debug.h>
#include <weft/ops.h>

#include <doctest/doctest.h>

#include <vector>

using namespace weft;

namespace {
using Floats = std::vector<float>;
Floats values(const Tensor& t) { return t.to_vector<float>(); }
}  // namespace

TEST_CASE("a root that simplifies to memory with gaps can be reshaped") {
    const BackendScope backend("ref");
    const Tensor x = tensor({{3, 4, -4}}, f32);
    const Tensor same = x.expand({2, 1, 3}) * 1;
    CHECK(values(same.reshape({6, 1})) == Floats{3, 4, -4, 3, 4, -4});
    CHECK(values((tensor({{1, 2}, {3, 4}}, f32).t() * 1).reshape({4})) == Floats{1, 3, 2, 4});
}

TEST_CASE("a sum of one row joins a kernel that spreads a scalar over many elements") {
    const BackendScope backend("ref");
    const Tensor x = tensor({1, 2, 3, 4}, f32);
    const Tensor total = contiguous(x.sum({}, true)), zero = (x - x).sum();
    const Tensor wide = x * total + x, product = total * zero;
    const Tensor both[] = {wide, product};
    realize(both);
    CHECK(values(wide) == Floats{11, 22, 33, 44});
    CHECK(values(product) == Floats{0});
}
