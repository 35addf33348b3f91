// backend/x86/split_registers.h: a register that is written anew is another register from there on.
#pragma once

#include "backend/x86/code.h"

namespace weft::backend::x86 {

void split_registers(Code& code);

}  // namespace weft::backend::x86
