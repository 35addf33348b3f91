// device/cpu.cpp: memory from the pool, chunks on the host's threads.
#include "device/cpu.h"

#include "core/interrupt.h"
#include "core/str.h"
#include "device/pool.h"
#include "device/target.h"
#include "device/threads.h"

#include <weft/error.h>

#include <cstring>
#include <mutex>

namespace weft::device {
namespace {

// The failed Check of the lowest chunk.
struct FirstFailure {
    std::mutex mutex;
    std::int64_t chunk = INT64_MAX;
    backend::CheckRecord record;

    void add(const backend::CheckRecord& failed, std::int64_t at) {
        const std::lock_guard lock(mutex);
        if (at < chunk) chunk = at, record = failed;
    }
    void raise(std::span<const ir::CheckArg> checks) const {
        throw IndexError(str(checks[static_cast<std::size_t>(record.code - 1)].what, "; got ", record.value));
    }
};

// Of each thread's part, in bytes: what is in one does not share a line with what is in the next.
std::size_t scratch_stride(std::size_t bytes) { return (bytes + 64 + 63) / 64 * 64; }

class Cpu final : public DeviceRuntime {
public:
    std::uint8_t number() const override { return kCpu; }
    bool is_host() const override { return true; }
    TargetRef target() override { return current_target(); }
    ir::StorageRef allocate(std::int64_t bytes) override { return device::allocate(bytes); }
    ir::StorageRef allocate_scratch(std::size_t bytes, const Target& target) override {
        if (bytes == 0) return nullptr;
        return device::allocate(static_cast<std::int64_t>(scratch_stride(bytes)) * target.threads);
    }
    void write(const ir::Storage& to, std::int64_t offset, const void* host, std::size_t bytes) override {
        if (bytes > 0) std::memcpy(ir::host_bytes(to) + offset, host, bytes);
    }
    void read(const ir::Storage& from, std::int64_t offset, void* host, std::size_t bytes) override {
        if (bytes > 0) std::memcpy(host, ir::host_bytes(from) + offset, bytes);
    }
    void copy(const ir::Storage& from, std::int64_t from_offset, const ir::Storage& to, std::int64_t to_offset,
              std::size_t bytes) override {
        write(to, to_offset, ir::host_bytes(from) + from_offset, bytes);
    }
    void launch(const KernelLaunch& kernel) override {
        launch_on_host(kernel, kernel.scratch ? ir::host_bytes(*kernel.scratch) : nullptr);
    }
    void synchronise() override {}
};

}  // namespace

DeviceRuntime& cpu_runtime() {
    static Cpu& instance = *new Cpu;
    return instance;
}

void launch_on_host(const KernelLaunch& kernel, std::byte* scratch) {
    const auto& program = static_cast<const backend::HostProgram&>(kernel.program);
    const std::size_t stride =
        kernel.scratch ? kernel.scratch->bytes / static_cast<std::size_t>(kernel.target.threads) : 0;
    FirstFailure failure;
    const auto chunk = [&](std::int64_t begin, std::int64_t end, int thread) {
        backend::CheckRecord record{.stop = stop_wanted};
        program.run(kernel.buffers.data(), kernel.scalars.data(), begin, end,
                    scratch ? scratch + stride * static_cast<std::size_t>(thread) : nullptr, &record);
        throw_if_stopped();  // then it has ended early
        if (record.code) failure.add(record, begin);
    };
    run_chunks(kernel.chunks, chunk,
               {.threads = kernel.target.threads,
                .parallel = kernel.chunks > 1,
                .keep_subnormals = kernel.target.numerics.keep_subnormals,
                .interruptible = kernel.interruptible});
    if (failure.record.code) failure.raise(kernel.checks);
}

}  // namespace weft::device
