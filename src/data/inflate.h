// data/inflate.h: decodes deflate streams (RFC 1951); data/gzip.cpp adds the headers and checksums of gzip files.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <stdexcept>
#include <vector>

namespace weft::data {

// What is wrong with the compressed bytes. Only gzip.cpp catches it, and puts the file's name in front.
struct CorruptData : std::runtime_error {
    using std::runtime_error::runtime_error;
};

// Unpacked bytes, never more than a limit. Memory grows with what was really unpacked, whatever a header promised.
class Unpacked {
public:
    Unpacked(std::size_t limit, std::size_t expected);

    std::size_t size() const { return used_; }
    std::span<const std::byte> from(std::size_t start) const { return std::span(bytes_).subspan(start, used_ - start); }
    std::vector<std::byte> take();

    // Each adds what fits, and says whether that was everything.
    bool put(std::byte value) {
        if (used_ == bytes_.size() && room_for(1) == 0) return false;
        bytes_[used_++] = value;
        return true;
    }
    bool append(std::span<const std::byte> piece);
    bool repeat(std::size_t distance, std::size_t length);  // of the bytes that start `distance` back; may overlap

private:
    std::size_t room_for(std::size_t count);  // grows; returns less than count where the limit is near

    std::vector<std::byte> bytes_;  // as long as the memory taken so far; the first used_ bytes count
    std::size_t used_ = 0;
    std::size_t limit_;
};

struct InflateResult {
    std::size_t consumed;  // bytes of the input; only if complete
    bool complete;         // false: the stream has more output than the limit allows
};

// Decodes the stream at the start of `input`, and appends to `output`. Throws CorruptData.
InflateResult inflate(std::span<const std::byte> input, Unpacked& output);

}  // namespace weft::data
