// tests/support/ptx_decode.h: statements become instructions. Each family of instructions has a file, and a table of names with what decodes them.
#pragma once

#include "support/ptx_block.h"

#include <initializer_list>
#include <span>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace weft::testing::ptx {

struct Symbol {
    Space space = Space::Global;
    std::uint64_t address = 0;
};
using Symbols = std::unordered_map<std::string_view, Symbol>;

class Decoder {
public:
    // The module's variables; `symbols` has those whose place is known.
    Decoder(const ParsedEntry& entry, std::span<const Variable> module, Symbols symbols);
    Code run();

    // What a family asks for. Parts of the name are taken one by one: one that is left over is not known.
    Instruction& out() { return *out_; }
    const Operand& operand(std::size_t i) const;
    std::size_t operands() const { return statement_->operands.size(); }
    void expect_operands(std::size_t least, std::size_t most);
    void expect_operands(std::size_t count) { expect_operands(count, count); }
    std::string_view name() const { return statement_->opcode[0]; }
    bool take(std::string_view part);
    std::string_view take_one(std::initializer_list<std::string_view> parts);  // must be there
    std::size_t take_index(std::initializer_list<std::string_view> parts);     // which of them; must be there
    Type take_type();                                                          // the next one
    Space take_space();                                                        // Generic, where there is none
    void take_mode(Type type);  // .rn and .ftz of an instruction on floats

    // Slots. `wider`: the register may have more bits than the type.
    std::uint32_t read(const Operand& operand, Type type, bool wider = false);
    std::uint32_t write(const Operand& operand, Type type, bool wider = false);
    std::uint32_t read(std::size_t i, Type type, bool wider = false) { return read(operand(i), type, wider); }
    std::uint32_t write(std::size_t i, Type type, bool wider = false) { return write(operand(i), type, wider); }
    std::uint32_t constant(std::uint64_t bits);
    std::uint32_t add_list(std::span<const std::uint32_t> slots);
    std::uint32_t symbol(std::string_view name);  // its address
    void address(std::size_t i);                  // into a and offset
    std::uint32_t address_slot(std::size_t i, std::int64_t& offset);
    std::int64_t number(std::size_t i) const;           // a literal
    std::uint32_t width(const Operand& operand) const;  // of a register, in bits
    void set_target(std::size_t i);
    [[noreturn]] void fail(const std::string& what) const;

private:
    struct Home {
        std::uint32_t slot;
        Type type;
    };
    void decode(const Statement& statement);
    void place_variables();
    std::uint32_t special(std::string_view name);
    void check(Type has, Type wanted, bool wider, std::string_view name) const;

    const ParsedEntry& entry_;
    const std::span<const Variable> module_;
    Symbols symbols_;
    Code code_;
    std::unordered_map<std::string_view, Home> registers_;
    std::unordered_map<std::uint64_t, std::uint32_t> constants_;
    std::vector<std::pair<std::size_t, std::string_view>> targets_;  // of instructions, by label
    const Statement* statement_ = nullptr;
    Instruction* out_ = nullptr;
    std::vector<std::string_view> parts_;  // not yet taken
};

using Decode = void (*)(Decoder&);
struct Family {
    std::string_view name;
    Decode decode;
};
std::span<const Family> scalar_instructions();
std::span<const Family> conversion_instructions();
std::span<const Family> memory_instructions();
std::span<const Family> warp_instructions();
std::span<const Family> copy_instructions();
std::span<const Family> tensor_instructions();

}  // namespace weft::testing::ptx
