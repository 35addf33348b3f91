// nn/layers.cpp: the layers that hold something: how their parameters start, and which function they call.
#include <weft/error.h>
#include <weft/nn.h>
#include <weft/ops.h>

#include <cmath>

namespace weft::nn {
namespace {

void check_positive(std::string_view call, std::initializer_list<std::int64_t> sizes) {
    for (const std::int64_t size : sizes)
        if (size <= 0) throw ValueError(std::string(call) + ": the size " + std::to_string(size) + " must be positive");
}

// PyTorch's start for layers with this many inputs to each output.
Tensor fan_in_uniform(const Shape& shape, std::int64_t inputs) {
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    return uniform(shape, -bound, bound);
}

std::int64_t conv_inputs(std::int64_t in, std::int64_t out, Pair kernel, const Conv2dSettings& settings) {
    check_positive("Conv2d", {in, out, kernel.height, kernel.width, settings.groups});
    if (in % settings.groups != 0 || out % settings.groups != 0)
        throw ValueError("Conv2d: " + std::to_string(in) + " and " + std::to_string(out) +
                         " channels cannot both be divided into " + std::to_string(settings.groups) + " groups");
    return in / settings.groups * kernel.height * kernel.width;
}

}  // namespace

Tensor uniform(const Shape& shape, double low, double high, DType dtype) {
    return rand(shape, dtype) * (high - low) + low;
}

Tensor normal(const Shape& shape, double mean, double deviation, DType dtype) {
    return randn(shape, dtype) * deviation + mean;
}

Linear::Linear(std::int64_t in, std::int64_t out, bool with_bias) {
    check_positive("Linear", {in, out});
    weight = fan_in_uniform({out, in}, in);
    if (with_bias) bias = fan_in_uniform({out}, in);
    parameter("weight", weight);
    parameter("bias", bias);
}

Tensor Linear::forward(const Tensor& x) { return linear(x, weight, bias); }

Conv2d::Conv2d(std::int64_t in, std::int64_t out, Pair kernel, const Conv2dSettings& s) : settings(s) {
    const std::int64_t inputs = conv_inputs(in, out, kernel, s);
    weight = fan_in_uniform({out, in / s.groups, kernel.height, kernel.width}, inputs);
    if (s.bias) bias = fan_in_uniform({out}, inputs);
    parameter("weight", weight);
    parameter("bias", bias);
}

Tensor Conv2d::forward(const Tensor& x) {
    return conv2d(x, weight, bias,
                  {.stride = settings.stride,
                   .padding = settings.padding,
                   .dilation = settings.dilation,
                   .groups = settings.groups});
}

BatchNorm::BatchNorm(std::string_view name, int least_rank, int most_rank, std::int64_t channels,
                     const BatchNormSettings& s)
    : settings(s), name_(name), least_rank_(least_rank), most_rank_(most_rank) {
    check_positive(name, {channels});
    if (s.affine) {
        weight = ones({channels});
        bias = zeros({channels});
    }
    if (s.track_running_stats) {
        running_mean = zeros({channels});
        running_var = ones({channels});
    }
    parameter("weight", weight);
    parameter("bias", bias);
    buffer("running_mean", running_mean);
    buffer("running_var", running_var);
}

Tensor BatchNorm::forward(const Tensor& x) {
    if (x.rank() < least_rank_ || x.rank() > most_rank_)
        throw ShapeError(std::string(name_) + ": x must be " +
                         (most_rank_ == 4 ? "[n, channels, h, w]" : "[n, channels] or [n, channels, length]") +
                         ", not of the shape " + to_string(x.shape()));
    // Without running statistics the batch's own are used in eval() too.
    return batch_norm(
        x, running_mean, running_var, weight, bias,
        {.training = training() || !running_mean.defined(), .momentum = settings.momentum, .eps = settings.eps});
}

LayerNorm::LayerNorm(Shape sizes, double epsilon, bool affine) : shape(std::move(sizes)), eps(epsilon) {
    if (affine) {
        weight = ones(shape);
        bias = zeros(shape);
    }
    parameter("weight", weight);
    parameter("bias", bias);
}

Tensor LayerNorm::forward(const Tensor& x) { return layer_norm(x, shape, weight, bias, eps); }

RMSNorm::RMSNorm(Shape sizes, double epsilon) : weight(ones(sizes)), shape(std::move(sizes)), eps(epsilon) {
    parameter("weight", weight);
}

Tensor RMSNorm::forward(const Tensor& x) { return rms_norm(x, shape, weight, eps); }

Embedding::Embedding(std::int64_t count, std::int64_t features) {
    check_positive("Embedding", {count, features});
    weight = randn({count, features});
    parameter("weight", weight);
}

Tensor Embedding::forward(const Tensor& index) { return embedding(weight, index); }

Dropout::Dropout(double p) : probability(p) {
    if (!(p >= 0 && p <= 1)) throw ValueError("Dropout: the probability " + std::to_string(p) + " must be from 0 to 1");
}

Tensor Dropout::forward(const Tensor& x) { return dropout(x, probability, training()); }

Tensor Flatten::forward(const Tensor& x) { return x.flatten(first, last); }

}  // namespace weft::nn
