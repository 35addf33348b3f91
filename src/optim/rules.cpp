// optim/rules.cpp: the optimisers' rules: how a parameter and its slots go on, given a gradient. Each is PyTorch's arithmetic,
// and the whole update of all parameters becomes a few kernels.
#include <weft/error.h>
#include <weft/ops.h>
#include <weft/optim.h>

#include <cmath>
#include <limits>

namespace weft::optim {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// The gradient of what is minimised, with the weight decay that joins it. Of f16 and bf16 in f32: the square of 300 does not fit f16, the
// running mean of squares does.
Tensor effective(const Tensor& gradient, const Tensor& p, double weight_decay, bool maximize) {
    const Tensor wide = is_half(gradient.dtype()) ? gradient.to(f32) : gradient, g = maximize ? -wide : wide;
    return weight_decay == 0 ? g : g + p * weight_decay;
}

// A running mean, written into its slot.
void average(Tensor& mean, const Tensor& value, double keep) { mean.assign(mean * keep + value * (1 - keep)); }

// In moments: 1 - beta^steps, which corrects a running mean for its start at 0.
template <class Moment>
double correction(const Moment& now, double beta) {
    return 1 - std::pow(beta, now.steps);
}

template <class Moment>
double shrink(const Moment& now, const double* weight_decay) {
    return 1 - now.lr * *weight_decay;
}

template <class Moment>
double bias_corrected_lr(const Moment& now, const double* beta1) {
    return now.lr / correction(now, *beta1);
}

template <class Moment>
double root_correction(const Moment& now, const double* beta2) {
    return 1 / std::sqrt(correction(now, *beta2));
}

}  // namespace

// ---- SGD -------------------------------------------------------------------------------------------------------------

SGD::SGD(std::vector<Tensor> parameters, const SGDOptions& options, std::string_view name)
    : OptimizerOf(name, {"momentum_buffer"}) {
    add_param_group(std::move(parameters), options);
}

void SGD::check(const SGDOptions& o) const {
    check_range("momentum", o.momentum, 0, kInfinity);
    check_range("weight_decay", o.weight_decay, 0, kInfinity);
    if (o.nesterov && (o.momentum == 0 || o.dampening != 0))
        throw ValueError("SGD: nesterov needs a momentum, and no dampening");
}

// Undampened, a first buffer of zeros gives the first gradient.
std::optional<double> SGD::start(std::size_t group, std::size_t) const {
    if (of(group).momentum == 0 || of(group).dampening != 0) return {};
    return 0;
}

void SGD::update(std::size_t group, Tensor& p, const Tensor& gradient, std::span<Tensor> slots) {
    const SGDOptions& o = of(group);
    Tensor g = effective(gradient, p, o.weight_decay, o.maximize);
    if (o.momentum != 0) {
        Tensor& buffer = slots[0];
        if (!buffer.defined()) buffer = zeros_like(p).assign(g);  // the first gradient is not dampened
        else buffer.assign(buffer * o.momentum + g * (1 - o.dampening));
        g = o.nesterov ? g + buffer * o.momentum : buffer;
    }
    p -= g * lr_of(p);
}

// ---- Adam ------------------------------------------------------------------------------------------------------------

Adam::Adam(std::vector<Tensor> parameters, const AdamOptions& options, std::string_view name)
    : OptimizerOf(name, {"exp_avg", "exp_avg_sq", "max_exp_avg_sq"}) {
    add_param_group(std::move(parameters), options);
}

void Adam::check(const AdamOptions& o) const { check_moments(o.beta1, o.beta2, o.eps, o.weight_decay); }

std::optional<double> Adam::start(std::size_t group, std::size_t slot) const {
    if (slot == 2 && !of(group).amsgrad) return {};
    return 0;
}

void Adam::update(std::size_t group, Tensor& p, const Tensor& gradient, std::span<Tensor> slots) {
    const AdamOptions& o = of(group);
    const Tensor g = effective(gradient, p, o.decoupled_weight_decay ? 0 : o.weight_decay, o.maximize);
    Tensor &m = slots[0], &v = slots[1];
    average(m, g, o.beta1);
    average(v, g * g, o.beta2);
    Tensor size = v;
    if (o.amsgrad) size = slots[2].assign(maximum(slots[2], v));
    const Tensor root = sqrt(size) * scalar(p, root_correction, {o.beta2}) + o.eps;
    const Tensor change = m / root * scalar(p, bias_corrected_lr, {o.beta1});
    if (o.decoupled_weight_decay && o.weight_decay != 0) p.assign(p * scalar(p, shrink, {o.weight_decay}) - change);
    else p -= change;
}

static AdamOptions decoupled(AdamOptions options) {
    options.decoupled_weight_decay = true;
    return options;
}

AdamW::AdamW(std::vector<Tensor> parameters, const AdamOptions& options)
    : Adam(std::move(parameters), decoupled(options), "AdamW") {}

void AdamW::add_param_group(std::vector<Tensor> parameters, const AdamOptions& options) {
    Adam::add_param_group(std::move(parameters), decoupled(options));
}

void AdamW::set_options(std::size_t group, const AdamOptions& options) { Adam::set_options(group, decoupled(options)); }

// ---- RMSprop ---------------------------------------------------------------------------------------------------------

RMSprop::RMSprop(std::vector<Tensor> parameters, const RMSpropOptions& options, std::string_view name)
    : OptimizerOf(name, {"square_avg", "momentum_buffer", "grad_avg"}) {
    add_param_group(std::move(parameters), options);
}

void RMSprop::check(const RMSpropOptions& o) const {
    check_range("alpha", o.alpha, 0, kInfinity);
    check_range("eps", o.eps, 0, kInfinity);
    check_range("weight_decay", o.weight_decay, 0, kInfinity);
    check_range("momentum", o.momentum, 0, kInfinity);
}

std::optional<double> RMSprop::start(std::size_t group, std::size_t slot) const {
    if ((slot == 1 && of(group).momentum == 0) || (slot == 2 && !of(group).centered)) return {};
    return 0;
}

void RMSprop::update(std::size_t group, Tensor& p, const Tensor& gradient, std::span<Tensor> slots) {
    const RMSpropOptions& o = of(group);
    const Tensor g = effective(gradient, p, o.weight_decay, o.maximize);
    average(slots[0], g * g, o.alpha);
    Tensor variance = slots[0];
    if (o.centered) {
        average(slots[2], g, o.alpha);
        variance = clamp_min(variance - square(slots[2]), 0);  // rounding may leave it below 0
    }
    Tensor change = g / (sqrt(variance) + o.eps);
    if (o.momentum != 0) change = slots[1].assign(slots[1] * o.momentum + change);
    p -= change * lr_of(p);
}

// ---- Adagrad ---------------------------------------------------------------------------------------------------------

Adagrad::Adagrad(std::vector<Tensor> parameters, const AdagradOptions& options, std::string_view name)
    : OptimizerOf(name, {"sum"}) {
    add_param_group(std::move(parameters), options);
}

void Adagrad::check(const AdagradOptions& o) const {
    check_range("lr_decay", o.lr_decay, 0, kInfinity);
    check_range("weight_decay", o.weight_decay, 0, kInfinity);
    check_range("initial_accumulator_value", o.initial_accumulator_value, 0, kInfinity);
    check_range("eps", o.eps, 0, kInfinity);
}

std::optional<double> Adagrad::start(std::size_t group, std::size_t) const {
    return of(group).initial_accumulator_value;
}

void Adagrad::update(std::size_t group, Tensor& p, const Tensor& gradient, std::span<Tensor> slots) {
    const AdagradOptions& o = of(group);
    const Tensor g = effective(gradient, p, o.weight_decay, o.maximize);
    slots[0] += g * g;
    const Tensor rate =
        scalar(p, [](const Moment& now, const double* decay) { return now.lr / (1 + (now.steps - 1) * *decay); },
               {o.lr_decay});
    p -= g / (sqrt(slots[0]) + o.eps) * rate;
}

// ---- Lion ------------------------------------------------------------------------------------------------------------

Lion::Lion(std::vector<Tensor> parameters, const LionOptions& options, std::string_view name)
    : OptimizerOf(name, {"exp_avg"}) {
    add_param_group(std::move(parameters), options);
}

void Lion::check(const LionOptions& o) const {
    check_range("beta1", o.beta1, 0, 1);
    check_range("beta2", o.beta2, 0, 1);
    check_range("weight_decay", o.weight_decay, 0, kInfinity);
}

std::optional<double> Lion::start(std::size_t, std::size_t) const { return 0; }

void Lion::update(std::size_t group, Tensor& p, const Tensor& gradient, std::span<Tensor> slots) {
    const LionOptions& o = of(group);
    const Tensor g = o.maximize ? -gradient : gradient;
    const Tensor change = sign(slots[0] * o.beta1 + g * (1 - o.beta1)) * lr_of(p);
    if (o.weight_decay != 0) p.assign(p * scalar(p, shrink, {o.weight_decay}) - change);
    else p -= change;
    average(slots[0], g, o.beta2);
}

// ---- Adadelta --------------------------------------------------------------------------------------------------------

Adadelta::Adadelta(std::vector<Tensor> parameters, const AdadeltaOptions& options, std::string_view name)
    : OptimizerOf(name, {"square_avg", "acc_delta"}) {
    add_param_group(std::move(parameters), options);
}

void Adadelta::check(const AdadeltaOptions& o) const {
    check_range("rho", o.rho, 0, std::nextafter(1, 2));
    check_range("eps", o.eps, 0, kInfinity);
    check_range("weight_decay", o.weight_decay, 0, kInfinity);
}

std::optional<double> Adadelta::start(std::size_t, std::size_t) const { return 0; }

void Adadelta::update(std::size_t group, Tensor& p, const Tensor& gradient, std::span<Tensor> slots) {
    const AdadeltaOptions& o = of(group);
    const Tensor g = effective(gradient, p, o.weight_decay, o.maximize);
    average(slots[0], g * g, o.rho);
    const Tensor delta = sqrt(slots[1] + o.eps) / sqrt(slots[0] + o.eps) * g;
    average(slots[1], delta * delta, o.rho);
    p -= delta * lr_of(p);
}

// ---- Adamax ----------------------------------------------------------------------------------------------------------

Adamax::Adamax(std::vector<Tensor> parameters, const AdamaxOptions& options, std::string_view name)
    : OptimizerOf(name, {"exp_avg", "exp_inf"}) {
    add_param_group(std::move(parameters), options);
}

void Adamax::check(const AdamaxOptions& o) const { check_moments(o.beta1, o.beta2, o.eps, o.weight_decay); }

std::optional<double> Adamax::start(std::size_t, std::size_t) const { return 0; }

void Adamax::update(std::size_t group, Tensor& p, const Tensor& gradient, std::span<Tensor> slots) {
    const AdamaxOptions& o = of(group);
    const Tensor g = effective(gradient, p, o.weight_decay, o.maximize);
    average(slots[0], g, o.beta1);
    slots[1].assign(maximum(slots[1] * o.beta2, abs(g) + o.eps));
    p -= slots[0] / slots[1] * scalar(p, bias_corrected_lr, {o.beta1});
}

// ---- NAdam -----------------------------------------------------------------------------------------------------------

NAdam::NAdam(std::vector<Tensor> parameters, const NAdamOptions& options, std::string_view name)
    : OptimizerOf(name, {"exp_avg", "exp_avg_sq"}) {
    add_param_group(std::move(parameters), options);
}

void NAdam::check(const NAdamOptions& o) const {
    check_moments(o.beta1, o.beta2, o.eps, o.weight_decay);
    check_range("momentum_decay", o.momentum_decay, 0, kInfinity);
}

std::optional<double> NAdam::start(std::size_t, std::size_t) const { return 0; }

namespace {

// Constants: beta1, momentum_decay.
double momentum_at(double step, const double* k) { return k[0] * (1 - 0.5 * std::pow(0.96, step * k[1])); }

double momentum_product(double steps, const double* k) {
    double product = 1;
    for (double i = 1; i <= steps && product > 1e-20; ++i) product *= momentum_at(i, k);  // 1 - less than that is 1
    return product;
}

}  // namespace

void NAdam::update(std::size_t group, Tensor& p, const Tensor& gradient, std::span<Tensor> slots) {
    const NAdamOptions& o = of(group);
    const Tensor g = effective(gradient, p, o.decoupled_weight_decay ? 0 : o.weight_decay, o.maximize);
    average(slots[0], g, o.beta1);
    average(slots[1], g * g, o.beta2);
    const Tensor root = sqrt(slots[1]) * scalar(p, root_correction, {o.beta2}) + o.eps;
    const Tensor of_gradient =
        scalar(p,
               [](const Moment& now, const double* k) {
                   return now.lr * (1 - momentum_at(now.steps, k)) / (1 - momentum_product(now.steps, k));
               },
               {o.beta1, o.momentum_decay});
    const Tensor of_mean = scalar(p,
                                  [](const Moment& now, const double* k) {
                                      const double next = momentum_at(now.steps + 1, k);
                                      return now.lr * next / (1 - momentum_product(now.steps, k) * next);
                                  },
                                  {o.beta1, o.momentum_decay});
    const Tensor change = (g * of_gradient + slots[0] * of_mean) / root;
    if (o.decoupled_weight_decay && o.weight_decay != 0) p.assign(p * scalar(p, shrink, {o.weight_decay}) - change);
    else p -= change;
}

// ---- RAdam -----------------------------------------------------------------------------------------------------------

RAdam::RAdam(std::vector<Tensor> parameters, const RAdamOptions& options, std::string_view name)
    : OptimizerOf(name, {"exp_avg", "exp_avg_sq"}) {
    add_param_group(std::move(parameters), options);
}

void RAdam::check(const RAdamOptions& o) const { check_moments(o.beta1, o.beta2, o.eps, o.weight_decay); }

std::optional<double> RAdam::start(std::size_t, std::size_t) const { return 0; }

namespace {

// How far v can be trusted after so many steps: the factor that goes with 1 / √v; 0 as long as it cannot.
double rectification(double steps, double beta2) {
    const double correction = 1 - std::pow(beta2, steps), most = 2 / (1 - beta2) - 1;
    const double length = most - 2 * steps * (1 - correction) / correction;
    if (length <= 5) return 0;
    return std::sqrt((length - 4) * (length - 2) * most / ((most - 4) * (most - 2) * length)) * std::sqrt(correction);
}

}  // namespace

// p -= lr m' (adaptive / (√v + eps) + plain), where one of the two factors is 0: one plan for both phases.
void RAdam::update(std::size_t group, Tensor& p, const Tensor& gradient, std::span<Tensor> slots) {
    const RAdamOptions& o = of(group);
    const Tensor g = effective(gradient, p, o.decoupled_weight_decay ? 0 : o.weight_decay, o.maximize);
    average(slots[0], g, o.beta1);
    average(slots[1], g * g, o.beta2);
    const Tensor adaptive =
        scalar(p, [](const Moment& now, const double* beta2) { return rectification(now.steps, *beta2); }, {o.beta2});
    const Tensor plain = scalar(
        p, [](const Moment& now, const double* beta2) { return rectification(now.steps, *beta2) == 0 ? 1.0 : 0.0; },
        {o.beta2});
    const Tensor change =
        slots[0] * scalar(p, bias_corrected_lr, {o.beta1}) * (adaptive / (sqrt(slots[1]) + o.eps) + plain);
    if (o.decoupled_weight_decay && o.weight_decay != 0) p.assign(p * scalar(p, shrink, {o.weight_decay}) - change);
    else p -= change;
}

}  // namespace weft::optim
