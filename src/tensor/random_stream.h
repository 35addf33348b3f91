// tensor/random_stream.h: random numbers for functions that take an unknown number of them for each element.
#pragma once

#include "core/threefry.h"

#include <cstdint>

namespace weft {

// The random numbers of one element: Threefry keyed by its first block, so that elements never share one.
class Stream {
public:
    Stream(std::uint64_t key, std::uint64_t counter) : key_(threefry(key, counter)) {}
    double next() {  // in (0, 1]
        const std::uint64_t bits = threefry(key_, count_++);
        return (static_cast<double>(bits >> 11) + 1) * 0x1p-53;
    }

private:
    std::uint64_t key_, count_ = 0;
};

}  // namespace weft
