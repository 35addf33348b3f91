// weft/lr_scheduler.h: learning rates that change from step to step. A changed rate never compiles anything anew.
//
//     optim::SGD sgd(net.parameters(), {.lr = 0.1});
//     optim::LRScheduler scheduler(sgd, optim::cosine_annealing_lr(100));
//     for (…) { …  sgd.step();  scheduler.step(); }
#pragma once

#include <weft/api.h>
#include <weft/optim.h>

#include <cstdint>
#include <functional>
#include <limits>
#include <vector>

namespace WEFT_API weft {
namespace optim {

// ---- schedules -------------------------------------------------------------------------------------------------------

// A schedule gives the rate of a step from the rate before it, the group's first rate, and the step's number. At step 0 `before`
// is the first rate. Most only scale `before`, so that several schedules may follow one another on one optimiser.
struct Rate {
    double before, first;
    std::int64_t step;
};
using Schedule = std::function<double(const Rate&)>;

Schedule lambda_lr(std::function<double(std::int64_t step)> factor);               // first * factor(step)
Schedule step_lr(std::int64_t step_size, double gamma = 0.1);                      // times gamma every step_size steps
Schedule multi_step_lr(std::vector<std::int64_t> milestones, double gamma = 0.1);  // times gamma at each milestone
Schedule exponential_lr(double gamma);                                             // times gamma every step
Schedule constant_lr(double factor = 1.0 / 3, std::int64_t total_iters = 5);       // first * factor, then first
Schedule linear_lr(double start_factor = 1.0 / 3, double end_factor = 1, std::int64_t total_iters = 5);
Schedule linear_warmup(std::int64_t warmup_steps);                       // first / n, 2 first / n …, then first
Schedule polynomial_lr(std::int64_t total_iters = 5, double power = 1);  // first * (1 - step / total_iters)^power
Schedule cosine_annealing_lr(std::int64_t t_max, double eta_min = 0);    // half a cosine from first to eta_min

// Half a cosine in t_0 steps, then again in t_mult times as many, and so on.
Schedule cosine_annealing_warm_restarts(std::int64_t t_0, std::int64_t t_mult = 1, double eta_min = 0);

// Up from max_lr / div_factor to max_lr in pct_start of the steps, then down to a final_div_factor-th of where it began; in
// three phases first down to where it began.
struct OneCycleOptions {
    double pct_start = 0.3, div_factor = 25, final_div_factor = 1e4;
    bool linear = false, three_phase = false;
};
Schedule one_cycle_lr(double max_lr, std::int64_t total_steps, const OneCycleOptions& options = {});

// One schedule after the other: from each milestone on the next one, which begins with its step 0.
//
//     sequential_lr({linear_warmup(10), cosine_annealing_lr(90)}, {10});
Schedule sequential_lr(std::vector<Schedule> schedules, std::vector<std::int64_t> milestones);

// What one_cycle_lr goes through: from `start` to `peak` and on to `end`.
double one_cycle(double start, double peak, double end, std::int64_t step, std::int64_t total_steps,
                 const OneCycleOptions& options);

// ---- schedulers ------------------------------------------------------------------------------------------------------

// Sets the rates of all groups by one schedule: at once for step 0, and then at each step().
class LRScheduler {
public:
    LRScheduler(Optimizer& optimizer, Schedule schedule);
    LRScheduler(const LRScheduler&) = delete;
    LRScheduler& operator=(const LRScheduler&) = delete;

    void step();
    std::int64_t last_epoch() const { return state_.last_epoch; }
    std::vector<double> get_last_lr() const;

    struct State {
        std::int64_t last_epoch = 0;
        std::vector<double> first, last;  // rates by group
    };
    State state() const;
    void load_state(const State& state);

private:
    void set_rates();
    Optimizer& optimizer_;
    const Schedule schedule_;
    State state_;
};

// Scales the rates by `factor` after more than `patience` steps without a better value.
//
//     optim::ReduceLROnPlateau scheduler(sgd, {.patience = 3});
//     scheduler.step(validation_loss);
struct PlateauOptions {
    bool maximize = false;  // a larger value is better
    double factor = 0.1;
    std::int64_t patience = 10;
    double threshold = 1e-4;  // how much better, as a part of the best value, or absolutely
    bool absolute_threshold = false;
    std::int64_t cooldown = 0;
    double min_lr = 0, eps = 1e-8;  // a change of less than eps is not made
};
class ReduceLROnPlateau {
public:
    explicit ReduceLROnPlateau(Optimizer& optimizer, const PlateauOptions& options = {});
    void step(double value);
    std::int64_t last_epoch() const { return state_.last_epoch; }
    double best() const { return state_.best; }

    struct State {
        std::int64_t last_epoch = 0, bad_epochs = 0, cooldown = 0;
        double best = std::numeric_limits<double>::infinity();
    };
    State state() const { return state_; }
    void load_state(const State& state) { state_ = state; }

private:
    bool better(double value) const;
    Optimizer& optimizer_;
    const PlateauOptions options_;
    State state_;
};

}  // namespace optim
}  // namespace weft
