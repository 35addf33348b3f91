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

}  // namespace weft
