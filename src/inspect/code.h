// inspect/code.h: what a backend makes of a kernel, as text.
#pragma once

#include "core/target.h"
#include "kernel/kernel.h"

#include <string>

namespace weft::inspect {

struct Code {
    std::string text;    // machine code; of a backend that has none, its source
    int registers = -1;  // vector registers in use; -1: not known
    int spills = -1;     // instructions that move one to or from the stack
};

Code code_of(const kernel::Kernel& kernel, const Target& target);

}  // namespace weft::inspect
