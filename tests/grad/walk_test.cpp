// The reverse walk: where it stops, what it collects, in which order, and that it needs no stack.
#include "tests/grad/finite_differences.h"
#include "tests/support/small_stack.h"

#include "ir/print.h"
#include "ir/walk.h"

#include <weft/error.h>

using namespace weft;
using namespace weft::ir;
using namespace weft::testing;

namespace {

using Values = std::vector<double>;

NodeRef row(const Values& values) { return buffer_of(f64, {static_cast<std::int64_t>(values.size())}, values); }

std::shared_ptr<const GradRuleObject> rule(std::string name, std::function<Grads(const NodeRef&, const NodeRef&)> f) {
    return std::make_shared<GradRuleObject>(GradRuleObject{std::move(name), std::move(f)});
}

}  // namespace

TEST_CASE("two leaves over equal constants have gradients of their own") {
    const NodeRef zeros = constant(f64, 0, {2}), a = leaf(fresh_id(), zeros), b = leaf(fresh_id(), zeros);
    CHECK(!(a == b));
    const auto leaves = grad::leaf_gradients(a * row({2, 3}) + b * row({4, 5}));
    REQUIRE(leaves.size() == 2);
    for (const auto& [cell, gradient] : leaves) {
        const bool is_a = cell == a->as<LeafArg>().cell;
        CHECK(evaluate_to_doubles(gradient) == (is_a ? Values{2, 3} : Values{4, 5}));
    }
}

TEST_CASE("two values of one cell add up, in the order of the walk") {
    const std::uint64_t cell = fresh_id(), other = fresh_id();
    const NodeRef before = leaf(cell, row({1})), after = leaf(cell, row({5})), z = leaf(other, row({7}));
    const auto leaves = grad::leaf_gradients(before * row({2}) + (after * row({3}) + z));
    REQUIRE(leaves.size() == 2);
    CHECK(leaves[0].cell == other);
    CHECK(leaves[1].cell == cell);
    CHECK(evaluate_to_doubles(leaves[1].gradient) == Values{5});
}

TEST_CASE("a leaf ends the walk; what lies behind is not reached") {
    const NodeRef x = row({3}), w = leaf(fresh_id(), x * x), targets[] = {x, w};
    const auto gradients = grad::gradient(w * w, targets);
    CHECK(gradients[0] == nullptr);
    CHECK(evaluate_to_doubles(gradients[1]) == Values{18});
}

TEST_CASE("leaves and targets come from one walk") {
    const NodeRef w = leaf(fresh_id(), row({3})), hidden = w * w, targets[] = {hidden, row({9})};
    const grad::Start start[] = {{hidden * hidden, nullptr}};
    const auto result = grad::differentiate(start, {.targets = targets, .leaves = true});
    CHECK(evaluate_to_doubles(result.targets[0]) == Values{18});
    CHECK(result.targets[1] == nullptr);
    REQUIRE(result.leaves.size() == 1);
    CHECK(evaluate_to_doubles(result.leaves[0].gradient) == Values{108});
}

TEST_CASE("detach stops the gradient, and only there") {
    const NodeRef x = row({3});
    CHECK(grad::gradient(detach(x * x), std::span(&x, 1))[0] == nullptr);
    CHECK(evaluate_to_doubles(grad::gradient(detach(x) * x, std::span(&x, 1))[0]) == Values{3});
    CHECK(grad::leaf_gradients(detach(leaf(fresh_id(), x)) * x).empty());
}

TEST_CASE("the output can be a target, and the seed scales") {
    const NodeRef x = row({3, 4}), seed = row({10, 100});
    CHECK(grad::gradient(x, std::span(&x, 1), seed)[0] == seed);
    CHECK(evaluate_to_doubles(grad::gradient(x * x, std::span(&x, 1), seed)[0]) == Values{60, 800});
}

TEST_CASE("a second derivative passes the leaves") {
    const NodeRef x = leaf(fresh_id(), row({2}));
    const NodeRef cube = x * x * x, first = grad::gradient(cube, std::span(&x, 1))[0];
    const NodeRef second = grad::gradient(first, std::span(&x, 1))[0],
                  third = grad::gradient(second, std::span(&x, 1))[0];
    CHECK(evaluate_to_doubles(first) == Values{12});
    CHECK(evaluate_to_doubles(second) == Values{12});
    CHECK(evaluate_to_doubles(third) == Values{6});
}

TEST_CASE("withgrad replaces the derivative of its value") {
    const NodeRef x = row({-1, 2}), inputs[] = {x};
    const NodeRef relu =
        with_grad(binary(Op::Max, x, like(x, 0)), inputs, rule("relu", [](const NodeRef& out, const NodeRef& g) {
                      return Grads{where(less_equal(out, like(out, 0)), like(g, 0), g)};
                  }));
    CHECK(evaluate_to_doubles(grad::gradient(relu, inputs)[0]) == Values{0, 1});

    bool called = false;
    const NodeRef unused = with_grad(x, {}, rule("constant", [&](const NodeRef&, const NodeRef&) {
                                         called = true;
                                         return Grads{};
                                     }));
    CHECK(grad::gradient(unused, inputs)[0] == nullptr);
    CHECK(!called);

    const NodeRef none =
        with_grad(x, inputs, rule("none", [](const NodeRef&, const NodeRef&) { return Grads{nullptr}; }));
    CHECK(grad::gradient(none, inputs)[0] == nullptr);
}

TEST_CASE("a user's rule that gives nonsense is named") {
    const NodeRef x = row({1, 2}), inputs[] = {x};
    const NodeRef shape = with_grad(
        x, inputs, rule("wrong_shape", [](const NodeRef&, const NodeRef&) { return Grads{constant(f64, 1)}; }));
    CHECK_THROWS_WITH_AS(grad::gradient(shape, inputs),
                         "the derivative of withgrad f64[2] {wrong_shape} gave a gradient f64[] for a source f64[2]",
                         GradError);
    const NodeRef count = with_grad(x, inputs, rule("two", [](const NodeRef&, const NodeRef& g) {
                                        return Grads{g, g};
                                    }));
    CHECK_THROWS_AS(grad::gradient(count, inputs), GradError);
}

TEST_CASE("a custom function without a derivative raises only where a gradient needs it") {
    const auto function = std::make_shared<CustomFunction>();
    function->name = "sort";
    function->results = {{f64, {2}}};
    const NodeRef x = row({2, 1}), y = row({1, 1}), sorted = custom(function, std::span(&x, 1));
    CHECK_THROWS_WITH_AS(grad::gradient(sorted, std::span(&x, 1)),
                         "sort has no derivative; detach() its inputs or its result", GradError);
    CHECK(grad::gradient(sorted * y, std::span(&y, 1))[0] != nullptr);
}

TEST_CASE("a float part of a custom whose first result is an integer") {
    const auto function = std::make_shared<CustomFunction>();
    function->name = "order";
    function->results = {{i64, {2}}, {f64, {2}}};
    function->gradient = [](const NodeRef&, const NodeRef& g) { return Grads{flip(g, {0})}; };
    const NodeRef x = row({2, 1}), sorted = part(custom(function, std::span(&x, 1)), 1);
    CHECK(evaluate_to_doubles(grad::gradient(sorted, std::span(&x, 1), row({5, 6}))[0]) == Values{6, 5});
}

TEST_CASE("an output without a gradient is refused") {
    const NodeRef whole = buffer_of(i64, {2}, Values{1, 2}), x = row({1, 2});
    CHECK_THROWS_AS(grad::gradient(whole, std::span(&whole, 1)), GradError);
    CHECK_THROWS_AS(grad::gradient(less(x, x), std::span(&x, 1)), GradError);
    CHECK_THROWS_AS(grad::gradient(x, std::span(&x, 1), constant(f64, 1)), GradError);
    CHECK_THROWS_AS(grad::gradient(x, std::span(&x, 1), constant(f32, 1, {2})), GradError);
}

TEST_CASE("nothing is built for what no target needs") {
    const NodeRef x = row({1, 2}), y = row({3, 4});
    const NodeRef out = unary(Op::Exp, unary(Op::Sin, y)) * x;
    const NodeRef gradient = grad::gradient(out, std::span(&x, 1))[0];
    for (const Node* node : topological_order(std::span(&gradient, 1))) CHECK(node->op != Op::Cos);
}

TEST_CASE("the gradient's text is the same each time") {
    const auto text = [] {
        const NodeRef x = constant(f64, 2, {3}), w = leaf(1, x), v = leaf(2, x);
        const auto leaves = grad::leaf_gradients(sum_of_all(unary(Op::Tanh, w * v + w) * v * w));
        const NodeRef roots[] = {leaves[0].gradient, leaves[1].gradient};
        return print_graph(roots);
    };
    CHECK(text() == text());
}

TEST_CASE("a chain of 100,000 nodes is differentiated on a small stack, and freed") {
    const std::size_t before = live_nodes();
    on_small_stack([] {
        const NodeRef x = row({1}), factor = row({1.00001}), inputs[] = {x, factor};
        NodeRef y = x;
        for (int i = 0; i < 100'000; ++i) y = y * factor;
        const auto gradients = grad::gradient(y, inputs);
        const double power = evaluate_to_doubles(gradients[0])[0], slope = evaluate_to_doubles(gradients[1])[0];
        CHECK(power == doctest::Approx(std::pow(1.00001, 100'000)));
        CHECK(slope == doctest::Approx(100'000 * std::pow(1.00001, 99'999)));
    });
    CHECK(live_nodes() == before);
}
