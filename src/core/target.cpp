// core/target.cpp: what follows from the processor's level; one object for each target.
#include "core/target.h"

#include "core/leaf_mutex.h"

#include <algorithm>
#include <deque>
#include <mutex>

namespace weft {

bool Target::is_off(std::string_view pass) const {
    const auto* const found = std::ranges::find(kPassNames, pass);
    return found != std::end(kPassNames) && off[static_cast<std::size_t>(found - std::begin(kPassNames))];
}

Target cpu_target(CpuLevel level) {
    Target target;
    target.level = level;
    target.register_bytes = level == CpuLevel::Avx512 ? 64 : level == CpuLevel::Avx2 ? 32 : 16;
    target.registers = level == CpuLevel::Avx512 ? 32 : 16;
    target.last_level_cache = last_level_cache();
    return target;
}

TargetRef interned(const Target& target) {
    static LeafMutex& mutex = *new LeafMutex;
    static std::deque<Target>& all = *new std::deque<Target>;  // which moves none of them
    const std::lock_guard lock(mutex);
    for (const Target& known : all)
        if (known == target) return &known;
    return &all.emplace_back(target);
}

}  // namespace weft
