// bench/rows/matmul.cpp: products of matrices against OpenBLAS, with the same number of threads.
#include "reference/blas.h"
#include "reference/loops.h"
#include "reference/memory.h"
#include "reference/team.h"
#include "rows/rows.h"
#include "rows/yardstick.h"

#include <weft/weft.h>

#include <memory>

namespace bench {
namespace {

using namespace weft;

// Sums of k products of numbers in [-1, 1): rounding grows with √k, a wrong term is of order 1.
Tolerance tolerance_of(std::int64_t k) { return {.absolute = 2e-6 * static_cast<double>(k), .relative = 1e-5}; }

void product_row(Harness& harness, const std::string& name, double want, const blas::Product& p) {
    if (!harness.wanted(name)) return;
    const Tensor a = uniform(p.a_transposed ? Shape{p.k, p.m} : Shape{p.m, p.k}, 1);
    const Tensor b = uniform(p.b_transposed ? Shape{p.n, p.k} : Shape{p.k, p.n}, 2);
    Floats c(p.m * p.n);
    harness.compare({
        .name = name,
        .want = want,
        .weft =
            [&] {
                const Tensor left = p.a_transposed ? a.t() : a, right = p.b_transposed ? b.t() : b;
                return matmul(p.m == 1 ? left.reshape({p.k}) : left, p.n == 1 ? right.reshape({p.k}) : right);
            },
        .references = {[&] { blas::multiply(p, data(a), data(b), c.data()); }},
        .check = [&](const Tensor& value) { expect_close(value, c.values(), tolerance_of(p.k)); },
        .flops = p.flops(),
    });
}

void product_rows(Harness& harness) {
    for (const std::int64_t n : {256, 512, 1024, 2048})
        product_row(harness, "matmul " + std::to_string(n), 0.95, {n, n, n});
    for (const std::int64_t n : {256, 512, 1024}) {
        const std::string name = "matmul " + std::to_string(n);
        product_row(harness, name + " NT", 0, {n, n, n, false, true});
        product_row(harness, name + " TN", 0, {n, n, n, true, false});
        product_row(harness, name + " TT", 0, {n, n, n, true, true});
    }
    product_row(harness, "matmul 4x1024x1024", 0, {4, 1024, 1024});
    product_row(harness, "matmul 1024x1024x4", 0, {1024, 1024, 4});
    product_row(harness, "matmul 8x1024x1024 NT", 0, {8, 1024, 1024, false, true});
    product_row(harness, "vector x matrix 2048", 0, {1, 2048, 2048});
    product_row(harness, "matrix x vector 2048", 0, {2048, 2048, 1});
    product_row(harness, "matmul 509x1021x257", 0, {509, 1021, 257});
    product_row(harness, "matmul 33x65x31", 0, {33, 65, 31});
}

void linear_relu_row(Harness& harness) {
    const std::string name = "matmul 128x784x128 + bias + relu";
    if (!harness.wanted(name)) return;
    constexpr blas::Product p{128, 784, 128};
    const Tensor x = uniform({p.m, p.k}, 1), w = uniform({p.k, p.n}, 2), bias = uniform({p.n}, 3);
    Floats out(p.m * p.n);
    harness.compare({
        .name = name,
        .want = 1.2,
        .weft = [&] { return relu(matmul(x, w) + bias); },
        .references = {[&] {
            blas::multiply(p, data(x), data(w), out.data());
            loops().bias_relu(out.data(), data(bias), p.m, p.n);
        }},
        .check = [&](const Tensor& value) { expect_close(value, out.values(), tolerance_of(p.k)); },
        .flops = p.flops(),
    });
}

// Against a loop of calls, each with both threads; and, for information, with half of the calls on each thread.
void batched_rows(Harness& harness) {
    constexpr std::int64_t kBatch = 32;
    constexpr blas::Product p{128, 64, 128};
    const std::string name = "batched 32x(128x64)(64x128)";
    const Tensor a = uniform({kBatch, p.m, p.k}, 1), b = uniform({kBatch, p.k, p.n}, 2);
    Floats c(kBatch * p.m * p.n);
    const auto one = [&](std::int64_t i) {
        blas::multiply(p, data(a) + i * p.m * p.k, data(b) + i * p.k * p.n, c.data() + i * p.m * p.n);
    };
    Contest contest{
        .name = name,
        .want = 1,
        .weft = [&] { return matmul(a, b); },
        .references = {[&] {
            for (std::int64_t i = 0; i < kBatch; ++i) one(i);
        }},
        .check = [&](const Tensor& value) { expect_close(value, c.values(), tolerance_of(p.k)); },
        .flops = kBatch * p.flops(),
    };
    harness.compare(contest);
    contest.name = name + ", a thread per call";
    contest.want = 0;
    contest.references = {[&] { team().run(kBatch, one); }};
    blas::set_threads(1);
    harness.compare(contest);
    blas::set_threads(kThreads);
}

// Attention's two products for 4 x 8 heads of 64, 256 positions: queries times keys, and weights times values.
void attention_rows(Harness& harness) {
    constexpr std::int64_t kHeads = 32, kPositions = 256, kWidth = 64;
    const Tensor q = uniform({kHeads, kPositions, kWidth}, 1), k = uniform({kHeads, kPositions, kWidth}, 2);
    const Tensor weights = uniform({kHeads, kPositions, kPositions}, 3);
    Floats out(kHeads * kPositions * kPositions);
    const auto row = [&](const std::string& name, const blas::Product& p, const Tensor& a, const Tensor& b) {
        harness.compare({
            .name = name,
            .weft = [&] { return matmul(a, p.b_transposed ? b.transpose(-2, -1) : b); },
            .references = {[&] {
                for (std::int64_t i = 0; i < kHeads; ++i)
                    blas::multiply(p, data(a) + i * p.m * p.k, data(b) + i * p.k * p.n, out.data() + i * p.m * p.n);
            }},
            .check =
                [&](const Tensor& value) {
                    expect_close(value, out.values().first(static_cast<std::size_t>(kHeads * p.m * p.n)),
                                 tolerance_of(p.k));
                },
            .flops = kHeads * p.flops(),
        });
    };
    row("attention scores 32x(256x64)(256x64)T", {kPositions, kWidth, kPositions, false, true}, q, k);
    row("attention values 32x(256x256)(256x64)", {kPositions, kPositions, kWidth}, weights, k);
}

void bf16_row(Harness& harness) {
    const std::string name = "matmul 1024 bf16, against f32";
    if (!harness.wanted(name)) return;
    const Tensor a = uniform({1024, 1024}, 1).to(bf16).realize(), b = uniform({1024, 1024}, 2).to(bf16).realize();
    const Tensor a_wide = a.to(f32).realize(), b_wide = b.to(f32).realize();
    Floats c(1024 * 1024);
    constexpr blas::Product p{1024, 1024, 1024};
    harness.compare({
        .name = name,
        .want = 0.5,
        .weft = [&] { return matmul(a, b); },
        .references = {[&] { blas::multiply(p, data(a_wide), data(b_wide), c.data()); }},
        .check = [&](const Tensor& value) { expect_close(value, c.values(), {.absolute = 0.01, .relative = 0.005}); },
        .flops = p.flops(),
    });
}

}  // namespace

void matmul_rows(Harness& harness) {
    product_rows(harness);
    linear_relu_row(harness);
    batched_rows(harness);
    attention_rows(harness);
    bf16_row(harness);
}

}  // namespace bench
