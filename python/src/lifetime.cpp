// python/src/lifetime.cpp: what was put aside until somebody holds the GIL: a list without a lock, since a fork may come at any moment.
#include "lifetime.h"

#include <nanobind/nanobind.h>

#include <atomic>
#include <utility>

namespace weft::python {

namespace {

struct Waiting {
    std::function<void()> let_go;
    Waiting* next;
};
constinit std::atomic<Waiting*> newest{nullptr};
constinit std::atomic<bool> announced{false};

int settle_for_python(void*) {
    settle();
    return 0;
}

}  // namespace

void put_aside(std::function<void()> let_go) {
    auto* const waiting = new Waiting{std::move(let_go), newest.load(std::memory_order_relaxed)};
    while (!newest.compare_exchange_weak(waiting->next, waiting, std::memory_order_release)) {}
    if (!announced.exchange(true) && Py_AddPendingCall(settle_for_python, nullptr) != 0) announced = false;
}

void settle() {
    announced = false;  // before the list is taken: who adds to it later announces it again
    Waiting* waiting = newest.exchange(nullptr, std::memory_order_acquire);
    Waiting* oldest = nullptr;
    while (waiting) {
        Waiting* const next = std::exchange(waiting->next, oldest);
        oldest = std::exchange(waiting, next);
    }
    while (oldest) {
        const Waiting* const now = std::exchange(oldest, oldest->next);
        now->let_go();
        delete now;
    }
}

}  // namespace weft::python
