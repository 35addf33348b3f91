// core/device.cpp: the names of devices, and where new tensors are made.
#include "core/device.h"

#include "core/str.h"

#include <weft/error.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <charconv>
#include <memory>

namespace weft {
namespace {

struct Name {
    std::string_view type;  // one of device_types()
    int index = 0;
};

constexpr Name kAnyName{"any", 0}, kCpuName{"cpu", 0};
// By number; what is there stays. The first that is not there ends the list.
constinit std::array<std::atomic<const Name*>, 201> names{&kAnyName, &kCpuName};

const Name& name_of_number(std::uint8_t number) { return *names[number].load(std::memory_order_acquire); }

std::uint8_t number_of(std::string_view type, int index) {
    const auto known_type = std::ranges::find(device_types(), type);
    if (known_type == device_types().end()) {
        std::string list;
        for (const std::string_view known : device_types()) list += str(list.empty() ? "" : ", ", known);
        throw ValueError(str("there is no device of the type \"", type, "\"; the types are ", list));
    }
    std::unique_ptr<const Name> mine;
    for (std::size_t i = kCpu; i < names.size(); ++i) {
        const Name* there = names[i].load(std::memory_order_acquire);
        if (!there) {
            if (!mine) mine = std::make_unique<const Name>(Name{*known_type, index});
            if (names[i].compare_exchange_strong(there, mine.get())) there = mine.release();
        }
        if (there->type == type && there->index == index) return static_cast<std::uint8_t>(i);
    }
    throw ValueError(str("more than ", names.size() - 1, " devices were named"));
}

std::atomic<std::uint8_t> default_number{kCpu};
std::atomic<bool> any_other{false};
constinit thread_local std::uint8_t scoped_number = kAnyDevice;  // any: no scope on this thread

}  // namespace

bool other_devices() { return any_other.load(std::memory_order_relaxed); }
void note_other_device() { any_other = true; }

Device::Device(std::string_view name) {
    const std::size_t colon = name.find(':');
    int index = 0;
    if (colon != std::string_view::npos) {
        const std::string_view digits = name.substr(colon + 1);
        const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), index);
        if (error != std::errc() || end != digits.data() + digits.size() || index < 0 || index > 127)
            throw ValueError(str("\"", name, "\" is no device: behind the colon comes a number, as in cuda:0"));
    }
    const std::string_view type = name.substr(0, colon);
    if (type == "cpu" && index != 0) throw ValueError(str("\"", name, "\": there is one CPU device, cpu"));
    number_ = number_of(type, index);
}

std::string_view Device::type() const { return name_of_number(number_).type; }
int Device::index() const { return name_of_number(number_).index; }

std::string Device::name() const {
    const Name& name = name_of_number(number_);
    return number_ == kCpu ? std::string(name.type) : str(name.type, ":", name.index);
}

Device Device::of_number(std::uint8_t number) {
    Device device;
    device.number_ = number == kAnyDevice ? kCpu : number;
    return device;
}

Device default_device() {
    return Device::of_number(scoped_number != kAnyDevice ? scoped_number
                                                         : default_number.load(std::memory_order_relaxed));
}

void set_default_device(Device device) { default_number = device.number(); }

std::optional<Device> scope_device(std::optional<Device> device) {
    const std::uint8_t before = scoped_number;
    scoped_number = device ? device->number() : kAnyDevice;
    return before == kAnyDevice ? std::nullopt : std::optional(Device::of_number(before));
}

DeviceScope::DeviceScope(Device device) : before_(scoped_number) { scoped_number = device.number(); }
DeviceScope::~DeviceScope() { scoped_number = before_; }

}  // namespace weft
