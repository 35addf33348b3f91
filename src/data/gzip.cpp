// data/gzip.cpp: the frame around deflate streams: member headers in front, a checksum and a length behind.
#include "data/gzip.h"

#include "data/inflate.h"

#include <weft/error.h>

#include <algorithm>
#include <array>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace weft::data {
namespace {

constexpr std::size_t kTrailerSize = 8;  // checksum and length, 4 bytes each
// A match of 258 bytes takes at least two bits, so one byte of deflate data never unpacks to more than 4 * 258.
constexpr std::size_t kMostPerByte = 1032;

enum HeaderFlag : unsigned { kHeaderChecksum = 2, kExtraField = 4, kFileName = 8, kComment = 16, kReserved = 0xe0 };

// kCrcTables[k][b]: the checksum's change by byte b with k zero bytes after it. Eight tables take eight bytes a step.
constexpr auto kCrcTables = [] {
    constexpr std::uint32_t kPolynomial = 0xedb88320;
    std::array<std::array<std::uint32_t, 256>, 8> tables = {};
    for (std::uint32_t b = 0; b < 256; ++b) {
        std::uint32_t crc = b;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ (crc & 1 ? kPolynomial : 0);
        tables[0][b] = crc;
    }
    for (int k = 1; k < 8; ++k)
        for (int b = 0; b < 256; ++b) tables[k][b] = (tables[k - 1][b] >> 8) ^ tables[0][tables[k - 1][b] & 255];
    return tables;
}();

std::uint32_t load_little_endian(std::span<const std::byte> bytes, std::size_t at, int count);

std::uint32_t by_tables(std::span<const std::byte> bytes, std::uint32_t crc) {
    const auto& t = kCrcTables;
    for (; bytes.size() >= 8; bytes = bytes.subspan(8)) {
        const std::uint32_t low = crc ^ load_little_endian(bytes, 0, 4), high = load_little_endian(bytes, 4, 4);
        crc = t[7][low & 255] ^ t[6][low >> 8 & 255] ^ t[5][low >> 16 & 255] ^ t[4][low >> 24] ^  //
              t[3][high & 255] ^ t[2][high >> 8 & 255] ^ t[1][high >> 16 & 255] ^ t[0][high >> 24];
    }
    for (const std::byte b : bytes) crc = (crc >> 8) ^ t[0][(crc ^ std::to_integer<std::uint32_t>(b)) & 255];
    return crc;
}

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

std::uint32_t load_little_endian(std::span<const std::byte> bytes, std::size_t at, int count) {
    std::uint32_t value = 0;
    for (int i = 0; i < count; ++i) value |= std::to_integer<std::uint32_t>(bytes[at + i]) << (8 * i);
    return value;
}

// Moves over a member's header, field by field.
class HeaderReader {
public:
    explicit HeaderReader(std::span<const std::byte> file) : file_(file) {}

    std::size_t position() const { return at_; }
    std::uint32_t number(int bytes) {
        skip(bytes);
        return load_little_endian(file_, at_ - bytes, bytes);
    }
    void skip(std::size_t bytes) {
        if (bytes > file_.size() - at_) throw CorruptData("it is truncated within a header");
        at_ += bytes;
    }
    void skip_text() {
        while (number(1) != 0) {}
    }

private:
    std::span<const std::byte> file_;
    std::size_t at_ = 0;
};

// The length of the header that `file` starts with.
std::size_t check_header(std::span<const std::byte> file) {
    HeaderReader header(file);
    if (header.number(2) != 0x8b1f) throw CorruptData("it does not start with the bytes 1f 8b");
    if (const unsigned method = header.number(1); method != 8)
        throw CorruptData("it uses compression method " + std::to_string(method) + ", only 8 (deflate) exists");
    const unsigned flags = header.number(1);
    if (flags & kReserved) throw CorruptData("its header sets reserved flags");
    header.skip(6);  // time, compression level, operating system
    if (flags & kExtraField) header.skip(header.number(2));
    if (flags & kFileName) header.skip_text();
    if (flags & kComment) header.skip_text();
    if (flags & kHeaderChecksum) {
        const std::uint32_t computed = crc32(file.first(header.position())) & 0xffff;
        if (header.number(2) != computed) throw CorruptData("its header has a wrong checksum");
    }
    return header.position();
}

void check_trailer(std::span<const std::byte> rest, std::span<const std::byte> content) {
    if (rest.size() < kTrailerSize)
        throw CorruptData("it is truncated: the checksum and length at its end are missing");
    if (load_little_endian(rest, 0, 4) != crc32(content)) throw CorruptData("the checksum does not match the content");
    if (load_little_endian(rest, 4, 4) != static_cast<std::uint32_t>(content.size()))
        throw CorruptData("the content has " + std::to_string(content.size()) + " bytes, not the number at its end");
}

// How much to allocate at first: the length in the last trailer, as far as so few compressed bytes can mean it.
std::size_t expected_size(std::span<const std::byte> file) {
    if (file.size() < kTrailerSize) return 0;
    const std::size_t promised = load_little_endian(file, file.size() - 4, 4);
    return file.size() < promised / kMostPerByte ? file.size() * kMostPerByte : promised;
}

// Unpacks member after member; false if the output is full before the end.
bool unpack_members(std::span<const std::byte> file, Unpacked& output) {
    do {
        file = file.subspan(check_header(file));
        const std::size_t start = output.size();
        const InflateResult result = inflate(file, output);
        if (!result.complete) return false;
        file = file.subspan(result.consumed);
        check_trailer(file, output.from(start));
        file = file.subspan(kTrailerSize);
        // Some tools pad a file with zeros to full blocks.
        if (std::all_of(file.begin(), file.end(), [](std::byte b) { return b == std::byte{0}; })) return true;
    } while (is_gzip(file));
    throw CorruptData(std::to_string(file.size()) + " bytes after its end are not gzip data");
}

bool unpack_named(std::span<const std::byte> file, const std::string& name, Unpacked& output) {
    try {
        return unpack_members(file, output);
    } catch (const CorruptData& wrong) {
        throw IoError(name + ": not a sound gzip file: " + wrong.what());
    }
}

}  // namespace

bool is_gzip(std::span<const std::byte> file) { return file.size() >= 2 && load_little_endian(file, 0, 2) == 0x8b1f; }

std::uint32_t crc32(std::span<const std::byte> bytes, std::uint32_t before) {
    const std::uint32_t start = ~before;
    if (bytes.size() < 128 || !can_multiply_polynomials()) return ~by_tables(bytes, start);
    std::byte folded[16];
    const std::size_t taken = fold(bytes, start, folded);
    return ~by_tables(bytes.subspan(taken), by_tables(folded, 0));
}

std::vector<std::byte> gunzip(std::span<const std::byte> file, const std::string& name, std::size_t limit) {
    Unpacked output(limit, expected_size(file));
    if (!unpack_named(file, name, output))
        throw IoError(name + ": its content is longer than the " + std::to_string(limit) + " bytes that were expected");
    return output.take();
}

std::vector<std::byte> gunzip_prefix(std::span<const std::byte> file, const std::string& name, std::size_t count) {
    Unpacked output(count, count);
    unpack_named(file, name, output);
    return output.take();
}

}  // namespace weft::data
