// weft/images.h: ops on images and other grids: patches, resizing, pixels and channels moved.
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

// ---- pixels and channels ---------------------------------------------------------------------------------------------

// [.., c · f², h, w] to [.., c, h · f, w · f], and back.
Tensor pixel_shuffle(const Tensor& x, std::int64_t factor);
Tensor pixel_unshuffle(const Tensor& x, std::int64_t factor);
Tensor channel_shuffle(const Tensor& x, std::int64_t groups);  // the channels (axis 1) of all groups in turn

}  // namespace weft
