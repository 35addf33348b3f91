// ir/storage.h: a block of memory as the graph sees it. The runtime makes them (pooled, foreign); Buffer nodes hold them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>

namespace weft::ir {

struct Storage {
    void* data = nullptr;
    std::size_t bytes = 0;
    bool foreign = false;  // a user's memory: read when the graph runs, never donated
    // Scratch of the walk that holds the graph lock, as in Node; and the last walk that found all holders dying.
    mutable std::uint64_t mark = 0, dying = 0;
    mutable std::uint32_t slot = 0;
    virtual ~Storage() = default;

protected:
    Storage() = default;
};

// use_count() counts every holder of the memory, views and exported arrays included: donation asks it.
using StorageRef = std::shared_ptr<Storage>;

}  // namespace weft::ir
