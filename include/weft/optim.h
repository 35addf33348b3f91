// weft/optim.h: optimisers. step() writes the parameters with ordinary tensor ops and ends with a run, so loss, gradients and
// update of a training step are one plan; learning rates and step counts may change without a new one.
//
//     optim::Adam adam(net.parameters(), {.lr = 1e-3});
//     for (…) {
//         adam.zero_grad();
//         const Tensor loss = cross_entropy(net(x), labels);
//         loss.backward();
//         adam.step();
//     }
#pragma once

#include <weft/tensor.h>

#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace weft::optim {

class Optimizer {
public:
    virtual ~Optimizer() = default;
    Optimizer(const Optimizer&) = delete;
    Optimizer& operator=(const Optimizer&) = delete;

    void step();       // updates every parameter that has a gradient, and computes all that is pending
    void zero_grad();  // drops the gradients

    double lr() const { return clock_->lr; }
    void set_lr(double lr);
    std::int64_t steps() const { return clock_->steps; }

    // What a checkpoint holds beside the parameters: "steps", and for parameter i "i.<name>". Loading throws, and changes
    // nothing, if a shape does not fit.
    std::vector<std::pair<std::string, Tensor>> state() const;
    void load_state(const std::vector<std::pair<std::string, Tensor>>& state);

protected:
    Optimizer(std::vector<Tensor> parameters, double lr, std::vector<std::string> slots);

    // To be called by a constructor whose state begins with zeros rather than with the first gradient.
    void start_at_zero();

    // Writes one parameter, which has a gradient; under NoGrad. `slots` are its own state: zeros at first, else undefined.
    virtual void update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> slots) = 0;

    // A run-time scalar, f64 for an f64 parameter, else f32. `value` computes it from the learning rate and the number of this step.
    struct Clock {
        double lr = 0;
        std::int64_t steps = 0;
    };
    Tensor scalar(const Tensor& parameter, double (*value)(const Clock&, const double* constants),
                  std::initializer_list<double> constants = {});

private:
    void fill_empty(std::vector<std::vector<Tensor>>& slots) const;  // with zeros, in memory of their own
    struct Drawn {
        const void* value;
        DType dtype;
        Tensor tensor;
    };
    std::vector<Tensor> parameters_;
    std::vector<std::string> slot_names_;
    std::vector<std::vector<Tensor>> slots_;  // by parameter
    bool starts_at_zero_ = false;
    std::shared_ptr<Clock> clock_;  // shared with captured functions, which draw scalars anew
    struct Turn;
    std::shared_ptr<Turn> turn_;  // of this step, shared with its scalars
    std::vector<Drawn> drawn_;    // the scalars of this step
};

// Stochastic gradient descent, as in PyTorch: g += weight_decay p; buffer = momentum buffer + (1 - dampening) g; p -= lr buffer.
struct SGDOptions {
    double lr = 1e-3, momentum = 0, dampening = 0, weight_decay = 0;
    bool nesterov = false;
};
class SGD : public Optimizer {
public:
    explicit SGD(std::vector<Tensor> parameters, const SGDOptions& options = {});

private:
    void update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> slots) override;
    const SGDOptions options_;
};

// m and v are running means of g and g²; p -= lr m' / (√v' + eps), with m' and v' corrected for their start at 0.
struct AdamOptions {
    double lr = 1e-3, beta1 = 0.9, beta2 = 0.999, eps = 1e-8, weight_decay = 0;
};
class Adam : public Optimizer {
public:
    explicit Adam(std::vector<Tensor> parameters, const AdamOptions& options = {})
        : Adam(std::move(parameters), options, false) {}

protected:
    Adam(std::vector<Tensor> parameters, const AdamOptions& options, bool decoupled);

private:
    void update(Tensor& parameter, const Tensor& gradient, std::span<Tensor> slots) override;
    const AdamOptions options_;
    const bool decoupled_;  // weight decay shrinks the parameter instead of joining the gradient
};

class AdamW : public Adam {
public:
    explicit AdamW(std::vector<Tensor> parameters, AdamOptions options = {.weight_decay = 0.01})
        : Adam(std::move(parameters), options, true) {}
};

// Scales all gradients by one factor, so that their joint norm is at most `most`; returns the norm before. Lazy: part of the step.
//
//     optim::clip_grad_norm(net.parameters(), 1.0);
Tensor clip_grad_norm(std::span<const Tensor> parameters, double most);

}  // namespace weft::optim
