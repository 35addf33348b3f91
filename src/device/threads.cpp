// device/threads.cpp: the ticket, the helpers, and how they sleep. One atomic word holds which claims are left, from the first to the
// last: a claim that succeeds proves that the job is still there, so only then is the rest of the job looked at.
#include "device/threads.h"

#include "core/config.h"
#include "core/interrupt.h"
#include "device/denormals.h"

#include <weft/error.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <exception>
#include <limits>
#include <mutex>
#include <new>
#include <thread>
#include <utility>
#include <vector>

namespace weft::device {
namespace {

using Clock = std::chrono::steady_clock;
constexpr auto kSpin = std::chrono::microseconds(100);  // a helper looks for the next job this long before it sleeps
constexpr std::uint64_t kLeft = 0xffffffff;  // low half of the ticket: claims left; high half: the first of them

inline void relax() {
#if defined(__x86_64__)
    __builtin_ia32_pause();
#endif
}

// ---- the pool --------------------------------------------------------------------------------------------------------

thread_local bool inside_chunk = false;  // a kernel that asks for threads again gets none
constinit thread_local ThreadLog* open_log = nullptr;

std::int64_t nanoseconds() {
    return std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count();
}

class Helpers {
public:
    explicit Helpers(int count) {
        threads_.reserve(count);
        try {
            for (int i = 0; i < count; ++i) threads_.emplace_back([this, i] { work(i + 1); });
        } catch (const std::system_error&) {
            // The system gives no more threads: do with those there are.
        }
    }
    ~Helpers() {
        stop_.store(true);
        wake();
        for (std::thread& t : threads_) t.join();
    }
    void run(std::int64_t chunks, ChunkFn f, const ChunkOptions& options);

private:
    struct Job {
        const ChunkFn* f = nullptr;
        std::int64_t chunks = 0, grain = 1, claims = 0;
        bool interruptible = true, keep_subnormals = false;
        ThreadSpan* spans = nullptr;  // by thread; null: nobody asks
    };

    // Takes a claim of the job that is open; false if none is left. The caller takes the first, helpers take the last: so both work on
    // the same chunks in every run of a kernel, and find what they need in their own caches.
    bool claim(std::int64_t& index, int thread) {
        std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
        while ((ticket & kLeft) != 0) {
            const std::uint64_t first = ticket >> 32, left = ticket & kLeft;
            const std::uint64_t rest = (thread == 0 ? first + 1 : first) << 32 | (left - 1);
            if (!ticket_.compare_exchange_weak(ticket, rest, std::memory_order_acq_rel)) continue;
            index = static_cast<std::int64_t>(thread == 0 ? first : first + left - 1);
            return true;
        }
        return false;
    }

    void perform(std::int64_t index, int thread) noexcept {
        const std::int64_t begin = index * job_.grain, end = std::min(begin + job_.grain, job_.chunks);
        ThreadSpan* const span = job_.spans ? job_.spans + thread : nullptr;
        if (span && span->start == 0) span->start = nanoseconds();
        const DenormalScope flush(job_.keep_subnormals);
        inside_chunk = true;
        try {
            const Uninterrupted scope(!job_.interruptible);
            if (thread == 0) {
                (*job_.f)(begin, end, thread);
            } else {
                const StopWith caller(stop_job_);
                (*job_.f)(begin, end, thread);
            }
        } catch (const Interrupted&) {  // of the others that stop now, none is the reason
            if (!stop_job_.exchange(true)) keep_exception(index, std::current_exception());
            abandon();
        } catch (...) {
            keep_exception(index, std::current_exception());
            abandon();
        }
        inside_chunk = false;
        if (span) span->end = nanoseconds();
        done_.fetch_add(1, std::memory_order_release);  // after this the job may be gone
    }

    void keep_exception(std::int64_t index, std::exception_ptr exception) {
        const std::lock_guard lock(exception_mutex_);
        if (index >= exception_index_) return;
        exception_index_ = index;
        exception_ = std::move(exception);
    }

    // Drops what nobody has claimed yet.
    void abandon() {
        std::uint64_t ticket = ticket_.load(std::memory_order_acquire);
        while (!ticket_.compare_exchange_weak(ticket, ticket & ~kLeft, std::memory_order_acq_rel)) {}
        done_.fetch_add(static_cast<std::int64_t>(ticket & kLeft), std::memory_order_release);
    }

    ThreadSpan* start_spans() {
        spans_.assign(threads_.size() + 1, {});
        return spans_.data();
    }

    void end_spans(ThreadLog& log) const {
        for (int thread = 1; thread < static_cast<int>(spans_.size()); ++thread)
            if (spans_[thread].start) log.spans.push_back({thread, spans_[thread].start, spans_[thread].end});
        if (spans_[0].start) log.spans.push_back({0, spans_[0].end, nanoseconds()});
    }

    void wake() {
        wake_.fetch_add(1);
        wake_.notify_all();
    }

    void work(int thread);
    void sleep_until_work();

    std::atomic<std::uint64_t> ticket_{0};
    alignas(64) std::atomic<std::int64_t> done_{0};
    alignas(64) std::atomic<std::uint32_t> wake_{0};
    std::atomic<int> sleepers_{0};
    std::atomic<bool> stop_{false};      // the helpers end
    std::atomic<bool> stop_job_{false};  // chunks that are under way may stop: the job has failed
    Job job_;                            // written while no claim is open, read only by holders of a claim
    std::mutex exception_mutex_;
    std::exception_ptr exception_;
    std::int64_t exception_index_ = std::numeric_limits<std::int64_t>::max();
    std::vector<ThreadSpan> spans_;  // of the job; a thread writes its own while it holds a claim
    std::vector<std::thread> threads_;
};

void Helpers::run(std::int64_t chunks, ChunkFn f, const ChunkOptions& options) {
    job_ = {&f,
            chunks,
            options.grain,
            (chunks + options.grain - 1) / options.grain,
            options.interruptible,
            options.keep_subnormals,
            open_log ? start_spans() : nullptr};
    stop_job_.store(false, std::memory_order_relaxed);
    done_.store(0, std::memory_order_relaxed);
    ticket_.store(static_cast<std::uint64_t>(job_.claims));  // sequentially consistent: see sleep_until_work()
    if (sleepers_.load() > 0) wake();

    std::exception_ptr interrupted;
    const auto poll = [&] {
        if (!options.interruptible || interrupted) return;
        try {
            poll_interrupt();
        } catch (...) {
            interrupted = std::current_exception();
            stop_job_ = true;
            abandon();
        }
    };
    for (std::int64_t index; claim(index, 0);) {
        perform(index, 0);
        poll();
    }
    // Only helpers that hold a claim are waited for. One that lost its core is given ours.
    for (int spins = 0; done_.load(std::memory_order_acquire) < job_.claims; ++spins) {
        if (spins < 4096) {
            relax();
        } else {
            std::this_thread::yield();
            poll();
        }
    }
    if (open_log) end_spans(*open_log);
    exception_index_ = std::numeric_limits<std::int64_t>::max();
    if (const std::exception_ptr thrown = std::exchange(exception_, nullptr)) std::rethrow_exception(thrown);
    if (interrupted) std::rethrow_exception(interrupted);
}

void Helpers::work(int thread) {
    while (!stop_.load(std::memory_order_relaxed)) {
        std::int64_t index;
        if (claim(index, thread)) {
            do perform(index, thread);
            while (claim(index, thread));
        }
        const auto give_up = Clock::now() + kSpin;
        bool found = false;
        while (!found && Clock::now() < give_up) {
            for (int i = 0; i < 64 && !found; ++i) {
                relax();
                found = (ticket_.load(std::memory_order_relaxed) & kLeft) != 0 || stop_.load(std::memory_order_relaxed);
            }
        }
        if (!found) sleep_until_work();
    }
}

// The helper announces its sleep and then looks at the ticket; the caller writes the ticket and then looks for sleepers. Both in
// one total order, so at least one of them sees the other.
void Helpers::sleep_until_work() {
    const std::uint32_t seen = wake_.load();
    sleepers_.fetch_add(1);
    if ((ticket_.load() & kLeft) == 0 && !stop_.load()) wake_.wait(seen);
    sleepers_.fetch_sub(1);
}

// One job at a time; who comes second computes alone.
struct Door {
    std::mutex mutex;
    std::unique_ptr<Helpers> helpers;
    int count = 1;  // threads the helpers were made for
};
Door& door() {
    static Door& instance = *new Door;
    return instance;
}

void run_alone(std::int64_t chunks, ChunkFn f, const ChunkOptions& options) {
    const Uninterrupted scope(!options.interruptible);
    for (std::int64_t begin = 0; begin < chunks; begin += options.grain) {
        f(begin, std::min(begin + options.grain, chunks), 0);
        poll_interrupt();
    }
}

}  // namespace

ThreadLog::ThreadLog() : before_(std::exchange(open_log, this)) {}
ThreadLog::~ThreadLog() { open_log = before_; }

int thread_count() {
    if (const int wanted = config().threads; wanted > 0) return wanted;
    static const int cores = static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
    return cores;
}

void run_chunks(std::int64_t chunks, ChunkFn f, const ChunkOptions& given) {
    if (chunks <= 0) return;
    ChunkOptions options = given;
    options.grain = std::max<std::int64_t>(options.grain, chunks / static_cast<std::int64_t>(kLeft) + 1);
    const DenormalScope flush(options.keep_subnormals);
    Door& d = door();
    std::unique_lock lock(d.mutex, std::defer_lock);
    if (!options.parallel || chunks <= options.grain || inside_chunk || !lock.try_lock())
        return run_alone(chunks, f, options);
    if (const int wanted = options.threads > 0 ? options.threads : thread_count(); wanted != d.count) {
        d.helpers.reset();
        d.count = wanted;
    }
    if (d.count == 1) return run_alone(chunks, f, options);
    if (!d.helpers) d.helpers = std::make_unique<Helpers>(d.count - 1);
    d.helpers->run(chunks, f, options);
}

void lock_threads() { door().mutex.lock(); }
void unlock_threads() { door().mutex.unlock(); }

void reset_threads_in_child() {
    [[maybe_unused]] Helpers* const gone =
        door().helpers.release();  // its threads are the parent's; they cannot be joined
    new (&door().mutex) std::mutex;
}

}  // namespace weft::device
