// The target of this machine, as the configuration (WEFT_CPU, OptScope …) has it now.
#pragma once

#include "backend/backend.h"
#include "device/target.h"

namespace weft::testing {

inline const Target& here() { return *device::current_target(); }  // targets are never forgotten
inline CpuLevel level_here() { return here().level; }

// The backend of this name for this machine, and a target that names it.
inline Target target_for(std::string_view backend, std::string_view cpu = "native") {
    Target target = here();
    target.level = allowed_level(cpu);
    const Target other = cpu_target(target.level);
    target.register_bytes = other.register_bytes, target.registers = other.registers;
    target.backend = backend;
    return target;
}

}  // namespace weft::testing
