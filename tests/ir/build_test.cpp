// Builders: broadcasting, casts of halves, folding, no-op views, and what each refuses.
#include "ir/build.h"

#include "ir/print.h"
#include "ir/verify.h"
#include "tests/support/eager.h"

#include <weft/error.h>

#include <doctest/doctest.h>

#include <limits>

using namespace weft;
using namespace weft::ir;
using namespace weft::testing;

namespace {

using Values = std::vector<double>;

NodeRef data(const Shape& shape, DType dtype = f32) {
    Values values;
    for (std::int64_t i = 0; i < numel(shape); ++i) values.push_back(static_cast<double>(i + 1));
    return buffer_of(dtype, shape, values);
}

Values values_of(const NodeRef& node) {
    verify_graph(std::span(&node, 1), "building");
    return evaluate_to_doubles(node);
}

Word folded(const NodeRef& node) {
    REQUIRE(node->op == Op::Const);
    return node->as<ConstArg>().value;
}

}  // namespace

TEST_CASE("a constant is a scalar, reshaped and expanded") {
    CHECK(constant(f32, 1)->op == Op::Const);
    CHECK(constant(f32, 1, {1, 1})->op == Op::Reshape);
    CHECK(constant(f32, 1, {2, 1})->op == Op::Expand);
    CHECK(values_of(constant(i32, -3, {2, 2})) == Values{-3, -3, -3, -3});
    CHECK(values_of(constant(f32, 1, {0})).empty());
    CHECK(folded(constant(f64, 2)) == to_word(2.0));  // a number, not the bits 2
    CHECK(folded(constant(f32, 1.5)) == to_word(1.5f));
    CHECK(folded(constant(u8, Word{0x1ff})) == 0xff);  // bits beyond the dtype do not make another constant
    CHECK(folded(constant(bool_, 2)) == 1);
}

TEST_CASE("operands broadcast") {
    const NodeRef a = data({2, 1}), b = data({3});
    CHECK(values_of(a + b) == Values{2, 3, 4, 3, 4, 5});
    CHECK(values_of(data({}) * b) == Values{1, 2, 3});
    CHECK(((a + b)->shape == Shape{2, 3}));
    CHECK(((data({1}) + data({0}))->shape == Shape{0}));
    CHECK((broadcast_shapes({4, 1}, {3}) == Shape{4, 3}));
    CHECK_THROWS_AS(broadcast_shapes({2}, {3}), ShapeError);
    CHECK_THROWS_AS(data({2}) + data({3}), InternalError);
    CHECK(values_of(where(less(data({2, 1}), constant(f32, 2)), data({3}), constant(f32, 0))) ==
          Values{1, 2, 3, 0, 0, 0});
}

TEST_CASE("halves compute in f32 and round; selection passes their bits") {
    for (const DType t : {f16, bf16}) {
        CAPTURE(t);
        const NodeRef x = data({2}, t);
        const NodeRef sum = x + x, wide = NodeRef(&sum->source());
        CHECK(sum->op == Op::Cast);
        CHECK(sum->dtype == t);
        CHECK(wide->op == Op::Add);
        CHECK(wide->dtype == f32);
        CHECK(values_of(sum) == Values{2, 4});
        CHECK(unary(Op::Neg, x)->dtype == t);
        CHECK(values_of(binary(Op::Max, x, like(x, 1.5))) == Values{1.5, 2});
        CHECK(less(x, like(x, 2))->op == Op::CmpLt);
        CHECK(where(less(x, like(x, 2)), x, sum)->op == Op::Where);
        CHECK(values_of(where(less(x, like(x, 2)), x, sum)) == Values{1, 4});
        CHECK(values_of(reduce(Op::Add, x, {0})) == Values{3});
        CHECK(values_of(scan(Op::Add, x, 0)) == Values{1, 3});
        CHECK(values_of(scatter(Op::Add, x, constant(i64, 1, {2}), x, 0)) == Values{1, 5});
        CHECK(folded(unary(Op::Sqrt, constant(t, 4))) == folded(constant(t, 2)));
    }
}

TEST_CASE("exact ops on constants fold, with the op table's edge cases") {
    CHECK(folded(constant(i32, 7) + constant(i32, 8)) == 15);
    CHECK(folded(binary(Op::IDiv, constant(i32, -7), constant(i32, 2))) == to_word(std::int32_t{-4}));
    CHECK(folded(binary(Op::IDiv, constant(i32, 5), constant(i32, 0))) == 0);
    CHECK(folded(binary(Op::Pow, constant(i64, 3), constant(i64, 4))) == 81);
    CHECK(folded(less(constant(f32, 1), constant(f32, 2))) == 1);
    CHECK(folded(unary(Op::Recip, constant(f32, 4))) == to_word(0.25f));
    CHECK(folded(cast(constant(f64, 3.9), i32)) == 3);
    CHECK(folded(cast(constant(f32, std::numeric_limits<float>::quiet_NaN()), i64)) == 0);
    CHECK(folded(bitcast(constant(f32, 1), u32)) == 0x3f800000);
    CHECK(folded(logical_not(constant(bool_, true))) == 0);
    CHECK(constant(f32, 2, {3}) * constant(f32, 3, {2, 1}) == constant(f32, 6, {2, 3}));
    CHECK(unary(Op::Exp, constant(f32, 1))->op == Op::Exp);  // maths is the kernel's
    CHECK(binary(Op::Pow, constant(f32, 2), constant(f32, 3))->op == Op::Pow);
    CHECK(leaf(1, constant(f32, 2)) * constant(f32, 3) == leaf(1, constant(f32, 2)) * constant(f32, 3));
    CHECK((leaf(1, constant(f32, 2)) * constant(f32, 3))->op == Op::Mul);  // a leaf is not its value
    const NodeRef x = data({2});
    CHECK(where(constant(bool_, true), x, x + x) == x);
    CHECK(values_of(where(constant(bool_, false, {2, 1}), x, constant(f32, 9))) == Values{9, 9, 9, 9});
}

TEST_CASE("a view that changes nothing is no node") {
    const NodeRef x = data({2, 3});
    CHECK(reshape(x, {2, 3}) == x);
    CHECK(permute(x, {0, 1}) == x);
    CHECK(expand(x, {2, 3}) == x);
    CHECK(shrink(x, {0, 0}, {2, 3}) == x);
    CHECK(pad(x, {0, 0}, {0, 0}) == x);
    CHECK(flip(x, {}) == x);
    CHECK(cast(x, f32) == x);
    CHECK(bitcast(x, f32) == x);
    CHECK(reduce(Op::Add, x, {}) == x);
    const NodeRef thin = data({3, 1});
    CHECK(reduce(Op::Max, thin, {1}) == thin);
    CHECK(scan(Op::Add, thin, 1) == thin);
    CHECK(flip(thin, {1}) == thin);
    CHECK(skew(thin, {0, 1, 1, 1}, 3) == thin);
    CHECK(insert(x, x + x, {0, 0}) == x + x);
    CHECK(insert(x, shrink(x, {0, 0}, {0, 3}), {1, 0}) == x);
}

TEST_CASE("views of one kind merge") {
    const NodeRef x = data({2, 3, 4});
    CHECK(reshape(reshape(x, {6, 4}), {24}) == reshape(x, {24}));
    CHECK(reshape(reshape(x, {24}), {2, 3, 4}) == x);
    CHECK(permute(permute(x, {1, 2, 0}), {1, 2, 0}) == permute(x, {2, 0, 1}));
    CHECK(permute(permute(x, {2, 1, 0}), {2, 1, 0}) == x);
    CHECK(shrink(shrink(x, {0, 1, 1}, {2, 2, 3}), {1, 0, 1}, {1, 2, 2}) == shrink(x, {1, 1, 2}, {1, 2, 2}));
    CHECK(flip(flip(x, {0, 1}), {1, 2}) == flip(x, {0, 2}));
    CHECK(flip(flip(x, {1}), {1}) == x);
    const NodeRef thin = data({1, 3, 1});
    CHECK(expand(expand(thin, {2, 3, 1}), {2, 3, 4}) == expand(thin, {2, 3, 4}));
    CHECK(detach(detach(x)) == detach(x));
}

TEST_CASE("a view that a run has stored is not seen through") {
    const NodeRef x = unary(Op::Exp, data({2, 3})), view = reshape(x, {6});
    view->realized = data({6});
    CHECK(&reshape(view, {3, 2})->source() == view.get());
    view->realized = nullptr;
}

TEST_CASE("views of constants are constants") {
    const NodeRef c = constant(f32, 3, {2, 3});
    CHECK(reshape(c, {6}) == constant(f32, 3, {6}));
    CHECK(permute(c, {1, 0}) == constant(f32, 3, {3, 2}));
    CHECK(shrink(c, {1, 1}, {1, 2}) == constant(f32, 3, {1, 2}));
    CHECK(flip(c, {0}) == c);
    CHECK(expand(constant(f32, 3), {2, 3}) == c);
    CHECK(pad(c, {1, 0}, {0, 0})->op == Op::Pad);
    CHECK(pad(constant(f32, 0, {2}), {1}, {0}) == constant(f32, 0, {3}));
    CHECK(pad(data({0}), {1}, {1}) == constant(f32, 0, {2}, kCpu));
}

TEST_CASE("what no element is taken of is depended on still") {
    const NodeRef x = leaf(1, data({2, 3})), none = shrink(x, {0, 0}, {0, 3}), plain = data({2, 3});
    const NodeRef index = constant(DType::I64, Scalar(0), {0, 3}), yes = constant(DType::Bool, Scalar(true));
    CHECK(pad(none, {1, 0}, {1, 0})->needs_grad);
    CHECK(unskew(reshape(none, {0, 1, 3}), {.axis = 0, .window = 1}, 2)->needs_grad);
    CHECK(insert(plain, none, {0, 0})->needs_grad);
    CHECK(insert(x, plain, {0, 0})->needs_grad);
    CHECK(where(yes, plain, x)->needs_grad);
    CHECK(scatter(Op::Add, plain, index, none, 0)->needs_grad);
    CHECK(values_of(insert(x, plain, {0, 0})) == values_of(plain));
    CHECK(insert(plain, shrink(plain, {0, 0}, {0, 3}), {0, 0}) == plain);  // no marker where nothing needs one
    CHECK(where(yes, x, plain) == x);
}

TEST_CASE("movement moves the right elements") {
    const NodeRef x = data({2, 3});  // 1 2 3 / 4 5 6
    CHECK(values_of(permute(x, {1, 0})) == Values{1, 4, 2, 5, 3, 6});
    CHECK(values_of(shrink(x, {0, 1}, {2, 2})) == Values{2, 3, 5, 6});
    CHECK(values_of(pad(x, {1, 0}, {0, 1})) == Values{0, 0, 0, 0, 1, 2, 3, 0, 4, 5, 6, 0});
    CHECK(values_of(flip(x, {1})) == Values{3, 2, 1, 6, 5, 4});
    CHECK(values_of(insert(x, constant(f32, 0, {1, 2}), {1, 1})) == Values{1, 2, 3, 4, 0, 0});
    // A window of 3 sliding over 5 elements with stride 2: rows are outputs, columns the window.
    const NodeRef column = expand(reshape(data({5}), {5, 1}), {5, 3});
    CHECK(values_of(skew(column, {0, 1, 2, 1}, 2)) == Values{1, 2, 3, 3, 4, 5});
    CHECK(values_of(skew(column, {0, 1, 1, 2}, 1)) == Values{1, 3, 5});
    CHECK(values_of(unskew(data({2, 2}), {0, 1, 2, 1}, 4)) == Values{1, 0, 0, 2, 3, 0, 0, 4});
    CHECK(values_of(iota(4)) == Values{0, 1, 2, 3});
}

TEST_CASE("reductions and indices compute what they say") {
    const NodeRef x = data({2, 3});
    CHECK(values_of(reduce(Op::Add, x, {0, 1})) == Values{21});
    CHECK((reduce(Op::Add, x, {1})->shape == Shape{2, 1}));
    CHECK(values_of(reduce(Op::Mul, x, {1})) == Values{6, 120});
    CHECK(values_of(reduce(Op::Add, data({2, 0}), {1})) == Values{0, 0});
    CHECK(values_of(reduce(Op::Max, data({1, 0}), {1})) == Values{-std::numeric_limits<double>::infinity()});
    CHECK(values_of(scan(Op::Mul, x, 1)) == Values{1, 2, 6, 4, 20, 120});
    CHECK(values_of(reduce(Op::Max, less(x, constant(f32, 2)), {1})) == Values{1, 0});
    const NodeRef index = buffer_of(i64, {2, 2}, Values{2, 0, 1, 1});
    CHECK(values_of(gather(x, index, 1)) == Values{3, 1, 5, 5});
    CHECK(values_of(scatter(Op::Add, x, index, constant(f32, 10, {2, 2}), 1)) == Values{11, 2, 13, 4, 25, 6});
    CHECK(values_of(scatter(Op::Where, x, index, data({2, 2}), 1)) == Values{2, 2, 1, 4, 4, 6});  // the last one wins
    CHECK(values_of(scatter(Op::Mul, x, index, data({2, 2}), 1)) == Values{2, 2, 3, 4, 60, 6});
    CHECK(values_of(scatter(Op::Max, x, index, constant(f32, 3, {2, 2}), 1)) == Values{3, 2, 3, 4, 5, 6});
    CHECK(values_of(scatter(Op::Min, x, index, constant(f32, 2, {2, 2}), 1)) == Values{1, 2, 2, 4, 2, 6});
    CHECK(values_of(check(index, 0, 3, "bad index")) == Values{2, 0, 1, 1});
    CHECK_THROWS_WITH_AS(values_of(check(index, 0, 2, "bad index")), "bad index", IndexError);
}

TEST_CASE("a buffer is read through its strides and must lie inside its storage") {
    const StorageRef storage = data({6})->as<BufferArg>().storage;
    CHECK(values_of(buffer(storage, f32, {3, 2}, 0, {1, 3})) == Values{1, 4, 2, 5, 3, 6});
    CHECK(values_of(buffer(storage, f32, {3}, 5, {-2})) == Values{6, 4, 2});
    CHECK(values_of(buffer(storage, f32, {2, 2}, 4, {0, 1})) == Values{5, 6, 5, 6});
    CHECK_THROWS_AS(buffer(storage, f32, {7}, 0, {1}), InternalError);
    CHECK_THROWS_AS(buffer(storage, f32, {3}, 3, {-2}), InternalError);
    CHECK_THROWS_AS(buffer(storage, f64, {6}, 0, {1}), InternalError);
    CHECK_THROWS_AS(buffer(nullptr, f32, {1}, 0, {1}), InternalError);
    CHECK(buffer(storage, f32, {0}, 99, {1})->op == Op::Buffer);  // reads nothing
}

TEST_CASE("builders refuse what makes no sense") {
    const NodeRef x = data({2, 3}), flags = constant(bool_, true, {2, 3}), index = constant(i64, 0, {2, 3});
    CHECK_THROWS_AS(x + cast(x, f64), InternalError);
    CHECK_THROWS_AS(flags + flags, InternalError);
    CHECK_THROWS_AS(unary(Op::Exp, index), InternalError);
    CHECK_THROWS_AS(unary(Op::Add, x), InternalError);
    CHECK_THROWS_AS(unary(Op::Cast, x), InternalError);
    CHECK_THROWS_AS(binary(Op::Shl, x, x), InternalError);
    CHECK_THROWS_AS(binary(Op::IDiv, x, x), InternalError);
    CHECK_THROWS_AS(index / index, InternalError);
    CHECK_THROWS_AS(where(x, x, x), InternalError);
    CHECK_THROWS_AS(logical_not(x), InternalError);
    CHECK_THROWS_AS(bitcast(x, f64), InternalError);
    CHECK_THROWS_AS(reduce(Op::Add, flags, {0}), InternalError);
    CHECK_THROWS_AS(reduce(Op::Sub, x, {0}), InternalError);
    CHECK_THROWS_AS(reduce(Op::Add, x, {2}), InternalError);
    CHECK_THROWS_AS(scan(Op::Add, x, -1), InternalError);
    CHECK_THROWS_AS(reshape(x, {5}), InternalError);
    CHECK_THROWS_AS(reshape(x, {-2, -3}), InternalError);
    CHECK_THROWS_AS(permute(x, {0, 0}), InternalError);
    CHECK_THROWS_AS(permute(x, {0}), InternalError);
    CHECK_THROWS_AS(expand(x, {3}), InternalError);
    CHECK_THROWS_AS(expand(x, {2, 6}), InternalError);
    CHECK_THROWS_AS(shrink(x, {1, 0}, {2, 3}), InternalError);
    CHECK_THROWS_AS(pad(x, {-1, 0}, {0, 0}), InternalError);
    CHECK_THROWS_AS(flip(x, {2}), InternalError);
    CHECK_THROWS_AS(skew(x, {0, 0, 1, 1}, 1), InternalError);
    CHECK_THROWS_AS(skew(x, {0, 1, 1, 1}, 1), InternalError);  // a window of 3 does not fit 2 rows
    CHECK_THROWS_AS(unskew(x, {0, 1, 0, 1}, 9), InternalError);
    CHECK_THROWS_AS(insert(x, x, {1, 0}), InternalError);
    CHECK_THROWS_AS(gather(x, x, 0), InternalError);
    CHECK_THROWS_AS(gather(x, constant(i64, 0, {2, 2}), 0), InternalError);
    CHECK_THROWS_AS(scatter(Op::Sub, x, index, x, 0), InternalError);
    CHECK_THROWS_AS(check(x, 0, 1, ""), InternalError);
    CHECK_THROWS_AS(iota(-1), InternalError);
    CHECK_THROWS_AS(part(x, 0), InternalError);
    CHECK_THROWS_AS(expand(data({1, 1}), {std::int64_t{1} << 40, std::int64_t{1} << 40}), ValueError);
}

TEST_CASE("the verifier names the stage and the node") {
    const NodeRef x = data({2, 3}), y = data({3, 2});
    const auto broken = [](Op op, DType dtype, Shape shape, Sources sources, Arg arg = {}) {
        const NodeRef node = graph().make(op, dtype, std::move(shape), std::move(sources), std::move(arg));
        verify_graph(std::span(&node, 1), "fuse");
    };
    CHECK_THROWS_WITH_AS(broken(Op::Add, f32, {2, 3}, {x, y}), "after fuse: add f32[2, 3]: operand of shape [3, 2]",
                         InternalError);
    CHECK_THROWS_AS(broken(Op::Add, f32, {2, 3}, {x}), InternalError);
    CHECK_THROWS_AS(broken(Op::Add, f64, {2, 3}, {x, x}), InternalError);
    CHECK_THROWS_AS(broken(Op::CmpLt, f32, {2, 3}, {x, x}), InternalError);
    CHECK_THROWS_AS(broken(Op::Neg, f16, {2}, {data({2}, f16)}), InternalError);
    CHECK_THROWS_AS(broken(Op::Reshape, f32, {7}, {x}), InternalError);
    CHECK_THROWS_AS(broken(Op::Expand, f32, {4, 3}, {x}), InternalError);
    CHECK_THROWS_AS(broken(Op::Permute, f32, {2, 3}, {x}, AxesArg{{1, 0}}), InternalError);
    CHECK_THROWS_AS(broken(Op::Permute, f32, {2, 2}, {x}, AxesArg{{0, 0}}), InternalError);
    CHECK_THROWS_AS(broken(Op::Shrink, f32, {2, 3}, {x}, BoxArg{{1, 0}}), InternalError);
    CHECK_THROWS_AS(broken(Op::Pad, f32, {2, 3}, {x}, BoxArg{{1, 0}}), InternalError);
    CHECK_THROWS_AS(broken(Op::Flip, f32, {2, 3}, {x}, AxesArg{{1, 0}}), InternalError);
    CHECK_THROWS_AS(broken(Op::Skew, f32, {2, 3}, {x}, SkewArg{0, 1, 1, 1}), InternalError);
    CHECK_THROWS_AS(broken(Op::Insert, f32, {2, 3}, {x, y}, BoxArg{{0, 0}}), InternalError);
    CHECK_THROWS_AS(broken(Op::Reduce, f32, {2, 3}, {x}, ReduceArg{Op::Add, {1}}), InternalError);
    CHECK_THROWS_AS(broken(Op::Reduce, f32, {1, 1}, {x}, ReduceArg{Op::Add, {1, 0}}), InternalError);
    CHECK_THROWS_AS(broken(Op::Gather, f32, {2, 3}, {x, x}, IndexArg{0, Op::Add}), InternalError);
    CHECK_THROWS_AS(broken(Op::Check, f32, {2, 3}, {x}, CheckArg{}), InternalError);
    CHECK_THROWS_AS(broken(Op::Detach, f32, {3, 2}, {x}), InternalError);
    CHECK_THROWS_AS(broken(Op::Fma, f32, {2, 3}, {x, x, x}), InternalError);
    CHECK_THROWS_AS(broken(Op::Const, f32, {2}, {}, ConstArg{0}), InternalError);
}
