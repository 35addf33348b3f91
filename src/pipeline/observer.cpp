// pipeline/observer.cpp: the one observer.
#include "pipeline/observer.h"

#include <atomic>
#include <chrono>

namespace weft::pipeline {
namespace {

std::atomic<Observer*> watching{nullptr};

}  // namespace

std::int64_t now() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch())
        .count();
}

void set_observer(Observer* observer) { watching = observer; }
Observer* observer() { return watching.load(std::memory_order_acquire); }

}  // namespace weft::pipeline
