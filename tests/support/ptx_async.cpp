// tests/support/ptx_async.cpp: copies that are under way, and barriers in shared memory.
#include "support/ptx_async.h"

#include "core/str.h"
#include "support/ptx_block.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace weft::testing::ptx {

void Async::begin(std::size_t threads) {
    copies_.assign(threads, {});
    stores_.assign(threads, {});
    loads_.clear();
    barriers_.clear();
    products_ = {};
    fenced_ = {};
}

bool Async::progress() {
    if (loads_.empty()) return false;
    const auto next = loads_.begin() + static_cast<std::ptrdiff_t>(block_.choose(loads_.size()));
    const BulkCopy copy = *next;
    loads_.erase(next);
    finish_load(copy);
    return true;
}

void Async::exited(const Thread& thread) const {
    const auto check = [&](const std::vector<BulkCopy>& group) {
        if (!group.empty())
            block_.fault(thread, *group[0].at,
                         "the thread exits, and has not waited for this copy out of shared memory");
    };
    for (const auto& group : stores_[thread.number].committed) check(group);
    check(stores_[thread.number].open);
}

void Async::end() const {
    if (!loads_.empty())
        block_.fault(block_.thread(loads_[0].thread), *loads_[0].at,
                     "nobody has waited for this copy into shared memory");
}

void Async::need_fence(const Thread& thread, const Instruction& at, std::uint64_t address, std::size_t bytes) const {
    const Clocks& clocks = block_.clocks();
    const auto [data, poison, shadow, offset, watched] =
        block_.place_bytes(thread, at, Space::Shared, address, bytes, false);
    for (std::size_t b = offset / 4 * 4; b < offset + bytes; b += 4) {
        const Word::Access& write = shadow->last_write(b);
        const bool by_thread = write.time > clocks.start() && write.thread < block_.agent(0);
        if (by_thread && write.fences == clocks.fences(write.thread) && !clocks.has_fenced_now(thread.number))
            block_.fault(thread, at,
                         str("reads what thread ", write.thread, " wrote, without fence.proxy.async between them"));
    }
}

// ---- cp.async --------------------------------------------------------------------------------------------------------

void Async::copy(Thread& thread, const ThreadCopy& copy) {
    const auto to = block_.place(thread, *copy.at, Space::Shared, copy.to, copy.bytes, true);
    if (copy.valid) block_.place(thread, *copy.at, Space::Global, copy.from, copy.bytes, false);
    block_.touch(thread, *copy.at, to, copy.bytes, Touch::Write);
    std::memset(to.poison, kPendingCopy, copy.bytes);
    copies_[thread.number].open.push_back(copy);
}

void Async::commit_copies(Thread& thread) {
    auto& [open, committed] = copies_[thread.number];
    committed.push_back(std::move(open));
    open.clear();
}

void Async::wait_copies(Thread& thread, std::size_t keep, bool all) {
    auto& [open, committed] = copies_[thread.number];
    while (committed.size() > keep) {
        for (const ThreadCopy& copy : committed.front()) finish(copy, thread);
        committed.erase(committed.begin());
    }
    if (!all) return;
    for (const ThreadCopy& copy : open) finish(copy, thread);
    open.clear();
}

void Async::finish(const ThreadCopy& copy, Thread& thread) {
    const auto to = block_.place(thread, *copy.at, Space::Shared, copy.to, copy.bytes, true);
    block_.touch(thread, *copy.at, to, copy.bytes, Touch::Write);
    for (std::size_t b = 0; b < copy.bytes; ++b)
        if (to.poison[b] != kPendingCopy)
            block_.fault(thread, *copy.at,
                         "something else was written to where this copy goes, before it was waited for");
    std::memset(to.data, 0, copy.bytes);
    std::memset(to.poison, 0, copy.bytes);
    if (copy.valid == 0) return;
    const auto from = block_.place(thread, *copy.at, Space::Global, copy.from, copy.bytes, false);
    block_.touch(thread, *copy.at, from, copy.valid, Touch::Read);
    std::memcpy(to.data, from.data, copy.valid);
    if (from.poison) std::memcpy(to.poison, from.poison, copy.valid);
}

// ---- barriers in shared memory ---------------------------------------------------------------------------------------

void Async::init_barrier(Thread& thread, const Instruction& at, std::uint64_t address, std::uint64_t count) {
    const auto place = block_.place(thread, at, Space::Shared, address, 8, true);
    if (count == 0 || count >= 1 << 20) block_.fault(thread, at, str("a barrier cannot wait for ", count, " arrivals"));
    if (barriers_.contains(address)) block_.fault(thread, at, "there is a barrier already");
    block_.touch(thread, at, place, 8, Touch::Write);
    std::memset(place.poison, kBarrierObject, 8);
    barriers_[address] = {
        .expected = count, .left = count, .made_by = thread.number, .made_at = block_.clocks().time(thread.number)};
}

void Async::fence_barriers(const Thread& thread) {
    for (auto& [address, barrier] : barriers_) barrier.fenced = barrier.fenced || barrier.made_by == thread.number;
}

void Async::drop_barrier(Thread& thread, const Instruction& at, std::uint64_t address) {
    if (!barrier_at(thread, at, address).waiting.empty()) block_.fault(thread, at, "others wait at this barrier");
    const auto place = block_.place(thread, at, Space::Shared, address, 8, true);
    block_.touch(thread, at, place, 8, Touch::Write);
    std::memset(place.poison, kNoShared, 8);
    barriers_.erase(address);
}

Async::Barrier& Async::barrier_at(Thread& thread, const Instruction& at, std::uint64_t address) {
    const auto place = block_.place(thread, at, Space::Shared, address, 8, true);
    const auto found = barriers_.find(address);
    if (found == barriers_.end()) block_.fault(thread, at, "there is no barrier");
    block_.touch(thread, at, place, 8, Touch::Atomic);
    const Barrier& barrier = found->second;
    if (!block_.clocks().knows(thread.number, barrier.made_by, barrier.made_at))
        block_.fault(thread, at,
                     str("a race with thread ", barrier.made_by, ", which made the barrier: nothing orders the two"));
    return found->second;
}

std::uint64_t Async::arrive(Thread& thread, const Instruction& at, std::uint64_t address, std::uint64_t count,
                            std::uint64_t expected_bytes) {
    Barrier& barrier = barrier_at(thread, at, address);
    if (count > barrier.left) block_.fault(thread, at, "more arrive than the barrier waits for");
    const std::uint64_t phase = barrier.phase;
    barrier.bytes += static_cast<std::int64_t>(expected_bytes);
    barrier.left -= count;
    barrier.arrived = block_.clocks().release(thread.number, barrier.arrived);
    check_phase(barrier);
    return phase;
}

void Async::expect(Thread& thread, const Instruction& at, std::uint64_t address, std::uint64_t bytes) {
    barrier_at(thread, at, address).bytes += static_cast<std::int64_t>(bytes);
}

void Async::check_phase(Barrier& barrier) {
    if (barrier.left > 0 || barrier.bytes != 0) return;
    ++barrier.phase;
    barrier.left = barrier.expected;
    barrier.done = std::exchange(barrier.arrived, nullptr);
    for (const std::uint16_t number : std::exchange(barrier.waiting, {})) {
        Thread& thread = block_.thread(number);
        block_.clocks().acquire(number, barrier.done);
        thread.r[thread.pc->d] = 1;
        thread.p[thread.pc->d] = 0;
        block_.wake(thread);
    }
}

bool Async::wait_phase(Thread& thread, const Instruction& at, std::uint64_t address, std::uint64_t phase, bool parity) {
    Barrier& barrier = barrier_at(thread, at, address);
    const bool done = parity ? (barrier.phase & 1) != phase : barrier.phase != phase;
    if (done) {
        block_.clocks().acquire(thread.number, barrier.done);
    } else {
        block_.wait(thread, at);
        barrier.waiting.push_back(thread.number);
    }
    return done;
}

// ---- cp.async.bulk ---------------------------------------------------------------------------------------------------

// A tensor's box, element by element: the first axis runs fastest. What is outside of the tensor has no address.
template <class F>
void Async::for_pieces(const BulkCopy& copy, F f) const {
    if (!copy.is_tensor) {
        for (std::uint32_t b = 0; b < copy.bytes; b += 16) f(copy.shared + b, copy.device + b, 16u);
        return;
    }
    const TensorMap& map = copy.map;
    std::array<std::uint32_t, 5> at{};
    for (std::uint32_t offset = 0; offset < copy.bytes; offset += map.element) {
        std::uint64_t address = map.address;
        for (std::uint32_t d = 0; d < map.rank; ++d) {
            const std::int64_t index = copy.corner[d] + static_cast<std::int64_t>(at[d]);
            if (index < 0 || index >= map.dims[d]) address = 0;
            if (address) address += static_cast<std::uint64_t>(index) * (d ? map.strides[d - 1] : map.element);
        }
        f(swizzled(copy.shared + offset, map.swizzle), address, map.element);
        for (std::uint32_t d = 0; d < map.rank && ++at[d] == map.box[d]; ++d) at[d] = 0;
    }
}

void Async::load(Thread& thread, BulkCopy copy) {
    Clocks& clocks = block_.clocks();
    if (!barrier_at(thread, *copy.at, copy.barrier).fenced)
        block_.fault(thread, *copy.at,
                     "after the barrier was made there is no fence.mbarrier_init or fence.proxy.async");
    copy.time = clocks.tick(block_.agent(kLoads));
    for_pieces(copy, [&](std::uint64_t shared, std::uint64_t device, std::uint32_t bytes) {
        const auto to = block_.place_bytes(thread, *copy.at, Space::Shared, shared, bytes, true);
        if (device) block_.place_bytes(thread, *copy.at, Space::Global, device, bytes, false);
        block_.touch_as({thread.number, block_.agent(kLoads), copy.time}, *copy.at, to, bytes, Touch::Write);
        std::memset(to.poison, kPendingCopy, bytes);
    });
    loads_.push_back(copy);
}

void Async::finish_load(const BulkCopy& copy) {
    Thread& thread = block_.thread(copy.thread);
    for_pieces(copy, [&](std::uint64_t shared, std::uint64_t device, std::uint32_t bytes) {
        const auto to = block_.place_bytes(thread, *copy.at, Space::Shared, shared, bytes, true);
        for (std::size_t b = 0; b < bytes; ++b)
            if (to.poison[b] != kPendingCopy)
                block_.fault(thread, *copy.at,
                             "something else was written to where this copy goes, before it was waited for");
        std::memset(to.poison, 0, bytes);
        if (!device) std::memset(to.data, 0, bytes);
        else
            std::memcpy(to.data, block_.place_bytes(thread, *copy.at, Space::Global, device, bytes, false).data, bytes);
    });
    const auto found = barriers_.find(copy.barrier);
    if (found == barriers_.end()) block_.fault(thread, *copy.at, "its barrier is not there any more");
    Barrier& barrier = found->second;
    barrier.bytes -= copy.bytes;
    barrier.arrived = block_.clocks().joined(barrier.arrived, block_.agent(kLoads), copy.time);
    check_phase(barrier);
}

void Async::store(Thread& thread, BulkCopy copy) {
    copy.time = block_.clocks().tick(block_.agent(kStores));
    for_pieces(copy, [&](std::uint64_t shared, std::uint64_t device, std::uint32_t bytes) {
        const auto from = block_.place_bytes(thread, *copy.at, Space::Shared, shared, bytes, false);
        block_.touch_as({thread.number, block_.agent(kStores), copy.time}, *copy.at, from, bytes, Touch::Read);
        need_fence(thread, *copy.at, shared, bytes);
        if (device) block_.place_bytes(thread, *copy.at, Space::Global, device, bytes, true);
    });
    stores_[thread.number].open.push_back(copy);
}

void Async::finish_store(const BulkCopy& copy) {
    Thread& thread = block_.thread(copy.thread);
    const Toucher who{copy.thread, block_.agent(kStores), copy.time};
    for_pieces(copy, [&](std::uint64_t shared, std::uint64_t device, std::uint32_t bytes) {
        const auto from = block_.place_bytes(thread, *copy.at, Space::Shared, shared, bytes, false);
        block_.touch_as(who, *copy.at, from, bytes, Touch::Read);
        if (!device) return;
        for (std::size_t b = 0; b < bytes; ++b) block_.need(thread, *copy.at, from.poison[b], "what is copied");
        const auto to = block_.place_bytes(thread, *copy.at, Space::Global, device, bytes, true);
        block_.touch_as(who, *copy.at, to, bytes, Touch::Write);
        std::memcpy(to.data, from.data, bytes);
    });
    Clocks& clocks = block_.clocks();
    clocks.acquire(copy.thread, clocks.joined(nullptr, block_.agent(kStores), copy.time));
}

void Async::commit_stores(Thread& thread) {
    auto& [open, committed] = stores_[thread.number];
    committed.push_back(std::move(open));
    open.clear();
}

void Async::wait_stores(Thread& thread, std::size_t keep) {
    auto& committed = stores_[thread.number].committed;
    while (committed.size() > keep) {
        for (const BulkCopy& copy : committed.front()) finish_store(copy);
        committed.erase(committed.begin());
    }
}

// ---- tensor maps -----------------------------------------------------------------------------------------------------

int encode_tiled(void* map, int type, std::uint32_t rank, void* address, const std::uint64_t* dims,
                 const std::uint64_t* strides, const std::uint32_t* box, const std::uint32_t* element_strides,
                 int interleave, int swizzle, int /*l2*/, int fill) {
    static constexpr std::uint32_t kBytes[] = {1, 2, 4, 4, 8, 8, 2, 4, 8, 2, 4, 4, 4};
    TensorMap result;
    if (type < 0 || type >= static_cast<int>(std::size(kBytes)) || rank < 1 || rank > 5 || interleave || fill) return 1;
    result.address = reinterpret_cast<std::uint64_t>(address);
    result.rank = rank;
    result.element = kBytes[type];
    result.swizzle = swizzle ? 16u << swizzle : 0;
    if (result.address % 16 || swizzle < 0 || swizzle > 3) return 1;
    for (std::uint32_t d = 0; d < rank; ++d) {
        result.dims[d] = static_cast<std::uint32_t>(dims[d]);
        result.box[d] = box[d];
        if (dims[d] == 0 || dims[d] >= 1ull << 32 || box[d] == 0 || box[d] > 256 || element_strides[d] != 1) return 1;
        if (d > 0) result.strides[d - 1] = strides[d - 1];
        if (d > 0 && strides[d - 1] % 16) return 1;
    }
    const std::uint32_t inner = box[0] * result.element;
    if (inner % 16 || (result.swizzle && inner > result.swizzle)) return 1;
    std::memset(map, 0, 128);
    std::memcpy(map, &result, sizeof result);
    return 0;
}

}  // namespace weft::testing::ptx
