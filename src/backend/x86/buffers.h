// backend/x86/buffers.h: where the kernel's buffers are: at a pointer, in the frame, or in variables, which are
// registers. It knows the kernel, but no expressions: where in a buffer an index leads is the emitter's.
#pragma once

#include "backend/expand.h"
#include "backend/x86/arithmetic.h"

#include <map>
#include <vector>

namespace weft::backend::x86 {

class Buffers : public Arithmetic {
public:
    Buffers(const kernel::Kernel& kernel, Expanded expanded, bool wide);

    bool in_scratch(int buffer) const;  // of all the locals that share the scratch memory
    bool in_variables(int buffer) const;
    bool is_lane_array(int buffer) const;  // an element per lane
    int element_bytes(int buffer) const { return static_cast<int>(size_of(kernel_.buffers[buffer].dtype)); }
    int used_lanes(int lane_loop) const { return expanded_.lane_vars.at(lane_loop); }

    Reg pointer(int buffer);
    Reg variable(int buffer, std::int64_t number);
    Reg column(int buffer, std::int64_t number);                 // of a block in variables
    void forget_columns(int buffer) { columns_.erase(buffer); }  // a row was stored

protected:
    const kernel::Kernel& kernel_;
    const Expanded expanded_;

private:
    std::vector<Reg> pointers_;
    std::vector<std::int64_t> frame_places_;  // per buffer; -1: not in the frame
    std::map<std::pair<int, std::int64_t>, Reg> variables_;
    std::map<int, std::vector<Reg>> columns_;  // of blocks that were transposed since they were stored
};

}  // namespace weft::backend::x86
