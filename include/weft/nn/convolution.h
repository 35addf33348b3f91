// weft/nn/convolution.h: convolution and pooling layers.
#pragma once

#include <weft/api.h>
#include <weft/convolution.h>
#include <weft/nn/module.h>
#include <weft/pooling.h>

#include <optional>
#include <string_view>

namespace WEFT_API weft {
namespace nn {

// ---- convolution -----------------------------------------------------------------------------------------------------
// [n, in, spatial…] → [n, out, spatial'…]. Uniform in ±1/√(in / groups * window).

struct ConvSettings {
    Sizes stride = 1;
    Padding padding = 0;
    Sizes dilation = 1;
    std::int64_t groups = 1;
    bool bias = true;
    std::optional<Device> device = {};  // of the parameters; none: default_device()
};
using Conv1dSettings = ConvSettings;
using Conv2dSettings = ConvSettings;
using Conv3dSettings = ConvSettings;

class Conv : public Module {
public:
    Tensor weight, bias;  // [out, in / groups, window…], [out]
    const ConvSettings settings;

protected:
    Conv(std::string_view name, int spatial, std::int64_t in, std::int64_t out, const Sizes& kernel,
         const ConvSettings& settings);
    ConvOptions options() const;
};
class Conv1d : public Conv {
public:
    Conv1d(std::int64_t in, std::int64_t out, const Sizes& kernel, const ConvSettings& settings = {})
        : Conv("Conv1d", 1, in, out, kernel, settings) {}
    Tensor forward(const Tensor& x) override { return conv1d(x, weight, bias, options()); }
};
class Conv2d : public Conv {
public:
    Conv2d(std::int64_t in, std::int64_t out, const Sizes& kernel, const ConvSettings& settings = {})
        : Conv("Conv2d", 2, in, out, kernel, settings) {}
    Tensor forward(const Tensor& x) override { return conv2d(x, weight, bias, options()); }
};
class Conv3d : public Conv {
public:
    Conv3d(std::int64_t in, std::int64_t out, const Sizes& kernel, const ConvSettings& settings = {})
        : Conv("Conv3d", 3, in, out, kernel, settings) {}
    Tensor forward(const Tensor& x) override { return conv3d(x, weight, bias, options()); }
};

// ---- its transpose ---------------------------------------------------------------------------------------------------

struct ConvTransposeSettings {
    Sizes stride = 1, padding = 0, output_padding = 0;
    std::int64_t groups = 1;
    bool bias = true;
    Sizes dilation = 1;
    std::optional<Device> device = {};  // of the parameters; none: default_device()
};

class ConvTranspose : public Module {
public:
    Tensor weight, bias;  // [in, out / groups, window…], [out]
    const ConvTransposeSettings settings;

protected:
    ConvTranspose(std::string_view name, int spatial, std::int64_t in, std::int64_t out, const Sizes& kernel,
                  const ConvTransposeSettings& settings);
    ConvTransposeOptions options() const;
};
class ConvTranspose1d : public ConvTranspose {
public:
    ConvTranspose1d(std::int64_t in, std::int64_t out, const Sizes& kernel, const ConvTransposeSettings& settings = {})
        : ConvTranspose("ConvTranspose1d", 1, in, out, kernel, settings) {}
    Tensor forward(const Tensor& x) override { return conv_transpose1d(x, weight, bias, options()); }
};
class ConvTranspose2d : public ConvTranspose {
public:
    ConvTranspose2d(std::int64_t in, std::int64_t out, const Sizes& kernel, const ConvTransposeSettings& settings = {})
        : ConvTranspose("ConvTranspose2d", 2, in, out, kernel, settings) {}
    Tensor forward(const Tensor& x) override { return conv_transpose2d(x, weight, bias, options()); }
};
class ConvTranspose3d : public ConvTranspose {
public:
    ConvTranspose3d(std::int64_t in, std::int64_t out, const Sizes& kernel, const ConvTransposeSettings& settings = {})
        : ConvTranspose("ConvTranspose3d", 3, in, out, kernel, settings) {}
    Tensor forward(const Tensor& x) override { return conv_transpose3d(x, weight, bias, options()); }
};

// ---- pooling ---------------------------------------------------------------------------------------------------------

// A module that calls a pooling function; MaxPool2d(3, {.stride = 2}).
template <Tensor (*pool)(const Tensor&, const Sizes&, const PoolOptions&)>
class Pool : public Module {
public:
    explicit Pool(const Sizes& window, const PoolOptions& options = {}) : window(window), options(options) {}
    Tensor forward(const Tensor& x) override { return pool(x, window, options); }
    const Sizes window;
    const PoolOptions options;
};
using MaxPool1d = Pool<max_pool1d>;
using MaxPool2d = Pool<max_pool2d>;
using MaxPool3d = Pool<max_pool3d>;
using AvgPool1d = Pool<avg_pool1d>;
using AvgPool2d = Pool<avg_pool2d>;
using AvgPool3d = Pool<avg_pool3d>;

// The same to a given size: AdaptiveAvgPool2d(1).
template <Tensor (*pool)(const Tensor&, const Sizes&)>
class AdaptivePool : public Module {
public:
    explicit AdaptivePool(const Sizes& size) : size(size) {}
    Tensor forward(const Tensor& x) override { return pool(x, size); }
    const Sizes size;
};
using AdaptiveAvgPool1d = AdaptivePool<adaptive_avg_pool1d>;
using AdaptiveAvgPool2d = AdaptivePool<adaptive_avg_pool2d>;
using AdaptiveAvgPool3d = AdaptivePool<adaptive_avg_pool3d>;
using AdaptiveMaxPool1d = AdaptivePool<adaptive_max_pool1d>;
using AdaptiveMaxPool2d = AdaptivePool<adaptive_max_pool2d>;
using AdaptiveMaxPool3d = AdaptivePool<adaptive_max_pool3d>;

}  // namespace nn
}  // namespace weft
