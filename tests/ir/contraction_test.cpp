// tests/ir/contraction_test.cpp: which axes a value depends on.
#include "ir/contraction.h"
#include "ir/build.h"

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::ir;

TEST_CASE("a value depends on the axes of what it reads, and of its gates") {
    const NodeRef one = constant(DType::F32, 1, {1, 1, 1}), row = reshape(iota(3), {1, 3});
    CHECK(axes_read(*expand(one, {2, 3, 4})) == 0);
    CHECK(axes_read(*expand(row, {5, 3})) == 0b10);
    CHECK(axes_read(*pad(one, {0, 0, 0}, {1, 0, 2})) == 0b101);  // 1 at one place and 0 elsewhere
    CHECK(axes_read(*expand(pad(one, {0, 0, 0}, {1, 0, 0}), {2, 3, 4})) == 0b001);
    CHECK(axes_read(*insert(constant(DType::F32, 0, {2, 2}), constant(DType::F32, 1, {1, 2}), {0, 0})) == 0b11);
    CHECK(axes_read(*unary(Op::Sqrt, expand(cast(row, DType::F32), {5, 3}))) == 0b11);  // computed: it may be stored
    CHECK(axes_read(*permute(pad(one, {0, 0, 0}, {1, 0, 0}), {1, 2, 0})) == 0b100);
}
