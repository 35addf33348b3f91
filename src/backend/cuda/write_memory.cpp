// backend/cuda/write_memory.cpp: loads and stores, in the memory of the device, of a block or of a thread, or in registers.
#include "backend/cuda/types.h"
#include "backend/cuda/writer.h"
#include "core/str.h"
#include "ir/symbolic.h"

#include <cstdlib>

namespace weft::backend::cuda {

using ir::Op;

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

// A constant at the end of the index is a part of the instruction: neighbours share what comes before.
std::string Writer::address(int buffer, const NodeRef& index, int level) {
    const Home& home = homes_[static_cast<std::size_t>(buffer)];
    const auto size = static_cast<std::int64_t>(size_of(kernel_.buffers[static_cast<std::size_t>(buffer)].dtype));
    std::int64_t offset = home.offset;
    NodeRef at = index;
    const auto take = [&](const Node& constant) {
        const auto number = static_cast<std::int64_t>(constant.as<ir::ConstArg>().value);
        if (std::abs(number) > (1 << 24)) return false;
        offset += number * size;
        return true;
    };
    if (at->op == Op::Const && take(*at)) at = nullptr;
    else if (at->op == Op::Add && at->source(1).op == Op::Const && take(at->source(1))) at = at->sources[0];
    std::string base = home.base;
    if (base[0] != '%') base = op("l", level, "mov.u64", base);
    if (at) {
        const Value moved = value(*at);
        if (fits(at))
            base = op("l", level, "mad.wide.s32", as_register(cut(moved, level), "r", level), str(size), base);
        else base = op("l", level, "mad.lo.s64", as_register(wide(moved, level), "l", level), str(size), base);
    }
    return offset ? str("[", base, "+", offset, "]") : str("[", base, "]");
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
    const std::string from = address(b, node.sources[0], level);
    const std::string instruction = str("ld.", space_of(b), ".", memory_type(t));
    if (gate.empty()) {
        result = op(kind, level, instruction, from);
    } else {
        result = as_register(zero_of(t), kind, level);
        line(level, str("@", gate, " ", instruction, " ", result, ", ", from));
    }
    return {is_bool(t) ? op("p", level, "setp.ne.u32", result, std::string("0")) : result};
}

void Writer::write(const kernel::Store& store) {
    const DType t = store.value->dtype;
    const int level = innermost();
    std::string stored = wide(value(*store.value), level);
    if (homes_[static_cast<std::size_t>(store.buffer)].space == Space::Registers) {
        const std::string to = variable(store.buffer, static_cast<std::int64_t>(store.index->as<ir::ConstArg>().value));
        line(str("mov.", register_type(t), " ", to, ", ", stored));
    } else {
        const std::string to = address(store.buffer, store.index, level);
        if (is_bool(t)) stored = op("r", level, "selp.b32", std::string("1"), std::string("0"), stored);
        stored = as_register(stored, is_bool(t) ? "r" : kind_of(t), level);
        line(str("st.", space_of(store.buffer), ".", memory_type(t), " ", to, ", ", stored));
    }
    forget(bit_of(store.buffer));
}

}  // namespace weft::backend::cuda
