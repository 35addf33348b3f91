// backend/cuda/pinned.cpp: see pinned.h.
#include "backend/cuda/pinned.h"

#include "core/str.h"

#include <algorithm>
#include <bit>

namespace weft::backend::cuda {

bool PinnedPool::is_free(Block& block) {
    if (block.used) return false;
    if (block.copies && driver().query_event(block.done) == Result::NotReady) return false;
    block.copies = false;
    return true;
}

void* PinnedPool::allocate(std::size_t bytes) {
    constexpr std::size_t kPage = 4096;
    const std::size_t size = std::bit_ceil(std::max(bytes, kPage));  // batches of about one size share blocks
    const std::lock_guard lock(mutex_);
    for (auto& [start, block] : blocks_) {
        if (block.bytes != size || !is_free(block)) continue;
        block.used = true;
        return reinterpret_cast<void*>(start);
    }
    constexpr unsigned kPortable = 1;  // for all contexts
    void* start = nullptr;
    require(driver().allocate_host(&start, size, kPortable), "allocating ", bytes, " bytes of pinned memory");
    blocks_[reinterpret_cast<std::uintptr_t>(start)].bytes = size;
    return start;
}

void PinnedPool::free(const void* start) noexcept {
    const std::lock_guard lock(mutex_);
    blocks_.at(reinterpret_cast<std::uintptr_t>(start)).used = false;
}

PinnedPool::Blocks::const_iterator PinnedPool::around(const void* address) const {
    const auto wanted = reinterpret_cast<std::uintptr_t>(address);
    auto after = blocks_.upper_bound(wanted);
    if (after == blocks_.begin()) return blocks_.end();
    --after;
    return wanted < after->first + after->second.bytes ? after : blocks_.end();
}

bool PinnedPool::holds(const void* address) const {
    const std::lock_guard lock(mutex_);
    const auto found = around(address);
    return found != blocks_.end() && found->second.used;
}

void PinnedPool::copied(const void* address, Stream stream) {
    constexpr unsigned kNoTiming = 2;
    const std::lock_guard lock(mutex_);
    Block& block = blocks_.at(around(address)->first);
    if (!block.done) require(driver().create_event(&block.done, kNoTiming), "making an event");
    require(driver().record_event(block.done, stream), "recording an event");
    block.copies = true;
}

void PinnedPool::release_all() {
    const std::lock_guard lock(mutex_);
    for (auto each = blocks_.begin(); each != blocks_.end();) {
        if (!is_free(each->second)) {
            ++each;
            continue;
        }
        if (each->second.done) driver().destroy_event(each->second.done);
        driver().free_host(reinterpret_cast<void*>(each->first));
        each = blocks_.erase(each);
    }
}

}  // namespace weft::backend::cuda
