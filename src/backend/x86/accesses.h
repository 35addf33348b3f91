// backend/x86/accesses.h: loads and stores of values at addresses that are known, and what goes through memory of the
// function's own: lanes one by one, and calls of helpers. It knows no kernels, expressions or buffers.
#pragma once

#include "backend/x86/helpers.h"
#include "backend/x86/lane_ops.h"

#include <deque>
#include <functional>
#include <span>
#include <utility>

namespace weft::backend::x86 {

// Where lanes are: from one address on, or at an index per lane.
struct Lanes {
    Operand base;
    Value index;  // undefined: one after the other
    int used = 0;
};

class Accesses : public LaneOps {
public:
    using LaneOps::LaneOps;

    // ---- addresses
    Operand plain(const Operand& memory);  // base and offset alone: the index register is free for lanes
    Operand lane_addresses(const Lanes& at, int element_bytes);  // of a gather or a scatter

    // ---- scalars
    void load_into(Reg r, DType t, const Operand& from);
    Value scalar_load(DType t, const Operand& from, Reg gate = kNone);  // 0 if there is a gate and it is 0
    void scalar_store(DType t, const Operand& to, const Value& v);

    // ---- lanes
    // `gate`: a mask of the lanes that are loaded, the others are 0. `same`: parts of it that are the same for all
    // lanes.
    Value whole_load(DType t, const Operand& from, int used, const Value* gate, std::span<const Reg> same);
    Value gather(DType t, const Lanes& at, const Value* gate);
    void whole_store(DType t, const Operand& to, const Value& v, int used);
    void masked_store(DType t, Operand to, const Value& v, Reg lanes);  // kNone: all lanes
    void scatter(DType t, const Lanes& at, const Value& v);

    // ---- through the frame
    Value one_lane(const Value& v, DType t, int lane);
    Value last_lane(const Value& v, DType t, int lanes) { return one_lane(v, t, lanes - 1); }
    void put_lanes(Reg to, const Value& v, DType t, int first, int used);  // of v, from lane `first` of `to` on
    // Operands of one type; the result is held as `like` is.
    Value call_helper(LaneCall call, std::initializer_list<Value> operands, const Value& like);

    std::deque<LaneCall> take_calls() { return std::move(calls_); }  // the code points at them

private:
    void for_lanes(int used, const std::function<void(Reg lane)>& body);
    Value lane_by_lane_load(DType t, const Lanes& at, const Value* gate);
    void lane_by_lane_store(DType t, const Lanes& at, const Value& v);
    void packed_store(Operand to, const Value& v, int element);
    void short_store(Operand to, const Value& v, int bytes);

    std::deque<LaneCall> calls_;
};

}  // namespace weft::backend::x86
