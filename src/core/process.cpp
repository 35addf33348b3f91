// core/process.cpp: counts the forks on the way to this process.
#include "core/process.h"

#include <pthread.h>

#include <atomic>

namespace weft {
namespace {

constinit std::atomic<std::uint32_t> forks{0};
[[maybe_unused]] const int registered = pthread_atfork(nullptr, nullptr, [] { ++forks; });

}  // namespace

std::uint32_t process_number() { return forks.load(std::memory_order_relaxed); }

}  // namespace weft
