// backend/x86/lane_ops.h: values in registers: made, compared, chosen between, resized, moved from lane to lane. It has
// no state of its own, and knows no memory, expressions or kernels.
//
// How values are held:
// - A scalar integer or bool: in a general register, extended to 64 bits as its type says. f16 and bf16: their bits,
//   likewise.
// - A scalar float: lane 0 of a vector register.
// - A vector: one register, with lanes of 4 bytes (smaller integers are extended, halves are their bits) or of 8. An
//   i64 that fits 32 bits, as indices mostly do, has lanes of 4 bytes where 8 would not fit.
// - A vector of bools: a mask register; with AVX2 lanes of 4 bytes, all ones or zero.
#pragma once

#include "backend/x86/builder.h"
#include "ir/op.h"

#include <vector>

namespace weft::backend::x86 {

struct Value {
    Reg reg;
    bool vector = false;
    bool is_mask = false;  // a vector of bools
    std::int8_t lane = 0;  // bytes per lane of a vector
};

// Thrown where a vector of 8-byte lanes is needed that is wider than a register: the kernel is emitted again with half
// the lanes.
struct TooWide {};

inline bool is_plain_float(DType t) { return t == DType::F32 || t == DType::F64; }

enum Predicate { kEq = 0, kLt = 1, kLe = 2 };  // of compare_lanes

class LaneOps : public Builder {
public:
    using Builder::Builder;
    using Op = ir::Op;

    // ---- registers
    using Builder::width;
    int width(const Value& v) const { return v.vector ? width(v.lane) : 16; }
    int lane_bytes(DType t) const;  // in registers; throws TooWide
    Value like(const Value& v, Reg r) const { return {r, v.vector, v.is_mask, v.lane}; }
    Value lanes_in(Reg r, int lane_bytes) const { return {r, true, false, static_cast<std::int8_t>(lane_bytes)}; }
    Value new_vector(int lane_bytes) { return lanes_in(vec_reg(width(lane_bytes)), lane_bytes); }
    Value new_mask();
    Value copy(const Value& v);  // for ops that change nothing: no two nodes share a register
    Value constant_like(const Value& v, DType t, Word word);

    // ---- masks
    Value compare_lanes(Predicate predicate, const Value& a, const Value& b, DType t);
    Value select(const Value& mask_value, const Value& yes, const Value& no);
    Value invert(const Value& mask_value);
    Value combine(Op op, const Value& a, const Value& b);        // masks, by And, Or, Xor
    Value numbers(const Value& mask_value);                      // 0 and 1 in lanes of 4 bytes
    Value mask_of(const Value& numbers);                         // != 0
    Reg mask_for(const Value& mask_value, int lane_bytes);       // as an instruction on such lanes wants it
    Reg used_mask(int used, int lane_bytes, const Value* gate);  // kNone: all lanes
    void jump_if_none(const Value& mask_value, int to);          // of the lanes is true

    // ---- lanes
    std::uint32_t bits_id(Op op) const;  // the instruction for And, Or, Xor
    Value wrapped(Value v, DType t);     // a result of small integers, extended anew
    Value resize_lanes(const Value& v, int lane_bytes, bool sign);
    Value upper_lanes(const Value& v, int by);
    Value permuted(const Value& even, const Value* odd, std::vector<std::int64_t> places);
    Value blended(const Value& a, const Value& b, const std::vector<bool>& from_b);

    // ---- scalars
    void extend(Reg r, DType t);
    Reg flag_reg(std::uint32_t set);  // what the flags say, as 0 or 1
};

}  // namespace weft::backend::x86
