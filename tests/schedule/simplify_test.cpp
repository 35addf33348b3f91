// tests/schedule/simplify_test.cpp: the rules by the graphs they give, and what they must leave alone.
#include "schedule/simplify.h"
#include "ir/build.h"
#include "ir/print.h"

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::ir;

namespace {

NodeRef parameter(int slot, const Shape& shape, DType dtype = f32) {
    return graph().make(Op::Param, dtype, shape, {}, SlotArg{slot, row_major_strides(shape)});
}

NodeRef simple(const NodeRef& root) { return schedule::simplify(std::span(&root, 1)).roots[0]; }

int count(const NodeRef& root, Op op) {
    const std::string text = print_graph(std::span(&root, 1));
    const std::string needle = "= " + std::string(name_of(op)) + " ";
    int found = 0;
    for (std::size_t at = text.find(needle); at != std::string::npos; at = text.find(needle, at + 1)) ++found;
    return found;
}

}  // namespace

TEST_CASE("identities that keep every bit are applied, others are not") {
    const NodeRef p = parameter(0, {8}), i = parameter(1, {8}, i32);
    CHECK(simple(p * like(p, 1)) == p);
    CHECK(simple(p - like(p, 0)) == p);
    CHECK(simple(p / like(p, 1)) == p);
    CHECK(simple(-(-p)) == p);
    CHECK(simple(p + like(p, 0))->op == Op::Add);  // -0 + 0 is 0
    CHECK(simple(p * like(p, 0))->op == Op::Mul);  // NaN * 0 is NaN
    CHECK(simple(i + like(i, 0)) == i);
    CHECK(constant_value(simple(i * like(i, 0))) != nullptr);
}

TEST_CASE("a check survives where its value does not matter") {
    const NodeRef index = check(parameter(0, {4}, i64), 0, 10, "out of range"), p = parameter(1, {4});
    CHECK(simple(index * like(index, 0))->op == Op::Mul);
    const NodeRef chosen = schedule::simplify(std::vector<NodeRef>{graph().make(
                                                  Op::Where, f32, {4}, {equal_to(index, like(index, 1)), p, p})})
                               .roots[0];
    CHECK(chosen->op == Op::Where);
}

TEST_CASE("a long sum with few results is cut into chunks fixed by its shape; a short or wide one is not") {
    const NodeRef all = simple(reduce(Op::Add, parameter(0, {1 << 20}), {0}));
    CHECK(count(all, Op::Reduce) == 2);
    CHECK(count(simple(reduce(Op::Add, parameter(0, {1000}), {0})), Op::Reduce) == 1);
    CHECK(count(simple(reduce(Op::Add, parameter(0, {4096, 1024}), {1})), Op::Reduce) == 1);
}

TEST_CASE("a contraction with few results and a long sum is cut into chunks, a short or wide one is not") {
    const auto product = [](std::int64_t m, std::int64_t k, std::int64_t n) {
        const Shape domain{m, n, k};
        const NodeRef a = expand(reshape(parameter(0, {m, k}), {m, 1, k}), domain),
                      b = expand(reshape(parameter(1, {n, k}), {1, n, k}), domain);
        return simple(reduce(Op::Add, weft::ir::product(a, b), {2}));
    };
    CHECK(count(product(32, 43264, 9), Op::Reduce) == 2);
    CHECK(count(product(32, 43264, 9), Op::Mul) == 1);
    CHECK(count(product(32, 4096, 9), Op::Reduce) == 1);
    CHECK(count(product(64, 43264, 288), Op::Reduce) == 1);
    CHECK(count(product(32, 43261, 9), Op::Reduce) == 1);  // a prime number of terms
}

TEST_CASE("a cut of arrays that were put together needs only what it lies in") {
    const NodeRef a = parameter(0, {1, 6}), b = parameter(1, {1, 6}), zeros = constant(f32, 0, {3, 6});
    const NodeRef both = insert(insert(zeros, a * a, {0, 0}), b * b, {2, 0});
    CHECK(simple(shrink(both, {0, 0}, {1, 6})) == a * a);
    CHECK(simple(shrink(both, {2, 1}, {1, 3})) == shrink(b * b, {0, 1}, {1, 3}));
    CHECK(constant_value(simple(shrink(both, {1, 0}, {1, 6}))) != nullptr);
    CHECK(simple(shrink(permute(both, {1, 0}), {2, 0}, {4, 1})) == permute(shrink(a * a, {0, 2}, {1, 4}), {1, 0}));
    CHECK(constant_value(simple(shrink(pad(a, {1, 0}, {1, 0}), {0, 0}, {1, 6}))) != nullptr);
    CHECK(simple(shrink(both, {0, 0}, {2, 6}))->op == Op::Shrink);        // of two boxes
    const NodeRef written = insert(parameter(2, {3, 6}), a * a, {0, 0});  // maybe in place, anywhere
    CHECK(simple(shrink(written, {0, 0}, {1, 6}))->op == Op::Shrink);
}

TEST_CASE("a sum of padded arrays that do not overlap concatenates them") {
    const auto sum = [](std::int64_t step) {
        NodeRef total;
        for (int i = 0; i < 6; ++i) {
            const NodeRef x = pad(parameter(i, {4}), {step * i}, {30 - step * i});
            total = total ? total + x : x;
        }
        return simple(total);
    };
    CHECK(count(sum(4), Op::Insert) == 6);
    CHECK(count(sum(4), Op::Pad) == 0);
    CHECK(count(sum(5), Op::Insert) == 6);
    CHECK(count(sum(3), Op::Insert) == 0);
    CHECK(count(sum(3), Op::Pad) == 6);
}

TEST_CASE("a weight that was used more than once: its gradient is a sum of products of matrices") {
    const auto product = [](int slot, bool constant_factor) {
        const Shape domain{32, 40, 50};
        const NodeRef a = expand(reshape(parameter(slot, {32, 40}), {32, 40, 1}), domain),
                      b = expand(reshape(parameter(slot + 1, {32, 50}), {32, 1, 50}), domain);
        return weft::ir::product(a, constant_factor ? constant(f32, 0, domain) : b);
    };
    const auto reduced = [&](const NodeRef& sum) { return simple(reduce(Op::Add, permute(sum, {1, 2, 0}), {2})); };
    CHECK(count(reduced(product(0, false) + product(2, false) + product(4, false)), Op::Reduce) == 3);
    const NodeRef with_constant = reduced(product(0, false) + product(2, true));
    CHECK(count(with_constant, Op::Reduce) == 2);
    CHECK(print_graph(std::span(&with_constant, 1)).find("reduce f32[40, 1, 1]") != std::string::npos);
    CHECK(count(reduced(product(0, true) + product(2, true)), Op::Reduce) == 1);
}

TEST_CASE("the sum over the windows of a transposed convolution merges into the contraction") {
    // dx[h] = sum over k, c of dy[h - k, c] * w[k, c]: dy [o, c] and w [k, c] with a stride of 1
    const auto windows = [](std::int64_t stride) {
        const NodeRef dy = expand(reshape(parameter(0, {5, 1, 4}), {5, 1, 4}), {5, 3, 4});
        const NodeRef w = expand(reshape(parameter(1, {3, 4}), {1, 3, 4}), {5, 3, 4});
        const NodeRef each = reshape(reduce(Op::Add, product(dy, w), {2}), {5, 3});
        const SkewArg skew{.axis = 0, .window = 1, .stride = stride, .dilation = 1};
        return reduce(Op::Add, unskew(each, skew, 5 * stride + 2), {1});
    };
    const NodeRef merged = simple(windows(1));
    CHECK(count(merged, Op::Reduce) == 1);
    CHECK(count(merged, Op::Mul) == 1);
    CHECK(count(simple(windows(2)), Op::Reduce) == 2);  // it would multiply by zeros that the stride leaves
}

TEST_CASE(
    "with a stride the windows merge into a contraction alone, whose phases the kernel knows, and into few of them") {
    // dx[h, i] = sum over k, c of dy[(h - k) / stride, c] * w[k, c, i]
    const auto reduces = [](std::int64_t stride, std::int64_t taps, std::int64_t dilation, std::int64_t axis) {
        const Shape domain{5, taps, 4, 6};
        const NodeRef dy = expand(reshape(parameter(0, {5, 4}), {5, 1, 4, 1}), domain);
        const NodeRef w = expand(reshape(parameter(1, {taps, 4, 6}), {1, taps, 4, 6}), domain);
        const NodeRef each = reshape(reduce(Op::Add, product(dy, w), {2}), {5, taps, 6});
        const SkewArg skew{.axis = 0, .window = 1, .stride = stride, .dilation = dilation};
        return count(simple(reduce(Op::Add, unskew(each, skew, 4 * stride + (taps - 1) * dilation + 1), {axis})),
                     Op::Reduce);
    };
    CHECK(reduces(2, 3, 1, 1) == 1);
    CHECK(reduces(16, 17, 1, 1) == 1);
    CHECK(reduces(17, 18, 1, 1) == 2);  // too many phases
    CHECK(reduces(17, 17, 1, 1) == 1);  // no two windows overlap: their sums only move
    CHECK(reduces(2, 3, 2, 1) == 2);    // every tap reaches the same phase
    CHECK(reduces(2, 3, 1, 2) == 2);    // the window stays
}

TEST_CASE("a sum that is cut or transposed is computed so, unless somebody else reads it whole") {
    const NodeRef sum = reshape(reduce(Op::Add, parameter(0, {6, 5, 4}), {1}), {6, 4});
    const NodeRef cut = simple(shrink(sum, {1, 0}, {2, 4}));
    CHECK(count(cut, Op::Shrink) == 1);
    CHECK(print_graph(std::span(&cut, 1)).find("reduce f32[2, 4, 1]") != std::string::npos);
    const NodeRef turned = simple(permute(sum, {1, 0}));
    CHECK(print_graph(std::span(&turned, 1)).find("reduce f32[4, 6, 1]") != std::string::npos);
    const auto both = schedule::simplify(std::vector<NodeRef>{permute(sum, {1, 0}), sum});
    CHECK(both.roots[1] == sum);
    CHECK(both.roots[0]->op == Op::Permute);
}

TEST_CASE("a scatter of one index per row becomes a comparison with the index") {
    const NodeRef base = constant(f32, 0, {3, 7}), index = parameter(0, {3, 1}, i64), value = parameter(1, {3, 1});
    CHECK(simple(scatter(Op::Add, base, index, value, 1))->op == Op::Where);
    const NodeRef wide = scatter(Op::Add, base, parameter(0, {3, 2}, i64), parameter(1, {3, 2}), 1);
    CHECK(simple(wide)->op == Op::Scatter);
}
