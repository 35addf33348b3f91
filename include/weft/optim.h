// weft/optim.h: optimisers. step() writes the parameters with ordinary tensor ops and ends with a run, so loss, gradients and
// update of a training step are one plan; learning rates and step counts may change without a new one. weft/lr_scheduler.h
// changes the learning rate.
//
//     optim::Adam adam(net.parameters(), {.lr = 1e-3});
//     for (…) {
//         adam.zero_grad();
//         const Tensor loss = cross_entropy(net(x), labels);
//         loss.backward();
//         adam.step();
//     }
//
// Parameters may come in groups, each with options of its own:
//
//     optim::SGD sgd(net.body.parameters(), {.lr = 0.01, .momentum = 0.9});
//     sgd.add_param_group(net.head.parameters(), {.lr = 0.1});
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace WEFT_API weft {
namespace optim {

class Optimizer {
public:
    virtual ~Optimizer() = default;
    Optimizer(const Optimizer&) = delete;
    Optimizer& operator=(const Optimizer&) = delete;

    void step();  // updates every parameter that has a gradient, and computes all that is pending
    Tensor step(const std::function<Tensor()>& closure);  // calls it first, with gradients; returns what it returns
    void zero_grad(bool set_to_none = true);              // drops the gradients, or fills them with zeros

    std::size_t groups() const { return groups_.size(); }
    std::span<const Tensor> parameters(std::size_t group = 0) const;
    double lr(std::size_t group = 0) const;
    void set_lr(double lr);  // of all groups
    void set_lr(std::size_t group, double lr);
    std::int64_t steps() const;

    // What a checkpoint holds beside the parameters: "steps", and for each parameter that was updated, numbered through all
    // groups, "i.<name>" and "i.step". Loading throws, and changes nothing, if a shape does not fit.
    std::vector<std::pair<std::string, Tensor>> state() const;
    void load_state(const std::vector<std::pair<std::string, Tensor>>& state);

protected:
    Optimizer(std::string_view name, std::vector<std::string> slots);

    void check_group(const std::vector<Tensor>& parameters, double lr) const;
    void add_group(std::vector<Tensor> parameters, double lr);
    void check_range(std::string_view what, double value, double low, double below) const;
    void check_moments(double beta1, double beta2, double eps, double weight_decay) const;  // of Adam and its kin
    void fill_slots();
    void follow_parameters();  // those that have a start and no value yet, in memory of their own

    // With which number a slot of this group's parameters starts; none: it is not used, or starts with the first gradient.
    virtual std::optional<double> start(std::size_t group, std::size_t slot) const = 0;

    // Writes one parameter, which has a gradient; under NoGrad. `slots` are its own state.
    virtual void update(std::size_t group, Tensor& parameter, const Tensor& gradient, std::span<Tensor> slots) = 0;

    // A run-time scalar, f64 for an f64 parameter, else f32. `value` computes it from the group's learning rate and the number of
    // updates of the parameter, this one included.
    struct Moment {
        double lr = 0, steps = 0;
    };
    Tensor scalar(const Tensor& parameter, double (*value)(const Moment&, const double* constants),
                  std::initializer_list<double> constants = {});
    Tensor lr_of(const Tensor& parameter);  // the learning rate as such a scalar

private:
    struct Group {
        std::size_t first, count;  // of parameters_
    };
    struct Clock;
    struct Replays;
    struct Drawn {
        const void* value;
        std::vector<double> constants;
        DType dtype;
        std::size_t group;
        std::int64_t missed;
        Tensor tensor;
    };
    std::size_t group_of(std::size_t parameter) const;

    const std::string name_;
    const std::vector<std::string> slot_names_;
    std::vector<Group> groups_;
    std::vector<Tensor> parameters_;          // of all groups
    std::vector<std::vector<Tensor>> slots_;  // by parameter
    std::vector<bool> updated_;               // by parameter: it has a state
    std::shared_ptr<Clock> clock_;            // shared with traced functions, which draw scalars anew
    std::shared_ptr<Replays> replays_;        // of this step, shared with its scalars
    std::vector<Drawn> drawn_;                // the scalars of this step
    std::size_t now_ = 0;                     // the parameter that is being updated
};

// An optimiser whose groups have options of this type.
template <class Options>
class OptimizerOf : public Optimizer {
public:
    void add_param_group(std::vector<Tensor> parameters, const Options& options) {
        check(options);
        check_group(parameters, options.lr);
        options_.push_back(options);
        add_group(std::move(parameters), options.lr);
    }
    Options options(std::size_t group = 0) const {
        Options result = options_.at(group);
        result.lr = lr(group);
        return result;
    }
    void set_options(std::size_t group, const Options& options) {
        check(options);
        set_lr(group, options.lr);
        options_.at(group) = options;
        fill_slots();
    }

protected:
    using Optimizer::Optimizer;
    virtual void check(const Options& options) const = 0;
    const Options& of(std::size_t group) const { return options_[group]; }

private:
    std::vector<Options> options_;
};

// What the optimisers below have in common. Each declares its options, with PyTorch's defaults, and its rule. `name` is how messages and
// profiles call it.
#define WEFT_OPTIMIZER(Name, Options)                                                                          \
public:                                                                                                        \
    explicit Name(std::vector<Tensor> parameters, const Options& options = {}, std::string_view name = #Name); \
                                                                                                               \
private:                                                                                                       \
    void check(const Options& options) const override;                                                         \
    std::optional<double> start(std::size_t group, std::size_t slot) const override;                           \
    void update(std::size_t group, Tensor& parameter, const Tensor& gradient, std::span<Tensor> slots) override

// Stochastic gradient descent: g += weight_decay p; buffer = momentum buffer + (1 - dampening) g; p -= lr buffer.
struct SGDOptions {
    double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
    bool nesterov = false, maximize = false;
};
class SGD : public OptimizerOf<SGDOptions> {
    WEFT_OPTIMIZER(SGD, SGDOptions);
};

// m and v are running means of g and g²; p -= lr m' / (√v' + eps), with m' and v' corrected for their start at 0. With amsgrad
// the largest v so far counts.
struct AdamOptions {
    double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
    bool amsgrad = false, maximize = false;
    bool decoupled_weight_decay = false;  // it shrinks the parameter instead of joining the gradient
};
class Adam : public OptimizerOf<AdamOptions> {
    WEFT_OPTIMIZER(Adam, AdamOptions);
};
class AdamW : public Adam {  // decouples in every group
public:
    explicit AdamW(std::vector<Tensor> parameters, const AdamOptions& options = {.weight_decay = 0.01});
    void add_param_group(std::vector<Tensor> parameters, const AdamOptions& options);
    void set_options(std::size_t group, const AdamOptions& options);
};

// v is a running mean of g², from which that of g, squared, is taken if it is centred; p -= lr g / (√v + eps), with momentum.
struct RMSpropOptions {
    double lr = 1e-2, alpha = 0.99, eps = 1e-8, weight_decay = 0, momentum = 0;
    bool centered = false, maximize = false;
};
class RMSprop : public OptimizerOf<RMSpropOptions> {
    WEFT_OPTIMIZER(RMSprop, RMSpropOptions);
};

// sum += g²; p -= lr / (1 + (steps - 1) lr_decay) g / (√sum + eps).
struct AdagradOptions {
    double lr = 1e-2, lr_decay = 0, weight_decay = 0, initial_accumulator_value = 0, eps = 1e-10;
    bool maximize = false;
};
class Adagrad : public OptimizerOf<AdagradOptions> {
    WEFT_OPTIMIZER(Adagrad, AdagradOptions);
};

// p -= lr (sign(beta1 m + (1 - beta1) g) + weight_decay p); m = beta2 m + (1 - beta2) g.
struct LionOptions {
    double lr = 1e-4, beta1 = 0.9, beta2 = 0.99, weight_decay = 0;
    bool maximize = false;
};
class Lion : public OptimizerOf<LionOptions> {
    WEFT_OPTIMIZER(Lion, LionOptions);
};

// Steps in units of their own: delta = √(u + eps) / √(v + eps) g, with running means v of g² and u of delta²; p -= lr delta.
struct AdadeltaOptions {
    double lr = 1, rho = 0.9, eps = 1e-6, weight_decay = 0;
    bool maximize = false;
};
class Adadelta : public OptimizerOf<AdadeltaOptions> {
    WEFT_OPTIMIZER(Adadelta, AdadeltaOptions);
};

// Adam with u = max(beta2 u, |g| + eps) in place of √v.
struct AdamaxOptions {
    double lr = 2e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
    bool maximize = false;
};
class Adamax : public OptimizerOf<AdamaxOptions> {
    WEFT_OPTIMIZER(Adamax, AdamaxOptions);
};

// Adam with Nesterov's momentum, whose beta1 grows with momentum_decay.
struct NAdamOptions {
    double lr = 2e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0, momentum_decay = 4e-3;
    bool decoupled_weight_decay = false, maximize = false;
};
class NAdam : public OptimizerOf<NAdamOptions> {
    WEFT_OPTIMIZER(NAdam, NAdamOptions);
};

// Adam that begins without √v, until v is known well enough.
struct RAdamOptions {
    double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
    bool decoupled_weight_decay = false, maximize = false;
};
class RAdam : public OptimizerOf<RAdamOptions> {
    WEFT_OPTIMIZER(RAdam, RAdamOptions);
};

#undef WEFT_OPTIMIZER

// ---- gradients within limits, parameters as one vector ---------------------------------------------------------------

// Scales all gradients by one factor, so that their joint p-norm is at most `most`; returns the norm before. Lazy: part of the
// step, unless it is to throw for a norm that is no finite number.
//
//     optim::clip_grad_norm(net.parameters(), 1.0);
Tensor clip_grad_norm(std::span<const Tensor> parameters, double most, double p = 2, bool error_if_nonfinite = false);
void clip_grad_value(std::span<const Tensor> parameters, double most);  // each element to ±most

Tensor parameters_to_vector(std::span<const Tensor> parameters);  // all elements, one after the other
void vector_to_parameters(const Tensor& vector, std::span<const Tensor> parameters);  // writes them back

}  // namespace optim
}  // namespace weft
