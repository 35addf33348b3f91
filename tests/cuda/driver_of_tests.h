// tests/cuda/driver_of_tests.h: the fake driver (tests/fake/fake.h), as these tests ask and disturb it. The executable finds it in place of NVIDIA's.
#pragma once

#include "fake/fake.h"
#include "support/error_of.h"

#include <weft/device.h>
#include <weft/ops.h>

#include <doctest/doctest.h>

#include <dlfcn.h>

#include <cstdint>
#include <string>
#include <vector>

namespace weft::testing {

template <class F>
F* from_driver(const char* name) {
    static void* const library = ::dlopen("libcuda.so.1", RTLD_NOW);
    auto* const found = library ? reinterpret_cast<F*>(::dlsym(library, name)) : nullptr;
    const bool is_fake = found;
    REQUIRE_MESSAGE(is_fake, "libcuda.so.1 is not the fake one");
    return found;
}

// Calls of a function of the driver.
inline std::int64_t calls(const char* name) { return from_driver<decltype(weft_fake_count)>("weft_fake_count")(name); }
// Lets a call fail, the next one but `after`.
inline void fail_call(const char* name, int error, int after = 0) {
    from_driver<decltype(weft_fake_fail)>("weft_fake_fail")(name, after, error, 1);
}

// Memory of the device, as long as this lives.
class MemoryScope {
public:
    explicit MemoryScope(std::uint64_t bytes) { set(bytes); }
    ~MemoryScope() { set(8ull << 30); }
    MemoryScope(const MemoryScope&) = delete;
    MemoryScope& operator=(const MemoryScope&) = delete;

private:
    static void set(std::uint64_t bytes) { from_driver<decltype(weft_fake_set_memory)>("weft_fake_set_memory")(bytes); }
};

// Calls since this was made.
class CallCount {
public:
    explicit CallCount(const char* name) : name_(name), before_(calls(name)) {}
    std::int64_t operator()() const { return calls(name_) - before_; }

private:
    const char* const name_;
    const std::int64_t before_;
};

using Floats = std::vector<float>;
inline Floats values(const Tensor& x) { return x.to_vector<float>(); }

inline bool says(const std::string& text, const std::string& part) {
    if (text.find(part) != std::string::npos) return true;
    MESSAGE("`" << text << "` does not say `" << part << "`");
    return false;
}

}  // namespace weft::testing
