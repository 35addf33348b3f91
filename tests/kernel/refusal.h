// What the verifiers say of a kernel.
#pragma once

#include "kernel/verify.h"

#include <weft/error.h>

#include <doctest/doctest.h>

#include <string>

namespace weft::test {

// The first line of the refusal, which names the kernel and the pass; empty: the kernel is proven.
inline std::string refusal(const kernel::Kernel& kernel) {
    try {
        kernel::verify(kernel, "test");
        kernel::verify_memory(kernel, "test");
    } catch (const InternalError& error) {
        const std::string text = error.what();
        CHECK(text.find(kernel.name + ", after test: ") != std::string::npos);
        return text.substr(0, text.find('\n'));
    }
    return "";
}

inline bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace weft::test
