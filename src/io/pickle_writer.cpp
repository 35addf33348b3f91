// io/pickle_writer.cpp: writes objects as a pickle of protocol 2, which every Python and PyTorch reads.
#include "io/pickle.h"

#include <bit>

namespace weft::io {
namespace {

constexpr std::size_t kBatch = 1000;  // members that one op sets, as Python writes them

std::string module_then(const std::string& module) {
    if (module == "builtins") return "__builtin__";
    if (module == "copyreg") return "copy_reg";
    return module;
}

std::string utf8_of_latin1(const std::string& bytes) {
    std::string text;
    for (const char c : bytes) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x80) text.push_back(c);
        else text += {static_cast<char>(0xc0 | byte >> 6), static_cast<char>(0x80 | (byte & 63))};
    }
    return text;
}

}  // namespace

std::string PickleWriter::write() {
    out_ = "\x80\x02";
    put(objects_.root, 0);
    out_ += '.';
    return std::move(out_);
}

void PickleWriter::memoize(const std::string& key) {
    const auto index = static_cast<std::uint32_t>(memo_.size());
    memo_.emplace(key, index);
    out_ += index < 256 ? 'q' : 'r';
    append_little_endian(out_, index, index < 256 ? 1 : 4);
}

bool PickleWriter::recalled(const std::string& key) {
    const auto found = memo_.find(key);
    if (found == memo_.end()) return false;
    out_ += found->second < 256 ? 'h' : 'j';
    append_little_endian(out_, found->second, found->second < 256 ? 1 : 4);
    return true;
}

void PickleWriter::global(const std::string& module, const std::string& name) {
    const std::string key = "g" + module + "\n" + name;
    if (recalled(key)) return;
    out_ += "c" + module_then(module) + "\n" + name + "\n";
    memoize(key);
}

void PickleWriter::text(const std::string& value) {
    const std::string key = "t" + value;
    if (recalled(key)) return;
    if (value.size() > 0xffffffff) throw ValueError(call_ + ": a string has more than 4 GB");
    out_ += 'X';
    append_little_endian(out_, value.size(), 4);
    out_ += value;
    memoize(key);
}

void PickleWriter::bytes(const std::string& value) {
    global("_codecs", "encode");
    text(utf8_of_latin1(value));
    text("latin1");
    out_ += "\x86R";
}

void PickleWriter::integer(std::int64_t value) {
    if (value >= 0 && value < 256) {
        out_ += 'K';
        append_little_endian(out_, static_cast<std::uint64_t>(value), 1);
    } else if (value >= 0 && value < 65536) {
        out_ += 'M';
        append_little_endian(out_, static_cast<std::uint64_t>(value), 2);
    } else if (value >= INT32_MIN && value <= INT32_MAX) {
        out_ += 'J';
        append_little_endian(out_, static_cast<std::uint64_t>(value), 4);
    } else {
        std::string digits;
        append_little_endian(digits, static_cast<std::uint64_t>(value), 8);
        big(digits);
    }
}

void PickleWriter::big(const std::string& digits) {
    out_ += digits.size() < 256 ? '\x8a' : '\x8b';
    append_little_endian(out_, digits.size(), digits.size() < 256 ? 1 : 4);
    out_ += digits;
}

void PickleWriter::tuple(const std::vector<std::int64_t>& values) {
    if (values.size() > 3) out_ += '(';
    for (const std::int64_t value : values) integer(value);
    constexpr char kOps[] = {')', '\x85', '\x86', '\x87'};
    out_ += values.size() > 3 ? 't' : kOps[values.size()];
}

void PickleWriter::empty_ordered_dict() {
    global("collections", "OrderedDict");
    out_ += ")R";
}

// The op that ends a batch adds all that is above a mark to the object beneath it. `width`: how many belong together.
void PickleWriter::items(const std::vector<Ref>& refs, char op, int width, int depth) {
    for (std::size_t start = 0; start < refs.size(); start += kBatch * width) {
        out_ += '(';
        for (std::size_t i = start; i < std::min(refs.size(), start + kBatch * width); ++i) put(refs[i], depth);
        out_ += op;
    }
}

void PickleWriter::put_call(const Object& object, Ref ref, int depth) {
    put(object.items[0], depth);
    put(object.items[1], depth);
    if (object.items.size() > 2)
        throw ValueError(call_ + ": an object is made with keywords, which the format does not have");
    out_ += object.makes ? '\x81' : 'R';
    memoize("o" + std::to_string(ref));
    if (!object.changes) return;
    items(object.changes->appended, 'e', 1, depth);
    items(object.changes->members, 'u', 2, depth);
    for (const Ref state : object.changes->states) {
        put(state, depth);
        out_ += 'b';
    }
}

void PickleWriter::put(Ref ref, int depth) {
    if (depth > kMostNestedObjects)
        throw ValueError(call_ + ": objects are nested more than " + std::to_string(kMostNestedObjects) +
                         " deep, or a tuple contains itself");
    if (!recalled("o" + std::to_string(ref))) put_new(ref, depth + 1);
}

void PickleWriter::put_new(Ref ref, int depth) {
    const Object& object = objects_[ref];
    const std::string key = "o" + std::to_string(ref);
    switch (object.kind) {
        case Kind::None: out_ += 'N'; return;
        case Kind::Bool: return boolean(object.integer != 0);
        case Kind::Int: return integer(object.integer);
        case Kind::BigInt: return big(object.text);
        case Kind::Float:
            out_ += 'G';
            for (int shift = 56; shift >= 0; shift -= 8)
                out_ += static_cast<char>(std::bit_cast<std::uint64_t>(object.number) >> shift & 255);
            return;
        case Kind::Text: return text(object.text);
        case Kind::Bytes: return bytes(object.text);
        case Kind::List:
            out_ += ']';
            memoize(key);
            return items(object.items, 'e', 1, depth);
        case Kind::Dict:
            out_ += '}';
            memoize(key);
            return items(object.items, 'u', 2, depth);
        case Kind::Tuple:
            if (object.items.size() > 3) out_ += '(';
            for (const Ref item : object.items) put(item, depth);
            out_ += object.items.size() > 3 ? "t" : std::string(1, ")\x85\x86\x87"[object.items.size()]);
            if (!object.items.empty()) memoize(key);
            return;
        case Kind::Set:
        case Kind::FrozenSet:
            global("builtins", object.kind == Kind::Set ? "set" : "frozenset");
            out_ += ']';
            items(object.items, 'e', 1, depth);
            out_ += "\x85R";
            return memoize(key);
        case Kind::Tensor: tensor(object); return memoize(key);
        case Kind::Global:
            return global(object.text.substr(0, object.text.find('\n')),
                          object.text.substr(object.text.find('\n') + 1));
        case Kind::Call: return put_call(object, ref, depth);
    }
}

}  // namespace weft::io
