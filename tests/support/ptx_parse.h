// tests/support/ptx_parse.h: PTX text as a list of statements: the part of the language that Weft writes. Names are views of the text,
// which must outlive what is parsed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::testing::ptx {

enum class Space : std::uint8_t { Generic, Global, Shared, Local, Param };

// A type of PTX: "s32". Predicates have one bit.
struct Type {
    char kind = 'b';  // 'b'its, 's'igned, 'u'nsigned, 'f'loat, 'p'redicate
    int bits = 0;
    bool operator==(const Type&) const = default;
};
bool is_type(std::string_view name);
Type type_of(std::string_view name);  // without the dot

struct Operand {
    enum Kind : std::uint8_t { Register, Integer, Single, Double, Symbol, Address, Vector, Sink };
    Kind kind = Register;
    bool negated = false;        // !%p
    std::string_view name;       // Register, Symbol; Address: what it begins with, may be empty
    std::uint64_t bits = 0;      // of a number; Address: the offset
    std::vector<Operand> parts;  // Vector; Address: coordinates. Of "%r|%p": the second
};

struct Statement {
    std::string_view guard;  // "%p3", may be empty
    bool guard_negated = false;
    std::vector<std::string_view> opcode;  // parts between dots
    std::vector<Operand> operands;
    std::string_view text;
    bool has(std::string_view part) const;
};

struct Variable {
    Space space = Space::Shared;
    std::string_view name;
    std::size_t bytes = 0, align = 1;
    bool is_extern = false;
    std::vector<std::byte> value;  // empty: not initialised
};

struct Register {
    std::string name;
    Type type;
};

struct Parameter {
    std::string_view name;
    std::size_t bytes = 0, offset = 0;
};

struct ParsedEntry {
    std::string_view name;
    std::vector<Parameter> parameters;
    std::size_t parameter_bytes = 0;
    std::int64_t most_threads = 1024;  // .maxntid
    std::vector<Register> registers;
    std::vector<Variable> variables;
    std::vector<Statement> statements;
    std::unordered_map<std::string_view, std::size_t> labels;  // the number of the next statement
};

struct ParsedModule {
    std::vector<Variable> variables;
    std::vector<ParsedEntry> entries;
};

// Throws std::runtime_error with the line.
ParsedModule parse(std::string_view text);

}  // namespace weft::testing::ptx
