// tests/support/expression_eval.h: evaluates a kernel expression on blocks of numbers, fast enough to try all 2^32
// floats. It has loops of its own for the common ops and asks the op table for the rest, so it is also a check on both.
#pragma once

#include "ir/node.h"

#include <cstddef>
#include <span>
#include <vector>

namespace weft::test {

class ExpressionProgram {
public:
    static constexpr int kBlock = 512;  // elements per run

    // `inputs` are leaves of the expression, in the order in which run() gets their values.
    ExpressionProgram(const ir::NodeRef& root, std::span<const ir::NodeRef> inputs);

    // Computes kBlock results from kBlock elements of each input. Not to be called from two threads at once.
    void run(std::span<const void* const> inputs, void* result);

    // One result, by the op table's evaluators alone.
    Word run_by_table(std::span<const Word> inputs) const;

    int operations() const { return static_cast<int>(steps_.size()); }  // nodes that are neither inputs nor constants

private:
    using Loop = void (*)(const void* a, const void* b, const void* c, void* out);
    struct Step {
        const ir::Node* node;
        Loop loop;  // nullptr: by the op table, element by element
        int sources[3];
        int result;
    };
    struct Slot {
        DType dtype;
        Word constant;
        bool is_constant;
    };
    void* memory_of(int slot) { return memory_.data() + static_cast<std::size_t>(slot) * kBlock * sizeof(Word); }

    ir::NodeRef root_;
    std::vector<Slot> slots_;
    std::vector<int> inputs_;
    std::vector<Step> steps_;
    int result_ = 0;
    std::vector<std::byte> memory_;  // kBlock words per slot, whatever its dtype
};

}  // namespace weft::test
