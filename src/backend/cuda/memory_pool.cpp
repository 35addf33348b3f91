// backend/cuda/memory_pool.cpp: see memory_pool.h.
#include "backend/cuda/memory_pool.h"

#include "core/str.h"

#include <weft/error.h>

#include <algorithm>
#include <bit>

namespace weft::backend::cuda {
namespace {

constexpr int kReleaseThreshold = 4;    // an attribute of the driver's pool
constexpr std::size_t kSmallest = 512;  // bytes

// Eight sizes for each power of two: at most an eighth is not used.
std::size_t rounded(std::size_t bytes) {
    const std::size_t step = std::max(kSmallest, std::bit_floor(std::max<std::size_t>(bytes, 1)) / 8);
    return (bytes + step - 1) / step * step;
}

}  // namespace

void MemoryPool::open(int device, Context context, Stream stream, std::string name) {
    context_ = context;
    stream_ = stream;
    name_ = std::move(name);
    require(driver().default_pool(&pool_, device), "opening the memory pool");
    std::uint64_t all = UINT64_MAX;  // the driver keeps what we give back, until release_all()
    require(driver().set_pool_attribute(pool_, kReleaseThreshold, &all), "setting up the memory pool");
}

Result MemoryPool::ask(Address& address, std::size_t bytes) {
    const Result entered = driver().set_context(context_);
    return entered == Result::Success ? driver().allocate(&address, bytes, stream_) : entered;
}

Address MemoryPool::allocate(std::size_t bytes) {
    const std::size_t size = rounded(bytes);
    const std::lock_guard lock(mutex_);
    Address address = 0;
    if (const auto found = free_.find(size); found != free_.end() && !found->second.empty()) {
        address = found->second.back();
        found->second.pop_back();
    } else {
        Result result = ask(address, size);
        if (result == Result::OutOfMemory) {
            release_unused();
            result = ask(address, size);
        }
        if (result == Result::OutOfMemory) {
            std::size_t free = 0, total = 0;
            driver().memory_info(&free, &total);
            throw MemoryError(str("cannot allocate ", bytes, " bytes on ", name_, ": ", free, " of its ", total,
                                  " bytes are free, and ", use_.allocated, " are in use here"));
        }
        require(result, "allocating ", bytes, " bytes");
        use_.reserved += static_cast<std::int64_t>(size);
        use_.most_reserved = std::max(use_.most_reserved, use_.reserved);
    }
    use_.allocated += static_cast<std::int64_t>(size);
    use_.most_allocated = std::max(use_.most_allocated, use_.allocated);
    return address;
}

void MemoryPool::free(Address address, std::size_t bytes) {
    const std::size_t size = rounded(bytes);
    const std::lock_guard lock(mutex_);
    free_[size].push_back(address);
    use_.allocated -= static_cast<std::int64_t>(size);
}

void MemoryPool::release_all() {
    const std::lock_guard lock(mutex_);
    release_unused();
}

void MemoryPool::release_unused() {
    for (auto& [size, addresses] : free_) {
        for (const Address address : addresses) driver().free(address, stream_);
        use_.reserved -= static_cast<std::int64_t>(size * addresses.size());
        addresses.clear();
    }
    require(driver().synchronize_stream(stream_), "running kernels");
    driver().trim_pool(pool_, 0);
}

DeviceMemory MemoryPool::use() const {
    std::size_t free = 0, total = 0;
    require(driver().memory_info(&free, &total), "asking for the memory");
    const std::lock_guard lock(mutex_);
    DeviceMemory use = use_;
    use.free = static_cast<std::int64_t>(free);
    use.total = static_cast<std::int64_t>(total);
    return use;
}

void MemoryPool::reset_most() {
    const std::lock_guard lock(mutex_);
    use_.most_allocated = use_.allocated;
    use_.most_reserved = use_.reserved;
}

}  // namespace weft::backend::cuda
