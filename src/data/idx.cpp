// data/idx.cpp: reads idx files. The header alone says how many bytes must follow, so it is checked before anything is
// unpacked or allocated.
#include "data/idx.h"

#include "data/gzip.h"

#include <algorithm>
#include <bit>
#include <cerrno>
#include <cstdint>
#include <fstream>
#include <limits>
#include <new>
#include <system_error>
#include <utility>

namespace weft::data {
namespace {

constexpr std::size_t kMagicSize = 4;                         // 0, 0, element type, number of dimensions
constexpr std::size_t kLongestHeader = kMagicSize + 4 * 255;  // the number of dimensions is one byte

struct Header {
    DType dtype = DType::U8;
    Shape shape;
    std::size_t size = 0;         // of the header itself, in bytes
    std::uint64_t file_size = 0;  // of header and elements
};

struct TypeCode {
    std::uint8_t code;
    DType dtype;
};
constexpr TypeCode kTypeCodes[] = {{0x08, DType::U8},  {0x09, DType::I8},  {0x0b, DType::I16},
                                   {0x0c, DType::I32}, {0x0d, DType::F32}, {0x0e, DType::F64}};

DType dtype_from_code(std::uint8_t code, const std::string& name) {
    for (const TypeCode& row : kTypeCodes)
        if (row.code == code) return row.dtype;
    throw IoError(name + ": element type " + std::to_string(code) +
                  " is none of idx: 8 (u8), 9 (i8), 11 (i16), 12 (i32), 13 (f32), 14 (f64)");
}

std::uint64_t checked_product(std::uint64_t a, std::uint64_t b, const std::string& name) {
    constexpr std::uint64_t kMost = std::numeric_limits<std::int64_t>::max() - kLongestHeader;
    if (b == 0 || a <= kMost / b) return a * b;
    throw IoError(name + ": its sizes are too large: the number of bytes does not fit 63 bits");
}

// `start` is the start of the file: kLongestHeader bytes of it, or all.
Header parse_header(std::span<const std::byte> start, const std::string& name) {
    const auto byte = [&](std::size_t i) { return std::to_integer<std::uint8_t>(start[i]); };
    if (start.size() < kMagicSize)
        throw IoError(name + ": truncated: it has " + std::to_string(start.size()) + " bytes, an idx header 4 or more");
    if (byte(0) != 0 || byte(1) != 0) throw IoError(name + ": not an idx file: the first two bytes are not zero");
    Header header;
    header.dtype = dtype_from_code(byte(2), name);
    const std::size_t rank = byte(3);
    header.size = kMagicSize + 4 * rank;
    if (start.size() < header.size)
        throw IoError(name + ": truncated: it has " + std::to_string(start.size()) + " bytes, its header with " +
                      std::to_string(rank) + " sizes needs " + std::to_string(header.size));
    std::uint64_t bytes = size_of(header.dtype);
    for (std::size_t i = kMagicSize; i < header.size; i += 4) {
        const std::uint32_t size = std::uint32_t{byte(i)} << 24 | std::uint32_t{byte(i + 1)} << 16 |
                                   std::uint32_t{byte(i + 2)} << 8 | std::uint32_t{byte(i + 3)};
        header.shape.push_back(size);
        bytes = checked_product(bytes, size, name);
    }
    header.file_size = header.size + bytes;
    return header;
}

void check_size(std::uint64_t size, const Header& header, const std::string& name) {
    if (size == header.file_size) return;
    throw IoError(name + (size < header.file_size ? ": truncated" : ": too long") + ": it has " + std::to_string(size) +
                  " bytes, its header says " + std::to_string(header.file_size));
}

void to_native_order(std::vector<std::byte>& bytes, std::size_t element_size) {
    if (std::endian::native == std::endian::big || element_size == 1) return;
    for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(element_size))
        std::reverse(at, at + static_cast<std::ptrdiff_t>(element_size));
}

// Runs `make`, which needs about `bytes` bytes of memory.
template <class Make>
auto with_memory(std::uint64_t bytes, const std::string& name, Make make) {
    try {
        return make();
    } catch (const std::bad_alloc&) {
        throw MemoryError(name + ": no memory for its " + std::to_string(bytes) + " bytes");
    }
}

// A regular file that was opened to be read.
class InputFile {
public:
    explicit InputFile(const std::filesystem::path& file) : name_(file.string()) {
        std::error_code error;
        const auto status = std::filesystem::status(file, error);
        if (!std::filesystem::exists(status)) throw IoError(name_ + ": there is no such file");
        if (!std::filesystem::is_regular_file(status)) throw IoError(name_ + ": it is not a regular file");
        stream_.open(file, std::ios::binary);
        if (!stream_) throw IoError(name_ + ": cannot be opened: " + std::generic_category().message(errno));
        size_ = std::filesystem::file_size(file, error);
        if (error) throw IoError(name_ + ": cannot be read: " + error.message());
    }
    const std::string& name() const { return name_; }
    std::uint64_t size() const { return size_; }
    std::vector<std::byte> first(std::uint64_t count) {
        count = std::min(count, size_);
        auto bytes = with_memory(count, name_, [&] { return std::vector<std::byte>(count); });
        stream_.seekg(0);
        stream_.read(reinterpret_cast<char*>(bytes.data()), static_cast<std::streamsize>(count));
        if (!stream_) throw IoError(name_ + ": cannot be read, or changed while it was");
        return bytes;
    }

private:
    std::string name_;
    std::ifstream stream_;
    std::uint64_t size_ = 0;
};

std::vector<std::byte> read_elements(std::span<const std::byte> file, const Header& header, const std::string& name) {
    std::vector<std::byte> bytes;
    if (is_gzip(file)) {
        bytes = gunzip(file, name, header.file_size);
        check_size(bytes.size(), header, name);
        bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(header.size));
    } else {
        check_size(file.size(), header, name);
        bytes.assign(file.begin() + static_cast<std::ptrdiff_t>(header.size), file.end());
    }
    to_native_order(bytes, size_of(header.dtype));
    return bytes;
}

}  // namespace

void IdxArray::require_dtype(DType asked) const {
    if (asked == dtype) return;
    throw DTypeError("values(): the array has elements of type " + std::string(name_of(dtype)) + ", not " +
                     std::string(name_of(asked)));
}

IdxArray parse_idx(std::span<const std::byte> file, const std::string& name) {
    Header header =
        is_gzip(file) ? parse_header(gunzip_prefix(file, name, kLongestHeader), name) : parse_header(file, name);
    auto bytes = with_memory(header.file_size, name, [&] { return read_elements(file, header, name); });
    return {header.dtype, std::move(header.shape), std::move(bytes)};
}

IdxArray load_idx(const std::filesystem::path& path) {
    InputFile file(path);
    const auto start = file.first(kLongestHeader);
    if (!is_gzip(start)) check_size(file.size(), parse_header(start, file.name()), file.name());  // before all is read
    return parse_idx(file.first(file.size()), file.name());
}

}  // namespace weft::data
