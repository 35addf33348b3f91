// backend/x86/interleave.h: the order of instructions that wait for each other.
#pragma once

#include "backend/x86/code.h"

namespace weft::backend::x86 {

// Reorders within straight-line code of loops, for so many vector registers.
void interleave(Code& code, int vectors);

}  // namespace weft::backend::x86
