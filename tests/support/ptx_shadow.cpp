// tests/support/ptx_shadow.cpp: clocks that say what happened before what, and the last accesses to each word.
#include "support/ptx_shadow.h"

#include <algorithm>

namespace weft::testing::ptx {

void Clocks::begin(std::size_t threads) {
    if (times_.size() != threads) {
        times_.assign(threads, base_);
        known_.assign(threads, nullptr);
    }
    meet_all();
}

void Clocks::meet_all() {
    base_ = std::max(base_, *std::ranges::max_element(times_));
    std::ranges::fill(times_, base_ + 1);
    std::ranges::fill(known_, nullptr);
}

std::vector<std::uint32_t> Clocks::joined(const Known& a, const Known& b) const {
    std::vector<std::uint32_t> result = a ? *a : std::vector<std::uint32_t>(times_.size(), base_);
    if (b && b != a)
        for (std::size_t i = 0; i < result.size(); ++i) result[i] = std::max(result[i], (*b)[i]);
    return result;
}

void Clocks::meet(std::span<const std::uint16_t> group) {
    std::vector<std::uint32_t> all = joined(known_[group[0]], nullptr);
    const std::vector<std::uint32_t>* last = known_[group[0]].get();
    for (const std::uint16_t thread : group) {
        const Known& known = known_[thread];
        if (known && known.get() != last)
            for (std::size_t i = 0; i < all.size(); ++i) all[i] = std::max(all[i], (*known)[i]);
        if (known) last = known.get();
    }
    for (const std::uint16_t thread : group) all[thread] = times_[thread]++;
    const Known shared = std::make_shared<const std::vector<std::uint32_t>>(std::move(all));
    for (const std::uint16_t thread : group) known_[thread] = shared;
}

Clocks::Known Clocks::release(std::size_t thread, const Known& with) {
    std::vector<std::uint32_t> all = joined(known_[thread], with);
    all[thread] = times_[thread]++;
    return std::make_shared<const std::vector<std::uint32_t>>(std::move(all));
}

void Clocks::acquire(std::size_t thread, const Known& known) {
    if (!known) return;
    known_[thread] = std::make_shared<const std::vector<std::uint32_t>>(joined(known_[thread], known));
}

void Shadow::begin(std::size_t bytes, Poison poison) {
    own_.resize(bytes);
    use(own_.data(), bytes, poison);
}

// Who touched a word before is known to all, since a new block begins: its times are past.
void Shadow::use(std::byte* data, std::size_t bytes, Poison poison) {
    data_ = data;
    size_ = bytes;
    poison_.assign(bytes, poison);
    if (words_.size() != (bytes + 3) / 4) words_.assign((bytes + 3) / 4, {});
}

int Shadow::touch(const Clocks& clocks, std::size_t me, std::size_t offset, std::size_t bytes, Touch how) {
    Access access{.time = clocks.time(me), .thread = static_cast<std::uint16_t>(me), .bytes = 15, .how = how};
    if (bytes < 4) {
        access.bytes = static_cast<std::uint8_t>(((1u << bytes) - 1) << (offset % 4));
        return touch_word(clocks, words_[offset / 4], access);
    }
    for (std::size_t w = offset / 4; w < (offset + bytes) / 4; ++w)
        if (const int other = touch_word(clocks, words_[w], access); other >= 0) return other;
    return -1;
}

int Shadow::touch_word(const Clocks& clocks, Word& word, const Access& access) {
    const auto conflict = [&](const Access& before) {
        return (before.bytes & access.bytes) && !clocks.knows(access.thread, before.thread, before.time);
    };
    const auto note = [&](Access& slot) {
        const bool more = slot.thread == access.thread && slot.time == access.time && slot.how == access.how;
        const std::uint8_t bytes = more ? slot.bytes | access.bytes : access.bytes;
        slot = access;
        slot.bytes = bytes;
    };
    if (conflict(word.write) && !(access.how == Touch::Atomic && word.write.how == Touch::Atomic))
        return word.write.thread;
    if (access.how == Touch::Read) {
        if (word.read.thread != access.thread) word.read_before = word.read;
        note(word.read);
        return -1;
    }
    if (conflict(word.read)) return word.read.thread;
    if (conflict(word.read_before)) return word.read_before.thread;
    note(word.write);
    return -1;
}

}  // namespace weft::testing::ptx
