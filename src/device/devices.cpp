// device/devices.cpp: the types of devices, the CPU's and those of the backends; and copies between devices.
#include "backend/device.h"

#include "core/str.h"
#include "device/cpu.h"
#include "device/guarded.h"
#include "device/target.h"

#include <weft/error.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <memory>
#include <vector>

namespace weft {
namespace device {
namespace {

using backend::DeviceType;

// Of every type: the host's own, and the backends'. By name.
const std::vector<DeviceType>& types() {
    static const std::vector<DeviceType>& all = *new std::vector<DeviceType>([] {
        std::vector<DeviceType> result = backend::devices();
        result.push_back({.name = "cpu"});
        result.push_back({.name = "guarded", .simulated = [](int, const Target& host) { return host; }});
        std::ranges::sort(result, {}, &DeviceType::name);
        return result;
    }());
    return all;
}

const DeviceType& type_of(Device device) { return *std::ranges::find(types(), device.type(), &DeviceType::name); }

constinit std::array<std::atomic<DeviceRuntime*>, 256> open{};  // by number; never closed. The CPU is always there

DeviceRuntime& opened(std::uint8_t number) {
    const Device device = Device::of_number(number);
    const DeviceType& type = type_of(device);
    std::unique_ptr<DeviceRuntime> runtime =
        type.open ? type.open(device.index(), current_target) : open_guarded(device.number(), type.simulated);
    note_other_device();
    DeviceRuntime* first = nullptr;  // another thread may have been faster
    return open[number].compare_exchange_strong(first, runtime.get()) ? *runtime.release() : *first;
}

}  // namespace

std::unique_ptr<Moment> DeviceRuntime::mark() {
    struct Now final : Moment {
        const std::chrono::nanoseconds at = std::chrono::steady_clock::now().time_since_epoch();
        std::int64_t time() override { return at.count(); }
    };
    synchronise();
    return std::make_unique<Now>();
}

std::unique_ptr<Event> DeviceRuntime::record() {
    struct Done final : Event {
        const std::chrono::steady_clock::time_point at = std::chrono::steady_clock::now();
        bool reached() const override { return true; }
        void wait() const override {}
        double milliseconds_after(const Event& before) const override {
            return std::chrono::duration<double, std::milli>(at - static_cast<const Done&>(before).at).count();
        }
    };
    synchronise();
    return std::make_unique<Done>();
}

DeviceRuntime& runtime_of(std::uint8_t number) {
    if (number == kCpu || number == kAnyDevice) return cpu_runtime();
    DeviceRuntime* const runtime = opened_runtime(number);
    return runtime ? *runtime : opened(number);
}

DeviceRuntime* opened_runtime(std::uint8_t number) { return open[number].load(std::memory_order_acquire); }

void transfer(const ir::Storage& from, std::int64_t from_offset, const ir::Storage& to, std::size_t bytes) {
    DeviceRuntime &source = runtime_of(from.device), &target = runtime_of(to.device);
    if (bytes == 0) return;
    if (&source == &target) source.copy(from, from_offset, to, 0, bytes);
    else if (source.is_host()) target.write(to, 0, ir::host_bytes(from) + from_offset, bytes);
    else if (target.is_host()) source.read(from, from_offset, ir::host_bytes(to), bytes);
    else {
        const ir::StorageRef between = cpu_runtime().allocate(static_cast<std::int64_t>(bytes));
        source.read(from, from_offset, ir::host_bytes(*between), bytes);
        target.write(to, 0, ir::host_bytes(*between), bytes);
    }
}

}  // namespace device

// Here and not beside the names: this file knows the types.
std::span<const std::string_view> device_types() {
    static const std::vector<std::string_view>& names = *new std::vector<std::string_view>([] {
        std::vector<std::string_view> result;
        for (const backend::DeviceType& type : device::types()) result.push_back(type.name);
        return result;
    }());
    return names;
}

bool multiplies_tf32(Device device) { return device::type_of(device).multiplies_tf32; }

}  // namespace weft
