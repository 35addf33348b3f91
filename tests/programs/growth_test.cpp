// Long loops: whatever a training does ten thousand times leaves nothing behind. And what must not matter does not: the number of
// threads, and when the loss is read.
#include "tests/programs/training.h"

#include <weft/debug.h>

#include <doctest/doctest.h>

#include <unistd.h>

#include <fstream>

namespace weft::testing {
namespace {

std::int64_t resident_bytes() {
    std::ifstream file("/proc/self/statm");
    std::int64_t size = 0, resident = 0;
    file >> size >> resident;
    return resident * sysconf(_SC_PAGESIZE);
}

// A sanitizer keeps freed memory to find later uses of it: what is resident then says nothing about Weft.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kResidentMatters = false;
#else
constexpr bool kResidentMatters = true;
#endif

struct Footprint {
    std::int64_t nodes, buffers, bytes, resident, plans;
};
Footprint footprint() {
    const Counters now = counters();
    return {now.live_nodes, now.live_buffers, now.bytes_allocated, resident_bytes(), now.plans_made};
}

// Runs the loop and compares what is held after 1,000 and after 10,000 iterations.
void check_growth(const std::function<void(int)>& iteration, std::int64_t pending_nodes = 0) {
    for (int i = 0; i < 1000; ++i) iteration(i);
    const Footprint early = footprint();
    for (int i = 1000; i < 10'000; ++i) iteration(i);
    const Footprint late = footprint();
    CHECK(late.nodes <= early.nodes + pending_nodes);
    CHECK(late.buffers <= early.buffers);
    CHECK(late.bytes <= early.bytes);
    if (pending_nodes == 0) {
        CHECK(late.plans == early.plans);
        if (kResidentMatters) CHECK(late.resident <= early.resident + (1 << 20));  // the allocator's own affairs
    }
}

}  // namespace

TEST_CASE("ten thousand training steps hold what one thousand hold") {
    const BackendScope backend("ref");
    for (const NamedOptimizer& optimizer : optimizers()) {
        CAPTURE(optimizer.name);
        SUBCASE("reading the loss") {
            Training training(optimizer.make, 2, 2, 3, 2);
            check_growth([&](int) { CHECK(training.step().item() >= 0); });
        }
        SUBCASE("never reading the loss") {
            Training training(optimizer.make, 2, 2, 3, 2);
            check_growth([&](int) { training.step(); });
        }
    }
}

TEST_CASE("gradients that accumulate, with no step, read or unread") {
    const BackendScope backend("ref");
    Training training(optimizers()[0].make, 2, 2, 3, 2);
    SUBCASE("the loss is read") {
        check_growth([&](int) {
            const Tensor loss = training.loss(training.labels);
            loss.backward();
            loss.item();
        });
    }
    SUBCASE("nothing is read: runs by itself when very much is pending") {
        // What is pending when the counting happens may differ; it stays below the safety net and a plan of that size.
        check_growth([&](int) { training.loss(training.labels).backward(); }, 250'000);
        CHECK(counters().live_nodes < 400'000);
    }
}

TEST_CASE("running statistics do not grow, read or unread") {
    const BackendScope backend("ref");
    nn::BatchNorm1d norm(3);
    const Tensor x = randn({4, 3}).realize();
    SUBCASE("in a training step") {
        optim::SGD sgd(norm.parameters(), {.lr = 0.01});
        check_growth([&](int) {
            sgd.zero_grad();
            square(norm(x)).mean().backward();
            sgd.step();
        });
    }
    SUBCASE("forward only, output read") {
        check_growth([&](int) { norm(x).sum().item(); });
    }
    CHECK(bits_of(norm.running_mean).size() == 3);
}

TEST_CASE("the bits of a training do not depend on the number of threads") {
    std::vector<Bits> expected;
    for (const int threads : {1, 2, 3}) {
        CAPTURE(threads);
        const ThreadScope scope(threads);
        Training training(optimizers()[1].make, 128, 64, 256, 10);
        for (int i = 0; i < 50; ++i) training.step();
        const std::vector<Bits> found = training.state();
        if (threads == 1) expected = found;
        CHECK(found == expected);
    }
}

TEST_CASE("when the loss is read changes no bits, and no contraction runs twice") {
    const BackendScope backend("ref");
    struct Outcome {
        std::vector<Bits> state;
        std::vector<double> losses;
        std::int64_t contractions;
    };
    const auto train = [](const NamedOptimizer& optimizer, int when) {
        Training training(optimizer.make, 16, 12, 24, 3);
        Outcome outcome;
        const CounterScope count;
        for (int i = 0; i < 10; ++i) {
            training.optimizer->zero_grad();
            const Tensor loss = training.loss(training.labels);
            if (when == 0) outcome.losses.push_back(loss.item());
            loss.backward();
            if (when == 1) outcome.losses.push_back(loss.item());
            training.optimizer->step();
            if (when == 2) outcome.losses.push_back(loss.item());
        }
        outcome.contractions = count.contractions_launched();
        outcome.state = training.state();
        return outcome;
    };
    for (const NamedOptimizer& optimizer : optimizers()) {
        const Outcome after = train(optimizer, 2);
        CHECK(after.contractions > 0);
        for (const int when : {0, 1}) {
            CAPTURE(optimizer.name);
            CAPTURE(when);
            const Outcome other = train(optimizer, when);
            CHECK(other.state == after.state);
            CHECK(other.losses == after.losses);
            CHECK(other.contractions <= after.contractions);
        }
    }
}

}  // namespace weft::testing
