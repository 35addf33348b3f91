// core/config.h: what the environment configures, read once: WEFT_DEBUG, WEFT_BACKEND, WEFT_THREADS, WEFT_OPT, WEFT_DENORMALS,
// WEFT_CPU, WEFT_CONV. Tests and the API may override at run time.
#pragma once

#include <atomic>
#include <set>
#include <string>
#include <string_view>

namespace weft {

// A number that one thread may set while others read it.
template <class T>
class Setting {
public:
    Setting(T value) : value_(value) {}
    Setting(const Setting& other) : value_(static_cast<T>(other)) {}
    Setting& operator=(const Setting& other) { return *this = static_cast<T>(other); }
    Setting& operator=(T value) {
        value_.store(value, std::memory_order_relaxed);
        return *this;
    }
    operator T() const { return value_.load(std::memory_order_relaxed); }

private:
    std::atomic<T> value_;
};

struct Config {
    std::string backend = "auto";            // WEFT_BACKEND: auto (the fastest that works here), x86, c, ref
    std::string cpu = "native";              // WEFT_CPU: native, avx512, avx2, sse; see core/cpu.h
    std::set<std::string, std::less<>> off;  // WEFT_OPT: comma-separated optimisations to switch off; "all": every one
    bool keep_denormals = false;             // WEFT_DENORMALS=keep
    Setting<int> debug = 0;                  // WEFT_DEBUG: 0 … 5
    Setting<int> threads = 0;                // WEFT_THREADS; 0: one per core
    bool plain_convolution = false;          // WEFT_CONV=plain: no sums in pairs, see tensor/correlate.cpp
    bool donate = true;                      // WEFT_OPT=donate switches it off

    bool switched_off(std::string_view optimisation) const { return off.contains(optimisation) || off.contains("all"); }
};

Config& config();  // a bad value in the environment throws ValueError at first use, naming the variable and the choices

Config read_environment();  // what config() starts with

}  // namespace weft
