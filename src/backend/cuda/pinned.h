// backend/cuda/pinned.h: memory of the host that the device reads by itself. Such a copy goes on after the call, so a block is used again only
// when the last copy from it is done.
#pragma once

#include "backend/cuda/driver.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

namespace weft::backend::cuda {

// The context of the device is current in every call but free() and holds().
class PinnedPool {
public:
    void* allocate(std::size_t bytes);  // throws MemoryError
    void free(const void* start) noexcept;
    bool holds(const void* address) const;            // in a block that somebody has
    void copied(const void* address, Stream stream);  // a copy from there was put into the stream
    void release_all();                               // what nobody holds, and nobody copies

private:
    struct Block {
        std::size_t bytes = 0;
        bool used = true, copies = false;
        Event done = nullptr;  // the last copy
    };
    using Blocks = std::map<std::uintptr_t, Block>;
    Blocks::const_iterator around(const void* address) const;
    static bool is_free(Block& block);

    mutable std::mutex mutex_;
    Blocks blocks_;  // by address
};

}  // namespace weft::backend::cuda
