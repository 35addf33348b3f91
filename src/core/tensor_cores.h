// core/tensor_cores.h: which products the tensor cores of a target multiply. The schedule asks before it cuts their sums, whose order is the hardware's
// anyway; the pass that makes their tiles asks as well, so that no sum is cut for tensor cores that do not see it.
#pragma once

#include "core/target.h"

#include <weft/dtype.h>

namespace weft {

inline constexpr std::int64_t kLeastTensorTile =
    64;  // rows and columns; a product that fills less than half of it takes plain tiles

// Factors of these types (those that memory holds) with sums of type `sum`, of m rows and n columns of results.
inline bool multiplies_halves(const Target& target, DType left, DType right, DType sum, std::int64_t m,
                              std::int64_t n) {
    return target.tensor_cores != TensorCores::None && !target.is_off("block_tile") && is_half(left) && left == right &&
           sum == DType::F32 && m > kLeastTensorTile / 2 && n > kLeastTensorTile / 2;
}

}  // namespace weft
