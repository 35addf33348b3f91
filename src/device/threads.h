// device/threads.h: the threads that run kernels. Work is cut into fixed chunks, whose borders come from the shape; the caller
// claims them from the front and helpers from the back. The caller never waits for a helper that has not started.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <type_traits>
#include <vector>

namespace weft::device {

// A reference to a callable `void(begin, end, thread)`: chunks [begin, end), on thread 0 (the caller) … threads - 1.
class ChunkFn {
public:
    template <class F>
    requires(!std::is_same_v<std::remove_cvref_t<F>, ChunkFn>) ChunkFn(F&& f)
        : object_(const_cast<void*>(static_cast<const void*>(std::addressof(f)))),
          call_([](void* object, std::int64_t begin, std::int64_t end, int thread) {
              (*static_cast<std::remove_reference_t<F>*>(object))(begin, end, thread);
          }) {}
    void operator()(std::int64_t begin, std::int64_t end, int thread) const { call_(object_, begin, end, thread); }

private:
    void* object_;
    void (*call_)(void*, std::int64_t, std::int64_t, int);
};

struct ChunkOptions {
    std::int64_t grain = 1;  // chunks claimed at once: about 10 microseconds to 10 milliseconds of work
    int threads = 0;         // at most so many, the caller included; 0: thread_count()
    bool parallel = true;    // false: all on the caller, still with flushed subnormals and interrupts
    bool keep_subnormals = false;
    bool interruptible = true;  // false where stopping half way would leave a half-written value (core/interrupt.h)
};

// Calls f for all chunks 0 … chunks-1, each exactly once, and returns when all are done. If a call throws, chunks not yet
// claimed are dropped, and the exception of the lowest chunk that threw is rethrown. Throws Interrupted if the callback says so.
void run_chunks(std::int64_t chunks, ChunkFn f, const ChunkOptions& options = {});

// What a thread did, in nanoseconds of the steady clock.
struct ThreadSpan {
    int thread;  // 0: the caller
    std::int64_t start, end;
};

// While one is open on a thread, the jobs that it hands out note who worked on them when. Without one nobody reads a clock.
class ThreadLog {
public:
    ThreadLog();
    ~ThreadLog();
    ThreadLog(const ThreadLog&) = delete;
    ThreadLog& operator=(const ThreadLog&) = delete;

    std::vector<ThreadSpan>
        spans;  // of helpers: they work, from the first chunk of a job to the last. Of the caller: it waits for them

private:
    ThreadLog* const before_;
};

int thread_count();  // threads that run_chunks uses, the caller included; config().threads, or one per core

// Around fork(): nobody else may be handing out work. The child starts helpers of its own when it first needs them.
void lock_threads();
void unlock_threads();
void reset_threads_in_child();

}  // namespace weft::device
