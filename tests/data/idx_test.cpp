// Idx files of every type, plain and packed, and every way in which their header can lie.
#include "data/idx.h"

#include "scratch.h"

#include <cstdint>

using namespace weft::data;
using namespace std::string_literals;
using scratch::bytes_of;
using scratch::contains;
using scratch::message_of;
using weft::DType;
using weft::IoError;
using weft::Shape;

namespace {

std::string error_of(const std::string& file) {
    const std::string message = message_of<IoError>([&] { parse_idx(bytes_of(file), "f.idx"); });
    CHECK(message.starts_with("f.idx: "));
    return message;
}

// A gzip file with one stored block: what a packer writes that does not pack.
std::string stored_gzip(const std::string& content, std::uint32_t crc) {
    const auto number = [](std::uint64_t value, int bytes) {
        std::string out;
        for (int i = 0; i < bytes; ++i) out += static_cast<char>(value >> (8 * i));
        return out;
    };
    return "\x1f\x8b\x08\0\0\0\0\0\0\xff"s + "\1" + number(content.size(), 2) + number(~content.size(), 2) + content +
           number(crc, 4) + number(content.size(), 4);
}

const std::string kMatrix = "\0\0\x08\2\0\0\0\2\0\0\0\3"s + "abcdef";

}  // namespace

TEST_CASE("idx: every element type arrives in this machine's byte order") {
    const IdxArray bytes = parse_idx(bytes_of(kMatrix), "f");
    CHECK(bytes.dtype == DType::U8);
    CHECK(bytes.shape == Shape{2, 3});
    CHECK(bytes.values<std::uint8_t>()[5] == 'f');
    CHECK(parse_idx(bytes_of("\0\0\x09\1\0\0\0\1\xfe"s), "f").values<std::int8_t>()[0] == -2);
    CHECK(parse_idx(bytes_of("\0\0\x0b\1\0\0\0\2\xff\xfe\1\2"s), "f").values<std::int16_t>()[0] == -2);
    CHECK(parse_idx(bytes_of("\0\0\x0b\1\0\0\0\2\xff\xfe\1\2"s), "f").values<std::int16_t>()[1] == 0x102);
    CHECK(parse_idx(bytes_of("\0\0\x0c\1\0\0\0\1\1\2\3\4"s), "f").values<std::int32_t>()[0] == 0x1020304);
    CHECK(parse_idx(bytes_of("\0\0\x0d\1\0\0\0\1\x3f\xc0\0\0"s), "f").values<float>()[0] == 1.5f);
    CHECK(parse_idx(bytes_of("\0\0\x0e\1\0\0\0\1\xc0\4\0\0\0\0\0\0"s), "f").values<double>()[0] == -2.5);
}

TEST_CASE("idx: scalars and empty arrays") {
    const IdxArray scalar = parse_idx(bytes_of("\0\0\x08\0\x2a"s), "f");
    CHECK(scalar.shape == Shape{});
    CHECK(scalar.values<std::uint8_t>()[0] == 42);
    const IdxArray empty = parse_idx(bytes_of("\0\0\x0d\2\0\0\0\0\xff\xff\xff\xff"s), "f");
    CHECK(empty.shape == Shape{0, 0xffffffff});
    CHECK(empty.values<float>().empty());
}

TEST_CASE("idx: values() of another type is a DTypeError") {
    const IdxArray bytes = parse_idx(bytes_of(kMatrix), "f");
    CHECK(contains(message_of<weft::DTypeError>([&] { bytes.values<float>(); }), "u8, not f32"));
}

TEST_CASE("idx: packed and plain files are told apart by their first bytes") {
    const std::string packed = stored_gzip(kMatrix, 0x2f46da83);
    CHECK(parse_idx(bytes_of(packed), "f").bytes == parse_idx(bytes_of(kMatrix), "f").bytes);
}

TEST_CASE("idx: every truncation is an error with the numbers in it") {
    for (std::size_t size = 0; size < kMatrix.size(); ++size) {
        const std::string message = error_of(kMatrix.substr(0, size));
        CHECK(contains(message, "truncated: it has " + std::to_string(size) + " bytes"));
    }
    CHECK(contains(error_of(kMatrix.substr(0, 13)), "its header says 18"));
    CHECK(contains(error_of(kMatrix + "g"), "too long: it has 19 bytes, its header says 18"));
}

TEST_CASE("idx: garbage") {
    CHECK(contains(error_of("\1\0\x08\0"s), "not an idx file"));
    CHECK(contains(error_of("\0\0\x0a\0"s), "element type 10"));
    CHECK(contains(error_of("PNG or whatever"), "not an idx file"));
}

TEST_CASE("idx: sizes that lie take no memory") {
    const std::string four_gb = "\0\0\x08\1\xff\xff\xff\xff"s + "xy";
    CHECK(contains(error_of(four_gb), "header says 4294967303"));
    CHECK(contains(error_of(stored_gzip(four_gb, 0x161a1c4d)), "header says 4294967303"));
    CHECK(contains(error_of("\0\0\x0e\2\xff\xff\xff\xff\xff\xff\xff\xff"s), "too large"));
    CHECK(contains(error_of("\0\0\x08\xff"s + std::string(1020, '\xff')), "too large"));
    const std::string too_long = "\0\0\x08\1\0\0\0\1"s + "xy";
    CHECK(contains(error_of(stored_gzip(too_long, 0x59e52826)), "longer than the 9 bytes"));
}

TEST_CASE("load_idx: what is not a readable file") {
    const scratch::Folder folder;
    const auto error = [](const std::filesystem::path& path) { return message_of<IoError>([&] { load_idx(path); }); };
    CHECK(error(folder.path() / "absent") == (folder.path() / "absent").string() + ": there is no such file");
    CHECK(contains(error(folder.path()), "not a regular file"));
    CHECK(contains(error("/dev/zero"), "not a regular file"));
    CHECK(contains(error(folder.write("empty", "")), "truncated: it has 0 bytes"));
    const std::filesystem::path sparse = folder.write("sparse", kMatrix);
    std::filesystem::resize_file(sparse, std::uintmax_t{1} << 36);  // 64 GB of holes: nothing must read them
    CHECK(contains(error(sparse), "too long: it has 68719476736 bytes, its header says 18"));
    CHECK(load_idx(folder.write("whole", kMatrix)).shape == Shape{2, 3});
}
