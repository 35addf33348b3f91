// python/src/functional.cpp: what weft.nn.functional consists of; some of it are functions of weft and methods too, as in PyTorch.
#include "arguments.h"
#include "topics.h"

#include <weft/functional.h>
#include <weft/ops.h>

namespace weft::python {

namespace {

Tensor in_type(const Tensor& x, std::optional<DType> dtype) { return dtype && *dtype != x.dtype() ? x.to(*dtype) : x; }

// In front of a batch axis, which the C++ functions always have.
template <class F>
Tensor batched(const Tensor& x, int rank, F f) {
    return x.rank() == rank - 1 ? f(x.unsqueeze(0)).squeeze(0) : f(x);
}

void bind_activations(nb::module_& f) {
    function(f, "relu", "input, inplace=False", "max(x, 0).", [](const Tensor& x, bool) { return relu(x); });
    function(f, "sigmoid", "input", "1 / (1 + exp(-x)).", [](const Tensor& x) { return sigmoid(x); });
    function(f, "tanh", "input", "The hyperbolic tangent.", [](const Tensor& x) { return tanh(x); });
    function(f, "logsigmoid", "input", "log(sigmoid(x)), without overflow.",
             [](const Tensor& x) { return log_sigmoid(x); });
    function(f, "silu", "input, inplace=False", "x * sigmoid(x).", [](const Tensor& x, bool) { return silu(x); });
    function(f, "softplus", "input, beta=1.0, threshold=20.0", "log(1 + exp(beta x)) / beta.",
             [](const Tensor& x, double beta, double threshold) { return softplus(x, beta, threshold); });
    function(f, "leaky_relu", "input, negative_slope=0.01, inplace=False", "x, or slope * x where x is negative.",
             [](const Tensor& x, double slope, bool) { return leaky_relu(x, slope); });
    function(f, "elu", "input, alpha=1.0, inplace=False", "x, or alpha * (exp(x) - 1) where x is negative.",
             [](const Tensor& x, double alpha, bool) { return elu(x, alpha); });
    function(f, "hardtanh", "input, min_val=-1.0, max_val=1.0, inplace=False", "x within limits.",
             [](const Tensor& x, double low, double high, bool) { return hardtanh(x, low, high); });
    function(f, "relu6", "input, inplace=False", "x within 0 and 6.",
             [](const Tensor& x, bool) { return hardtanh(x, 0, 6); });
    function(f, "gelu", "input, approximate='none'",
             "x times the normal distribution function of x; approximate='tanh' is faster.",
             [](const Tensor& x, std::string_view approximate) {
                 if (approximate != "none" && approximate != "tanh")
                     throw ValueError("gelu(): argument 'approximate' must be 'none' or 'tanh', not '" +
                                      std::string(approximate) + "'");
                 return gelu(x, approximate == "tanh" ? GeluForm::Tanh : GeluForm::Erf);
             });
}

void bind_softmax(nb::module_& m, nb::module_& f, nb::handle tensor) {
    both(m, tensor, "softmax", "dim, dtype=None", "exp(x) / sum(exp(x)) along an axis, without overflow.",
         [](const Tensor& x, int dim, std::optional<DType> dtype) { return softmax(in_type(x, dtype), dim); });
    both(m, tensor, "log_softmax", "dim, dtype=None", "The logarithm of softmax, accurate where it is tiny.",
         [](const Tensor& x, int dim, std::optional<DType> dtype) { return log_softmax(in_type(x, dtype), dim); });
    f.attr("softmax") = m.attr("softmax");
    f.attr("log_softmax") = m.attr("log_softmax");
    function(f, "softmin", "input, dim, dtype=None", "softmax(-x).",
             [](const Tensor& x, int dim, std::optional<DType> dtype) { return softmax(neg(in_type(x, dtype)), dim); });
}

void bind_norms(nb::module_& f) {
    function(f, "layer_norm", "input, normalized_shape, weight=None, bias=None, eps=1e-05",
             "Mean 0 and variance 1 over the last axes, times weight plus bias.",
             [](const Tensor& x, const Dims& shape, const MaybeTensor& weight, const MaybeTensor& bias, double eps) {
                 return layer_norm(x, shape, weight.tensor, bias.tensor, eps);
             });
    function(f, "rms_norm", "input, normalized_shape, weight=None, eps=None",
             "x / sqrt(mean(x²) + eps) * weight over the last axes.",
             [](const Tensor& x, const Dims& shape, const MaybeTensor& weight, std::optional<double> eps) {
                 return rms_norm(x, shape, weight.tensor, eps.value_or(x.dtype() == f64 ? 0x1p-52 : 0x1p-23));
             });
    function(f, "group_norm", "input, num_groups, weight=None, bias=None, eps=1e-05",
             "Groups of channels, each with mean 0 and variance 1.",
             [](const Tensor& x, std::int64_t groups, const MaybeTensor& weight, const MaybeTensor& bias, double eps) {
                 return group_norm(x, groups, weight.tensor, bias.tensor, eps);
             });
    function(f, "batch_norm",
             "input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05",
             "Each channel with mean 0 and variance 1 over the batch; in training the running ones move.",
             [](const Tensor& x, const MaybeTensor& mean, const MaybeTensor& var, const MaybeTensor& weight,
                const MaybeTensor& bias, bool training, double momentum, double eps) {
                 return batch_norm(x, mean.tensor, var.tensor, weight.tensor, bias.tensor,
                                   {.training = training, .momentum = momentum, .eps = eps});
             });
}

void bind_layers(nb::module_& f) {
    function(
        f, "linear", "input, weight, bias=None", "x times weight transposed, plus bias.",
        [](const Tensor& x, const Tensor& weight, const MaybeTensor& bias) { return linear(x, weight, bias.tensor); });
    function(f, "conv2d", "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1",
             "Slides weight [out, in / groups, kh, kw] over [n, in, h, w].",
             [](const Tensor& x, const Tensor& weight, const MaybeTensor& bias, Pair stride, Pair padding,
                Pair dilation, std::int64_t groups) {
                 return batched(x, 4, [&](const Tensor& batch) {
                     return conv2d(batch, weight, bias.tensor,
                                   {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups});
                 });
             });
    function(
        f, "conv1d", "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1",
        "Slides weight [out, in / groups, k] over [n, in, l].",
        [](const Tensor& x, const Tensor& weight, const MaybeTensor& bias, Pair stride, Pair padding, Pair dilation,
           std::int64_t groups) {
            return batched(x, 3, [&](const Tensor& batch) {
                return conv1d(
                    batch, weight, bias.tensor,
                    {.stride = stride.width, .padding = padding.width, .dilation = dilation.width, .groups = groups});
            });
        });
    function(f, "max_pool2d", "input, kernel_size, stride=None, padding=0", "The largest element of each window.",
             [](const Tensor& x, Pair window, std::optional<Pair> stride, Pair padding) {
                 return batched(x, 4, [&](const Tensor& batch) {
                     return max_pool2d(batch, window, {.stride = stride.value_or(0), .padding = padding});
                 });
             });
    function(f, "avg_pool2d", "input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True",
             "The mean of each window.",
             [](const Tensor& x, Pair window, std::optional<Pair> stride, Pair padding, bool ceil_mode,
                bool count_include_pad) {
                 if (ceil_mode) throw ValueError("avg_pool2d(): ceil_mode=True is not supported");
                 return batched(x, 4, [&](const Tensor& batch) {
                     return avg_pool2d(
                         batch, window,
                         {.stride = stride.value_or(0), .padding = padding, .count_include_pad = count_include_pad});
                 });
             });
    function(f, "embedding", "input, weight", "Rows of weight, by index.",
             [](const Tensor& index, const Tensor& weight) { return embedding(weight, index); });
    function(f, "dropout", "input, p=0.5, training=True, inplace=False",
             "In training each element is 0 with probability p, and the others are scaled by 1 / (1 - p).",
             [](const Tensor& x, double p, bool training, bool) { return dropout(x, p, training); });
    function(f, "pad", "input, pad, mode='constant', value=None",
             "Elements around the tensor; pairs (before, after), the last axis first.",
             [](const Tensor& x, const Dims& widths, std::string_view mode, std::optional<Scalar> value) {
                 if (mode != "constant")
                     throw ValueError("pad(): argument 'mode' must be 'constant', not '" + std::string(mode) + "'");
                 return pad(x, widths, value.value_or(0));
             });
    function(f, "one_hot", "tensor, num_classes=-1", "1 at the index, else 0, along a new last axis.",
             [](const Tensor& index, std::int64_t classes) {
                 return one_hot(index, classes < 0 ? max(index).item<std::int64_t>() + 1 : classes);
             });
}

}  // namespace

void bind_functional(nb::module_& m, nb::handle tensor) {
    nb::module_ f = m.def_submodule("functional", "Layers, activations and losses as functions.");
    bind_activations(f);
    bind_softmax(m, f, tensor);
    bind_norms(f);
    bind_layers(f);
    bind_losses(f);
}

}  // namespace weft::python
