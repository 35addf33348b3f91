// Threads: every chunk runs exactly once, exceptions and interrupts arrive at the caller, subnormals are flushed and the mode
// restored, the number of threads may change, and a forked child has a pool of its own.
#include "device/threads.h"

#include "core/config.h"
#include "core/interrupt.h"
#include "core/str.h"
#include "pipeline/plan_cache.h"

#include <weft/autograd.h>
#include <weft/debug.h>
#include <weft/error.h>
#include <weft/jit.h>
#include <weft/ops.h>
#include <weft/random.h>

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <stdexcept>
#include <thread>
#include <vector>

using namespace weft;
using namespace weft::device;

TEST_CASE("each chunk runs once, whatever the number of threads and the grain") {
    for (const int threads : {1, 2, 3, 8}) {
        const ThreadScope scope(threads);
        for (const std::int64_t chunks : {0, 1, 2, 7, 1000}) {
            for (const std::int64_t grain : {1, 3, 5000}) {
                std::vector<std::atomic<int>> seen(chunks);
                std::atomic<bool> bad_thread{false};
                run_chunks(chunks,
                           [&](std::int64_t begin, std::int64_t end, int thread) {
                               if (thread < 0 || thread >= threads) bad_thread = true;
                               for (std::int64_t i = begin; i < end; ++i) ++seen[i];
                           },
                           {.grain = grain});
                bool once = true;
                for (const auto& count : seen) once = once && count == 1;
                CHECK(once);
                CHECK_FALSE(bad_thread);
            }
        }
    }
}

TEST_CASE("the caller works from the front and helpers from the back, so that each finds its data in its own cache") {
    const ThreadScope scope(3);
    for (int round = 0; round < 100; ++round) {
        std::vector<int> by(64, -1);
        run_chunks(64, [&](std::int64_t begin, std::int64_t, int thread) {
            by[begin] = thread;
            std::this_thread::sleep_for(std::chrono::microseconds(1));
        });
        CHECK(std::is_partitioned(by.begin(), by.end(), [](int thread) { return thread == 0; }));
    }
}

TEST_CASE("many short jobs in a row, with pauses long enough for helpers to fall asleep") {
    const ThreadScope scope(4);
    std::vector<std::int64_t> data(512);
    for (int round = 0; round < 3000; ++round) {
        run_chunks(8, [&](std::int64_t begin, std::int64_t end, int) {
            for (std::int64_t i = begin * 64; i < end * 64; ++i)
                ++data[i];  // plain memory: a missing join is a data race
        });
        if (round % 300 == 0) std::this_thread::sleep_for(std::chrono::milliseconds(2));
    }
    for (const std::int64_t value : data) REQUIRE(value == 3000);
}

TEST_CASE("an exception in a chunk reaches the caller, and the pool works on") {
    for (const int threads : {1, 4}) {
        const ThreadScope scope(threads);
        std::atomic<int> ran{0};
        CHECK_THROWS_WITH_AS(run_chunks(100000,
                                        [&](std::int64_t begin, std::int64_t, int) {
                                            ++ran;
                                            if (begin == 5) throw std::runtime_error("chunk 5");
                                        }),
                             "chunk 5", std::runtime_error);
        CHECK(ran < 100000);
        ran = 0;
        run_chunks(10, [&](std::int64_t, std::int64_t, int) { ++ran; });
        CHECK(ran == 10);
    }
}

TEST_CASE("of several exceptions the one of the lowest chunk is thrown") {
    const ThreadScope scope(4);
    for (int i = 0; i < 50; ++i) {
        std::atomic<int> started{0};
        try {
            run_chunks(2, [&](std::int64_t begin, std::int64_t, int) {
                ++started;
                for (int spin = 0; started < 2 && spin < 100000; ++spin) std::this_thread::yield();
                throw std::runtime_error(begin == 0 ? "first" : "second");
            });
            FAIL("nothing was thrown");
        } catch (const std::runtime_error& e) {
            CHECK(std::string(e.what()) == "first");
        }
    }
}

TEST_CASE("nested and concurrent jobs run alone instead of waiting") {
    const ThreadScope scope(3);
    std::atomic<int> inner{0};
    run_chunks(4, [&](std::int64_t, std::int64_t, int) {
        run_chunks(5, [&](std::int64_t begin, std::int64_t end, int) { inner += static_cast<int>(end - begin); });
    });
    CHECK(inner == 20);

    std::atomic<int> total{0};
    std::vector<std::thread> callers;
    for (int t = 0; t < 3; ++t)
        callers.emplace_back([&] {
            for (int i = 0; i < 500; ++i)
                run_chunks(6,
                           [&](std::int64_t begin, std::int64_t end, int) { total += static_cast<int>(end - begin); });
        });
    for (auto& t : callers) t.join();
    CHECK(total == 3 * 500 * 6);
}

TEST_CASE("an interrupt stops the job between chunks, unless it must not stop") {
    for (const int threads : {1, 3}) {
        const ThreadScope scope(threads);
        std::atomic<bool> wanted{true};
        set_interrupt_callback([&] { return wanted.load(); });
        std::atomic<int> ran{0};
        const auto slow = [&](std::int64_t, std::int64_t, int) {
            ++ran;
            std::this_thread::sleep_for(std::chrono::milliseconds(1));
        };
        const auto start = std::chrono::steady_clock::now();
        CHECK_THROWS_AS(run_chunks(2000, slow), Interrupted);
        CHECK(std::chrono::steady_clock::now() - start < std::chrono::milliseconds(200));
        CHECK(ran < 200);
        ran = 0;
        CHECK_NOTHROW(run_chunks(20, slow, {.interruptible = false}));
        CHECK(ran == 20);
        set_interrupt_callback(nullptr);
        CHECK_NOTHROW(run_chunks(20, slow));
    }
}

TEST_CASE("subnormals are flushed inside, unless they shall be kept, and kept outside") {
    const ThreadScope scope(4);
    volatile double tiny = 1e-310;
    const auto survivors = [&](bool keep) {
        std::atomic<int> count{0};
        run_chunks(64, [&](std::int64_t, std::int64_t, int) { count += tiny * 0.5 != 0; }, {.keep_subnormals = keep});
        return count.load();
    };
#if defined(__x86_64__) || defined(__aarch64__)
    CHECK(survivors(false) == 0);
#endif
    CHECK(tiny * 0.5 != 0);
    CHECK(survivors(true) == 64);
}

TEST_CASE("the number of threads may change between jobs") {
    std::atomic<int> total{0};
    for (int round = 0; round < 40; ++round) {
        const ThreadScope scope(1 + round % 5);
        CHECK(threads() == 1 + round % 5);
        run_chunks(16, [&](std::int64_t, std::int64_t, int) { ++total; });
    }
    CHECK(total == 640);
    CHECK_THROWS_AS(set_threads(-1), ValueError);
}

TEST_CASE("the number of threads may be set while another thread runs kernels with scratch memory") {
    const Tensor x = rand({200, 300}).realize(), y = rand({300, 200}).realize();
    const std::vector<float> expected = matmul(x, y).to_vector<float>();
    std::atomic<bool> stop{false};
    std::thread setting([&] {
        for (int i = 0; !stop; ++i) set_threads(1 + i % 7);
    });
    bool equal = true;
    for (int i = 0; i < 200; ++i) equal = equal && (matmul(x, y) + 0).to_vector<float>() == expected;
    stop = true;
    setting.join();
    set_threads(0);
    CHECK(equal);
}

TEST_CASE("an interrupt ends chunks that are under way, on every thread, wherever they poll") {
    for (const int threads : {1, 3}) {
        CAPTURE(threads);
        const ThreadScope scope(threads);
        std::atomic<int> begun{0};
        const std::thread::id caller = std::this_thread::get_id();
        set_interrupt_callback([&] { return std::this_thread::get_id() == caller && begun >= threads; });
        CHECK_THROWS_AS(run_chunks(3,
                                   [&](std::int64_t, std::int64_t, int) {
                                       ++begun;
                                       for (;;) poll_interrupt();
                                   }),
                        Interrupted);
        std::atomic<int> done{0};
        run_chunks(3, [&](std::int64_t, std::int64_t, int) { poll_interrupt(), ++done; }, {.interruptible = false});
        set_interrupt_callback({});
        CHECK(done == 3);
    }
}

#if !defined(__SANITIZE_THREAD__)
TEST_CASE("a forked child starts helpers of its own, and computes with its parent's tensors") {
    const ThreadScope scope(3);
    Tensor x = tensor({1, 2, 3}, f32);
    x += 1;
    run_chunks(8, [](std::int64_t, std::int64_t, int) {});
    std::atomic<bool> stop{false};
    std::thread busy([&] {  // forks come at any moment of another thread's work
        for (float i = 0; !stop; ++i) (tensor({i, 2}, f32) * 3).to_vector<float>();
    });
    for (int i = 0; i < 20; ++i) {
        const pid_t child = fork();
        if (child == 0) {
            alarm(20);  // a lock that nobody will open
            std::atomic<int> total{0};
            run_chunks(50, [&](std::int64_t, std::int64_t, int) { ++total; });
            x *= 2;
            _exit(total == 50 && x.to_vector<float>() == std::vector<float>{4, 6, 8} ? 0 : 1);
        }
        int status = -1;
        REQUIRE(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
    }
    stop = true;
    busy.join();
    CHECK(x.to_vector<float>() == std::vector<float>{2, 3, 4});
}

TEST_CASE("parent and child compile and free programs of their own after a fork") {
    const BackendScope backend("auto");
    // A new program for each size: the sum of 1 … n, times a factor that only the plan of this size knows.
    const auto right = [](std::int64_t n, int factor) {
        const float sum = (arange(n).to(f32) + 1).sum().item<float>();
        return (cumsum(full({n}, 1.0f), 0) * factor).to_vector<float>().back() == static_cast<float>(n * factor) &&
               sum == static_cast<float>(n * (n + 1) / 2);
    };
    for (int n = 3; n < 20; ++n) REQUIRE(right(n, 2));
    for (int round = 0; round < 4; ++round) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            alarm(60);
            pipeline::clear_plan_cache();
            pipeline::clear_program_cache();
            bool all = true;
            for (int i = 0; i < 3; ++i)
                for (int n = 3; n < 40; ++n) all = right(n, 3 + i) && all;
            _exit(all ? 0 : 1);
        }
        bool all = true;
        int status = -1;
        for (int i = 0; waitpid(child, &status, WNOHANG) == 0; ++i) {  // cached programs and new ones, all the while
            all = right(3 + i % 17, 2) && all;
            all = right(100 + i % 50, 5 + i) && all;
        }
        CHECK(all);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
    }
}

TEST_CASE(
    "a fork may come while other threads build, draw, run, hook and capture; the child computes what they wrote") {
    std::atomic<bool> stop{false};
    const auto generator = std::make_shared<Generator>(3);
    const Tensor written = zeros({4}).clone();
    const Jit doubled([](std::span<const Tensor> in) { return std::vector<Tensor>{in[0] * 2}; });
    std::vector<std::thread> others;
    others.emplace_back([&] {
        for (int i = 0; !stop; ++i) doubled(std::vector{full({1 + i % 5}, i)});
    });
    others.emplace_back([&] {
        while (!stop) {
            const GeneratorScope scope(generator);
            rand({3}).to_vector<float>();
        }
    });
    others.emplace_back([&] {
        while (!stop) {
            const Tensor w = ones({2}).set_requires_grad();
            const HookHandle hook = register_hook(w, [](const Tensor& g) { return g * 2; });
            (w * 3).sum().backward();
            w.grad().to_vector<float>();
            hook.remove();
            str(w);
        }
    });
    others.emplace_back([&] {
        const Tensor there = ones({2}).to("guarded");
        for (int i = 0; !stop; ++i) {
            set_threads(1 + i % 3);
            (there * Device("guarded").index() + i).to_vector<float>();
        }
    });
    std::atomic<bool> wrote{false};
    others.emplace_back([&] {
        Tensor handle = written;
        handle += 1;  // pending until somebody reads
        wrote = true;
        while (!stop) std::this_thread::yield();
    });
    while (!wrote) std::this_thread::yield();
    for (int i = 0; i < 30; ++i) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            alarm(20);  // a lock that nobody will open
            const GeneratorScope scope(generator);
            const Tensor w = ones({2}).set_requires_grad();
            const HookHandle hook = register_hook(w, [](const Tensor& g) { return g * 2; });
            (w * rand({2}) * 0 + w).sum().backward();
            const bool there = (ones({3}).to("guarded:1") * 2).sum().item() == 6;
            const bool right = there && doubled(std::vector{ones({3})})[0].sum().item() == 6 &&
                               w.grad().sum().item() == 4 && written.sum().item() == 4 && !str(w).empty();
            _exit(right ? 0 : 1);
        }
        int status = -1;
        REQUIRE(waitpid(child, &status, 0) == child);
        CHECK(WIFEXITED(status));
        CHECK(WEXITSTATUS(status) == 0);
    }
    stop = true;
    for (std::thread& other : others) other.join();
    set_threads(0);
}

TEST_CASE("a fork may come while other threads draw from the generator that the child draws from") {
    std::atomic<bool> stop{false};
    Generator generator(3);
    std::vector<std::thread> others;
    for (int i = 0; i < 3; ++i)
        others.emplace_back([&] {
            while (!stop) generator.draw(1);
        });
    for (int i = 0; i < 300; ++i) {
        const pid_t child = fork();
        REQUIRE(child >= 0);
        if (child == 0) {
            alarm(20);  // a lock that nobody will open
            const std::uint64_t first = generator.draw(1);
            _exit(generator.draw(1) == first + 1 ? 0 : 1);
        }
        int status = -1;
        REQUIRE(waitpid(child, &status, 0) == child);
        const bool right = WIFEXITED(status) && WEXITSTATUS(status) == 0;
        CHECK(right);
        if (!right) break;
    }
    stop = true;
    for (std::thread& other : others) other.join();
}
#endif

TEST_CASE("while a log is open, jobs note when helpers worked and how long the caller waited") {
    const ThreadScope scope(2);
    const auto together = [] {  // the helper has the second chunk, and is slower
        std::atomic<bool> helping{false};
        run_chunks(2, [&](std::int64_t, std::int64_t, int thread) {
            if (thread > 0) helping = true;
            while (!helping) std::this_thread::yield();
            if (thread > 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
        });
    };
    ThreadLog log;
    for (int attempt = 0; attempt < 100;
         ++attempt) {  // on a busy machine the caller may come back after the helper has ended
        log.spans.clear();
        together();
        if (log.spans.size() == 2 && log.spans[1].start < log.spans[0].end) break;
    }
    REQUIRE(log.spans.size() == 2);
    const ThreadSpan helped = log.spans[0], waited = log.spans[1];
    CHECK(helped.thread == 1);
    CHECK(helped.end - helped.start >= 5'000'000);
    CHECK(waited.thread == 0);
    CHECK(waited.start < helped.end);
    CHECK(waited.end >= helped.end);
    {
        ThreadLog inner;
        together();
        CHECK(inner.spans.size() == 2);
    }
    run_chunks(2, [](std::int64_t, std::int64_t, int) {}, {.parallel = false});
    CHECK(log.spans.size() == 2);  // alone there is nothing to tell
}
