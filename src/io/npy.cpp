// io/npy.cpp: NumPy's files. An .npy is a short header, written as a dict of Python, and the elements; an .npz is a zip archive of them.
#include "io/file.h"
#include "io/json.h"
#include "io/zip.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <set>

namespace weft::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kNumpyMagic = "\x93NUMPY";
constexpr std::size_t kMostNumpyHeader = 1 << 20;

struct NumpyType {
    DType dtype;
    std::string_view code;  // behind the byte order
};
// clang-format off
constexpr NumpyType kNumpyTypes[] = {
    {bool_, "b1"}, {u8, "u1"}, {u16, "u2"}, {u32, "u4"}, {u64, "u8"}, {i8, "i1"}, {i16, "i2"}, {i32, "i4"}, {i64, "i8"},
    {f16, "f2"}, {f32, "f4"}, {f64, "f8"},
};
// clang-format on

struct Header {
    std::string type;
    bool column_major = false;
    Shape shape;
};

// {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
class HeaderReader {
public:
    HeaderReader(const ErrorContext& context, std::string_view text) : context_(context), text_(text) {}

    Header read() {
        Header header;
        std::set<std::string> seen;
        take('{');
        while (!taken('}')) {
            const std::string key = quoted();
            take(':');
            if (!seen.insert(key).second) fail();
            if (key == "descr") header.type = descr();
            else if (key == "fortran_order") header.column_major = boolean();
            else if (key == "shape") header.shape = shape();
            else fail();
            if (!taken(',') && next() != '}') fail();
        }
        if (seen.size() != 3 || next() != 0) fail();
        return header;
    }

private:
    [[noreturn]] void fail() const { context_.fail("its header is damaged, or none of an .npy file"); }
    char next() {
        while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n')) ++at_;
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool taken(char wanted) {
        if (next() != wanted) return false;
        ++at_;
        return true;
    }
    void take(char wanted) {
        if (!taken(wanted)) fail();
    }
    std::string quoted() {
        const char quote = next();
        if (quote != '\'' && quote != '"') fail();
        const std::size_t end = text_.find(quote, at_ + 1);
        if (end == text_.npos) fail();
        const std::string_view found = text_.substr(at_ + 1, end - at_ - 1);
        at_ = end + 1;
        return std::string(found);
    }
    std::string descr() {
        if (next() == '[')
            context_.fail(
                "it is an array of records (a structured type), which is not read; save each field as an array of its "
                "own");
        return quoted();
    }
    bool boolean() {
        next();
        for (const bool value : {true, false}) {
            const std::string_view word = value ? "True" : "False";
            if (!text_.substr(at_).starts_with(word)) continue;
            at_ += word.size();
            return value;
        }
        fail();
    }
    Shape shape() {
        Shape result;
        take('(');
        while (!taken(')')) {
            next();
            std::int64_t size = 0;
            const auto [end, error] = std::from_chars(text_.data() + at_, text_.data() + text_.size(), size);
            if (error != std::errc() || size < 0 || result.size() == kMostDimensions) fail();
            at_ = static_cast<std::size_t>(end - text_.data());
            result.push_back(size);
            if (!taken(',') && next() != ')') fail();
        }
        return result;
    }

    const ErrorContext& context_;
    std::string_view text_;
    std::size_t at_ = 0;
};

Dims column_major_strides(const Shape& shape) {
    Dims strides;
    std::int64_t step = 1;
    for (const std::int64_t size : shape) {
        strides.push_back(step);
        step *= std::max<std::int64_t>(size, 1);
    }
    return strides;
}

DType dtype_in(const ErrorContext& context, const std::string& type) {
    for (const NumpyType& known : kNumpyTypes)
        if (type.size() == 3 && known.code == type.substr(1) &&
            std::string_view("<>|=").find(type[0]) != std::string_view::npos)
            return known.dtype;
    const char kind = type.size() > 1 ? type[1] : type.empty() ? '?' : type[0];
    const std::string what = kind == 'c'                  ? " (complex numbers)"
                             : kind == 'O'                ? " (objects of Python)"
                             : kind == 'U' || kind == 'S' ? " (text)"
                             : kind == 'M' || kind == 'm' ? " (times)"
                             : kind == 'V'                ? " (raw records)"
                                                          : "";
    throw DTypeError(context.message("it has elements of NumPy's type '" + type.substr(0, 40) + "'" + what +
                                     ", which Weft does not have"));
}

// A copy with the bytes of each element reversed.
Bytes swapped(std::span<const std::byte> data, std::size_t item) {
    const auto copy = std::make_shared<std::vector<std::byte>>(data.begin(), data.end());
    for (std::size_t at = 0; at + item <= copy->size(); at += item)
        std::reverse(copy->begin() + static_cast<std::ptrdiff_t>(at),
                     copy->begin() + static_cast<std::ptrdiff_t>(at + item));
    return {*copy, copy};
}

Bytes copied(std::span<const std::byte> data) {
    const auto copy = std::make_shared<std::vector<std::byte>>(data.begin(), data.end());
    return {*copy, copy};
}

Tensor read_array(const ErrorContext& context, const Bytes& file, bool mmap) {
    const auto bytes = file.data;
    if (!text_of(bytes).starts_with(kNumpyMagic) || bytes.size() < 10)
        context.fail("it is no .npy file, or it is cut short");
    const unsigned version = std::to_integer<unsigned>(bytes[6]);
    if (version < 1 || version > 3)
        context.fail("it is of the version " + std::to_string(version) + " of the format; 1 to 3 are read");
    const std::size_t start = version == 1 ? 10 : 12;
    if (bytes.size() < start) context.fail("it is cut short");
    const std::uint64_t length = little_endian(bytes, 8, version == 1 ? 2 : 4);
    if (length > bytes.size() - start || length > kMostNumpyHeader)
        context.fail("it is cut short: its header would have " + std::to_string(length) + " bytes");
    const Header header = HeaderReader(context, text_of(bytes.subspan(start, length))).read();
    const DType dtype = dtype_in(context, header.type);
    const std::optional<std::int64_t> count = checked_count(header.shape);
    if (!count) context.fail("its shape has more elements than can be");
    const std::size_t item = size_of(dtype), held = bytes.size() - start - length;
    if (static_cast<std::uint64_t>(*count) > held / item || static_cast<std::uint64_t>(*count) * item != held)
        context.fail("it has " + std::to_string(held) + " bytes of elements, which is not what " +
                     std::string(name_of(dtype)) + to_string(header.shape) + " takes");
    const auto data = bytes.subspan(start + length);
    const Bytes memory = header.type[0] == '>' && item > 1 ? swapped(data, item)
                         : mmap                            ? Bytes{data, file.owner}
                                                           : copied(data);
    const Dims strides = header.column_major ? column_major_strides(header.shape) : row_major_strides(header.shape);
    return tensor_over(memory.data.data(), header.shape, strides, dtype, memory.owner);
}

std::string header_of(const Tensor& tensor, const std::string& call, const std::string& name) {
    const auto* type = std::find_if(std::begin(kNumpyTypes), std::end(kNumpyTypes),
                                    [&](const NumpyType& known) { return known.dtype == tensor.dtype(); });
    if (type == std::end(kNumpyTypes))
        throw DTypeError(call + ": " + name + " is bfloat16, which NumPy does not have; convert it to float32 first");
    std::string sizes;
    for (const std::int64_t size : tensor.shape()) sizes += std::to_string(size) + ", ";
    if (tensor.rank() > 1) sizes.resize(sizes.size() - 2);
    if (tensor.rank() == 1) sizes.pop_back();
    std::string header = std::string("{'descr': '") + (size_of(tensor.dtype()) == 1 ? "|" : "<") +
                         std::string(type->code) + "', 'fortran_order': False, 'shape': (" + sizes + "), }";
    header.resize((10 + header.size() + 1 + 63) / 64 * 64 - 11, ' ');
    header += '\n';
    std::string text(kNumpyMagic);
    text += {1, 0};
    append_little_endian(text, header.size(), 2);
    return text + header;
}

}  // namespace

Tensor load_npy(const fs::path& path, const ReadOptions& options) {
    const ErrorContext context{"load_npy()", path.string()};
    const Bytes file = map_file(context, path);
    if (is_zip(file.data)) context.fail("it is an archive of several arrays; read it with load_npz()");
    return read_array(context, file, options.mmap);
}

void save_npy(const Tensor& tensor, const fs::path& path) {
    const ErrorContext context{"save_npy()", path.string()};
    if (!tensor.defined()) throw ValueError("save_npy(): the tensor is undefined");
    const std::string header = header_of(tensor, context.call, "the tensor");
    const Elements elements = elements_of(tensor);
    NewFile file(context, path);
    file.write(header);
    file.write(elements.bytes);
    file.commit();
}

NamedTensors load_npz(const fs::path& path, const ReadOptions& options) {
    const ErrorContext context{"load_npz()", path.string()};
    Bytes file = map_file(context, path);
    if (text_of(file.data).starts_with(kNumpyMagic)) context.fail("it is one array; read it with load_npy()");
    if (file.data.empty()) context.fail("it is empty");
    const ZipReader zip(context, std::move(file));
    NamedTensors result;
    for (const ZipReader::Record& record : zip.records()) {
        if (!is_utf8(record.name)) context.fail("the name of a record is not valid UTF-8");
        const bool suffix = record.name.ends_with(".npy");
        std::string name = suffix ? record.name.substr(0, record.name.size() - 4) : record.name;
        const ErrorContext inside{context.call, context.file + ": " + record.name};
        const Bytes bytes = zip.read(record, !options.mmap);
        // Unpacked memory is a copy already.
        result.emplace_back(std::move(name), read_array(inside, bytes, options.mmap || record.deflated));
    }
    return result;
}

void save_npz(const NamedTensors& tensors, const fs::path& path) {
    const ErrorContext context{"save_npz()", path.string()};
    std::set<std::string_view> seen;
    std::vector<std::string> headers;
    std::vector<Tensor> all;
    for (const auto& [name, tensor] : tensors) {
        if (!tensor.defined()) throw ValueError("save_npz(): the tensor '" + name + "' is undefined");
        if (name.empty() || name.size() > 60000 || !is_utf8(name))
            throw ValueError("save_npz(): a tensor cannot be named '" + name.substr(0, 80) + "'");
        if (!seen.insert(name).second) throw ValueError("save_npz(): the name '" + name + "' comes twice");
        headers.push_back(header_of(tensor, context.call, "'" + name + "'"));
        all.push_back(tensor);
    }
    realize(all);
    NewFile file(context, path);
    ZipWriter zip(file);
    for (std::size_t i = 0; i < tensors.size(); ++i) {
        const Elements elements = elements_of(tensors[i].second);
        const std::span<const std::byte> pieces[] = {bytes_of(headers[i]), elements.bytes};
        zip.add(tensors[i].first + ".npy", pieces);
    }
    zip.finish();
    file.commit();
}

}  // namespace weft::io
