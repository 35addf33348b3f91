// tests/semantics/random_test.cpp: the lines on distributions.
#include "tests/semantics/lines.h"

#include <weft/random.h>

#include <algorithm>

using namespace weft;
using namespace weft::testing;

LINE("S221: poisson of odd rates") { line.is(poisson(floats({0, -1, kNan, kInf})), {0, kNan, kNan, kInf}); }

LINE_ALONE("S222: multinomial draws no weight of 0 and refuses bad weights") {
    const Tensor drawn = multinomial(floats({0, 1, 0, 3}), 2000, true);
    for (const std::int64_t each : drawn.to_vector<std::int64_t>()) CHECK((each == 1 || each == 3));
    std::vector<std::int64_t> both = multinomial(floats({0, 1, 0, 3}), 2).to_vector<std::int64_t>();
    std::sort(both.begin(), both.end());
    CHECK(both == std::vector<std::int64_t>{1, 3});
    for (const Nested& bad : {Nested{1, -1}, Nested{1, kNan}, Nested{0, 0}, Nested{0, kInf}})
        CHECK_THROWS_AS(multinomial(tensor(bad, f32), 1), ValueError);
    CHECK_THROWS_AS(multinomial(floats({0, 1}), 2), ValueError);
}

LINE_ALONE("S223: exponential, geometric and log_normal are finite") {
    const Tensor waits = exponential({100'000}, 2), tries = geometric({100'000}, 0.1), logs = log_normal({1000}, 0, 1);
    CHECK(all(isfinite(waits)).item<bool>());
    CHECK(min(waits).item<float>() >= 0);
    CHECK(min(tries).item<float>() == 1);
    CHECK(all(logical_and(isfinite(logs), gt(logs, 0))).item<bool>());
}

LINE_ALONE("S224: filling a leaf that requires a gradient raises") {
    Tensor leaf = zeros({3});
    leaf.set_requires_grad();
    CHECK_THROWS_AS(leaf.assign(uniform({3}, 0, 1)), GradError);
}

LINE_ALONE("S225: standard_gamma of odd shapes, and its derivatives") {
    const Doubles odd = standard_gamma(tensor({0, -1, kNan, kInf}, f64)).to_vector<double>();
    CHECK(odd[0] == 0);
    CHECK(std::isnan(odd[1]));
    CHECK(std::isnan(odd[2]));
    CHECK(odd[3] == kInf);
    Tensor shape = full({5}, 2.0, f64);
    shape.set_requires_grad();
    const Tensor samples = standard_gamma(shape), targets[] = {shape};
    const Tensor slopes = gradient(sum(samples), targets)[0];
    CHECK(all(gt(slopes, 0)).item<bool>());
    CHECK_THROWS_AS(gradient(sum(slopes), targets), GradError);
}
