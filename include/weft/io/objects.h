// weft/io/objects.h: all that a .pt file holds, as plain data: tensors, numbers, text, containers, and the calls of a program's own classes
// and functions that it asks for, which nobody has made yet. Python's load() and save() are made of these.
#pragma once

#include <weft/api.h>
#include <weft/io.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace WEFT_API weft {
namespace io {

using Ref =
    std::uint32_t;  // an object's place in Objects; one object may be at several places of others, also of itself

enum class Kind : std::uint8_t {
    None,
    Bool,
    Int,
    BigInt,
    Float,
    Text,
    Bytes,
    List,
    Tuple,
    Dict,
    Set,
    FrozenSet,
    Tensor,
    Global,
    Call
};

// What is done to the result of a call, in this order.
struct Changes {
    std::vector<Ref> appended;  // to a list or a set
    std::vector<Ref> members;   // of a dict: key, value, key, value …
    std::vector<Ref> states;    // handed to __setstate__, or the attributes
};

struct Object {
    Kind kind = Kind::None;
    bool parameter = false;    // Tensor: an nn.Parameter
    bool makes = false;        // Call: of the class's __new__
    std::int64_t integer = 0;  // Bool, Int
    double number = 0;         // Float
    std::string
        text;  // Text, Bytes; BigInt: two's complement, lowest byte first; Global: the module, a line feed, the name
    std::vector<Ref>
        items;  // List, Tuple, Set: elements; Dict: key, value, key, value …; Call: what is called, a tuple, and for some a dict
    weft::Tensor tensor;
    std::unique_ptr<Changes> changes;  // Call; null: none

    Changes& change() {
        if (!changes) changes = std::make_unique<Changes>();
        return *changes;
    }
};

std::string global_name(const Object& global);  // "collections.OrderedDict"

struct Objects {
    std::vector<Object> all;
    Ref root = 0;

    Ref add(Object object);
    Object& operator[](Ref ref) { return all[ref]; }
    const Object& operator[](Ref ref) const { return all[ref]; }
};

struct ObjectOptions {
    std::string call = "load()";    // opens messages
    std::string file = "the file";  // in messages
    bool mmap = false;              // see ReadOptions
    std::function<bool(const std::string& name)>
        allowed;  // whether a global beyond containers and tensors may be named; null: none
};

// Reads a .pt file of PyTorch (a zip archive, or the older format) or a pickle of Weft. `owner` keeps `bytes` alive. Raises IoError.
// `taken` gets the number of bytes that belonged to it.
Objects read_objects(std::span<const std::byte> bytes, std::shared_ptr<void> owner, const ObjectOptions& options,
                     std::size_t* taken = nullptr);
Objects read_objects(const std::filesystem::path& path, const ObjectOptions& options);

// As a zip archive that torch.load() opens. Tensors that share memory share it in the file.
void write_objects(const Objects& objects, const std::filesystem::path& path, const std::string& call = "save()");
std::string objects_as_bytes(const Objects& objects, const std::string& call = "save()");

}  // namespace io
}  // namespace weft
