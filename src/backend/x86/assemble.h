// backend/x86/assemble.h: the last step: instructions with registers assigned become bytes in executable memory (code_memory.h), which
// is not writable any more then.
#pragma once

#include "backend/x86/allocate.h"

#include <memory>
#include <string>

namespace weft::backend::x86 {

// Machine code, freed with its last reference.
class Machine {
public:
    virtual ~Machine() = default;
    const void* entry = nullptr;
    std::size_t bytes = 0;
    std::string text;  // a listing, if asked for
};

// Throws BackendError where the system refuses executable memory. `helper` is what kCall calls: (descriptor, call area, check).
std::shared_ptr<const Machine> assemble(const Code& code, const Allocation& allocation, bool wide, const void* helper,
                                        bool listing);

// Can this process have executable memory at all?
bool can_execute();

}  // namespace weft::backend::x86
