// backend/x86/arithmetic.h: conversions, 64-bit integers and quotients: values for which there is no single
// instruction, or not on every machine. Results are those of the op table's evaluators and of core's cast_word. It has
// no state of its own.
#pragma once

#include "backend/x86/accesses.h"

namespace weft::backend::x86 {

class Arithmetic : public Accesses {
public:
    using Accesses::Accesses;

    // ---- scalars
    Value scalar_cast(const Value& from, DType source, DType target);
    Value scalar_bitcast(const Value& from, DType source, DType target);

    // ---- lanes
    Value vector_cast(const Value& from, DType source, DType target, int target_lane);
    Value vector_bitcast(const Value& from, DType source, DType target);
    Value scale(const Value& a, const Value& b, DType t);  // AVX2: a * 2^floor(b), in lanes or in lane 0
    Value quotient_in_doubles(const Value& a, const Value& b, bool is_unsigned_type);  // of 32 bits, floored

    // ---- 64-bit integers in lanes
    Value long_product(const Value& a, const Value& b);
    Value long_abs(const Value& a);
    Value long_shift(const Value& a, const Operand& by);  // AVX2: to the right, the sign stays
    Value long_division(const Value& a, const Value& b, bool division);
    Value longs_to_doubles(const Value& from, bool is_unsigned_type);
    Value doubles_to_longs(const Value& from, bool is_unsigned_type);  // truncated; they have to be in range

private:
    Value cast_by_helper(const Value& from, DType source, DType target, int target_lane);
    Value scalar_float_to_int(const Value& from, DType source, DType target);
    Value float_to_int(const Value& from, DType source, DType target, int target_lane);
    Value float_to_long(const Value& from, DType target);
    Value float_to_unsigned(const Value& from, DType source);
    Value int_to_float(const Value& from, DType source, DType target);
    Value unsigned_to_float(const Value& from, int lane);
    Value half_to_float(const Value& from, DType source);
    Value float_to_half(const Value& from, DType target);

    Operand long_reg(const Value& v) const { return vec(v.reg, width(8)); }
    Value long_op(std::uint32_t id, const Value& a, const Operand& b);
    Value long_sign(const Value& a);
    Value longs_to_floats(const Value& from, bool is_unsigned_type);
    void unsigned_to_doubles(Reg to, Reg from, int bytes);  // of the doubles
    void doubles_to_unsigned(Reg to, Reg from);
};

}  // namespace weft::backend::x86
