// io/torch_host.cpp: the globals of PyTorch's and of Weft's own files, and the tensors that they describe: a storage, which is a piece of memory
// by name, and an offset, sizes and strides into it.
#include "io/json.h"
#include "io/pt.h"
#include "io/storage_view.h"
#include "io/torch_types.h"

#include <weft/creation.h>
#include <weft/movement.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

namespace weft::io {
namespace {

constexpr std::string_view kRebuild2 = "torch._utils._rebuild_tensor_v2", kRebuild3 = "torch._utils._rebuild_tensor_v3",
                           kRebuild1 = "torch._utils._rebuild_tensor", kParameter = "torch._utils._rebuild_parameter",
                           kParameterState = "torch._utils._rebuild_parameter_with_state",
                           kTyped = "torch._tensor._rebuild_from_type_v2", kOwn = "weft._tensor._rebuild",
                           kEncode = "_codecs.encode", kBytes = "builtins.bytes",
                           kUntyped = "torch.storage.UntypedStorage";

// Only this file calls them, or they are only named: as the kind of a tensor, or as what a defaultdict calls for a new key.
constexpr std::string_view kNamed[] = {
    kRebuild1,
    kRebuild2,
    kRebuild3,
    kParameter,
    kParameterState,
    kTyped,
    kEncode,
    kBytes,
    kUntyped,
    "torch.UntypedStorage",
    "torch.Tensor",
    "torch.nn.parameter.Parameter",
    "torch.nn.Parameter",
    "weft.Tensor",
    "weft._weft.Tensor",
    "weft.nn.parameter.Parameter",
    "builtins.list",
    "builtins.dict",
    "builtins.int",
    "builtins.float",
    "builtins.str",
    "builtins.tuple",
    "builtins.bool",
};
// Whoever makes Python objects calls these; they do no harm with any arguments (of bytearray they are checked).
constexpr std::string_view kCallable[] = {
    "collections.OrderedDict",
    "collections.Counter",
    "collections.defaultdict",
    "builtins.set",
    "builtins.frozenset",
    "builtins.bytearray",
    "builtins.complex",
    "builtins.slice",
    "torch.Size",
    "weft._types.Size",
    "torch.device",
    "weft._types.device",
    kOwn,
};

bool in(std::span<const std::string_view> names, std::string_view name) {
    return std::find(names.begin(), names.end(), name) != names.end();
}

std::optional<DType> dtype_named(std::string_view name) {
    for (const std::string_view prefix : {"torch.", "weft._weft.", "weft."})
        if (name.starts_with(prefix))
            for (const TorchType& type : kTorchTypes)
                if (name.substr(prefix.size()) == type.name) return type.dtype;
    return {};
}

std::optional<DType> dtype_of_storage(std::string_view name) {
    for (const std::string_view prefix : {"torch.cuda.", "torch."})
        if (name.starts_with(prefix))
            for (const TorchType& type : kTorchTypes)
                if (!type.storage.empty() && name.substr(prefix.size()) == type.storage) return type.dtype;
    return {};
}

bool is_text(const Object& object, std::string_view text) { return object.kind == Kind::Text && object.text == text; }

}  // namespace

bool TorchHost::allowed(const std::string& name) {
    return in(kNamed, name) || in(kCallable, name) || dtype_named(name) || dtype_of_storage(name) ||
           (options_.allowed && options_.allowed(name));
}

void TorchHost::refuse_call(const std::string& name) const {
    throw IoError(context_.call + ": the file calls " + one_line(name) +
                  " in a way that save() never writes; pass weights_only=False if you trust it");
}

Ref TorchHost::persistent(Objects& objects, Ref id) {
    const Object& found = objects[id];
    if (found.kind != Kind::Tuple || found.items.size() < 5 || !is_text(objects[found.items[0]], "storage"))
        damaged("a reference is no storage");
    const Object &kind = objects[found.items[1]], &key = objects[found.items[2]], &count = objects[found.items[4]];
    if (found.items.size() > 5 && objects[found.items[5]].kind != Kind::None)
        damaged("a storage is a view of another one, which is not read");
    const std::string name = kind.kind == Kind::Global ? global_name(kind) : "";
    Storage storage;
    storage.bytes = name == kUntyped || name == "torch.UntypedStorage";
    const std::optional<DType> dtype = storage.bytes ? u8 : dtype_of_storage(name);
    if (!dtype || (key.kind != Kind::Text && key.kind != Kind::Int) || count.kind != Kind::Int || count.integer < 0 ||
        count.integer > INT64_MAX / 8)
        damaged("a storage has no type, name or size");
    if (objects[found.items[3]].kind == Kind::Text) storage.location = objects[found.items[3]].text;
    storage.key = key.kind == Kind::Int ? std::to_string(key.integer) : key.text;
    storage.dtype = *dtype;
    storage.count = count.integer;
    const auto [known, added] = by_key_.emplace(storage.key, storages_.size());
    if (added) storages_.push_back(storage);
    const Storage& first = storages_[known->second];
    if (first.dtype != storage.dtype || first.count != storage.count)
        damaged("the storage '" + storage.key + "' has two sizes or types");
    const Ref ref = objects.add({});
    storage_at_.emplace(ref, known->second);
    return ref;
}

std::optional<Ref> TorchHost::call(Objects& objects, const std::string& name, const std::vector<Ref>& arguments) {
    if (name == kRebuild1 || name == kRebuild2) return tensor(objects, arguments, false);
    if (name == kRebuild3) return tensor(objects, arguments, true);
    if (name == kParameter || name == kParameterState) return parameter(objects, arguments);
    if (name == kTyped) return typed_tensor(objects, arguments);
    if (name == kOwn) return own_tensor(objects, arguments);
    if (name == kEncode || name == kBytes) return encoded_bytes(objects, arguments);
    if (name == "builtins.bytearray") {  // of a number it would take as much memory as the file likes
        const auto text_like = [&](Ref ref) {
            return objects[ref].kind == Kind::Text || objects[ref].kind == Kind::Bytes;
        };
        if (!std::all_of(arguments.begin(), arguments.end(), text_like)) refuse_call(name);
    }
    if (in(kNamed, name) || dtype_named(name) || dtype_of_storage(name))
        if (!options_.allowed || !options_.allowed(name)) refuse_call(name);
    return {};
}

DType TorchHost::element_type(const Object& object) const {
    if (object.kind == Kind::Global)
        if (const std::optional<DType> named = dtype_named(global_name(object))) return *named;
    damaged("a tensor has no element type");
}

Dims TorchHost::sizes(const Objects& objects, Ref ref) const {
    const Object* object = &objects[ref];
    if (object->kind == Kind::Call && object->items.size() == 2) {  // torch.Size((2, 3))
        const Object& arguments = objects[object->items[1]];
        if (arguments.items.size() == 1) object = &objects[arguments.items[0]];
    }
    if (object->kind != Kind::Tuple && object->kind != Kind::List) damaged("the sizes of a tensor are no tuple");
    Dims result;
    for (const Ref item : object->items) {
        if (objects[item].kind != Kind::Int || objects[item].integer < 0)
            damaged("a size of a tensor is no number from 0 on");
        result.push_back(objects[item].integer);
    }
    return result;
}

Ref TorchHost::tensor(Objects& objects, const std::vector<Ref>& arguments, bool typed) {
    if (arguments.size() < (typed ? 7 : 4)) damaged("a tensor is described by too few values");
    const auto storage = storage_at_.find(arguments[0]);
    const Object& offset = objects[arguments[1]];
    if (storage == storage_at_.end() || offset.kind != Kind::Int || offset.integer < 0)
        damaged("a tensor has no storage or offset");
    const Storage& memory = storages_[storage->second];
    Pending tensor{0,
                   storage->second,
                   memory.dtype,
                   Shape(sizes(objects, arguments[2])),
                   sizes(objects, arguments[3]),
                   offset.integer,
                   false};
    if (arguments.size() > 4)
        tensor.requires_grad = objects[arguments[4]].kind == Kind::Bool && objects[arguments[4]].integer != 0;
    if (typed) {
        tensor.dtype = element_type(objects[arguments[6]]);
    } else if (memory.bytes) {
        tensor.dtype = u8;
    }
    const std::optional<std::int64_t> count = checked_count(tensor.shape);
    if (!count || tensor.strides.size() != tensor.shape.size()) damaged("a tensor has a shape that cannot be");
    if (memory.dtype != tensor.dtype && !memory.bytes) damaged("a tensor has another element type than its storage");
    const std::int64_t item = memory.bytes ? static_cast<std::int64_t>(size_of(tensor.dtype)) : 1;
    std::int64_t last = tensor.offset;
    for (std::size_t d = 0; d < tensor.shape.size() && *count > 0; ++d) {
        std::int64_t step = 0;
        if (__builtin_mul_overflow(tensor.shape[d] - 1, tensor.strides[d], &step) ||
            __builtin_add_overflow(last, step, &last))
            damaged("a tensor reaches beyond its storage");
    }
    if (*count > 0 && last >= memory.count / item) damaged("a tensor reaches beyond its storage");
    tensor.object = objects.add({.kind = Kind::Tensor});
    pending_.push_back(std::move(tensor));
    return pending_.back().object;
}

Ref TorchHost::parameter(Objects& objects, const std::vector<Ref>& arguments) {
    if (arguments.size() < 2 || objects[arguments[0]].kind != Kind::Tensor) damaged("a parameter has no tensor");
    const bool requires_grad = objects[arguments[1]].kind == Kind::Bool && objects[arguments[1]].integer != 0;
    objects[arguments[0]].parameter = true;  // nobody else refers to the tensor inside
    for (Pending& tensor : pending_)
        if (tensor.object == arguments[0]) tensor.requires_grad = requires_grad;
    return arguments[0];
}

// (function, class, arguments, attributes): a tensor with attributes of the program. Its value is read.
std::optional<Ref> TorchHost::typed_tensor(Objects& objects, const std::vector<Ref>& arguments) {
    if (arguments.size() < 3 || objects[arguments[0]].kind != Kind::Global || objects[arguments[2]].kind != Kind::Tuple)
        damaged("a tensor has no function to build it");
    const std::string function = global_name(objects[arguments[0]]);
    const std::vector<Ref> inner = objects[arguments[2]].items;
    if (function == kRebuild2 || function == kRebuild3) return tensor(objects, inner, function == kRebuild3);
    refuse_call(function);
    return {};
}

// Of Weft's own pickles: (bytes, element type, requires_grad, class, shape), and a GPU that it was on.
std::optional<Ref> TorchHost::own_tensor(Objects& objects, const std::vector<Ref>& arguments) {
    if (arguments.size() != 5 && arguments.size() != 6) damaged("a tensor is described by too few values");
    const Object &bytes = objects[arguments[0]], &grad = objects[arguments[2]], &kind = objects[arguments[3]];
    const DType dtype = element_type(objects[arguments[1]]);
    const Shape shape(sizes(objects, arguments[4]));
    const std::optional<std::int64_t> count = checked_count(shape);
    if (bytes.kind != Kind::Bytes || kind.kind != Kind::Global || !count ||
        bytes.text.size() != static_cast<std::uint64_t>(*count) * size_of(dtype))
        damaged("a tensor's bytes are not what its type and shape take");
    const std::string name = global_name(kind);
    const bool parameter = name == "weft.nn.parameter.Parameter";
    if (!parameter && name != "weft.Tensor" && name != "weft._weft.Tensor")
        return {};  // a class of the program: it is called
    Object object{.kind = Kind::Tensor, .parameter = parameter};
    if (arguments.size() == 6) object.text = objects[arguments[5]].text;
    const Bytes copy = held({bytes_of(bytes.text), nullptr});
    object.tensor = tensor_over(copy.data.data(), shape, dtype, copy.owner);
    if (grad.integer != 0 && is_float(dtype)) object.tensor.set_requires_grad();
    return objects.add(std::move(object));
}

// encode(text, "latin1") and bytes(): how protocol 2 writes bytes.
std::optional<Ref> TorchHost::encoded_bytes(Objects& objects, const std::vector<Ref>& arguments) {
    if (arguments.empty()) return objects.add({.kind = Kind::Bytes});
    if (arguments.size() != 2 || objects[arguments[0]].kind != Kind::Text ||
        !(is_text(objects[arguments[1]], "latin1") || is_text(objects[arguments[1]], "latin-1")))
        refuse_call(std::string(kEncode));
    const std::string& text = objects[arguments[0]].text;
    std::string bytes;
    for (std::size_t i = 0; i < text.size(); ++i) {
        const auto first = static_cast<unsigned char>(text[i]);
        if (first < 0x80) bytes.push_back(text[i]);
        else if (first < 0xc4) bytes.push_back(static_cast<char>(first << 6 | (text[++i] & 63)));  // it is valid UTF-8
        else damaged("bytes have a character above 255");
    }
    return objects.add({.kind = Kind::Bytes, .text = std::move(bytes)});
}

Bytes TorchHost::held(const Bytes& bytes) const {
    if (bytes.owner && options_.mmap) return bytes;
    const std::size_t size = (bytes.data.size() + 63) / 64 * 64;
    void* memory = std::aligned_alloc(64, std::max<std::size_t>(size, 64));
    if (!memory)
        throw MemoryError(context_.call + ": there is not enough memory for " + std::to_string(size) + " bytes");
    std::shared_ptr<void> owner(memory, std::free);
    if (!bytes.data.empty()) std::memcpy(memory, bytes.data.data(), bytes.data.size());
    return {{static_cast<const std::byte*>(memory), bytes.data.size()}, std::move(owner)};
}

// A tensor alone takes the part of the storage that it shows. Several are views of one tensor: a write to one is seen by the others.
void TorchHost::build_storage(Objects& objects, const Bytes& bytes, const std::vector<const Pending*>& users) {
    const DType dtype = users[0]->dtype;
    const std::size_t item = size_of(dtype);
    const bool shared = users.size() > 1 && std::all_of(users.begin(), users.end(),
                                                        [&](const Pending* user) { return user->dtype == dtype; });
    Tensor base;
    if (shared) {
        const Bytes whole = held(bytes);
        base =
            tensor_over(whole.data.data(), {static_cast<std::int64_t>(bytes.data.size() / item)}, dtype, whole.owner);
    }
    for (const Pending* user : users) {
        Object& object = objects[user->object];
        if (shared) {
            object.tensor = storage_view(base, user->shape, user->strides, user->offset);
        } else if (numel(user->shape) == 0) {
            object.tensor = zeros(user->shape, user->dtype);
        } else {
            std::int64_t last = 0;
            for (std::size_t d = 0; d < user->shape.size(); ++d) last += (user->shape[d] - 1) * user->strides[d];
            const std::size_t width = size_of(user->dtype);
            const Bytes part = held({bytes.data.subspan(user->offset * width, (last + 1) * width), bytes.owner});
            object.tensor = tensor_over(part.data.data(), user->shape, user->strides, user->dtype, part.owner);
        }
        if (user->requires_grad) object.tensor.set_requires_grad();
        object.text = storages_[user->storage].location;
    }
}

void TorchHost::build_tensors(Objects& objects, const std::function<Bytes(std::size_t)>& memory) {
    std::vector<std::vector<const Pending*>> users(storages_.size());
    for (const Pending& tensor : pending_) users[tensor.storage].push_back(&tensor);
    for (std::size_t i = 0; i < storages_.size(); ++i) {
        if (users[i].empty()) context_.fail("it holds a storage that is no part of a tensor, which is not read");
        const Bytes bytes = memory(i);
        const std::uint64_t wanted = static_cast<std::uint64_t>(storages_[i].count) * size_of(storages_[i].dtype);
        if (bytes.data.size() != wanted)
            damaged("the storage '" + storages_[i].key + "' has " + std::to_string(bytes.data.size()) + " bytes, not " +
                    std::to_string(wanted));
        build_storage(objects, bytes, users[i]);
    }
}

}  // namespace weft::io
