// io/file.cpp: mapping files, and replacing them in one step.
#include "io/file.h"

#include "io/json.h"

#include <weft/creation.h>
#include <weft/movement.h>

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <atomic>
#include <cerrno>
#include <cstring>

namespace weft::io {
namespace {

namespace fs = std::filesystem;

std::string folder_of(const fs::path& path) {
    const fs::path folder = path.parent_path();
    return folder.empty() ? "." : folder.string();
}

class Descriptor {
public:
    explicit Descriptor(int file) : file_(file) {}
    ~Descriptor() {
        if (file_ >= 0) ::close(file_);
    }
    Descriptor(const Descriptor&) = delete;
    Descriptor& operator=(const Descriptor&) = delete;
    int get() const { return file_; }

private:
    int file_;
};

std::string why(int code) {
    switch (code) {
        case ENOENT: return "there is no such file or folder";
        case EACCES:
        case EPERM: return "there is no permission";
        case EISDIR: return "it is a folder; name a file";
        case ENOTDIR: return "a part of the path is a file, not a folder";
        case EROFS: return "the disk is read-only";
        case ENOSPC:
        case EDQUOT: return "the disk is full";
        case EFBIG: return "the file would be larger than this process may write (ulimit -f)";
        case ENAMETOOLONG: return "the name is too long";
        default: return std::strerror(code);
    }
}

}  // namespace

std::string one_line(std::string text) {
    const bool valid = is_utf8(text);
    for (char& c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f || (byte >= 0x80 && !valid)) c = '?';
    }
    return text;
}

void ErrorContext::fail_system(int code, const std::string& doing) const {
    throw FileError(message(doing + (doing.empty() ? "" : ": ") + why(code)), code);
}

Bytes map_file(const ErrorContext& context, const fs::path& path) {
    const Descriptor file(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
    if (file.get() < 0) context.fail_system(errno, "");
    struct stat facts;
    if (::fstat(file.get(), &facts) != 0) context.fail_system(errno, "");
    if (S_ISDIR(facts.st_mode)) context.fail_system(EISDIR, "");
    if (!S_ISREG(facts.st_mode)) context.fail("it is no ordinary file, so it cannot be mapped; copy it to one first");
    const auto size = static_cast<std::size_t>(facts.st_size);
    if (size == 0) return {};
    void* memory = ::mmap(nullptr, size, PROT_READ, MAP_PRIVATE, file.get(), 0);
    if (memory == MAP_FAILED) context.fail_system(errno, "it cannot be mapped");
    std::shared_ptr<void> owner(memory, [size](void* mapped) { ::munmap(mapped, size); });
    return {{static_cast<const std::byte*>(memory), size}, std::move(owner)};
}

std::uint64_t little_endian(std::span<const std::byte> bytes, std::size_t at, int count) {
    std::uint64_t value = 0;
    for (int i = 0; i < count; ++i) value |= std::to_integer<std::uint64_t>(bytes[at + i]) << (8 * i);
    return value;
}

void append_little_endian(std::string& text, std::uint64_t value, int count) {
    for (int i = 0; i < count; ++i) text.push_back(static_cast<char>(value >> (8 * i) & 255));
}

std::optional<std::int64_t> checked_count(const Shape& shape) {
    if (shape.size() > kMostDimensions) return {};
    std::int64_t bytes = 8;  // of the widest type, and of the sizes that are not 0
    bool empty = false;
    for (const std::int64_t size : shape) {
        empty = empty || size == 0;
        if (size < 0 || __builtin_mul_overflow(bytes, size == 0 ? 1 : size, &bytes)) return {};
    }
    return empty ? 0 : bytes / 8;
}

Tensor tensor_over(const std::byte* first, const Shape& shape, const Dims& strides, DType dtype,
                   std::shared_ptr<void> owner) {
    if (numel(shape) == 0) return zeros(shape, dtype);
    std::int64_t last = 0;
    for (std::size_t d = 0; d < shape.size(); ++d) last += (shape[d] - 1) * strides[d];
    const std::size_t item = size_of(dtype), span = static_cast<std::size_t>(last + 1) * item;
    bool in_place = reinterpret_cast<std::uintptr_t>(first) % item == 0;
    if (is_bool(dtype))
        for (std::size_t i = 0; in_place && i < span; ++i) in_place = std::to_integer<unsigned>(first[i]) <= 1;
    if (!in_place) {
        const std::shared_ptr<std::byte[]> copy(new std::byte[span]);
        std::memcpy(copy.get(), first, span);
        if (is_bool(dtype))
            for (std::size_t i = 0; i < span; ++i) copy[i] = std::byte(copy[i] != std::byte(0));
        first = copy.get();
        owner = copy;
    }
    return from_memory(const_cast<std::byte*>(first), shape, strides, dtype, std::move(owner));
}

Tensor tensor_over(const std::byte* first, const Shape& shape, DType dtype, std::shared_ptr<void> owner) {
    return tensor_over(first, shape, row_major_strides(shape), dtype, std::move(owner));
}

Elements elements_of(const Tensor& tensor) {
    const Tensor held = tensor.detach().to(cpu).clone();
    const void* memory = held.data_ptr();
    const auto bytes = static_cast<std::size_t>(held.numel()) * size_of(held.dtype());
    return {held, {static_cast<const std::byte*>(memory), bytes}};
}

void MemorySink::write(std::span<const std::byte> bytes) {
    text.append(text_of(bytes));
    written_ += bytes.size();
}

NewFile::NewFile(ErrorContext context, fs::path path) : context_(std::move(context)), path_(std::move(path)) {
    if (path_.empty()) context_.fail("the path is empty");
    std::error_code none;
    if (const fs::path real = fs::canonical(path_, none); !none) path_ = real;  // a link stays, its target is replaced
    struct stat facts;
    unsigned mode = 0;
    if (::stat(path_.c_str(), &facts) == 0) {
        if (S_ISDIR(facts.st_mode)) context_.fail_system(EISDIR, "it cannot be written");
        if (!S_ISREG(facts.st_mode)) {
            file_ = ::open(path_.c_str(), O_WRONLY | O_CLOEXEC);
            if (file_ < 0) context_.fail_system(errno, "it cannot be written");
            return;
        }
        if (::access(path_.c_str(), W_OK) != 0) context_.fail_system(errno, "it cannot be written");
        mode = facts.st_mode & 07777;
    }
    open_beside(mode);
}

void NewFile::open_beside(unsigned mode) {
    static std::atomic<unsigned> count = 0;
    do {
        const std::string name = "." + path_.filename().string().substr(0, 200) + "." + std::to_string(::getpid()) +
                                 "." + std::to_string(++count) + ".tmp";
        temporary_ = path_.parent_path() / name;
        file_ = ::open(temporary_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    } while (file_ < 0 && errno == EEXIST);
    if (file_ < 0) {
        const int code = errno;
        temporary_.clear();
        if (code == ENOENT)
            context_.fail_system(code, "the folder " + folder_of(path_) + " does not exist, make it first");
        context_.fail_system(code, "no file can be made in the folder " + folder_of(path_));
    }
    if (mode != 0) (void)::fchmod(file_, mode);  // as the old file, where that is possible
}

NewFile::~NewFile() {
    if (file_ >= 0) ::close(file_);
    if (!temporary_.empty()) ::unlink(temporary_.c_str());
}

void NewFile::write(std::span<const std::byte> bytes) {
    constexpr std::size_t kMost = std::size_t{1} << 30;  // Linux writes at most 2 GiB at once
    while (!bytes.empty()) {
        const ssize_t count = ::write(file_, bytes.data(), std::min(bytes.size(), kMost));
        if (count < 0 && errno == EINTR) continue;
        if (count < 0) context_.fail_system(errno, "it cannot be written");
        bytes = bytes.subspan(static_cast<std::size_t>(count));
        written_ += static_cast<std::uint64_t>(count);
    }
}

void NewFile::commit() {
    if (!temporary_.empty() && ::fsync(file_) != 0) context_.fail_system(errno, "it cannot be written");
    const int closed = ::close(file_);
    file_ = -1;
    if (closed != 0) context_.fail_system(errno, "it cannot be written");
    if (temporary_.empty()) return;
    if (::rename(temporary_.c_str(), path_.c_str()) != 0) context_.fail_system(errno, "it cannot be replaced");
    temporary_.clear();
    const Descriptor folder(::open(folder_of(path_).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    if (folder.get() >= 0)
        (void)::fsync(folder.get());  // some file systems have no such call; the file is whole either way
}

}  // namespace weft::io
