// backend/cuda/memory_pool.h: memory of a device, kept for the next who wants as much. Everything happens in the order of one stream, so that
// memory can be handed on at once: who gets it comes after who had it.
#pragma once

#include "backend/cuda/driver.h"

#include <weft/device.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

namespace weft::backend::cuda {

// The context of the device is current in every call but those of allocate() and free(): most of them ask the driver nothing.
class MemoryPool {
public:
    void open(int device, Context context, Stream stream, std::string name);

    // Throws MemoryError, with the sizes.
    Address allocate(std::size_t bytes);
    void free(Address address, std::size_t bytes);

    void release_all();        // what nobody holds goes back to the driver
    DeviceMemory use() const;  // and what the device has
    void reset_most();

private:
    Result ask(Address& address, std::size_t bytes);  // enters the context
    void release_unused();                            // the lock is held

    Pool pool_ = nullptr;
    Context context_ = nullptr;
    Stream stream_ = nullptr;
    std::string name_;  // of the device
    mutable std::mutex mutex_;
    std::map<std::size_t, std::vector<Address>> free_;  // by size
    DeviceMemory use_;
};

}  // namespace weft::backend::cuda
