// weft/functional.h: what neural networks are made of, as functions: normalisation, linear maps and embedding here, the rest
// in the headers it includes. f16 and bf16 are computed in f32 inside and rounded once.
#pragma once

#include <weft/activations.h>
#include <weft/attention.h>
#include <weft/convolution.h>
#include <weft/loss.h>
#include <weft/recurrent.h>
#include <weft/tensor.h>

#include <cstdint>

namespace weft {

// ---- normalisation ---------------------------------------------------------------------------------------------------

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

// ---- linear maps, embedding ------------------------------------------------------------------------------------------

// x times weight transposed, plus bias: x is […, in], weight [out, in], bias [out].
Tensor linear(const Tensor& x, const Tensor& weight, const Tensor& bias = {});

// aᵀ W b + bias for each W of weight [out, in1, in2]: a is […, in1], b […, in2], with the same sizes in front.
Tensor bilinear(const Tensor& a, const Tensor& b, const Tensor& weight, const Tensor& bias = {});

// Rows of weight [count, features]: an index of any shape gives […, features]. The row `padding` gets no gradient. With max_norm,
// rows that are used and longer than it (as norm_type measures) are shortened first, in place. With scale_grad_by_freq a row's
// gradient is divided by how often it is used.
//
//     embedding(weight, tensor({3, 1, 4}));     // f32[3, features]
struct EmbeddingOptions {
    std::optional<double> max_norm = {};
    double norm_type = 2;
    bool scale_grad_by_freq = false;
};
Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<std::int64_t> padding = {},
                 const EmbeddingOptions& options = {});

// One row for each bag of rows: index [bags, size], or an index of one axis and where each bag begins in it. Rows of the padding
// do not count; an empty bag is 0. With include_last_offset the last offset is only an end.
//
//     embedding_bag(weight, tensor({1, 2, 4, 5}), tensor({0, 3}), {.mode = BagMode::Sum});
enum class BagMode : std::uint8_t { Sum, Mean, Max };
struct EmbeddingBagOptions {
    BagMode mode = BagMode::Mean;
    Tensor per_sample_weights = {};  // of index's shape: factors, for sums
    bool include_last_offset = false;
    std::optional<std::int64_t> padding = {};
    EmbeddingOptions rows = {};
};
Tensor embedding_bag(const Tensor& weight, const Tensor& index, const Tensor& offsets = {},
                     const EmbeddingBagOptions& options = {});

}  // namespace weft
