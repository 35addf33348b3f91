// tests/fuzz/replay.cpp: the configurations that a past failure is tried in: each backend, each level of the processor, one and
// several threads, nothing, donation or everything switched off, and each pass on its own.
#include "tests/fuzz/replay.h"

#include "kernel/optimise.h"
#include "tests/fuzz/configuration.h"
#include "tests/support/backends.h"
#include "tests/support/oracle.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>

namespace weft::testing::fuzz {
namespace {

using Values = std::vector<std::vector<double>>;

Values shown_by(const std::function<void(const Show&)>& program) {
    Values values;
    program([&](const Tensor& tensor) { values.push_back(tensor.to_vector<double>()); });
    return values;
}

bool same_bits(double a, double b) {
    return std::bit_cast<std::uint64_t>(a) == std::bit_cast<std::uint64_t>(b) || (std::isnan(a) && std::isnan(b));
}

std::vector<Configuration> configurations() {
    std::vector<Configuration> result{
        {.backend = "ref"}, {.backend = "ref", .off = "all"}, {.backend = "ref", .threads = 3}};
    result.push_back({.ptx = true});
    if (!have_x86()) return result;
    for (const std::string cpu : {"native", "avx2", "sse"})
        for (const int threads : {1, 2, 3}) result.push_back({.cpu = cpu, .threads = threads});
    result.push_back({.threads = 2, .off = "donate"});
    result.push_back({.off = "all"});
    for (const std::string_view pass : kernel::pass_names()) result.push_back({.threads = 2, .off = std::string(pass)});
    return result;
}

}  // namespace

void replay(const std::function<void(const Show&)>& program, double tolerance) {
    Values expected;
    {
        const OracleScope oracle;
        expected = shown_by(program);
    }
    Values first;
    for (const Configuration& configuration : configurations()) {
        CAPTURE(to_string(configuration));
        const ConfigurationScope scope(configuration);
        const Values got = shown_by(program);
        REQUIRE(got.size() == expected.size());
        if (first.empty()) first = got;
        for (std::size_t r = 0; r < got.size(); ++r) {
            CAPTURE(r);
            REQUIRE(got[r].size() == expected[r].size());
            double scale = 0;
            for (const double value : expected[r]) scale = std::max(scale, std::fabs(value));
            for (std::size_t i = 0; i < got[r].size(); ++i) {
                CAPTURE(i);
                const double off = std::fabs(got[r][i] - expected[r][i]);
                const bool near = off <= tolerance * scale || same_bits(got[r][i], expected[r][i]);
                if (!near) REQUIRE(got[r][i] == expected[r][i]);
                if (!same_bits(got[r][i], first[r][i])) REQUIRE(got[r][i] == first[r][i]);
            }
        }
    }
}

}  // namespace weft::testing::fuzz
