// weft/convolution.h: convolution of sequences, images and volumes, and its transpose; pooling is in weft/pooling.h. An input is
// [n, channels, spatial…], or [channels, spatial…] without a batch; f16 and bf16 are summed in f32.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <concepts>
#include <cstdint>
#include <initializer_list>

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

}  // namespace weft
