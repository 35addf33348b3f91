// schedule/plan.h: the "plan" arrow: kernels in run order, and where every value lives. A plan owns no memory and no data: it is bound
// to leaves and scalars at each run.
#pragma once

#include "schedule/capture.h"
#include "schedule/fuse.h"
#include "schedule/simplified_graph.h"

#include <cstdint>
#include <vector>

namespace weft::schedule {

struct PlanValue {
    enum class Where : std::uint8_t {
        Leaf,     // bound to a leaf's memory
        Output,   // fresh memory that outlives the run
        Donated,  // the memory of a donatable leaf
        Arena,    // between kernels only
        Inside,   // a part of another value
    };
    Where where = Where::Arena;
    DType dtype = DType::F32;
    Shape shape;
    Dims strides;
    std::int64_t bytes = 0;
    int leaf = -1;  // Leaf, Donated: the Param slot
    std::int64_t arena_offset = 0;
    int whole = -1;           // Inside: the value that it is part of, which is not Inside itself …
    std::int64_t offset = 0;  // … and where it begins there, in elements
    int first_constant = -1;  // a box in a leaf: its start is constants[first_constant …], one per axis
};

struct PlanStep {
    ScheduledKernel kernel;
    std::vector<int> values;  // per param of the kernel: index into Plan::values
};

struct Plan {
    std::vector<PlanValue> values;
    std::vector<PlanStep> steps;
    std::vector<int> outputs;               // per captured output: index into values
    std::vector<std::pair<int, int>> kept;  // (captured item, value): stored values worth keeping for a gradient
    std::vector<int> run_time_constants;    // constants that are bound like scalars
    std::vector<Word> literals;             // numbers that kernels take as scalars, after all others
    std::vector<int> free_constants;        // constants that do not matter to the kernels (starts of boxes)
    std::size_t arena_bytes = 0;
};

struct PlanOptions {
    bool donate = false;           // outputs may take over the memory of leaves whose last use is in this run …
    std::vector<int> not_donated;  // … but for these: the order of a kernel that reads and writes them was not proven
};

// The "plan" arrow. Throws InternalError if what it made is not safe (schedule/verify_plan.h).
struct FusedGraph;
Plan plan_memory(const Captured& captured, const SimplifiedGraph& graph, const FusedGraph& fused,
                 const PlanOptions& options);

}  // namespace weft::schedule
