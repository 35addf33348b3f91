// Lines S52 to S69 of docs/semantics.md: gradients where a function has none, or several.
#include "tests/semantics/lines.h"

using namespace weft;
using namespace weft::testing;

namespace {

using N = const Tensor&;

}  // namespace

LINE("S52: relu has slope 0 at 0; NaN passes the gradient on") {
    line.is(slope({-1, -0.0, 0, 2, kNan}, [](N x) { return relu(x); }), {0, 0, 0, 1, 1});
    line.is(slope({-1, 0, 2}, [](N x) { return leaky_relu(x, 0.25); }), {0.25, 0.25, 1});
    line.is(slope({0, 2}, [](N x) { return elu(x); }), {1, 1});
}

LINE("S53: abs has slope 0 at 0 and at NaN") {
    line.is(slope({-2, -0.0, 0, 3, kNan}, [](N x) { return abs(x); }), {-1, 0, 0, 1, 0});
    line.is(slope({1, 2}, [](N x) { return l1_loss(x, floats({1, 1}), Reduction::Sum); }), {0, 1});
}

LINE("S54: equal operands of maximum and minimum get half each; where one is NaN, both get all") {
    const auto larger = [](N a, N b) { return maximum(a, b); };
    const auto smaller = [](N a, N b) { return minimum(a, b); };
    const Nested a = {1, 2, 3, kNan}, b = {2, 2, 2, 1};
    line.is(slope_of_two(a, b, 0, larger), {0, 0.5, 1, 1});
    line.is(slope_of_two(a, b, 1, larger), {1, 0.5, 0, 1});
    line.is(slope_of_two(a, b, 0, smaller), {1, 0.5, 0, 1});
    line.is(slope({-1, 0, 1}, [](N x) { return maximum(x, 0); }), {0, 0.5, 1});
}

LINE("S55: the largest elements along axes share the gradient evenly; a row with NaN gets NaN") {
    line.is(slope({{1, 4, 4}, {5, 4, 3}}, [](N x) { return max(x, 1); }), {0, 0.5, 0.5, 1, 0, 0});
    line.is(slope({1, 4, 4, 1}, [](N x) { return min(x); }), {0.5, 0, 0, 0.5});
    line.is(slope({1, kNan}, [](N x) { return max(x); }), {kNan, kNan});
}

LINE(
    "S56: clamp passes the gradient at its limits, which take it where they are chosen; hardtanh does not pass it "
    "there") {
    line.is(slope({-1, 0, 0.5, 1, 2, kNan}, [](N x) { return clamp(x, 0, 1); }), {0, 1, 1, 1, 0, 1});
    line.is(slope_of_two({-1, 0, 1}, {0, 0, 0}, 1, [](N x, N low) { return clamp(x, low, 9); }), {1, 0, 0});
    line.is(slope({-1, 0, 1}, [](N x) { return hardtanh(x); }), {0, 1, 0});
}

LINE("S57: a norm and a standard deviation have slope 0 where they are 0") {
    line.is(slope({0, 0}, [](N x) { return norm(x); }), {0, 0});
    line.is(slope({3, 4, 0}, [](N x) { return norm(x, 2); }),
            {static_cast<double>(0.6f), static_cast<double>(0.8f), 0});
    line.is(slope({0, 0}, [](N x) { return norm(x, 1); }), {0, 0});
    line.is(slope({0, 0}, [](N x) { return norm(x, 3); }), {0, 0});
    line.is(slope({0, 0}, [](N x) { return norm(x, 0.5); }), {0, 0});
    line.is(slope({2, 2}, [](N x) { return norm(x, kInf); }), {0.5, 0.5});
    line.is(slope({2, 2, 2}, [](N x) { return stddev(x); }), {0, 0, 0});
}

LINE("S58: sqrt, rsqrt and log have infinite slopes at 0") {
    line.is(slope({0, 4}, [](N x) { return sqrt(x); }), {kInf, 0.25});
    line.is(slope({0, 4}, [](N x) { return log(x); }), {kInf, 0.25});
    line.is(slope({0}, [](N x) { return sqrt(x) * 0; }), {kNan});  // 0 times infinity
}

LINE("S59: pow at 0: x^0 is flat, x^1 has slope 1, x^2 slope 0, x^0.5 an infinite one; 0^y is flat for y >= 0") {
    const auto power = [](N a, N b) { return pow(a, b); };
    const Nested zero = {0, 0, 0, 0}, exponent = {0, 1, 2, 0.5};
    line.is(slope_of_two(zero, exponent, 0, power), {0, 1, 0, kInf});
    line.is(slope_of_two(zero, exponent, 1, power), {0, 0, 0, 0});
    line.is(slope_of_two({-2}, {3}, 1, power), {kNan});
    line.is(slope({0, 5}, [](N x) { return pow(x, 0); }), {0, 0});
    line.is(slope({0, -3}, [](N x) { return pow(x, 2); }), {0, -6});
}

LINE(
    "S60: where's value ignores the other branch; its gradient multiplies it by 0, so an infinite slope there gives "
    "NaN") {
    const Tensor x = floats({-1, 4});
    line.is(where(x > 0, sqrt(x), 0), {0, 2});
    line.is(slope({0, 4}, [](N y) { return where(y > 0, sqrt(y), 0); }), {kNan, 0.25});
    line.is(slope({0, 4}, [](N y) { return where(y > 0, sqrt(where(y > 0, y, 1)), 0); }), {0, 0.25});
}

LINE("S61: prod and cumprod with zeros have exact gradients") {
    line.is(slope({2, 3, 4}, [](N x) { return prod(x); }), {12, 8, 6});
    line.is(slope({2, 0, 4}, [](N x) { return prod(x); }), {0, 8, 0});
    line.is(slope({0, 3, 0}, [](N x) { return prod(x); }), {0, 0, 0});
    line.is(slope({2, 0, 4}, [](N x) { return cumprod(x, 0); }), {1, 10, 0});
}

LINE("S62: max_pool2d gives the gradient to the first maximum of a window; NaN wins, and padding never does") {
    const Nested ties = {{{{0, 0, 1, 5}, {0, 0, 5, 5}}}};
    line.is(slope(ties, [](N x) { return max_pool2d(x, 2); }), {1, 0, 0, 1, 0, 0, 0, 0});
    line.is(max_pool2d(floats({{{{1, kNan}, {3, 4}}}}), 2), {kNan});
    line.is(max_pool2d(floats({{{{-5}}}}), 3, {.stride = 1, .padding = 1}), {-5});
}

LINE("S63: steps are flat: trunc, floor, ceil, round, sign; of % and fmod the dividend has slope 1") {
    line.is(slope({1, -1.5}, [](N x) { return trunc(x) + floor(x) + ceil(x) + round(x) + sign(x); }), {0, 0});
    line.is(slope_of_two({7.5, -7.5}, {2, 2}, 0, [](N a, N b) { return a % b; }), {1, 1});
    line.is(slope_of_two({7.5, -7.5}, {2, 2}, 1, [](N a, N b) { return a % b; }), {-3, 4});
    line.is(slope_of_two({7.5, -7.5}, {2, 2}, 1, [](N a, N b) { return fmod(a, b); }), {-3, 3});
    line.is(slope({7.5}, [](N x) { return floor_divide(x, 2); }), {0});
}

LINE(
    "S64: indices that repeat add their gradients; of scatter's overwritten values each gets the gradient of its "
    "place") {
    line.is(slope({1, 2, 3}, [](N x) { return take(x, tensor({2, 2, -1, 0})); }), {1, 0, 3});
    const auto put = [](N x) { return scatter(floats({5, 5}), 0, tensor({1, 1}), x) * floats({2, 3}); };
    line.is(slope({1, 2}, put), {3, 3});
}

LINE("S65: the gradient of no elements is no elements; what takes none of a tensor's has a gradient of zeros") {
    line.is(slope(Nested{}, [](N x) { return sum(x) + prod(x) + norm(x); }), {});
    line.is(slope({1, 2}, [](N x) { return cat({x.narrow(0, 0, 0), floats({3})}); }), {0, 0});
    line.is(slope({1, 2}, [](N x) { return cat({floats({{3}}), x.narrow(0, 0, 0)}); }), {0, 0});
    line.is(slope({1, 2}, [](N x) { return pad(x, {-2, 1}); }), {0, 0});
    line.is(slope({1, 2}, [](N x) { return where(Tensor(true), floats({3, 4}), x); }), {0, 0});
    line.is(slope({1, 2}, [](N x) { return scatter_add(floats({3}), 0, zeros({0}, i64), x.narrow(0, 0, 0)); }), {0, 0});
    line.is(slope({1, 2},
                  [](N x) {
                      return addmm(x.reshape({1, 2}), ones({1, 1}), ones({1, 2}), {.beta = 0});
                  }),
            {0, 0});
    line.is(slope({1, 2}, [](N x) { return cat({x.narrow(0, 0, 0), x * 3}); }), {3, 3});
}

LINE_ALONE("S66: integers and bools refuse gradients, and a path through them carries none") {
    const BackendScope scope("ref");
    CHECK_THROWS_AS(tensor({1}).set_requires_grad(), GradError);
    const Tensor x = floats({1.5, 2.5}).set_requires_grad();
    CHECK_THROWS_AS(x.to(i64).sum().backward(), GradError);
    CHECK_THROWS_AS(argmax(x).backward(), GradError);
    (x.to(i64).to(f32) * x).sum().backward();
    CHECK(x.grad().to_vector<float>() == std::vector<float>{1, 2});
}

LINE_ALONE("S67: backward() and gradient() of more than one element need a gradient to start from") {
    const BackendScope scope("ref");
    const Tensor x = floats({1, 2}).set_requires_grad();
    CHECK_THROWS_AS((x * 2).backward(), GradError);
    (x * 2).backward(floats({1, 10}));
    CHECK(x.grad().to_vector<float>() == std::vector<float>{2, 20});
    const Tensor targets[] = {x, floats({7}).set_requires_grad()};
    CHECK_THROWS_AS(gradient(x * 3, targets), GradError);
    const std::vector<Tensor> found = gradient(x * 3, targets, floats({1, 10}));
    CHECK(found[0].to_vector<float>() == std::vector<float>{3, 30});
    CHECK(found[1].to_vector<float>() == std::vector<float>{0});
}

LINE_ALONE("S68: a second backward() through the same graph raises, unless the first kept it") {
    const BackendScope scope("ref");
    const Tensor x = floats({3}).set_requires_grad(), y = (x * x).sum();
    y.backward({}, true);
    y.backward();
    CHECK(x.grad().item() == 12);
    CHECK_THROWS_AS(y.backward(), GradError);
}

LINE("S69: labels that are ignored count nothing; the mean over none is NaN") {
    const Tensor logits = floats({{0, 0}, {0, 0}});
    const CrossEntropyOptions ignoring{.ignore_index = -100};
    line.is(cross_entropy(logits, tensor({-100, -100}), ignoring), {kNan});
    line.is(cross_entropy(logits, tensor({0, -100}), ignoring) == cross_entropy(logits, tensor({0, 1})), {1});
}
