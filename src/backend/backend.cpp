// backend/backend.cpp: finds backends and their devices in the list.
#include "backend/backend.h"

#include "core/str.h"

#include <weft/error.h>

namespace weft::backend {
namespace {

constexpr Backend& (*kBackends[])() = {
#define WEFT_BACKEND(name) name##_backend,
#include "backend/backends.def"
#undef WEFT_BACKEND
};

}  // namespace

std::string to_string(const LaunchSize& launch) {
    std::string text =
        str(launch.blocks, launch.blocks == 1 ? " block of " : " blocks of ", launch.threads, " threads");
    if (launch.registers >= 0) text += str(", ", launch.registers, " registers");
    if (launch.shared_bytes >= 1024) text += str(", ", (launch.shared_bytes + 1023) / 1024, " kB shared");
    else if (launch.shared_bytes > 0) text += str(", ", launch.shared_bytes, " B shared");
    return text;
}

std::vector<std::string_view> names(CpuLevel level) {
    std::vector<std::string_view> result;
    for (Backend& (*get)() : kBackends)
        if (get().processor() == Processor::Cpu && get().usable(level)) result.push_back(get().name());
    return result;
}

std::vector<DeviceType> devices() {
    std::vector<DeviceType> result;
    for (Backend& (*get)() : kBackends) {
        const std::span<const DeviceType> types = get().devices();
        result.insert(result.end(), types.begin(), types.end());
    }
    return result;
}

Backend& find(std::string_view name, CpuLevel level) {
    std::string list = "\"auto\"";
    for (Backend& (*get)() : kBackends) {
        Backend& backend = get();
        if (backend.processor() != Processor::Cpu) continue;
        if (name == "auto" && backend.usable(level)) return backend;
        if (name == backend.name() && !backend.built())
            throw ValueError(str("this build of Weft has no ", name, " backend; choose another one in WEFT_BACKEND"));
        if (name == backend.name()) return backend.usable(level) ? backend : ref_backend();
        list += str(", \"", backend.name(), "\"");
    }
    throw ValueError(str("there is no backend \"", name, "\"; choose among ", list));
}

Backend& named(const Target& target) {
    for (Backend& (*get)() : kBackends)
        if (target.processor != Processor::Cpu && get().name() == target.backend) return get();
    return find(target.backend, target.level);
}

}  // namespace weft::backend
