// tests/fuzz/replay.h: runs a program that the fuzzer once found, in many configurations and on the oracle.
#pragma once

#include "tests/fuzz/program.h"

#include <functional>

namespace weft::testing::fuzz {

using Show = std::function<void(const Tensor&)>;

// Every configuration must show what the oracle shows, within a relative tolerance, and all the same bits.
void replay(const std::function<void(const Show& show)>& program, double tolerance = 1e-5);

}  // namespace weft::testing::fuzz
