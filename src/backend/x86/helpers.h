// backend/x86/helpers.h: what generated code calls for ops that have no fast instruction: the op table's own evaluator, lane by lane.
// So rare ops (integer powers, checks that fail) cost no code generator and have the right bits by construction.
#pragma once

#include "backend/backend.h"
#include "ir/op.h"

namespace weft::backend::x86 {

// One kind of call. Operand i lies in the call area at i * kCallOperand: `lanes` elements of 4 or 8 bytes, smaller ones
// extended; bools are 0 and 1. The result goes to kCallResult likewise.
struct LaneCall {
    ir::Op op = ir::Op::Add;
    DType operand = DType::F32, result = DType::F32;  // as `eval` is called; for Cast: from, to
    std::int8_t arity = 1;
    std::int8_t lanes = 1;
    std::int8_t operand_bytes = 8, result_bytes = 8;
    std::int64_t low = 0, high = 0, code = 0;  // Check
    bool polls = false;                        // instead: whether to stop, as an i64
    friend bool operator==(const LaneCall&, const LaneCall&) = default;
};

extern "C" void weft_x86_lanes(const LaneCall* call, std::byte* area, CheckRecord* check);

}  // namespace weft::backend::x86
