// data/inflate.cpp: feeds zlib, and says in words what it finds wrong.
#include "data/inflate.h"

#include <zlib.h>

#include <algorithm>
#include <limits>
#include <new>
#include <string>
#include <string_view>

namespace weft::data {
namespace {

constexpr std::size_t kFirstAllocation = 1 << 12;
constexpr std::size_t kMostAtOnce = std::numeric_limits<uInt>::max();  // bytes that zlib takes in a call

class Stream {
public:
    explicit Stream(Wrapper wrapper) {
        constexpr int kWindow = 15, kGzip = 16;  // bits of the largest window; what zlib adds to them for gzip
        const int started = inflateInit2(&z_, wrapper == Wrapper::Gzip ? kWindow + kGzip : -kWindow);
        if (started == Z_MEM_ERROR) throw std::bad_alloc();
        if (started != Z_OK) throw CorruptData("zlib does not start: it is another version");
    }
    ~Stream() { inflateEnd(&z_); }
    Stream(const Stream&) = delete;

    z_stream* operator->() { return &z_; }
    int step() { return ::inflate(&z_, Z_NO_FLUSH); }

private:
    z_stream z_ = {};
};

// zlib's words for a damaged header or trailer, in ours.
std::string what_is_wrong(std::string_view zlib, std::span<const std::byte> input, std::size_t at,
                          std::size_t content) {
    if (zlib == "incorrect header check") return "it does not start with the bytes 1f 8b";
    if (zlib == "unknown compression method")
        return "it uses compression method " + std::to_string(std::to_integer<int>(input[2])) +
               ", only 8 (deflate) exists";
    if (zlib == "unknown header flags set") return "its header sets reserved flags";
    if (zlib == "header crc mismatch") return "its header has a wrong checksum";
    if (zlib == "incorrect data check") return "the checksum does not match the content";
    if (zlib == "incorrect length check")
        return "the content has " + std::to_string(content) + " bytes, not the number at its end";
    return "its compressed data are damaged near byte " + std::to_string(at) + ": " + std::string(zlib);
}

}  // namespace

InflateResult inflate(Wrapper wrapper, std::span<const std::byte> input, std::vector<std::byte>& output,
                      std::size_t limit) {
    Stream stream(wrapper);
    const std::size_t start = output.size();
    std::size_t fed = 0, used = start;  // of the input, of the output
    for (;;) {
        if (stream->avail_in == 0) {
            const std::size_t count = std::min(input.size() - fed, kMostAtOnce);
            stream->next_in = reinterpret_cast<Bytef*>(const_cast<std::byte*>(input.data() + fed));
            stream->avail_in = static_cast<uInt>(count);
            fed += count;
        }
        if (used == output.size() && used < limit)
            output.resize(std::min(limit, std::max({2 * used, output.capacity(), kFirstAllocation})));
        // Is everything there, or one byte too many? A full output has room for that byte elsewhere.
        Bytef beyond = 0;
        const bool full = used == output.size();
        const std::size_t room = full ? 1 : std::min(output.size() - used, kMostAtOnce);
        stream->next_out = full ? &beyond : reinterpret_cast<Bytef*>(output.data() + used);
        stream->avail_out = static_cast<uInt>(room);
        const int status = stream.step();
        const std::size_t made = room - stream->avail_out, consumed = fed - stream->avail_in;
        if (full && made > 0) return {0, false};
        used += made;
        if (status == Z_STREAM_END) {
            output.resize(used);
            return {consumed, true};
        }
        if (status == Z_MEM_ERROR) throw std::bad_alloc();
        if (status == Z_OK && (stream->avail_in > 0 || fed < input.size() || stream->avail_out == 0)) continue;
        output.resize(used);
        if (status == Z_OK || status == Z_BUF_ERROR) throw CorruptData("it is truncated: its end is missing");
        throw CorruptData(what_is_wrong(stream->msg ? stream->msg : "", input, consumed, used - start));
    }
}

}  // namespace weft::data
