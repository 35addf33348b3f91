// inspect/json.cpp: JSON as text. What is not UTF-8 in a string (a source file in another encoding) is written as U+FFFD.
#include "inspect/json.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>

namespace weft::inspect {
namespace {

// Bytes of the character at the front, 0 if there is no valid one.
std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) { return i < text.size() ? static_cast<unsigned char>(text[i]) : 0u; };
    const auto follows = [&](std::size_t i) { return (byte(i) & 0xc0) == 0x80; };
    if (byte(0) < 0x80) return 1;
    if (byte(0) >= 0xc2 && byte(0) < 0xe0) return follows(1) ? 2 : 0;
    if (byte(0) >= 0xe0 && byte(0) < 0xf0) {
        const bool overlong = byte(0) == 0xe0 && byte(1) < 0xa0, surrogate = byte(0) == 0xed && byte(1) >= 0xa0;
        return follows(1) && follows(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (byte(0) >= 0xf0 && byte(0) < 0xf5) {
        const bool overlong = byte(0) == 0xf0 && byte(1) < 0x90, beyond = byte(0) == 0xf4 && byte(1) >= 0x90;
        return follows(1) && follows(2) && follows(3) && !overlong && !beyond ? 4 : 0;
    }
    return 0;
}

void write_string(std::string_view text, std::string& out) {
    out += '"';
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const char c = text[0];
        if (length == 0) out += "\xef\xbf\xbd";
        else if (length > 1) out += text.substr(0, length);
        else if (c == '"' || c == '\\') out += {'\\', c};
        else if (c == '\n') out += "\\n";
        else if (c == '\t') out += "\\t";
        else if (static_cast<unsigned char>(c) < 0x20 || c == '<') {  // "<": the text may stand inside a page
            char code[8];
            std::snprintf(code, sizeof code, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(c)));
            out += code;
        } else out += c;
        text.remove_prefix(std::max<std::size_t>(length, 1));
    }
    out += '"';
}

}  // namespace

Json& Json::operator[](std::string_view name) {
    Object& members = std::get<Object>(value_);
    const auto found =
        std::find_if(members.begin(), members.end(), [&](const auto& member) { return member.first == name; });
    return found != members.end() ? found->second : members.emplace_back(std::string(name), Json()).second;
}

bool Json::has(std::string_view name) const {
    const Object& members = std::get<Object>(value_);
    return std::any_of(members.begin(), members.end(), [&](const auto& member) { return member.first == name; });
}

bool Json::contains(std::int64_t number) const {
    const Array& elements = std::get<Array>(value_);
    return std::any_of(elements.begin(), elements.end(), [&](const Json& element) {
        const auto* own = std::get_if<std::int64_t>(&element.value_);
        return own && *own == number;
    });
}

std::string Json::dump() const {
    std::string out;
    write(out);
    return out;
}

void Json::write(std::string& out) const {
    if (const auto* integer = std::get_if<std::int64_t>(&value_)) {
        out += std::to_string(*integer);
    } else if (const auto* number = std::get_if<double>(&value_)) {
        std::array<char, 32> text;
        const auto end = std::to_chars(text.data(), text.data() + text.size(), std::isfinite(*number) ? *number : 0.0);
        out.append(text.data(), end.ptr);
    } else if (const auto* string = std::get_if<std::string>(&value_)) {
        write_string(*string, out);
    } else if (const auto* elements = std::get_if<Array>(&value_)) {
        out += '[';
        for (std::size_t i = 0; i < elements->size(); ++i) {
            if (i > 0) out += ',';
            (*elements)[i].write(out);
        }
        out += ']';
    } else {
        const auto& members = std::get<Object>(value_);
        out += '{';
        for (std::size_t i = 0; i < members.size(); ++i) {
            if (i > 0) out += ',';
            write_string(members[i].first, out);
            out += ':';
            members[i].second.write(out);
        }
        out += '}';
    }
}

}  // namespace weft::inspect
