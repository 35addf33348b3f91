// tests/support/ptx_decode.cpp: names become slots, labels become pointers, and what is wrong in the text is found before it runs.
#include "support/ptx_decode.h"

#include "core/str.h"

#include <algorithm>
#include <cstring>
#include <stdexcept>

namespace weft::testing::ptx {
namespace {

const std::unordered_map<std::string_view, Decode>& all_instructions() {
    static const auto table = [] {
        std::unordered_map<std::string_view, Decode> all;
        for (const auto family : {scalar_instructions(), conversion_instructions(), memory_instructions(),
                                  warp_instructions(), copy_instructions(), tensor_instructions()})
            for (const auto& [name, decode] : family) all.emplace(name, decode);
        return all;
    }();
    return table;
}

const Instruction* exit_thread(Thread& thread, const Instruction& at) {
    thread.state = Thread::State::Exited;
    thread.pc = &at;
    return nullptr;
}

}  // namespace

Decoder::Decoder(const ParsedEntry& entry, std::span<const Variable> module, Symbols symbols)
    : entry_(entry), module_(module), symbols_(std::move(symbols)) {}

Code Decoder::run() {
    code_.name = entry_.name;
    code_.parameters = entry_.parameters;
    code_.parameter_bytes = entry_.parameter_bytes;
    code_.most_threads = entry_.most_threads;
    code_.slots = {0};
    code_.poison = {kNoRegister};
    for (const Register& r : entry_.registers) {
        static constexpr std::string_view kSpecial[] = {"%tid", "%ntid", "%ctaid", "%nctaid", "%laneid", "%warpid"};
        if (std::ranges::find(kSpecial, r.name) != std::end(kSpecial))
            throw std::runtime_error(str("PTX, ", entry_.name, ": ", r.name, " is a special register"));
        if (!registers_.emplace(r.name, Home{static_cast<std::uint32_t>(code_.slots.size()), r.type}).second)
            throw std::runtime_error(str("PTX: ", r.name, " is declared twice in ", entry_.name));
        code_.slots.push_back(0xdeadbeefdeadbeef);
        code_.poison.push_back(kNoRegister);
    }
    place_variables();
    for (const Parameter& parameter : entry_.parameters) symbols_[parameter.name] = {Space::Param, parameter.offset};
    code_.instructions.reserve(entry_.statements.size() + 1);
    for (const Statement& statement : entry_.statements) decode(statement);
    code_.instructions.push_back({.run = exit_thread});
    code_.texts.push_back("the end of the entry");
    for (const auto& [from, label] : targets_)
        code_.instructions[from].target = &code_.instructions[entry_.labels.at(label)];
    return std::move(code_);
}

// Shared variables one after the other; what is extern comes last, and all of it at one place. A GPU aligns that to 16 bytes, whatever its declaration says.
void Decoder::place_variables() {
    std::uint64_t local = 0, shared = kSharedBase;
    const auto place = [&](const Variable& variable, std::uint64_t& end) {
        end = (end + variable.align - 1) / variable.align * variable.align;
        symbols_[variable.name] = {variable.space, end};
        end += variable.bytes;
    };
    for (const auto& variables : {std::span<const Variable>(entry_.variables), module_})
        for (const Variable& variable : variables) {
            if (variable.space == Space::Local) place(variable, local);
            else if (variable.space == Space::Shared && !variable.is_extern) place(variable, shared);
        }
    for (const Variable& variable : module_)
        if (variable.is_extern) {
            const std::uint64_t align = std::min<std::uint64_t>(variable.align, 16);
            shared = (shared + align - 1) / align * align;
        }
    for (const Variable& variable : module_)
        if (variable.is_extern) symbols_[variable.name] = {variable.space, shared};
    code_.local_bytes = local;
    code_.shared_bytes = shared - kSharedBase;
}

void Decoder::decode(const Statement& statement) {
    statement_ = &statement;
    parts_.assign(statement.opcode.begin() + 1, statement.opcode.end());
    code_.instructions.push_back({.run = nullptr});
    code_.texts.push_back(statement.text);
    out_ = &code_.instructions.back();
    if (!statement.guard.empty()) {
        out_->guard = read(Operand{.name = statement.guard}, {'p', 1});
        out_->guard_negated = statement.guard_negated;
    }
    const auto found = all_instructions().find(statement.opcode[0]);
    if (found == all_instructions().end()) fail("is not known");
    found->second(*this);
    if (!parts_.empty()) fail(str(".", parts_[0], " is not known here"));
    if (!out_->run) fail("is not known in this form");
}

void Decoder::fail(const std::string& what) const {
    throw std::runtime_error(str("PTX, ", entry_.name, ": `", statement_->text, "`: ", what));
}

// ---- the name --------------------------------------------------------------------------------------------------------

bool Decoder::take(std::string_view part) {
    const auto found = std::ranges::find(parts_, part);
    if (found == parts_.end()) return false;
    parts_.erase(found);
    return true;
}

std::size_t Decoder::take_index(std::initializer_list<std::string_view> parts) {
    for (std::size_t i = 0; i < parts.size(); ++i)
        if (take(parts.begin()[i])) return i;
    fail(str("needs one of .", *parts.begin(), " …"));
}

std::string_view Decoder::take_one(std::initializer_list<std::string_view> parts) {
    return parts.begin()[take_index(parts)];
}

Type Decoder::take_type() {
    const auto found = std::ranges::find_if(parts_, is_type);
    if (found == parts_.end()) fail("needs a type");
    const Type type = type_of(*found);
    parts_.erase(found);
    return type;
}

Space Decoder::take_space() {
    if (take("global") || take("const")) return Space::Global;
    if (take("shared") || take("shared::cta")) return Space::Shared;
    if (take("local")) return Space::Local;
    if (take("param")) return Space::Param;
    return Space::Generic;
}

void Decoder::take_mode(Type type) {
    take("rn");
    const bool flush = take("ftz");
    if (flush && type != Type{'f', 32}) fail("only f32 can be flushed");
    out_->mode = flush ? Mode::Flush : Mode::Keep;
}

// ---- operands --------------------------------------------------------------------------------------------------------

const Operand& Decoder::operand(std::size_t i) const {
    if (i >= statement_->operands.size()) fail("has too few operands");
    return statement_->operands[i];
}

void Decoder::expect_operands(std::size_t least, std::size_t most) {
    if (operands() < least || operands() > most) fail(str("has ", operands(), " operands"));
}

// As ptxas has it: sizes agree; floats are not integers, but bits are either.
void Decoder::check(Type has, Type wanted, bool wider, std::string_view name) const {
    const bool size = has.bits == wanted.bits || (wider && has.bits > wanted.bits);
    const bool is_float = has.kind == 'f', want_float = wanted.kind == 'f';
    const bool kind = has.kind == 'b' || wanted.kind == 'b'   ? (has.kind == 'p') == (wanted.kind == 'p')
                      : has.kind == 'p' || wanted.kind == 'p' ? has.kind == wanted.kind
                                                              : is_float == want_float;
    if (!size || !kind) fail(str(name, " is .", has.kind, has.bits, "; needs .", wanted.kind, wanted.bits));
}

std::uint32_t Decoder::read(const Operand& operand, Type type, bool wider) {
    switch (operand.kind) {
        case Operand::Register: {
            const auto found = registers_.find(operand.name);
            if (found == registers_.end()) return special(operand.name);
            check(found->second.type, type, wider, operand.name);
            return found->second.slot;
        }
        case Operand::Integer:
            if (type.kind == 'f') fail("needs a float");
            return constant(operand.bits);
        case Operand::Single:
            if (type.bits != 32 || (type.kind != 'f' && type.kind != 'b')) fail("has a constant of another type");
            return constant(operand.bits);
        case Operand::Double:
            if (type.bits != 64 || (type.kind != 'f' && type.kind != 'b')) fail("has a constant of another type");
            return constant(operand.bits);
        case Operand::Symbol: return symbol(operand.name);
        default: fail("has an operand that is no value");
    }
}

std::uint32_t Decoder::write(const Operand& operand, Type type, bool wider) {
    if (operand.kind == Operand::Sink) return 0;
    if (operand.kind != Operand::Register) fail("needs a register to write");
    const auto found = registers_.find(operand.name);
    if (found == registers_.end()) fail(str(operand.name, " is not declared"));
    check(found->second.type, type, wider, operand.name);
    const int bits = found->second.type.bits;
    out_->mask = bits == 64 ? ~0ull : (1ull << bits) - 1;
    return found->second.slot;
}

std::uint32_t Decoder::width(const Operand& operand) const {
    const auto found = registers_.find(operand.name);
    return found == registers_.end() ? 0 : static_cast<std::uint32_t>(found->second.type.bits);
}

std::uint32_t Decoder::constant(std::uint64_t bits) {
    const auto [found, added] = constants_.emplace(bits, static_cast<std::uint32_t>(code_.slots.size()));
    if (added) {
        code_.slots.push_back(bits);
        code_.poison.push_back(0);
    }
    return found->second;
}

std::uint32_t Decoder::special(std::string_view name) {
    using Special = Code::Special;
    static const std::unordered_map<std::string_view, std::pair<Special, int>> table = {
        {"%tid.x", {Special::Tid, 0}},       {"%tid.y", {Special::Tid, 1}},       {"%tid.z", {Special::Tid, 2}},
        {"%ntid.x", {Special::Ntid, 0}},     {"%ntid.y", {Special::Ntid, 1}},     {"%ntid.z", {Special::Ntid, 2}},
        {"%ctaid.x", {Special::Ctaid, 0}},   {"%ctaid.y", {Special::Ctaid, 1}},   {"%ctaid.z", {Special::Ctaid, 2}},
        {"%nctaid.x", {Special::Nctaid, 0}}, {"%nctaid.y", {Special::Nctaid, 1}}, {"%nctaid.z", {Special::Nctaid, 2}},
        {"%laneid", {Special::Lane, 0}},     {"%warpid", {Special::Warp, 0}},
    };
    const auto found = table.find(name);
    if (found == table.end()) fail(str(name, " is not declared"));
    const auto [what, axis] = found->second;
    for (const auto& each : code_.specials)
        if (each.what == what && each.axis == axis) return each.slot;
    code_.specials.push_back({static_cast<std::uint32_t>(code_.slots.size()), what, axis});
    code_.slots.push_back(0);
    code_.poison.push_back(0);
    return code_.specials.back().slot;
}

std::uint32_t Decoder::symbol(std::string_view name) {
    const auto found = symbols_.find(name);
    if (found == symbols_.end()) fail(str(name, " is not declared"));
    return constant(found->second.address);
}

std::uint32_t Decoder::add_list(std::span<const std::uint32_t> slots) {
    const auto begin = static_cast<std::uint32_t>(code_.lists.size());
    code_.lists.insert(code_.lists.end(), slots.begin(), slots.end());
    return begin;
}

std::uint32_t Decoder::address_slot(std::size_t i, std::int64_t& offset) {
    const Operand& at = operand(i);
    if (at.kind != Operand::Address) fail("needs an address");
    offset = static_cast<std::int64_t>(at.bits);
    if (at.name.empty()) return constant(0);
    if (at.name[0] != '%') return symbol(at.name);
    const Operand base{.name = at.name};
    return read(base, {'b', width(base) == 32 ? 32 : 64});
}

void Decoder::address(std::size_t i) { out_->a = address_slot(i, out_->offset); }

std::int64_t Decoder::number(std::size_t i) const {
    if (operand(i).kind != Operand::Integer) fail("needs a number");
    return static_cast<std::int64_t>(operand(i).bits);
}

void Decoder::set_target(std::size_t i) {
    if (!entry_.labels.contains(operand(i).name)) fail(str("there is no label ", operand(i).name));
    targets_.emplace_back(code_.instructions.size() - 1, operand(i).name);
}

// ---- a module --------------------------------------------------------------------------------------------------------

Program::Program(std::string text) : text_(std::move(text)) {
    const ParsedModule module = parse(text_);
    Symbols symbols;
    for (const Variable& variable : module.variables) {
        if (variable.space != Space::Global) continue;  // where it is depends on the entry
        constexpr std::size_t kAlign = 256;
        auto& memory = memory_.emplace_back(new std::byte[variable.bytes + kAlign]());
        auto address = reinterpret_cast<std::uint64_t>(memory.get());
        address = (address + kAlign - 1) / kAlign * kAlign;
        if (!variable.value.empty())
            std::memcpy(reinterpret_cast<void*>(address), variable.value.data(), variable.value.size());
        symbols[variable.name] = {Space::Global, address};
        ranges_.push_back({address, variable.bytes, true});
    }
    entries_.reserve(module.entries.size());
    for (const ParsedEntry& entry : module.entries) entries_.push_back(Decoder(entry, module.variables, symbols).run());
}

const Code& Program::entry(std::string_view name) const {
    const auto found = std::ranges::find(entries_, name, &Code::name);
    if (found == entries_.end()) throw std::runtime_error(str("PTX: there is no entry ", name));
    return *found;
}

std::shared_ptr<const Program> load(std::string text) { return std::make_shared<const Program>(std::move(text)); }

}  // namespace weft::testing::ptx
