// data/gzip.cpp: gzip files of one member or several, through zlib.
#include "data/gzip.h"

#include "data/inflate.h"

#include <weft/error.h>

#include <algorithm>

namespace weft::data {
namespace {

constexpr std::size_t kLengthSize = 4;  // at the end of a member
// A match of 258 bytes takes at least two bits, so one byte of deflate data never unpacks to more than 4 * 258.
constexpr std::size_t kMostPerByte = 1032;

// How much to allocate at first: the length in the last trailer, as far as so few compressed bytes can mean it.
std::size_t expected_size(std::span<const std::byte> file) {
    if (file.size() < kLengthSize) return 0;
    std::size_t promised = 0;
    for (std::size_t i = 0; i < kLengthSize; ++i)
        promised |= std::to_integer<std::size_t>(file[file.size() - kLengthSize + i]) << (8 * i);
    return file.size() < promised / kMostPerByte ? file.size() * kMostPerByte : promised;
}

// Unpacks member after member; false if the output is full before the end.
bool unpack_members(std::span<const std::byte> file, std::vector<std::byte>& output, std::size_t limit) {
    do {
        const InflateResult result = inflate(Wrapper::Gzip, file, output, limit);
        if (!result.complete) return false;
        file = file.subspan(result.consumed);
        // Some tools pad a file with zeros to full blocks.
        if (std::all_of(file.begin(), file.end(), [](std::byte b) { return b == std::byte{0}; })) return true;
    } while (is_gzip(file));
    throw CorruptData(std::to_string(file.size()) + " bytes after its end are not gzip data");
}

bool unpack_named(std::span<const std::byte> file, const std::string& name, std::vector<std::byte>& output,
                  std::size_t limit) {
    try {
        return unpack_members(file, output, limit);
    } catch (const CorruptData& wrong) {
        throw IoError(name + ": not a sound gzip file: " + wrong.what());
    }
}

}  // namespace

bool is_gzip(std::span<const std::byte> file) {
    return file.size() >= 2 && file[0] == std::byte{0x1f} && file[1] == std::byte{0x8b};
}

std::vector<std::byte> gunzip(std::span<const std::byte> file, const std::string& name, std::size_t limit) {
    std::vector<std::byte> output;
    output.reserve(std::min(limit, expected_size(file)));
    if (!unpack_named(file, name, output, limit))
        throw IoError(name + ": its content is longer than the " + std::to_string(limit) + " bytes that were expected");
    return output;
}

std::vector<std::byte> gunzip_prefix(std::span<const std::byte> file, const std::string& name, std::size_t count) {
    std::vector<std::byte> output;
    unpack_named(file, name, output, count);
    return output;
}

}  // namespace weft::data
