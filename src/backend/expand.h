// backend/expand.h: what c, x86 and cuda want to know before they write code: the body with its unrolled loops written out,
// which loops become lanes of vectors, and what each local becomes.
#pragma once

#include "kernel/kernel.h"

#include <unordered_map>
#include <vector>

namespace weft::backend {

struct LoweredBuffer {
    enum Form : std::uint8_t {
        Pointer,  // a parameter, or a local in the scratch block
        Scalars,  // a variable (a register) per element: sum_0
        Vectors,  // a vector variable per `unit` elements: acc_0, acc_1; element i is lane i % unit of acc_[i / unit]
        LaneVectors,  // private to each lane: a vector variable per element
        Array,        // an array on the stack
        LaneArray,    // private to each lane: an array of vectors
    };
    Form form = Pointer;
    bool used = false;
    int unit = 1;
    bool transposed = false;  // Vectors: a block of unit x unit elements, stored by rows and read by columns
    std::vector<int> reach;   // Vectors: of each variable, the lanes up to the last that anything reads or writes
    int lane_var =
        -1;  // Array: private to each iteration of this loop (lanes that run one after the other), `unit` of them
};

// Whether a store to lanes first … first + used - 1 of a variable may write all of it.
inline bool covers(const LoweredBuffer& lowered, std::int64_t number, int first, int used) {
    return first == 0 &&
           (used == lowered.unit || lowered.transposed || used >= lowered.reach[static_cast<std::size_t>(number)]);
}

struct Expanded {
    kernel::Body body;
    int lanes = 0;                                  // of every vector type in this kernel; 0: it has no vector loop
    std::unordered_map<int, int> lane_vars;         // vector loops: id of the variable -> extent
    std::vector<LoweredBuffer> buffers;             // per buffer
    std::unordered_map<const ir::Node*, int> uses;  // how many expressions and statements use a node
};

// What the backend can do.
struct ExpandOptions {
    bool lanes = true;        // else every vector loop runs serially
    bool transposes = false;  // of blocks in registers (see kernel.h); else they are arrays on the stack
    bool threads = false;     // run Block and Thread loops
};
Expanded expand(const kernel::Kernel& kernel, const ExpandOptions& options = {});

}  // namespace weft::backend
