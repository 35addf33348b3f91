// Schedules against their definitions, and that a changed rate compiles nothing.
#include <weft/debug.h>
#include <weft/lr_scheduler.h>
#include <weft/ops.h>

#include <doctest/doctest.h>

#include <cmath>
#include <numbers>
#include <vector>

using namespace weft;
using namespace weft::optim;

namespace {

std::vector<double> rates(const Schedule& schedule, int count) {
    const Tensor p = zeros({1}).set_requires_grad();
    SGD sgd({p}, {.lr = 1});
    LRScheduler scheduler(sgd, schedule);
    std::vector<double> result;
    for (int i = 0; i < count; ++i, scheduler.step()) result.push_back(sgd.lr());
    CHECK(scheduler.last_epoch() == count);
    return result;
}

void check_rates(const Schedule& schedule, const std::vector<double>& expected) {
    const std::vector<double> found = rates(schedule, static_cast<int>(expected.size()));
    for (std::size_t i = 0; i < expected.size(); ++i) {
        CAPTURE(i);
        CHECK(found[i] == doctest::Approx(expected[i]).epsilon(1e-12));
    }
}

}  // namespace

TEST_CASE("schedules") {
    check_rates(lambda_lr([](std::int64_t i) { return 1.0 / (1.0 + static_cast<double>(i)); }), {1, 1.0 / 2, 1.0 / 3});
    check_rates(step_lr(2, 0.5), {1, 1, 0.5, 0.5, 0.25});
    check_rates(multi_step_lr({1, 4, 4}, 0.5), {1, 0.5, 0.5, 0.5, 0.125});
    check_rates(exponential_lr(0.5), {1, 0.5, 0.25});
    check_rates(constant_lr(0.5, 2), {0.5, 0.5, 1, 1});
    check_rates(linear_lr(0.5, 1, 2), {0.5, 0.75, 1, 1});
    check_rates(linear_warmup(4), {0.25, 0.5, 0.75, 1, 1});
    check_rates(polynomial_lr(4, 2), {1, 0.5625, 0.25, 0.0625, 0, 0});
    const auto cosine = [](double part) { return (1 + std::cos(std::numbers::pi * part)) / 2; };
    check_rates(cosine_annealing_lr(3), {1, cosine(1 / 3.), cosine(2 / 3.), 0, cosine(4 / 3.), cosine(5 / 3.), 1});
    check_rates(cosine_annealing_warm_restarts(2, 2), {1, 0.5, 1, cosine(1 / 4.), 0.5, cosine(3 / 4.), 1});
    check_rates(one_cycle_lr(1, 5, {.pct_start = 0.6, .div_factor = 4, .final_div_factor = 25, .linear = true}),
                {0.25, 0.625, 1, 0.505, 0.01});
    check_rates(sequential_lr({linear_warmup(2), exponential_lr(0.5)}, {2}), {0.5, 1, 1, 0.5, 0.25});
    CHECK_THROWS_AS(step_lr(0), ValueError);
    CHECK_THROWS_AS(sequential_lr({exponential_lr(1)}, {3}), ValueError);
    CHECK_THROWS_AS(rates(one_cycle_lr(1, 3), 6), ValueError);
}

TEST_CASE("a scheduler's state goes on, for each group") {
    const Tensor p = zeros({1}).set_requires_grad(), q = zeros({1}).set_requires_grad();
    Adam first({p}, {.lr = 1}), second({q}, {.lr = 9});
    LRScheduler a(first, cosine_annealing_lr(10));
    for (int i = 0; i < 4; ++i) a.step();
    LRScheduler b(second, cosine_annealing_lr(10));
    b.load_state(a.state());
    a.step();
    b.step();
    CHECK(b.last_epoch() == 5);
    CHECK(a.get_last_lr() == b.get_last_lr());
}

TEST_CASE("a plateau lowers the rate") {
    const Tensor p = zeros({1}).set_requires_grad();
    SGD sgd({p}, {.lr = 1});
    ReduceLROnPlateau scheduler(sgd, {.patience = 1, .cooldown = 1, .min_lr = 0.05});
    std::vector<double> found;
    for (const double value : {3.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 2.0, 1.0}) {
        scheduler.step(value);
        found.push_back(sgd.lr());
    }
    CHECK(found == std::vector<double>{1, 1, 1, 0.1, 0.1, 0.1, 0.05, 0.05, 0.05, 0.05});
    CHECK(scheduler.best() == 1);
    CHECK_THROWS_AS(ReduceLROnPlateau(sgd, {.factor = 2}), ValueError);
}

TEST_CASE("a changing rate compiles nothing") {
    const Tensor w = Tensor((randn({4, 3}) * 0.1).realize()).set_requires_grad(), x = randn({5, 4}).realize();
    AdamW adam({w});
    LRScheduler scheduler(adam, one_cycle_lr(0.1, 20));
    for (int i = 0; i < 20; ++i, scheduler.step()) {
        const CounterScope count;
        adam.zero_grad();
        square(matmul(x, w)).sum().backward();
        adam.step();
        if (i == 0) continue;
        CHECK(count.kernels_compiled() == 0);
        CHECK(count.plans_made() == 0);
    }
}
