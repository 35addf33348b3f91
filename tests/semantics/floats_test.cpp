// Lines S25 to S51 of docs/semantics.md: sizes of 0 and no axes, NaN, infinities and -0, and how floats are computed.
#include "support/backends.h"
#include "tests/semantics/lines.h"

#include "core/config.h"

#include <bit>

using namespace weft;
using namespace weft::testing;

namespace {

// A fixed, irregular sequence in [-1, 1).
std::vector<float> noise(std::size_t count) {
    std::vector<float> result(count);
    std::uint32_t state = 1;
    for (float& value : result) {
        state = state * 1664525u + 1013904223u;
        value = static_cast<float>(state >> 8) * 0x1p-23f - 1;
    }
    return result;
}

std::vector<std::uint32_t> bits(const Tensor& x) {
    std::vector<std::uint32_t> result;
    for (const float value : x.to_vector<float>()) result.push_back(std::bit_cast<std::uint32_t>(value));
    return result;
}

}  // namespace

// ---- sizes of 0, no axes ---------------------------------------------------------------------------------------------

LINE("S25: ops on no elements give no elements; 1 broadcasts to 0, 2 does not") {
    const Tensor none = zeros({0}, f32);
    CHECK((none + ones({1})).shape() == Shape{0});
    CHECK((zeros({3, 0}) + ones({3, 1})).shape() == Shape{3, 0});
    CHECK_THROWS_AS(none + ones({2}), ShapeError);
    line.is(exp(none.clone()) * 2, {});
    line.is(cat({floats({1}), none}), {1});
    line.is(softmax(zeros({0, 3}).clone()), {});
}

LINE("S26: the sum of nothing is 0, prod 1, any false, all true, logsumexp -inf, norm 0") {
    const Tensor x = zeros({2, 0}).clone();
    line.is(sum(x), {0});
    line.is(sum(x, 1), {0, 0});
    line.is(sum(x, 0), {});
    line.is(prod(x, 1), {1, 1});
    line.is(any(x), {0});
    line.is(all(x), {1});
    line.is(logsumexp(x, 1), {-kInf, -kInf});
    line.is(norm(x), {0});
}

LINE("S27: the mean of nothing is NaN, and so is a variance with no degree of freedom") {
    line.is(mean(zeros({2, 0}).clone(), 1), {kNan, kNan});
    line.is(var(floats({3})), {kNan});
    line.is(var(floats({3}), {}, 0), {0});
}

LINE("S28: max, min, argmax and argmin of nothing raise at the call; along an axis that has elements they are empty") {
    const Tensor x = zeros({0, 3}).clone();
    CHECK(error_of<ValueError>([&] { max(x); }) ==
          "max(x: f32[0, 3], axes: []): the max of no elements is not defined");
    CHECK_THROWS_AS(min(x, 0), ValueError);
    CHECK_THROWS_AS(argmax(x), ValueError);
    CHECK_THROWS_AS(argmin(x, 0), ValueError);
    line.is(max(x, 1), {});
    line.is(argmax(x, 1), {});
}

LINE("S29: a product over an axis of size 0 is 0") {
    CHECK(matmul(zeros({0, 3}), zeros({3, 2})).shape() == Shape{0, 2});
    line.is(matmul(zeros({2, 0}).clone(), zeros({0, 2}).clone()), {0, 0, 0, 0});
}

LINE("S30: a 0-d tensor is reduced and scanned over axis 0 or -1, but cannot be indexed") {
    const Tensor x = floats({{5}})[0][0];
    CHECK(x.shape() == Shape{});
    CHECK_THROWS_AS(x[0], IndexError);
    CHECK_THROWS_AS(sum(x, 1), IndexError);
    CHECK_THROWS_AS(x.t(), IndexError);
    line.is(sum(x, 0), {5});
    line.is(max(x, -1), {5});
    line.is(cumsum(x, 0), {5});
    line.is(argmax(x, 0), {0});
    line.is(softmax(x), {1});
    line.is(slope(Nested(5), [](const Tensor& n) { return softmax(n, 0); }), {0});
}

LINE_ALONE("S31: item() and bool take one element, of any rank") {
    const BackendScope scope("ref");
    CHECK(floats({{{7}}}).item() == 7);
    CHECK(static_cast<bool>(floats({{kNan}})));
    CHECK_FALSE(static_cast<bool>(floats({-0.0})));
    CHECK_THROWS_AS(floats({1, 2}).item(), ValueError);
    CHECK_THROWS_AS(static_cast<bool>(zeros({0})), ValueError);
}

LINE_ALONE("S32: reshape to a shape with -1 beside a 0 raises; other shapes of no elements are free") {
    CHECK(zeros({0, 3}).reshape({3, 0, 7}).shape() == Shape{3, 0, 7});
    CHECK(zeros({0, 3}).reshape({-1, 3}).shape() == Shape{0, 3});
    CHECK_THROWS_AS(zeros({0, 3}).reshape({-1, 0}), ShapeError);
}

// ---- NaN, infinities, -0 ---------------------------------------------------------------------------------------------

LINE("S33: NaN is not less than, equal to or greater than anything; only != holds") {
    const Tensor x = floats({kNan, kNan, 1}), y = floats({kNan, 1, kNan});
    line.is(x == y, {0, 0, 0});
    line.is(x < y, {0, 0, 0});
    line.is(x <= y, {0, 0, 0});
    line.is(x >= y, {0, 0, 0});
    line.is(x != y, {1, 1, 1});
    line.is(isnan(x), {1, 1, 0});
    line.is(full({1}, kNan) == kNan, {0});
}

LINE("S34: -0 equals 0 and is not below it; infinities are equal to themselves") {
    const Tensor x = floats({-0.0, kInf, -kInf}), y = floats({0, kInf, kInf});
    line.is(x == y, {1, 1, 0});
    line.is(x < y, {0, 0, 1});
    line.is(isinf(x), {0, 1, 1});
    line.is(isfinite(floats({kNan, kInf, -0.0})), {0, 0, 1});
}

LINE("S35: maximum and minimum of two: NaN wins; of 0 and -0 the second operand is taken") {
    const Tensor x = floats({kNan, 1, 0, -0.0, kInf}), y = floats({1, kNan, -0.0, 0, kNan});
    line.is(maximum(x, y), {kNan, kNan, -0.0, 0, kNan});
    line.is(minimum(x, y), {kNan, kNan, -0.0, 0, kNan});
    line.is(maximum(floats({kNan, -2}), 0), {kNan, 0});
}

LINE("S36: max and min over axes: NaN wins, wherever it stands") {
    line.is(max(floats({{1, kNan, 3}, {-kInf, -kInf, -kInf}}), 1), {kNan, -kInf});
    line.is(min(floats({{kNan, 1, 3}, {kInf, 2, -kInf}}), 1), {kNan, -kInf});
    std::vector<float> row(100, 1.0f);
    row[77] = std::numeric_limits<float>::quiet_NaN();  // in a vector lane, and neither first nor last
    line.is(max(from_data(row)), {kNan});
    line.is(min(from_data(row)), {kNan});
}

LINE("S37: argmax and argmin: the first of equal ones, and the first NaN before all") {
    line.ints(argmax(floats({{1, 3, 3}, {2, kNan, kNan}, {-kInf, -kInf, -kInf}}), 1), {1, 1, 0});
    line.ints(argmin(floats({{1, 0, -0.0}, {kInf, kNan, -kInf}}), 1), {1, 1});
    line.ints(argmax(tensor({{false, true}, {true, true}})), {1});
    line.ints(argmax(tensor({3, 9, 9}, u8)), {1});
}

LINE("S38: relu keeps NaN, and turns -0 into 0") {
    line.is(relu(floats({kNan, -0.0, 0, -kInf, kInf, -2})), {kNan, 0, 0, 0, kInf, 0});
    line.ints(relu(tensor({-3, 3}, i8)), {0, 3});
}

LINE("S39: clamp keeps NaN and -0; with low above high it gives high; a NaN limit gives NaN") {
    const Tensor x = floats({kNan, -0.0, -2, 7});
    line.is(clamp(x, 0, 1), {kNan, -0.0, 0, 1});
    line.is(clamp(x, 5, 1), {kNan, 1, 1, 1});
    line.is(clamp(x, kNan, 1), {kNan, kNan, kNan, kNan});
    line.is(clamp(x, floats({0, kNan, -5, 0}), floats({1, 1, kNan, 9})), {kNan, kNan, kNan, 7});
    line.is(clamp_min(x, floats({kNan})), {kNan, kNan, kNan, kNan});
}

LINE("S40: abs clears the sign; sign of NaN and of -0 is 0") {
    line.is(abs(floats({-0.0, -kInf, kNan, -3})), {0, kInf, kNan, 3});
    line.is(sign(floats({-0.0, 0, kNan, -kInf, 5})), {0, 0, 0, -1, 1});
    line.ints(sign(tensor({-5, 0, 5}, i16)), {-1, 0, 1});
    line.ints(sign(tensor({0, 200}, u8)), {0, 1});
}

LINE("S41: float x / 0 is an infinity or NaN, by the sign of both; x // 0 is x / 0, and x % 0 NaN") {
    const Tensor x = floats({1, -1, 0, 1}), zero = floats({0, 0, 0, -0.0});
    line.is(x / zero, {kInf, -kInf, kNan, -kInf});
    line.is(floor_divide(x, zero), {kInf, -kInf, kNan, -kInf});
    line.is(x % zero, {kNan, kNan, kNan, kNan});
    line.is(tensor({1, -1, 0}) / 0, {kInf, -kInf, kNan});
    line.is(floats({kInf, 1, -1}) % floats({2, kInf, kInf}), {kNan, 1, kInf});
}

LINE("S42: round goes to even at halves; trunc, ceil, floor and round keep -0 and infinities") {
    line.is(round(floats({0.5, 1.5, 2.5, -0.5, -1.5, kInf, kNan})), {0, 2, 2, -0.0, -2, kInf, kNan});
    line.is(ceil(floats({-0.5, -0.0, -kInf, 0.5})), {-0.0, -0.0, -kInf, 1});
    line.is(floor(floats({-0.5, -0.0, kInf, 0.5})), {-1, -0.0, kInf, 0});
    line.is(trunc(floats({-0.5, 1e30})), {-0.0, static_cast<double>(1e30f)});
}

LINE("S43: functions at the edge of their domain follow IEEE 754") {
    line.is(sqrt(floats({-1, -0.0, kInf})), {kNan, -0.0, kInf});
    line.is(log(floats({0, -1, kInf, 1})), {-kInf, kNan, kInf, 0});
    line.is(exp(floats({-kInf, kInf, kNan, 0})), {0, kInf, kNan, 1});
    line.is(sin(floats({kInf, -0.0})), {kNan, -0.0});
    line.is(tanh(floats({kInf, -kInf})), {1, -1});
    line.is(reciprocal(floats({0, -0.0, kInf})), {kInf, -kInf, 0});
}

LINE(
    "S44: pow: x^0 and 1^y are 1, even for NaN; 0 to a negative power is infinite; a negative base needs a whole "
    "exponent") {
    line.is(pow(floats({kNan, 1, 0, -8, -2, 0}), floats({0, kNan, -1, 0.5, 3, 0})), {1, 1, kInf, kNan, -8, 1});
    line.is(pow(floats({kNan, 0, -3}), 0), {1, 1, 1});
    line.is(pow(floats({0, -3}), -1), {kInf, static_cast<double>(1.0f / -3.0f)});
    line.is(pow(floats({4, -1, 0}), 0.5), {2, kNan, 0});
}

LINE(
    "S45: softmax of a row with +inf or of -inf alone is NaN; -inf beside a number is 0. logsumexp gives the "
    "infinity") {
    line.is(softmax(floats({{-kInf, 0}, {kInf, 0}, {-kInf, -kInf}})), {0, 1, kNan, kNan, kNan, kNan});
    line.is(logsumexp(floats({{-kInf, 0}, {kInf, 0}, {-kInf, -kInf}}), 1), {0, kInf, -kInf});
}

LINE("S46: no algebra that NaN or -0 would notice: x * 0, x - x, x / x and x + 0 are computed") {
    const Tensor x = floats({kNan, kInf, -0.0, -2});
    line.is(x * 0, {kNan, kNan, -0.0, -0.0});
    line.is(x - x, {kNan, kNan, 0, 0});
    line.is(x / x, {kNan, kNan, kNan, 1});
    line.is(x + 0, {kNan, kInf, 0, -2});
    line.is(-(-x), {kNan, kInf, -0.0, -2});
}

// ---- how floats are computed -----------------------------------------------------------------------------------------

LINE("S47: a product and a sum are rounded one by one; no multiply-add is made of them outside contractions") {
    const Tensor x = floats({1 + 0x1p-12}), square = floats({1 + 0x1p-11});  // x * x, rounded
    line.is(x * x - square, {0});
}

LINE_ALONE(
    "S48: a sum's order depends on its shape alone: the same bits on every backend, thread count and optimisation") {
    const Tensor x = from_data(noise(60 * 211), {60, 211}), y = from_data(noise(211 * 9), {211, 9});
    const auto results = [&] {
        const std::vector<Tensor> made = {sum(x),       sum(x, 0),    sum(x, 1), mean(x, 1),
                                          matmul(x, y), cumsum(x, 1), norm(x)};
        realize(made);
        std::vector<std::vector<std::uint32_t>> all;
        for (const Tensor& value : made) all.push_back(bits(value));
        return all;
    };
    std::vector<std::vector<std::uint32_t>> expected;
    {
        const BackendScope ref("ref");
        const OptScope off{"all"};
        const ThreadScope one(1);
        expected = results();
    }
    const BackendScope c("c");
    for (const int count : {1, 3}) {
        CAPTURE(count);
        const ThreadScope threads(count);
        CHECK(results() == expected);
    }
}

LINE_ALONE("S49: long sums are blocked: a quarter of a million times 0.1 is right to 5 digits") {
    const BackendScope ref("ref");
    const std::vector<float> tenths(1 << 18, 0.1f);
    const double exact = static_cast<double>(0.1f) * (1 << 18);
    float running = 0;
    for (const float value : tenths) running += value;
    CHECK(std::fabs(sum(from_data(tenths)).item() - exact) < 1e-5 * exact);
    CHECK(std::fabs(running - exact) > 1e-4 * exact);  // what one running sum would make of it
}

LINE_ALONE("S50: f32 functions are within 4 units in the last place") {
    const BackendScope ref("ref");
    const auto within = [](Tensor (*function)(const Tensor&), double (*exact)(double), const std::vector<float>& at) {
        const std::vector<float> got = function(from_data(at)).to_vector<float>();
        double worst = 0;
        for (std::size_t i = 0; i < at.size(); ++i) {
            const double right = exact(at[i]);
            const double unit = std::max<double>(std::ldexp(1.0, std::ilogb(right) - 23), 0x1p-126);
            worst = std::max(worst, right == got[i] ? 0 : std::fabs(got[i] - right) / unit);
        }
        CAPTURE(worst);
        CHECK(worst <= 4);
    };
    std::vector<float> small = noise(500), wide = small, positive;
    for (float& value : wide) value *= 80;
    for (const float value : wide) positive.push_back(std::exp(value / 2));
    using Exact = double (*)(double);
    for (const auto& at : {small, wide}) {
        within(exp, static_cast<Exact>(std::exp), at);
        within(sin, static_cast<Exact>(std::sin), at);
        within(cos, static_cast<Exact>(std::cos), at);
        within(tanh, static_cast<Exact>(std::tanh), at);
        within(erf, static_cast<Exact>(std::erf), at);
    }
    within(log, static_cast<Exact>(std::log), positive);
    within(sqrt, static_cast<Exact>(std::sqrt), positive);
}

LINE_ALONE("S51: subnormals are 0 to arithmetic and comparisons and pass through moves, unless WEFT_DENORMALS=keep") {
    const float tiny = 1e-40f;
    const auto doubled = [&] { return (floats({tiny}) + floats({tiny})).item<float>(); };
    const auto exponential = [](float x) { return exp(floats({x})).item<float>(); };
    const bool before = config().keep_denormals;
    for (const std::string& backend : testing::backends()) {
        CAPTURE(backend);
        const BackendScope scope(backend);
        config().keep_denormals = false;
        CHECK(doubled() == 0);
        CHECK((-floats({tiny})).item<float>() == -tiny);
        CHECK(abs(floats({-tiny})).item<float>() == tiny);
        CHECK(where(tensor({true}), floats({tiny}), floats({0})).item<float>() == tiny);
        CHECK_FALSE((floats({tiny}) > floats({0})).item<bool>());
        CHECK(std::isnan(remainder(floats({1}), floats({tiny})).item<float>()));
        for (const float x : {-87.4f, -90.0f, -103.0f}) CHECK(exponential(x) == 0);
        config().keep_denormals = true;
        CHECK(doubled() == 2 * tiny);
        CHECK(remainder(floats({1}), floats({tiny})).item<float>() == std::fmod(1.0f, tiny));
        for (const float x : {-87.4f, -90.0f, -103.0f}) CHECK(std::fabs(exponential(x) - std::exp(x)) <= 2e-45f);
    }
    config().keep_denormals = before;
    CHECK(tiny * 2 > 0);  // the caller's own arithmetic is left alone
}
