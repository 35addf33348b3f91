// backend/cuda/tensor_map.h: a TensorMap (ptx.h) as the driver's cuTensorMapEncodeTiled() takes it.
#pragma once

#include "backend/cuda/ptx.h"

#include <array>
#include <cstdint>

namespace weft::backend::cuda {

// Writes 128 bytes, which lie at a multiple of 64, by a function with the driver's parameters. Rows of a box, of 128 bytes, are swizzled; zeros stand for
// what is outside of the array.
template <class Encode>
auto encode_map(void* to, const TensorMap& map, std::uint64_t buffer, Encode encode) {
    constexpr int kF16 = 6, kF32 = 7, kBF16 = 9, kSwizzled = 3, kLines = 2;  // of 128 bytes, and lines of the cache
    const int type = map.dtype == DType::BF16 ? kBF16 : map.dtype == DType::F16 ? kF16 : kF32;
    const auto size = static_cast<std::uint64_t>(size_of(map.dtype));
    std::array<std::uint64_t, 5> extents{}, strides{};
    std::array<std::uint32_t, 5> box{}, each{};
    for (std::size_t axis = 0; axis < map.box.size(); ++axis) {
        extents[axis] = static_cast<std::uint64_t>(map.extents[axis]);
        box[axis] = static_cast<std::uint32_t>(map.box[axis]);
        each[axis] = 1;
        if (axis > 0) strides[axis - 1] = static_cast<std::uint64_t>(map.strides[axis - 1]) * size;
    }
    const std::uint64_t address = buffer + static_cast<std::uint64_t>(map.offset) * size;
    return encode(to, type, static_cast<std::uint32_t>(map.box.size()), reinterpret_cast<void*>(address),
                  extents.data(), strides.data(), box.data(), each.data(), 0, kSwizzled, kLines, 0);
}

}  // namespace weft::backend::cuda
