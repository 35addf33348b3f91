// Gradients where a function has none, or several: PyTorch's choice in each case, and element types other than f64.
#include "tests/grad/finite_differences.h"

#include <limits>

using namespace weft;
using namespace weft::ir;
using namespace weft::testing;

namespace {

using Values = std::vector<double>;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

Values gradient_of(const NodeRef& out, const NodeRef& input) {
    const NodeRef gradient = grad::gradient(out, std::span(&input, 1))[0];
    REQUIRE(gradient);
    CHECK(gradient->dtype == input->dtype);
    verify_graph(std::span(&gradient, 1), "gradient");
    return evaluate_to_doubles(gradient);
}

NodeRef row(const Values& values, DType dtype = f64) {
    return buffer_of(dtype, {static_cast<std::int64_t>(values.size())}, values);
}

}  // namespace

TEST_CASE("abs has slope 0 at 0") {
    const NodeRef x = row({-2, -0.0, 0, 3});
    CHECK(gradient_of(unary(Op::Abs, x), x) == Values{-1, 0, 0, 1});
}

TEST_CASE("equal operands of max and min share the gradient") {
    const NodeRef a = row({1, 2, 2}), b = row({2, 2, 1});
    CHECK(gradient_of(binary(Op::Max, a, b), a) == Values{0, 0.5, 1});
    CHECK(gradient_of(binary(Op::Max, a, b), b) == Values{1, 0.5, 0});
    CHECK(gradient_of(binary(Op::Min, a, b), a) == Values{1, 0.5, 0});
    CHECK(gradient_of(binary(Op::Min, a, b), b) == Values{0, 0.5, 1});
    CHECK(gradient_of(binary(Op::Max, a, a), a) == Values{1, 1, 1});
}

TEST_CASE("the largest elements of a reduction share the gradient") {
    const NodeRef x = row({1, 4, 4, 0, 4, 4});
    CHECK(gradient_of(reduce(Op::Max, x, {0}), x) == Values{0, 0.25, 0.25, 0, 0.25, 0.25});
    CHECK(gradient_of(reduce(Op::Min, x, {0}), x) == Values{0, 0, 0, 1, 0, 0});
}

TEST_CASE("a running maximum passes its gradient to the last element that set it") {
    const NodeRef x = row({1, 3, 3, 2, 5});
    CHECK(gradient_of(scan(Op::Max, x, 0), x) == Values{1, 1, 2, 0, 1});
    CHECK(gradient_of(scan(Op::Min, x, 0), x) == Values{5, 0, 0, 0, 0});
    const NodeRef y = row({1, kNaN, 7, kNaN, 8});
    CHECK(gradient_of(scan(Op::Max, y, 0), y) == Values{1, 2, 0, 2, 0});
}

TEST_CASE("prod and cumprod with zeros") {
    const NodeRef none = row({2, 3, 4}), one = row({2, 0, 4}), two = row({0, 3, 0});
    CHECK(gradient_of(reduce(Op::Mul, none, {0}), none) == Values{12, 8, 6});
    CHECK(gradient_of(reduce(Op::Mul, one, {0}), one) == Values{0, 8, 0});
    CHECK(gradient_of(reduce(Op::Mul, two, {0}), two) == Values{0, 0, 0});
    CHECK(gradient_of(scan(Op::Mul, one, 0), one) == Values{1, 10, 0});
}

TEST_CASE("pow at its edges") {
    const auto to_base = [](double a, double b) {
        const NodeRef x = row({a}), y = row({b});
        return gradient_of(binary(Op::Pow, x, y), x)[0];
    };
    const auto to_exponent = [](double a, double b) {
        const NodeRef x = row({a}), y = row({b});
        return gradient_of(binary(Op::Pow, x, y), y)[0];
    };
    CHECK(to_base(0, 0) == 0);
    CHECK(to_base(5, 0) == 0);
    CHECK(to_base(0, 1) == 1);
    CHECK(to_base(0, 2) == 0);
    CHECK(to_base(-3, 2) == -6);
    CHECK(to_exponent(0, 0) == 0);
    CHECK(to_exponent(0, 2) == 0);
    CHECK(to_exponent(0, -1) == -std::numeric_limits<double>::infinity());
    CHECK(to_exponent(1, 5) == 0);
    CHECK(std::isnan(to_exponent(-2, 3)));
}

TEST_CASE("x^2 at zero has second derivative 2, and x^y a finite one") {
    const NodeRef x = row({0}), two = like(x, 2), y = row({2});
    const NodeRef first = grad::gradient(binary(Op::Pow, x, two), std::span(&x, 1))[0];
    CHECK(gradient_of(first, x) == Values{2});
    const NodeRef to_y = grad::gradient(binary(Op::Pow, x, y), std::span(&y, 1))[0];
    CHECK(gradient_of(to_y, x) == Values{0});
}

TEST_CASE("trunc has a gradient of zeros") {
    const NodeRef x = row({1.5, -2.5});
    CHECK(gradient_of(unary(Op::Trunc, x), x) == Values{0, 0});
    CHECK(gradient_of(unary(Op::Trunc, x * x) + x, x) == Values{1, 1});
}

TEST_CASE("where takes nothing from the other branch") {
    const NodeRef x = row({0, 4});
    const NodeRef root =
        where(less(like(x, 0), x), unary(Op::Sqrt, where(less(like(x, 0), x), x, like(x, 1))), like(x, 0));
    CHECK(gradient_of(root, x) == Values{0, 0.25});
}

TEST_CASE("a gradient has its tensor's dtype; halves compute in f32 and round") {
    for (const DType t : {f16, bf16, f32}) {
        CAPTURE(t);
        const NodeRef x = row({1, 2, 3}, t);
        CHECK(gradient_of(x * x, x) == Values{2, 4, 6});
        CHECK(gradient_of(reduce(Op::Add, unary(Op::Exp, x - x) * x, {0}), x) == Values{1, 1, 1});
        CHECK(gradient_of(gather(x, buffer_of(i64, {4}, Values{0, 2, 2, 2}), 0), x) == Values{1, 0, 3});
        CHECK(gradient_of(where(less(x, like(x, 2)), x, like(x, 0)), x) == Values{1, 0, 0});
        CHECK(gradient_of(cast(x, f64) * cast(x, f64), x) == Values{2, 4, 6});
        CHECK(gradient_of(scan(Op::Mul, x, 0), x) == Values{9, 4, 2});
    }
}

TEST_CASE("a path through integers carries no gradient") {
    const NodeRef x = row({1.5, 2.5});
    const NodeRef rounded = cast(cast(x, i64), f64);
    CHECK(grad::gradient(rounded, std::span(&x, 1))[0] == nullptr);
    CHECK(gradient_of(rounded * x, x) == Values{1, 2});
    const NodeRef whole = buffer_of(i32, {2}, Values{1, 2});
    CHECK(grad::gradient(cast(whole, f32), std::span(&whole, 1))[0] == nullptr);
}
