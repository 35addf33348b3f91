// Every op's derivative, and the derivative of that, against central differences; and which ops have none.
#include "tests/grad/finite_differences.h"

#include "grad/rules.h"
#include "ir/walk.h"

#include <set>

using namespace weft;
using namespace weft::ir;
using namespace weft::testing;

namespace {

struct Case {
    std::string name;
    std::vector<Shape> shapes;
    Function function;
    double low = 0.3, high = 1.4;     // where the inputs' elements lie
    std::vector<double> values = {};  // of the first input, where they matter
};

std::string str_of(Op op) { return std::string(name_of(op)); }

NodeRef index_of(const Shape& shape, std::vector<double> values) { return buffer_of(i64, shape, values); }

void add_elementwise(std::vector<Case>& cases) {
    const std::pair<Op, std::pair<double, double>> unaries[] = {
        {Op::Neg, {-2, 2}},      {Op::Abs, {-2, -0.1}},   {Op::Abs, {0.1, 2}},  {Op::Recip, {0.5, 2}},
        {Op::Sqrt, {0.5, 2}},    {Op::Trunc, {1.1, 1.9}}, {Op::Exp, {-2, 2}},   {Op::Exp2, {-2, 2}},
        {Op::Expm1, {-2, 2}},    {Op::Log, {0.5, 3}},     {Op::Log2, {0.5, 3}}, {Op::Log1p, {-0.5, 2}},
        {Op::Sin, {-3, 3}},      {Op::Cos, {-3, 3}},      {Op::Tan, {-1, 1}},   {Op::Asin, {-0.8, 0.8}},
        {Op::Acos, {-0.8, 0.8}}, {Op::Atan, {-3, 3}},     {Op::Sinh, {-2, 2}},  {Op::Cosh, {-2, 2}},
        {Op::Tanh, {-2, 2}},     {Op::Erf, {-2, 2}},      {Op::Erfc, {-2, 2}},  {Op::Erfinv, {-0.9, 0.9}},
    };
    for (const auto& [op, range] : unaries)
        for (const Shape& shape : {Shape{}, Shape{5}, Shape{2, 3}, Shape{0}, Shape{1, 1}})
            cases.push_back({str_of(op),
                             {shape},
                             [op = op](const Inputs& in) { return unary(op, in[0]); },
                             range.first,
                             range.second});
    const std::vector<Shape> pairs[] = {{{}, {}},         {{4}, {4}},       {{2, 3}, {3}}, {{2, 1}, {1, 3}},
                                        {{1}, {2, 1, 2}}, {{0, 3}, {1, 3}}, {{1}, {1}}};
    for (const Op op : {Op::Add, Op::Sub, Op::Mul, Op::Div, Op::Pow, Op::Mod, Op::Max, Op::Min})
        for (const std::vector<Shape>& shapes : pairs)
            cases.push_back({str_of(op), shapes, [op](const Inputs& in) { return binary(op, in[0], in[1]); }});
    cases.push_back({"mod of negatives", {{6}, {6}}, [](const Inputs& in) { return binary(Op::Mod, -in[0], in[1]); }});
    cases.push_back({"pow of one tensor", {{4}}, [](const Inputs& in) { return binary(Op::Pow, in[0], in[0]); }});
    cases.push_back(
        {"pow of constant", {{4}}, [](const Inputs& in) { return binary(Op::Pow, in[0], like(in[0], 3)); }, -2, 2});
    for (const std::vector<Shape>& shapes : pairs)
        cases.push_back({"where", shapes, [](const Inputs& in) {
                             const NodeRef pick = less(in[0], like(in[0], 0.8));
                             return where(pick, in[0] * in[1], in[1] * in[1]);
                         }});
}

void add_movement(std::vector<Case>& cases) {
    const auto add = [&](std::string name, Shape shape, std::function<NodeRef(const NodeRef&)> f) {
        // Squared, so that the second derivative is not zero.
        cases.push_back({std::move(name), {shape}, [f](const Inputs& in) { return f(in[0] * in[0]); }});
    };
    add("reshape", {2, 3}, [](const NodeRef& x) { return reshape(x, {3, 2}); });
    add("reshape to a scalar", {1, 1}, [](const NodeRef& x) { return reshape(x, {}); });
    add("reshape of nothing", {0, 3}, [](const NodeRef& x) { return reshape(x, {2, 0}); });
    add("permute", {2, 3, 2}, [](const NodeRef& x) { return permute(x, {2, 0, 1}); });
    add("expand", {2, 1, 3}, [](const NodeRef& x) { return expand(x, {4, 2, 2, 3}); });
    add("expand to nothing", {2, 1}, [](const NodeRef& x) { return expand(x, {2, 0}); });
    add("expand of a scalar", {}, [](const NodeRef& x) { return expand(x, {2, 2}); });
    add("shrink", {4, 3}, [](const NodeRef& x) { return shrink(x, {1, 0}, {2, 2}); });
    add("shrink to nothing", {4}, [](const NodeRef& x) { return shrink(x, {2}, {0}); });
    add("pad", {2, 2}, [](const NodeRef& x) { return pad(x, {1, 0}, {0, 2}); });
    add("flip", {3, 1, 2}, [](const NodeRef& x) { return flip(x, {0, 1}); });
    for (const std::int64_t stride : {1, 2, 3})
        for (const std::int64_t dilation : {1, 2}) {
            add("skew", {9, 3}, [=](const NodeRef& x) { return skew(x, {0, 1, stride, dilation}, 2); });
            add("skew, window first", {2, 2, 9}, [=](const NodeRef& x) {
                return skew(x, {2, 1, stride, dilation}, 2);
            });
            add("unskew", {2, 3}, [=](const NodeRef& x) { return unskew(x, {0, 1, stride, dilation}, 9); });
        }
    add("strided slice", {7, 1}, [](const NodeRef& x) { return skew(x, {0, 1, 3, 1}, 2); });
    add("skew to nothing", {4, 2}, [](const NodeRef& x) { return skew(x, {0, 1, 1, 1}, 0); });
    add("to_device", {2, 2},
        [](const NodeRef& x) { return to_device(to_device(x, Device("guarded").number()), kCpu); });
    add("contiguous", {2, 2}, [](const NodeRef& x) { return contiguous(x); });
    add("sliding window", {6}, [](const NodeRef& x) {
        return reduce(Op::Add, skew(expand(reshape(x, {6, 1}), {6, 3}), {0, 1, 1, 1}, 4), {1});
    });
    cases.push_back({"insert", {{3, 3}, {2, 1}}, [](const Inputs& in) {
                         return insert(in[0] * in[0], in[1] * in[1], {1, 2});
                     }});
    cases.push_back({"matmul", {{2, 3}, {3, 2}}, [](const Inputs& in) {
                         const NodeRef a = reshape(in[0], {2, 3, 1}), b = reshape(in[1], {1, 3, 2});
                         return reduce(Op::Add, a * b, {1});
                     }});
}

void add_reductions(std::vector<Case>& cases) {
    const std::pair<Shape, Dims> reductions[] = {{{5}, {0}},          {{2, 3}, {1}},          {{2, 3}, {0}},
                                                 {{3, 2, 2}, {0, 2}}, {{2, 2, 2}, {0, 1, 2}}, {{1, 3}, {0}},
                                                 {{2, 0}, {1}},       {{0, 2}, {1}}};
    for (const Op op : {Op::Add, Op::Mul, Op::Max, Op::Min})
        for (const auto& [shape, axes] : reductions)
            cases.push_back({"reduce " + str_of(op),
                             {shape},
                             [op, axes = axes](const Inputs& in) { return reduce(op, in[0] * in[0], axes); },
                             -1.5,
                             1.5});
    const std::pair<Shape, int> scans[] = {{{6}, 0}, {{2, 3}, 1}, {{5, 2}, 0}, {{1}, 0}, {{0}, 0}, {{2, 2, 2}, 1}};
    for (const Op op : {Op::Add, Op::Mul, Op::Max, Op::Min})
        for (const auto& [shape, axis] : scans)
            cases.push_back({"scan " + str_of(op),
                             {shape},
                             [op, axis = axis](const Inputs& in) { return scan(op, in[0] * in[0], axis); },
                             -1.5,
                             1.5});
    // Rows with two, one and no zeros among the factors.
    const std::vector<double> zeros = {0, 2, 0, 3, -1, 0, 2, 2, 1, 3, 2, -1};
    const Shape shape = {3, 4};
    cases.push_back(
        {"prod with zeros", {shape}, [](const Inputs& in) { return reduce(Op::Mul, in[0], {1}); }, 0, 0, zeros});
    cases.push_back({"prod with zeros",
                     {shape},
                     [](const Inputs& in) {
                         return reduce(Op::Mul, in[0], {0, 1});
                     },
                     0,
                     0,
                     zeros});
    cases.push_back(
        {"cumprod with zeros", {shape}, [](const Inputs& in) { return scan(Op::Mul, in[0], 1); }, 0, 0, zeros});
    cases.push_back(
        {"cumprod with zeros", {shape}, [](const Inputs& in) { return scan(Op::Mul, in[0], 0); }, 0, 0, zeros});
}

void add_indexing(std::vector<Case>& cases) {
    cases.push_back({"gather", {{4, 2}}, [](const Inputs& in) {
                         return gather(in[0] * in[0], index_of({3, 2}, {0, 1, 3, 3, 0, 2}), 0);
                     }});
    cases.push_back({"gather along the last axis", {{2, 3}}, [](const Inputs& in) {
                         return gather(in[0] * in[0], index_of({2, 2}, {2, 2, 0, 1}), 1);
                     }});
    cases.push_back({"gather nothing", {{0, 2}}, [](const Inputs& in) {
                         return gather(in[0], index_of({0, 2}, {}), 0);
                     }});
    cases.push_back({"scatter add", {{4, 2}, {3, 2}}, [](const Inputs& in) {
                         const NodeRef index = index_of({3, 2}, {0, 1, 3, 3, 0, 2});
                         return scatter(Op::Add, in[0] * in[0], index, in[1] * in[1], 0);
                     }});
    cases.push_back({"scatter set", {{4, 2}, {2, 2}}, [](const Inputs& in) {
                         const NodeRef index = index_of({2, 2}, {3, 1, 0, 2});
                         return scatter(Op::Where, in[0] * in[0], index, in[1] * in[1], 0);
                     }});
}

// out[0] = x², out[1] = x³, as a C++ function with its derivative.
std::shared_ptr<const CustomFunction> powers(const Shape& shape, int results) {
    auto function = std::make_shared<CustomFunction>();
    function->name = "powers";
    for (int r = 0; r < results; ++r) function->results.emplace_back(f64, shape);
    function->run = [results](const CustomCall& call) {
        for (std::int64_t i = 0; i < numel(call.node.source().shape); ++i) {
            const double x = call.source<double>(0)[i];
            for (int r = 0; r < results; ++r) call.result<double>(r)[i] = r == 0 ? x * x : x * x * x;
        }
    };
    function->gradient = [](const NodeRef& out, const NodeRef& g) -> Grads {
        const NodeRef x = out->op == Op::Part ? out->source().sources[0] : out->sources[0];
        const bool cube = out->op == Op::Part && out->as<PartArg>().index == 1;
        return {cube ? g * x * x * like(x, 3) : g * x * like(x, 2)};
    };
    return function;
}

void add_markers(std::vector<Case>& cases) {
    cases.push_back({"withgrad", {{3}}, [](const Inputs& in) {
                         auto rule = std::make_shared<GradRuleObject>();
                         rule->name = "sine";
                         rule->rule = [](const NodeRef& out, const NodeRef& g) {
                             return Grads{g * unary(Op::Cos, out->sources[1])};
                         };
                         return with_grad(unary(Op::Sin, in[0]), in, rule);
                     }});
    cases.push_back({"custom", {{2, 2}}, [](const Inputs& in) { return custom(powers({2, 2}, 1), in); }});
    cases.push_back({"part", {{3}}, [](const Inputs& in) {
                         const NodeRef both = custom(powers({3}, 2), in);
                         return part(both, 0) * part(both, 1);
                     }});
}

std::vector<Case> all_cases() {
    std::vector<Case> cases;
    add_elementwise(cases);
    add_movement(cases);
    add_reductions(cases);
    add_indexing(cases);
    add_markers(cases);
    return cases;
}

Inputs inputs_of(const Case& test) {
    Numbers numbers(test.shapes.size() + test.name.size());
    Inputs inputs;
    for (const Shape& shape : test.shapes) {
        const bool given = inputs.empty() && !test.values.empty();
        inputs.push_back(given ? buffer_of(f64, shape, test.values)
                               : random_buffer(numbers, shape, test.low, test.high));
    }
    return inputs;
}

}  // namespace

TEST_CASE("first and second derivatives equal central differences") {
    for (const Case& test : all_cases()) {
        CAPTURE(test.name);
        const Inputs inputs = inputs_of(test);
        CAPTURE(to_string(inputs[0]->shape));
        check_gradients(weighted_sum(test.function(inputs), 3), inputs);
    }
}

TEST_CASE("every op has a rule and a case above, or stands in the list of those without a derivative") {
    const std::set<Op> without = {
        Op::Buffer,    Op::Const,       Op::Var,     Op::Iota,                                 // leaves
        Op::Bitcast,                                                                           // reads bits
        Op::IDiv,      Op::And,         Op::Or,      Op::Xor,  Op::Shl, Op::Shr,   Op::Check,  // of integers
        Op::Gcd,       Op::Lgamma,      Op::Digamma,  // tensor/elementwise_maths.cpp has theirs
        Op::CmpLt,     Op::CmpLe,       Op::CmpEq,    // give bool
        Op::ThreefryX, Op::ThreefryY,                 // random bits
        Op::Leaf,      Op::Detach,                    // the walk stops there
        Op::Param,     Op::ScalarParam, Op::LoopVar, Op::Load, Op::Fma, Op::Scale, Op::RoundTf32,
        Op::Lookup,  // of kernels
    };
    std::set<Op> tested;
    for (const Case& test : all_cases()) {
        const NodeRef out = test.function(inputs_of(test));
        for (const Node* node : topological_order(std::span(&out, 1))) tested.insert(node->op);
    }
    for (int i = 0; i < kOpCount; ++i) {
        const Op op = static_cast<Op>(i);
        CAPTURE(name_of(op));
        CHECK((grad::rule_of(op) == nullptr) == without.contains(op));
        CHECK((tested.contains(op) || without.contains(op) || op == Op::Cast));  // casts between floats: below
    }
}
