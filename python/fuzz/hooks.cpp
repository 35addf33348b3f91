// python/fuzz/hooks.cpp: what the fuzzer calls in its own build of the module (weft_python_fuzz), through ctypes: the oracle of
// tests/support in place of the compiler, and the configuration, which is otherwise read from the environment once.
#include "core/config.h"
#include "kernel/optimise.h"
#include "tests/support/oracle.h"

#include <exception>
#include <memory>
#include <string>

#define WEFT_EXPORT extern "C" __attribute__((visibility("default")))

WEFT_EXPORT void weft_fuzz_oracle(int on) {
    static std::unique_ptr<weft::testing::OracleScope>& scope = *new std::unique_ptr<weft::testing::OracleScope>;
    scope.reset();
    if (on) scope = std::make_unique<weft::testing::OracleScope>();
}

// From the environment as it is now; false: a value in it is bad.
WEFT_EXPORT bool weft_fuzz_configure() {
    try {
        weft::config() = weft::read_environment();
        return true;
    } catch (const std::exception&) {
        return false;
    }
}

// The names of all passes, separated by spaces.
WEFT_EXPORT const char* weft_fuzz_passes() {
    static const std::string& names = *new std::string([] {
        std::string joined;
        for (const std::string_view name : weft::kernel::pass_names()) (joined += name) += ' ';
        return joined;
    }());
    return names.c_str();
}
