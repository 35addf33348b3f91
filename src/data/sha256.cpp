// data/sha256.cpp: the compression function and the padding of SHA-256, names as in FIPS 180-4 where it has any.
#include "data/sha256.h"

#include <algorithm>
#include <bit>

namespace weft::data {
namespace {

// The first 32 bits of the fractions of the cube roots of the first 64 primes.
constexpr std::uint32_t kRound[64] = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

std::uint32_t load_big_endian(const std::byte* p) {
    return std::to_integer<std::uint32_t>(p[0]) << 24 | std::to_integer<std::uint32_t>(p[1]) << 16 |
           std::to_integer<std::uint32_t>(p[2]) << 8 | std::to_integer<std::uint32_t>(p[3]);
}

}  // namespace

void Sha256::mix(const std::byte* block) {
    using std::rotr;
    std::uint32_t w[64];
    for (int t = 0; t < 16; ++t) w[t] = load_big_endian(block + 4 * t);
    for (int t = 16; t < 64; ++t) {
        const std::uint32_t s0 = rotr(w[t - 15], 7) ^ rotr(w[t - 15], 18) ^ (w[t - 15] >> 3);
        const std::uint32_t s1 = rotr(w[t - 2], 17) ^ rotr(w[t - 2], 19) ^ (w[t - 2] >> 10);
        w[t] = w[t - 16] + s0 + w[t - 7] + s1;
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (int t = 0; t < 64; ++t) {
        const std::uint32_t choose = g ^ (e & (f ^ g));
        const std::uint32_t majority = (a & b) | (c & (a | b));
        const std::uint32_t t1 = h + (rotr(e, 6) ^ rotr(e, 11) ^ rotr(e, 25)) + choose + kRound[t] + w[t];
        const std::uint32_t t2 = (rotr(a, 2) ^ rotr(a, 13) ^ rotr(a, 22)) + majority;
        h = g, g = f, f = e, e = d + t1;
        d = c, c = b, b = a, a = t1 + t2;
    }
    const std::uint32_t change[8] = {a, b, c, d, e, f, g, h};
    for (int i = 0; i < 8; ++i) state_[i] += change[i];
}

void Sha256::add(std::span<const std::byte> piece) {
    const std::size_t held = length_ % kBlock;
    length_ += piece.size();
    if (held > 0) {
        const std::size_t taken = std::min(piece.size(), kBlock - held);
        std::copy_n(piece.begin(), taken, pending_.begin() + held);
        piece = piece.subspan(taken);
        if (held + taken < kBlock) return;
        mix(pending_.data());
    }
    for (; piece.size() >= kBlock; piece = piece.subspan(kBlock)) mix(piece.data());
    std::copy(piece.begin(), piece.end(), pending_.begin());
}

Sha256::Digest Sha256::finish() {
    const std::uint64_t bits = length_ * 8;
    // A one bit, zeros up to 8 bytes before the end of a block, then the length in bits.
    std::array<std::byte, 2 * kBlock> padding = {std::byte{0x80}};
    const std::size_t held = length_ % kBlock;
    const std::size_t zeros_end = (held < kBlock - 8 ? kBlock : 2 * kBlock) - 8 - held;
    for (int i = 0; i < 8; ++i) padding[zeros_end + i] = static_cast<std::byte>(bits >> (56 - 8 * i));
    add(std::span(padding).first(zeros_end + 8));

    Digest digest;
    for (std::size_t i = 0; i < digest.size(); ++i)
        digest[i] = static_cast<std::uint8_t>(state_[i / 4] >> (24 - 8 * (i % 4)));
    return digest;
}

std::string to_hex(const Sha256::Digest& digest) {
    constexpr char kDigits[] = "0123456789abcdef";
    std::string hex;
    for (const std::uint8_t byte : digest) {
        hex += kDigits[byte >> 4];
        hex += kDigits[byte & 15];
    }
    return hex;
}

std::string sha256_hex(std::span<const std::byte> message) {
    Sha256 hash;
    hash.add(message);
    return to_hex(hash.finish());
}

}  // namespace weft::data
