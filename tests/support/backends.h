// tests/support/backends.h: the backends of this build, for tests that try them all.
#pragma once

#include "backend/backend.h"
#include "core/config.h"
#include "support/target.h"

#include <doctest/doctest.h>
#include <weft/weft.h>

#include <functional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace weft::testing {

inline bool have_x86() { return backend::find("auto", level_here()).name() == "x86"; }

inline std::vector<std::string> backends() {
    const std::vector<std::string_view> best_first = backend::names(level_here());
    return {best_first.rbegin(), best_first.rend()};
}

// The processor's level, lowered for a while.
class CpuScope {
public:
    explicit CpuScope(std::string cpu) : before_(std::exchange(config().cpu, std::move(cpu))) {}
    ~CpuScope() { config().cpu = before_; }
    CpuScope(const CpuScope&) = delete;
    CpuScope& operator=(const CpuScope&) = delete;

private:
    std::string before_;
};

// Runs f with every backend, at every level of the processor.
inline void everywhere(const std::function<void()>& f) {
    for (const std::string level : {"native", "avx2", "sse"})
        for (const std::string& backend : backends()) {
            CAPTURE(level);
            CAPTURE(backend);
            const CpuScope cpu(level);
            const BackendScope scope(backend);
            f();
        }
}

}  // namespace weft::testing
