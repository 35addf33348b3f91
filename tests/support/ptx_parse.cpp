// tests/support/ptx_parse.cpp: one token after the other; there is no backtracking.
#include "support/ptx_parse.h"

#include "core/str.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <optional>
#include <stdexcept>

namespace weft::testing::ptx {
namespace {

bool is_name(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$' || c == '%'; }
bool is_digit(char c) { return c >= '0' && c <= '9'; }

class Parser {
public:
    explicit Parser(std::string_view text) : text_(text) {}

    ParsedModule run() {
        ParsedModule module;
        while (skip(), at_ < text_.size()) {
            const std::string_view word = directive();
            if (word == "version" || word == "target" || word == "address_size") to_end_of_line();
            else if (word == "visible" || word == "extern" || word == "weak") linkage_extern_ = word == "extern";
            else if (word == "entry") module.entries.push_back(entry());
            else if (const auto space = variable_space(word)) module.variables.push_back(variable(*space));
            else fail(str("the directive .", word, " is not known"));
        }
        return module;
    }

private:
    // ---- characters and tokens ---------------------------------------------------------------------------------------

    [[noreturn]] void fail(const std::string& what) const {
        const auto line = std::count(text_.begin(), text_.begin() + static_cast<std::ptrdiff_t>(at_), '\n') + 1;
        throw std::runtime_error(str("PTX, line ", line, ": ", what));
    }

    void skip() {  // blanks and comments
        for (;;) {
            while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
            if (text_.substr(at_, 2) == "//") to_end_of_line();
            else if (text_.substr(at_, 2) == "/*") at_ = text_.find("*/", at_) + 2;
            else return;
        }
    }
    void to_end_of_line() { at_ = std::min(text_.find('\n', at_), text_.size()); }

    char peek() {
        skip();
        return at_ < text_.size() ? text_[at_] : '\0';
    }
    bool take(char c) {
        if (peek() != c) return false;
        ++at_;
        return true;
    }
    void expect(char c) {
        if (!take(c)) fail(str("'", c, "' is missing"));
    }

    std::string_view word() {
        skip();
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_name(text_[at_])) ++at_;
        if (at_ == begin) fail("a name is missing");
        return text_.substr(begin, at_ - begin);
    }
    std::string_view directive() {
        expect('.');
        return word();
    }

    // Integers, and floats by their bits: 0f3F800000.
    Operand number() {
        const bool minus = take('-');
        std::string_view digits = word();
        Operand result{.kind = Operand::Integer};
        int base = 10;
        if (digits.starts_with("0f") || digits.starts_with("0F")) result.kind = Operand::Single, base = 16;
        else if (digits.starts_with("0d") || digits.starts_with("0D")) result.kind = Operand::Double, base = 16;
        else if (digits.starts_with("0x")) base = 16;
        if (base == 16) digits.remove_prefix(2);
        if (digits.ends_with('U')) digits.remove_suffix(1);
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), result.bits, base);
        if (error != std::errc() || end != digits.data() + digits.size()) fail(str(digits, " is no number"));
        if (minus) result.bits = -result.bits;
        return result;
    }
    std::size_t size() { return number().bits; }

    // ---- declarations ------------------------------------------------------------------------------------------------

    static std::optional<Space> variable_space(std::string_view word) {
        if (word == "global" || word == "const") return Space::Global;
        if (word == "shared") return Space::Shared;
        if (word == "local") return Space::Local;
        return std::nullopt;
    }

    Type declared_type(std::size_t& align) {
        align = 0;
        std::string_view name = directive();
        if (name == "align") {
            align = size();
            name = directive();
        }
        if (!is_type(name)) fail(str(name, " is no type"));
        const Type type = type_of(name);
        if (align == 0) align = static_cast<std::size_t>(type.bits + 7) / 8;
        return type;
    }

    // .align 16 .b8 name[100] = {1, 2};
    Variable variable(Space space) {
        Variable result{.space = space, .is_extern = linkage_extern_};
        linkage_extern_ = false;
        const Type type = declared_type(result.align);
        const std::size_t each = static_cast<std::size_t>(type.bits) / 8;
        result.name = word();
        std::size_t count = 1;
        while (take('[')) {
            count *= peek() == ']' ? 0 : size();
            expect(']');
        }
        result.bytes = count * each;
        if (take('=')) {
            expect('{');
            do {
                const std::uint64_t bits = number().bits;
                const auto* const from = reinterpret_cast<const std::byte*>(&bits);
                result.value.insert(result.value.end(), from, from + each);
            } while (take(','));
            expect('}');
            result.value.resize(result.bytes);
        }
        expect(';');
        return result;
    }

    // .b32 %a, %r<10>;
    void registers(ParsedEntry& entry) {
        std::size_t align;
        const Type type = declared_type(align);
        do {
            const std::string_view name = word();
            if (!take('<')) {
                entry.registers.push_back({std::string(name), type});
                continue;
            }
            const std::size_t count = size();
            for (std::size_t i = 0; i < count; ++i) entry.registers.push_back({str(name, i), type});
            expect('>');
        } while (take(','));
        expect(';');
    }

    ParsedEntry entry() {
        ParsedEntry result;
        result.name = word();
        if (take('(')) {
            while (peek() != ')') {
                if (directive() != "param") fail("a parameter begins with .param");
                std::size_t align;
                const Type type = declared_type(align);
                Parameter parameter{.name = word(), .bytes = static_cast<std::size_t>(type.bits) / 8};
                if (take('[')) {
                    parameter.bytes *= size();
                    expect(']');
                }
                parameter.offset = (result.parameter_bytes + align - 1) / align * align;
                result.parameter_bytes = parameter.offset + parameter.bytes;
                result.parameters.push_back(parameter);
                take(',');
            }
            expect(')');
        }
        while (peek() == '.') {  // .maxntid 256, 1, 1
            const std::string_view what = directive();
            std::int64_t all = 1;
            if (is_digit(peek())) do
                    all *= static_cast<std::int64_t>(size());
                while (take(','));
            if (what == "maxntid" || what == "reqntid") result.most_threads = all;
        }
        expect('{');
        body(result);
        return result;
    }

    void body(ParsedEntry& entry) {
        while (!take('}')) {
            if (peek() == '{') fail("blocks in blocks are not known");
            if (peek() == '.') {
                const std::string_view what = directive();
                if (what == "reg") registers(entry);
                else if (const auto space = variable_space(what)) entry.variables.push_back(variable(*space));
                else if (what == "pragma") at_ = text_.find(';', at_) + 1;
                else fail(str("the directive .", what, " is not known"));
                continue;
            }
            const std::size_t begin = at_;
            if (peek() != '@') {
                const std::string_view name = word();
                if (take(':')) {
                    if (!entry.labels.emplace(name, entry.statements.size()).second)
                        fail(str("the label ", name, " is there twice"));
                    continue;
                }
                at_ = begin;
            }
            entry.statements.push_back(statement());
        }
    }

    // ---- statements --------------------------------------------------------------------------------------------------

    Statement statement() {
        skip();
        const std::size_t begin = at_;
        Statement result;
        if (take('@')) {
            result.guard_negated = take('!');
            result.guard = word();
        }
        result.opcode.push_back(word());
        while (at_ < text_.size() && text_[at_] == '.') {
            ++at_;
            const std::size_t from = at_;
            while (at_ < text_.size() && (is_name(text_[at_]) || text_[at_] == ':')) ++at_;
            result.opcode.push_back(text_.substr(from, at_ - from));
        }
        if (peek() != ';') do
                result.operands.push_back(operand());
            while (take(','));
        expect(';');
        result.text = text_.substr(begin, at_ - begin);
        return result;
    }

    Operand operand() {
        const char c = peek();
        if (is_digit(c) || c == '-') return number();
        if (c == '[') return address();
        if (c == '{') return vector();
        Operand result;
        result.negated = take('!');
        result.name = word();
        if (result.name == "_") result.kind = Operand::Sink;
        else if (result.name[0] != '%') result.kind = Operand::Symbol;
        if (at_ < text_.size() && text_[at_] == '.') {  // %tid.x
            ++at_;
            word();
            result.name = text_.substr(static_cast<std::size_t>(result.name.data() - text_.data()),
                                       at_ - static_cast<std::size_t>(result.name.data() - text_.data()));
        }
        if (take('|')) result.parts.push_back(operand());
        return result;
    }

    Operand vector() {
        Operand result{.kind = Operand::Vector};
        expect('{');
        do result.parts.push_back(operand());
        while (take(','));
        expect('}');
        return result;
    }

    // [%l3+16], [symbol], [%l3, {%r1, %r2}]
    Operand address() {
        Operand result{.kind = Operand::Address};
        expect('[');
        if (is_digit(peek()) || peek() == '-') result.bits = number().bits;
        else {
            result.name = word();
            if (take('+')) result.bits = number().bits;
            else if (peek() == '-') result.bits = number().bits;
        }
        if (take(',')) result.parts.push_back(vector());
        expect(']');
        return result;
    }

    const std::string_view text_;
    std::size_t at_ = 0;
    bool linkage_extern_ = false;
};

}  // namespace

bool is_type(std::string_view name) {
    if (name == "pred") return true;
    return name.size() >= 2 && std::strchr("bsuf", name[0]) && std::all_of(name.begin() + 1, name.end(), is_digit);
}

Type type_of(std::string_view name) {
    if (name == "pred") return {'p', 1};
    int bits = 0;
    std::from_chars(name.data() + 1, name.data() + name.size(), bits);
    return {name[0], bits};
}

bool Statement::has(std::string_view part) const { return std::ranges::find(opcode, part) != opcode.end(); }

ParsedModule parse(std::string_view text) { return Parser(text).run(); }

}  // namespace weft::testing::ptx
