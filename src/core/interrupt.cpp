// core/interrupt.cpp: the callback, and when it is asked.
#include "core/interrupt.h"

#include "core/leaf_mutex.h"

#include <weft/error.h>

#include <chrono>
#include <memory>
#include <mutex>
#include <utility>

namespace weft {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kPollEvery = std::chrono::milliseconds(5);

struct Interrupts {
    LeafMutex mutex;
    std::shared_ptr<const std::function<bool()>> wanted;
    std::atomic<bool> any{false};
};
Interrupts& interrupts() {
    static Interrupts& instance = *new Interrupts;
    return instance;
}

thread_local Clock::time_point last_poll;
constinit thread_local bool uninterrupted = false, stopped = false;
constinit thread_local const std::atomic<bool>* stop_flag = nullptr;

}  // namespace

bool stop_wanted() {
    if (uninterrupted) return false;
    if (stop_flag) return stop_flag->load(std::memory_order_relaxed);
    if (stopped) return true;
    if (!interrupts().any.load(std::memory_order_relaxed)) return false;
    const Clock::time_point now = Clock::now();
    if (now - last_poll < kPollEvery) return false;
    last_poll = now;
    std::shared_ptr<const std::function<bool()>> wanted;
    {
        const std::lock_guard lock(interrupts().mutex);
        wanted = interrupts().wanted;
    }
    return stopped = wanted && (*wanted)();
}

void poll_interrupt() {
    if (stop_wanted()) throw_if_stopped();
}

void throw_if_stopped() {
    if (uninterrupted || !(stop_flag ? stop_flag->load(std::memory_order_relaxed) : stopped)) return;
    stopped = false;
    throw Interrupted("the run was interrupted; what it was to compute is computed when it is next asked for");
}

Uninterrupted::Uninterrupted(bool really) : before_(std::exchange(uninterrupted, uninterrupted || really)) {}
Uninterrupted::~Uninterrupted() { uninterrupted = before_; }

StopWith::StopWith(const std::atomic<bool>& stop) : before_(std::exchange(stop_flag, &stop)) {}
StopWith::~StopWith() { stop_flag = before_; }

void set_interrupt(std::function<bool()> wanted) {
    std::shared_ptr<const std::function<bool()>> next;
    if (wanted) next = std::make_shared<const std::function<bool()>>(std::move(wanted));
    const std::lock_guard lock(interrupts().mutex);
    interrupts().any = next != nullptr;
    interrupts().wanted.swap(next);  // what it was is destroyed without the lock
}

}  // namespace weft
