// tests/support/backends.h: the backends of this build, for tests that try them all.
#pragma once

#include "backend/backend.h"

#include <string>
#include <vector>

namespace weft::testing {

inline bool have_x86() { return backend::best_backend().name() == "x86"; }

inline std::vector<std::string> backends() {
    std::vector<std::string> names{"ref", "c"};
    if (have_x86()) names.push_back("x86");
    return names;
}

}  // namespace weft::testing
