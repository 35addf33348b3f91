// weft/device.h: where tensors live and are computed.
#pragma once

#include <weft/api.h>

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace WEFT_API weft {

// The name of a device: "cpu", or a type and a number, like "cuda:0". Naming one does not ask for it to be there; a tensor that is moved to it
// does.
class Device {
public:
    constexpr Device() = default;   // the CPU
    Device(std::string_view name);  // "cuda" is "cuda:0"; ValueError for a type that does not exist
    Device(const char* name) : Device(std::string_view(name)) {}

    std::string_view type() const;
    int index() const;
    std::string name() const;  // "cpu", "cuda:0"
    friend bool operator==(const Device&, const Device&) = default;

    // Counts the devices that were ever named; what the graph knows of one.
    static Device of_number(std::uint8_t number);
    std::uint8_t number() const { return number_; }

private:
    std::uint8_t number_ = 1;
};

inline constexpr Device cpu;

std::span<const std::string_view> device_types();  // that can be named: "cpu", "cuda" …

// Where new tensors are made, unless they are told: zeros, arange, rand, tensor …; the CPU at first.
Device default_device();
void set_default_device(Device device);

// Throws ValueError that says what is missing if the device is not there.
void check_available(Device device);

// The same for a while, on this thread: const DeviceScope scope("cuda");
std::optional<Device> scope_device(
    std::optional<Device> device);  // gives what it was; none: as set_default_device() says
class DeviceScope {
public:
    explicit DeviceScope(Device device);
    ~DeviceScope();
    DeviceScope(const DeviceScope&) = delete;
    DeviceScope& operator=(const DeviceScope&) = delete;

private:
    const std::uint8_t before_;
};

// What a GPU is, and what is used of its memory (weft/cuda.h asks).
struct GpuProperties {
    std::string name;
    int major = 0, minor = 0;  // compute capability
    int multiprocessors = 0, warp_size = 0, threads_per_multiprocessor = 0;
    std::int64_t memory = 0, l2_cache = 0, shared_memory_per_multiprocessor = 0;  // bytes
};
struct DeviceMemory {                                // bytes
    std::int64_t allocated = 0, most_allocated = 0;  // by tensors
    std::int64_t reserved = 0, most_reserved = 0;    // with what is kept for the next tensors
    std::int64_t free = 0, total = 0;                // of the device, whoever has the others
};

}  // namespace weft
