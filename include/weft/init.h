// weft/init.h: initial values, written into a tensor; each function returns it. None records a gradient.
//
//     nn::init::kaiming_normal_(conv.weight, {.mode = nn::init::Fan::Out, .nonlinearity = "relu"});
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <string_view>
#include <utility>

namespace WEFT_API weft {
namespace nn::init {

Tensor uniform_(Tensor x, double low = 0, double high = 1);
Tensor normal_(Tensor x, double mean = 0, double deviation = 1);
Tensor trunc_normal_(Tensor x, double mean = 0, double deviation = 1, double low = -2,
                     double high = 2);  // within limits
Tensor constant_(Tensor x, double value);
Tensor zeros_(Tensor x);
Tensor ones_(Tensor x);
Tensor eye_(Tensor x);                             // a matrix: ones on the diagonal
Tensor dirac_(Tensor x, std::int64_t groups = 1);  // a convolution's weight: each channel is passed on as it is
Tensor orthogonal_(Tensor x,
                   double gain = 1);  // [rows, …]: orthonormal rows, or columns if those are fewer, times gain
Tensor sparse_(Tensor x, double sparsity, double deviation = 0.01);  // a matrix: normal, this part of each column 0

// How many inputs an output has, and how many outputs an input: of a weight [out, in, …].
std::pair<std::int64_t, std::int64_t> fans(const Tensor& weight);

// The factor that keeps the variance through an activation: "linear", "conv2d" …, "sigmoid", "tanh", "relu", "leaky_relu" (with
// its slope), "selu".
double calculate_gain(std::string_view nonlinearity, double slope = 0.01);

// Glorot: the variance 2 / (in + out) keeps signals and gradients.
Tensor xavier_uniform_(Tensor x, double gain = 1);
Tensor xavier_normal_(Tensor x, double gain = 1);

// He: the variance gain² / in keeps signals behind a rectifier, gain² / out the gradients.
enum class Fan : std::uint8_t { In, Out };
struct KaimingOptions {
    double a = 0;  // the slope of leaky_relu
    Fan mode = Fan::In;
    std::string_view nonlinearity = "leaky_relu";
};
Tensor kaiming_uniform_(Tensor x, const KaimingOptions& options = {});
Tensor kaiming_normal_(Tensor x, const KaimingOptions& options = {});

// LeCun: the variance 1 / in keeps signals behind a linear layer or selu.
Tensor lecun_uniform_(Tensor x);
Tensor lecun_normal_(Tensor x);

}  // namespace nn::init
}  // namespace weft
