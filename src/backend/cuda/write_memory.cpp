// backend/cuda/write_memory.cpp: loads and stores, in the memory of the device, of a block or of a thread, or in registers.
#include "backend/cuda/types.h"
#include "backend/cuda/writer.h"
#include "core/str.h"
#include "ir/symbolic.h"

#include <cstdlib>

namespace weft::backend::cuda {

using ir::Op;
using kernel::Buffer;

namespace {
constexpr std::size_t kMostLanes = 4;  // of one instruction
}

std::string Writer::variable(int buffer, std::int64_t element) const {
    return str(homes_[static_cast<std::size_t>(buffer)].base, element);
}

std::string_view Writer::space_of(int buffer) const {
    switch (homes_[static_cast<std::size_t>(buffer)].space) {
        case Space::Shared: return "shared";
        case Space::Local: return "local";
        case Space::Global:
        case Space::Registers: break;
    }
    return "global";
}

// Nobody stores to an input while the kernel runs: loads from it need not wait for stores before them.
std::string Writer::loaded_from(int buffer) const {
    const bool is_input = kernel_.buffers[static_cast<std::size_t>(buffer)].role == Buffer::Role::Input;
    return str(space_of(buffer), is_input ? ".nc" : "");
}

// A constant at the end of the index is a part of the instruction: neighbours share what comes before. Addresses in shared memory have 32 bits.
std::string Writer::address(int buffer, const NodeRef& index, int level) {
    const Home& home = homes_[static_cast<std::size_t>(buffer)];
    const auto size = static_cast<std::int64_t>(size_of(kernel_.buffers[static_cast<std::size_t>(buffer)].dtype));
    Position at = position_of(*index);
    if (std::abs(at.offset) > (1 << 24)) at = {index.get(), 0};
    const std::int64_t offset = home.offset + at.offset * size;
    const std::string base = at.base ? moved_base(home, buffer, *at.base, size, level) : home.base;
    return offset ? str("[", base, "+", offset, "]") : str("[", base, "]");
}

std::string Writer::moved_base(const Home& home, int buffer, const Node& by, std::int64_t size, int level) {
    const bool is_fixed = placement_.facts(by).buffers == 0;  // it loads nothing that may change
    for (int s = 0; s <= level && is_fixed; ++s) {  // what an inner scope has computed comes later in the text
        const auto& known = scopes_[static_cast<std::size_t>(s)].addresses;
        if (const auto found = known.find({buffer, &by}); found != known.end()) return found->second;
    }
    const Value moved = value(by);
    std::string base;
    if (home.space == Space::Shared)
        base = op("r", level, "mad.lo.s32", as_register(cut(moved, level), "r", level), str(size), home.base);
    else if (fits(NodeRef(&by)))
        base = op("l", level, "mad.wide.s32", as_register(cut(moved, level), "r", level), str(size), home.base);
    else base = op("l", level, "mad.lo.s64", as_register(wide(moved, level), "l", level), str(size), home.base);
    if (is_fixed) scopes_[static_cast<std::size_t>(level)].addresses[{buffer, &by}] = base;
    return base;
}

// A load whose gate is false reads nothing, and is zero.
Value Writer::load(const Node& node, int level) {
    const int b = node.as<ir::LoadArg>().buffer;
    const DType t = node.dtype;
    const std::string_view kind = is_bool(t) ? "r" : kind_of(t);
    std::string gate;
    if (node.sources.size() > 1) gate = value(node.source(1)).text;
    std::string result;
    if (homes_[static_cast<std::size_t>(b)].space == Space::Registers) {  // with a gate
        const std::string from = variable(b, static_cast<std::int64_t>(node.source().as<ir::ConstArg>().value));
        if (is_bool(t)) return {op("p", level, "and.pred", gate, from)};
        return {op(kind, level, str("selp.", register_type(t)), from, zero_of(t), gate)};
    }
    const VectorAccess::Lanes* const lanes = vectors_.lanes_of(node);
    if (lanes && (gate.empty() || (lanes->size() <= kMostLanes && !is_bool(t)))) {
        load_together(*lanes, gate, level);
        return scopes_[static_cast<std::size_t>(level)].values.at(&node);
    }
    const std::string from = address(b, node.sources[0], level);
    const std::string instruction = str("ld.", loaded_from(b), ".", memory_type(t));
    if (gate.empty()) {
        result = op(kind, level, instruction, from);
    } else {
        result = as_register(zero_of(t), kind, level);
        line(level, str("@", gate, " ", instruction, " ", result, ", ", from));
    }
    return {is_bool(t) ? op("p", level, "setp.ne.u32", result, std::string("0")) : result};
}

// One instruction, and the values of all of them are known. They have the same variables and gate, so they stand at the same loop.
void Writer::load_together(const VectorAccess::Lanes& lanes, const std::string& gate, int level) {
    const int b = lanes[0]->as<ir::LoadArg>().buffer;
    const DType t = lanes[0]->dtype;
    std::vector<std::string> registers;
    std::string list;
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        registers.push_back(gate.empty() ? fresh(is_bool(t) ? "r" : kind_of(t))
                                         : as_register(zero_of(t), kind_of(t), level));
        list += str(lane ? ", " : "", registers.back());
    }
    require_alignment(b, static_cast<std::int64_t>(lanes.size() * size_of(t)));
    const std::string from = address(b, lanes[0]->sources[0], level);
    if (lanes.size() <= kMostLanes) {
        line(level, str(gate.empty() ? "" : "@", gate, gate.empty() ? "" : " ", "ld.", loaded_from(b), ".v",
                        lanes.size(), ".", memory_type(t), " {", list, "}, ", from));
    } else {  // halves, in words
        list.clear();
        std::vector<std::string> words;
        for (std::size_t word = 0; word < lanes.size() / 2; ++word) {
            words.push_back(fresh("r"));
            list += str(word ? ", " : "", words.back());
        }
        line(level, str("ld.", loaded_from(b), ".v", words.size(), ".b32 {", list, "}, ", from));
        for (std::size_t word = 0; word < words.size(); ++word)
            line(level, str("mov.b32 {", registers[2 * word], ", ", registers[2 * word + 1], "}, ", words[word]));
    }
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        const std::string& result = registers[lane];
        const Value value{is_bool(t) ? op("p", level, "setp.ne.u32", result, std::string("0")) : result};
        scopes_[static_cast<std::size_t>(level)].values.insert_or_assign(lanes[lane], value);
    }
}

void Writer::require_alignment(int buffer, std::int64_t bytes) {
    if (buffer >= kernel_.parameters) return;  // locals are
    std::int64_t& alignment = module_.alignments[static_cast<std::size_t>(buffer)];
    alignment = std::max(alignment, bytes);
}

// In a register of the kind that is stored.
std::string Writer::stored_value(const kernel::Store& store) {
    const DType t = store.value->dtype;
    std::string stored = wide(value(*store.value), innermost());
    if (is_bool(t)) stored = op("r", innermost(), "selp.b32", std::string("1"), std::string("0"), stored);
    return as_register(stored, is_bool(t) ? "r" : kind_of(t), innermost());
}

// From global to shared memory, while the thread goes on. Where the gate does not hold, zeros.
bool Writer::write_copy(std::span<const kernel::Stmt> stores) {
    const kernel::Store& first = *stores[0].store();
    const NodeRef& load = first.value;
    if (kernel_.buffers[static_cast<std::size_t>(first.buffer)].late == 0 || load->op != Op::Load) return false;
    const int from = load->as<ir::LoadArg>().buffer;
    const auto bytes = static_cast<std::int64_t>(stores.size() * size_of(load->dtype));
    if (homes_[static_cast<std::size_t>(first.buffer)].space != Space::Shared ||
        homes_[static_cast<std::size_t>(from)].space != Space::Global || bytes < 4)
        return false;
    if (stores.size() > 1) {
        const VectorAccess::Lanes* const lanes = vectors_.lanes_of(*load);
        if (!lanes || lanes->size() != stores.size()) return false;
        for (std::size_t n = 0; n < stores.size(); ++n)
            if (stores[n].store()->value.get() != (*lanes)[n]) return false;
        require_alignment(from, bytes);
    }
    const std::string to = address(first.buffer, first.index, innermost()),
                      source = address(from, load->sources[0], innermost());
    std::string copy = str("cp.async.", bytes == 16 ? "cg" : "ca", ".shared.global ", to, ", ", source, ", ", bytes);
    if (load->sources.size() > 1)
        copy += str(", ", op("r", innermost(), "selp.b32", str(bytes), std::string("0"), value(load->source(1)).text));
    line(copy);
    copies_ = true;
    forget(bit_of(first.buffer));
    return true;
}

void Writer::write(std::span<const kernel::Stmt> stores) {
    if (write_copy(stores)) return;
    const kernel::Store& first = *stores[0].store();
    const DType t = first.value->dtype;
    if (homes_[static_cast<std::size_t>(first.buffer)].space == Space::Registers) {
        const std::string to = variable(first.buffer, static_cast<std::int64_t>(first.index->as<ir::ConstArg>().value));
        line(str("mov.", register_type(t), " ", to, ", ", wide(value(*first.value), innermost())));
        forget(bit_of(first.buffer));
        return;
    }
    std::vector<std::string> values;
    for (const kernel::Stmt& stmt : stores) values.push_back(stored_value(*stmt.store()));
    std::string_view type = memory_type(t);
    if (values.size() > kMostLanes) {  // halves, in words
        for (std::size_t word = 0; word < values.size() / 2; ++word)
            values[word] = op("r", innermost(), "mov.b32", str("{", values[2 * word], ", ", values[2 * word + 1], "}"));
        values.resize(values.size() / 2);
        type = "b32";
    }
    std::string list;
    for (const std::string& each : values) list += str(list.empty() ? "" : ", ", each);
    const std::string to = address(first.buffer, first.index, innermost());
    const std::string instruction = str("st.", space_of(first.buffer));
    if (stores.size() == 1) {
        line(str(instruction, ".", memory_type(t), " ", to, ", ", list));
    } else {
        require_alignment(first.buffer, static_cast<std::int64_t>(stores.size() * size_of(t)));
        line(str(instruction, ".v", values.size(), ".", type, " ", to, ", {", list, "}"));
    }
    forget(bit_of(first.buffer));
}

}  // namespace weft::backend::cuda
