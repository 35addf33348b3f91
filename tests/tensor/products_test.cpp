// Sums of products: fixed ranks, chosen axes, einsum against plain loops, and the order in which several are multiplied.
#include "tests/tensor/support.h"

#include <weft/debug.h>

using namespace weft;
using namespace weft::testing;

namespace {

Tensor some(const Shape& shape, int seed = 1) { return from_data(noise(numel(shape), seed), shape); }

}  // namespace

TEST_CASE("products with fixed ranks are matmul's, and say so where the ranks differ") {
    const Tensor a = some({3, 4}), b = some({4, 5}, 2), x = some({4}, 3);
    CHECK(values(mm(a, b)) == values(matmul(a, b)));
    CHECK(values(mv(a, x)) == values(matmul(a, x)));
    CHECK(values(bmm(stack({a, a}), stack({b, b}))[1]) == values(matmul(a, b)));
    CHECK(vdot(tensor({1, 2, 3}), tensor({4, 5, 6})).item() == 32);
    CHECK(error_of<ShapeError>([&] { mm(x, b); }) == "mm(a: f32[4], b: f32[4, 5]): both must have 2 axes");
    CHECK(error_of<ShapeError>([&] {
              bmm(zeros({2, 3, 4}), zeros({1, 4, 5}));
          }) == "bmm(a: f32[2, 3, 4], b: f32[1, 4, 5]): the batches 2 and 1 must be equal");
    CHECK(error_of<ShapeError>([&] { mv(a, zeros({3})); }) ==
          "mv(a: f32[3, 4], x: f32[3]): a's last size 4 must equal x's 3");
    CHECK(error_of<ShapeError>([&] { vdot(zeros({2}), zeros({3})); }) ==
          "vdot(a: f32[2], b: f32[3]): the sizes 2 and 3 must be equal");
}

TEST_CASE("vecdot, inner and tensordot") {
    const Tensor a = some({2, 3, 4}), b = some({3, 4}, 2);
    CHECK(close(vecdot(a, b), values((a * b).sum(-1))));
    CHECK(close(vecdot(a, b, 1), values((a * b).sum(1))));
    CHECK(close(inner(a, b), values(matmul(a, b.t()))));
    CHECK(close(inner(a, tensor(2.0)), values(a * 2)));
    CHECK(close(tensordot(a, b), values((a * b).sum({1, 2}))));
    CHECK(close(tensordot(a, b, {1, -1}, {0, 1}), values((a * b).sum({1, 2}))));
    CHECK(tensordot(a, b, 0).shape() == Shape{2, 3, 4, 3, 4});
    CHECK(close(tensordot(ones({2, 1}), b, {1}, {1}), values(b.sum(1).expand({2, 3}))));  // a size of 1 stretches
    CHECK(values(tensordot(zeros({2, 0}), zeros({0, 2}), 1)) == Doubles{0, 0, 0, 0});
    CHECK(
        error_of<ShapeError>([&] { tensordot(a, b, {0}, {0}); }) ==
        "tensordot(a: f32[2, 3, 4], b: f32[3, 4], axes_a: [0], axes_b: [0]): a's axis 0 has size 2, b's axis 0 size 3");
    CHECK(error_of<ShapeError>([&] { tensordot(a, b, 3); }) ==
          "tensordot(a: f32[2, 3, 4], b: f32[3, 4], axes: 3): not both have 3 axes");
}

TEST_CASE("einsum: sums, diagonals, ellipses, results in any order") {
    const Tensor a = some({3, 4}), b = some({4, 5}, 2), s = some({4, 4}, 3), c = some({2, 3, 4}, 4);
    CHECK(close(einsum("ij,jk", {a, b}), values(matmul(a, b))));
    CHECK(close(einsum("ij,jk->ki", {a, b}), values(matmul(a, b).t().contiguous())));
    CHECK(close(einsum("ii", {s}), values(trace(s))));
    CHECK(close(einsum("ii->i", {s}), {s[0][0].item(), s[1][1].item(), s[2][2].item(), s[3][3].item()}));
    CHECK(values(einsum("iij->ij", {ones({2, 2, 3})})) == Doubles(6, 1));
    CHECK(values(einsum("ba", {tensor({{1, 2}, {3, 4}})})) == Doubles{1, 3, 2, 4});  // letters are sorted
    CHECK(close(einsum("...ij->...ji", {c}), values(c.transpose(1, 2).contiguous())));
    CHECK(close(einsum("...ij,jk->...ik", {c, b}), values(matmul(c, b))));
    CHECK(close(einsum("...i->i", {c}), values(c.sum({0, 1}))));
    CHECK(close(einsum("ij,kj->ik", {ones({3, 1}), b}), values(b.sum(1).expand({3, 4}))));
    CHECK(values(einsum(",", {tensor(2.0), tensor(3.0)})) == Doubles{6});
    CHECK(einsum("ij,jk", {ones({2, 2}, i32), ones({2, 2}, i32)}).dtype() == i32);
    CHECK(einsum("i,i", {ones({4096}, f16), ones({4096}, f16)}).item() == 4096);  // summed in f32
    CHECK(values(einsum("ij,jk", {zeros({2, 0}), zeros({0, 1})})) == Doubles{0, 0});
    CHECK(einsum("ii->i", {zeros({0, 0})}).shape() == Shape{0});
}

TEST_CASE("einsum multiplies in the order that needs least") {
    const std::int64_t n = 64;
    const Tensor a = some({n, n}), b = some({n, n}, 2), x = some({n}, 3);
    CounterScope count;
    const Tensor y = einsum("ij,jk,k->i", {a, b, x}).realize();
    CHECK(count.contractions_launched() == 0);  // from the right: two products with a vector
    CHECK(close(y, values(matmul(a, matmul(b, x))), 1e-5));
    std::vector<Tensor> chain(12, a * 0.2);  // beyond what is searched exactly
    Tensor product = chain[0];
    for (int i = 1; i < 12; ++i) product = matmul(product, chain[i]);
    CHECK(close(einsum("ab,bc,cd,de,ef,fg,gh,hi,ij,jk,kl,lm->am", chain), values(product), 1e-4));
}

TEST_CASE("einsum's gradient is an einsum") {
    Tensor a = some({3, 4}), b = some({4, 5}, 2), s = some({3, 3}, 5);
    a.set_requires_grad(), b.set_requires_grad(), s.set_requires_grad();
    const Tensor g = some({5, 3}, 6);
    einsum("ij,jk,ii->ki", {a, b, s}).backward(g);
    const Tensor d = einsum("ii->i", {s.detach()});
    CHECK(close(a.grad(), values(einsum("ki,jk,i->ij", {g, b.detach(), d}))));
    CHECK(close(b.grad(), values(einsum("ki,ij,i->jk", {g, a.detach(), d}))));
    CHECK(close(s.grad(), values(eye(3) * einsum("ki,ij,jk->i", {g, a.detach(), b.detach()}))));
}

TEST_CASE("einsum's mistakes") {
    const auto message = [](std::string_view equation, std::initializer_list<Shape> shapes) {
        std::vector<Tensor> operands;
        for (const Shape& shape : shapes) operands.push_back(zeros(shape));
        return error_of<ShapeError>([&] { einsum(equation, operands); });
    };
    CHECK(message("ij,jk", {{3, 4}, {5, 6}}) == "einsum(operands: [f32[3, 4], f32[5, 6]]): 'j' has the sizes 4 and 5");
    CHECK(message("ij", {{3}}) == "einsum(operands: [f32[3]]): operand 0 has 1 axes, and 2 letters");
    CHECK(message("ij...", {{3}}) ==
          "einsum(operands: [f32[3]]): operand 0 has 1 axes, and 2 letters beside its ellipsis");
    CHECK(message("i-", {{3}}) == "einsum(operands: [f32[3]]): '-' is no letter from a to z or A to Z");
    CHECK(message("ij->ik", {{3, 4}}) == "einsum(operands: [f32[3, 4]]): 'k' of the result is in no operand");
    CHECK(message("ij->ii", {{3, 4}}) == "einsum(operands: [f32[3, 4]]): 'i' stands twice in the result");
    CHECK(message("ij,jk", {{3, 4}}) ==
          "einsum(operands: [f32[3, 4]]): the equation has more operands than the 1 given");
    CHECK(message("ij", {{3, 4}, {3, 4}}) ==
          "einsum(operands: [f32[3, 4], f32[3, 4]]): the equation has 1 operands, and 2 are given");
    CHECK(message("i..j", {{3, 4}}) ==
          "einsum(operands: [f32[3, 4]]): a dot stands alone in 'i..j'; an ellipsis has three");
    CHECK(message("ii", {{3, 4}}) == "einsum(operands: [f32[3, 4]]): 'i' of operand 0 has the sizes 3 and 4");
}

TEST_CASE("cross and trace") {
    const Tensor x = tensor({1.0, 0.0, 0.0}), y = tensor({0.0, 1.0, 0.0});
    CHECK(values(cross(x, y)) == Doubles{0, 0, 1});
    CHECK(values(cross(stack({x, y}), y)) == Doubles{0, 0, 1, 0, 0, 0});
    CHECK(values(cross(x.unsqueeze(1), y.unsqueeze(1), 0)) == Doubles{0, 0, 1});
    CHECK(error_of<ShapeError>([] { cross(zeros({2}), zeros({2})); }) ==
          "cross(a: f32[2], b: f32[2]): no axis has size 3");
    CHECK(trace(tensor({{1, 2, 3}, {4, 5, 6}})).item() == 6);
    CHECK(trace(ones({3, 3}, bool_)).dtype() == i64);
    CHECK(trace(zeros({0, 3})).item() == 0);
}

TEST_CASE("products with something added") {
    const Tensor a = some({3, 4}), b = some({4, 5}, 2), x = some({5}, 3), nan = full({3, 5}, kNan);
    CHECK(close(addmm(x, a, b, {.beta = 0.5, .alpha = 2}), values(x * 0.5 + matmul(a, b) * 2)));
    CHECK(close(addmm(nan, a, b, {.beta = 0}), values(matmul(a, b))));
    CHECK(close(addmv(zeros({3}), a, some({4}, 4)), values(mv(a, some({4}, 4)))));
    CHECK(close(addr(ones({3, 5}), some({3}), x), values(outer(some({3}), x) + 1)));
    CHECK(close(baddbmm(x, stack({a, a}), stack({b, b})), values(matmul(stack({a, a}), b) + x)));
    CHECK(close(addbmm(x, stack({a, a}), stack({b, b})), values(matmul(a, b) * 2 + x)));
    CHECK(addmm(ones({2, 2}, i64), ones({2, 2}, i64), ones({2, 2}, i64), {.alpha = 3}).dtype() == i64);
    CHECK(error_of<DTypeError>([] {
              addmm(ones({2, 2}, i64), ones({2, 2}, i64), ones({2, 2}, i64), {.alpha = 0.5});
          }) == "addmm(x: i64[2, 2], a: i64[2, 2], b: i64[2, 2]): beta and alpha must be integers, as the result is");
    CHECK(error_of<ShapeError>([&] {
              addmm(zeros({2, 3, 5}), a, b);
          }) == "addmm(x: f32[2, 3, 5], a: f32[3, 4], b: f32[4, 5]): x does not broadcast to [3, 5]");
}
