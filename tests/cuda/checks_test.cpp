// What kernels find wrong, and which thread is told: with records that the test writes in their place.
#include "backend/cuda/run.h"
#include "cuda/driver_of_tests.h"

#include <weft/error.h>

#include <functional>
#include <thread>

using namespace weft;
using namespace weft::testing;
using namespace weft::backend::cuda;

namespace {

struct Fixture {
    Fixture() {
        REQUIRE(driver_problem().empty());
        Context context = nullptr;
        require(driver().retain_context(&context, 0), "test");
        require(driver().set_context(context), "test");
        require(driver().create_stream(&stream, 1), "test");
        require(driver().allocate(&record, 16, stream), "test");
        checks.open(record, stream);
        other_thread = [context](const auto& body) {
            std::thread([&] {
                require(driver().set_context(context), "test");
                body();
            }).join();
        };
    }
    std::uint64_t add(const char* what) { return checks.add(std::vector<ir::CheckArg>{{.what = what}}); }
    // As a kernel does whose tag is this: the first of its checks fails.
    void fail(std::uint64_t tag) const {
        const std::uint64_t words[] = {tag + 1, 9};
        require(driver().copy_to_device(record, words, sizeof words, stream), "test");
    }
    std::string look() {
        return error_of<IndexError>([&] { checks.look(); });
    }
    std::string look_elsewhere() {
        std::string told;
        other_thread([&] { told = look(); });
        return told;
    }
    Stream stream = nullptr;
    Address record = 0;
    Checks checks;
    std::function<void(const std::function<void()>&)> other_thread;
};

}  // namespace

TEST_CASE_FIXTURE(Fixture,
                  "a failure is told to the thread that runs, until the run has ended; then to whoever looks") {
    Checks::Tag run = checks.begin();
    std::uint64_t tag = add("first");
    checks.sent();
    fail(tag);
    CHECK(look_elsewhere() == "");
    CHECK(look() == "first; got 9");
    CHECK(look() == "");
    checks.abandon(run);

    run = checks.begin();
    tag = add("second");
    checks.sent();
    fail(tag);
    checks.end(run);
    CHECK(look_elsewhere() == "second; got 9");
    CHECK(look() == "");
    CHECK_FALSE(checks.any());
}

TEST_CASE_FIXTURE(Fixture, "a thread that looks does not take away what a run is about to launch") {
    const Checks::Tag run = checks.begin();
    const std::uint64_t tag = add("third");
    CHECK(look_elsewhere() == "");
    CHECK(look() == "");  // a host function of the run reads
    checks.sent();
    fail(tag);
    CHECK(look() == "third; got 9");
    checks.abandon(run);
}

TEST_CASE_FIXTURE(Fixture,
                  "a run learns that kernels were skipped for an earlier failure, though another thread was told") {
    Checks::Tag run = checks.begin();
    const std::uint64_t tag = add("fourth");
    checks.sent();
    fail(tag);
    checks.end(run);
    run = checks.begin();
    add("fifth");
    checks.sent();
    CHECK(look_elsewhere() == "fourth; got 9");
    CHECK(error_of<IndexError>([&] { checks.end(run); }) == "fourth; got 9");
    checks.abandon(run);
    run = checks.begin();
    checks.end(run);
}

TEST_CASE_FIXTURE(Fixture, "what a run has found that failed is nobody's; what one before it has found is not lost") {
    for (const bool earlier_fails : {false, true}) {
        Checks::Tag run = checks.begin();
        const std::uint64_t earlier = add("sixth");
        checks.sent();
        checks.end(run);
        run = checks.begin();
        const std::uint64_t tag = add("seventh");
        checks.sent();
        fail(earlier_fails ? earlier : tag);
        checks.abandon(run);
        CHECK(look() == (earlier_fails ? "sixth; got 9" : ""));
        CHECK_FALSE(checks.any());
    }
}
