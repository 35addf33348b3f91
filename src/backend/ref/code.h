// backend/ref/code.h: a kernel in the form that `ref` interprets: a tree of loops and stores, each with the flat list
// of instructions that must be evaluated before it. Every value has a slot in one frame of words.
#pragma once

#include "kernel/kernel.h"

#include <string>
#include <vector>

namespace weft::backend::ref {

struct Instruction {
    enum Kind : std::uint8_t {
        Affine,  // constant + sum of factor * loop variable: terms [sources[0], sources[1])
        Eval,    // by the op table
        Cast,
        Bitcast,
        Load,  // sources: index, gate or -1
        Check,
        Lookup,
    };
    Kind kind = Eval;
    DType dtype = DType::I64, operand = DType::I64;  // of the result, of the last source
    int result = 0;
    int sources[3] = {0, 0, 0};
    int buffer = 0;  // Load; Check: which one
    ir::EvalFn eval = nullptr;
    const float* table = nullptr;  // Lookup
    Word constant = 0;
};

struct Step {
    enum Kind : std::uint8_t { Loop, Store };
    Kind kind = Store;
    int first = 0, last = 0;               // instructions that come before
    int buffer = 0, index = 0, value = 0;  // Store: slots of index and value
    int var = 0, count = -1;               // Loop: slots of the variable and of the count (-1: there is none)
    std::int64_t extent = 0;
    bool polls = false;
    bool block = false, thread = false;  // Loop: its kind
    std::vector<Step> body;
};

struct Memory {
    std::string name;
    DType dtype = DType::F32;
    kernel::Buffer::Role role = kernel::Buffer::Role::Input;
    bool own = false;  // a local that lives with the run, not in the scratch block
    std::int64_t size = 0, scratch_offset = 0;
    std::int64_t lanes = 1;  // private to each lane: [size][lanes]
    int lane_var = 0;        // its slot; -1: the number of the thread
    bool of_block = false;   // undefined when a block begins
    std::size_t bytes() const { return static_cast<std::size_t>(size * lanes) * size_of(dtype); }
};

struct Code {
    struct Term {
        int var;
        Word factor;
    };
    struct Limits {
        std::int64_t low, high;
    };

    std::string name;
    std::vector<Memory> memories;
    std::vector<Instruction> instructions;
    std::vector<Term> terms;
    std::vector<Limits> checks;
    std::vector<int> scalar_slots;
    std::vector<Word> frame;  // constants in place, the rest zero
    std::vector<Step> body;
    bool parallel = false;
};

Code translate(const kernel::Kernel& kernel);

// The order in which the threads of a Thread loop run, for tests: all give the same results, unless a barrier is missing.
enum class ThreadOrder : std::uint8_t { Forward, Backward, Shuffled };
void set_thread_order(ThreadOrder order);

}  // namespace weft::backend::ref
