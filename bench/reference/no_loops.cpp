// bench/reference/no_loops.cpp: stands in on processors that the loops are not written for.
#include "reference/loops.h"

#include <stdexcept>

namespace bench {

const Loops& loops(Stores) { throw std::runtime_error("the reference is written for x86-64"); }
const char* loops_name() { return "none: not x86-64"; }

}  // namespace bench
