// backend/x86/meaning.h: what code over virtual registers computes, block by block, as numbers that do not depend on the order of its instructions
// or the names of its registers. The steps between emitter and allocate rewrite a list and must leave its meaning as it is.
#pragma once

#include "backend/x86/code.h"

#include <string_view>

namespace weft::backend::x86 {

using Meaning = std::vector<std::uint64_t>;  // a number per block

Meaning meaning_of(const Code& code);

// Throws InternalError naming the kernel if the code means anything else.
void verify_meaning(const Code& code, const Meaning& wanted, std::string_view kernel);

}  // namespace weft::backend::x86
