// core/interrupt.h: a user's wish to stop, seen wherever something may take long: in kernels' chunks, in functions on whole arrays, and
// while plans are made and compiled.
#pragma once

#include <atomic>
#include <functional>

namespace weft {

// Throws Interrupted if the callback (set_interrupt_callback) says so. It is asked every few milliseconds at most, so this may be
// called every few microseconds.
void poll_interrupt();

// The same for code that cannot throw: true if it should stop. From then on it stays true on this thread, until one of the others throws.
bool stop_wanted();
void throw_if_stopped();  // throws Interrupted if stop_wanted() was true

void set_interrupt(std::function<bool()> wanted);  // the callback; empty: none

// While one lives, poll_interrupt() does nothing on this thread: stopping now would leave a half-written value.
class Uninterrupted {
public:
    explicit Uninterrupted(bool really = true);
    ~Uninterrupted();
    Uninterrupted(const Uninterrupted&) = delete;
    Uninterrupted& operator=(const Uninterrupted&) = delete;

private:
    const bool before_;
};

// While one lives, poll_interrupt() on this thread looks at a flag instead: helpers stop when the thread that they work for does.
class StopWith {
public:
    explicit StopWith(const std::atomic<bool>& stop);
    ~StopWith();
    StopWith(const StopWith&) = delete;
    StopWith& operator=(const StopWith&) = delete;

private:
    const std::atomic<bool>* const before_;
};

}  // namespace weft
