// weft/sampling.h: values of images between and at chosen places: grids of coordinates, and pooled maxima put back.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>

namespace WEFT_API weft {

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

// The inverse of a max pool with indices: zeros, with each value where its maximum stood in the flattened spatial axes of `size`.
// x and indices are [n, c, spatial…] or [c, spatial…]; size has the spatial sizes of the result.
Tensor max_unpool(const Tensor& x, const Tensor& indices, const Dims& size);

}  // namespace weft
