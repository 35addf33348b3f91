// tests/fake/memory.cpp: allocations, copies, and memory of the host that the device can read.
#include "fake/state.h"

#include <algorithm>
#include <cstring>

using namespace weft::fake;

namespace {

constexpr std::size_t kAlign = 512;
constexpr int kArbitrary = 0xff;  // a NaN, or no index

// Of fresh memory; only its beginning, as touching all of it would take time.
void forget_contents(Allocation& memory) {
    std::memset(memory.data.get(), kArbitrary, std::min<std::size_t>(memory.bytes, 4 << 20));
}

std::byte* host(const AllocationRef& memory, Address address) {
    return memory->data.get() + (address - memory->address);
}

bool is_pinned(const void* address) {
    const auto* const at = static_cast<const std::byte*>(address);
    auto after = state().pinned.upper_bound(at);
    if (after == state().pinned.begin()) return false;
    const auto& [start, bytes] = *std::prev(after);
    return static_cast<std::size_t>(at - start) < bytes;
}

}  // namespace

WEFT_FAKE_EXPORT int cuDeviceGetDefaultMemPool(Pool** pool, int device) {
    return call("cuDeviceGetDefaultMemPool", Needs::Init, [&] {
        if (device != 0) throw CallError{kInvalidDevice, "there is one device"};
        *pool = &state().pool;
    });
}

WEFT_FAKE_EXPORT int cuMemPoolSetAttribute(Pool* pool, int attribute, void*) {
    return call("cuMemPoolSetAttribute", Needs::Init, [&] {
        if (pool != &state().pool) throw CallError{kInvalidValue, "this is no pool"};
        if (attribute < 1 || attribute > 8) throw CallError{kInvalidValue, "there is no such attribute"};
    });
}

WEFT_FAKE_EXPORT int cuMemPoolTrimTo(Pool* pool, std::size_t) {
    return call("cuMemPoolTrimTo", Needs::Init, [&] {
        if (pool != &state().pool) throw CallError{kInvalidValue, "this is no pool"};
    });
}

WEFT_FAKE_EXPORT int cuMemGetInfo_v2(std::size_t* free, std::size_t* total) {
    return call("cuMemGetInfo_v2", Needs::Context, [&] {
        *total = state().memory;
        *free = state().memory - std::min(state().used, state().memory);
    });
}

WEFT_FAKE_EXPORT int cuMemAllocAsync(Address* address, std::size_t bytes, Stream* stream) {
    return call("cuMemAllocAsync", Needs::Context, [&] {
        State& s = state();
        if (bytes == 0) throw CallError{kInvalidValue, "0 bytes"};
        if (bytes > s.memory || s.used > s.memory - bytes) throw CallError{kOutOfMemory, ""};
        auto memory = std::make_shared<Allocation>();
        memory->address = s.next;
        memory->bytes = bytes;
        memory->data.reset(new std::byte[bytes]);
        s.next += (bytes + kAlign - 1) / kAlign * kAlign + kAlign;
        s.used += bytes;
        s.allocations.emplace(memory->address, memory);
        enqueue(stream, [memory] { forget_contents(*memory); });
        *address = memory->address;
    });
}

// Work that is in the queue keeps it.
WEFT_FAKE_EXPORT int cuMemFreeAsync(Address address, Stream* stream) {
    return call("cuMemFreeAsync", Needs::Context, [&] {
        state().streams[stream];
        const AllocationRef memory = allocation_of(address, 1);
        if (memory->address != address) throw CallError{kInvalidValue, "this is not where an allocation begins"};
        state().used -= memory->bytes;
        state().allocations.erase(address);
    });
}

// Pageable memory is read in the call, pinned memory when the device gets there.
WEFT_FAKE_EXPORT int cuMemcpyHtoDAsync_v2(Address to, const void* from, std::size_t bytes, Stream* stream) {
    return call("cuMemcpyHtoDAsync_v2", Needs::Context, [&] {
        const AllocationRef memory = allocation_of(to, bytes);
        if (is_pinned(from)) {
            enqueue(stream, [=] { std::memcpy(host(memory, to), from, bytes); });
            return;
        }
        const auto* const begin = static_cast<const std::byte*>(from);
        enqueue(stream, [=, kept = std::vector<std::byte>(begin, begin + bytes)] {
            std::memcpy(host(memory, to), kept.data(), bytes);
        });
    });
}

WEFT_FAKE_EXPORT int cuMemcpyDtoHAsync_v2(void* to, Address from, std::size_t bytes, Stream* stream) {
    return call("cuMemcpyDtoHAsync_v2", Needs::Context, [&] {
        const AllocationRef memory = allocation_of(from, bytes);
        std::memset(to, 0xa5, bytes);  // whoever does not wait reads this
        enqueue(stream, [=] { std::memcpy(to, host(memory, from), bytes); });
    });
}

WEFT_FAKE_EXPORT int cuMemcpyDtoDAsync_v2(Address to, Address from, std::size_t bytes, Stream* stream) {
    return call("cuMemcpyDtoDAsync_v2", Needs::Context, [&] {
        const AllocationRef source = allocation_of(from, bytes), target = allocation_of(to, bytes);
        if (to < from + bytes && from < to + bytes) throw CallError{kInvalidValue, "the two overlap"};
        enqueue(stream, [=] { std::memcpy(host(target, to), host(source, from), bytes); });
    });
}

WEFT_FAKE_EXPORT int cuMemsetD8Async(Address to, unsigned char value, std::size_t count, Stream* stream) {
    return call("cuMemsetD8Async", Needs::Context, [&] {
        const AllocationRef memory = allocation_of(to, count);
        enqueue(stream, [=] { std::memset(host(memory, to), value, count); });
    });
}

WEFT_FAKE_EXPORT int cuMemHostAlloc(void** address, std::size_t bytes, unsigned) {
    return call("cuMemHostAlloc", Needs::Context, [&] {
        auto* const data = new std::byte[bytes];
        state().pinned.emplace(data, bytes);
        *address = data;
    });
}

WEFT_FAKE_EXPORT int cuMemFreeHost(void* address) {
    return call("cuMemFreeHost", Needs::Context, [&] {
        if (!state().pinned.erase(static_cast<std::byte*>(address)))
            throw CallError{kInvalidValue, "this memory is not from cuMemHostAlloc"};
        delete[] static_cast<std::byte*>(address);
    });
}

WEFT_FAKE_EXPORT int cuPointerGetAttribute(void* value, int attribute, Address address) {
    return call("cuPointerGetAttribute", Needs::Context, [&] {
        constexpr int kMemoryType = 2;
        constexpr unsigned kHost = 1;
        if (attribute != kMemoryType || !is_pinned(reinterpret_cast<const void*>(address)))
            throw CallError{kInvalidValue, ""};  // also for what the driver does not know
        std::memcpy(value, &kHost, sizeof kHost);
    });
}
