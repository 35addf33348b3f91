// tests/support/ptx_shadow.cpp: clocks that say what happened before what, and the last accesses to each word.
#include "support/ptx_shadow.h"

#include <algorithm>

namespace weft::testing::ptx {

void Clocks::begin(std::size_t threads, std::size_t agents) {
    if (times_.size() != threads + agents) {
        times_.assign(threads + agents, base_);
        known_.assign(threads + agents, nullptr);
    }
    meet_all();
    start_ = base_;
    fences_.assign(threads + agents, 0);
    fence_times_.assign(threads + agents, 0);
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

Clocks::Known Clocks::joined(const Known& known, std::size_t agent, std::uint32_t time) const {
    std::vector<std::uint32_t> all = joined(known, nullptr);
    all[agent] = std::max(all[agent], time);
    return std::make_shared<const std::vector<std::uint32_t>>(std::move(all));
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

namespace {

// One after the other, as long as none is in conflict.
template <class WordAt>
const Word::Access* touch_words(const Clocks& clocks, const Toucher& who, std::uint64_t address, std::size_t bytes,
                                Touch how, std::uint32_t apart, WordAt word_at) {
    Word::Access access{.time = who.time,
                        .thread = static_cast<std::uint16_t>(who.as),
                        .fences = clocks.fences(who.as),
                        .bytes = 15,
                        .how = how};
    for (std::uint64_t at = address; at < address + bytes;) {
        const std::uint64_t end = std::min(at / 4 * 4 + 4, address + bytes);
        access.bytes = static_cast<std::uint8_t>(((1u << (end - at)) - 1) << (at % 4));
        if (const Word::Access* const other = word_at(at / 4).touch(clocks, who.me, access, apart)) return other;
        at = end;
    }
    return nullptr;
}

}  // namespace

const Word::Access* Shadow::touch(const Clocks& clocks, const Toucher& who, std::size_t offset, std::size_t bytes,
                                  Touch how) {
    return touch_words(clocks, who, offset, bytes, how, 0, [&](std::uint64_t word) -> Word& { return words_[word]; });
}

const Word::Access* DeviceShadow::touch(const Clocks& clocks, const Toucher& who, std::uint64_t address,
                                        std::size_t bytes, Touch how) {
    return touch_words(clocks, who, address, bytes, how, clocks.start(),
                       [&](std::uint64_t word) -> Word& { return page_of(word / kPage)[word % kPage]; });
}

Word* DeviceShadow::page_of(std::uint64_t number) {
    if (number == last_) return last_page_;
    auto& page = pages_[number];
    if (!page) page = std::make_unique<Word[]>(kPage);
    last_ = number;
    return last_page_ = page.get();
}

const Word::Access* Word::touch(const Clocks& clocks, std::size_t me, const Access& access, std::uint32_t apart) {
    const auto conflict = [&](const Access& before) {
        return (before.bytes & access.bytes) && (before.time <= apart || !clocks.knows(me, before.thread, before.time));
    };
    const auto note = [&](Access& slot) {
        const bool more = slot.thread == access.thread && slot.time == access.time && slot.how == access.how;
        const std::uint8_t bytes = more ? slot.bytes | access.bytes : access.bytes;
        slot = access;
        slot.bytes = bytes;
    };
    if (conflict(write_) && !(access.how == Touch::Atomic && write_.how == Touch::Atomic)) return &write_;
    if (access.how == Touch::Read) {
        if (read_.thread != access.thread || read_.time <= apart) read_before_ = read_;
        note(read_);
        return nullptr;
    }
    if (conflict(read_)) return &read_;
    if (conflict(read_before_)) return &read_before_;
    note(write_);
    return nullptr;
}

}  // namespace weft::testing::ptx
