// The environment: good values are taken, bad ones are refused with the variable's name and the choices.
#include "core/config.h"
#include "core/cpu.h"

#include <weft/error.h>

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdlib>
#include <optional>
#include <string>

using namespace weft;

namespace {

// Sets a variable for a while.
class Environment {
public:
    Environment(const char* name, const char* value) : name_(name) {
        if (const char* before = std::getenv(name)) before_ = before;
        setenv(name, value, 1);
    }
    ~Environment() {
        if (before_) setenv(name_, before_->c_str(), 1);
        else unsetenv(name_);
    }

private:
    const char* name_;
    std::optional<std::string> before_;
};

}  // namespace

TEST_CASE("variables are read") {
    const Environment debug("WEFT_DEBUG", "2"), backend("WEFT_BACKEND", "ref"), threads("WEFT_THREADS", "3"),
        off("WEFT_OPT", "tile, donate,,"), keep("WEFT_DENORMALS", "keep"), conv("WEFT_CONV", "plain");
    const Config c = read_environment();
    CHECK(c.debug == 2);
    CHECK(c.backend == "ref");
    CHECK(c.threads == 3);
    CHECK(c.off.size() == 2);
    CHECK(c.switched_off("tile"));
    CHECK_FALSE(c.switched_off("vector"));
    CHECK_FALSE(c.donate);
    CHECK(c.keep_denormals);
    CHECK(c.plain_convolution);
}

TEST_CASE("an empty variable is as good as none, and all optimisations can be switched off at once") {
    const Environment debug("WEFT_DEBUG", ""), off("WEFT_OPT", "all"), keep("WEFT_DENORMALS", ""),
        conv("WEFT_CONV", "");
    const Config c = read_environment();
    CHECK(c.debug == 0);
    CHECK(c.switched_off("anything"));
    CHECK_FALSE(c.donate);
    CHECK_FALSE(c.keep_denormals);
    CHECK_FALSE(c.plain_convolution);
}

TEST_CASE("bad values are refused") {
    for (const char* bad : {"-1", "6", "x", "1x", "1.5", "99999999999"}) {
        CAPTURE(bad);
        const Environment debug("WEFT_DEBUG", bad);
        CHECK_THROWS_WITH_AS(read_environment(),
                             ("WEFT_DEBUG=" + std::string(bad) + ": must be a whole number from 0 to 5").c_str(),
                             ValueError);
    }
    {
        const Environment off("WEFT_OPT", "tile,fuse");
        CHECK_THROWS_WITH_AS(
            read_environment(),
            "WEFT_OPT=tile,fuse: there is no optimisation \"fuse\"; must be among tile, unflatten, columns, "
            "transpose, peel, parallel, distribute, vector, segments, jam_rows, jam_vectors, prefetch, stream, poll, "
            "block_tile, grid, "
            "donate, split_sums, all",
            ValueError);
    }
}

TEST_CASE("WEFT_CPU lowers the processor's level and never raises it") {
    const Environment asked("WEFT_CPU", "avx2");
    CHECK(read_environment().cpu == "avx2");
    const std::pair<const char*, CpuLevel> most[] = {{"native", CpuLevel::Avx512},
                                                     {"avx512", CpuLevel::Avx512},
                                                     {"avx2", CpuLevel::Avx2},
                                                     {"sse", CpuLevel::Baseline}};
    for (const auto& [name, limit] : most) {
        CAPTURE(name);
        CHECK(allowed_level(name) == std::min(limit, machine_level()));
    }
    const Environment bad("WEFT_CPU", "avx3");
    CHECK_THROWS_AS(read_environment(), ValueError);
}
