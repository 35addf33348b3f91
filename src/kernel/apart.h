// kernel/apart.h: the last attempt to prove that iterations of a loop touch no common element: all addresses are computed, and a table
// notes which iteration touched which element. Axes that are plainly apart (a large stride) are not tried out, so that a few thousand
// addresses stand for a whole array.
#pragma once

#include "kernel/linear_form.h"

#include <span>
#include <vector>

namespace weft::kernel {

// One load or store of a buffer.
struct Touch {
    LinearForm form;                     // of its index
    std::span<const Loop* const> path;   // the loops around it, outermost first
    std::span<const ir::Bounds> ranges;  // of their variables
    const ir::Node* gate;                // of a load, which touches nothing where it is false; null: none
    bool store;
};

// `touches` are accesses of one buffer inside `loop`. True if no element that one iteration of the loop stores to is touched by another
// one, while the loops around it stand still. False also if there are too many addresses to try.
bool iterations_are_apart(std::span<const Touch> touches, const Loop& loop);

}  // namespace weft::kernel
