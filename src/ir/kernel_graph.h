// ir/kernel_graph.h: what the schedule hands to src/kernel: what one kernel computes, not how it loops.
#pragma once

#include "ir/node.h"

#include <string_view>
#include <vector>

namespace weft::ir {

// A kernel computes values row by row. `rows` are the outer ranges that everything in it shares; a value at row level has
// one element per row, one at full level has `inner` elements per row (row-major, so reshapes do not matter). An elementwise
// kernel or a contraction has only rows. A Param with negative strides is bound to its lowest address. Leaves of the outputs' expressions
// are Param (slot = position in `params`, strides in the node), ScalarParam, Const and Iota.
struct KernelGraph {
    enum class Kind : std::uint8_t { Rows, Scan, Scatter, Custom };  // Custom: a step without a kernel
    enum class Cut : std::uint8_t {
        None,
        Contraction,
        Reduction,
        AddsBlocks,  // of a sum, in their order
        Scan,
        Scatter,
        Custom,
        AskedFor,
        Contiguous,
        Part,  // of an array
        Written,
        ReadByCustom,
        ExpensiveRepeated,
        OutOfOrderRepeated,
        ExpensiveOperand,  // of a contraction
        Tangled,
        TooLarge,
    };

    struct Param {
        DType dtype;
        std::int64_t size = 0;  // elements that may be accessed, from the pointer on
        bool output = false;    // written; read as well, if a Param node with this slot occurs (donated storage)
    };
    struct Output {
        NodeRef value;
        int param = 0;      // where it goes
        bool full = false;  // full level; else one element per row
        Dims strides;       // of the value's axes in the target, in elements (row-major, or a box in a larger array)
    };

    Kind kind = Kind::Rows;
    Shape rows, inner;
    std::vector<Output> outputs;
    std::vector<Param> params;
    std::vector<DType> scalars;
    Cut cut = Cut::None;  // why it is a kernel of its own
};

std::string_view describe(KernelGraph::Cut cut);

// The same with nodes of another interner: what is compiled without the graph lock.
KernelGraph copied_into(Interner& interner, const KernelGraph& graph);

}  // namespace weft::ir
