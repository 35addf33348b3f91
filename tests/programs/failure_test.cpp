// A run is a transaction: whatever stops a training step (a bad label, no memory, no compiler, an interrupt), everything that the step
// writes holds its bits from before or, where the step was through, from after; and the next step is the right one.
#include "device/pool.h"
#include "pipeline/plan_cache.h"
#include "tests/programs/training.h"

#include <weft/debug.h>
#include <weft/device.h>
#include <weft/error.h>

#include <doctest/doctest.h>

#include <cstdlib>
#include <optional>

namespace weft::testing {
namespace {

// The states of an undisturbed training, before the first step and after each.
std::vector<std::vector<Bits>> undisturbed(const MakeOptimizer& make, int steps, std::int64_t batch = 6,
                                           std::int64_t features = 4, std::int64_t hidden = 8) {
    Training training(make, batch, features, hidden);
    std::vector<std::vector<Bits>> states{training.state()};
    for (int i = 0; i < steps; ++i) {
        training.step();
        states.push_back(training.state());
    }
    return states;
}

// Sets an environment variable until the scope ends.
class EnvironmentScope {
public:
    EnvironmentScope(const char* name, const char* value) : name_(name) {
        if (const char* before = std::getenv(name)) before_ = before;
        setenv(name, value, 1);
    }
    ~EnvironmentScope() {
        if (before_) setenv(name_, before_->c_str(), 1);
        else unsetenv(name_);
    }

private:
    const char* name_;
    std::optional<std::string> before_;
};

bool contains(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a bad label in step 5 of a training: the step has not happened") {
    const BackendScope backend("ref");
    for (const NamedOptimizer& optimizer : optimizers()) {
        const auto expected = undisturbed(optimizer.make, 8);
        for (const int when : {0, 1, 2}) {       // the loss is read before backward(), after it, or never
            for (const int bad_step : {0, 4}) {  // the first step makes the optimiser's state
                CAPTURE(optimizer.name);
                CAPTURE(when);
                CAPTURE(bad_step);
                Training training(optimizer.make);
                for (int i = 0; i < 8; ++i) {
                    if (i == bad_step) {
                        const Tensor bad = training.labels_for(i + 1);
                        std::string message;
                        try {
                            training.optimizer->zero_grad();
                            const Tensor loss = training.loss(bad);
                            if (when == 0) loss.item();
                            loss.backward();
                            if (when == 1) loss.item();
                            training.optimizer->step();
                        } catch (const IndexError& error) {
                            message = error.what();
                        }
                        INFO(message);
                        CHECK(contains(message, "cross_entropy(logits: f32[6, 3], labels: i64[6])"));
                        CHECK(training.state() == expected[i]);
                        CHECK(training.optimizer->steps() == i);
                    }
                    training.step();
                    CHECK(training.state() == expected[i + 1]);
                }
            }
        }
    }
}

TEST_CASE("whichever allocation fails, the step has happened or not, and the next one is right") {
    const BackendScope backend("ref");
    for (const NamedOptimizer& optimizer : optimizers()) {
        CAPTURE(optimizer.name);
        const auto expected = undisturbed(optimizer.make, 5);
        for (const bool with_plans : {true, false}) {  // whether the plans are there already
            CAPTURE(with_plans);
            int failures = 0, clean = 0;
            for (int n = 1; clean < 2 && n < 200; ++n) {
                CAPTURE(n);
                if (!with_plans) pipeline::clear_plan_cache();
                Training training(optimizer.make);
                training.step();
                training.step();
                device::fail_allocation_after(n);
                bool failed = false;
                try {
                    training.step().item();
                } catch (const MemoryError&) {
                    failed = true;
                }
                device::fail_allocation_after(0);
                failures += failed;
                clean += !failed;
                const bool happened = training.optimizer->steps() == 3;
                CHECK((happened || failed));
                CHECK(training.state() == expected[happened ? 3 : 2]);
                for (int i = happened ? 3 : 2; i < 5; ++i) {
                    training.step();
                    CHECK(training.state() == expected[i + 1]);
                }
            }
            CHECK(failures >= 1);
            CHECK(clean == 2);
        }
    }
}

TEST_CASE("an allocation that fails while the loss is read between backward() and step()") {
    const BackendScope backend("ref");
    const NamedOptimizer adam = optimizers()[1];
    const auto expected = undisturbed(adam.make, 3);
    int failures = 0;
    for (int n = 1; n < 12; ++n) {
        CAPTURE(n);
        Training training(adam.make);
        training.step();
        training.optimizer->zero_grad();
        const Tensor loss = training.loss(training.labels);
        loss.backward();
        device::fail_allocation_after(n);
        try {
            loss.item();
        } catch (const MemoryError&) {
            ++failures;
        }
        device::fail_allocation_after(0);
        CHECK(training.state() == expected[1]);
        training.step();
        CHECK(training.state() == expected[2]);
    }
    CHECK(failures >= 1);
}

TEST_CASE("a compiler that fails: the step has not happened, and no plan is poisoned") {
    const DeviceScope here(cpu);
    const BackendScope backend("c");
    for (const NamedOptimizer& optimizer : optimizers()) {
        CAPTURE(optimizer.name);
        const std::int64_t hidden = optimizer.name == "SGD" ? 11 : 13;  // kernels of its own
        Training training(optimizer.make, 5, 7, hidden);
        std::vector<Bits> before = training.state();
        pipeline::clear_plan_cache();
        pipeline::clear_program_cache();
        {
            const EnvironmentScope compiler("WEFT_CC", "/bin/false");
            for (int attempt = 0; attempt < 2; ++attempt) {
                std::string message;
                try {
                    training.step();
                } catch (const BackendError& error) {
                    message = error.what();
                }
                INFO(message);
                CHECK(contains(message, "/bin/false"));
                CHECK(contains(message, "WEFT_CC"));
                {
                    const BackendScope other("ref");
                    CHECK(training.state() == before);
                }
            }
        }
        const auto expected = undisturbed(optimizer.make, 2, 5, 7, hidden);
        CHECK(before == expected[0]);
        training.step();
        CHECK(training.state() == expected[1]);
        training.step();
        CHECK(training.state() == expected[2]);
    }
}

TEST_CASE("an interrupt at any moment of a longer step") {
    const BackendScope slow("ref");
    for (const NamedOptimizer& optimizer : optimizers()) {
        CAPTURE(optimizer.name);
        const std::int64_t batch = 192, features = 48, hidden = 64;
        const auto expected = undisturbed(optimizer.make, 2, batch, features, hidden);
        int interrupts = 0;
        for (int moment = 1; moment <= 24; moment += moment < 6 ? 1 : 6) {
            CAPTURE(moment);
            Training training(optimizer.make, batch, features, hidden);
            int polls = 0;
            set_interrupt_callback([&] { return ++polls == moment; });
            bool interrupted = false;
            try {
                training.step();
            } catch (const Interrupted&) {
                interrupted = true;
            }
            set_interrupt_callback(nullptr);
            interrupts += interrupted;
            CHECK(training.optimizer->steps() == (interrupted ? 0 : 1));
            CHECK(training.state() == expected[interrupted ? 0 : 1]);
            training.step();
            CHECK(training.state() == expected[interrupted ? 1 : 2]);
        }
        CHECK(interrupts >= 2);
    }
}

}  // namespace weft::testing
