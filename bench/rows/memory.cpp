// bench/rows/memory.cpp: work that memory bounds, against vector loops with two threads: elementwise, reductions, rows, a transpose.
#include "reference/memory.h"
#include "reference/team.h"
#include "rows/loop_references.h"
#include "rows/rows.h"

#include <weft/weft.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace bench {
namespace {

using namespace weft;

constexpr std::int64_t kCount = std::int64_t{1} << 24;                     // "16M"
constexpr std::int64_t kRows = 4096, kColumns = 1024;                      // the matrix of the others
constexpr double kArray = 4.0 * kCount, kMatrix = 4.0 * kRows * kColumns;  // bytes
constexpr std::int64_t kPieces = 8;  // of either, claimed by two threads; more of them only break the streams

void add_row(Harness& harness) {
    const std::string name = "a + b, 16M";
    if (!harness.wanted(name)) return;
    const Tensor a = uniform({kCount}, 1), b = uniform({kCount}, 2);
    Floats out(kCount);
    harness.compare({
        .name = name,
        .want = 0.95,
        .weft = [&] { return a + b; },
        .references = loop_references([&](const Loops& loops) {
            team().run(kPieces, [&](std::int64_t i) {
                const std::int64_t some = kCount / kPieces, at = i * some;
                loops.add(data(a) + at, data(b) + at, out.data() + at, some);
            });
        }),
        .check = [&](const Tensor& value) { expect_close(value, out.values(), {}); },
        .bytes = 3 * kArray,
    });
}

// Against a loop that only reads three arrays and writes one, the limit for anything that does so; and, for information, against a loop
// that computes it.
void chain_rows(Harness& harness) {
    const std::string name = "tanh(a*b+c)*sigmoid(a) - relu(b)/2, 16M", computed = name + ", computed";
    if (!harness.wanted(name) && !harness.wanted(computed)) return;
    const Tensor a = uniform({kCount}, 1), b = uniform({kCount}, 2), c = uniform({kCount}, 3);
    Floats out(kCount);
    const auto row = [&](const std::string& name, double want, decltype(Loops::add3) Loops::*loop) {
        harness.compare({
            .name = name,
            .want = want,
            .weft = [&] { return tanh(a * b + c) * sigmoid(a) - relu(b) / 2; },
            .references = loop_references([&](const Loops& loops) {
                team().run(kPieces, [&](std::int64_t i) {
                    const std::int64_t some = kCount / kPieces, at = i * some;
                    (loops.*loop)(data(a) + at, data(b) + at, data(c) + at, out.data() + at, some);
                });
            }),
            .check =
                [&](const Tensor& value) {
                    const auto right = [&](std::int64_t i) {
                        const double x = data(a)[i], y = data(b)[i], z = data(c)[i];
                        return std::tanh(x * y + z) / (1 + std::exp(-x)) - std::max(y, 0.0) / 2;
                    };
                    expect_samples(value, right, {.absolute = 1e-6, .relative = 1e-5});
                    if (want == 0) expect_close(value, out.values(), {.absolute = 1e-6, .relative = 1e-5});
                },
            .bytes = 4 * kArray,
        });
    };
    row(name, 0.9, &Loops::add3);
    row(computed, 0, &Loops::chain);
}

void sum_row(Harness& harness) {
    const std::string name = "sum, 16M";
    if (!harness.wanted(name)) return;
    const Tensor x = uniform({kCount}, 1);
    std::array<float, kPieces> sums{};
    float total = 0;
    harness.compare({
        .name = name,
        .want = 0.95,
        .weft = [&] { return sum(x); },
        .references = {[&] {
            team().run(kPieces, [&](std::int64_t i) {
                sums[static_cast<std::size_t>(i)] = loops().sum(data(x) + i * (kCount / kPieces), kCount / kPieces);
            });
            total = 0;
            for (const float piece : sums) total += piece;
        }},
        .check =
            [&](const Tensor& value) {
                expect_close(value, {&total, 1}, {.absolute = 1, .relative = 1e-4});
            },
        .bytes = kArray,
    });
}

void sum_rows_row(Harness& harness) {
    const std::string name = "sum over axis 0 of 4096x1024";
    if (!harness.wanted(name)) return;
    constexpr std::int64_t kParts = 8;
    const Tensor x = uniform({kRows, kColumns}, 1);
    Floats sums(kParts * kColumns);
    harness.compare({
        .name = name,
        .want = 0.95,
        .weft = [&] { return sum(x, 0); },
        .references = {[&] {
            team().run(kParts, [&](std::int64_t i) {
                const std::int64_t some = kRows / kParts;
                loops().sum_rows(data(x) + i * some * kColumns, sums.data() + i * kColumns, some, kColumns);
            });
            for (std::int64_t i = 1; i < kParts; ++i) loops().add_to(sums.data() + i * kColumns, sums.data(), kColumns);
        }},
        .check =
            [&](const Tensor& value) {
                expect_close(value, sums.values().first(kColumns), {.absolute = 1e-3, .relative = 1e-4});
            },
        .bytes = kMatrix,
    });
}

// Rows that both sides compute each on their own: `loop` does `rows` of them, from x to out.
using RowLoop = std::function<void(const Loops& loops, const float* x, float* out, std::int64_t rows)>;
void rows_row(Harness& harness, const std::string& name, const std::function<Tensor(const Tensor&)>& work,
              const RowLoop& loop) {
    if (!harness.wanted(name)) return;
    const Tensor x = (uniform({kRows, kColumns}, 1) * 4).realize();
    Floats out(kRows * kColumns);
    harness.compare({
        .name = name,
        .want = 0.9,
        .weft = [&] { return work(x); },
        .references = loop_references([&](const Loops& loops) {
            team().run(kPieces, [&](std::int64_t i) {
                const std::int64_t some = kRows / kPieces, at = i * some * kColumns;
                loop(loops, data(x) + at, out.data() + at, some);
            });
        }),
        .check = [&](const Tensor& value) { expect_close(value, out.values(), {.absolute = 2e-6, .relative = 1e-5}); },
        .bytes = 2 * kMatrix,
    });
}

void transpose_row(Harness& harness) {
    const std::string name = "transpose + 1 of 4096x1024";
    if (!harness.wanted(name)) return;
    const Tensor x = uniform({kRows, kColumns}, 1);
    Floats out(kRows * kColumns);
    harness.compare({
        .name = name,
        .want = 0.95,
        .weft = [&] { return contiguous(x.t() + 1); },
        .references = loop_references([&](const Loops& loops) {
            team().run(kPieces, [&](std::int64_t i) {
                const std::int64_t some = kRows / kPieces;
                loops.transpose_plus_1(data(x) + i * some * kColumns, out.data() + i * some, some, kRows, kColumns);
            });
        }),
        .check = [&](const Tensor& value) { expect_close(value, out.values(), {}); },
        .bytes = 2 * kMatrix,
    });
}

}  // namespace

void memory_rows(Harness& harness) {
    add_row(harness);
    sum_row(harness);
    sum_rows_row(harness);
    transpose_row(harness);
    chain_rows(harness);
    rows_row(
        harness, "softmax of 4096x1024", [](const Tensor& x) { return softmax(x); },
        [](const Loops& loops, const float* x, float* out, std::int64_t rows) {
            loops.softmax(x, out, rows, kColumns);
        });
    const Tensor weight = uniform({kColumns}, 4), bias = uniform({kColumns}, 5);
    rows_row(
        harness, "layer norm of 4096x1024", [&](const Tensor& x) { return layer_norm(x, {kColumns}, weight, bias); },
        [&](const Loops& loops, const float* x, float* out, std::int64_t rows) {
            loops.layer_norm(x, data(weight), data(bias), 1e-5f, out, rows, kColumns);
        });
}

}  // namespace bench
