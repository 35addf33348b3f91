// weft/norm.h: normalisation: by layer, group, batch and example. f16 and bf16 are computed in f32 inside and rounded once.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <optional>

namespace WEFT_API weft {

// (x - mean) / sqrt(variance + eps) * weight + bias over the last axes, whose sizes are `normalized_shape`; weight and
// bias have that shape or are left out.
//
//     layer_norm(x, {768}, weight, bias);
Tensor layer_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

// x / sqrt(mean(x * x) + eps) * weight over the last axes, whose sizes are `normalized_shape`. Without eps it is the distance from
// 1 to the next number of the type that x is computed in.
Tensor rms_norm(const Tensor& x, const Shape& normalized_shape, const Tensor& weight = {},
                std::optional<double> eps = {});

// Groups of channels (axis 1), each with its own mean and variance.
Tensor group_norm(const Tensor& x, std::int64_t groups, const Tensor& weight = {}, const Tensor& bias = {},
                  double eps = 1e-5);

// Normalises each channel (axis 1) over all other axes. In training with the batch's mean and variance, which also move
// the running ones: running = (1 - momentum) * running + momentum * batch. Else with the running ones.
//
//     batch_norm(x, mean, var, weight, bias, {.training = true});
struct BatchNormOptions {
    bool training = false;
    std::optional<double> momentum = 0.1;  // none: the running statistics are the plain mean over all batches
    double eps = 1e-5;
    Tensor batches = {};  // i64[]: counts the batches that moved the statistics; needed without momentum
};
Tensor batch_norm(const Tensor& x, const Tensor& running_mean, const Tensor& running_var, const Tensor& weight = {},
                  const Tensor& bias = {}, const BatchNormOptions& options = {});

// Normalises each channel of each example over its spatial axes. With running statistics, those move towards the mean of the
// examples' own; without use_input_stats they are what normalises.
struct InstanceNormOptions {
    bool use_input_stats = true;
    std::optional<double> momentum = 0.1;
    double eps = 1e-5;
    Tensor batches = {};
};
Tensor instance_norm(const Tensor& x, const Tensor& running_mean = {}, const Tensor& running_var = {},
                     const Tensor& weight = {}, const Tensor& bias = {}, const InstanceNormOptions& options = {});

}  // namespace weft
