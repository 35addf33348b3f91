// data/sha256.h: SHA-256 (FIPS 180-4), to know that a downloaded file is the one it should be.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace weft::data {

// Takes a message in pieces: add() as often as you like, then finish() once.
class Sha256 {
public:
    using Digest = std::array<std::uint8_t, 32>;

    void add(std::span<const std::byte> piece);
    Digest finish();

private:
    static constexpr std::size_t kBlock = 64;  // bytes

    void mix(const std::byte* block);

    std::array<std::uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                           0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
    std::array<std::byte, kBlock> pending_ = {};  // the start of a block that is not full yet
    std::uint64_t length_ = 0;                    // bytes so far; length_ % kBlock of them are pending
};

// 64 lower-case hexadecimal digits, as `sha256sum` prints them.
std::string to_hex(const Sha256::Digest& digest);
std::string sha256_hex(std::span<const std::byte> message);

}  // namespace weft::data
