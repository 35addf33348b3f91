// core/threefry.h: Threefry-2x32 with 20 rounds (Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011).
#pragma once

#include <bit>
#include <cstdint>

namespace weft {

inline constexpr int kThreefryRounds = 20;
inline constexpr int kThreefryRotations[8] = {13, 15, 26, 6, 17, 29, 16, 24};
inline constexpr std::uint32_t kThreefryParity = 0x1bd11bda;

// What a counter becomes under a key: two words, the first one the lower half of the result.
inline std::uint64_t threefry(std::uint64_t key, std::uint64_t counter) {
    const auto low = [](std::uint64_t x) { return static_cast<std::uint32_t>(x); };
    const std::uint32_t keys[3] = {low(key), low(key >> 32), low(key) ^ low(key >> 32) ^ kThreefryParity};
    std::uint32_t x = low(counter) + keys[0], y = low(counter >> 32) + keys[1];
    for (std::uint32_t round = 0; round < kThreefryRounds; ++round) {
        x += y;
        y = std::rotl(y, kThreefryRotations[round % 8]) ^ x;
        if (round % 4 != 3) continue;
        const std::uint32_t injection = round / 4 + 1;
        x += keys[injection % 3];
        y += keys[(injection + 1) % 3] + injection;
    }
    return x | static_cast<std::uint64_t>(y) << 32;
}

}  // namespace weft
