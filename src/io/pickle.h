// io/pickle.h: Python's pickle format, without Python: a program for a small machine with a stack, whose results are plain data here. A global
// is only named, a call only noted.
#pragma once

#include "io/file.h"

#include <weft/io/objects.h>

#include <optional>
#include <unordered_map>

namespace weft::io {

// What the machine asks of the format around it.
class PickleHost {
public:
    virtual ~PickleHost() = default;
    virtual bool allowed(const std::string& name) = 0;  // whether a file may name this global
    virtual Ref persistent(Objects& objects, Ref id) = 0;
    // A call that is plain data: its object. None: it stays a call.
    virtual std::optional<Ref> call(Objects& objects, const std::string& name, const std::vector<Ref>& arguments) = 0;
};

// One pickle at the start of `bytes`; returns the number of bytes that it took.
std::size_t read_pickle(const ErrorContext& context, std::span<const std::byte> bytes, PickleHost& host,
                        Objects& objects);

// Protocol 2, with the ops that torch.load(weights_only=True) knows. `tensor` writes a tensor's own ops into the text.
class PickleWriter {
public:
    PickleWriter(const Objects& objects, std::string call) : objects_(objects), call_(std::move(call)) {}
    virtual ~PickleWriter() = default;
    std::string write();

protected:
    virtual void tensor(const Object& object) = 0;
    void put(Ref ref, int depth);
    void global(const std::string& module, const std::string& name);
    void text(const std::string& value);
    void integer(std::int64_t value);
    void tuple(const std::vector<std::int64_t>& values);
    void boolean(bool value) { out_ += value ? '\x88' : '\x89'; }
    void op(char code) { out_ += code; }
    void op(const std::string& code) { out_ += code; }
    void empty_ordered_dict();

private:
    void memoize(const std::string& key);
    bool recalled(const std::string& key);
    void put_new(Ref ref, int depth);
    void put_call(const Object& object, Ref ref, int depth);
    void items(const std::vector<Ref>& refs, char op, int width, int depth);
    void bytes(const std::string& value);
    void big(const std::string& digits);

    const Objects& objects_;
    std::string call_, out_;
    std::unordered_map<std::string, std::uint32_t> memo_;  // of objects, texts and globals, by a key of their own
};

inline constexpr int kMostNestedObjects = 900;  // Python's own limit is about as deep

}  // namespace weft::io
