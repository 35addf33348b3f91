// inspect/limits.h: what this machine can do at most.
#pragma once

#include <cstdint>

namespace weft::inspect {

struct MachineLimits {
    double bandwidth = 2e10, flops = 1e11;  // bytes and f32 operations per second; as of a common machine, unless …
    bool measured = false;
};

// `measure`: by running a copy that no cache holds, and multiply-adds on all threads, once per process and number of threads (some tenths of
// a second); not while a profile records. The caller holds no lock.
MachineLimits machine_limits(bool measure);

double seconds_at_least(std::int64_t bytes, std::int64_t multiply_adds, const MachineLimits& limits);

}  // namespace weft::inspect
