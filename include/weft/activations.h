// weft/activations.h: the activation functions of neural networks, and softmax. f16 and bf16 are computed in f32 inside
// and rounded once; integers are computed in f32, except by relu.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>

namespace WEFT_API weft {

// ---- like relu -------------------------------------------------------------------------------------------------------

Tensor relu(const Tensor& x);  // max(x, 0); the gradient at 0 is 0
Tensor relu6(const Tensor& x);
Tensor leaky_relu(const Tensor& x, double slope = 0.01);

// x, or weight * x where x is negative; the weight has one element, or one for each channel (axis 1).
//
//     prelu(x, full({1}, 0.25));
Tensor prelu(const Tensor& x, const Tensor& weight);

// x, or slope * x where x is negative, with a slope per element: random between the limits in training, else their mean.
Tensor rrelu(const Tensor& x, double lower = 1.0 / 8, double upper = 1.0 / 3, bool training = false);
Tensor elu(const Tensor& x, double alpha = 1);                      // x, or alpha (exp(x) - 1) where x is negative
Tensor celu(const Tensor& x, double alpha = 1);                     // x, or alpha (exp(x / alpha) - 1)
Tensor selu(const Tensor& x);                                       // an elu that keeps mean 0 and variance 1
Tensor threshold(const Tensor& x, double threshold, double value);  // x where it is above the threshold, else the value

// log(1 + exp(beta x)) / beta, a smooth relu; above the threshold, where it is x up to rounding, it is x.
Tensor softplus(const Tensor& x, double beta = 1, double threshold = 20);

// x times the normal distribution function of x: by erf, or by PyTorch's tanh approximation.
//
//     gelu(x, GeluForm::Tanh);
enum class GeluForm : std::uint8_t { Erf, Tanh };
Tensor gelu(const Tensor& x, GeluForm form = GeluForm::Erf);
Tensor silu(const Tensor& x);       // x * sigmoid(x)
Tensor mish(const Tensor& x);       // x * tanh(softplus(x))
Tensor hardswish(const Tensor& x);  // x * hardsigmoid(x)

// ---- like sigmoid and tanh; tanh itself is in weft/arithmetic.h -----------------------------------------------------

Tensor sigmoid(const Tensor& x);      // 1 / (1 + exp(-x))
Tensor log_sigmoid(const Tensor& x);  // its logarithm, without overflow
Tensor hardsigmoid(const Tensor& x);  // relu6(x + 3) / 6
Tensor softsign(const Tensor& x);     // x / (1 + |x|)
Tensor hardtanh(const Tensor& x, double low = -1, double high = 1);

// The first half of an axis times the sigmoid of the second half.
Tensor glu(const Tensor& x, int axis = -1);

// ---- towards 0 -------------------------------------------------------------------------------------------------------

Tensor tanhshrink(const Tensor& x);                       // x - tanh(x)
Tensor hardshrink(const Tensor& x, double lambda = 0.5);  // 0 within ±lambda, else x
Tensor softshrink(const Tensor& x, double lambda = 0.5);  // 0 within ±lambda, else x moved towards 0 by lambda

// ---- softmax ---------------------------------------------------------------------------------------------------------

Tensor softmax(const Tensor& x, int axis = -1);      // exp(x) / sum(exp(x)) along the axis, without overflow
Tensor softmin(const Tensor& x, int axis = -1);      // softmax(-x)
Tensor log_softmax(const Tensor& x, int axis = -1);  // its logarithm, accurate where the softmax is tiny

// softmax((logits + noise) / tau): a sample of the classes that the gradient goes through. `hard`: 1 for the class chosen and 0
// for the others, with the gradient of the soft one.
Tensor gumbel_softmax(const Tensor& logits, double tau = 1, bool hard = false, int axis = -1);

}  // namespace weft
