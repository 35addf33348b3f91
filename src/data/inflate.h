// data/inflate.h: zlib's decoder of deflate streams, with a limit on what comes out: raw ones in zip archives, and gzip files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace weft::data {

// What is wrong with the compressed bytes. The caller catches it, and puts the file's name in front.
struct CorruptData : std::runtime_error {
    using std::runtime_error::runtime_error;
};

enum class Wrapper : std::uint8_t {
    None,
    Gzip
};  // around the stream: a header in front, a checksum and a length behind

struct InflateResult {
    std::size_t consumed;  // bytes of the input; only if complete
    bool complete;         // false: the stream has more output than the limit allows
};

// Decodes the stream at the start of `input` and appends to `output`, which gets no longer than `limit`. Memory grows with what was really
// unpacked, whatever a header promised. Throws CorruptData.
InflateResult inflate(Wrapper wrapper, std::span<const std::byte> input, std::vector<std::byte>& output,
                      std::size_t limit);

}  // namespace weft::data
