// pipeline/system_info.cpp: what this machine is and how Weft uses it, for reports.
#include "backend/backend.h"
#include "device/target.h"

#include <weft/debug.h>

#include <unistd.h>
#include <algorithm>
#include <fstream>

namespace weft {
namespace {

std::string cpu_model() {
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    return "unknown";
}

std::string level_name(CpuLevel level) {
    return level == CpuLevel::Avx512 ? "avx512" : level == CpuLevel::Avx2 ? "avx2" : "baseline";
}

std::int64_t cache_bytes(int which) { return std::max(0L, sysconf(which)); }

}  // namespace

SystemInfo system_info() {
    const TargetRef target = device::current_target();
    return {.cpu = cpu_model(),
            .level = level_name(target->level),
            .backend = backend::named(*target).describe(*target),
            .threads = threads(),
            .l1_bytes = cache_bytes(_SC_LEVEL1_DCACHE_SIZE),
            .l2_bytes = cache_bytes(_SC_LEVEL2_CACHE_SIZE),
            .l3_bytes = cache_bytes(_SC_LEVEL3_CACHE_SIZE)};
}

}  // namespace weft
