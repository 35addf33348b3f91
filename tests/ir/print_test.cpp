// The text of a graph: one line per node, numbered in the order of the walk.
#include "ir/print.h"

#include "ir/build.h"
#include "tests/support/eager.h"

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::ir;
using namespace weft::testing;

namespace {

std::string text_of(const NodeRef& node) { return print_graph(std::span(&node, 1)); }

}  // namespace

TEST_CASE("a graph prints as a list of numbered nodes") {
    const NodeRef x = buffer_of(f32, {2, 3}, std::vector<double>(6)), shared = x * constant(f32, 2.5);
    CHECK(text_of(reduce(Op::Add, shared + unary(Op::Exp, shared), {1})) ==
          "%0 = buffer f32[2, 3] {offset=0 strides=[3, 1]}\n"
          "%1 = const f32[] {2.5}\n"
          "%2 = reshape f32[1, 1] %1\n"
          "%3 = expand f32[2, 3] %2\n"
          "%4 = mul f32[2, 3] %0 %3\n"
          "%5 = exp f32[2, 3] %4\n"
          "%6 = add f32[2, 3] %4 %5\n"
          "%7 = reduce f32[2, 1] {add [1]} %6\n"
          "return %7\n");
}

TEST_CASE("every argument shows") {
    const NodeRef x = buffer_of(f32, {9, 3}, std::vector<double>(27)),
                  index = buffer_of(i64, {2, 3}, std::vector<double>(6));
    CHECK(print_line(*permute(x, {1, 0})) == "permute f32[3, 9] {[1, 0]}");
    CHECK(print_line(*shrink(x, {1, 0}, {2, 3})) == "shrink f32[2, 3] {at [1, 0]}");
    CHECK(print_line(*pad(x, {1, 0}, {0, 1})) == "pad f32[10, 4] {at [1, 0]}");
    CHECK(print_line(*flip(x, {0})) == "flip f32[9, 3] {[0]}");
    CHECK(print_line(*skew(x, {0, 1, 2, 3}, 1)) == "skew f32[1, 3] {axis=0 window=1 stride=2 dilation=3}");
    CHECK(print_line(*scan(Op::Max, x, 1)) == "scan f32[9, 3] {max [1]}");
    CHECK(print_line(*gather(x, index, 0)) == "gather f32[2, 3] {axis=0 add}");
    CHECK(print_line(*check(index, 0, 9, "out of range")) == "check i64[2, 3] {0 <= x < 9}");
    CHECK(print_line(*leaf(5, x)) == "leaf f32[9, 3] {cell 5}");
    CHECK(print_line(*constant(bool_, true)) == "const bool[] {true}");
    CHECK(print_line(*constant(f64, 0.1)) == "const f64[] {0.1}");
    CHECK(print_line(*constant(f16, 0.5)) == "const f16[] {0.5}");
    CHECK(print_line(*constant(u64, Word{0xffffffffffffffff})) == "const u64[] {18446744073709551615}");
    CHECK(print_line(*constant(i8, -1)) == "const i8[] {-1}");
}

TEST_CASE("a kernel expression prints as nested text") {
    Interner own;
    const NodeRef i = own.make(Op::LoopVar, i64, {}, {}, LoopArg{0, 8}),
                  four = own.make(Op::Const, i64, {}, {}, ConstArg{4});
    const NodeRef scaled = own.make(Op::Mul, i64, {}, {i, four});
    const NodeRef load = own.make(Op::Load, f32, {}, {scaled}, LoadArg{1});
    CHECK(print_expression(load) == "b1[i0*4]");
    CHECK(print_expression(own.make(Op::Cast, f64, {}, {own.make(Op::Sqrt, f32, {}, {load})})) ==
          "f64(sqrt(b1[i0*4]))");
    CHECK(print_expression(own.make(Op::CmpLt, bool_, {}, {i, four})) == "(i0 < 4)");
}
