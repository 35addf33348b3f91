// Files packed by zlib in every manner, cut off everywhere, with every bit flipped; and streams that no packer writes.
#include "data/gzip.h"

#include "data/crc32.h"
#include "data/inflate.h"
#include "gzip_fixtures.h"
#include "scratch.h"

#include <weft/error.h>

#include <cstdint>
#include <utility>

using namespace weft::data;
using scratch::contains;
using scratch::message_of;
using weft::IoError;

namespace {

using Bytes = std::vector<std::uint8_t>;
constexpr std::size_t kPlenty = 1 << 20;

// The contents of make_gzip_fixtures.py.
Bytes text(int length) {
    Bytes out;
    for (int i = 0; i < length; ++i) out.push_back(static_cast<std::uint8_t>("weft and warp; "[i % 15] + (i / 97) % 3));
    return out;
}
Bytes noise(int length) {
    Bytes out;
    for (std::uint32_t i = 0, state = 1; i < static_cast<std::uint32_t>(length); ++i) {
        state = state * 1103515245 + 12345;
        out.push_back(static_cast<std::uint8_t>(state >> 24));
    }
    return out;
}
Bytes skewed() {
    Bytes out;
    std::size_t a = 1, b = 1;
    for (std::uint8_t symbol = 0; symbol < 16; ++symbol) {
        out.insert(out.end(), a, symbol);
        a = std::exchange(b, a + b);
    }
    return out;
}
Bytes operator+(Bytes a, const Bytes& b) {
    a.insert(a.end(), b.begin(), b.end());
    return a;
}

std::span<const std::byte> view(const Bytes& bytes) { return std::as_bytes(std::span(bytes)); }

Bytes unpack(const Bytes& packed, std::size_t limit = kPlenty) {
    Bytes out;
    for (const std::byte b : gunzip(view(packed), "test.gz", limit)) out.push_back(std::to_integer<std::uint8_t>(b));
    return out;
}

struct Case {
    const char* name;
    const Bytes& packed;
    Bytes content;
};

std::vector<Case> cases() {
    return {{"empty", fixtures::empty, {}},
            {"stored", fixtures::stored, noise(100)},
            {"fixed", fixtures::fixed, text(200)},
            {"dynamic_1", fixtures::dynamic_1, text(600)},
            {"dynamic_6", fixtures::dynamic_6, text(600)},
            {"dynamic_9", fixtures::dynamic_9, text(600)},
            {"literals_only", fixtures::literals_only, text(600)},
            {"long_codes", fixtures::long_codes, skewed()},
            {"runs", fixtures::runs, Bytes(5000)},
            {"far_apart", fixtures::far_apart, noise(40) + Bytes(32400) + noise(40)},
            {"many_blocks", fixtures::many_blocks, text(200)},
            {"all_fields", fixtures::all_fields, text(20)},
            {"two_members", fixtures::two_members, text(30) + noise(30)}};
}

// Writes deflate streams by hand: numbers lowest bit first, codes highest bit first.
class BitWriter {
public:
    BitWriter& number(unsigned value, int bits) {
        for (int i = 0; i < bits; ++i) put((value >> i) & 1);
        return *this;
    }
    BitWriter& code(unsigned value, int bits) {
        for (int i = bits - 1; i >= 0; --i) put((value >> i) & 1);
        return *this;
    }
    Bytes done() const { return bytes_; }

private:
    void put(unsigned bit) {
        if (count_++ % 8 == 0) bytes_.push_back(0);
        bytes_.back() |= static_cast<std::uint8_t>(bit << ((count_ - 1) % 8));
    }
    Bytes bytes_;
    int count_ = 0;
};

std::string inflate_error(const BitWriter& stream) {
    const Bytes bytes = stream.done() + Bytes(16);  // so that no error is one of truncation
    std::vector<std::byte> output;
    return message_of<CorruptData>([&] { inflate(Wrapper::None, view(bytes), output, kPlenty); });
}

BitWriter dynamic_block(unsigned literals, unsigned distances, const std::vector<unsigned>& code_lengths) {
    BitWriter out;
    out.number(1, 1).number(2, 2).number(literals - 257, 5).number(distances - 1, 5).number(15, 4);
    constexpr int kOrder[19] = {16, 17, 18, 0, 8, 7, 9, 6, 10, 5, 11, 4, 12, 3, 13, 2, 14, 1, 15};
    for (const int symbol : kOrder) out.number(code_lengths[symbol], 3);
    return out;
}

}  // namespace

TEST_CASE("crc32 of known messages") {
    CHECK(crc32({}) == 0);
    CHECK(crc32(scratch::bytes_of("123456789")) == 0xcbf43926);
    CHECK(crc32(scratch::bytes_of("The quick brown fox jumps over the lazy dog")) == 0x414fa339);
}

TEST_CASE("gunzip gives back what was packed, in every manner") {
    for (const Case& c : cases()) {
        CAPTURE(std::string(c.name));
        CHECK(is_gzip(view(c.packed)));
        CHECK(unpack(c.packed) == c.content);
        CHECK(unpack(c.packed + Bytes(100)) == c.content);  // zero padding is no content
    }
}

TEST_CASE("gunzip stops at its limit") {
    for (const Case& c : cases()) {
        CAPTURE(std::string(c.name));
        CHECK(unpack(c.packed, c.content.size()) == c.content);
        for (std::size_t limit = 0; limit < c.content.size(); limit += 1 + c.content.size() / 100)
            CHECK(contains(message_of<IoError>([&] { unpack(c.packed, limit); }), "longer than the"));
    }
}

TEST_CASE("gunzip_prefix gives the first bytes") {
    for (const Case& c : cases()) {
        CAPTURE(std::string(c.name));
        for (const std::size_t count : {0, 1, 16, 31, 300, 100'000}) {
            const std::size_t expected = std::min<std::size_t>(count, c.content.size());
            const auto prefix = gunzip_prefix(view(c.packed), "test.gz", count);
            REQUIRE(prefix.size() == expected);
            CHECK(std::equal(prefix.begin(), prefix.end(), view(c.content).begin()));
        }
    }
}

TEST_CASE("a gzip file cut off anywhere is an error that names the file") {
    for (const Case& c : cases()) {
        CAPTURE(std::string(c.name));
        for (std::size_t size = 0; size < c.packed.size(); ++size) {
            const Bytes cut(c.packed.begin(), c.packed.begin() + static_cast<std::ptrdiff_t>(size));
            if (&c.packed == &fixtures::two_members && size == fixtures::first_of_two.size()) continue;  // it is whole
            CAPTURE(size);
            const std::string message = message_of<IoError>([&] { unpack(cut); });
            CHECK(message.starts_with("test.gz: "));
            const bool says_why = contains(message, "truncated") || contains(message, "1 bytes after its end");
            CHECK(says_why);
        }
    }
}

TEST_CASE("a flipped bit is found, or it changes nothing in the content") {
    for (const Case& c : cases()) {
        CAPTURE(std::string(c.name));
        for (std::size_t bit = 0; bit < 8 * c.packed.size(); ++bit) {
            CAPTURE(bit);
            Bytes flipped = c.packed;
            flipped[bit / 8] ^= static_cast<std::uint8_t>(1 << (bit % 8));
            try {
                const bool same = unpack(flipped) == c.content;
                CHECK(same);
            } catch (const IoError& error) {
                CHECK(std::string_view(error.what()).starts_with("test.gz: "));
            }
        }
    }
}

TEST_CASE("garbage behind a gzip header never crashes") {
    const Bytes garbage = noise(3000);
    for (std::size_t start = 0; start + 40 < garbage.size(); ++start) {
        Bytes packed(fixtures::empty.begin(), fixtures::empty.begin() + 10);
        packed.insert(packed.end(), garbage.begin() + static_cast<std::ptrdiff_t>(start), garbage.end());
        CHECK_THROWS_AS(unpack(packed, 1 << 16), IoError);
    }
}

TEST_CASE("gzip headers and trailers that are wrong") {
    const auto error_with = [](std::size_t at, std::uint8_t value) {
        Bytes packed = fixtures::all_fields;
        packed[at] = value;
        return message_of<IoError>([&] { unpack(packed); });
    };
    CHECK(contains(error_with(0, 'P'), "1f 8b"));
    CHECK(contains(error_with(2, 7), "compression method 7"));
    CHECK(contains(error_with(3, 0x80 | 30), "reserved flags"));
    CHECK(contains(error_with(12, 'x'), "header has a wrong checksum"));
    CHECK(contains(error_with(fixtures::all_fields.size() - 8, 0), "checksum does not match"));
    CHECK(contains(error_with(fixtures::all_fields.size() - 4, 21), "content has 20 bytes"));
    CHECK(contains(message_of<IoError>([] { unpack(fixtures::fixed + Bytes{1, 2, 3}); }), "3 bytes after its end"));
}

TEST_CASE("deflate streams that no packer writes are told in zlib's words") {
    CHECK(contains(inflate_error(BitWriter().number(1, 1).number(3, 2)), "near byte 1: invalid block type"));
    CHECK(
        contains(inflate_error(BitWriter().number(1, 8).number(5, 16).number(5, 16)), "invalid stored block lengths"));

    const auto fixed_block = [] { return BitWriter().number(1, 1).number(1, 2); };
    CHECK(contains(inflate_error(fixed_block().code(1, 7).code(0, 5)), "invalid distance too far back"));
    CHECK(contains(inflate_error(fixed_block().code(0x30, 8).code(1, 7).code(30, 5)), "invalid distance code"));
    CHECK(contains(inflate_error(fixed_block().code(0xc6, 8)), "invalid literal/length code"));  // symbol 286

    std::vector<unsigned> lengths(19, 0);
    CHECK(contains(inflate_error(dynamic_block(287, 1, lengths)), "too many length or distance symbols"));
    CHECK(contains(inflate_error(dynamic_block(257, 31, lengths)), "too many length or distance symbols"));
    lengths[0] = lengths[1] = lengths[2] = 1;
    CHECK(contains(inflate_error(dynamic_block(257, 1, lengths)), "invalid code lengths set"));
    lengths[1] = lengths[2] = 0, lengths[3] = 2;
    CHECK(contains(inflate_error(dynamic_block(257, 1, lengths)), "invalid code lengths set"));

    lengths.assign(19, 0), lengths[16] = lengths[18] = 1;  // the codes 0: repeat, 1: a run of zeros
    CHECK(contains(inflate_error(dynamic_block(257, 1, lengths).code(0, 1)), "invalid bit length repeat"));
    CHECK(contains(inflate_error(dynamic_block(257, 1, lengths).code(1, 1).number(127, 7).code(1, 1).number(127, 7)),
                   "invalid bit length repeat"));
    CHECK(contains(inflate_error(dynamic_block(257, 1, lengths).code(1, 1).number(127, 7).code(1, 1).number(109, 7)),
                   "missing end-of-block"));
}

TEST_CASE("memory follows what is unpacked, not what a trailer promises") {
    Bytes packed = fixtures::fixed;
    for (std::size_t i = packed.size() - 4; i < packed.size(); ++i) packed[i] = 0xff;  // "4 GB"
    CHECK(contains(message_of<IoError>([&] { unpack(packed, ~std::size_t{0}); }), "content has 200 bytes"));
}
