// io/json.h: reads JSON (RFC 8259) from front to back, without building a tree: the caller says what it expects where. So a file costs
// no more memory than what is kept of it, however it is nested.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <stdexcept>
#include <string>
#include <string_view>

namespace weft::io {

// What is wrong with the text. The caller catches it, and puts the file's name in front.
struct JsonError : std::runtime_error {
    using std::runtime_error::runtime_error;
};

class JsonReader {
public:
    explicit JsonReader(std::string_view text) : text_(text) {}

    // Each member of an object, each element of a list. The function reads its value. Members of one name may come twice here.
    void object(const std::function<void(std::string name)>& member);
    void list(const std::function<void()>& element);
    std::string string();    // valid UTF-8
    std::uint64_t number();  // an integer from 0 on, as sizes and offsets are
    void skip();             // any value, nested up to kMostNested deep
    void end();              // nothing but white space is left

    static constexpr int kMostNested = 32;

private:
    [[noreturn]] void fail(const std::string& what) const;
    void skip(int depth);
    void skip_space();
    char next();              // behind white space, not yet taken; 0 at the end
    void take(char wanted);   // it must be there
    bool taken(char wanted);  // whether it was there
    unsigned hex4();
    void escape(std::string& result);
    void word();

    std::string_view text_;
    std::size_t at_ = 0;
};

bool is_utf8(std::string_view text);
std::string json_text(std::string_view text);  // as a JSON string

}  // namespace weft::io
