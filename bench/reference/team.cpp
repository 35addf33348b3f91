// bench/reference/team.cpp: how the helper gets its work. It sleeps after a millisecond without any, which is far longer than the gap
// between two calls of a burst and leaves the core to Weft when that is timed.
#include "reference/team.h"

#include <chrono>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSpin = std::chrono::milliseconds(1);
constexpr std::uint64_t kLeft = 0xffffffff;

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

}  // namespace

Team::Team() : helper_([this] { help(); }) {}

Team::~Team() {
    stop_ = true;
    ++wake_;
    wake_.notify_one();
    helper_.join();
}

void Team::run(std::int64_t pieces, const std::function<void(std::int64_t)>& work) {
    work_ = &work;
    pieces_ = pieces;
    done_.store(0, std::memory_order_relaxed);
    const std::uint64_t job = (ticket_.load(std::memory_order_relaxed) | kLeft) + 1;
    ticket_.store(job | static_cast<std::uint64_t>(pieces));  // sequentially consistent, as in help()
    if (asleep_.load()) {
        ++wake_;
        wake_.notify_one();
    }
    take_part();
    while (done_.load(std::memory_order_acquire) < pieces) relax();
}

// A claim that succeeds proves that the job is still open.
void Team::take_part() {
    std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
    while ((ticket & kLeft) != 0) {
        if (!ticket_.compare_exchange_weak(ticket, ticket - 1, std::memory_order_acq_rel)) continue;
        (*work_)(pieces_ - static_cast<std::int64_t>(ticket & kLeft));
        done_.fetch_add(1, std::memory_order_release);
        ticket = ticket_.load(std::memory_order_acquire);
    }
}

void Team::help() {
    auto last = Clock::now();
    while (!stop_) {
        if ((ticket_.load(std::memory_order_relaxed) & kLeft) != 0) {
            take_part();
            last = Clock::now();
        }
        for (int i = 0; i < 32 && (ticket_.load(std::memory_order_relaxed) & kLeft) == 0; ++i) relax();
        if (Clock::now() - last < kSpin) continue;
        const std::uint32_t seen = wake_.load();
        asleep_.store(true);  // either run() sees this, or the ticket is seen here
        if ((ticket_.load() & kLeft) == 0 && !stop_) wake_.wait(seen);
        asleep_.store(false);
        last = Clock::now();
    }
}

Team& team() {
    static Team instance;
    return instance;
}

}  // namespace bench
