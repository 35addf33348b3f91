// io/pt.cpp: PyTorch's files: a zip archive with a pickle and a record per storage, or, before PyTorch 1.6, pickles one after the other and
// then the storages. Weft's first files were one pickle.
#include "io/pt.h"

#include "io/torch_types.h"
#include "io/zip.h"

#include <weft/shared_memory.h>

#include <algorithm>
#include <set>

namespace weft::io {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic =
    "\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19";  // the number that the older format starts with

Objects read_zip(const ErrorContext& context, Bytes bytes, const ObjectOptions& options) {
    const ZipReader zip(context, std::move(bytes));
    std::string folder;
    const ZipReader::Record* pickle = nullptr;
    for (const ZipReader::Record& record : zip.records())
        if (const std::string_view name = record.name;
            name.ends_with("/data.pkl") && name.find('/') == name.size() - 9) {
            pickle = &record;
            folder = name.substr(0, name.size() - 8);
        }
    if (!pickle) {
        const bool arrays = std::any_of(zip.records().begin(), zip.records().end(),
                                        [](const auto& record) { return record.name.ends_with(".npy"); });
        context.fail(
            arrays
                ? "it is a zip archive of NumPy's arrays; read it with load_npz()"
                : "it is a zip archive, but none that torch.save() or save() of Weft wrote: it has no record data.pkl");
    }
    if (zip.find(folder + "constants.pkl"))
        context.fail("it is a TorchScript program, which is not read; save its state_dict() with torch.save() instead");
    if (const auto* order = zip.find(folder + "byteorder");
        order && order->size < 16 && text_of(zip.read(*order, true).data) == "big")
        context.fail("its numbers have the bytes of big-endian machines, which is not read");
    TorchHost host(context, options);
    Objects objects;
    read_pickle(context, zip.read(*pickle, true).data, host, objects);
    host.build_tensors(objects, [&](std::size_t i) {
        const std::string name = folder + "data/" + host.storages()[i].key;
        const ZipReader::Record* record = zip.find(name);
        if (!record) context.fail("it is damaged: it has no record '" + name + "'");
        return zip.read(*record, !options.mmap);
    });
    return objects;
}

bool is_magic(const Objects& objects) {
    const Object& root = objects[objects.root];
    return root.kind == Kind::BigInt && root.text.substr(0, kMagic.size()) == kMagic;
}

// After the magic number: a version, facts about the machine, the object, the names of its storages, and these.
Objects read_old(const ErrorContext& context, const Bytes& bytes, std::size_t at, const ObjectOptions& options,
                 std::size_t& taken) {
    TorchHost host(context, options);
    const auto next = [&] {
        Objects objects;
        at += read_pickle(context, bytes.data.subspan(at), host, objects);
        return objects;
    };
    const Objects version = next();
    if (version[version.root].kind != Kind::Int || version[version.root].integer != 1001)
        context.fail("it is of an unknown version of torch.save()");
    next();
    Objects objects = next();
    const Objects names = next();
    std::unordered_map<std::string, Bytes> memory;
    for (const Ref ref : names[names.root].items) {
        const Object& name = names[ref];
        const std::string key = name.kind == Kind::Int ? std::to_string(name.integer) : name.text;
        const auto& all = host.storages();
        const auto storage = std::find_if(all.begin(), all.end(), [&](const auto& known) { return known.key == key; });
        if (storage == all.end() || bytes.data.size() - at < 8)
            context.fail("it is damaged: a storage is cut short, or belongs to no tensor");
        const std::uint64_t count = little_endian(bytes.data, at, 8),
                            size = static_cast<std::uint64_t>(storage->count) * size_of(storage->dtype);
        at += 8;
        if (count != static_cast<std::uint64_t>(storage->count) || size > bytes.data.size() - at)
            context.fail("it is damaged: the storage '" + key + "' is cut short");
        memory[key] = {bytes.data.subspan(at, size), bytes.owner};
        at += size;
    }
    host.build_tensors(objects, [&](std::size_t i) { return memory[host.storages()[i].key]; });
    taken = at;
    return objects;
}

Objects read_any(const ErrorContext& context, Bytes bytes, const ObjectOptions& options, std::size_t& taken) {
    taken = bytes.data.size();
    if (bytes.data.empty()) context.fail("it is empty");
    if (is_zip(bytes.data)) return read_zip(context, std::move(bytes), options);
    TorchHost host(context, options);
    Objects objects;
    taken = read_pickle(context, bytes.data, host, objects);
    if (is_magic(objects)) return read_old(context, bytes, taken, options, taken);
    host.build_tensors(objects, [](std::size_t) { return Bytes(); });  // a pickle alone has no storages
    return objects;
}

// ---- writing ---------------------------------------------------------------------------------------------------------

struct Stored {
    std::size_t storage = 0;
    std::int64_t offset = 0;
    Dims strides;
};

// The memory of a file's tensors, and where each lies in it.
class Storages {
public:
    explicit Storages(const Objects& objects) {
        std::vector<Tensor> tensors;  // bases, since a view of computed memory is that memory
        std::vector<std::pair<Ref, Tensor>> bases;
        for (Ref ref = 0; ref < objects.all.size(); ++ref) {
            if (objects[ref].kind != Kind::Tensor) continue;
            bases.emplace_back(ref, base_of(objects[ref].tensor));
            tensors.push_back(bases.back().second);
        }
        realize(tensors);
        std::unordered_map<const void*, std::vector<Ref>> groups;
        std::vector<const void*> order;
        for (const auto& [ref, base] : bases) {
            auto& group = groups[base.cell().get()];
            if (group.empty()) order.push_back(base.cell().get());
            group.push_back(ref);
        }
        for (const void* base : order) place(objects, groups[base]);
    }

    std::vector<Elements> all;
    std::unordered_map<Ref, Stored> stored;

private:
    static std::int64_t extent(const MemoryView& view) {
        if (numel(view.shape) == 0) return 0;
        std::int64_t last = 0;
        for (std::size_t d = 0; d < view.shape.size(); ++d) last += (view.shape[d] - 1) * view.strides[d];
        return last + 1;
    }

    // Tensors that share memory are one storage, from the first of their elements to the last.
    void place(const Objects& objects, const std::vector<Ref>& refs) {
        std::vector<MemoryView> views;
        for (const Ref ref : refs) views.push_back(derived_from_base(objects[ref].tensor).detach().memory());
        const std::size_t item = size_of(views[0].dtype);
        const std::byte *low = nullptr, *high = nullptr;
        bool together = true;
        std::int64_t elements = 0;
        for (const MemoryView& view : views) {
            const auto* first = static_cast<const std::byte*>(view.data);
            const bool forward =
                std::all_of(view.strides.begin(), view.strides.end(), [](std::int64_t stride) { return stride >= 0; });
            together =
                together && view.owner == views[0].owner && view.dtype == views[0].dtype && forward && extent(view) > 0;
            if (!together) break;
            low = low ? std::min(low, first) : first;
            high = std::max(high, first + extent(view) * static_cast<std::int64_t>(item));
            elements = std::max(elements, numel(view.shape));
        }
        if (together && refs.size() == 1)
            together = extent(views[0]) <= elements;  // else a copy without gaps is smaller
        if (!together) {
            for (const Ref ref : refs) {
                stored[ref] = {all.size(), 0, row_major_strides(objects[ref].tensor.shape())};
                all.push_back(elements_of(objects[ref].tensor));
            }
            return;
        }
        for (std::size_t i = 0; i < refs.size(); ++i) {
            const std::int64_t bytes = static_cast<const std::byte*>(views[i].data) - low;
            stored[refs[i]] = {all.size(), bytes / static_cast<std::int64_t>(item), views[i].strides};
        }
        all.push_back({objects[refs[0]].tensor, {low, high}});
        owners_.push_back(views[0].owner);
        if (views[0].device != cpu) {
            const auto copy = std::make_shared<std::vector<std::byte>>(read_memory(views[0], low, high));
            all.back().bytes = *copy;
            owners_.push_back(copy);
        }
    }

    std::vector<std::shared_ptr<const void>> owners_;
};

class TorchWriter : public PickleWriter {
public:
    TorchWriter(const Objects& objects, const Storages& storages, const std::string& call)
        : PickleWriter(objects, call), objects_(objects), storages_(storages) {}

private:
    void tensor(const Object& object) override {
        if (object.parameter) {
            global("torch._utils", "_rebuild_parameter");
            value(object, false);
            boolean(object.tensor.requires_grad());
            empty_ordered_dict();
            op("\x87R");
        } else {
            value(object, object.tensor.requires_grad());
        }
    }
    void value(const Object& object, bool requires_grad) {
        const Stored& place = storages_.stored.at(static_cast<Ref>(&object - objects_.all.data()));
        const TorchType& type = torch_type(object.tensor.dtype());
        const bool bytes = type.storage.empty();
        const std::size_t size = storages_.all[place.storage].bytes.size();
        global("torch._utils", bytes ? "_rebuild_tensor_v3" : "_rebuild_tensor_v2");
        op("((");
        text("storage");
        if (bytes) global("torch.storage", "UntypedStorage");
        else global("torch", std::string(type.storage));
        text(std::to_string(place.storage));
        const Device device = object.tensor.device();
        text(device.type() == "cuda" ? device.name() : "cpu");  // where a reader puts it; PyTorch knows these
        integer(static_cast<std::int64_t>(bytes ? size : size / size_of(type.dtype)));
        op("tQ");
        integer(place.offset);
        const Shape shape = object.tensor.shape();
        tuple({shape.begin(), shape.end()});
        tuple({place.strides.begin(), place.strides.end()});
        boolean(requires_grad);
        empty_ordered_dict();
        if (bytes) global("torch", std::string(type.name));
        op("tR");
    }

    const Objects& objects_;
    const Storages& storages_;
};

// What is computed and what cannot be written raises before the file is made.
class Archive {
public:
    Archive(const Objects& objects, const std::string& call)
        : storages_(objects), pickle_(TorchWriter(objects, storages_, call).write()) {}

    void write(Sink& sink) const {
        ZipWriter zip(sink);
        zip.add("archive/data.pkl", bytes_of(pickle_));
        zip.add("archive/byteorder", bytes_of("little"));
        for (std::size_t i = 0; i < storages_.all.size(); ++i)
            zip.add("archive/data/" + std::to_string(i), storages_.all[i].bytes);
        zip.add("archive/version", bytes_of("3\n"));
        zip.finish();
    }

private:
    Storages storages_;
    std::string pickle_;
};

// ---- names of nested tensors -----------------------------------------------------------------------------------------

class Flattener {
public:
    Flattener(const ErrorContext& context, const Objects& objects) : context_(context), objects_(objects) {}
    NamedTensors run() {
        visit(objects_.root, "", 0);
        return std::move(found_);
    }

private:
    void visit(Ref ref, const std::string& name, int depth) {
        // A file can put one list into another many times over, so that its tensors have more names than memory holds.
        if (depth > kMostNestedObjects || ++visits_ > 10'000'000)
            context_.fail("its dicts and lists are nested too deeply");
        const Object& object = objects_[ref];
        if (object.kind == Kind::Tensor) found_.emplace_back(name, object.tensor);
        if (object.kind == Kind::List || object.kind == Kind::Tuple)
            for (std::size_t i = 0; i < object.items.size(); ++i)
                visit(object.items[i], joined(name, std::to_string(i)), depth + 1);
        if (object.kind == Kind::Dict) members(object.items, name, depth);
        if (object.kind == Kind::Call && object.changes) members(object.changes->members, name, depth);
    }
    void members(const std::vector<Ref>& items, const std::string& name, int depth) {
        for (std::size_t i = 0; i + 1 < items.size(); i += 2) {
            const Object& key = objects_[items[i]];
            if (key.kind == Kind::Text) visit(items[i + 1], joined(name, key.text), depth + 1);
            if (key.kind == Kind::Int) visit(items[i + 1], joined(name, std::to_string(key.integer)), depth + 1);
        }
    }
    static std::string joined(const std::string& name, const std::string& key) {
        return name.empty() ? key : name + "." + key;
    }

    const ErrorContext& context_;
    const Objects& objects_;
    NamedTensors found_;
    std::size_t visits_ = 0;
};

}  // namespace

Objects read_objects(std::span<const std::byte> bytes, std::shared_ptr<void> owner, const ObjectOptions& options,
                     std::size_t* taken) {
    std::size_t count = 0;
    Objects objects = read_any({options.call, options.file}, {bytes, std::move(owner)}, options, count);
    if (taken) *taken = count;
    return objects;
}

Objects read_objects(const fs::path& path, const ObjectOptions& options) {
    const ErrorContext context{options.call, path.string()};
    std::size_t count = 0;
    return read_any(context, map_file(context, path), options, count);
}

void write_objects(const Objects& objects, const fs::path& path, const std::string& call) {
    const Archive archive(objects, call);
    NewFile file({call, path.string()}, path);
    archive.write(file);
    file.commit();
}

std::string objects_as_bytes(const Objects& objects, const std::string& call) {
    MemorySink sink;
    Archive(objects, call).write(sink);
    return std::move(sink.text);
}

NamedTensors load_pt(const fs::path& path, const ReadOptions& options) {
    ObjectOptions given;
    given.call = "load_pt()";
    given.mmap = options.mmap;
    const Objects objects = read_objects(path, given);
    return Flattener({given.call, path.string()}, objects).run();
}

void save_pt(const NamedTensors& tensors, const fs::path& path) {
    Objects objects;
    Object dict{.kind = Kind::Dict};
    std::set<std::string_view> seen;
    for (const auto& [name, tensor] : tensors) {
        if (!tensor.defined()) throw ValueError("save_pt(): the tensor '" + name + "' is undefined");
        if (!seen.insert(name).second) throw ValueError("save_pt(): the name '" + name + "' comes twice");
        dict.items.push_back(objects.add({.kind = Kind::Text, .text = name}));
        dict.items.push_back(objects.add({.kind = Kind::Tensor, .tensor = tensor}));
    }
    objects.root = objects.add(std::move(dict));
    write_objects(objects, path, "save_pt()");
}

}  // namespace weft::io
