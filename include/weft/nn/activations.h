// weft/nn/activations.h: the activation functions of weft/activations.h as modules, for nn::Sequential.
#pragma once

#include <weft/activations.h>
#include <weft/api.h>
#include <weft/nn/module.h>

#include <optional>

namespace WEFT_API weft {
namespace nn {

struct Tanh : Module {
    Tensor forward(const Tensor& x) override { return x.tanh(); }
};
struct ReLU : Module {
    Tensor forward(const Tensor& x) override { return weft::relu(x); }
};
struct ReLU6 : Module {
    Tensor forward(const Tensor& x) override { return weft::relu6(x); }
};
struct SELU : Module {
    Tensor forward(const Tensor& x) override { return weft::selu(x); }
};
struct SiLU : Module {
    Tensor forward(const Tensor& x) override { return weft::silu(x); }
};
struct Mish : Module {
    Tensor forward(const Tensor& x) override { return weft::mish(x); }
};
struct Sigmoid : Module {
    Tensor forward(const Tensor& x) override { return weft::sigmoid(x); }
};
struct LogSigmoid : Module {
    Tensor forward(const Tensor& x) override { return weft::log_sigmoid(x); }
};
struct Hardsigmoid : Module {
    Tensor forward(const Tensor& x) override { return weft::hardsigmoid(x); }
};
struct Hardswish : Module {
    Tensor forward(const Tensor& x) override { return weft::hardswish(x); }
};
struct Softsign : Module {
    Tensor forward(const Tensor& x) override { return weft::softsign(x); }
};
struct Tanhshrink : Module {
    Tensor forward(const Tensor& x) override { return weft::tanhshrink(x); }
};
struct GELU : Module {
    explicit GELU(GeluForm form = GeluForm::Erf) : form(form) {}
    Tensor forward(const Tensor& x) override { return weft::gelu(x, form); }
    const GeluForm form;
};
struct LeakyReLU : Module {
    explicit LeakyReLU(double slope = 0.01) : slope(slope) {}
    Tensor forward(const Tensor& x) override { return weft::leaky_relu(x, slope); }
    const double slope;
};
struct RReLU : Module {
    explicit RReLU(double lower = 1.0 / 8, double upper = 1.0 / 3) : lower(lower), upper(upper) {}
    Tensor forward(const Tensor& x) override { return weft::rrelu(x, lower, upper, training()); }
    const double lower, upper;
};
struct ELU : Module {
    explicit ELU(double alpha = 1) : alpha(alpha) {}
    Tensor forward(const Tensor& x) override { return weft::elu(x, alpha); }
    const double alpha;
};
struct CELU : Module {
    explicit CELU(double alpha = 1) : alpha(alpha) {}
    Tensor forward(const Tensor& x) override { return weft::celu(x, alpha); }
    const double alpha;
};
struct Hardshrink : Module {
    explicit Hardshrink(double lambda = 0.5) : lambda(lambda) {}
    Tensor forward(const Tensor& x) override { return weft::hardshrink(x, lambda); }
    const double lambda;
};
struct Softshrink : Module {
    explicit Softshrink(double lambda = 0.5) : lambda(lambda) {}
    Tensor forward(const Tensor& x) override { return weft::softshrink(x, lambda); }
    const double lambda;
};
struct Hardtanh : Module {
    explicit Hardtanh(double low = -1, double high = 1) : low(low), high(high) {}
    Tensor forward(const Tensor& x) override { return weft::hardtanh(x, low, high); }
    const double low, high;
};
struct Softplus : Module {
    explicit Softplus(double beta = 1, double limit = 20) : beta(beta), limit(limit) {}
    Tensor forward(const Tensor& x) override { return weft::softplus(x, beta, limit); }
    const double beta, limit;
};
struct Threshold : Module {
    Threshold(double limit, double value) : limit(limit), value(value) {}
    Tensor forward(const Tensor& x) override { return weft::threshold(x, limit, value); }
    const double limit, value;
};
struct GLU : Module {
    explicit GLU(int axis = -1) : axis(axis) {}
    Tensor forward(const Tensor& x) override { return weft::glu(x, axis); }
    const int axis;
};
struct Softmax : Module {
    explicit Softmax(int axis = -1) : axis(axis) {}
    Tensor forward(const Tensor& x) override { return weft::softmax(x, axis); }
    const int axis;
};
struct Softmin : Module {
    explicit Softmin(int axis = -1) : axis(axis) {}
    Tensor forward(const Tensor& x) override { return weft::softmin(x, axis); }
    const int axis;
};
struct LogSoftmax : Module {
    explicit LogSoftmax(int axis = -1) : axis(axis) {}
    Tensor forward(const Tensor& x) override { return weft::log_softmax(x, axis); }
    const int axis;
};

struct PReLUSettings {
    double start = 0.25;
    std::optional<Device> device = {};  // of the parameters; none: default_device()
};

// x, or weight * x where x is negative; one weight for all channels, or one for each.
class PReLU : public Module {
public:
    explicit PReLU(std::int64_t parameters = 1, const PReLUSettings& settings = {});
    PReLU(std::int64_t parameters, double start) : PReLU(parameters, PReLUSettings{.start = start}) {}
    Tensor forward(const Tensor& x) override { return weft::prelu(x, weight); }
    Tensor weight;
};

}  // namespace nn
}  // namespace weft
