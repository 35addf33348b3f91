// core/checked.h: 64-bit arithmetic for sizes that come from a user; overflow raises instead of wrapping.
#pragma once

#include <weft/error.h>

#include <cstdint>

namespace weft {

inline std::int64_t checked_add(std::int64_t a, std::int64_t b) {
    std::int64_t result;
    if (__builtin_add_overflow(a, b, &result)) throw ValueError("a size does not fit 64 bits");
    return result;
}

inline std::int64_t checked_mul(std::int64_t a, std::int64_t b) {
    std::int64_t result;
    if (__builtin_mul_overflow(a, b, &result)) throw ValueError("a size does not fit 64 bits");
    return result;
}

constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
    return a / b - ((a % b != 0) && ((a < 0) != (b < 0)));
}
constexpr std::int64_t floor_mod(std::int64_t a, std::int64_t b) { return a - floor_div(a, b) * b; }
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return -floor_div(-a, b); }

}  // namespace weft
