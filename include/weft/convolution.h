// weft/convolution.h: what slides windows over sequences, images and volumes: convolution, its transpose, and pooling.
// An input is [n, channels, spatial…], or [channels, spatial…] without a batch; f16 and bf16 are summed in f32.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <optional>

namespace WEFT_API weft {

// A number for each spatial axis, or one for all of them: 3, or {3, 5} for height and width.
class Sizes : public Dims {
public:
    template <std::integral T>
    Sizes(T all) : Dims{static_cast<std::int64_t>(all)} {}
    Sizes(std::initializer_list<std::int64_t> each) : Dims(each) {}
    explicit Sizes(const Dims& each) : Dims(each) {}
    std::int64_t at(std::size_t axis) const { return size() == 1 ? front() : (*this)[axis]; }
};

// Zeros around the input: so many on both sides, or as many as keep its size (for a stride of 1).
//
//     conv2d(x, weight, {}, {.padding = 1});  conv2d(x, weight, {}, {.padding = kSame});
struct SamePadding {};
inline constexpr SamePadding kSame;
class Padding : public Sizes {
public:
    using Sizes::Sizes;
    Padding(const Sizes& sizes) : Sizes(sizes) {}
    Padding(SamePadding) : Sizes(0), same(true) {}
    bool same = false;
};

// ---- convolution -----------------------------------------------------------------------------------------------------

// Slides `weight` [out, in / groups, window…] over x [n, in, spatial…], padded with zeros. (As in every deep learning
// library, the kernel is not mirrored.)
//
//     conv2d(images, weight, bias, {.stride = 2, .padding = 1});
struct ConvOptions {
    Sizes stride = 1;
    Padding padding = 0;
    Sizes dilation = 1;
    std::int64_t groups = 1;
};
using Conv1dOptions = ConvOptions;
using Conv2dOptions = ConvOptions;
using Conv3dOptions = ConvOptions;
Tensor conv1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});
Tensor conv2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});
Tensor conv3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {}, const ConvOptions& options = {});

// The transpose of a convolution, which is the gradient of its input: each element of x [n, in, spatial…] adds a
// window, scaled by `weight` [in, out / groups, window…], to the result, whose sizes are (spatial - 1) * stride - 2 *
// padding + dilation * (window - 1) + output_padding + 1.
//
//     conv_transpose2d(x, weight, bias, {.stride = 2, .padding = 1, .output_padding = 1});     // doubles height and width
struct ConvTransposeOptions {
    Sizes stride = 1, padding = 0, output_padding = 0;
    std::int64_t groups = 1;
    Sizes dilation = 1;
};
Tensor conv_transpose1d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});
Tensor conv_transpose2d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});
Tensor conv_transpose3d(const Tensor& x, const Tensor& weight, const Tensor& bias = {},
                        const ConvTransposeOptions& options = {});

// ---- pooling ---------------------------------------------------------------------------------------------------------

// The largest element, or the mean, of each window. The stride is the window's size unless given. The gradient of a
// maximum goes to the first of equal ones.
//
//     max_pool2d(x, 2);  avg_pool2d(x, 3, {.stride = 2, .padding = 1});
struct PoolOptions {
    Sizes stride = {};  // empty: the window's size
    Sizes padding = 0;
    Sizes dilation = 1;             // of max_pool only
    bool ceil_mode = false;         // the last window may reach over the end
    bool count_include_pad = true;  // avg_pool: padding counts as zeros, else it is left out of the mean
    std::optional<std::int64_t> divisor_override = {};  // avg_pool: divides the sums by this
};
Tensor max_pool1d(const Tensor& x, const Sizes& window, const PoolOptions& options = {});
Tensor max_pool2d(const Tensor& x, const Sizes& window, const PoolOptions& options = {});
Tensor max_pool3d(const Tensor& x, const Sizes& window, const PoolOptions& options = {});
Tensor avg_pool1d(const Tensor& x, const Sizes& window, const PoolOptions& options = {});
Tensor avg_pool2d(const Tensor& x, const Sizes& window, const PoolOptions& options = {});
Tensor avg_pool3d(const Tensor& x, const Sizes& window, const PoolOptions& options = {});

// Maxima, and where they stand: i64 positions in the flattened spatial axes of x.
struct PooledMaxima {
    Tensor values, indices;
};
PooledMaxima max_pool1d_with_indices(const Tensor& x, const Sizes& window, const PoolOptions& options = {});
PooledMaxima max_pool2d_with_indices(const Tensor& x, const Sizes& window, const PoolOptions& options = {});
PooledMaxima max_pool3d_with_indices(const Tensor& x, const Sizes& window, const PoolOptions& options = {});

// Pools any input to these sizes: part i of `size` parts of an axis of n elements goes from floor(i n / size) to
// ceil((i + 1) n / size), so parts may overlap. -1 keeps a size.
//
//     adaptive_avg_pool2d(x, 1);  adaptive_avg_pool2d(x, {7, -1});
Tensor adaptive_avg_pool1d(const Tensor& x, const Sizes& size);
Tensor adaptive_avg_pool2d(const Tensor& x, const Sizes& size);
Tensor adaptive_avg_pool3d(const Tensor& x, const Sizes& size);
Tensor adaptive_max_pool1d(const Tensor& x, const Sizes& size);
Tensor adaptive_max_pool2d(const Tensor& x, const Sizes& size);
Tensor adaptive_max_pool3d(const Tensor& x, const Sizes& size);
PooledMaxima adaptive_max_pool1d_with_indices(const Tensor& x, const Sizes& size);
PooledMaxima adaptive_max_pool2d_with_indices(const Tensor& x, const Sizes& size);
PooledMaxima adaptive_max_pool3d_with_indices(const Tensor& x, const Sizes& size);

}  // namespace weft
