// backend/x86/emitter.h: from the loop IR to instructions over virtual registers. An expression is emitted once, at the
// outermost loop where all its variables are known and nothing it loads is stored to; equal expressions are one node,
// so nothing is computed twice.
//
// It is the last of six classes. Each derives from the one above it in this list, so that an instruction is a short
// call in all of them, and none needs what follows:
//
//     Builder      builder.h      instructions, each at its place; registers, labels, constants, the frame
//     LaneOps      lane_ops.h     values in registers: masks, choices, lanes that move; says how values are held
//     Accesses     accesses.h     loads and stores at known addresses; calls of helpers
//     Arithmetic   arithmetic.h   conversions, 64-bit integers and quotients
//     Buffers      buffers.h      where the kernel's buffers are
//     Emitter      here           expressions and statements
//
// Here statements are in emit_statements.cpp, where expressions go in emit_expressions.cpp, ops in emit_scalar.cpp and
// emit_vector.cpp, addresses in emit_addresses.cpp, loads in emit_loads.cpp, stores in emit_stores.cpp, locals in
// registers in emit_variables.cpp, loads and stores of lanes that lie near each other in emit_windows.cpp. Addresses
// are no layer of their own: an index has expressions as its terms, and an expression loads from addresses. Known
// values (known_values.h) and raw nodes (raw_nodes.h) are apart from the instructions.
#pragma once

#include "backend/linear.h"
#include "backend/placement.h"
#include "backend/x86/buffers.h"
#include "backend/x86/known_values.h"

#include <deque>
#include <optional>
#include <span>
#include <unordered_set>
#include <vector>

namespace weft::backend::x86 {

struct Emitted {
    Code code;
    std::deque<LaneCall> calls;  // the code points at them
};

class Emitter : private Buffers {
public:
    Emitter(const kernel::Kernel& kernel, Expanded expanded, bool wide);
    Emitted run();

private:
    using Node = ir::Node;
    using NodeRef = ir::NodeRef;

    // ---- statements
    void emit(const kernel::Body& body);
    void emit(const kernel::Loop& loop);
    void emit(const kernel::Store& store);
    void emit(const kernel::Prefetch& prefetch);
    void emit_depths(const NodeRef& root);

    // ---- expressions
    const ExprFacts& facts(const Node& node) { return placement_.facts(node); }
    int level_of(const Node& node) { return placement_.level_of(node); }
    Value value(const Node& node);
    Value vector_value(const Node& node);  // broadcast if it is a scalar
    Value operand(const Node& user, int i) {
        return facts(user).lane >= 0 ? vector_value(user.source(i)) : value(user.source(i));
    }
    Value compute(const Node& node);
    Value broadcast(const Node& node);
    void remember(KnownValues::Form form, const Node& node, const Value& value);
    bool consumed(const Node& node, const Value& v);  // its register may be overwritten: this is its only use
    using Buffers::lane_bytes;
    int lane_bytes(const Node& node);
    Value leaf(const Node& node);
    Value check(const Node& node);
    Value helper_op(const Node& node);
    Value rarely(const Node& node);

    // ---- scalar ops
    Value scalar_op(const Node& node);
    Value scalar_int(const Node& node);
    Value scalar_compare(const Node& node);
    Value scalar_where(const Node& node);
    Value scalar_division(const Node& node);
    Operand int_operand(const Node& node);  // an immediate, if it can be one

    // ---- vector ops
    Value vector_op(const Node& node);
    Value float_op(const Node& node);  // of lanes, or of a scalar in lane 0
    Value fma(const Node& node);
    Value lookup(const Node& node);
    Value float_limit(const Node& node, const Value& like);
    Value vector_int(const Node& node);
    bool only_here(const Node& node);
    Value three_bits(const Node& node, int inner);
    Value vector_division(const Node& node);
    Value mask_op(const Node& node);

    // ---- addresses
    Operand address(int buffer, const Node& index, int element);
    Operand address(int buffer, Linear index, int element);
    Reg address_sum(int buffer, std::span<const std::pair<const Node*, std::int64_t>> terms);
    Reg induction(std::int64_t unit);  // of the innermost loop
    struct LaneIndex {
        bool affine = false;
        std::int64_t stride = 0;
        Linear base;  // the index in lane 0
    };
    LaneIndex lane_index(const Node& index, int lane);
    Lanes lanes_at(int buffer, const Node& index, int lane, bool is_private);
    // Where lanes that are all in use lie one after the other.
    std::optional<Operand> whole_lanes(int buffer, const Node& index, int lane);

    // ---- loads and stores
    Value load(const Node& node);
    Value lane_load(const Node& node);
    Value half_load(const Node& cast);  // no vector: its operand is no whole load of f16
    void lane_store(const kernel::Store& store, int lane, const Value& v);
    bool half_store(const kernel::Store& store);  // false: the value is no f32 made an f16, or the lanes are not whole
    void uniform_parts(const Node& gate, std::vector<Reg>& parts);
    Value variable_load(const Node& node);
    void variable_store(const kernel::Store& store, const Value& v);
    void assign(Reg variable, const Value& v, const Node& node);
    std::vector<std::int64_t> lane_offsets(const Node& index, int lane, Linear& base);
    // No vector: it takes a gather.
    Value window_load(DType t, int buffer, const Node& index, int lane, const Node* gate, std::span<const Reg> same);
    Value window_gate(const Node& gate, int first, std::uint64_t wanted);
    bool window_store(DType t, int buffer, const Node& index, int lane, const Value& v);  // false: it takes a scatter

    struct LoopRegs {
        Reg counter;
        std::vector<std::pair<std::int64_t, Reg>> inductions;  // counter * unit, kept up by additions
    };

    Placement placement_;
    KnownValues known_;
    std::vector<LoopRegs> loops_;                     // by level; the function's body has no counter
    std::vector<NodeRef> kept_;                       // nodes made here: facts and values go by address
    const std::unordered_set<const Node*> seen_raw_;  // see raw_nodes.h
    Operand last_hint_;                               // what was prefetched last
};

}  // namespace weft::backend::x86
