// tests/support/small_stack.h: runs a function on a thread with a 256 KiB stack: a walk that recurses over a long chain
// of nodes overflows it at once.
#pragma once

#include <pthread.h>

#include <exception>
#include <functional>
#include <stdexcept>

namespace weft::testing {

inline void on_small_stack(const std::function<void()>& work) {
    struct Job {
        const std::function<void()>& work;
        std::exception_ptr error;
    } job{work, nullptr};
    const auto start = [](void* argument) -> void* {
        auto& job = *static_cast<Job*>(argument);
        try {
            job.work();
        } catch (...) {
            job.error = std::current_exception();
        }
        return nullptr;
    };
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 256 * 1024);
    pthread_t thread;
    const int failed = pthread_create(&thread, &attributes, start, &job);
    pthread_attr_destroy(&attributes);
    if (failed) throw std::runtime_error("no thread for the test");
    pthread_join(thread, nullptr);
    if (job.error) std::rethrow_exception(job.error);
}

}  // namespace weft::testing
