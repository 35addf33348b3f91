// io/safetensors.cpp: the safetensors format: 8 bytes with the length of a header, the header in JSON, then the elements of all tensors
// without gaps. https://github.com/huggingface/safetensors describes it.
#include "io/file.h"
#include "io/json.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace weft::io {
namespace safetensors {

struct TypeName {
    std::string_view name;
    int bits;
    std::optional<DType> dtype;  // none: the format has it and Weft has not
};

struct Entry {
    std::string name;
    const TypeName* type = nullptr;
    Shape shape;
    std::uint64_t begin = 0, end = 0;  // in the data behind the header
};

struct File {
    ErrorContext context;
    Bytes bytes;
    std::size_t data = 0;  // where the elements start
    std::vector<Entry> entries;
    std::unordered_map<std::string, std::size_t> places;  // name -> entry
    Metadata metadata;
};

}  // namespace safetensors

namespace {

using namespace safetensors;
namespace fs = std::filesystem;

constexpr std::size_t kMostHeader = 100'000'000;  // the format's own limit

// clang-format off
constexpr TypeName kTypeNames[] = {
    {"BOOL", 8, bool_}, {"U8", 8, u8}, {"U16", 16, u16}, {"U32", 32, u32}, {"U64", 64, u64}, {"I8", 8, i8}, {"I16", 16, i16},
    {"I32", 32, i32}, {"I64", 64, i64}, {"F16", 16, f16}, {"BF16", 16, bf16}, {"F32", 32, f32}, {"F64", 64, f64},
    {"F4", 4, {}}, {"F6_E2M3", 6, {}}, {"F6_E3M2", 6, {}}, {"F8_E4M3", 8, {}}, {"F8_E5M2", 8, {}}, {"F8_E8M0", 8, {}},
    {"F8_E4M3FNUZ", 8, {}}, {"F8_E5M2FNUZ", 8, {}}, {"C64", 64, {}},
};
// clang-format on

std::string_view name_in_file(DType dtype) {
    for (const TypeName& type : kTypeNames)
        if (type.dtype == dtype) return type.name;
    throw InternalError("safetensors: an element type has no name");
}

Shape read_shape(JsonReader& json) {
    Shape shape;
    json.list([&] {
        const std::uint64_t size = json.number();
        if (shape.size() == kMostDimensions || size > INT64_MAX) throw JsonError("a shape is too large");
        shape.push_back(static_cast<std::int64_t>(size));
    });
    return shape;
}

Entry read_entry(JsonReader& json, std::string name, const ErrorContext& context) {
    Entry entry;
    entry.name = std::move(name);
    std::vector<std::uint64_t> offsets;
    int seen = 0;
    json.object([&](const std::string& field) {
        if (field == "dtype") {
            const std::string type = json.string();
            entry.type = std::find_if(std::begin(kTypeNames), std::end(kTypeNames),
                                      [&](const TypeName& known) { return known.name == type; });
            if (entry.type == std::end(kTypeNames))
                context.fail("'" + entry.name + "' has the unknown element type '" + type.substr(0, 40) + "'");
            seen |= 1;
        } else if (field == "shape") {
            entry.shape = read_shape(json);
            seen |= 2;
        } else if (field == "data_offsets") {
            json.list([&] {
                if (offsets.size() == 2) throw JsonError("'data_offsets' has more than two numbers");
                offsets.push_back(json.number());
            });
            seen |= 4;
        } else {
            throw JsonError("'" + entry.name + "' has the unknown field '" + field.substr(0, 40) + "'");
        }
    });
    if (seen != 7 || offsets.size() != 2)
        throw JsonError("'" + entry.name + "' needs a dtype, a shape and two data_offsets");
    entry.begin = offsets[0];
    entry.end = offsets[1];
    return entry;
}

void read_header(File& file, std::string_view text) {
    JsonReader json(text);
    bool metadata = false;
    json.object([&](const std::string& name) {
        if (name != "__metadata__") {
            if (!file.places.emplace(name, file.entries.size()).second)
                throw JsonError("the name '" + name + "' comes twice");
            file.entries.push_back(read_entry(json, name, file.context));
            return;
        }
        if (metadata) throw JsonError("'__metadata__' comes twice");
        metadata = true;
        json.object([&](const std::string& key) {
            if (!file.metadata.emplace(key, json.string()).second)
                throw JsonError("'" + key + "' comes twice in '__metadata__'");
        });
    });
    json.end();
}

// Every byte behind the header belongs to one tensor, and its size is that of the elements.
void check_offsets(const File& file) {
    std::vector<const Entry*> order;
    for (const Entry& entry : file.entries) order.push_back(&entry);
    std::sort(order.begin(), order.end(),
              [](const Entry* a, const Entry* b) { return std::pair(a->begin, a->end) < std::pair(b->begin, b->end); });
    std::uint64_t at = 0;
    for (const Entry* entry : order) {
        const std::string name = "'" + entry->name + "'";
        if (entry->begin > entry->end) file.context.fail(name + " ends before it begins");
        if (entry->begin < at) file.context.fail(name + " overlaps the tensor before it");
        if (entry->begin > at) file.context.fail("there is a gap before " + name);
        const std::optional<std::int64_t> count = checked_count(entry->shape);
        if (!count) file.context.fail(name + " has a shape of more elements than can be");
        unsigned __int128 bits = static_cast<unsigned __int128>(*count) * static_cast<unsigned>(entry->type->bits);
        if (bits % 8 != 0 || bits / 8 != entry->end - entry->begin)
            file.context.fail(name + " has " + std::to_string(entry->end - entry->begin) +
                              " bytes, which is not what " + std::string(entry->type->name) + to_string(entry->shape) +
                              " takes");
        at = entry->end;
    }
    const std::uint64_t held = file.bytes.data.size() - file.data;
    if (at > held)
        file.context.fail("it is cut short: the header lists " + std::to_string(at) +
                          " bytes of elements, and there are " + std::to_string(held));
    if (at < held) file.context.fail(std::to_string(held - at) + " bytes at its end belong to no tensor");
}

File open_file(const fs::path& path, const std::string& call) {
    File file;
    file.context = {call, path.string()};
    file.bytes = map_file(file.context, path);
    const std::size_t size = file.bytes.data.size();
    if (size < 8)
        file.context.fail("it has " + std::to_string(size) + " bytes, and a safetensors file has at least 10");
    const std::uint64_t header = little_endian(file.bytes.data, 0, 8);
    if (header > kMostHeader || header > size - 8)
        file.context.fail("it is no safetensors file, or it is cut short: its header would have " +
                          std::to_string(header) + " bytes");
    file.data = 8 + static_cast<std::size_t>(header);
    const std::string_view text = text_of(file.bytes.data.subspan(8, header));
    if (!text.starts_with('{')) file.context.fail("it is no safetensors file: its header does not start with '{'");
    try {
        read_header(file, text);
    } catch (const JsonError& error) {
        file.context.fail(std::string("its header is no valid safetensors header: ") + error.what());
    }
    check_offsets(file);
    return file;
}

const Entry& find(const File& file, const std::string& name) {
    const auto found = file.places.find(name);
    if (found == file.places.end()) throw IndexError(file.context.message("there is no tensor named '" + name + "'"));
    return file.entries[found->second];
}

Tensor tensor_in(const File& file, const Entry& entry) {
    if (!entry.type->dtype)
        throw DTypeError(file.context.message("'" + entry.name + "' has elements of the type " +
                                              std::string(entry.type->name) + ", which Weft does not have"));
    const std::byte* first = file.bytes.data.data() + file.data + entry.begin;
    return tensor_over(first, entry.shape, *entry.type->dtype, file.bytes.owner);
}

// An index gives each name the file that holds it. A file is named by its path from the index's folder, and stays within it.
fs::path within(const ErrorContext& context, const fs::path& folder, const std::string& name) {
    const fs::path relative = fs::path(name).lexically_normal();
    if (name.empty() || relative.is_absolute() || *relative.begin() == ".." || name.find('\0') != name.npos)
        context.fail("it names the file '" + name + "', which is not within its folder");
    return folder / relative;
}

}  // namespace

struct SafetensorsFile::Parts {
    std::string call;
    std::vector<File> files;  // one, or those of the index that have been opened
    bool indexed = false;
    ErrorContext context;                          // of the index
    std::vector<std::string> names;                // of the index, in its order
    std::unordered_map<std::string, fs::path> at;  // name -> file
    std::unordered_map<std::string, std::size_t> opened;

    const File& file_of(const std::string& name) {
        if (!indexed) return files[0];
        const auto found = at.find(name);
        if (found == at.end()) throw IndexError(context.message("there is no tensor named '" + name + "'"));
        const std::string path = found->second.string();
        const auto known = opened.find(path);
        if (known != opened.end()) return files[known->second];
        files.push_back(open_file(found->second, call));
        opened.emplace(path, files.size() - 1);
        return files.back();
    }

    void read_index(const fs::path& path) {
        const Bytes bytes = map_file(context, path);
        if (bytes.data.size() > kMostHeader) context.fail("it is larger than an index can be");
        JsonReader json(text_of(bytes.data));
        bool found = false;
        try {
            json.object([&](const std::string& field) {
                if (field != "weight_map" || found) return json.skip();
                found = true;
                json.object([&](std::string name) {
                    if (!at.emplace(name, within(context, path.parent_path(), json.string())).second)
                        throw JsonError("the name '" + name + "' comes twice");
                    names.push_back(std::move(name));
                });
            });
            json.end();
        } catch (const JsonError& error) {
            context.fail(std::string("it is no valid index of safetensors files: ") + error.what());
        }
        if (!found) context.fail("it has no 'weight_map', as an index of safetensors files has");
    }
};

SafetensorsFile::SafetensorsFile(const fs::path& path, const std::string& call) : parts_(std::make_shared<Parts>()) {
    parts_->call = call;
    parts_->indexed = path.extension() == ".json";
    parts_->context = {call, path.string()};
    if (parts_->indexed) parts_->read_index(path);
    else parts_->files.push_back(open_file(path, call));
}

std::vector<std::string> SafetensorsFile::keys() const {
    if (parts_->indexed) return parts_->names;
    std::vector<std::string> names;
    for (const Entry& entry : parts_->files[0].entries) names.push_back(entry.name);
    return names;
}

bool SafetensorsFile::contains(const std::string& name) const {
    return parts_->indexed ? parts_->at.contains(name) : parts_->files[0].places.contains(name);
}

Tensor SafetensorsFile::tensor(const std::string& name) const {
    const File& file = parts_->file_of(name);
    return tensor_in(file, find(file, name));
}

Shape SafetensorsFile::shape(const std::string& name) const { return find(parts_->file_of(name), name).shape; }

std::string SafetensorsFile::dtype_name(const std::string& name) const {
    return std::string(find(parts_->file_of(name), name).type->name);
}

const Metadata& SafetensorsFile::metadata() const {
    static const Metadata kNone;
    return parts_->indexed ? kNone : parts_->files[0].metadata;
}

NamedTensors load_safetensors(const fs::path& path) {
    const SafetensorsFile file(path, "load_safetensors()");
    NamedTensors result;
    for (std::string& name : file.keys()) {
        Tensor tensor = file.tensor(name);
        result.emplace_back(std::move(name), std::move(tensor));
    }
    return result;
}

void save_safetensors(const NamedTensors& tensors, const fs::path& path, const Metadata& metadata) {
    const ErrorContext context{"save_safetensors()", path.string()};
    std::unordered_set<std::string_view> seen;
    for (const auto& [name, tensor] : tensors) {
        if (name == "__metadata__" || !is_utf8(name))
            throw ValueError(context.call + ": a tensor cannot be named '" + name + "'");
        if (!seen.insert(name).second) throw ValueError(context.call + ": the name '" + name + "' comes twice");
        if (!tensor.defined()) throw ValueError(context.call + ": the tensor '" + name + "' is undefined");
    }
    // The widest elements first: then all of them are aligned.
    std::vector<std::size_t> order(tensors.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    const auto width = [&](std::size_t i) { return size_of(tensors[i].second.dtype()); };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return width(a) > width(b); });

    std::string header = "{";
    const auto separate = [&] { header += header.size() > 1 ? "," : ""; };
    if (!metadata.empty()) {
        std::string fields;
        for (const auto& [key, value] : metadata) {
            if (!is_utf8(key) || !is_utf8(value)) throw ValueError(context.call + ": the metadata is not valid UTF-8");
            fields += (fields.empty() ? "" : ",") + json_text(key) + ":" + json_text(value);
        }
        header += "\"__metadata__\":{" + fields + "}";
    }
    std::uint64_t at = 0;
    for (const std::size_t i : order) {
        const auto& [name, tensor] = tensors[i];
        const std::uint64_t end = at + static_cast<std::uint64_t>(tensor.numel()) * width(i);
        std::string sizes;
        for (const std::int64_t size : tensor.shape()) sizes += (sizes.empty() ? "" : ",") + std::to_string(size);
        separate();
        header += json_text(name) + ":{\"dtype\":\"" + std::string(name_in_file(tensor.dtype())) + "\",\"shape\":[" +
                  sizes + "],\"data_offsets\":[" + std::to_string(at) + "," + std::to_string(end) + "]}";
        at = end;
    }
    header += "}";
    header.resize((header.size() + 7) / 8 * 8, ' ');
    if (header.size() > kMostHeader) throw ValueError(context.call + ": the names take more than the format allows");
    std::vector<Tensor> all;
    for (const auto& [name, tensor] : tensors) all.push_back(tensor);
    realize(all);  // in one run, and before the file is made

    NewFile file(context, path);
    std::string length;
    append_little_endian(length, header.size(), 8);
    file.write(length);
    file.write(header);
    for (const std::size_t i : order) file.write(elements_of(tensors[i].second).bytes);
    file.commit();
}

}  // namespace weft::io
