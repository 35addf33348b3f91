// optim/optim.cpp: the optimisers. Whatever changes from step to step enters as a run-time scalar, so every step has the same plan.
#include <weft/error.h>
#include <weft/ops.h>
#include <weft/optim.h>

#include <cmath>
#include <map>

namespace weft::optim {
namespace {

void check_range(std::string_view optimiser, std::string_view name, double value, double low, double below) {
    if (!(value >= low && value < below))
        throw ValueError(std::string(optimiser) + ": " + std::string(name) + " = " + std::to_string(value) +
                         " is outside what makes sense");
}

}  // namespace

// ---- what all optimisers share ---------------------------------------------------------------------------------------

Optimizer::Optimizer(std::vector<Tensor> parameters, double lr, std::vector<std::string> slots)
    : parameters_(std::move(parameters)), slot_names_(std::move(slots)), clock_(std::make_shared<Clock>()) {
    if (parameters_.empty()) throw ValueError("an optimiser needs at least one parameter");
    for (const Tensor& p : parameters_)
        if (!p.defined() || !p.requires_grad() || !p.is_leaf())
            throw ValueError("an optimiser's parameters must be leaves that require a gradient: set_requires_grad()");
    slots_.assign(parameters_.size(), std::vector<Tensor>(slot_names_.size()));
    set_lr(lr);
}

// In memory, not as constants: the first step has the plan of every later one.
void Optimizer::start_at_zero() {
    starts_at_zero_ = true;
    fill_empty(slots_);
}

void Optimizer::fill_empty(std::vector<std::vector<Tensor>>& slots) const {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        for (Tensor& slot : slots[i])  // one by one: equal expressions of one run would share their memory
            if (!slot.defined()) slot = zeros_like(parameters_[i]).contiguous().realize();
}

void Optimizer::set_lr(double lr) {
    check_range("optimiser", "lr", lr, 0, INFINITY);
    clock_->lr = lr;
}

// One scalar per step serves all parameters of a type. In a captured function each later call draws anew: the first scalar of a
// step that is drawn again turns the clock, the others follow it. A step counts its turns by itself: the optimiser may step in
// other captured functions too, or twice in one.
struct Optimizer::Turn {
    std::int64_t number = 0, step = 0;
};

void Optimizer::step() {
    const NoGrad no_grad;
    drawn_.clear();
    turn_ = std::make_shared<Turn>();
    turn_->step = ++clock_->steps;
    const auto slots_before = slots_;
    try {
        for (std::size_t i = 0; i < parameters_.size(); ++i)
            if (const Tensor gradient = parameters_[i].grad(); gradient.defined())
                update(parameters_[i], gradient, slots_[i]);
        drawn_.clear();  // nothing of a captured step is kept
        realize({});
    } catch (...) {  // tensors are back at their last values; so is all else: this step was none
        drawn_.clear();
        slots_ = slots_before;
        --clock_->steps;
        throw;
    }
}

void Optimizer::zero_grad() {
    for (const Tensor& p : parameters_) p.zero_grad();
}

Tensor Optimizer::scalar(const Tensor& parameter, double (*value)(const Clock&, const double*),
                         std::initializer_list<double> constants) {
    const DType dtype = parameter.dtype() == f64 ? f64 : f32;
    for (const Drawn& d : drawn_)
        if (d.value == reinterpret_cast<const void*>(value) && d.dtype == dtype) return d.tensor;
    const std::vector<double> numbers(constants);
    const auto redraw = [clock = clock_, turn = turn_, value, numbers, seen = std::int64_t{0}]() mutable {
        if (seen == turn->number) {
            ++turn->number;
            turn->step = ++clock->steps;
        }
        seen = turn->number;
        return value({.lr = clock->lr, .steps = turn->step}, numbers.data());
    };
    drawn_.push_back(
        {reinterpret_cast<const void*>(value), dtype, scalar_variable(value(*clock_, numbers.data()), dtype, redraw)});
    return drawn_.back().tensor;
}

std::vector<std::pair<std::string, Tensor>> Optimizer::state() const {
    std::vector<std::pair<std::string, Tensor>> result{{"steps", tensor(clock_->steps)}};
    for (std::size_t i = 0; i < slots_.size(); ++i)
        for (std::size_t s = 0; s < slot_names_.size(); ++s)
            if (slots_[i][s].defined()) result.emplace_back(std::to_string(i) + "." + slot_names_[s], slots_[i][s]);
    return result;
}

void Optimizer::load_state(const std::vector<std::pair<std::string, Tensor>>& state) {
    std::int64_t steps = 0;
    auto slots = slots_;
    for (auto& of_parameter : slots)
        for (Tensor& slot : of_parameter) slot = Tensor();
    std::map<std::string, Tensor> entries(state.begin(), state.end());
    if (const auto found = entries.find("steps"); found != entries.end()) {
        steps = found->second.item<std::int64_t>();
        entries.erase(found);
    }
    for (std::size_t i = 0; i < slots.size(); ++i) {
        for (std::size_t s = 0; s < slot_names_.size(); ++s) {
            const std::string name = std::to_string(i) + "." + slot_names_[s];
            const auto found = entries.find(name);
            if (found == entries.end()) continue;
            if (found->second.shape() != parameters_[i].shape())
                throw ShapeError("load_state(): " + name + " has the shape " + to_string(found->second.shape()) +
                                 ", the parameter " + to_string(parameters_[i].shape()));
            slots[i][s] = found->second.to(parameters_[i].dtype()).detach().clone();
            entries.erase(found);
        }
    }
    if (!entries.empty()) throw ValueError("load_state(): nothing here is named " + entries.begin()->first);
    if (starts_at_zero_) fill_empty(slots);
    slots_ = std::move(slots);
    clock_->steps = steps;
}

// ---- SGD -------------------------------------------------------------------------------------------------------------

SGD::SGD(std::vector<Tensor> parameters, const SGDOptions& options)
    : Optimizer(std::move(parameters), options.lr, {"momentum_buffer"}), options_(options) {
    check_range("SGD", "momentum", options.momentum, 0, INFINITY);
    check_range("SGD", "weight_decay", options.weight_decay, 0, INFINITY);
    if (options.nesterov && (options.momentum == 0 || options.dampening != 0))
        throw ValueError("SGD: nesterov needs a momentum, and no dampening");
    if (options.momentum != 0 && options.dampening == 0) start_at_zero();
}

void SGD::update(Tensor& p, const Tensor& gradient, std::span<Tensor> slots) {
    Tensor g = options_.weight_decay == 0 ? gradient : gradient + p * options_.weight_decay;
    if (options_.momentum != 0) {
        Tensor& buffer = slots[0];
        if (!buffer.defined()) buffer = zeros_like(p).assign(g);  // the first gradient is not dampened
        else buffer.assign(buffer * options_.momentum + g * (1 - options_.dampening));
        g = options_.nesterov ? g + buffer * options_.momentum : buffer;
    }
    p -= g * scalar(p, [](const Clock& clock, const double*) { return clock.lr; });
}

// ---- Adam ------------------------------------------------------------------------------------------------------------

Adam::Adam(std::vector<Tensor> parameters, const AdamOptions& options, bool decoupled)
    : Optimizer(std::move(parameters), options.lr, {"exp_avg", "exp_avg_sq"}),
      options_(options),
      decoupled_(decoupled) {
    check_range("Adam", "beta1", options.beta1, 0, 1);
    check_range("Adam", "beta2", options.beta2, 0, 1);
    check_range("Adam", "eps", options.eps, 0, INFINITY);
    check_range("Adam", "weight_decay", options.weight_decay, 0, INFINITY);
    start_at_zero();
}

void Adam::update(Tensor& p, const Tensor& gradient, std::span<Tensor> slots) {
    const AdamOptions& o = options_;
    const bool decays = o.weight_decay != 0;
    const Tensor g = decays && !decoupled_ ? gradient + p * o.weight_decay : gradient;
    const Tensor step_size = scalar(
        p, [](const Clock& c, const double* k) { return c.lr / (1 - std::pow(k[0], static_cast<double>(c.steps))); },
        {o.beta1});
    const Tensor root_scale = scalar(
        p,
        [](const Clock& c, const double* k) { return 1 / std::sqrt(1 - std::pow(k[0], static_cast<double>(c.steps))); },
        {o.beta2});
    Tensor &m = slots[0], &v = slots[1];
    m.assign(m * o.beta1 + g * (1 - o.beta1));
    v.assign(v * o.beta2 + g * g * (1 - o.beta2));
    const Tensor change = m / (sqrt(v) * root_scale + o.eps) * step_size;
    if (decays && decoupled_)
        p.assign(p * scalar(p, [](const Clock& c, const double* k) { return 1 - c.lr * k[0]; }, {o.weight_decay}) -
                 change);
    else p -= change;
}

// ---- gradients -------------------------------------------------------------------------------------------------------

Tensor clip_grad_norm(std::span<const Tensor> parameters, double most) {
    const NoGrad no_grad;
    Tensor squares;
    for (const Tensor& p : parameters) {
        if (!p.grad().defined()) continue;
        const Tensor own = square(p.grad().to(p.dtype() == f64 ? f64 : f32)).sum();
        squares = squares.defined() ? squares + own : own;
    }
    if (!squares.defined()) return zeros({});
    const Tensor total = sqrt(squares), factor = clamp_max(most / (total + 1e-6), 1.0);
    for (const Tensor& p : parameters)
        if (Tensor g = p.grad(); g.defined()) g *= factor;
    return total;
}

}  // namespace weft::optim
