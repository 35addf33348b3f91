// tests/support/ptx_shadow.h: what the PTX machine knows about memory that threads share: which bytes hold no value, who touched them
// last, and whether that was before, in the order that barriers make.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace weft::testing::ptx {

// Why there is no value; 0: there is one. What is computed from several has all their reasons.
using Poison = std::uint8_t;
inline constexpr Poison kNoRegister = 1, kNoShared = 2, kNoLocal = 4, kPendingCopy = 8, kNoLane = 16, kUndefined = 32,
                        kPendingProduct = 64, kBarrierObject = 128;

// Which thread has seen what of the others. A thread's time goes on whenever it lets others know; what a thread has learnt is shared by all
// that have learnt it together.
class Clocks {
public:
    using Known = std::shared_ptr<const std::vector<std::uint32_t>>;  // by thread: the time up to which it is known

    void begin(std::size_t threads);  // a new block: what was before is known to all
    std::uint32_t time(std::size_t thread) const { return times_[thread]; }
    bool knows(std::size_t me, std::size_t other, std::uint32_t time) const {
        return me == other || time <= base_ || (known_[me] && (*known_[me])[other] >= time);
    }
    void meet(std::span<const std::uint16_t> group);  // they wait for each other
    void meet_all();
    Known release(std::size_t thread, const Known& with);  // what it knows, and what `with` has
    void acquire(std::size_t thread, const Known& known);

private:
    std::vector<std::uint32_t> joined(const Known& a, const Known& b) const;
    std::uint32_t base_ = 0;  // known to all
    std::vector<std::uint32_t> times_;
    std::vector<Known> known_;
};

enum class Touch : std::uint8_t { Read, Write, Atomic };

// The bytes of a block's shared memory, and for each word the last thread that wrote it and the last two that read it. That finds most races,
// and nothing that is none.
class Shadow {
public:
    void begin(std::size_t bytes, Poison poison);                 // none of them has a value
    void use(std::byte* data, std::size_t bytes, Poison poison);  // … of memory that others own
    std::size_t size() const { return size_; }
    std::byte* data() { return data_; }
    Poison* poison() { return poison_.data(); }

    // Aligned to its size, or of whole words. The thread that it is in conflict with; -1: none.
    int touch(const Clocks& clocks, std::size_t me, std::size_t offset, std::size_t bytes, Touch how);

private:
    struct Access {
        std::uint32_t time = 0;
        std::uint16_t thread = 0;
        std::uint8_t bytes = 0;  // bit by bit
        Touch how = Touch::Read;
    };
    struct Word {
        Access write, read, read_before;
    };
    int touch_word(const Clocks& clocks, Word& word, const Access& access);

    std::byte* data_ = nullptr;
    std::size_t size_ = 0;
    std::vector<std::byte> own_;
    std::vector<Poison> poison_;
    std::vector<Word> words_;
};

}  // namespace weft::testing::ptx
