// tests/support/backends.h: the backends of this build, for tests that try them all.
#pragma once

#include "backend/backend.h"
#include "core/config.h"

#include <doctest/doctest.h>
#include <weft/weft.h>

#include <functional>
#include <string>
#include <vector>

namespace weft::testing {

inline bool have_x86() { return backend::best_backend().name() == "x86"; }

inline std::vector<std::string> backends() {
    std::vector<std::string> names{"ref", "c"};
    if (have_x86()) names.push_back("x86");
    return names;
}

// Runs f with every backend, at every level of the processor.
inline void everywhere(const std::function<void()>& f) {
    const std::string cpu = config().cpu;
    for (const std::string level : {"native", "avx2", "sse"})
        for (const std::string& backend : backends()) {
            CAPTURE(level);
            CAPTURE(backend);
            config().cpu = level;
            const BackendScope scope(backend);
            f();
        }
    config().cpu = cpu;
}

}  // namespace weft::testing
