// backend/backend.h: what a backend is. It turns kernels into programs; the runtime runs a program's chunks on its threads.
#pragma once

#include "kernel/kernel.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::backend {

// What a chunk tells the runtime: its first failed Check; and asks it: whether to stop. The runtime gives each chunk one, and merges
// failures by lowest chunk.
struct CheckRecord {
    std::int64_t code = 0;     // 1 + index into Kernel::checks; 0: nothing failed
    std::int64_t value = 0;    // the offending value
    bool (*stop)() = nullptr;  // loops that poll end when it says so; once it has, it says so again. Null: never
};

class Program {
public:
    virtual ~Program() = default;
    // Runs iterations [begin, end) of the kernel's Parallel loop (or the whole body, for [0, 1)). `buffers` are the parameters'
    // pointers, `scalars` the run-time scalars as words, `scratch` a 64-byte aligned block of Kernel::scratch_bytes.
    // Threads may call it at the same time with disjoint ranges.
    virtual void run(void* const* buffers, const Word* scalars, std::int64_t begin, std::int64_t end,
                     std::byte* scratch, CheckRecord* check) const = 0;
    virtual std::string source() const = 0;   // readable source (C), or what comes nearest; WEFT_DEBUG=4
    virtual std::string machine() const = 0;  // machine code as text, empty if there is none; WEFT_DEBUG=5
};

class Backend {
public:
    virtual ~Backend() = default;
    virtual std::string_view name() const = 0;
    virtual std::string describe() const = 0;               // one line: "c: /usr/bin/cc -O2 …, 16 lanes"
    virtual bool starts_compiler() const { return false; }  // then many kernels in one call are cheaper than one by one
    // One program per kernel; may be called by several threads at once. Throws BackendError.
    virtual std::vector<std::shared_ptr<const Program>> compile(std::span<const kernel::Kernel* const> kernels) = 0;
};

Backend& ref_backend();                // always there
Backend& c_backend();                  // needs a C compiler at run time; compile() says so if there is none
Backend& x86_backend();                // machine code; throws ValueError in a build without it
Backend& best_backend();               // x86 where it works, else c
Backend& find(std::string_view name);  // "auto" (the best), "x86", "c", "ref"; throws ValueError naming the choices

}  // namespace weft::backend
