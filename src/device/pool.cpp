// device/pool.cpp: size classes, huge pages, staggered starts and bounded retention. Why each matters: docs/architecture.md.
#include "device/pool.h"

#include "core/leaf_mutex.h"
#include "core/str.h"

#include <weft/error.h>

#include <sys/mman.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <bit>
#include <cstdlib>
#include <fstream>
#include <limits>
#include <mutex>
#include <new>
#include <string>
#include <vector>

namespace weft::device {
namespace {

constexpr std::size_t kLine = 64, kMiB = std::size_t{1} << 20;
constexpr std::size_t kHugePage = 2 * kMiB;       // blocks from here on are mapped, aligned and huge-page backed
constexpr std::size_t kStaggerFrom = 16 * 1024;   // smaller blocks are scattered by malloc itself
constexpr std::size_t kStaggerStep = 17 * kLine;  // 17 is odd, so consecutive blocks walk through all cache sets
constexpr std::size_t kSmallStagger = 64 * kLine, kLargeStagger = 60 * kStaggerStep;
constexpr std::int64_t kRetention = std::int64_t{1} << 30;
constexpr int kWindow = 4096;  // releases after which an old peak of use is forgotten

struct Block {
    std::byte* base = nullptr;  // what malloc or mmap gave
    std::size_t capacity = 0;   // usable bytes from `start` on
    std::size_t stagger = 0;    // start - base
    std::byte* start() const { return base + stagger; }
};

// Rounds up so that few distinct sizes exist: eight steps per power of two, so at most an eighth is wasted.
std::size_t size_class(std::size_t bytes) {
    bytes = std::max(bytes, kLine);
    const std::size_t step = std::max(kLine, std::bit_floor(bytes) / 8);
    return (bytes + step - 1) / step * step;
}

// The number of a size class; of any other size, that of the class below it.
std::size_t class_number(std::size_t capacity) {
    const int exponent = std::bit_width(capacity) - 1;
    return exponent < 9 ? capacity / kLine : 8 * (exponent - 8) + (capacity >> (exponent - 3)) % 8;
}
constexpr std::size_t kClasses = 8 * (64 - 8);

std::int64_t read_number(const char* path, const char* key) {
    std::ifstream file(path);
    std::string word;
    while (file >> word)
        if (std::int64_t value; word == key && file >> value) return value;
    return 0;
}

// Linux promises memory that it does not have; what cannot be there at all is refused up front.
std::int64_t machine_limit() {
    const std::int64_t kib = read_number("/proc/meminfo", "MemTotal:") + read_number("/proc/meminfo", "SwapTotal:");
    std::int64_t limit = kib > 0 ? kib * 1024 : std::numeric_limits<std::int64_t>::max();
    if (std::int64_t group = 0; std::ifstream("/sys/fs/cgroup/memory.max") >> group && group > 0)
        limit = std::min(limit, group);
    return limit;
}

class Pool {
public:
    Block take(std::size_t bytes) {
        const std::lock_guard lock(mutex_);
        if (fail_in_ > 0 && --fail_in_ == 0) throw MemoryError(str("cannot allocate ", bytes, " bytes"));
        if (limit_ == 0) limit_ = machine_limit();
        if (bytes > static_cast<std::size_t>(limit_)) refuse(bytes);
        const std::size_t wanted = size_class(bytes);
        Block block = reuse(wanted);
        if (!block.base) {
            if (stats_.bytes_in_use + static_cast<std::int64_t>(wanted) > limit_) refuse(bytes);
            if (stats_.bytes_in_use + stats_.bytes_kept + static_cast<std::int64_t>(wanted) > limit_) trim(0);
            block = fresh(wanted);
            if (!block.base && stats_.bytes_kept > 0) {
                trim(0);
                block = fresh(wanted);
            }
            if (!block.base) refuse(bytes);
            ++stats_.fresh_allocations;
        }
        ++stats_.allocations;
        ++stats_.live_buffers;
        stats_.bytes_in_use += static_cast<std::int64_t>(block.capacity);
        in_use_.store(stats_.bytes_in_use, std::memory_order_relaxed);
        stats_.bytes_peak = std::max(stats_.bytes_peak, stats_.bytes_in_use);
        recent_peak_ = std::max(recent_peak_, stats_.bytes_in_use);
        return block;
    }

    // Never throws: a block that cannot be listed is freed instead.
    void give(const Block& block) noexcept {
        const std::lock_guard lock(mutex_);
        stats_.bytes_in_use -= static_cast<std::int64_t>(block.capacity);
        in_use_.store(stats_.bytes_in_use, std::memory_order_relaxed);
        --stats_.live_buffers;
        try {
            kept_[class_number(block.capacity)].push_back({block, ++clock_});
        } catch (const std::bad_alloc&) {
            free_block(block);
            return;
        }
        stats_.bytes_kept += static_cast<std::int64_t>(block.capacity);
        // A step's working set is taken and given back as a whole, so what was in use lately may stay in total.
        trim(std::max(retention_, std::max(recent_peak_, earlier_peak_)) - stats_.bytes_in_use);
        if (++releases_ % kWindow == 0) earlier_peak_ = std::exchange(recent_peak_, stats_.bytes_in_use);
    }

    void trim_to(std::int64_t keep) {
        const std::lock_guard lock(mutex_);
        trim(keep);
    }
    PoolStats stats() {
        const std::lock_guard lock(mutex_);
        return stats_;
    }
    void set_limit(std::int64_t bytes) {
        const std::lock_guard lock(mutex_);
        limit_ = bytes;
    }
    std::int64_t limit() {
        const std::lock_guard lock(mutex_);
        if (limit_ == 0) limit_ = machine_limit();
        return limit_;
    }
    void set_retention(std::int64_t bytes) {
        const std::lock_guard lock(mutex_);
        retention_ = bytes;
        recent_peak_ = earlier_peak_ = stats_.bytes_in_use;
    }
    void fail_after(std::int64_t n) {
        const std::lock_guard lock(mutex_);
        fail_in_ = n;
    }
    std::int64_t in_use() const { return in_use_.load(std::memory_order_relaxed); }

private:
    struct Kept {
        Block block;
        std::uint64_t freed_at;
    };

    [[noreturn]] void refuse(std::size_t bytes) const {
        throw MemoryError(str("cannot allocate ", bytes, " bytes: ", stats_.bytes_in_use,
                              " bytes are in use, the limit is ", limit_));
    }

    // A kept block of this size, or one up to a quarter larger. The one freed last: it may still be in the cache.
    Block reuse(std::size_t wanted) {
        const std::size_t last = class_number(wanted + wanted / 4);
        for (std::size_t c = class_number(wanted); c <= last; ++c) {
            if (kept_[c].empty()) continue;
            const Block block = kept_[c].back().block;
            kept_[c].pop_back();
            stats_.bytes_kept -= static_cast<std::int64_t>(block.capacity);
            return block;
        }
        return {};
    }

    // An empty block means that the system has no memory left.
    Block fresh(std::size_t capacity) {
        Block block;
        block.capacity = capacity;
        if (capacity < kHugePage) {
            const bool staggered = capacity >= kStaggerFrom;  // from a page's start: malloc's own offsets would undo it
            if (staggered) block.stagger = ++made_ * kStaggerStep % kSmallStagger;
            const std::size_t alignment = staggered ? kSmallStagger : kLine, room = staggered ? kSmallStagger : 0;
            block.base = static_cast<std::byte*>(
                std::aligned_alloc(alignment, (capacity + room + alignment - 1) / alignment * alignment));
            return block;
        }
        block.stagger = ++made_ * kStaggerStep % kLargeStagger;
        block.base = map_aligned(mapped_bytes(capacity));
        return block;
    }

    static std::size_t mapped_bytes(std::size_t capacity) {
        return (capacity + kLargeStagger + kHugePage - 1) / kHugePage * kHugePage;
    }

    static std::byte* map_aligned(std::size_t bytes) {
        const std::size_t room = bytes + kHugePage;
        void* const mapped = ::mmap(nullptr, room, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (mapped == MAP_FAILED) return nullptr;
        std::byte* const begin = static_cast<std::byte*>(mapped);
        const std::size_t before = (kHugePage - reinterpret_cast<std::uintptr_t>(begin) % kHugePage) % kHugePage;
        if (before > 0) ::munmap(begin, before);
        if (const std::size_t after = kHugePage - before; after > 0) ::munmap(begin + before + bytes, after);
        ::madvise(begin + before, bytes, MADV_HUGEPAGE);  // a wish: where it is not granted, small pages serve
        return begin + before;
    }

    static void free_block(const Block& block) noexcept {
        if (block.capacity < kHugePage) std::free(block.base);
        else ::munmap(block.base, mapped_bytes(block.capacity));
    }

    void trim(std::int64_t keep) noexcept {
        while (stats_.bytes_kept > std::max<std::int64_t>(keep, 0)) {
            std::vector<Kept>* oldest = nullptr;
            for (std::vector<Kept>& list : kept_)
                if (!list.empty() && (!oldest || list.front().freed_at < oldest->front().freed_at)) oldest = &list;
            const Block block = oldest->front().block;
            oldest->erase(oldest->begin());
            stats_.bytes_kept -= static_cast<std::int64_t>(block.capacity);
            free_block(block);
        }
    }

    LeafMutex mutex_;
    std::array<std::vector<Kept>, kClasses> kept_;  // by size class, oldest first
    std::uint64_t clock_ = 0, made_ = 0, releases_ = 0;
    std::int64_t limit_ = 0, retention_ = kRetention, recent_peak_ = 0, earlier_peak_ = 0, fail_in_ = 0;
    PoolStats stats_;
    std::atomic<std::int64_t> in_use_{0};  // bytes_in_use, for who does not wait for the lock
};

// Never destroyed: tensors in static storage give their blocks back at any time.
Pool& pool() {
    static Pool& instance = *new Pool;
    return instance;
}

struct PooledStorage final : ir::Storage {
    explicit PooledStorage(std::size_t wanted) : block(pool().take(wanted)) {
        address = reinterpret_cast<std::uintptr_t>(block.start());
        bytes = wanted;
    }
    ~PooledStorage() override { pool().give(block); }
    const Block block;
};

}  // namespace

ir::StorageRef allocate(std::int64_t bytes) {
    if (bytes < 0) throw MemoryError(str("cannot allocate ", bytes, " bytes"));
    return std::make_shared<PooledStorage>(static_cast<std::size_t>(bytes));
}

PoolStats pool_stats() { return pool().stats(); }
std::int64_t bytes_in_use() { return pool().in_use(); }
void trim_pool(std::int64_t keep_bytes) { pool().trim_to(keep_bytes); }
std::int64_t pool_limit() { return pool().limit(); }
void set_pool_limit(std::int64_t bytes) { pool().set_limit(bytes); }
void set_pool_retention(std::int64_t bytes) { pool().set_retention(bytes); }
void fail_allocation_after(std::int64_t n) { pool().fail_after(n); }

}  // namespace weft::device
