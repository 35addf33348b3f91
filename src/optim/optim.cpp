// optim/optim.cpp: what all optimisers share: groups, state, and the clock. Whatever changes from step to step enters as a
// run-time scalar, so every step has the same plan.
#include <weft/error.h>
#include <weft/ops.h>
#include <weft/optim.h>
#include <weft/profile.h>
#include <weft/write_group.h>

#include <algorithm>
#include <cmath>
#include <map>

namespace weft::optim {

// A parameter without a gradient misses a step: its own count of updates is what the corrections go by.
struct Optimizer::Clock {
    std::int64_t steps = 0;
    std::vector<double> lr;            // by group
    std::vector<std::int64_t> missed;  // by parameter
};

// One scalar per step serves all parameters of a group and a type. In a traced function each later call draws anew: the first
// scalar of a step that is drawn again advances the clock, the others follow it. A step counts its replays by itself: the optimiser
// may step in other traced functions too, or twice in one.
struct Optimizer::Replays {
    std::int64_t number = 0, step = 0;
    std::vector<std::size_t> idle;  // parameters that miss this step
};

Optimizer::Optimizer(std::string_view name, std::vector<std::string> slots)
    : name_(name), slot_names_(std::move(slots)), clock_(std::make_shared<Clock>()) {}

void Optimizer::check_range(std::string_view what, double value, double low, double below) const {
    if (!(value >= low && value < below))
        throw ValueError(name_ + ": " + std::string(what) + " = " + std::to_string(value) +
                         " is outside what makes sense");
}

void Optimizer::check_moments(double beta1, double beta2, double eps, double weight_decay) const {
    check_range("beta1", beta1, 0, 1);
    check_range("beta2", beta2, 0, 1);
    check_range("eps", eps, 0, INFINITY);
    check_range("weight_decay", weight_decay, 0, INFINITY);
}

void Optimizer::check_group(const std::vector<Tensor>& parameters, double lr) const {
    check_range("lr", lr, 0, INFINITY);
    if (parameters.empty() && groups_.empty())  // a later group may have none, as in PyTorch
        throw ValueError(name_ + ": the first group needs at least one parameter");
    std::vector<const Cell*> known;
    for (const Tensor& p : parameters_) known.push_back(p.cell().get());
    bool trains = !groups_.empty();
    for (const Tensor& p : parameters) {
        if (!p.defined() || !p.is_leaf() || !is_float(p.dtype()))
            throw ValueError(name_ + ": parameters must be leaves, that is no results of ops, and floats");
        if (std::find(known.begin(), known.end(), p.cell().get()) != known.end())
            throw ValueError(name_ + ": a parameter is there twice, or in more than one group");
        known.push_back(p.cell().get());
        trains = trains || p.requires_grad();
    }
    // Some may be frozen, but if none can get a gradient, that was forgotten.
    if (!trains)
        throw ValueError(name_ + ": none of the parameters are leaves that require a gradient: set_requires_grad()");
}

void Optimizer::add_group(std::vector<Tensor> parameters, double lr) {
    groups_.push_back({.first = parameters_.size(), .count = parameters.size()});
    clock_->lr.push_back(lr);
    for (Tensor& p : parameters) {
        parameters_.push_back(std::move(p));
        slots_.emplace_back(slot_names_.size());
        updated_.push_back(false);
        clock_->missed.push_back(clock_->steps);
    }
    fill_slots();
}

std::size_t Optimizer::group_of(std::size_t parameter) const {
    std::size_t group = groups_.size() - 1;
    while (groups_[group].first > parameter) --group;
    return group;
}

// In memory, not as constants: the first step has the plan of every later one.
void Optimizer::fill_slots() {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        const std::size_t group = group_of(i);
        for (std::size_t s = 0; s < slot_names_.size(); ++s) {  // one by one: equal expressions of one run share memory
            if (slots_[i][s].defined()) continue;
            if (const auto value = start(group, s)) slots_[i][s] = full_like(parameters_[i], *value).clone().realize();
        }
    }
}

// The state of a parameter that was moved or converted since goes with it.
void Optimizer::follow_parameters() {
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        const Device device = parameters_[i].device();
        const DType dtype = parameters_[i].dtype();
        for (Tensor& slot : slots_[i])
            if (slot.defined() && (slot.device() != device || slot.dtype() != dtype))
                slot = slot.to(device).to(dtype).realize();
    }
}

std::span<const Tensor> Optimizer::parameters(std::size_t group) const {
    const Group& g = groups_.at(group);
    return std::span(parameters_).subspan(g.first, g.count);
}

double Optimizer::lr(std::size_t group) const { return clock_->lr.at(group); }
std::int64_t Optimizer::steps() const { return clock_->steps; }

void Optimizer::set_lr(double lr) {
    for (std::size_t group = 0; group < groups(); ++group) set_lr(group, lr);
}
void Optimizer::set_lr(std::size_t group, double lr) {
    check_range("lr", lr, 0, INFINITY);
    clock_->lr.at(group) = lr;
}

void Optimizer::step() {
    const NoGrad no_grad;
    const NamedOp shown_as(name_);
    const ProfileRegion region(name_ + ".step", Profile::Event::Step);
    follow_parameters();
    drawn_.clear();
    replays_ = std::make_shared<Replays>();
    const Clock clock_before = *clock_;
    const auto slots_before = slots_;
    const auto updated_before = updated_;
    WriteGroup together;
    std::vector<Tensor> gradients;
    for (std::size_t i = 0; i < parameters_.size(); ++i) {
        gradients.push_back(parameters_[i].grad());
        if (gradients[i].defined()) continue;
        replays_->idle.push_back(i);
        ++clock_->missed[i];
    }
    replays_->step = ++clock_->steps;
    try {
        for (now_ = 0; now_ < parameters_.size(); ++now_) {
            if (!gradients[now_].defined()) continue;
            update(group_of(now_), parameters_[now_], gradients[now_], slots_[now_]);
            updated_[now_] = true;
        }
        drawn_.clear();  // nothing of a traced step is kept
        gradients.clear();
        realize({});
    } catch (...) {
        drawn_.clear();
        if (together.is_kept()) throw;  // something else in the run failed
        together.undo();                // this step was none
        slots_ = slots_before;
        updated_ = updated_before;
        *clock_ = clock_before;
        throw;
    }
}

Tensor Optimizer::step(const std::function<Tensor()>& closure) {
    Tensor loss = closure();
    step();
    return loss;
}

void Optimizer::zero_grad(bool set_to_none) {
    for (const Tensor& p : parameters_) {
        if (set_to_none) p.zero_grad();
        else if (Tensor g = p.grad(); g.defined()) {
            const NoGrad no_grad;
            g.zero_();
        }
    }
}

Tensor Optimizer::scalar(const Tensor& parameter, double (*value)(const Moment&, const double*),
                         std::initializer_list<double> constants) {
    const DType dtype = parameter.dtype() == f64 ? f64 : f32;
    const std::size_t group = group_of(now_), index = now_;
    const std::int64_t missed = clock_->missed[index];
    const std::vector<double> numbers(constants);
    for (const Drawn& d : drawn_)
        if (d.value == reinterpret_cast<const void*>(value) && d.dtype == dtype && d.group == group &&
            d.missed == missed && d.constants == numbers)
            return d.tensor;
    const auto moment = [group, index](const Clock& clock, const Replays& replays) {
        return Moment{.lr = clock.lr[group], .steps = static_cast<double>(replays.step - clock.missed[index])};
    };
    const auto redraw = [clock = clock_, replays = replays_, moment, value, numbers, seen = std::int64_t{0}]() mutable {
        if (seen == replays->number) {
            ++replays->number;
            replays->step = ++clock->steps;
            for (const std::size_t i : replays->idle) ++clock->missed[i];
        }
        seen = replays->number;
        return value(moment(*clock, *replays), numbers.data());
    };
    drawn_.push_back({reinterpret_cast<const void*>(value), numbers, dtype, group, missed,
                      scalar_variable(value(moment(*clock_, *replays_), numbers.data()), dtype, redraw)});
    return drawn_.back().tensor;
}

Tensor Optimizer::lr_of(const Tensor& parameter) {
    return scalar(parameter, [](const Moment& now, const double*) { return now.lr; });
}

// ---- state -----------------------------------------------------------------------------------------------------------

std::vector<std::pair<std::string, Tensor>> Optimizer::state() const {
    std::vector<std::pair<std::string, Tensor>> result{{"steps", tensor(clock_->steps)}};
    for (std::size_t i = 0; i < slots_.size(); ++i) {
        if (!updated_[i]) continue;
        for (std::size_t s = 0; s < slot_names_.size(); ++s)
            if (slots_[i][s].defined()) result.emplace_back(std::to_string(i) + "." + slot_names_[s], slots_[i][s]);
        result.emplace_back(std::to_string(i) + ".step", tensor(clock_->steps - clock_->missed[i]));
    }
    return result;
}

void Optimizer::load_state(const std::vector<std::pair<std::string, Tensor>>& state) {
    std::map<std::string, Tensor> entries(state.begin(), state.end());
    const auto take = [&entries](const std::string& name) {
        const auto found = entries.find(name);
        if (found == entries.end()) return Tensor();
        const Tensor value = found->second;
        entries.erase(found);
        return value;
    };
    const std::size_t count = parameters_.size();
    std::vector<std::vector<Tensor>> slots(count, std::vector<Tensor>(slot_names_.size()));
    std::vector<bool> updated(count);
    std::vector<std::optional<std::int64_t>> own(count);  // updates of each parameter
    std::int64_t most = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const std::string prefix = std::to_string(i) + ".";
        for (std::size_t s = 0; s < slot_names_.size(); ++s) {
            const Tensor value = take(prefix + slot_names_[s]);
            if (!value.defined()) continue;
            if (value.shape() != parameters_[i].shape())
                throw ShapeError("load_state(): " + prefix + slot_names_[s] + " has the shape " +
                                 to_string(value.shape()) + ", the parameter " + to_string(parameters_[i].shape()));
            slots[i][s] = value.to(parameters_[i].dtype()).detach().clone();
            updated[i] = true;
        }
        if (const Tensor step = take(prefix + "step"); step.defined()) {
            own[i] = step.item<std::int64_t>();
            updated[i] = true;
            most = std::max(most, *own[i]);
        }
    }
    if (const Tensor steps = take("steps"); steps.defined()) most = steps.item<std::int64_t>();
    if (!entries.empty()) throw ValueError("load_state(): nothing here is named " + entries.begin()->first);
    slots_ = std::move(slots);
    updated_ = std::move(updated);
    clock_->steps = most;
    for (std::size_t i = 0; i < count; ++i) clock_->missed[i] = own[i] ? most - *own[i] : updated_[i] ? 0 : most;
    fill_slots();
}

}  // namespace weft::optim
