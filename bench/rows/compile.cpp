// bench/rows/compile.cpp: from a graph to callable kernels: a run with empty plan and program caches, less a run that finds its plan. So
// it has simplify, fuse, plan, lower, optimise and the backend's own part, divided by the number of kernels. Building the graph is not
// in it, nor is the `c` backend's compiler once its folder of shared objects knows the kernel.
#include "pipeline/plan_cache.h"
#include "pipeline/programs.h"
#include "rows/rows.h"

#include <weft/weft.h>

#include <algorithm>
#include <stdexcept>

namespace bench {
namespace {

using namespace weft;

enum class Kind { Small, Other, Contraction };

struct Case {
    const char* name;
    Kind kind;
    std::function<Tensor()> build;
};

constexpr int kRounds = 9, kPasses = 4;  // over all kernels: a busy second of the machine is nobody's best

// The caches are emptied before.
double compile_ms(const std::function<Tensor()>& build) {
    pipeline::clear_plan_cache();
    pipeline::clear_program_cache();
    const auto run_ms = [&] {
        const Tensor value = build();
        return 1e3 * seconds_of([&] { value.realize(); });
    };
    const CounterScope count;
    const double cold = run_ms();
    const std::int64_t kernels = count.kernels_compiled();
    if (kernels == 0) throw std::logic_error("nothing was compiled");
    const double warm = std::min({run_ms(), run_ms(), run_ms()});
    return (cold - warm) / static_cast<double>(kernels);
}

std::vector<Case> small_cases() {
    const Tensor a = uniform({1000}, 1), b = uniform({1000}, 2), m = uniform({64, 100}, 3), row = uniform({100}, 4);
    return {
        {"a + b", Kind::Small, [=] { return a + b; }},
        {"relu(2 a - b)", Kind::Small, [=] { return relu(a * 2 - b); }},
        {"where(a < b, a, b) with a broadcast row", Kind::Small, [=] { return where(m < row, m, row); }},
        {"sqrt(abs(a)) / b", Kind::Small, [=] { return sqrt(abs(a)) / b; }},
    };
}

std::vector<Case> other_cases() {
    const Tensor a = uniform({1 << 14}, 1), b = uniform({1 << 14}, 2), x = uniform({256, 512}, 3);
    const Tensor weight = uniform({512}, 4), bias = uniform({512}, 5), images = uniform({8, 16, 28, 28}, 6);
    const Tensor logits = uniform({128, 10}, 7), labels = (arange(128) % 10).realize();
    return {
        {"tanh(a*b+a)*sigmoid(a) - relu(b)/2", Kind::Other, [=] { return tanh(a * b + a) * sigmoid(a) - relu(b) / 2; }},
        {"gelu", Kind::Other, [=] { return gelu(a); }},
        {"sum of all", Kind::Other, [=] { return sum(x); }},
        {"sum over rows", Kind::Other, [=] { return sum(x, 0); }},
        {"mean over columns", Kind::Other, [=] { return mean(x, 1); }},
        {"argmax", Kind::Other, [=] { return x.argmax(1); }},
        {"softmax", Kind::Other, [=] { return softmax(x); }},
        {"layer norm", Kind::Other, [=] { return layer_norm(x, {512}, weight, bias); }},
        {"cross-entropy", Kind::Other, [=] { return cross_entropy(logits, labels); }},
        {"transpose + 1", Kind::Other, [=] { return contiguous(x.t() + 1); }},
        {"cast to bf16", Kind::Other, [=] { return x.to(bf16); }},
        {"embedding", Kind::Other, [=] { return embedding(x, labels); }},
        {"max pool", Kind::Other, [=] { return max_pool2d(images, 2); }},
        {"dropout", Kind::Other, [=] { return dropout(x, 0.1); }},
    };
}

std::vector<Case> contraction_cases() {
    const Tensor a = uniform({256, 256}, 1), b = uniform({256, 256}, 2), bias = uniform({256}, 3);
    const Tensor batch = uniform({8, 64, 48}, 4), other = uniform({8, 48, 64}, 5), narrow = uniform({100, 70}, 6);
    const Tensor wide = uniform({70, 37}, 7), a16 = a.to(bf16).realize(), b16 = b.to(bf16).realize();
    Tensor images = uniform({8, 16, 28, 28}, 8), filters = uniform({16, 16, 3, 3}, 9);
    const Tensor seed = uniform({8, 16, 28, 28}, 10);
    images.set_requires_grad(), filters.set_requires_grad();
    const auto convolved = [=] { return conv2d(images, filters, {}, {.padding = 1}); };
    const auto slope = [=](const Tensor& of) { return gradient(convolved(), std::vector<Tensor>{of}, seed)[0]; };
    return {
        {"matmul", Kind::Contraction, [=] { return matmul(a, b); }},
        {"matmul NT + bias + relu", Kind::Contraction, [=] { return relu(matmul(a, b.t()) + bias); }},
        {"matmul TN", Kind::Contraction, [=] { return matmul(a.t(), b); }},
        {"matmul of odd sizes", Kind::Contraction, [=] { return matmul(narrow, wide); }},
        {"batched matmul", Kind::Contraction, [=] { return matmul(batch, other); }},
        {"vector x matrix", Kind::Contraction, [=] { return matmul(bias, a); }},
        {"bf16 matmul", Kind::Contraction, [=] { return matmul(a16, b16); }},
        {"conv 3x3", Kind::Contraction,
         [=] {
             const NoGrad no_grad;
             return convolved();
         }},
        {"conv 3x3, input gradient", Kind::Contraction, [=] { return slope(images); }},
        {"conv 3x3, weight gradient", Kind::Contraction, [=] { return slope(filters); }},
    };
}

double limit_of(Kind kind) { return kind == Kind::Small ? 0.1 : kind == Kind::Other ? 0.5 : 2; }

double median(std::vector<double> values) {
    std::sort(values.begin(), values.end());
    const std::size_t half = values.size() / 2;
    return values.size() % 2 == 1 ? values[half] : (values[half - 1] + values[half]) / 2;
}

}  // namespace

void compile_rows(Harness& harness) {
    const std::string one = "compile one kernel", simple = "compile a small elementwise kernel",
                      product = "compile a contraction";
    const bool all_cases = harness.wanted(one) || harness.wanted(simple) || harness.wanted(product);
    struct Timed {
        Case what;
        double best = 1e30;
        std::string error;
    };
    std::vector<Timed> rows;
    for (const std::vector<Case>& cases : {small_cases(), other_cases(), contraction_cases()})
        for (const Case& each : cases)
            if (all_cases || harness.wanted(std::string("compile ") + each.name)) rows.push_back({.what = each});
    for (int pass = 0; pass < kPasses; ++pass)
        for (Timed& row : rows) try {
                for (int round = 0; round < kRounds && row.error.empty(); ++round)
                    row.best = std::min(row.best, compile_ms(row.what.build));
            } catch (const std::exception& error) {
                row.error = error.what();
            }
    std::vector<double> all, small, contraction;
    for (const Timed& row : rows) {
        const std::string name = std::string("compile ") + row.what.name;
        if (!row.error.empty()) {
            harness.failed(name, row.error);
            continue;
        }
        harness.add({name, row.best, limit_of(row.what.kind), 0, ""});
        all.push_back(row.best);
        if (row.what.kind == Kind::Small) small.push_back(row.best);
        if (row.what.kind == Kind::Contraction) contraction.push_back(row.best);
    }
    if (!all_cases || small.empty() || contraction.empty()) return;
    const auto of = [](const std::vector<double>& values) { return " of " + std::to_string(values.size()); };
    harness.add({one, median(all), 0.5, 1, "median" + of(all)});
    harness.add({simple, median(small), 0.1, 1, "median" + of(small)});
    harness.add(
        {product, *std::max_element(contraction.begin(), contraction.end()), 2, 1, "slowest" + of(contraction)});
}

}  // namespace bench
