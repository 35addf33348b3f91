// weft/pooling.h: pooling of sequences, images and volumes: maxima and means of windows, and maxima put back. An input is
// [n, channels, spatial…], or [channels, spatial…] without a batch; f16 and bf16 are summed in f32.
#pragma once

#include <weft/api.h>
#include <weft/convolution.h>
#include <weft/tensor.h>

#include <cstdint>
#include <optional>

namespace WEFT_API weft {

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

// The inverse of a max pool with indices: zeros, with each value where its maximum stood in the flattened spatial axes of `size`.
// x and indices are [n, c, spatial…] or [c, spatial…]; size has the spatial sizes of the result.
Tensor max_unpool(const Tensor& x, const Tensor& indices, const Dims& size);

}  // namespace weft
