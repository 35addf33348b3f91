// tests/support/error_of.h: what a call that must fail says.
#pragma once

#include <string>
#include <utility>

namespace weft::testing {

// The message of the error; empty: there was none. Errors of other types pass through.
template <class E, class F>
std::string error_of(F&& call) {
    try {
        std::forward<F>(call)();
    } catch (const E& error) {
        return error.what();
    }
    return "";
}

}  // namespace weft::testing
