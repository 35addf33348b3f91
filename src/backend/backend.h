// backend/backend.h: what a backend is. It turns kernels into programs; the runtime runs a program's chunks on its threads.
#pragma once

#include "core/target.h"
#include "kernel/kernel.h"

#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace weft::device {
class DeviceRuntime;  // backend/device.h
}

namespace weft::backend {

// What a chunk tells the runtime: its first failed Check; and asks it: whether to stop. The runtime gives each chunk one, and merges
// failures by lowest chunk.
struct CheckRecord {
    std::int64_t code = 0;     // 1 + index into Kernel::checks; 0: nothing failed
    std::int64_t value = 0;    // the offending value
    bool (*stop)() = nullptr;  // loops that poll end when it says so; once it has, it says so again. Null: never
};

// What one launch asks of a processor with thousands of threads.
struct LaunchSize {
    std::int64_t blocks = 1, threads = 1;  // threads of a block
    std::int64_t shared_bytes = 0;         // … and its memory
    int registers = -1;                    // of a thread; -1: not known before it was loaded
};
std::string to_string(const LaunchSize& launch);  // "528 blocks of 288 threads, 154 registers, 192 kB shared"

// A compiled kernel. Only its own kind of device knows how to run it.
class Program {
public:
    virtual ~Program() = default;
    virtual std::vector<LaunchSize> launches() const { return {}; }  // one after the other; none: the host runs it
    virtual std::string source() const = 0;   // readable source (C), or what comes nearest; WEFT_DEBUG=4
    virtual std::string machine() const = 0;  // machine code as text, empty if there is none; WEFT_DEBUG=5
};

// One that the host runs, chunk by chunk.
class HostProgram : public Program {
public:
    // Runs iterations [begin, end) of the kernel's Parallel loop (or the whole body, for [0, 1)). `buffers` are the parameters'
    // pointers, `scalars` the run-time scalars as words, `scratch` a 64-byte aligned block of Kernel::scratch_bytes.
    // Threads may call it at the same time with disjoint ranges.
    virtual void run(void* const* buffers, const Word* scalars, std::int64_t begin, std::int64_t end,
                     std::byte* scratch, CheckRecord* check) const = 0;
};

// What of a program is kept as text, for WEFT_DEBUG=4 and 5.
enum class Detail : std::uint8_t { None, Source, Machine };

// A type of devices that a backend's programs run on. All of this is known before one is opened.
struct DeviceType {
    std::string_view name;         // "cuda" of "cuda:0"
    bool multiplies_tf32 = false;  // factors of products of f32, where a program allows it
    // Opens the index-th. `host` gives the target of the CPU as it is configured now: passes that are off, subnormals, threads for host
    // functions. Throws ValueError that says what is missing.
    std::unique_ptr<device::DeviceRuntime> (*open)(int index, TargetRef (*host)()) = nullptr;
    // Or there is no such device, and the host runs its programs, in memory that nothing else may touch: the target of the index-th.
    Target (*simulated)(int index, const Target& host) = nullptr;
};

class Backend {
public:
    virtual ~Backend() = default;
    virtual std::string_view name() const = 0;
    virtual Processor processor() const { return Processor::Cpu; }  // that its programs are for
    virtual bool built() const { return true; }                     // false: it stands in for one that this build lacks
    virtual bool usable(CpuLevel level) const = 0;                  // on this machine, with these instructions
    virtual std::string describe(const Target& target) const = 0;   // one line: "c: /usr/bin/cc -O2 …, 16 lanes"
    virtual std::span<const DeviceType> devices() const { return {}; }  // that its programs run on, besides the CPU
    virtual bool starts_compiler() const { return false; }  // then many kernels in one call are cheaper than one by one
    // One program per kernel; may be called by several threads at once. Throws BackendError.
    virtual std::vector<std::shared_ptr<const Program>> compile(std::span<const kernel::Kernel* const> kernels,
                                                                const Target& target, Detail detail = Detail::None) = 0;
};

#define WEFT_BACKEND(name) Backend& name##_backend();
#include "backend/backends.def"
#undef WEFT_BACKEND

// Of those for the CPU, "auto" is the first of the list that is usable; a name is that one, or `ref` where the system does not let it work.
// Throws ValueError naming the choices.
Backend& find(std::string_view name, CpuLevel level);
Backend& named(const Target& target);
std::vector<std::string_view> names(CpuLevel level);  // for the CPU, of those that are usable
std::vector<DeviceType> devices();                    // of all backends

}  // namespace weft::backend
