// backend/device.h: what a device is to the rest of Weft: memory, copies, and a way to run programs. The CPU is one (device/cpu.cpp); others
// come with a backend (DeviceType).
#pragma once

#include "backend/backend.h"
#include "core/target.h"
#include "ir/storage.h"

#include <weft/device.h>

#include <cstdint>
#include <memory>
#include <span>
#include <string_view>

namespace weft::device {

// One run of a kernel, bound to memory of the device.
struct KernelLaunch {
    const backend::Program& program;
    const Target& target;            // that it was made for
    std::span<void* const> buffers;  // addresses of the device
    std::span<const Word> scalars;
    std::span<const ir::CheckArg> checks;  // what the kernel may find wrong
    std::int64_t chunks = 1;               // of its parallel loop
    const ir::Storage* scratch = nullptr;  // from allocate_scratch()
    bool interruptible = true;             // false where stopping half way would leave a half-written value
};

// A place in the order of a device's work, which the device reaches later than the host.
class Moment {
public:
    virtual ~Moment() = default;
    virtual std::int64_t time() = 0;  // when it was reached, in nanoseconds of the host's steady clock; waits for it
};

// The same for programs that ask where the device is.
class Event {
public:
    virtual ~Event() = default;
    virtual bool reached() const = 0;  // now; does not wait
    virtual void wait() const = 0;
    virtual double milliseconds_after(const Event& before) const = 0;  // of the same device; both were reached
};

// What a device keeps between runs of one plan.
class PlanState {
public:
    virtual ~PlanState() = default;
};

// One run of a plan on a device that works while the host goes on. A run that is not finished has failed: what its kernels have found wrong is
// nobody's any more.
class DeviceRun {
public:
    virtual ~DeviceRun() = default;
    virtual void launch(const KernelLaunch& kernel) = 0;  // may be put off until flush() or finish()
    virtual void flush() = 0;                             // all that was launched is on its way to the device
    // Behind all launches of a run that nobody waits for: if a check has failed that nobody was told of, the bytes at the one address become
    // those at the other.
    virtual void restore(std::uintptr_t to, std::uintptr_t from, std::size_t bytes) = 0;
    // Throws IndexError if a check has failed. Without `wait` that comes with a later run that waits, or when memory is read; until then no
    // kernel writes memory that was handed over, and restore() brings back the rest of what the program had before.
    virtual void finish(bool wait) = 0;
};

class DeviceRuntime {
public:
    virtual ~DeviceRuntime() = default;
    virtual std::uint8_t number() const = 0;        // of weft::Device
    virtual bool is_host() const { return false; }  // its memory is the host's
    virtual TargetRef target() = 0;                 // what code for it is made for, as the configuration is now

    // Contents are arbitrary; it is freed with the last reference. Throws MemoryError, and then nothing has changed.
    virtual ir::StorageRef allocate(std::int64_t bytes) = 0;
    // Memory for the locals of kernels that need up to so many bytes for each thread; null: none is needed.
    virtual ir::StorageRef allocate_scratch(std::size_t bytes, const Target& target) = 0;

    // In bytes, from the storage's address on. The host's memory may be reused when they return.
    virtual void write(const ir::Storage& to, std::int64_t offset, const void* host, std::size_t bytes) = 0;
    virtual void read(const ir::Storage& from, std::int64_t offset, void* host, std::size_t bytes) = 0;
    virtual void copy(const ir::Storage& from, std::int64_t from_offset, const ir::Storage& to, std::int64_t to_offset,
                      std::size_t bytes) = 0;

    // Kernels run one after the other, as if each had ended before the next begins. Null: launch() does so at once, and throws IndexError for
    // a check that failed, and Interrupted.
    virtual std::unique_ptr<DeviceRun> begin_run(std::unique_ptr<PlanState>&) { return nullptr; }
    virtual void launch(const KernelLaunch& kernel) = 0;
    virtual void prepare(const backend::Program&) {}  // loads it, as its first launch would
    virtual void synchronise() = 0;  // returns when all that was launched is done; throws what finish() has put off
    // Behind what was launched before, in front of what comes: two of them tell when what is between ran. This one waits for the device; one
    // that works while the host goes on has its own.
    virtual std::unique_ptr<Moment> mark();

    // What programs ask (weft/cuda.h).
    virtual std::unique_ptr<Event> record();  // behind what was launched before
    virtual bool is_idle() { return true; }
    virtual DeviceMemory memory_use() { return {}; }
    virtual void reset_most_used() {}
    virtual void release_memory() {}  // what nobody holds

    // Memory of the host from which the device copies while the host goes on; null: there is none. It is freed with the last reference, and
    // used again when the copies are done.
    virtual std::shared_ptr<void> allocate_pinned(std::size_t) { return nullptr; }
    virtual bool is_pinned(const void*) { return false; }

    // Other libraries use the device in streams of their own; 1 is the default stream.
    virtual std::uintptr_t stream() { return 0; }  // of what is launched here
    virtual void run_after(std::uintptr_t) {}      // what is launched from now on comes after that stream's work
    virtual void run_before(std::uintptr_t) {}     // work that comes into that stream waits for what was launched
    virtual void take_back(std::uintptr_t) noexcept {
    }  // memory that was used in that stream: later work may overwrite it
    virtual void note_shared([[maybe_unused]] int change) noexcept {
    }  // while memory is shared, runs and the default stream wait for each other
};

// Opens the device when it is first asked for. Throws ValueError that says what is missing.
DeviceRuntime& runtime_of(std::uint8_t number);
DeviceRuntime* opened_runtime(std::uint8_t number);  // null: nobody has asked for it

// Between devices, through the host where there is no other way.
void transfer(const ir::Storage& from, std::int64_t from_offset, const ir::Storage& to, std::size_t bytes);

}  // namespace weft::device
