// nn/linear.cpp: linear maps, tables, dropout, and how parameters start.
#include "nn/start.h"

#include <weft/error.h>
#include <weft/nn/activations.h>
#include <weft/nn/linear.h>
#include <weft/ops.h>

#include <cmath>

namespace weft::nn {

void check_positive(std::string_view layer, std::initializer_list<std::int64_t> sizes) {
    for (const std::int64_t size : sizes)
        if (size <= 0)
            throw ValueError(std::string(layer) + ": the size " + std::to_string(size) + " must be positive");
}

DeviceScope made_on(std::optional<Device> device) {
    if (device) check_available(*device);
    return DeviceScope(device.value_or(default_device()));
}

Tensor fan_in_uniform(const Shape& shape, std::int64_t inputs) {
    const double bound = 1 / std::sqrt(static_cast<double>(inputs));
    return uniform(shape, -bound, bound);
}

Linear::Linear(std::int64_t in, std::int64_t out, const LinearSettings& settings) {
    check_positive("Linear", {in, out});
    const DeviceScope there = made_on(settings.device);
    weight = fan_in_uniform({out, in}, in);
    if (settings.bias) bias = fan_in_uniform({out}, in);
    parameter("weight", weight);
    parameter("bias", bias);
}

Tensor Linear::forward(const Tensor& x) { return linear(x, weight, bias); }

Bilinear::Bilinear(std::int64_t in1, std::int64_t in2, std::int64_t out, const LinearSettings& settings) {
    check_positive("Bilinear", {in1, in2, out});
    const DeviceScope there = made_on(settings.device);
    weight = fan_in_uniform({out, in1, in2}, in1);
    if (settings.bias) bias = fan_in_uniform({out}, in1);
    parameter("weight", weight);
    parameter("bias", bias);
}

namespace {

// A table of normal rows; the row of the padding is 0.
Tensor table(const char* layer, std::int64_t count, std::int64_t features, std::optional<std::int64_t> padding) {
    check_positive(layer, {count, features});
    if (!padding) return randn({count, features});
    if (*padding < -count || *padding >= count)
        throw ValueError(std::string(layer) + ": there is no row " + std::to_string(*padding) + " of " +
                         std::to_string(count));
    const Tensor weight = randn({count, features}).clone();
    weight[*padding].fill_(0);
    return weight;
}

}  // namespace

Embedding::Embedding(std::int64_t count, std::int64_t features, const EmbeddingSettings& settings)
    : padding(settings.padding) {
    const DeviceScope there = made_on(settings.device);
    weight = table("Embedding", count, features, padding);
    parameter("weight", weight);
}

EmbeddingBag::EmbeddingBag(std::int64_t count, std::int64_t features, const EmbeddingBagSettings& settings)
    : mode(settings.mode), padding(settings.padding) {
    const DeviceScope there = made_on(settings.device);
    weight = table("EmbeddingBag", count, features, padding);
    parameter("weight", weight);
}

Tensor EmbeddingBag::operator()(const Tensor& index, const Tensor& offsets, const Tensor& per_sample_weights) {
    return embedding_bag(weight, index, offsets,
                         {.mode = mode, .per_sample_weights = per_sample_weights, .padding = padding});
}

Dropout::Dropout(double p) : probability(p) {
    if (!(p >= 0 && p <= 1)) throw ValueError("Dropout: the probability " + std::to_string(p) + " must be from 0 to 1");
}

Tensor Dropout::forward(const Tensor& x) { return dropout(x, probability, training()); }
Tensor Dropout1d::forward(const Tensor& x) { return dropout1d(x, probability, training()); }
Tensor Dropout2d::forward(const Tensor& x) { return dropout2d(x, probability, training()); }
Tensor Dropout3d::forward(const Tensor& x) { return dropout3d(x, probability, training()); }

Tensor Unflatten::forward(const Tensor& x) { return unflatten(x, axis, sizes); }

PReLU::PReLU(std::int64_t parameters, const PReLUSettings& settings) {
    check_positive("PReLU", {parameters});
    const DeviceScope there = made_on(settings.device);
    weight = full({parameters}, settings.start, f32);
    parameter("weight", weight);
}

}  // namespace weft::nn
