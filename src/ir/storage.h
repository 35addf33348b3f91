// ir/storage.h: a block of memory as the graph sees it: on a device, by an address that only the device understands. Devices make them
// (src/device/), or they stand for a user's memory; Buffer nodes hold them.
#pragma once

#include "core/device.h"

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft::ir {

struct Storage {
    std::uint8_t device = kCpu;
    bool foreign = false;      // a user's memory: read when the graph runs, never donated
    bool placeholder = false;  // stands for memory that is bound later: nobody may read it
    std::uintptr_t address = 0;
    std::size_t bytes = 0;
    // Scratch of the walk that holds the graph lock, as in Node; and the last walk that found no holder left after the run.
    mutable std::uint64_t mark = 0, donatable_in = 0;
    mutable std::uint32_t slot = 0;
    virtual ~Storage() = default;

protected:
    Storage() = default;
};

// use_count() counts every holder of the memory, views and exported arrays included: donation asks it.
using StorageRef = std::shared_ptr<Storage>;

// The memory itself. Throws InternalError unless it is the CPU's.
std::byte* host_bytes(const Storage& storage);

}  // namespace weft::ir
