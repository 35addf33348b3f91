// device/guarded.cpp: mappings of their own, opened for as long as the device works.
#include "device/guarded.h"

#include "core/leaf_mutex.h"
#include "core/str.h"
#include "device/cpu.h"
#include "device/target.h"

#include <weft/error.h>

#include <sys/mman.h>
#include <unistd.h>

#include <cstring>
#include <mutex>
#include <unordered_map>

namespace weft::device {
namespace {

using ir::Storage;

// All memory of the device; it is opened and closed as a whole.
class Pages {
public:
    void* map(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        void* const start =
            ::mmap(nullptr, bytes, users_ > 0 ? PROT_READ | PROT_WRITE : PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (start == MAP_FAILED) throw MemoryError(str("cannot map ", bytes, " bytes for the device guarded"));
        all_.emplace(start, bytes);
        return start;
    }
    void unmap(void* start) {
        const std::lock_guard lock(mutex_);
        ::munmap(start, all_.extract(start).mapped());
    }
    void open() {
        const std::lock_guard lock(mutex_);
        if (++users_ == 1) protect(PROT_READ | PROT_WRITE);
    }
    void close() {
        const std::lock_guard lock(mutex_);
        if (--users_ == 0) protect(PROT_NONE);
    }

private:
    void protect(int how) {
        for (const auto& [start, bytes] : all_) ::mprotect(start, bytes, how);
    }
    LeafMutex mutex_;
    std::unordered_map<void*, std::size_t> all_;
    int users_ = 0;
};

Pages& pages() {
    static Pages& instance = *new Pages;
    return instance;
}

struct Working {
    Working() { pages().open(); }
    ~Working() { pages().close(); }
};

struct GuardedStorage final : Storage {
    GuardedStorage(std::uint8_t number, std::size_t size)
        : counted(cpu_runtime().allocate(static_cast<std::int64_t>(size))) {
        const auto page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
        device = number;
        address = reinterpret_cast<std::uintptr_t>(pages().map((size + page) / page * page));
        bytes = size;
    }
    ~GuardedStorage() override { pages().unmap(reinterpret_cast<void*>(address)); }
    ir::StorageRef counted;  // of the pool, never touched: limits and statistics hold here, too
};

std::byte* at(const Storage& storage, std::int64_t offset) {
    return reinterpret_cast<std::byte*>(storage.address) + offset;
}

class Guarded final : public DeviceRuntime {
public:
    Guarded(std::uint8_t number, Target (*target)(int index, const Target& host)) : number_(number), target_(target) {}
    std::uint8_t number() const override { return number_; }
    TargetRef target() override { return interned(target_(Device::of_number(number_).index(), *current_target())); }
    ir::StorageRef allocate(std::int64_t bytes) override {
        return std::make_shared<GuardedStorage>(number_, static_cast<std::size_t>(bytes));
    }
    ir::StorageRef allocate_scratch(std::size_t bytes, const Target& target) override {
        return cpu_runtime().allocate_scratch(bytes, target);
    }
    void write(const Storage& to, std::int64_t offset, const void* host, std::size_t bytes) override {
        const Working now;
        if (bytes > 0) std::memcpy(at(to, offset), host, bytes);
    }
    void read(const Storage& from, std::int64_t offset, void* host, std::size_t bytes) override {
        const Working now;
        if (bytes > 0) std::memcpy(host, at(from, offset), bytes);
    }
    void copy(const Storage& from, std::int64_t from_offset, const Storage& to, std::int64_t to_offset,
              std::size_t bytes) override {
        const Working now;
        if (bytes > 0) std::memcpy(at(to, to_offset), at(from, from_offset), bytes);
    }
    void launch(const KernelLaunch& kernel) override {
        const Working now;
        launch_on_host(kernel, kernel.scratch ? ir::host_bytes(*kernel.scratch) : nullptr);
    }
    void synchronise() override {}

private:
    const std::uint8_t number_;
    Target (*const target_)(int index, const Target& host);
};

}  // namespace

std::unique_ptr<DeviceRuntime> open_guarded(std::uint8_t number, Target (*target)(int index, const Target& host)) {
    return std::make_unique<Guarded>(number, target);
}

}  // namespace weft::device
