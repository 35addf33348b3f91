// tests/support/ptx_tensor_map.h: what cuTensorMapEncodeTiled() makes, as the PTX machine reads it: a tensor in the device's memory, and the box of it
// that one instruction copies.
#pragma once

#include <cstdint>

namespace weft::testing::ptx {

struct TensorMap {  // in place of the driver's 128 bytes
    static constexpr std::uint64_t kMagic = 0x70616d726f736e74;
    std::uint64_t magic = kMagic;
    std::uint64_t address = 0;
    std::uint32_t rank = 0, element = 0, swizzle = 0;  // in bytes; 0, 32, 64, 128
    std::uint32_t box[5] = {};
    std::uint32_t dims[5] = {};
    std::uint64_t strides[4] = {};  // in bytes, of all axes but the first
    std::uint32_t bytes() const {   // of a box
        std::uint32_t all = element;
        for (std::uint32_t d = 0; d < rank; ++d) all *= box[d];
        return all;
    }
};
static_assert(sizeof(TensorMap) <= 128);

// With the driver's parameters; 1 where it would refuse them, else 0. `map` has 128 bytes.
int encode_tiled(void* map, int type, std::uint32_t rank, void* address, const std::uint64_t* dims,
                 const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* element_strides,
                 int interleave, int swizzle, int l2, int fill);

// Where a byte of a tile lies: 16-byte pieces are exchanged within 8 rows, so that a column of them is in different banks.
inline std::uint64_t swizzled(std::uint64_t address, std::uint32_t swizzle) {
    return swizzle ? address ^ ((address >> 7 & (swizzle / 16 - 1)) << 4) : address;
}

}  // namespace weft::testing::ptx
