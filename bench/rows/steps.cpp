// bench/rows/steps.cpp: what a program waits for between kernels: training steps of small networks, cold and warm, and building an op.
// These have limits in milliseconds, for a quiet machine with two cores and AVX-512.
#include "rows/rows.h"

#include <weft/weft.h>

#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <stdexcept>

extern char** environ;

namespace bench {
namespace {

using namespace weft;

constexpr double kRate = 0.05;

struct Sizes {
    std::int64_t batch, in, hidden, out;
};
constexpr Sizes kMnist{128, 784, 128, 10}, kTiny{32, 4, 16, 3};

std::vector<float> random_values(std::int64_t count, std::uint32_t seed, double scale) {
    std::vector<float> values = uniform({count}, seed).to_vector<float>();
    for (float& value : values) value *= static_cast<float>(scale);
    return values;
}

// A batch and the parameters of a perceptron, in host memory.
struct Problem {
    explicit Problem(const Sizes& s)
        : sizes(s),
          x(random_values(s.batch * s.in, 1, 1)),
          w1(random_values(s.hidden * s.in, 2, 1 / std::sqrt(static_cast<double>(s.in)))),
          b1(random_values(s.hidden, 3, 0.1)),
          w2(random_values(s.out * s.hidden, 4, 1 / std::sqrt(static_cast<double>(s.hidden)))),
          b2(random_values(s.out, 5, 0.1)) {
        for (std::int64_t i = 0; i < s.batch; ++i) labels.push_back(i * 7 % s.out);
    }
    Sizes sizes;
    std::vector<float> x, w1, b1, w2, b2;  // [batch, in], [hidden, in], [hidden], [out, hidden], [out]
    std::vector<std::int64_t> labels;
};

// The same on Weft. Nothing is compiled or run before the first step.
class Perceptron {
public:
    explicit Perceptron(const Problem& p)
        : x_(from_data(p.x, {p.sizes.batch, p.sizes.in})),
          labels_(from_data(p.labels)),
          w1_(from_data(p.w1, {p.sizes.hidden, p.sizes.in}).set_requires_grad()),
          b1_(from_data(p.b1).set_requires_grad()),
          w2_(from_data(p.w2, {p.sizes.out, p.sizes.hidden}).set_requires_grad()),
          b2_(from_data(p.b2).set_requires_grad()),
          optimiser_({w1_, b1_, w2_, b2_}, {.lr = kRate}) {}

    double step() {
        optimiser_.zero_grad();
        const Tensor loss = cross_entropy(linear(relu(linear(x_, w1_, b1_)), w2_, b2_), labels_);
        loss.backward();
        optimiser_.step();
        return loss.item();
    }

private:
    Tensor x_, labels_, w1_, b1_, w2_, b2_;
    optim::SGD optimiser_;
};

// The same as plain loops in double precision; returns the loss before the update.
class PlainPerceptron {
public:
    explicit PlainPerceptron(const Problem& p)
        : p_(p),
          w1_(p.w1.begin(), p.w1.end()),
          b1_(p.b1.begin(), p.b1.end()),
          w2_(p.w2.begin(), p.w2.end()),
          b2_(p.b2.begin(), p.b2.end()) {}

    double step() {
        const auto [batch, in, hidden, out] = p_.sizes;
        Doubles h(batch * hidden), dz(batch * out), dh(batch * hidden);
        double loss = 0;
        for (std::int64_t n = 0; n < batch; ++n) {
            for (std::int64_t j = 0; j < hidden; ++j) {
                double sum = b1_[j];
                for (std::int64_t i = 0; i < in; ++i) sum += p_.x[n * in + i] * w1_[j * in + i];
                h[n * hidden + j] = std::max(sum, 0.0);
            }
            loss += cross_entropy_of(n, &h[n * hidden], &dz[n * out]);
            for (std::int64_t o = 0; o < out; ++o)
                for (std::int64_t j = 0; j < hidden; ++j)
                    if (h[n * hidden + j] > 0) dh[n * hidden + j] += dz[n * out + o] * w2_[o * hidden + j];
        }
        update(w2_, b2_, dz, h, out, hidden);
        update(w1_, b1_, dh, Doubles(p_.x.begin(), p_.x.end()), hidden, in);
        return loss;
    }

private:
    using Doubles = std::vector<double>;

    // Of sample n with the hidden layer h[hidden]; d[out] becomes the gradient of the logits.
    double cross_entropy_of(std::int64_t n, const double* h, double* d) const {
        const auto [batch, in, hidden, out] = p_.sizes;
        double sum = 0;
        for (std::int64_t o = 0; o < out; ++o) {
            double z = b2_[o];
            for (std::int64_t j = 0; j < hidden; ++j) z += h[j] * w2_[o * hidden + j];
            sum += d[o] = std::exp(z);
        }
        const std::int64_t label = p_.labels[n];
        const double right = d[label] / sum;
        for (std::int64_t o = 0; o < out; ++o) d[o] = (d[o] / sum - (o == label ? 1 : 0)) / static_cast<double>(batch);
        return -std::log(right) / static_cast<double>(batch);
    }

    // w[rows, columns] -= rate dᵀ x, b[rows] -= rate (sum of d), for d[batch, rows] and x[batch, columns].
    void update(Doubles& w, Doubles& b, const Doubles& d, const Doubles& x, std::int64_t rows,
                std::int64_t columns) const {
        for (std::int64_t n = 0; n < p_.sizes.batch; ++n)
            for (std::int64_t r = 0; r < rows; ++r) {
                const double slope = kRate * d[n * rows + r];
                b[r] -= slope;
                for (std::int64_t c = 0; c < columns; ++c) w[r * columns + c] -= slope * x[n * columns + c];
            }
    }

    const Problem& p_;
    Doubles w1_, b1_, w2_, b2_;
};

void warm_step_row(Harness& harness, const std::string& name, const Sizes& sizes, double limit_ms, int calls) {
    if (!harness.wanted(name)) return;
    const Problem problem(sizes);
    Perceptron perceptron(problem);
    PlainPerceptron plain(problem);
    for (int i = 0; i < 4; ++i) {
        const double loss = perceptron.step(), right = plain.step();
        if (!(std::abs(loss - right) <= 1e-4 * right))
            return harness.failed(name, "the loss is " + std::to_string(loss) + " instead of " + std::to_string(right));
    }
    harness.limit({.name = name, .limit_ms = limit_ms, .work = [&] { perceptron.step(); }, .calls = calls});
}

// ---- cold: a fresh process -------------------------------------------------------------------------------------------

// An empty folder for what a backend keeps on disk; it goes with the object.
class EmptyCache {
public:
    EmptyCache() : path_((std::filesystem::temp_directory_path() / "weft-bench-XXXXXX").string()) {
        if (!::mkdtemp(path_.data())) throw std::runtime_error("cannot make a temporary folder");
    }
    ~EmptyCache() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    EmptyCache(const EmptyCache&) = delete;
    EmptyCache& operator=(const EmptyCache&) = delete;
    std::string variable() const { return "WEFT_CACHE=" + path_; }

private:
    std::string path_;
};

double cold_step_ms() {
    const EmptyCache empty;
    std::string variable = empty.variable(), program = "/proc/self/exe", argument = kColdStep;
    std::vector<char*> variables{variable.data()};
    for (char** each = environ; *each; ++each)
        if (!std::string_view(*each).starts_with("WEFT_CACHE=")) variables.push_back(*each);
    variables.push_back(nullptr);
    const std::array<char*, 3> arguments{program.data(), argument.data(), nullptr};

    std::array<int, 2> ends{};
    if (::pipe(ends.data()) != 0) throw std::runtime_error("cannot make a pipe");
    posix_spawn_file_actions_t actions;
    ::posix_spawn_file_actions_init(&actions);
    ::posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    ::posix_spawn_file_actions_addclose(&actions, ends[0]);
    ::posix_spawn_file_actions_addclose(&actions, ends[1]);
    pid_t child = 0;
    const int error = ::posix_spawn(&child, program.c_str(), &actions, nullptr, arguments.data(), variables.data());
    ::posix_spawn_file_actions_destroy(&actions);
    ::close(ends[1]);
    std::string text;
    char buffer[64];
    for (ssize_t got; error == 0 && (got = ::read(ends[0], buffer, sizeof buffer)) > 0;)
        text.append(buffer, static_cast<std::size_t>(got));
    ::close(ends[0]);
    int status = 0;
    if (error != 0 || ::waitpid(child, &status, 0) != child || status != 0 || text.empty())
        throw std::runtime_error("the process of the cold step failed");
    return std::stod(text);
}

void cold_step_row(Harness& harness, const std::string& name) try {
    if (!harness.wanted(name)) return;
    settle();
    double best = 1e30;
    for (int i = 0; i < 5; ++i) best = std::min(best, cold_step_ms());
    harness.add({name, best, 30, 1, "the first step of a fresh process"});
} catch (const std::exception& error) {
    harness.failed(name, error.what());
}

// ---- building an op --------------------------------------------------------------------------------------------------

void op_rows(Harness& harness) {
    const Tensor a = uniform({16}, 1), b = uniform({16}, 2);
    harness.limit({.name = "a + b of two small tensors, not run",
                   .limit_ms = 0.3e-3,
                   .work = [&] { const Tensor sum = a + b; },
                   .calls = 1000,
                   .launches = false});
    harness.limit({.name = "a + b of two small tensors, run",
                   .limit_ms = 1.5e-3,
                   .work = [&] { (a + b).realize(); },
                   .calls = 200});
}

}  // namespace

int cold_step() {
    const Problem problem(kMnist);
    Perceptron perceptron(problem);
    double loss = 0;
    const double ms = 1e3 * seconds_of([&] { loss = perceptron.step(); });
    std::printf("%.6f\n", ms);
    const double right = PlainPerceptron(problem).step();
    return std::abs(loss - right) <= 1e-4 * right ? EXIT_SUCCESS : EXIT_FAILURE;
}

void step_rows(Harness& harness) {
    cold_step_row(harness, "MLP step b128 784-128-10, SGD, cold");
    warm_step_row(harness, "MLP step b128 784-128-10, SGD, warm", kMnist, 0.45, 1);
    warm_step_row(harness, "MLP step b32 4-16-3, SGD, warm", kTiny, 0.06, 10);
    op_rows(harness);
}

}  // namespace bench
