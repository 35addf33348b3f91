// weft/nn/norm.h: normalisation layers. Weights start as 1, biases as 0.
#pragma once

#include <weft/api.h>
#include <weft/functional.h>
#include <weft/nn/module.h>

#include <optional>
#include <string_view>

namespace WEFT_API weft {
namespace nn {

// ---- by channel ------------------------------------------------------------------------------------------------------

struct BatchNormSettings {
    double eps = 1e-5;
    std::optional<double> momentum = 0.1;  // none: the plain mean over all batches
    bool affine = true, track_running_stats = true;
    std::optional<Device> device = {};  // of the parameters and buffers; none: default_device()
};

// What batch and instance norm hold.
class ChannelNorm : public Module {
public:
    Tensor weight, bias, running_mean, running_var;  // [c] each
    Tensor num_batches_tracked;                      // i64[]
    const BatchNormSettings settings;

protected:
    ChannelNorm(std::string_view name, std::string_view layouts, int least_rank, int most_rank, std::int64_t channels,
                const BatchNormSettings& settings);
    void check_rank(const Tensor& x) const;

private:
    const std::string_view name_, layouts_;
    const int least_rank_, most_rank_;
};

// Normalises each channel over the batch; in eval() by the running mean and variance. BatchNorm1d takes [n, c] or [n,
// c, l], BatchNorm2d takes [n, c, h, w], BatchNorm3d [n, c, d, h, w].
class BatchNorm : public ChannelNorm {
public:
    Tensor forward(const Tensor& x) override;

protected:
    using ChannelNorm::ChannelNorm;
};
class BatchNorm1d : public BatchNorm {
public:
    explicit BatchNorm1d(std::int64_t channels, const BatchNormSettings& settings = {})
        : BatchNorm("BatchNorm1d", "[n, channels] or [n, channels, l]", 2, 3, channels, settings) {}
};
class BatchNorm2d : public BatchNorm {
public:
    explicit BatchNorm2d(std::int64_t channels, const BatchNormSettings& settings = {})
        : BatchNorm("BatchNorm2d", "[n, channels, h, w]", 4, 4, channels, settings) {}
};
class BatchNorm3d : public BatchNorm {
public:
    explicit BatchNorm3d(std::int64_t channels, const BatchNormSettings& settings = {})
        : BatchNorm("BatchNorm3d", "[n, channels, d, h, w]", 5, 5, channels, settings) {}
};

// Normalises each channel of each example. By default without weights and running statistics; an input may lack the
// batch axis.
inline constexpr BatchNormSettings kInstanceNorm = {.affine = false, .track_running_stats = false};
class InstanceNorm : public ChannelNorm {
public:
    Tensor forward(const Tensor& x) override;

protected:
    InstanceNorm(std::string_view name, std::string_view layouts, int spatial, std::int64_t channels,
                 const BatchNormSettings& settings)
        : ChannelNorm(name, layouts, 1 + spatial, 2 + spatial, channels, settings), spatial_(spatial) {}

private:
    const int spatial_;
};
class InstanceNorm1d : public InstanceNorm {
public:
    explicit InstanceNorm1d(std::int64_t channels, const BatchNormSettings& settings = kInstanceNorm)
        : InstanceNorm("InstanceNorm1d", "[n, channels, l] or [channels, l]", 1, channels, settings) {}
};
class InstanceNorm2d : public InstanceNorm {
public:
    explicit InstanceNorm2d(std::int64_t channels, const BatchNormSettings& settings = kInstanceNorm)
        : InstanceNorm("InstanceNorm2d", "[n, channels, h, w] or [channels, h, w]", 2, channels, settings) {}
};
class InstanceNorm3d : public InstanceNorm {
public:
    explicit InstanceNorm3d(std::int64_t channels, const BatchNormSettings& settings = kInstanceNorm)
        : InstanceNorm("InstanceNorm3d", "[n, channels, d, h, w] or [channels, d, h, w]", 3, channels, settings) {}
};

struct GroupNormSettings {
    double eps = 1e-5;
    bool affine = true;
    std::optional<Device> device = {};  // of the parameters; none: default_device()
};

// Groups of channels, each with its own mean and variance.
class GroupNorm : public Module {
public:
    GroupNorm(std::int64_t groups, std::int64_t channels, const GroupNormSettings& settings = {});
    GroupNorm(std::int64_t groups, std::int64_t channels, double eps, bool affine = true)
        : GroupNorm(groups, channels, GroupNormSettings{.eps = eps, .affine = affine}) {}
    Tensor forward(const Tensor& x) override { return group_norm(x, groups, weight, bias, eps); }
    Tensor weight, bias;
    const std::int64_t groups;
    const double eps;
};

// ---- over the last axes, whose sizes are `shape` ---------------------------------------------------------------------

struct LayerNormSettings {
    double eps = 1e-5;
    bool affine = true, bias = true;
    std::optional<Device> device = {};  // of the parameters; none: default_device()
};

class LayerNorm : public Module {
public:
    explicit LayerNorm(Shape shape, const LayerNormSettings& settings = {});
    LayerNorm(Shape shape, double eps, bool affine = true, bool bias = true)
        : LayerNorm(std::move(shape), LayerNormSettings{.eps = eps, .affine = affine, .bias = bias}) {}
    Tensor forward(const Tensor& x) override { return layer_norm(x, shape, weight, bias, eps); }
    Tensor weight, bias;
    const Shape shape;
    const double eps;
};

struct RMSNormSettings {
    std::optional<double> eps = {};  // none: the smallest that the type can add to 1
    bool affine = true;
    std::optional<Device> device = {};  // of the parameters; none: default_device()
};

class RMSNorm : public Module {
public:
    explicit RMSNorm(Shape shape, const RMSNormSettings& settings = {});
    RMSNorm(Shape shape, std::optional<double> eps, bool affine = true)
        : RMSNorm(std::move(shape), RMSNormSettings{.eps = eps, .affine = affine}) {}
    Tensor forward(const Tensor& x) override { return rms_norm(x, shape, weight, eps); }
    Tensor weight;
    const Shape shape;
    const std::optional<double> eps;
};

}  // namespace nn
}  // namespace weft
