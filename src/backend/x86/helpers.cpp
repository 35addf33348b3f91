// backend/x86/helpers.cpp: see helpers.h.
#include "backend/x86/helpers.h"

#include "backend/x86/code.h"

#include <cstring>

namespace weft::backend::x86 {
namespace {

Word read_lane(DType t, const std::byte* from, int bytes) {
    Word word = 0;
    std::memcpy(&word, from, static_cast<std::size_t>(bytes));
    if (bytes == 4 && is_signed_int(t))
        word = static_cast<Word>(static_cast<std::int64_t>(static_cast<std::int32_t>(word)));
    return word;
}

Word check_lane(const LaneCall& call, Word word, CheckRecord* check) {
    const auto value = static_cast<std::int64_t>(word);
    if (value >= call.low && value < call.high) return word;
    if (check && !check->code) check->code = call.code, check->value = value;
    return static_cast<Word>(call.low);
}

}  // namespace

extern "C" void weft_x86_lanes(const LaneCall* call, std::byte* area, CheckRecord* check) {
    if (call->polls) {
        const Word stop = check && check->stop && check->stop();
        std::memcpy(area + kCallResult, &stop, sizeof stop);
        return;
    }
    for (int lane = 0; lane < call->lanes; ++lane) {
        Word in[3] = {};
        for (int i = 0; i < call->arity; ++i)
            in[i] = read_lane(call->operand, area + i * kCallOperand + lane * call->operand_bytes, call->operand_bytes);
        Word out;
        if (call->op == ir::Op::Check) out = check_lane(*call, in[0], check);
        else if (call->op == ir::Op::Cast) out = cast_word(call->operand, call->result, in[0]);
        else out = ir::info(call->op).eval(call->operand, in);
        std::memcpy(area + kCallResult + lane * call->result_bytes, &out, static_cast<std::size_t>(call->result_bytes));
    }
}

}  // namespace weft::backend::x86
