// optim/lr_scheduler.cpp: schedules, which are formulas for one rate, and the schedulers that apply them to an optimiser.
#include <weft/error.h>
#include <weft/lr_scheduler.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft::optim {
namespace {

void check_positive(std::string_view function, std::string_view name, double value) {
    if (!(value > 0)) throw ValueError(std::string(function) + ": " + std::string(name) + " must be positive");
}

double half_cosine(double part) { return (1 + std::cos(std::numbers::pi * part)) / 2; }  // 1 at 0, 0 at 1
double as_double(std::int64_t n) { return static_cast<double>(n); }

}  // namespace

Schedule lambda_lr(std::function<double(std::int64_t step)> factor) {
    return [factor = std::move(factor)](const Rate& r) { return r.first * factor(r.step); };
}

Schedule step_lr(std::int64_t step_size, double gamma) {
    check_positive("step_lr", "step_size", as_double(step_size));
    return [=](const Rate& r) { return r.step > 0 && r.step % step_size == 0 ? r.before * gamma : r.before; };
}

Schedule multi_step_lr(std::vector<std::int64_t> milestones, double gamma) {
    return [milestones = std::move(milestones), gamma](const Rate& r) {
        const auto here = std::count(milestones.begin(), milestones.end(), r.step);
        return here == 0 ? r.before : r.before * std::pow(gamma, as_double(here));
    };
}

Schedule exponential_lr(double gamma) {
    return [=](const Rate& r) { return r.step > 0 ? r.before * gamma : r.before; };
}

Schedule constant_lr(double factor, std::int64_t total_iters) {
    if (!(factor > 0 && factor <= 1)) throw ValueError("constant_lr: factor must be above 0 and at most 1");
    return [=](const Rate& r) {
        return r.step == 0 ? r.before * factor : r.step == total_iters ? r.before / factor : r.before;
    };
}

Schedule linear_lr(double start_factor, double end_factor, std::int64_t total_iters) {
    if (!(start_factor > 0 && start_factor <= 1))
        throw ValueError("linear_lr: start_factor must be above 0 and at most 1");
    if (!(end_factor >= 0 && end_factor <= 1)) throw ValueError("linear_lr: end_factor must lie between 0 and 1");
    return [=](const Rate& r) {
        if (r.step == 0) return r.before * start_factor;
        if (r.step > total_iters) return r.before;
        const double rise = end_factor - start_factor, whole = as_double(total_iters) * start_factor;
        return r.before * (1 + rise / (whole + as_double(r.step - 1) * rise));  // the line's growth in one step
    };
}

Schedule linear_warmup(std::int64_t warmup_steps) {
    check_positive("linear_warmup", "warmup_steps", as_double(warmup_steps));
    return [=](const Rate& r) { return r.first * std::min(1.0, as_double(r.step + 1) / as_double(warmup_steps)); };
}

Schedule polynomial_lr(std::int64_t total_iters, double power) {
    return [=](const Rate& r) {
        if (r.step == 0 || r.step > total_iters) return r.before;
        const double left = as_double(total_iters - r.step);
        return r.before * std::pow(left / (left + 1), power);
    };
}

// By the ratio of neighbouring values, so that other schedules may scale the rate too. At the bottom, where that is 0 / 0 or
// comes from 0, the value itself is taken.
Schedule cosine_annealing_lr(std::int64_t t_max, double eta_min) {
    check_positive("cosine_annealing_lr", "t_max", as_double(t_max));
    return [=](const Rate& r) {
        if (r.step == 0) return r.before;
        const auto at = [t_max](std::int64_t step) { return half_cosine(as_double(step) / as_double(t_max)); };
        if ((r.step - 1) % (2 * t_max) == t_max) return r.before + (r.first - eta_min) * at(r.step);
        return eta_min + (r.before - eta_min) * at(r.step) / at(r.step - 1);
    };
}

Schedule cosine_annealing_warm_restarts(std::int64_t t_0, std::int64_t t_mult, double eta_min) {
    check_positive("cosine_annealing_warm_restarts", "t_0", as_double(t_0));
    check_positive("cosine_annealing_warm_restarts", "t_mult", as_double(t_mult));
    return [=](const Rate& r) {
        std::int64_t step = r.step, length = t_0;
        if (t_mult == 1) step %= t_0;
        else
            for (; step >= length; length *= t_mult) step -= length;
        return eta_min + (r.first - eta_min) * half_cosine(as_double(step) / as_double(length));
    };
}

double one_cycle(double start, double peak, double end, std::int64_t step, std::int64_t total_steps,
                 const OneCycleOptions& options) {
    struct Phase {
        double until, from, to;
    };
    const double total = as_double(total_steps), now = as_double(step), up = options.pct_start * total - 1;
    const Phase three[] = {
        {up, start, peak}, {2 * options.pct_start * total - 2, peak, start}, {total - 1, start, end}};
    const Phase two[] = {{up, start, peak}, {total - 1, peak, end}};
    const std::span<const Phase> phases =
        options.three_phase ? std::span<const Phase>(three) : std::span<const Phase>(two);
    double begin = 0;
    for (std::size_t i = 0;; begin = phases[i++].until) {
        const auto& [until, from, to] = phases[i];
        if (now > until && i + 1 < phases.size()) continue;
        const double part = std::min(1.0, (now - begin) / (until - begin));
        return options.linear ? from + (to - from) * part : to + (from - to) * half_cosine(part);
    }
}

Schedule one_cycle_lr(double max_lr, std::int64_t total_steps, const OneCycleOptions& options) {
    check_positive("one_cycle_lr", "total_steps", as_double(total_steps));
    if (!(options.pct_start >= 0 && options.pct_start <= 1))
        throw ValueError("one_cycle_lr: pct_start must lie between 0 and 1");
    const double start = max_lr / options.div_factor, end = start / options.final_div_factor;
    return [=](const Rate& r) {
        if (r.step > total_steps)
            throw ValueError("one_cycle_lr: step " + std::to_string(r.step) + " of " + std::to_string(total_steps));
        return one_cycle(start, max_lr, end, r.step, total_steps, options);
    };
}

Schedule sequential_lr(std::vector<Schedule> schedules, std::vector<std::int64_t> milestones) {
    if (schedules.size() != milestones.size() + 1)
        throw ValueError("sequential_lr: there must be one schedule more than milestones");
    return [schedules = std::move(schedules), milestones = std::move(milestones)](const Rate& r) {
        const auto which = std::upper_bound(milestones.begin(), milestones.end(), r.step) - milestones.begin();
        const std::int64_t own = which == 0 ? r.step : r.step - milestones[which - 1];
        return schedules[which]({.before = own == 0 ? r.first : r.before, .first = r.first, .step = own});
    };
}

// ---- schedulers ------------------------------------------------------------------------------------------------------

LRScheduler::LRScheduler(Optimizer& optimizer, Schedule schedule)
    : optimizer_(optimizer), schedule_(std::move(schedule)) {
    for (std::size_t group = 0; group < optimizer_.groups(); ++group) state_.first.push_back(optimizer_.lr(group));
    set_rates();
}

void LRScheduler::set_rates() {
    for (std::size_t group = 0; group < state_.first.size(); ++group)
        optimizer_.set_lr(
            group,
            schedule_({.before = optimizer_.lr(group), .first = state_.first[group], .step = state_.last_epoch}));
}

void LRScheduler::step() {
    ++state_.last_epoch;
    set_rates();
}

std::vector<double> LRScheduler::get_last_lr() const {
    std::vector<double> rates;
    for (std::size_t group = 0; group < state_.first.size(); ++group) rates.push_back(optimizer_.lr(group));
    return rates;
}

LRScheduler::State LRScheduler::state() const {
    State result = state_;
    result.last = get_last_lr();
    return result;
}

void LRScheduler::load_state(const State& state) {
    if (state.first.size() != optimizer_.groups() || state.last.size() != optimizer_.groups())
        throw ValueError("LRScheduler: the state is that of another number of groups");
    state_ = state;
    for (std::size_t group = 0; group < state.last.size(); ++group) optimizer_.set_lr(group, state.last[group]);
}

ReduceLROnPlateau::ReduceLROnPlateau(Optimizer& optimizer, const PlateauOptions& options)
    : optimizer_(optimizer), options_(options) {
    if (!(options.factor < 1)) throw ValueError("ReduceLROnPlateau: factor must be below 1");
    if (options.maximize) state_.best = -state_.best;
}

bool ReduceLROnPlateau::better(double value) const {
    const double sign = options_.maximize ? 1 : -1;
    const double wanted = options_.absolute_threshold ? state_.best + sign * options_.threshold
                                                      : state_.best * (1 + sign * options_.threshold);
    return options_.maximize ? value > wanted : value < wanted;
}

void ReduceLROnPlateau::step(double value) {
    ++state_.last_epoch;
    if (better(value)) {
        state_.best = value;
        state_.bad_epochs = 0;
    } else {
        ++state_.bad_epochs;
    }
    if (state_.cooldown > 0) {
        --state_.cooldown;
        state_.bad_epochs = 0;
    }
    if (state_.bad_epochs <= options_.patience) return;
    for (std::size_t group = 0; group < optimizer_.groups(); ++group) {
        const double old = optimizer_.lr(group), lr = std::max(old * options_.factor, options_.min_lr);
        if (old - lr > options_.eps) optimizer_.set_lr(group, lr);
    }
    state_.cooldown = options_.cooldown;
    state_.bad_epochs = 0;
}

}  // namespace weft::optim
