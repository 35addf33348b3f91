// backend/x86/fold_loads.h: makes loads the memory operands of the instructions that they are for.
#pragma once

#include "backend/x86/code.h"

namespace weft::backend::x86 {

void fold_loads(Code& code);

}  // namespace weft::backend::x86
