// Concatenated arrays: what is computed lies in its place of the whole, whatever else reads it, and the bits are those of plain loops.
// Random graphs seldom put computed values together; these do little else.
#include "core/str.h"
#include "support/decisions.h"
#include "support/differential.h"
#include "support/random_leaves.h"
#include "support/some.h"
#include "tensor/cell.h"

#include <weft/debug.h>
#include <weft/nn.h>
#include <weft/weft.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace weft::testing {
namespace {

constexpr std::uint64_t kGraphs = 400;

std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
    const char* text = std::getenv(name);
    return text && *text ? std::strtoull(text, nullptr, 10) : fallback;
}

class Joins {
public:
    explicit Joins(std::uint64_t seed) : rng_(seed), dtype_(rng_.pick({f32, f32, f32, f64, f16, i32})) {
        for (int i = 0; i < 3; ++i) parts_.push_back(leaf());
    }

    Roots run() {
        std::vector<Tensor> results;
        for (std::int64_t n = rng_.within(1, 4); n > 0; --n) {
            for (std::int64_t more = rng_.within(0, 3); more > 0; --more) parts_.push_back(part());
            results.push_back(rng_.chance(0.3) ? stacked() : joined());
            if (rng_.chance(0.4)) results.back() = used(results.back());
            parts_.push_back(sized(results.back()));
        }
        for (std::int64_t n = rng_.below(3); n > 0; --n) results.push_back(rng_.pick(parts_));  // asked for as well
        if (is_float(dtype_) && !learned_.empty() && rng_.chance(0.4))
            for (const Tensor& g : gradient(sum(results[0] * leaf(results[0].shape())), learned_)) results.push_back(g);
        Roots roots;
        for (const Tensor& result : results)
            if (const ir::NodeRef node = node_of(result); std::find(roots.begin(), roots.end(), node) == roots.end())
                roots.push_back(node);
        return roots;
    }

private:
    Tensor leaf(const Shape& shape) { return make_tensor(random_leaf(rng_, dtype_, shape, Data::Tame)); }
    Tensor leaf() {
        Tensor x = leaf({rows_, columns_});
        if (is_float(dtype_) && rng_.chance(0.5)) learned_.push_back(x.set_requires_grad());
        return x;
    }

    // Every part has this many columns, and any number of rows.
    Tensor sized(const Tensor& x) {
        if (x.size(1) == columns_) return x;
        return x.numel() % columns_ == 0 ? x.reshape({-1, columns_}) : x.narrow(1, 0, 1).expand({x.size(0), columns_});
    }

    Tensor part() {
        const Tensor x = rng_.pick(parts_);
        switch (rng_.below(11)) {
            case 0: return x * x + 1;
            case 1: return x.matmul(leaf({columns_, columns_}));
            case 2: return is_float(dtype_) ? softmax(x, 1) : maximum(x, -x);
            case 3: return x - sum(x, Axes{1}, true);
            case 4: return scanned(x);
            case 5: return x.narrow(0, 0, std::max<std::int64_t>(1, x.size(0) - 1));
            case 6: return x.flip(1).clone();
            case 7: return is_float(dtype_) ? tanh(exp(x)) * x : x / 3;
            case 8: return x.matmul(leaf({columns_, columns_})).reshape({columns_, x.size(0)}).t();
            case 9: return sum(x, Axes{0}, true) + 1;
            default: return leaf();
        }
    }

    Tensor scanned(const Tensor& x) {
        const int axis = rng_.pick({0, 1});
        switch (is_float(dtype_) ? rng_.below(4) : 0) {
            case 0: return cumsum(x, axis);
            case 1: return cumprod(x, axis);
            case 2: return cummax(x, axis).values;
            default: return logcumsumexp(x, axis);
        }
    }

    Tensor joined() {
        std::vector<Tensor> chosen;
        for (std::int64_t n = rng_.chance(0.05) ? 40 : rng_.within(2, 6); n > 0; --n)
            chosen.push_back(rng_.pick(parts_));
        if (rng_.chance(0.6)) return cat(chosen, 0);
        std::int64_t rows = chosen[0].size(0);
        for (const Tensor& x : chosen) rows = std::min(rows, x.size(0));
        for (Tensor& x : chosen) x = x.narrow(0, 0, rows);
        return cat(chosen, 1);
    }

    Tensor stacked() {
        const Tensor x = rng_.pick(parts_), w = leaf({columns_, columns_});
        std::vector<Tensor> steps{x};
        for (std::int64_t n = rng_.chance(0.1) ? 35 : rng_.within(1, 5); n > 0; --n) {
            const Tensor next = steps.back().matmul(w) * leaf({1, columns_});
            steps.push_back(is_float(dtype_) ? tanh(next) : next);
        }
        if (rng_.chance(0.5)) steps.erase(steps.begin());
        if (rng_.chance(0.3)) steps.push_back(scanned(steps.back()));
        return stack(steps, rng_.pick({0, 1})).reshape({-1, columns_});
    }

    Tensor used(const Tensor& x) {
        switch (rng_.below(5)) {
            case 0: return x.matmul(leaf({x.size(1), columns_}));
            case 1: return maximum(x, -x);
            case 2: return x * sum(x, Axes{0}, true);
            case 3: return x.t().clone().t();
            default: return x + x.narrow(0, 0, 1);
        }
    }

    Rng rng_;
    DType dtype_;
    std::int64_t rows_ = rng_.pick({1, 2, 3, 7, 16}), columns_ = rng_.pick({1, 5, 16, 20, 33, 64});
    std::vector<Tensor> parts_, learned_;
};

std::string complaint(const Roots& roots, std::uint64_t seed) {
    try {
        const WordLists plain = compute(roots, {.optimise = false});
        std::vector<Mode> modes{{.threads = 2}, {.donate = true}};
        if (have_backend("x86")) {
            modes.push_back({.backend = "x86", .threads = 2});
            modes.push_back({.backend = "x86", .cpu = "avx2"});
        }
        if (have_backend("c") && seed % 8 == 0) modes.push_back({.backend = "c"});
        for (const Mode& mode : modes)
            if (const std::string text = first_difference(roots, plain, compute(roots, mode)); !text.empty())
                return str("ref, plain and ", to_string(mode), ": ", text);
        return oracle_complaint(roots);
    } catch (const std::exception& error) {
        return error.what();
    }
}

std::int64_t launches(const std::function<std::vector<Tensor>()>& work) {
    const BackendScope ref("ref");
    const std::vector<Tensor> tensors = work();
    const CounterScope count;
    realize(tensors);
    return count.kernels_launched();
}

}  // namespace

TEST_CASE("concatenated values have the same bits however they are computed, and the oracle's values") {
    int failures = 0;
    for (std::uint64_t seed = from_environment("WEFT_SEED", 0),
                       end = seed + from_environment("WEFT_RANDOM_GRAPHS", kGraphs);
         seed < end && failures < 3; ++seed) {
        const Roots roots = Joins(seed).run();
        if (complaint(roots, seed).empty()) continue;
        ++failures;
        const Roots small =
            shrink_graph(roots, [&](const Roots& candidate) { return !complaint(candidate, seed).empty(); });
        FAIL_CHECK("seed ", seed, ": ", complaint(small, seed), "\n", describe(small));
    }
}

TEST_CASE("a scan beside other arrays, asked for itself as well") {
    const DeviceScope host(cpu);
    Tensor x = some({4, 5}), w = some({5, 3}, f32, 2);
    for (const auto scan : {cumsum, cumprod, logcumsumexp})
        for (const int axis : {0, 1}) {
            CAPTURE(axis);
            const Tensor flat = some({48}), running = scan(flat, 0);
            CHECK(complaint({node_of(running), node_of(stack({flat, running}))}, 0) == "");
            CHECK(complaint({node_of(running), node_of(stack({flat, running}, 1))}, 0) == "");
            CHECK(complaint({node_of(running), node_of(cat({running.reshape({6, 8}), flat.reshape({6, 8})}, 1))}, 0) ==
                  "");
            x.set_requires_grad();
            const Tensor c = scan(x, axis), product = sum(stack({c, x}).matmul(w));
            CHECK(complaint({node_of(gradient(product, std::vector{x})[0]), node_of(product)}, 0) == "");
        }
}

TEST_CASE("parts that cover a computed value as a whole") {
    for (const bool scanned : {true, false}) {
        const Tensor high = tanh(some({2, 2})), row = clamp(high[0], -1.0, 1.0);
        Tensor all = scanned ? cumsum(row, 0) : row * sum(row);
        all.slice(0, {1}).fill_(0.3);
        all[0].fill_(0.9);
        const Tensor total = sum(all, 0);
        CHECK(all.to_vector<float>() == std::vector<float>{0.9f, 0.3f});
        CHECK(total.item<float>() == 0.9f + 0.3f);
    }
}

TEST_CASE("what is written in place stays where it is, and its joins are copies") {
    for (const char* backend : {"ref", "x86"}) {
        if (!have_backend(backend)) continue;
        CAPTURE(backend);
        const BackendScope scope(backend);
        for (const std::int64_t n : {2, 15, 300}) {
            CAPTURE(n);
            Tensor x = (arange(n).to(f32) + 1).clone().realize();
            std::vector<float> expected = x.to_vector<float>();
            expected[1] = -2;
            select(x, 0, 1).fill_(-2);
            const Tensor twice = cat({x, x}, 0), beside = stack({x, cumsum(x, 0)});
            realize(std::vector{twice, beside, x});
            CHECK(x.to_vector<float>() == expected);
            CHECK(twice.narrow(0, 0, n).to_vector<float>() == expected);
            CHECK(twice.narrow(0, n, n).to_vector<float>() == expected);
            CHECK(beside.narrow(0, 0, 1).to_vector<float>() == expected);
            select(x, 0, 0).fill_(7);  // by another plan: the join is asked for alone
            expected[0] = 7;
            CHECK(cat({x, x}, 0).narrow(0, n, n).to_vector<float>() == expected);
            CHECK(x.to_vector<float>() == expected);
        }
    }
}

TEST_CASE("what is computed by kernels and concatenated needs no kernel more") {
    const Tensor a = some({64, 48}), b = some({64, 48}, f32, 2), w = some({48, 32}), v = some({48, 32}, f32, 2);
    CHECK(launches([&] { return std::vector{cat({a.matmul(w), b.matmul(v)}, 0)}; }) == 2);
    CHECK(launches([&] { return std::vector{cat({a.matmul(w), b.matmul(v)}, 1)}; }) == 2);
    CHECK(launches([&] { return std::vector{stack({a.matmul(w), b.matmul(v)})}; }) == 2);
    CHECK(launches([&] { return std::vector{cat({a, b}, 0)}; }) == 1);
    CHECK(launches([&] { return std::vector{cat({a.matmul(w), softmax(v, 1)}, 0)}; }) == 2);
    const Tensor once = a.matmul(w);
    CHECK(launches([&] { return std::vector{cat({once, once}, 0)}; }) == 1);  // stored twice
    const Tensor also_asked_for = a.matmul(w);
    CHECK(launches([&] { return std::vector{also_asked_for, cat({also_asked_for, b.matmul(v)}, 0)}; }) == 2);
    // The whole in a whole, and read by a product.
    CHECK(launches([&] {
              const Tensor inner = cat({a.matmul(w), b.matmul(v)}, 1);  // [64, 64]
              return std::vector{stack({inner, cat({b.matmul(w), a.matmul(v)}, 1)}).matmul(some({64, 8}).realize())};
          }) == 5);
}

TEST_CASE("large parts are copied one after the other") {
    Rng rng(1);
    for (const DType dtype : {f32, f64, u8})
        for (const int axis : {0, 1}) {
            CAPTURE(dtype);
            CAPTURE(axis);
            std::vector<Tensor> parts;
            for (int i = 0; i < 5; ++i) parts.push_back(make_tensor(dense_leaf(rng, dtype, {301, 157}, Data::Tame)));
            const Tensor all = cat(parts, axis);
            const Explanation plan = explain(all);
            REQUIRE(plan.kernels.size() == 1);
            CHECK(plan.kernels[0].inside.size() == 5);
            CHECK(testing::decides<kernel::Distribute>(all));
            CHECK(complaint({node_of(all)}, 0).empty());
        }
}

TEST_CASE("a product that stands in many places is computed once") {
    const Tensor product = some({4, 16}).matmul(some({16, 32}));
    const BackendScope ref("ref");
    const CounterScope count;
    const Tensor all = cat(std::vector<Tensor>(50, product), 0).realize();
    CHECK(count.contractions_launched() == 1);
    const std::vector<float> once = product.to_vector<float>();
    for (int i = 0; i < 50; ++i) CHECK(all.narrow(0, 4 * i, 4).to_vector<float>() == once);
}

TEST_CASE("what a gradient needs is kept as part of the whole that it lies in") {
    for (const int axis : {0, 1}) {
        CAPTURE(axis);
        Tensor x = some({8, 32}), w = some({32, 32}, f32, 2), v = some({axis == 0 ? 32 : 64, 3}, f32, 3);
        for (Tensor* t : {&x, &w, &v}) t->set_requires_grad();
        const auto loss = [&] {
            const Tensor h = tanh(x.matmul(w));
            return sum(cat({h, softmax(h.matmul(w), 1)}, axis).matmul(v) * 0.5f);
        };
        const std::vector<Tensor> leaves{x, w, v}, expected = gradient(loss(), leaves);
        const Tensor read_before = loss();
        const float value = read_before.item<float>();
        read_before.backward();
        CHECK(value == loss().item<float>());
        for (std::size_t i = 0; i < leaves.size(); ++i) {
            const std::vector<float> a = leaves[i].grad().to_vector<float>(), b = expected[i].to_vector<float>();
            for (std::size_t j = 0; j < a.size(); ++j) CHECK(a[j] == doctest::Approx(b[j]).epsilon(1e-5));
        }
    }
}

TEST_CASE("more parts than a kernel has buffers") {
    for (const int axis : {0, 1}) {
        CAPTURE(axis);
        const Tensor w = some({32, 32});
        std::vector<Tensor> parts{some({4, 32})};
        for (int i = 0; i < 99; ++i) parts.push_back(tanh(parts.back().matmul(w)));
        CHECK(launches([&] { return std::vector{cat(parts, axis)}; }) == 100);
        std::vector<Tensor> memory;
        for (int i = 0; i < 100; ++i) memory.push_back(some({4, 32}, f32, i));
        CHECK(launches([&] { return std::vector{cat(memory, axis)}; }) == 7);  // 16 copies each
    }
}

TEST_CASE("a chain of a thousand arrays, each put next to all those before it") {
    const Tensor w = some({16, 16});
    Tensor x = some({1, 16}), all = x;
    for (int i = 0; i < 1000; ++i) {
        x = tanh(x.matmul(w) + 1);
        all = cat({all, x}, 0);
    }
    all.realize();
    CHECK(all.narrow(0, 0, 1).to_vector<float>() == some({1, 16}).to_vector<float>());
    CHECK(all.narrow(0, 1000, 1).to_vector<float>() == x.to_vector<float>());
}

TEST_CASE("a recurrent network's steps are written where they are stacked, and so are their gradients") {
    nn::LSTM lstm(16, 32);
    const Tensor x = some({40, 4, 16});
    lstm.run(x, {}, {}).output.sum().backward();
    const Explanation plan = explain(lstm.cells[0].input.grad());
    for (const Explanation::Kernel& kernel : plan.kernels) CHECK(kernel.compute.find("insert") == std::string::npos);
}

}  // namespace weft::testing
