// io/json.cpp: the JSON reader.
#include "io/json.h"

namespace weft::io {
namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }

void append_utf8(std::string& text, unsigned code) {
    const auto tail = [&](int shift) { text.push_back(static_cast<char>(0x80 | (code >> shift & 63))); };
    if (code < 0x80) {
        text.push_back(static_cast<char>(code));
    } else if (code < 0x800) {
        text.push_back(static_cast<char>(0xc0 | code >> 6));
        tail(0);
    } else if (code < 0x10000) {
        text.push_back(static_cast<char>(0xe0 | code >> 12));
        tail(6), tail(0);
    } else {
        text.push_back(static_cast<char>(0xf0 | code >> 18));
        tail(12), tail(6), tail(0);
    }
}

}  // namespace

bool is_utf8(std::string_view text) {
    for (std::size_t i = 0; i < text.size();) {
        const auto first = static_cast<unsigned char>(text[i]);
        const int length = first < 0x80 ? 1 : first >> 5 == 6 ? 2 : first >> 4 == 14 ? 3 : first >> 3 == 30 ? 4 : 0;
        if (length == 0 || i + length > text.size()) return false;
        unsigned code = length == 1 ? first : first & (0x7f >> length);
        for (int k = 1; k < length; ++k) {
            const auto byte = static_cast<unsigned char>(text[i + k]);
            if (byte >> 6 != 2) return false;
            code = code << 6 | (byte & 63);
        }
        constexpr unsigned kLeast[] = {0, 0, 0x80, 0x800, 0x10000};  // a longer form than needed is no UTF-8
        if (code < kLeast[length] || code > 0x10ffff || (code >= 0xd800 && code < 0xe000)) return false;
        i += length;
    }
    return true;
}

std::string json_text(std::string_view text) {
    constexpr char kHex[] = "0123456789abcdef";
    std::string result = "\"";
    for (const char c : text) {
        const auto byte = static_cast<unsigned char>(c);
        if (c == '"' || c == '\\') {
            result += {'\\', c};
        } else if (byte < 0x20) {
            result += {'\\', 'u', '0', '0', kHex[byte >> 4], kHex[byte & 15]};
        } else {
            result += c;
        }
    }
    return result + '"';
}

void JsonReader::fail(const std::string& what) const { throw JsonError(what + " at byte " + std::to_string(at_)); }

void JsonReader::skip_space() {
    while (at_ < text_.size() && (text_[at_] == ' ' || text_[at_] == '\n' || text_[at_] == '\t' || text_[at_] == '\r'))
        ++at_;
}

char JsonReader::next() {
    skip_space();
    return at_ < text_.size() ? text_[at_] : 0;
}

bool JsonReader::taken(char wanted) {
    if (next() != wanted || at_ == text_.size()) return false;
    ++at_;
    return true;
}

void JsonReader::take(char wanted) {
    if (!taken(wanted)) fail(std::string("'") + wanted + "' is missing");
}

void JsonReader::object(const std::function<void(std::string)>& member) {
    take('{');
    if (taken('}')) return;
    do {
        std::string name = string();
        take(':');
        member(std::move(name));
    } while (taken(','));
    take('}');
}

void JsonReader::list(const std::function<void()>& element) {
    take('[');
    if (taken(']')) return;
    do element();
    while (taken(','));
    take(']');
}

std::string JsonReader::string() {
    take('"');
    std::string result;
    for (;;) {
        if (at_ == text_.size()) fail("a string has no end");
        const char c = text_[at_++];
        if (c == '"') break;
        if (static_cast<unsigned char>(c) < 0x20) fail("a string has a control character");
        if (c == '\\') escape(result);
        else result.push_back(c);
    }
    if (!is_utf8(result)) fail("a string is not valid UTF-8");
    return result;
}

unsigned JsonReader::hex4() {
    unsigned value = 0;
    for (int i = 0; i < 4; ++i, ++at_) {
        const char c = at_ < text_.size() ? text_[at_] : 0;
        if (is_digit(c)) value = value << 4 | static_cast<unsigned>(c - '0');
        else if ((c | 32) >= 'a' && (c | 32) <= 'f') value = value << 4 | static_cast<unsigned>((c | 32) - 'a' + 10);
        else fail("an escape \\u needs four hexadecimal digits");
    }
    return value;
}

void JsonReader::escape(std::string& result) {
    const char c = at_ < text_.size() ? text_[at_++] : 0;
    constexpr std::string_view kNames = "\"\\/bfnrt", kValues = "\"\\/\b\f\n\r\t";
    if (const auto found = kNames.find(c); c != 0 && found != kNames.npos) {
        result.push_back(kValues[found]);
        return;
    }
    if (c != 'u') fail("a string has an unknown escape");
    unsigned code = hex4();
    if (code >= 0xd800 && code < 0xdc00 && text_.substr(at_, 2) == "\\u") {  // a pair of surrogates is one character
        at_ += 2;
        const unsigned low = hex4();
        if (low < 0xdc00 || low >= 0xe000) fail("a string has half a surrogate pair");
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    }
    if (code >= 0xd800 && code < 0xe000) fail("a string has half a surrogate pair");
    append_utf8(result, code);
}

std::uint64_t JsonReader::number() {
    const char first = next();
    if (!is_digit(first)) fail("an integer from 0 on is expected");
    std::uint64_t value = 0;
    const std::size_t start = at_;
    for (; at_ < text_.size() && is_digit(text_[at_]); ++at_)
        if (__builtin_mul_overflow(value, std::uint64_t{10}, &value) ||
            __builtin_add_overflow(value, static_cast<std::uint64_t>(text_[at_] - '0'), &value))
            fail("an integer does not fit 64 bits");
    if (first == '0' && at_ - start > 1) fail("an integer starts with 0");
    if (at_ < text_.size() && (text_[at_] == '.' || (text_[at_] | 32) == 'e'))
        fail("an integer is expected, not a fraction");
    return value;
}

void JsonReader::word() {  // true, false, null, or a number of any kind
    const std::size_t start = at_;
    while (at_ < text_.size() && (is_digit(text_[at_]) || ((text_[at_] | 32) >= 'a' && (text_[at_] | 32) <= 'z') ||
                                  text_[at_] == '-' || text_[at_] == '+' || text_[at_] == '.'))
        ++at_;
    const std::string_view found = text_.substr(start, at_ - start);
    if (found == "true" || found == "false" || found == "null") return;
    const std::size_t digits = found.starts_with('-') ? 1 : 0;
    if (found.size() == digits || !is_digit(found[digits]) ||
        found.find_first_not_of("0123456789+-.eE") != found.npos) {
        at_ = start;
        fail("a value is expected");
    }
}

void JsonReader::skip(int depth) {
    if (depth > kMostNested) fail("values are nested more than " + std::to_string(kMostNested) + " deep");
    switch (next()) {
        case '{': return object([&](const std::string&) { skip(depth + 1); });
        case '[': return list([&] { skip(depth + 1); });
        case '"': string(); return;
        default: return word();
    }
}

void JsonReader::skip() { skip(0); }

void JsonReader::end() {
    skip_space();
    if (at_ != text_.size()) fail("text goes on after the last value");
}

}  // namespace weft::io
