// Random graphs, each computed in several ways. The plain loops on `ref` are what the compiler says the graph means;
// every pass, backend and number of threads must give the same bits, and the oracle, which has no compiler in it, the
// same numbers.
//   WEFT_SEED=n            starts at another seed
//   WEFT_RANDOM_GRAPHS=n   runs that many graphs
//   WEFT_BACKEND=ref       leaves the c backend out
#include "tests/support/random_graph.h"
#include "core/config.h"
#include "core/str.h"
#include "kernel/optimise.h"
#include "pipeline/plan_cache.h"
#include "tests/support/differential.h"

#include <weft/debug.h>

#include <doctest/doctest.h>

#include <cstdlib>
#include <mutex>
#include <string>
#include <vector>

namespace weft::testing {
namespace {

constexpr std::uint64_t kBaseSeed = 20250;
constexpr int kGraphs = 1000, kBatch = 50;

std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
    const char* text = std::getenv(name);
    return text && *text ? std::strtoull(text, nullptr, 10) : fallback;
}

bool use_c() { return config().backend != "ref" && have_backend("c"); }

bool use_x86() { return config().backend != "ref" && have_backend("x86"); }

bool flushes(std::uint64_t seed) { return seed % 8 == 3; }

GraphOptions options_for(std::uint64_t seed) { return {.normal_range = flushes(seed)}; }

std::vector<Mode> modes_for(std::uint64_t seed, bool with_c) {
    const bool keep = !flushes(seed);
    const int threads = static_cast<int>(seed % 3) + 1;
    std::vector<Mode> modes{{.threads = threads, .keep_denormals = keep}};
    modes.push_back({.donate = true, .keep_denormals = keep});
    const std::vector<std::string_view> passes = kernel::pass_names();
    const std::string without(passes[seed / 3 % passes.size()]);
    modes.push_back({.without = without, .keep_denormals = keep});
    if (with_c) modes.push_back({.backend = "c", .threads = threads, .keep_denormals = keep});
    if (use_x86()) {
        modes.push_back({.backend = "x86", .threads = threads, .keep_denormals = keep});
        modes.push_back({.backend = "x86", .cpu = "avx2", .keep_denormals = keep});
        modes.push_back({.backend = "x86", .without = without, .cpu = "sse", .keep_denormals = keep});
    }
    return modes;
}

// What is wrong with this graph; empty: nothing.
std::string complaint(const Roots& roots, std::uint64_t seed, bool with_c, bool with_oracle) {
    try {
        const WordLists plain = compute(roots, {.optimise = false, .keep_denormals = !flushes(seed)});
        for (const Mode& mode : modes_for(seed, with_c))
            if (const std::string text = first_difference(roots, plain, compute(roots, mode)); !text.empty())
                return str("ref, plain and ", to_string(mode), ": ", text);
        return with_oracle ? oracle_complaint(roots) : std::string();
    } catch (const std::exception& error) {
        return error.what();
    }
}

// The same seed with shorter axes is mostly the same graph, smaller.
Roots with_short_axes(std::uint64_t seed, bool with_c) {
    for (const std::int64_t longest : {2, 3, 5}) {
        GraphOptions options = options_for(seed);
        options.longest_axis = longest;
        const Roots roots = random_graph(seed, options);
        if (!complaint(roots, seed, with_c, true).empty()) return roots;
    }
    return random_graph(seed, options_for(seed));
}

void report(std::uint64_t seed, const Roots& roots, bool with_c) {
    const auto fails = [&](const Roots& candidate) { return !complaint(candidate, seed, with_c, true).empty(); };
    const Roots small = shrink_graph(roots, fails);
    FAIL_CHECK("seed ", seed, ": ", complaint(small, seed, with_c, true), "\n", describe(small));
}

TEST_CASE("random graphs have the same bits however they are computed, and the oracle's values") {
    const DeviceScope host(cpu);
    const std::uint64_t first = from_environment("WEFT_SEED", kBaseSeed);
    const std::uint64_t count = from_environment("WEFT_RANDOM_GRAPHS", kGraphs);
    const bool with_c = use_c();
    if (!with_c) MESSAGE("no c backend: ref only");
    int failures = 0;
    for (std::uint64_t batch = 0; batch < count && failures < 5; batch += kBatch) {
        std::vector<Roots> graphs;
        for (std::uint64_t i = batch; i < std::min(count, batch + kBatch); ++i)
            graphs.push_back(random_graph(first + i, options_for(first + i)));
        if (with_c) compile_together(graphs, {.backend = "c"});
        for (std::size_t i = 0; i < graphs.size() && failures < 5; ++i) {
            const std::uint64_t seed = first + batch + i;
            if (complaint(graphs[i], seed, with_c, true).empty()) continue;
            ++failures;
            report(seed, with_short_axes(seed, with_c), with_c);
        }
    }
    CHECK(failures == 0);
}

// The first value is compiled in, the second makes a plan with a scalar in its place, the third is served by that plan.
TEST_CASE("a constant that comes with another value gives the bits of a plan made for it") {
    const DeviceScope host(cpu);
    const std::uint64_t first = from_environment("WEFT_SEED", kBaseSeed) + 1000000;
    int hits = 0;
    for (std::uint64_t seed = first; seed < first + 400; ++seed) {
        CAPTURE(seed);
        const Roots roots = random_graph(seed);
        compute(roots, {});
        std::vector<std::pair<Roots, WordLists>> served;
        for (const std::uint64_t other : {1, 2, 3}) {
            const Roots changed = with_other_constants(roots, seed * 4 + other);
            const CounterScope count;
            served.emplace_back(changed, compute(changed, {}));
            hits += other > 1 && count.plan_cache_hits() > 0;
        }
        for (const auto& [changed, words] : served) {
            {
                const std::lock_guard lock(ir::graph_lock());
                pipeline::clear_plan_cache();
            }
            const std::string text = first_difference(changed, compute(changed, {.optimise = false}), words);
            REQUIRE_MESSAGE(text.empty(), text, "\n", describe(changed));
        }
    }
    CHECK(hits > 100);
}

TEST_CASE("large graphs have the same bits with every number of threads") {
    const bool with_c = use_c();
    std::vector<Roots> graphs;
    for (std::uint64_t seed = 0; seed < 42; ++seed) graphs.push_back(large_graph(seed));
    if (with_c) compile_together(graphs, {.backend = "c"});
    for (std::uint64_t seed = 0; seed < graphs.size(); ++seed) {
        CAPTURE(seed);
        const std::string text = complaint(graphs[seed], seed, with_c, seed < 14);
        CHECK_MESSAGE(text.empty(), text);
    }
}

}  // namespace
}  // namespace weft::testing
