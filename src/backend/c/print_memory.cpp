// backend/c/print_memory.cpp: loads and stores. Along the lanes an index has stride 1 (a vector load), another stride
// or none at all (element by element); without lanes it is an array access. Locals in variables need no memory.
#include "backend/c/printer.h"
#include "core/str.h"
#include "ir/symbolic.h"

namespace weft::backend::c {

using ir::Op;
using kernel::Buffer;
using kernel::Store;

bool Printer::in_variables(int buffer) const {
    const LoweredBuffer::Form form = expanded_.buffers[static_cast<std::size_t>(buffer)].form;
    return form == LoweredBuffer::Scalars || form == LoweredBuffer::Vectors || form == LoweredBuffer::LaneVectors;
}

std::string Printer::variable(int buffer, std::int64_t number) const {
    return kernel_.buffers[buffer].size <= expanded_.buffers[buffer].unit ? names_[buffer]
                                                                          : str(names_[buffer], "_", number);
}

std::string Printer::column(int buffer, std::int64_t number, int level) {
    if (transposed_.insert(buffer).second) {
        const int edge = expanded_.buffers[buffer].unit;
        std::string text = prelude_.transpose(kernel_.buffers[buffer].dtype, edge) + "(";
        for (int v = 0; v < edge; ++v) text += str(v ? ", &" : "&", variable(buffer, v));
        line(level, text + ");");
    }
    return variable(buffer, number);
}

std::string Printer::element(int buffer, const Node& index, int level) {
    std::string at = value(index, level).text;
    const LoweredBuffer& lowered = expanded_.buffers[buffer];
    if (lowered.lane_var >= 0) at = str(at, " * ", lowered.unit, " + k", lowered.lane_var);
    return str(names_[buffer], "[", without_parentheses(at), "]");
}

std::string Printer::address(int buffer, const Node& index, int level) {
    if (index.op == Op::Const && index.as<ir::ConstArg>().value == 0) return names_[buffer];
    return str(names_[buffer], " + ", value(index, level).text);
}

Printer::LaneIndex Printer::lane_index(const NodeRef& index, int lane) {
    const std::optional<std::int64_t> stride = ir::stride_of(*kernel_.interner, index, lane);
    if (!stride) return {};
    kept_.push_back(
        ir::simplify_index(*kernel_.interner, kernel::substitute(kernel_, index, {{lane, kernel_.index(0)}})));
    if (facts(*kept_.back()).lane >= 0) return {};  // it loads what is private to a lane
    return {true, *stride, kept_.back()};
}

// ---- loads -----------------------------------------------------------------------------------------------------------

Value Printer::load(const Node& node, int level) {
    const int b = node.as<ir::LoadArg>().buffer;
    const bool gated = node.sources.size() > 1, as_bool = is_bool(node.dtype);
    if (in_variables(b) || (expanded_.buffers[b].form == LoweredBuffer::LaneArray && facts(*node.sources[0]).lane < 0))
        return variable_load(node, level);
    if (facts(node).lane >= 0) return lane_load(node, level);
    const std::string read = element(b, *node.sources[0], level), number = as_bool ? str("(", read, " != 0)") : read;
    if (!gated) return {number};
    return {str("(", value(*node.sources[1], level).text, " ? ", number, " : 0)")};
}

Value Printer::variable_load(const Node& node, int level) {
    const int b = node.as<ir::LoadArg>().buffer;
    const LoweredBuffer& lowered = expanded_.buffers[b];
    const DType t = node.dtype;
    const NodeRef& index = node.sources[0];
    Value result;
    if (lowered.form == LoweredBuffer::LaneArray) {
        result = from_memory(element(b, *index, level), t);
    } else if (index->op == Op::Const) {
        const auto at = static_cast<std::int64_t>(index->as<ir::ConstArg>().value);
        const std::string name = variable(b, at / lowered.unit);
        if (lowered.form == LoweredBuffer::LaneVectors) result = from_memory(name, t);
        else result = {lowered.form == LoweredBuffer::Scalars ? name : str(name, "[", at % lowered.unit, "]")};
        if (!result.vector && is_bool(t)) result.text = str("(", result.text, " != 0)");
    } else {
        const LaneIndex lanes = lane_index(index, facts(*index).lane);
        const auto at = static_cast<std::int64_t>(lanes.base->as<ir::ConstArg>().value);
        std::string text = lowered.transposed ? column(b, at, level) : variable(b, at / lowered.unit);
        if (lowered.transposed) return from_memory(std::move(text), t);
        if (const auto by = static_cast<int>(at % lowered.unit))
            text = str(prelude_.shift_lanes(t, lanes_, by), "(", text, ")");
        result = from_memory(std::move(text), t);
    }
    if (node.sources.size() == 1) return result;
    const Value gate = value(*node.sources[1], level);
    if (is_bool(t) && (result.vector || gate.vector)) {
        const std::size_t bytes = std::max(result.mask, gate.mask);
        return {str("(", as_mask(result, bytes), " & ", as_mask(gate, bytes), ")"), true, bytes};
    }
    if (gate.vector)
        return {str(prelude_.select(t, lanes_), "(", as_mask(gate, size_of(t)), ", ", as_vector(result, t), ", ",
                    as_vector({"0"}, t), ")"),
                true};
    return {str("(", gate.text, " ? ", result.text, " : ", result.vector ? as_vector({"0"}, t) : "0", ")"),
            result.vector};
}

Value Printer::lane_load(const Node& node, int level) {
    const int b = node.as<ir::LoadArg>().buffer, lane = facts(node).lane, used = lanes_of(lane);
    const DType t = node.dtype;
    const bool is_private = expanded_.buffers[b].form == LoweredBuffer::LaneArray;  // element [index][lane]
    Value gate;
    if (node.sources.size() > 1) gate = value(*node.sources[1], level);
    LaneIndex index = is_private ? LaneIndex{} : lane_index(node.sources[0], lane);
    const std::string mask = gate.vector ? str(as_mask(gate, size_of(t)), ", ") : "", suffix = gate.vector ? "_if" : "";
    std::string text;
    if (index.affine && index.stride == 0 && !gate.vector) {  // every lane reads the same
        text = as_vector({element(b, *index.base, level)}, t);
    } else if (index.affine) {
        const std::string at = address(b, *index.base, level);
        if (index.stride == 1 && used == lanes_ && !gate.vector)
            text = str(prelude_.memory("load", t, lanes_), "(", at, ")");
        else if (index.stride == 1)
            text =
                str(prelude_.memory(gate.vector ? "load_if" : "load_some", t, lanes_), "(", at, ", ", mask, used, ")");
        else
            text =
                str(prelude_.memory("strided" + suffix, t, lanes_), "(", at, ", ", index.stride, ", ", mask, used, ")");
    } else {
        std::string at = as_vector(value(*node.sources[0], level), DType::I64), base = names_[b];
        if (is_private) {
            at = str("(", at, " * ", lanes_, " + ", prelude_.iota(lanes_), "())");
            base = str("(", memory_type(t), "*)", base);
        }
        text = str(prelude_.memory("gather" + suffix, t, lanes_), "(", base, ", ", at, ", ", mask, used, ")");
    }
    if (!gate.text.empty() && !gate.vector)
        text = str("(", gate.text, " ? ", text, " : ", as_vector({"0"}, is_bool(t) ? DType::U8 : t), ")");
    return from_memory(std::move(text), t);
}

// ---- stores ----------------------------------------------------------------------------------------------------------

void Printer::variable_store(const Store& store, const Value& stored) {
    const int b = store.buffer, lane = facts(*store.value).lane;
    const LoweredBuffer& lowered = expanded_.buffers[b];
    transposed_.erase(b);
    const DType t = store.value->dtype;
    if (store.index->op == Op::Const) {
        const auto at = static_cast<std::int64_t>(store.index->as<ir::ConstArg>().value);
        const std::string name = variable(b, at / lowered.unit);
        if (lowered.form == LoweredBuffer::LaneVectors)
            line(str(name, " = ", without_parentheses(as_memory(stored, t)), ";"));
        else {
            const std::string target =
                lowered.form == LoweredBuffer::Scalars ? name : str(name, "[", at % lowered.unit, "]");
            line(str(target, " = ",
                     stored.vector ? last_lane(stored, t, lanes_of(lane)) : without_parentheses(stored.text), ";"));
        }
        return;
    }
    const int index_lane = facts(*store.index).lane, used = lanes_of(index_lane);
    const LaneIndex index = lane_index(store.index, index_lane);
    const auto at = static_cast<std::int64_t>(index.base->as<ir::ConstArg>().value);
    const std::string name = variable(b, at / lowered.unit), text = as_memory(stored, t);
    const int first = static_cast<int>(at % lowered.unit);
    if (covers(lowered, at / lowered.unit, first, used)) line(str(name, " = ", without_parentheses(text), ";"));
    else
        line(str(name, " = ", prelude_.put_lanes(t, lanes_, first, used), "(", name, ", ", without_parentheses(text),
                 ");"));
}

void Printer::lane_store(const Store& store, int lane, const Value& stored) {
    const int b = store.buffer, used = lanes_of(lane), level = innermost();
    const DType t = store.value->dtype;
    const bool is_private = expanded_.buffers[b].form == LoweredBuffer::LaneArray;
    const std::string text = without_parentheses(as_memory(stored, t));
    const LaneIndex index = is_private ? LaneIndex{} : lane_index(store.index, lane);
    if (!index.affine) {
        std::string at = as_vector(value(*store.index, level), DType::I64), base = names_[b];
        if (is_private) {
            at = str("(", at, " * ", lanes_, " + ", prelude_.iota(lanes_), "())");
            base = str("(", memory_type(t), "*)", base);
        }
        line(str(prelude_.memory("store_gather", t, lanes_), "(", base, ", ", at, ", ", used, ", ", text, ");"));
        return;
    }
    const std::string at = address(b, *index.base, level);
    const bool whole = index.stride == 1 && used == lanes_;
    const std::size_t bytes = size_of(t) * static_cast<std::size_t>(lanes_);
    if (whole && kernel_.buffers[b].stream && (bytes == 64 || bytes == 32)) {
        streams_ = true;
        line(str(prelude_.memory("stream", t, lanes_), "(", at, ", ", text, ");"));
    } else if (whole) line(str(prelude_.memory("store", t, lanes_), "(", at, ", ", text, ");"));
    else if (index.stride == 1)
        line(str(prelude_.memory("store_some", t, lanes_), "(", at, ", ", used, ", ", text, ");"));
    else
        line(str(prelude_.memory("store_strided", t, lanes_), "(", at, ", ", index.stride, ", ", used, ", ", text,
                 ");"));
}

}  // namespace weft::backend::c
