// data/crc32.cpp: zlib's checksum, but for long runs of bytes: there, instructions that multiply polynomials are ten times as fast. Files that
// are saved are summed up as a whole.
#include "data/crc32.h"

#include <zlib.h>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::data {
namespace {

#if defined(__x86_64__)
bool can_multiply_polynomials() {
    static const bool kCan = __builtin_cpu_supports("pclmul") != 0;
    return kCan;
}

// A checksum is the remainder of a polynomial over bits. 16 bytes times x^n, modulo the checksum's polynomial, are 16 bytes that can be added
// to those n bits later: so the whole is folded into 16 bytes of the same remainder, 64 at a time. Returns how many bytes were taken.
__attribute__((target("pclmul,sse4.1"))) std::size_t fold(std::span<const std::byte> bytes, std::uint32_t crc,
                                                          std::byte* folded) {
    const auto load = [&](std::size_t at) __attribute__((target("pclmul,sse4.1"))) {
        return _mm_loadu_si128(reinterpret_cast<const __m128i*>(bytes.data() + at));
    };
    const auto moved = [](__m128i x, __m128i by) __attribute__((target("pclmul,sse4.1"))) {
        return _mm_xor_si128(_mm_clmulepi64_si128(x, by, 0x00), _mm_clmulepi64_si128(x, by, 0x11));
    };
    const __m128i by_512 = _mm_set_epi64x(0x1c6e41596, 0x154442bd4);  // x^(512 - 32) and x^(512 + 32), bits in reverse
    const __m128i by_128 = _mm_set_epi64x(0x0ccaa009e, 0x1751997d0);  // x^(128 - 32) and x^(128 + 32)
    __m128i x[4] = {_mm_xor_si128(load(0), _mm_cvtsi32_si128(static_cast<int>(crc))), load(16), load(32), load(48)};
    std::size_t at = 64;
    for (; bytes.size() - at >= 64; at += 64)
        for (int i = 0; i < 4; ++i) x[i] = _mm_xor_si128(moved(x[i], by_512), load(at + 16 * i));
    for (int i = 1; i < 4; ++i) x[i] = _mm_xor_si128(moved(x[i - 1], by_128), x[i]);
    _mm_storeu_si128(reinterpret_cast<__m128i*>(folded), x[3]);
    return at;
}
#else
bool can_multiply_polynomials() { return false; }
std::size_t fold(std::span<const std::byte>, std::uint32_t, std::byte*) { return 0; }
#endif

std::uint32_t by_zlib(std::span<const std::byte> bytes, std::uint32_t before) {
    if (bytes.empty()) return before;  // zlib takes a null pointer for the wish to start anew
    return static_cast<std::uint32_t>(::crc32_z(before, reinterpret_cast<const Bytef*>(bytes.data()), bytes.size()));
}

}  // namespace

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
    if (bytes.size() < 128 || !can_multiply_polynomials()) return by_zlib(bytes, before);
    std::byte folded[16];
    const std::size_t taken = fold(bytes, ~before, folded);
    return by_zlib(bytes.subspan(taken), by_zlib(folded, ~std::uint32_t{0}));
}

}  // namespace weft::data
