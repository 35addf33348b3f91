// nn/norm.cpp: normalisation layers: weights that start as 1, biases as 0, and running statistics.
#include "nn/start.h"

#include <weft/error.h>
#include <weft/nn/norm.h>
#include <weft/ops.h>

namespace weft::nn {

ChannelNorm::ChannelNorm(std::string_view name, std::string_view layouts, int least_rank, int most_rank,
                         std::int64_t channels, const BatchNormSettings& s)
    : settings(s), name_(name), layouts_(layouts), least_rank_(least_rank), most_rank_(most_rank) {
    check_positive(name, {channels});
    const DeviceScope there = made_on(s.device);
    if (s.affine) {
        weight = ones({channels});
        bias = zeros({channels});
    }
    if (s.track_running_stats) {
        running_mean = zeros({channels});
        running_var = ones({channels});
        num_batches_tracked = zeros({}, i64);
    }
    parameter("weight", weight);
    parameter("bias", bias);
    buffer("running_mean", running_mean);
    buffer("running_var", running_var);
    buffer("num_batches_tracked", num_batches_tracked);
}

void ChannelNorm::check_rank(const Tensor& x) const {
    if (x.rank() >= least_rank_ && x.rank() <= most_rank_) return;
    throw ShapeError(std::string(name_) + ": x must be " + std::string(layouts_) + ", not of the shape " +
                     to_string(x.shape()));
}

Tensor BatchNorm::forward(const Tensor& x) {
    check_rank(x);
    // Without running statistics the batch's own are used in eval() too.
    return batch_norm(x, running_mean, running_var, weight, bias,
                      {.training = training() || !running_mean.defined(),
                       .momentum = settings.momentum,
                       .eps = settings.eps,
                       .batches = num_batches_tracked});
}

Tensor InstanceNorm::forward(const Tensor& x) {
    check_rank(x);
    const bool batched = x.rank() == 2 + spatial_;
    const Tensor y = instance_norm(
        batched ? x : x.unsqueeze(0), running_mean, running_var, weight, bias,
        {.use_input_stats = training() || !running_mean.defined(), .momentum = settings.momentum, .eps = settings.eps});
    return batched ? y : y.squeeze(0);
}

GroupNorm::GroupNorm(std::int64_t group_count, std::int64_t channels, const GroupNormSettings& settings)
    : groups(group_count), eps(settings.eps) {
    check_positive("GroupNorm", {groups, channels});
    if (channels % groups != 0)
        throw ValueError("GroupNorm: " + std::to_string(channels) + " channels cannot be divided into " +
                         std::to_string(groups) + " groups");
    const DeviceScope there = made_on(settings.device);
    if (settings.affine) {
        weight = ones({channels});
        bias = zeros({channels});
    }
    parameter("weight", weight);
    parameter("bias", bias);
}

LayerNorm::LayerNorm(Shape sizes, const LayerNormSettings& settings) : shape(std::move(sizes)), eps(settings.eps) {
    const DeviceScope there = made_on(settings.device);
    if (settings.affine) weight = ones(shape);
    if (settings.affine && settings.bias) bias = zeros(shape);
    parameter("weight", weight);
    parameter("bias", bias);
}

RMSNorm::RMSNorm(Shape sizes, const RMSNormSettings& settings) : shape(std::move(sizes)), eps(settings.eps) {
    const DeviceScope there = made_on(settings.device);
    if (settings.affine) weight = ones(shape);
    parameter("weight", weight);
}

}  // namespace weft::nn
