// tests/support/ptx_machine.cpp: runs the blocks of a launch, one after the other, and the threads of a block, each until it has to wait for others.
#include "support/ptx_machine.h"

#include "core/str.h"
#include "support/ptx_block.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <map>

namespace weft::testing::ptx {

Block::Block(const Program& program, const Launch& launch)
    : program_(program), launch_(launch), code_(program.entry(launch.entry)), memory_(launch.memory) {
    for (const Range& range : program_.variables()) memory_.push_back(range);
    for (const Range& range : memory_)
        watched_.push_back(std::ranges::any_of(memory_, [&](const Range& other) {
            return other.writable && range.address < other.address + other.bytes &&
                   other.address < range.address + range.bytes;
        }));
    if (launch.parameters.size() != code_.parameters.size())
        throw Fault(str("PTX, ", code_.name, ": has ", code_.parameters.size(), " parameters, and was given ",
                        launch.parameters.size()));
    if (launch.threads < 1 || launch.threads > std::min<std::int64_t>(code_.most_threads, 1024))
        throw Fault(str("PTX, ", code_.name, ": cannot have ", launch.threads, " threads in a block"));
    const std::int64_t shared = static_cast<std::int64_t>(code_.shared_bytes) + launch.shared_bytes;
    if (shared > kMostShared || code_.shared_bytes > 48 * 1024)
        throw Fault(str("PTX, ", code_.name, ": a block has no ", shared, " bytes of shared memory"));
    parameters_.resize(code_.parameter_bytes);
    for (std::size_t p = 0; p < code_.parameters.size(); ++p)
        std::memcpy(parameters_.data() + code_.parameters[p].offset, launch.parameters[p], code_.parameters[p].bytes);
    const auto threads = static_cast<std::size_t>(launch.threads);
    hints_.resize(code_.instructions.size());
    slots_.resize(threads * code_.slots.size());
    poison_.resize(slots_.size());
    local_.resize(threads * code_.local_bytes);
    threads_.resize(threads);
    warps_.resize((threads + 31) / 32);
}

std::int64_t Block::run() {
    const std::int64_t blocks = launch_.blocks[0] * launch_.blocks[1] * launch_.blocks[2];
    for (std::int64_t b = 0; b < blocks; ++b) {
        if (launch_.stop && launch_.stop()) break;
        begin(launch_.order == Order::Backward ? blocks - 1 - b : b);
        do
            while (!ready_.empty()) {
                Thread& next = threads_[ready_.front()];
                ready_.pop_front();
                run_thread(next);
            }
        while (there_ > 0 && async_.progress());
        if (there_ > 0) stuck();
        async_.end();
    }
    return steps_;
}

void Block::begin(std::int64_t number) {
    number_ = number;
    at_ = {number % launch_.blocks[0], number / launch_.blocks[0] % launch_.blocks[1],
           number / (launch_.blocks[0] * launch_.blocks[1])};
    random_.seed(static_cast<unsigned>(number + 1));
    clocks_.begin(threads_.size(), kAgents);
    async_.begin(threads_.size());
    for (auto& group : groups_) group.clear();
    shared_.begin(code_.shared_bytes + static_cast<std::size_t>(launch_.shared_bytes), kNoShared);
    if (launch_.scratch.bytes) {
        const std::uint64_t each =
            launch_.scratch.bytes /
            static_cast<std::uint64_t>(launch_.blocks[0] * launch_.blocks[1] * launch_.blocks[2]);
        scratch_.use(reinterpret_cast<std::byte*>(launch_.scratch.address + each * static_cast<std::uint64_t>(number)),
                     each, kNoShared);
    }
    local_poison_.assign(local_.size(), kNoLocal);
    for (Barrier& barrier : barriers_) barrier = {};
    const std::size_t slots = code_.slots.size();
    for (std::size_t t = 0; t < threads_.size(); ++t) {
        Thread& thread = threads_[t];
        thread = {.block = this,
                  .r = slots_.data() + t * slots,
                  .p = poison_.data() + t * slots,
                  .pc = code_.instructions.data(),
                  .number = static_cast<std::uint16_t>(t),
                  .local = local_.data() + t * code_.local_bytes,
                  .local_poison = local_poison_.data() + t * code_.local_bytes};
        std::ranges::copy(code_.slots, thread.r);
        std::ranges::copy(code_.poison, thread.p);
        for (const auto& [slot, what, axis] : code_.specials) {
            using Special = Code::Special;
            const auto a = static_cast<std::size_t>(axis);
            thread.r[slot] = static_cast<std::uint64_t>(what == Special::Tid      ? (axis == 0 ? thread.number : 0)
                                                        : what == Special::Ntid   ? (axis == 0 ? launch_.threads : 1)
                                                        : what == Special::Ctaid  ? at_[a]
                                                        : what == Special::Nctaid ? launch_.blocks[a]
                                                        : what == Special::Lane   ? thread.lane()
                                                                                  : thread.warp());
        }
        warps_[t / 32].there |= 1u << (t % 32);
    }
    there_ = threads_.size();
    std::vector<std::uint16_t> all(threads_.size());
    for (std::size_t t = 0; t < all.size(); ++t) all[t] = static_cast<std::uint16_t>(t);
    sort(all);
    ready_.assign(all.begin(), all.end());
}

void Block::run_thread(Thread& thread) {
    const Instruction* next = thread.pc;
    std::int64_t steps = 0;
    do {
        const Instruction& at = *next;
        ++steps;
        if (at.guard) {
            need(thread, at, thread.p[at.guard], "a predicate");
            if ((thread.r[at.guard] != 0) == at.guard_negated) {
                ++next;
                continue;
            }
        }
        if (at.mode != mode_ && at.mode != Mode::Any) set_mode(at.mode);
        next = at.run(thread, at);
    } while (next);
    steps_ += steps;
    if (thread.state == Thread::State::Exited) exited(thread);
}

void Block::set_mode(Mode mode) {
    host_mode_.reset();
    host_mode_.emplace(mode == Mode::Keep);
    mode_ = mode;
}

void Block::sort(std::span<std::uint16_t> threads) {
    std::ranges::sort(threads);
    if (launch_.order == Order::Backward) std::ranges::reverse(threads);
    if (launch_.order == Order::Shuffled) std::ranges::shuffle(threads, random_);
}

void Block::resume(std::span<std::uint16_t> threads) {
    sort(threads);
    for (const std::uint16_t number : threads) {
        Thread& thread = threads_[number];
        thread.state = Thread::State::Ready;
        ++thread.pc;
        ready_.push_back(number);
    }
}

void Block::exited(Thread& thread) {
    async_.exited(thread);
    --there_;
    Warp& warp = warps_[static_cast<std::size_t>(thread.warp())];
    warp.there &= ~(1u << thread.lane());
    for (Barrier& barrier : barriers_)
        if (barrier.arrived > 0 && barrier.expected == 0 && barrier.arrived == static_cast<std::int64_t>(there_))
            open(barrier);
    for (std::uint32_t left = warp.waiting; left; left = warp.waiting) {  // others may have waited for this one
        const auto ready = [&](int lane) { return (left >> lane & 1) && together(this->thread(thread.warp(), lane)); };
        int lane = 0;
        while (lane < 32 && !ready(lane)) ++lane;
        if (lane == 32) break;
        Thread& first = this->thread(thread.warp(), lane);
        const Instruction& at = *first.pc;
        first.state = Thread::State::Ready;
        warp.waiting &= ~(1u << lane);
        first.pc = meet(first, at, first.lanes);
        ready_.push_back(first.number);
    }
}

// ---- barriers --------------------------------------------------------------------------------------------------------

const Instruction* Block::arrive(Thread& thread, const Instruction& at, std::uint64_t number, std::uint64_t count,
                                 bool wait) {
    if (number >= barriers_.size()) fault(thread, at, str("there is no barrier ", number));
    if (count % 32 != 0) fault(thread, at, str("waits for ", count, " threads, which are no whole warps"));
    Barrier& barrier = barriers_[number];
    if (barrier.arrived > 0 && barrier.expected != static_cast<std::int64_t>(count))
        fault(thread, at, str("waits for ", count, " threads, others at the same barrier for ", barrier.expected));
    barrier.expected = static_cast<std::int64_t>(count);
    ++barrier.arrived;
    thread.pc = &at;
    if (wait) {
        thread.state = Thread::State::AtBarrier;
        barrier.waiting.push_back(thread.number);
    } else barrier.released = clocks_.release(thread.number, barrier.released);
    if (barrier.arrived == (count ? barrier.expected : static_cast<std::int64_t>(there_))) open(barrier);
    return wait ? nullptr : &at + 1;
}

void Block::open(Barrier& barrier) {
    check_aligned(barrier);
    if (barrier.expected == 0) clocks_.meet_all();
    else if (!barrier.waiting.empty()) {
        clocks_.meet(barrier.waiting);
        for (const std::uint16_t thread : barrier.waiting) clocks_.acquire(thread, barrier.released);
    }
    std::vector<std::uint16_t> waiting = std::move(barrier.waiting);
    barrier = {};
    resume(waiting);
}

// The threads of a warp wait at one instruction; so do those of a block, where all of them wait.
void Block::check_aligned(const Barrier& barrier) const {
    std::map<int, const Thread*> first;
    for (const std::uint16_t number : barrier.waiting) {
        const Thread& thread = threads_[number];
        const Thread* const other = first.emplace(barrier.expected ? thread.warp() : 0, &thread).first->second;
        if (other->pc != thread.pc)
            fault(thread, *thread.pc,
                  str("waits at another barrier than thread ", other->number, ", which is at `",
                      code_.texts[static_cast<std::size_t>(other->pc - code_.instructions.data())], "`"));
    }
}

// ---- warps -----------------------------------------------------------------------------------------------------------

bool Block::together(const Thread& thread) const {
    const Warp& warp = warps_[static_cast<std::size_t>(thread.warp())];
    const std::uint32_t needed = thread.lanes & warp.there;
    if ((warp.waiting & needed) != needed) return false;
    for (std::uint32_t left = needed; left; left &= left - 1)
        if (threads_[static_cast<std::size_t>(thread.warp() * 32 + std::countr_zero(left))].pc != thread.pc)
            return false;
    return true;
}

const Instruction* Block::meet(Thread& thread, const Instruction& at, std::uint64_t lanes) {
    Warp& warp = warps_[static_cast<std::size_t>(thread.warp())];
    thread.pc = &at;
    thread.lanes = static_cast<std::uint32_t>(lanes);
    if (!(thread.lanes >> thread.lane() & 1)) fault(thread, at, "the lanes do not include the thread's own");
    warp.waiting |= 1u << thread.lane();
    if (!together(thread)) {
        thread.state = Thread::State::InWarp;
        return nullptr;
    }
    const std::uint32_t needed = thread.lanes & warp.there;
    std::vector<std::uint16_t> others;
    for (std::uint32_t left = needed; left; left &= left - 1) {
        const Thread& other = this->thread(thread.warp(), std::countr_zero(left));
        if (other.lanes != thread.lanes)
            fault(thread, at, str("waits for other lanes than thread ", other.number, ", which is at the same place"));
        if (&other != &thread) others.push_back(other.number);
    }
    warp.waiting &= ~needed;
    at.collective(*this, at, thread.warp(), needed);
    resume(others);
    return &at + 1;
}

const Instruction* Block::meet_group(Thread& thread, const Instruction& at) {
    const int group = thread.number / 128;
    std::vector<std::uint16_t>& waiting = groups_[static_cast<std::size_t>(group)];
    wait(thread, at);
    waiting.push_back(thread.number);
    const Thread& first = threads_[waiting.front()];
    if (first.pc != thread.pc)
        fault(thread, at,
              str("is executed by 128 threads together, and thread ", first.number, " is at `",
                  code_.texts[static_cast<std::size_t>(first.pc - code_.instructions.data())], "`"));
    if (waiting.size() < 128) return nullptr;
    std::vector<std::uint16_t> all = std::move(waiting);
    waiting.clear();
    at.collective(*this, at, group, 0);
    resume(all);
    return nullptr;
}

void Block::wait(Thread& thread, const Instruction& at) {
    thread.pc = &at;
    thread.state = Thread::State::Waiting;
}

void Block::wake(Thread& thread) {
    thread.state = Thread::State::Ready;
    ++thread.pc;
    ready_.push_back(thread.number);
}

std::size_t Block::choose(std::size_t count) {
    if (launch_.order == Order::Forward) return 0;
    return launch_.order == Order::Backward ? count - 1 : random_() % count;
}

// ---- faults ----------------------------------------------------------------------------------------------------------

void Block::fault(const Thread& thread, const Instruction& at, const std::string& what) const {
    throw Fault(str("PTX, ", code_.name, ", block (", at_[0], ", ", at_[1], ", ", at_[2], "), thread ", thread.number,
                    ": `", code_.texts[static_cast<std::size_t>(&at - code_.instructions.data())], "`: ", what));
}

void Block::fault_of(const Thread& thread, const Instruction& at, Poison poison, const char* what) const {
    static constexpr const char* kReasons[] = {"a register that was never written",
                                               "shared memory that was never written",
                                               "local memory that was never written",
                                               "a copy that may not have arrived",
                                               "a lane that is not there",
                                               "a division by zero",
                                               "a product that may not be done",
                                               "the inside of a barrier"};
    fault(thread, at, str(what, " comes from ", kReasons[std::countr_zero(poison)]));
}

void Block::stuck() const {
    std::map<const Instruction*, std::vector<const Thread*>> places;
    bool barrier = false;
    for (const Thread& thread : threads_)
        if (thread.state != Thread::State::Exited) {
            places[thread.pc].push_back(&thread);
            barrier = barrier || thread.state == Thread::State::AtBarrier;
        }
    std::string all;
    for (const auto& [at, who] : places)
        all += str(all.empty() ? "" : "; ", who.size(), who.size() == 1 ? " thread at `" : " threads at `",
                   code_.texts[static_cast<std::size_t>(at - code_.instructions.data())], "`, the first is ",
                   who[0]->number);
    const auto& [at, who] = *places.begin();
    fault(*who[0], *at,
          str(barrier ? "a barrier where not all threads arrive: " : "no thread can go on: ", all, "; ",
              threads_.size() - there_, " have exited"));
}

std::int64_t run(const Program& program, const Launch& launch) { return Block(program, launch).run(); }

}  // namespace weft::testing::ptx
