// core/target.h: what code is made for: one immutable value, made from the configuration where a run begins (device/target.h) and handed
// to every stage that needs it. Plans, programs and traced functions are found by it; no stage reads the configuration. It decides how
// loops run, never what they compute.
#pragma once

#include "core/cpu.h"
#include "core/optimisations.h"

#include <bitset>
#include <cstdint>
#include <string>
#include <string_view>

namespace weft {

// What the results depend on, besides the graph. Lowering, which decides every bit, sees this and nothing else of the target.
struct Numerics {
    bool keep_subnormals = false;  // else they are flushed to zero
    friend bool operator==(const Numerics&, const Numerics&) = default;
};

enum class Processor : std::uint8_t {
    Cpu,  // a few threads, each with vectors
    Gpu,  // blocks of many threads
};

// Of a GPU, for products of halves and of tf32: warps multiply (mma.sync, since 8.0), or four warps together, whose factors a copy unit brings (of 9.0).
enum class TensorCores : std::uint8_t { None, Warp, Warpgroup };

struct Target {
    std::string backend = "ref";          // which one makes the code (backend/backend.h)
    CpuLevel level = CpuLevel::Baseline;  // instructions that it may use
    int register_bytes = 16;              // of a vector register …
    int registers = 16;                   // … and how many there are
    std::int64_t last_level_cache = 0;    // bytes; 0: unknown
    int threads = 1;                      // that a kernel's chunks run on
    Processor processor = Processor::Cpu;
    int compute_capability = 0;  // Gpu: 90 is 9.0; 0: a simulated one
    TensorCores tensor_cores = TensorCores::None;
    int multiprocessors = 132;  // Gpu: each runs some blocks at a time
    std::int64_t most_threads() const { return std::int64_t{multiprocessors} * 2048; }  // … at a time
    Numerics numerics;
    bool donate = true;                      // outputs may take over memory whose last use is in the run
    bool split_sums = true;                  // Gpu: blocks of a long sum may be computed at the same time
    std::bitset<std::size(kPassNames)> off;  // passes that are left out, by their place in kPassNames

    bool is_off(std::string_view pass) const;
    friend bool operator==(const Target&, const Target&) = default;
};

// What a processor of this level has.
Target cpu_target(CpuLevel level);

// Keys compare targets by address: a device hands out those that it got from here. There are few, and none is ever forgotten.
using TargetRef = const Target*;
TargetRef interned(const Target& target);

}  // namespace weft
