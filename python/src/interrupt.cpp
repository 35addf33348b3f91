// python/src/interrupt.cpp: notes that SIGINT arrived, in front of Python's own handler, so that a run can see it without the GIL: the
// thread that runs kernels holds Weft's locks, and another one may hold the GIL and wait for them.
#include "interrupt.h"

#include <weft/debug.h>

#include <pthread.h>
#include <atomic>
#include <csignal>

namespace weft::python {

namespace {

std::atomic<bool> arrived{false};
pthread_t main_thread;
struct sigaction behind;  // whose handler is called after ours

void note(int signal, siginfo_t* info, void* context) {
    arrived.store(true, std::memory_order_relaxed);
    if (behind.sa_flags & SA_SIGINFO) behind.sa_sigaction(signal, info, context);
    else behind.sa_handler(signal);
}

// Puts `note` in front of the handler that is there; signal.signal() may have replaced it.
void stand_in_front() {
    struct sigaction now;
    if (sigaction(SIGINT, nullptr, &now) != 0) return;
    if (now.sa_flags & SA_SIGINFO) {
        if (now.sa_sigaction == note) return;
    } else if (now.sa_handler == SIG_DFL || now.sa_handler == SIG_IGN) {
        return;
    }
    behind = now;
    now.sa_sigaction = note;
    now.sa_flags |= SA_SIGINFO;
    sigaction(SIGINT, &now, nullptr);
}

}  // namespace

void watch_for_interrupts() {
    main_thread = pthread_self();
    // In a forked child the thread that forked is Python's main thread, and no signal has arrived yet.
    pthread_atfork(nullptr, nullptr, [] {
        main_thread = pthread_self();
        arrived = false;
    });
    stand_in_front();
    set_interrupt_callback([] {
        if (!pthread_equal(pthread_self(), main_thread)) return false;  // Python handles signals in its main thread
        stand_in_front();
        return arrived.load(std::memory_order_relaxed);
    });
}

bool handle_interrupt() {
    arrived = false;
    return PyErr_CheckSignals() != 0;
}

void raise_interrupt() noexcept {
    if (!handle_interrupt()) PyErr_SetNone(PyExc_KeyboardInterrupt);
}

}  // namespace weft::python
