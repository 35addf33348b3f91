// backend/c/print_statements.cpp: the function around a kernel: its comment, declarations, loops and stores.
#include "backend/c/printer.h"
#include "backend/narrow.h"
#include "core/str.h"

#include <weft/error.h>

#include <algorithm>
#include <cctype>
#include <set>

namespace weft::backend::c {

using ir::Op;
using kernel::Buffer;
using kernel::Loop;
using kernel::LoopKind;
using kernel::Stmt;
using kernel::Store;

namespace {

// C identifiers for buffers, as near to their names as possible.
std::vector<std::string> identifiers(const std::vector<Buffer>& buffers) {
    std::set<std::string> taken = {
        "auto",     "break",  "case",     "char",   "const",  "continue", "default", "do",     "double",  "else",
        "enum",     "extern", "float",    "for",    "goto",   "if",       "inline",  "int",    "long",    "register",
        "restrict", "return", "short",    "signed", "sizeof", "static",   "struct",  "switch", "typedef", "union",
        "unsigned", "void",   "volatile", "while",  "asm",    "typeof",   "bool",    "i8",     "u8",      "i16",
        "u16",      "i32",    "u32",      "i64",    "u64",    "f32",      "f64",     "Check",  "buffers", "scalars",
        "begin",    "end",    "scratch",  "check",  "linux",  "unix"};
    std::vector<std::string> result;
    for (std::size_t b = 0; b < buffers.size(); ++b) {
        std::string name;
        for (const char c : buffers[b].name) name += std::isalnum(static_cast<unsigned char>(c)) ? c : '_';
        if (name.empty() || std::isdigit(static_cast<unsigned char>(name[0])) || name[0] == '_') name = "b" + name;
        // Temporaries, loop variables, scalars and helpers end in digits or have an underscore: keep out of their way.
        const bool like_ours =
            std::isdigit(static_cast<unsigned char>(name.back())) || name.find('_') != std::string::npos;
        if (like_ours || !taken.insert(name).second) taken.insert(name += str("_b", b));
        result.push_back(name);
    }
    return result;
}

std::string for_comment(std::string text) {  // nothing in a name may end the comment
    for (std::size_t at; (at = text.find("*/")) != std::string::npos;) text.replace(at, 2, "* /");
    std::replace(text.begin(), text.end(), '\n', ' ');
    std::replace(text.begin(), text.end(), '\\', '/');
    return text;
}

}  // namespace

std::string without_parentheses(std::string text) {
    if (text.size() < 2 || text.front() != '(' || text.back() != ')') return text;
    int depth = 0;
    for (std::size_t i = 0; i + 1 < text.size(); ++i) {
        depth += text[i] == '(' ? 1 : text[i] == ')' ? -1 : 0;
        if (depth == 0) return text;  // the first one closes before the end
    }
    return text.substr(1, text.size() - 2);
}

Printer::Printer(const kernel::Kernel& kernel, int register_bytes)
    : kernel_(narrow(kernel, native_lanes(kernel, register_bytes))),
      expanded_(expand(kernel_, {.lanes = register_bytes > 0, .transposes = true})),
      placement_(kernel_, expanded_),
      lanes_(expanded_.lanes),
      names_(identifiers(kernel_.buffers)) {}

Printed Printer::run() {
    scopes_.emplace_back();
    print(expanded_.body);
    const std::string body = std::move(scopes_.front().text);
    std::string function =
        "(void* const* buffers, const u64* scalars, i64 begin, i64 end, char* scratch, Check* check) {\n";
    function += "    if (begin >= end) return;\n";
    function += declarations();
    function += body;
    if (streams_) function += str("    ", prelude_.stream_fence(), "();\n");
    function += "}\n";
    return {prelude_.pieces(), header_comment(), std::move(function)};
}

std::string Printer::header_comment() const {
    std::string text = str("/* kernel ", for_comment(kernel_.name), "\n");
    for (const std::string& line : kernel::describe(kernel_)) text += str("   schedule: ", for_comment(line), "\n");
    for (std::size_t b = 0; b < kernel_.buffers.size(); ++b) {
        const Buffer& buffer = kernel_.buffers[b];
        if (!expanded_.buffers[b].used) continue;
        constexpr std::string_view kRoles[] = {"in ", "out ", "local "};
        text +=
            str("   ", kRoles[static_cast<int>(buffer.role)], names_[b], ": ", buffer.dtype, "[", buffer.size, "]\n");
    }
    return text + "*/\n";
}

void Printer::line(int level, std::string_view text) {
    std::string& out = scopes_[static_cast<std::size_t>(level)].text;
    out.append(4 * static_cast<std::size_t>(level + 1), ' ');
    out += text;
    out += '\n';
}

// ---- declarations ----------------------------------------------------------------------------------------------------

std::string Printer::declarations() {
    std::string text;
    const auto overlaps = [&](const Buffer& a) {
        const auto bytes = [](const Buffer& b) { return b.size * static_cast<std::int64_t>(size_of(b.dtype)); };
        return std::count_if(kernel_.buffers.begin(), kernel_.buffers.end(), [&](const Buffer& b) {  // itself too
                   return b.role == Buffer::Role::Local && b.memory == Buffer::MemoryType::Scratch &&
                          a.scratch_offset < b.scratch_offset + bytes(b) &&
                          b.scratch_offset < a.scratch_offset + bytes(a);
               }) > 1;
    };
    for (std::size_t b = 0; b < kernel_.buffers.size(); ++b) {
        const Buffer& buffer = kernel_.buffers[b];
        const std::string type = memory_type(buffer.dtype);
        if (!expanded_.buffers[b].used) continue;
        if (buffer.role == Buffer::Role::Input)
            text += str("    const ", type, "* restrict const ", names_[b], " = buffers[", b, "];\n");
        else if (buffer.role == Buffer::Role::Output)
            text += str("    ", type, "* restrict const ", names_[b], " = buffers[", b, "];\n");
        else if (expanded_.buffers[b].form != LoweredBuffer::Pointer) text += declare_local(static_cast<int>(b));
        else  // locals that share memory, one after the other, may not promise to be apart
            text += str("    ", type, "* ", overlaps(buffer) ? "" : "restrict ", "const ", names_[b],
                        " = (void*)(scratch + ", buffer.scratch_offset, ");\n");
    }
    for (std::size_t s = 0; s < kernel_.scalars.size(); ++s) {
        const DType t = kernel_.scalars[s];
        const std::string word = str("scalars[", s, "]");
        const std::string cut = t == DType::F32   ? str(prelude_.bits(DType::U32, DType::F32), "((u32)", word, ")")
                                : t == DType::F64 ? str(prelude_.bits(DType::U64, DType::F64), "(", word, ")")
                                                  : str("(", value_type(t), ")", word);
        text += str("    const ", value_type(t), " s", s, " = ", cut, ";\n");
    }
    return text;
}

std::string Printer::declare_local(int b) {
    const Buffer& buffer = kernel_.buffers[b];
    const LoweredBuffer& lowered = expanded_.buffers[b];
    const bool vectors = lowered.form == LoweredBuffer::Vectors || lowered.form == LoweredBuffer::LaneVectors ||
                         lowered.form == LoweredBuffer::LaneArray;
    const std::string type = vectors ? prelude_.vector(buffer.dtype, lanes_) : memory_type(buffer.dtype);
    if (!in_variables(b)) {
        const std::int64_t copies = lowered.lane_var >= 0 ? lowered.unit : 1;
        return str("    ", type, " ", names_[b], "[", std::max<std::int64_t>(1, buffer.size * copies),
                   "] __attribute__((aligned(64)));\n");
    }
    // Zeros, since storing some lanes of a vector keeps the others; compilers drop them where they can.
    std::string text = str("    ", type);
    const std::int64_t count = (buffer.size + lowered.unit - 1) / lowered.unit;
    for (std::int64_t v = 0; v < count; ++v) text += str(v ? ", " : " ", variable(b, v), vectors ? " = {0}" : " = 0");
    return text + ";\n";
}

// ---- loops and stores ------------------------------------------------------------------------------------------------

void Printer::print(const kernel::Body& body) {
    for (const Stmt& stmt : body) {
        if (stmt.loop()) print(*stmt.loop());
        else if (stmt.store()) print(*stmt.store());  // C compilers place prefetches by themselves
    }
}

void Printer::print(const Loop& loop) {
    if (loop.kind == LoopKind::Vector) {  // lanes: no loop in C
        const std::string note = str("// lanes of k", loop.id(), " < ", loop.extent());
        if (innermost_scope().note != note) line(innermost_scope().note = note);  // unrolled copies need it once
        print(loop.body);
        return;
    }
    forget(stored_in(loop.body));
    std::string first = "0", end = str(loop.extent());
    if (loop.kind == LoopKind::Parallel) first = "begin", end = "end";
    if (loop.count) {
        const std::string count = value(*loop.count, innermost()).text;
        end = str("n", temporaries_++);
        line(str("const i64 ", end, " = ", prelude_.op(Op::Min, DType::I64, 0), "(", loop.extent(), ", ",
                 without_parentheses(count), ");"));
    }
    const std::string var = str("k", loop.id());  // not "i": i64 is a type
    const std::string head = str("for (i64 ", var, " = ", first, "; ", var, " < ", end, "; ++", var, ") {");
    scopes_.emplace_back();
    placement_.enter(loop, loop.count != nullptr);
    print(loop.body);
    if (loop.polls) line("if (check && check->stop && check->stop()) break;");
    placement_.leave();
    const std::string inner = std::move(scopes_.back().text);
    scopes_.pop_back();
    line(head);
    scopes_.back().text += inner;
    scopes_.back().note.clear();
    line("}");
}

void Printer::print(const Store& store) {
    const Value stored = value(*store.value, innermost());
    const LoweredBuffer& lowered = expanded_.buffers[store.buffer];
    const int index_lane = facts(*store.index).lane;
    if (in_variables(store.buffer)) variable_store(store, stored);
    else if (lowered.form == LoweredBuffer::LaneArray && index_lane < 0)
        line(str(element(store.buffer, *store.index, innermost()), " = ", as_memory(stored, store.value->dtype), ";"));
    else if (lowered.form == LoweredBuffer::LaneArray || index_lane >= 0)
        lane_store(store, index_lane >= 0 ? index_lane : kernel_.buffers[store.buffer].lane_loop, stored);
    else {
        const int lane = facts(*store.value).lane;
        const std::string text =
            stored.vector ? last_lane(stored, store.value->dtype, lanes_of(lane)) : without_parentheses(stored.text);
        line(str(element(store.buffer, *store.index, innermost()), " = ", text, ";"));
    }
    forget(bit_of(store.buffer));
}

}  // namespace weft::backend::c
