// backend/x86/emitter.h: from the loop IR to instructions over virtual registers. An expression is emitted once, at the
// outermost loop where all its variables are known and nothing it loads is stored to; equal expressions are one node, so nothing
// is computed twice. Statements are in emit_statements.cpp, expressions in emit_expressions.cpp, addresses in
// emit_addresses.cpp, loads in emit_loads.cpp, stores in emit_stores.cpp, locals in registers in emit_variables.cpp, loads of lanes that lie
// near each other in emit_windows.cpp, vector ops in emit_vector.cpp, scalar ops in emit_scalar.cpp, 64-bit integers in emit_longs.cpp,
// conversions in emit_convert.cpp.
//
// How values are held:
// - A scalar integer or bool: in a general register, extended to 64 bits as its type says. f16 and bf16: their bits, likewise.
// - A scalar float: lane 0 of a vector register.
// - A vector: one register, with lanes of 4 bytes (smaller integers are extended, halves are their bits) or of 8. An i64 that
//   fits 32 bits, as indices mostly do, has lanes of 4 bytes where 8 would not fit.
// - A vector of bools: a mask register; with AVX2 lanes of 4 bytes, all ones or zero.
#pragma once

#include "backend/linear.h"
#include "backend/placement.h"
#include "backend/x86/code.h"
#include "backend/x86/helpers.h"

#include <array>
#include <deque>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <unordered_map>
#include <unordered_set>
#include <vector>

namespace weft::backend::x86 {

// Thrown where a vector of 8-byte lanes is needed that is wider than a register: the kernel is emitted again with half the lanes.
struct TooWide {};

struct Emitted {
    Code code;
    std::deque<LaneCall> calls;  // the code points at them
};

struct Value {
    Reg reg;
    bool vector = false;
    bool is_mask = false;  // a vector of bools
    std::int8_t lane = 0;  // bytes per lane of a vector
};

class Emitter {
public:
    Emitter(const kernel::Kernel& kernel, Expanded expanded, bool wide);
    Emitted run();

private:
    using Node = ir::Node;
    using NodeRef = ir::NodeRef;
    using Op = ir::Op;

    struct Scope {
        std::vector<Ins> code;
        std::uint64_t stored = 0;        // buffers that this loop stores to
        bool guarded = false;            // it may run zero times
        Reg var;                         // the loop's counter
        std::vector<const Node*> known;  // until the scope ends
        std::map<std::pair<int, std::vector<std::pair<const Node*, std::int64_t>>>, Reg> addresses;
        std::vector<std::pair<std::int64_t, Reg>> inductions;  // counter * unit, kept up by additions
    };

    // ---- statements
    void emit(const kernel::Body& body);
    void emit(const kernel::Loop& loop);
    void emit(const kernel::Store& store);
    void emit(const kernel::Prefetch& prefetch);
    void emit_depths(const NodeRef& root);
    void forget(std::uint64_t buffers);
    void find_raw(const kernel::Body& body);
    int innermost() const { return static_cast<int>(scopes_.size()) - 1; }

    // ---- instructions, at the level where the current expression goes
    Ins& put(std::uint32_t id, std::initializer_list<Operand> operands);
    Ins& arithmetic(std::uint32_t id, int element, std::initializer_list<Operand> operands);  // see Ins::element
    void put_store(std::uint32_t id, std::initializer_list<Operand> operands);  // operand 0 is not written
    void move(Reg to, Reg from);
    Reg gp_reg() { return code_.make(Class::Gp, 8); }
    Reg mask_reg() { return code_.make(Class::Mask, 8); }
    Reg vec_reg(int bytes) { return code_.make(Class::Vec, bytes); }
    int new_label() { return code_.labels++; }
    void bind(int label);
    int width(int lane_bytes) const { return lane_bytes * lanes_ < 16 ? 16 : lane_bytes * lanes_; }
    int width(const Value& v) const { return v.vector ? width(v.lane) : 16; }
    std::int64_t frame_space(std::int64_t bytes);
    std::int64_t lane_slot(int number);  // three places in the frame where vectors are taken apart
    struct AtLevel;

    // ---- constants
    std::int32_t pool_bytes(const void* data, std::size_t size);
    Reg constant(std::vector<std::int64_t> key, Class cls, int bytes, const void* data, int size);
    Reg constant_vector(Word bits, int lane_bytes, int bytes);
    Reg constant_lanes(const std::vector<std::int64_t>& lanes, int lane_bytes);
    Reg lane_mask(int used, int lane_bytes);  // the first lanes: a mask register, or a vector of ones
    Reg constant_mask(std::uint32_t lanes);   // AVX-512 alone
    Reg constant_gp(std::int64_t value);

    // ---- expressions
    const ExprFacts& facts(const Node& node) { return placement_.facts(node); }
    int level_of(const Node& node) { return placement_.level_of(node); }
    Value value(const Node& node);
    Value vector_value(const Node& node);  // broadcast if it is a scalar
    Value compute(const Node& node);
    Value broadcast(const Node& node);
    bool consumed(const Node& node, const Value& v);  // its register may be overwritten: this is its only use
    int lane_bytes(const Node& node);
    int lane_bytes(DType t) const;  // throws TooWide
    Value leaf(const Node& node);
    Value check(const Node& node);
    Value call_helper(LaneCall call, std::initializer_list<Value> operands, const Value& like);
    Value helper_op(const Node& node);
    void jump_if_none(const Value& mask_value, int to);  // of the lanes is true
    Value copy(const Value& v);                          // for ops that change nothing: no two nodes share a register

    // ---- scalar ops
    Value scalar_op(const Node& node);
    Value scalar_int(const Node& node);
    Value scalar_compare(const Node& node);
    Value scalar_where(const Node& node);
    Value scalar_division(const Node& node);
    Value scalar_cast(const Value& from, DType source, DType target);
    Value scalar_float_to_int(const Value& from, DType source, DType target);
    Value scalar_bitcast(const Node& node);
    Operand int_operand(const Node& node);  // an immediate, if it can be one
    void extend(Reg r, DType t);
    Reg flag_reg(std::uint32_t set);  // what the flags say, as 0 or 1

    // ---- vector ops
    Value vector_op(const Node& node);
    Value float_op(const Node& node);  // of lanes, or of a scalar in lane 0
    Value fma(const Node& node);
    Value scale(const Node& node, const Value& a);
    Value lookup(const Node& node);
    Value float_limit(const Node& node, const Value& like);
    Value operand(const Node& user, int i) {
        return facts(user).lane >= 0 ? vector_value(user.source(i)) : value(user.source(i));
    }
    Value vector_int(const Node& node);
    bool only_here(const Node& node);
    Value three_bits(const Node& node, int inner);
    Value vector_division(const Node& node);
    Value quotient_in_doubles(const Value& a, const Value& b, bool is_unsigned_type);
    Value long_division(const Value& a, const Value& b, bool division);
    Operand long_reg(const Value& v) const { return vec(v.reg, width(8)); }
    Value long_op(std::uint32_t id, const Value& a, const Operand& b) {
        const Value result = new_vector(8);
        put(id, {long_reg(result), long_reg(a), b});
        return result;
    }
    Value long_product(const Value& a, const Value& b);
    Value long_sign(const Value& a);
    Value long_abs(const Value& a);
    Value long_shift(const Value& a, const Operand& by);  // to the right, the sign stays
    Value longs_to_doubles(const Value& from, bool is_unsigned_type);
    Value longs_to_floats(const Value& from, bool is_unsigned_type);
    void unsigned_to_doubles(Reg to, Reg from, int bytes);  // of the doubles
    void doubles_to_unsigned(Reg to, Reg from);
    Value doubles_to_longs(const Value& from, bool is_unsigned_type);  // truncated; they have to be in range
    Value mask_op(const Node& node);
    Value rarely(const Node& node);
    Value vector_cast(const Value& from, DType source, DType target, int target_lane);
    Value vector_bitcast(const Node& node);
    Value float_to_int(const Value& from, DType source, DType target, int target_lane);
    Value float_to_long(const Value& from, DType target);
    Value float_to_unsigned(const Value& from, DType source);
    Value int_to_float(const Value& from, DType source, DType target);
    Value unsigned_to_float(const Value& from, int lane);
    Value half_to_float(const Value& from, DType source);
    Value float_to_half(const Value& from, DType target);
    Value cast_by_helper(const Value& from, DType source, DType target, int target_lane);
    Value resize_lanes(const Value& v, int lane_bytes, bool sign);
    Value new_vector(int lane_bytes) {
        return {vec_reg(width(lane_bytes)), true, false, static_cast<std::int8_t>(lane_bytes)};
    }
    Value new_mask();
    Value wrapped(Value v, DType t);  // a result of small integers, extended anew
    Value select(const Value& mask_value, const Value& yes, const Value& no);
    Value invert(const Value& mask_value);
    Value like(const Value& v, Reg r) const { return {r, v.vector, v.is_mask, v.lane}; }
    Value constant_like(const Value& v, DType t, Word word);
    Value compare_lanes(int predicate, const Value& a, const Value& b, DType t);  // 0: equal, 1: less, 2: less or equal
    Reg mask_for(const Value& mask_value, int lane_bytes);  // as an instruction on such lanes wants it
    Value numbers(const Value& mask_value);                 // 0 and 1 in lanes of 4 bytes
    Value mask_of(const Value& numbers);                    // != 0
    std::uint32_t bits_id(Op op) const;

    // ---- memory
    Operand address(int buffer, const Node& index, int element);
    Operand address(int buffer, Linear index, int element);
    Reg address_sum(int buffer, std::span<const std::pair<const Node*, std::int64_t>> terms);
    Reg pointer(int buffer);
    Reg induction(Scope& scope, std::int64_t unit);
    Operand plain(const Operand& memory);  // base and offset alone: the index register is free for lanes
    struct LaneIndex {
        bool affine = false;
        std::int64_t stride = 0;
        Linear base;  // the index in lane 0
    };
    LaneIndex lane_index(const Node& index, int lane);
    // Lanes of a buffer: from one address on, or at an index per lane.
    struct Lanes;
    Operand lane_addresses(const Lanes& at, int element);  // of a gather or a scatter of so many bytes
    struct Lanes {
        Operand base;
        Value index;  // undefined: one after the other
        int used = 0;
    };
    Lanes lanes_at(int buffer, const Node& index, int lane, bool is_private);
    // Where lanes that are all in use lie one after the other.
    std::optional<Operand> whole_lanes(int buffer, const Node& index, int lane);
    Value half_load(const Node& cast);            // no vector: its operand is no whole load of f16
    bool half_store(const kernel::Store& store);  // false: the value is no f32 made an f16, or the lanes are not whole
    Value load(const Node& node);
    Value scalar_load(DType t, const Operand& from, const Node* gate);
    void load_into(Reg r, DType t, const Operand& from);
    void scalar_store(DType t, const Operand& to, const Value& v);
    Value lane_load(const Node& node);
    Value whole_load(DType t, const Operand& from, int used, const Value* gate, std::span<const Reg> same);
    void uniform_parts(const Node& gate, std::vector<Reg>& parts);
    Value gather(DType t, const Lanes& at, const Value* gate);
    Value lane_by_lane_load(DType t, const Lanes& at, const Value* gate);
    std::vector<std::int64_t> lane_offsets(const Node& index, int lane, Linear& base);
    // No vector: it takes a gather.
    Value window_load(DType t, int buffer, const Node& index, int lane, const Node* gate, std::span<const Reg> same);
    Value window_gate(const Node& gate, int first, std::uint64_t wanted);
    bool window_store(DType t, int buffer, const Node& index, int lane, const Value& v);  // false: it takes a scatter
    Value permuted(const Value& even, const Value* odd, std::vector<std::int64_t> places);
    Value blended(const Value& a, const Value& b, const std::vector<bool>& from_b);
    Value variable_load(const Node& node);
    void variable_store(const kernel::Store& store, const Value& v);
    void lane_store(const kernel::Store& store, int lane, const Value& v);
    void whole_store(DType t, const Operand& to, const Value& v, int used);
    void packed_store(Operand to, const Value& v, int element);
    void short_store(Operand to, const Value& v, int bytes);
    void masked_store(DType t, Operand to, const Value& v, Reg lanes);
    void scatter(DType t, const Lanes& at, const Value& v);
    void lane_by_lane_store(DType t, const Lanes& at, const Value& v);
    Value last_lane(const Value& v, DType t, int lanes) { return one_lane(v, t, lanes - 1); }
    Value one_lane(const Value& v, DType t, int lane);
    Value upper_lanes(const Value& v, int by);
    Reg variable(int buffer, std::int64_t number);
    Reg column(int buffer, std::int64_t number);  // of a block in variables
    int stored_lane(DType t) const;               // bytes per lane of what memory and variables hold
    bool in_variables(int buffer) const;
    bool whole_lines(const Linear& index, std::int64_t element) const;
    void assign(Reg variable, const Value& v, const Node& node);
    void put_lanes(Reg variable, const Value& v, DType t, int first, int used);
    void for_lanes(int used, const std::function<void(Reg lane)>& body);
    Reg used_mask(int used, int lane_bytes, const Value* gate);  // kNone: all lanes

    const kernel::Kernel& kernel_;
    const Expanded expanded_;
    Placement placement_;
    const bool wide_;  // AVX-512
    const int lanes_, most_bytes_;
    Code code_;
    std::deque<LaneCall> calls_;
    std::vector<Scope> scopes_;
    // What has been emitted and still holds. A store makes what was loaded from its buffer stale.
    struct Known {
        Value value;
        int level;
    };
    std::unordered_map<const Node*, Known> values_, broadcasts_;
    std::array<std::vector<const Node*>, 64> loading_;  // by buffer: known nodes that load from it
    std::uint64_t loading_addresses_ = 0;               // buffers that known addresses load from
    void remember(std::unordered_map<const Node*, Known>& known, const Node& node, const Value& value);
    static constexpr int kBefore = -1;
    std::vector<Ins> before_;    // constants and pointers: what no branch may skip
    int at_ = 0;                 // the level that instructions go to, or kBefore
    std::vector<NodeRef> kept_;  // nodes made here: facts and values go by address
    std::vector<Reg> pointers_;
    std::map<std::pair<int, std::int64_t>, Reg> variables_;
    std::map<int, std::vector<Reg>> columns_;  // of blocks that were transposed since they were stored
    std::map<std::vector<std::int64_t>, Reg> constants_;
    std::vector<std::int64_t> stack_arrays_;  // per buffer: where it lies in the frame, -1 if not
    std::int64_t lane_slot_ = -1;
    Operand last_hint_;  // what was prefetched last
    std::unordered_set<const Node*>
        seen_raw_;  // floats whose very bits matter: something else than arithmetic uses them
};

}  // namespace weft::backend::x86
