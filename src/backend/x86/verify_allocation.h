// backend/x86/verify_allocation.h: proves what allocate() decided, before it becomes machine code.
#pragma once

#include "backend/x86/allocate.h"

#include <string_view>

namespace weft::backend::x86 {

// Throws InternalError naming the kernel unless every register is read where, on every way there, its value lies.
void verify_allocation(const Code& code, const Allocation& allocation, std::string_view kernel);

}  // namespace weft::backend::x86
