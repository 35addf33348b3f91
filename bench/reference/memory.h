// bench/reference/memory.h: memory for a reference's results: touched once, on huge pages, so that no timed call meets a page fault.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <new>
#include <span>

namespace bench {

class Floats {
public:
    explicit Floats(std::int64_t count) : count_(static_cast<std::size_t>(count)) {
        bytes_ = count_ * sizeof(float) + kHugePage + kStagger;
        map_ = ::mmap(nullptr, bytes_, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (map_ == MAP_FAILED) throw std::bad_alloc();
        const auto address = reinterpret_cast<std::uintptr_t>(map_);
        const std::uintptr_t start = (address + kHugePage - 1) / kHugePage * kHugePage + kStagger;
        ::madvise(map_, bytes_, MADV_HUGEPAGE);  // may fail: then it is ordinary memory
        std::memset(map_, 0, bytes_);
        data_ = reinterpret_cast<float*>(start);
    }
    ~Floats() { ::munmap(map_, bytes_); }
    Floats(const Floats&) = delete;
    Floats& operator=(const Floats&) = delete;

    float* data() { return data_; }
    std::span<const float> values() const { return {data_, count_}; }

private:
    static constexpr std::size_t kHugePage = std::size_t{2} << 20;
    static constexpr std::size_t kStagger = 29 * 64;  // not in the cache sets of an operand that starts a page
    std::size_t count_, bytes_ = 0;
    void* map_ = nullptr;
    float* data_ = nullptr;  // 64-byte aligned
};

}  // namespace bench
