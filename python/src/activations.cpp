// python/src/activations.cpp: the activation functions of weft.nn.functional. Those that PyTorch lets work in place do
// so as well.
#include "elementwise.h"
#include "topics.h"

#include <weft/ops.h>

namespace weft::python {

namespace {

GeluForm gelu_form(std::string_view approximate) {
    if (approximate != "none" && approximate != "tanh")
        throw ValueError("gelu(): argument 'approximate' must be 'none' or 'tanh', not '" + std::string(approximate) +
                         "'");
    return approximate == "tanh" ? GeluForm::Tanh : GeluForm::Erf;
}

void bind_like_relu(nb::module_& f) {
    function(f, "relu", "input, inplace=False", "max(x, 0).",
             [](const Tensor& x, bool inplace) { return placed(x, relu(x), inplace); });
    function(f, "relu6", "input, inplace=False", "x within 0 and 6.",
             [](const Tensor& x, bool inplace) { return placed(x, relu6(x), inplace); });
    function(f, "leaky_relu", "input, negative_slope=0.01, inplace=False", "x, or slope * x where x is negative.",
             [](const Tensor& x, double slope, bool inplace) { return placed(x, leaky_relu(x, slope), inplace); });
    function(f, "prelu", "input, weight", "x, or weight * x where x is negative; one weight, or one for each channel.",
             [](const Tensor& x, const Tensor& weight) { return prelu(x, weight); });
    function(f, "rrelu", "input, lower=0.125, upper=0.3333333333333333, training=False, inplace=False",
             "x, or slope * x where x is negative, with random slopes in training.",
             [](const Tensor& x, double lower, double upper, bool training, bool inplace) {
                 return placed(x, rrelu(x, lower, upper, training), inplace);
             });
    function(f, "elu", "input, alpha=1.0, inplace=False", "x, or alpha * (exp(x) - 1) where x is negative.",
             [](const Tensor& x, double alpha, bool inplace) { return placed(x, elu(x, alpha), inplace); });
    function(f, "celu", "input, alpha=1.0, inplace=False", "x, or alpha * (exp(x / alpha) - 1) where x is negative.",
             [](const Tensor& x, double alpha, bool inplace) { return placed(x, celu(x, alpha), inplace); });
    function(f, "selu", "input, inplace=False", "A scaled ELU that keeps mean and variance.",
             [](const Tensor& x, bool inplace) { return placed(x, selu(x), inplace); });
    function(f, "threshold", "input, threshold, value, inplace=False",
             "x where it is above the threshold, else the value.",
             [](const Tensor& x, double limit, double value, bool inplace) {
                 return placed(x, threshold(x, limit, value), inplace);
             });
    function(f, "softplus", "input, beta=1.0, threshold=20.0", "log(1 + exp(beta x)) / beta.",
             [](const Tensor& x, double beta, double limit) { return softplus(x, beta, limit); });
    function(f, "gelu", "input, approximate='none'",
             "x times the normal distribution function of x; approximate='tanh' is faster.",
             [](const Tensor& x, std::string_view approximate) { return gelu(x, gelu_form(approximate)); });
    function(f, "silu", "input, inplace=False", "x * sigmoid(x).",
             [](const Tensor& x, bool inplace) { return placed(x, silu(x), inplace); });
    function(f, "mish", "input, inplace=False", "x * tanh(softplus(x)).",
             [](const Tensor& x, bool inplace) { return placed(x, mish(x), inplace); });
    function(f, "hardswish", "input, inplace=False", "x * hardsigmoid(x).",
             [](const Tensor& x, bool inplace) { return placed(x, hardswish(x), inplace); });
}

void bind_like_tanh(nb::module_& f) {
    function(f, "sigmoid", "input", "1 / (1 + exp(-x)).", [](const Tensor& x) { return sigmoid(x); });
    function(f, "tanh", "input", "The hyperbolic tangent.", [](const Tensor& x) { return tanh(x); });
    function(f, "logsigmoid", "input", "log(sigmoid(x)), without overflow.",
             [](const Tensor& x) { return log_sigmoid(x); });
    function(f, "hardsigmoid", "input, inplace=False", "A sigmoid of three lines.",
             [](const Tensor& x, bool inplace) { return placed(x, hardsigmoid(x), inplace); });
    function(f, "softsign", "input", "x / (1 + |x|).", [](const Tensor& x) { return softsign(x); });
    function(f, "hardtanh", "input, min_val=-1.0, max_val=1.0, inplace=False", "x within limits.",
             [](const Tensor& x, double low, double high, bool inplace) {
                 return placed(x, hardtanh(x, low, high), inplace);
             });
    function(f, "gumbel_softmax", "logits, tau=1.0, hard=False, eps=1e-10, dim=-1",
             "A random sample of the classes, as a softmax or as a one-hot vector, that the gradient goes through.",
             [](const Tensor& x, double tau, bool hard, double, int dim) { return gumbel_softmax(x, tau, hard, dim); });
    function(f, "glu", "input, dim=-1", "The first half of an axis times the sigmoid of the second half.",
             [](const Tensor& x, int dim) { return glu(x, dim); });
    function(f, "tanhshrink", "input", "x - tanh(x).", [](const Tensor& x) { return tanhshrink(x); });
    function(f, "hardshrink", "input, lambd=0.5", "0 within the limits, else x.",
             [](const Tensor& x, double lambda) { return hardshrink(x, lambda); });
    function(f, "softshrink", "input, lambd=0.5", "0 within the limits, else x moved towards 0.",
             [](const Tensor& x, double lambda) { return softshrink(x, lambda); });
}

// F.relu_(x) and its like: F.relu(x, inplace=True).
void bind_in_place(nb::module_& f) {
    function(f, "relu_", "input", "relu, in place.", [](InPlace x) { return stored(x, relu(x.tensor())); });
    function(f, "leaky_relu_", "input, negative_slope=0.01", "leaky_relu, in place.",
             [](InPlace x, double slope) { return stored(x, leaky_relu(x.tensor(), slope)); });
    function(f, "elu_", "input, alpha=1.0", "elu, in place.",
             [](InPlace x, double alpha) { return stored(x, elu(x.tensor(), alpha)); });
    function(f, "celu_", "input, alpha=1.0", "celu, in place.",
             [](InPlace x, double alpha) { return stored(x, celu(x.tensor(), alpha)); });
    function(f, "selu_", "input", "selu, in place.", [](InPlace x) { return stored(x, selu(x.tensor())); });
    function(f, "rrelu_", "input, lower=0.125, upper=0.3333333333333333, training=False", "rrelu, in place.",
             [](InPlace x, double lower, double upper, bool training) {
                 return stored(x, rrelu(x.tensor(), lower, upper, training));
             });
    function(f, "hardtanh_", "input, min_val=-1.0, max_val=1.0", "hardtanh, in place.",
             [](InPlace x, double low, double high) { return stored(x, hardtanh(x.tensor(), low, high)); });
    function(f, "threshold_", "input, threshold, value", "threshold, in place.",
             [](InPlace x, double limit, double value) { return stored(x, threshold(x.tensor(), limit, value)); });
}

// Those that PyTorch has outside of nn.functional as well.
void bind_outside(nb::module_& m, nb::handle t) {
    unary<sigmoid>(m, t, "sigmoid", "1 / (1 + exp(-x)).");
    unary<relu>(m, t, "relu", "max(x, 0).");
    function(m, "selu", "input", "A scaled ELU that keeps mean and variance.", [](const Tensor& x) { return selu(x); });
    function(m, "celu", "input, alpha=1.0", "x, or alpha * (exp(x / alpha) - 1) where x is negative.",
             [](const Tensor& x, double alpha) { return celu(x, alpha); });
    function(
        m, "rrelu", "input, lower=0.125, upper=0.3333333333333333, training=False",
        "x, or slope * x where x is negative, with random slopes in training.",
        [](const Tensor& x, double lower, double upper, bool training) { return rrelu(x, lower, upper, training); });
    function(m, "threshold", "input, threshold, value", "x where it is above the threshold, else the value.",
             [](const Tensor& x, double limit, double value) { return threshold(x, limit, value); });
    both(m, t, "prelu", "weight", "x, or weight * x where x is negative; one weight, or one for each channel.",
         [](const Tensor& x, const Tensor& weight) { return prelu(x, weight); });
    both(m, t, "hardshrink", "lambd=0.5", "0 within the limits, else x.",
         [](const Tensor& x, double lambda) { return hardshrink(x, lambda); });
}

Tensor in_type(const Tensor& x, std::optional<DType> dtype) { return dtype && *dtype != x.dtype() ? x.to(*dtype) : x; }

// Where no axis is given PyTorch takes the channels of a batch, and the only axis of a vector.
int usual_axis(const Tensor& x) { return x.rank() == 0 || x.rank() == 1 || x.rank() == 3 ? 0 : 1; }

void bind_softmax(nb::module_& m, nb::module_& f, nb::handle tensor) {
    both(m, tensor, "softmax", "dim, dtype=None", "exp(x) / sum(exp(x)) along an axis, without overflow.",
         [](const Tensor& x, int dim, std::optional<DType> dtype) { return softmax(in_type(x, dtype), dim); });
    both(m, tensor, "log_softmax", "dim, dtype=None", "The logarithm of softmax, accurate where it is tiny.",
         [](const Tensor& x, int dim, std::optional<DType> dtype) { return log_softmax(in_type(x, dtype), dim); });
    function(f, "softmax", "input, dim=None, _stacklevel=3, dtype=None",
             "exp(x) / sum(exp(x)) along an axis, without overflow.",
             [](const Tensor& x, std::optional<int> dim, int, std::optional<DType> dtype) {
                 return softmax(in_type(x, dtype), dim.value_or(usual_axis(x)));
             });
    function(f, "log_softmax", "input, dim=None, _stacklevel=3, dtype=None",
             "The logarithm of softmax, accurate where it is tiny.",
             [](const Tensor& x, std::optional<int> dim, int, std::optional<DType> dtype) {
                 return log_softmax(in_type(x, dtype), dim.value_or(usual_axis(x)));
             });
    function(f, "softmin", "input, dim=None, _stacklevel=3, dtype=None", "softmax(-x).",
             [](const Tensor& x, std::optional<int> dim, int, std::optional<DType> dtype) {
                 return softmin(in_type(x, dtype), dim.value_or(usual_axis(x)));
             });
}

}  // namespace

void bind_activations(nb::module_& m, nb::module_& f, nb::handle tensor) {
    bind_like_relu(f);
    bind_like_tanh(f);
    bind_in_place(f);
    bind_outside(m, tensor);
    bind_softmax(m, f, tensor);
}

}  // namespace weft::python
