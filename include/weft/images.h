// weft/images.h: ops on images and other grids: patches, resizing, values at chosen places, pixels and channels moved.
#pragma once

#include <weft/api.h>
#include <weft/convolution.h>
#include <weft/tensor.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace WEFT_API weft {

// ---- patches ---------------------------------------------------------------------------------------------------------

// What a convolution's windows see, as columns: [n, c, h, w] to [n, c · window, places]. fold is the transpose: it adds what
// overlaps into an image of `output` [h, w].
//
//     unfold_patches(x, {3, 3}, {.padding = 1});
struct PatchOptions {
    Sizes dilation = 1, padding = 0, stride = 1;
};
Tensor unfold_patches(const Tensor& x, const Sizes& window, const PatchOptions& options = {});
Tensor fold(const Tensor& x, const Sizes& output, const Sizes& window, const PatchOptions& options = {});

// ---- resizing --------------------------------------------------------------------------------------------------------

// The spatial axes of [n, c, spatial…] in another size: either sizes, or factors (one for all axes, or one each), from which the
// sizes are rounded down. Nearest takes the element at floor(i · in / out), NearestExact the one whose centre is nearest; Linear
// and Cubic interpolate (between corners if align_corners), Area takes means. With antialias, a smaller result is smoothed: the
// window of Linear and Cubic grows with the step, so that every element counts.
//
//     interpolate(x, {.factors = {2}, .mode = Interpolation::Linear});
enum class Interpolation : std::uint8_t { Nearest, NearestExact, Linear, Cubic, Area };
struct InterpolateOptions {
    Dims sizes = {};
    std::vector<double> factors = {};
    Interpolation mode = Interpolation::Nearest;
    bool align_corners = false;
    bool recompute_factor = false;  // the step is in / out, not 1 / factor
    bool antialias = false;         // Linear or Cubic, two spatial axes
};
Tensor interpolate(const Tensor& x, const InterpolateOptions& options);

// ---- values at chosen places -----------------------------------------------------------------------------------------

// The values of input [n, c, h, w] at the places of grid [n, h', w', 2], whose last axis is (x, y), -1 at the left or upper and 1 at the
// right or lower end; or of [n, c, d, h, w] at [n, d', h', w', 3]. With align_corners an end is the centre of the last pixel,
// without it its outer edge. Places outside read zeros, the border, or the image reflected. Cubic is for images only.
//
//     grid_sample(x, affine_grid(theta, x.shape()), {.mode = SampleMode::Nearest});
enum class SampleMode : std::uint8_t { Linear, Nearest, Cubic };
enum class SamplePadding : std::uint8_t { Zeros, Border, Reflection };
struct GridSampleOptions {
    SampleMode mode = SampleMode::Linear;
    SamplePadding padding = SamplePadding::Zeros;
    bool align_corners = false;
};
Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleOptions& options = {});

// The grid for affine maps theta [n, 2, 3] of images of the shape {n, c, h, w}, or [n, 3, 4] of volumes.
Tensor affine_grid(const Tensor& theta, const Shape& size, bool align_corners = false);

// ---- pixels and channels ---------------------------------------------------------------------------------------------

// [.., c · f², h, w] to [.., c, h · f, w · f], and back.
Tensor pixel_shuffle(const Tensor& x, std::int64_t factor);
Tensor pixel_unshuffle(const Tensor& x, std::int64_t factor);
Tensor channel_shuffle(const Tensor& x, std::int64_t groups);  // the channels (axis 1) of all groups in turn

}  // namespace weft
