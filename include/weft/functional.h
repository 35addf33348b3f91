// weft/functional.h: what neural networks are made of, as functions: activations, softmax, normalisation, linear,
// convolution, pooling, embedding. Losses are in weft/loss.h. f16 and bf16 are computed in f32 inside and rounded once.
#pragma once

#include <weft/loss.h>
#include <weft/tensor.h>

#include <cstdint>

namespace weft {

// ---- activations -----------------------------------------------------------------------------------------------------

Tensor relu(const Tensor& x);     // max(x, 0); the gradient at 0 is 0
Tensor sigmoid(const Tensor& x);  // 1 / (1 + exp(-x))
Tensor log_sigmoid(const Tensor& x);
Tensor silu(const Tensor& x);  // x * sigmoid(x)

// log(1 + exp(beta x)) / beta, a smooth relu; above the threshold, where it is x up to rounding, it is x.
Tensor softplus(const Tensor& x, double beta = 1, double threshold = 20);
Tensor leaky_relu(const Tensor& x, double slope = 0.01);
Tensor elu(const Tensor& x, double alpha = 1);
Tensor hardtanh(const Tensor& x, double low = -1, double high = 1);

// x times the normal distribution function of x: by erf, or by PyTorch's tanh approximation.
//
//     gelu(x, GeluForm::Tanh);
enum class GeluForm : std::uint8_t { Erf, Tanh };
Tensor gelu(const Tensor& x, GeluForm form = GeluForm::Erf);

// ---- softmax and normalisation ---------------------------------------------------------------------------------------

Tensor softmax(const Tensor& x, int axis = -1);      // exp(x) / sum(exp(x)) along the axis, without overflow
Tensor log_softmax(const Tensor& x, int axis = -1);  // its logarithm, accurate where the softmax is tiny

// (x - mean) / sqrt(variance + eps) * weight + bias over the last axes, whose sizes are `normalized_shape`; weight and
// bias have that shape or are left out.
//
//     layer_norm(x, {768}, weight, bias);
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

// x / sqrt(mean(x * x) + eps) * weight over the last axes, whose sizes are `normalized_shape`.
Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {}, double eps = 1e-5);

// Groups of channels (axis 1), each with its own mean and variance.
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

// Normalises each channel (axis 1) over all other axes. In training with the batch's mean and variance, which also move
// the running ones: running = (1 - momentum) * running + momentum * batch. Else with the running ones.
//
//     batch_norm(x, mean, var, weight, bias, {.training = true});
struct BatchNormOptions {
    bool training = false;
    double momentum = 0.1;
    double eps = 1e-5;
};
Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight = {},
                  const Tensor& bias = {}, const BatchNormOptions& options = {});

// ---- linear, convolution, pooling ------------------------------------------------------------------------------------

// x times weight transposed, plus bias: x is […, in], weight [out, in], bias [out].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

// A size for height and width: 3 or {3, 5}.
struct Pair {
    std::int64_t height, width;
    constexpr Pair(std::int64_t both) : height(both), width(both) {}
    constexpr Pair(int both) : Pair(static_cast<std::int64_t>(both)) {}
    constexpr Pair(std::int64_t height, std::int64_t width) : height(height), width(width) {}
};

// Slides `weight` [out, in / groups, kh, kw] over x [n, in, h, w], padded with zeros. (As in every deep learning library,
// the kernel is not mirrored.)
//
//     conv2d(images, weight, bias, {.stride = 2, .padding = 1});
struct Conv2dOptions {
    Pair stride = 1, padding = 0, dilation = 1;
    std::int64_t groups = 1;
};
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Conv2dOptions& options = {});

// The same in one dimension: x [n, in, l], weight [out, in / groups, k].
struct Conv1dOptions {
    std::int64_t stride = 1, padding = 0, dilation = 1, groups = 1;
};
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const Conv1dOptions& options = {});

// The largest element, or the mean, of each window of x [n, c, h, w]. The stride is the window's size unless given.
//
//     max_pool2d(x, 2);  avg_pool2d(x, 3, {.stride = 2, .padding = 1});
struct PoolOptions {
    Pair stride = 0;  // 0: the window's size
    Pair padding = 0;
    bool count_include_pad = true;  // avg_pool2d: padding counts as zeros, else it is left out of the mean
};
Tensor max_pool2d(const Tensor& x, Pair window, const PoolOptions& options = {});
Tensor avg_pool2d(const Tensor& x, Pair window, const PoolOptions& options = {});

// Rows of weight [count, features]: an index of any shape gives […, features].
//
//     embedding(weight, tensor({3, 1, 4}));     // f32[3, features]
Tensor embedding(const Tensor& weight, const Tensor& index);

}  // namespace weft
