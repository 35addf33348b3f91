// io/file.h: files as the readers and writers of this folder see them: bytes with an owner to read from, and a sink to write to.
#pragma once

#include <weft/io.h>

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

namespace weft::io {

std::string one_line(std::string text);

// Where a message comes from: the function that was called, and the file.
struct ErrorContext {
    std::string call;  // "load_safetensors()"
    std::string file;  // a path, or "the file"

    // "call: file: what". Names of a file may be anything: what is no text is shown as '?', so that this stays one line of UTF-8.
    std::string message(const std::string& what) const { return call + ": " + one_line(file) + ": " + one_line(what); }
    [[noreturn]] void fail(const std::string& what) const { throw IoError(message(what)); }
    [[noreturn]] void fail_system(int code, const std::string& doing) const;  // FileError
};

// Memory that something keeps alive: a mapped file, an object of Python, a buffer.
struct Bytes {
    std::span<const std::byte> data;
    std::shared_ptr<void> owner;
};

// The whole file, mapped read-only and without a copy. A file that is replaced by another one later stays as it was; one that is
// cut short by another program while it is mapped ends the process, as with any map.
Bytes map_file(const ErrorContext& context, const std::filesystem::path& path);

std::uint64_t little_endian(std::span<const std::byte> bytes, std::size_t at,
                            int count);  // the caller has checked the size
void append_little_endian(std::string& text, std::uint64_t value, int count);
inline std::string_view text_of(std::span<const std::byte> bytes) {
    return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}
inline std::span<const std::byte> bytes_of(std::string_view text) { return std::as_bytes(std::span(text)); }

// The number of elements of a shape that a file gives; nothing if it has too many dimensions or its bytes do not fit 63 bits.
std::optional<std::int64_t> checked_count(const Shape& shape);
inline constexpr std::size_t kMostDimensions = 64;

// A tensor over memory of a file. The caller has checked that all elements lie within it. What cannot be read in place is copied:
// elements that are not aligned, and bools that are neither 0 nor 1, which no kernel expects.
Tensor tensor_over(const std::byte* first, const Shape& shape, const Dims& strides, DType dtype,
                   std::shared_ptr<void> owner);
Tensor tensor_over(const std::byte* first, const Shape& shape, DType dtype, std::shared_ptr<void> owner);

// The elements of a tensor, row by row, in memory that is held.
struct Elements {
    Tensor held;
    std::span<const std::byte> bytes;
};
Elements elements_of(const Tensor& tensor);

class Sink {
public:
    virtual ~Sink() = default;
    virtual void write(std::span<const std::byte> bytes) = 0;
    void write(std::string_view text) { write(bytes_of(text)); }
    std::uint64_t written() const { return written_; }

protected:
    std::uint64_t written_ = 0;
};

class MemorySink : public Sink {
public:
    void write(std::span<const std::byte> bytes) override;
    using Sink::write;
    std::string text;
};

// A file that is written under another name in the same folder, and takes its place when it is whole and on the disk: whatever
// happens before, the old file is untouched. What is no ordinary file (a pipe, /dev/null) is written as it is.
class NewFile : public Sink {
public:
    NewFile(ErrorContext context, std::filesystem::path path);
    ~NewFile() override;
    NewFile(const NewFile&) = delete;
    NewFile& operator=(const NewFile&) = delete;

    void write(std::span<const std::byte> bytes) override;
    using Sink::write;
    void commit();

private:
    void open_beside(unsigned mode);
    ErrorContext context_;
    std::filesystem::path path_, temporary_;  // temporary_ is empty: written in place
    int file_ = -1;
};

}  // namespace weft::io
