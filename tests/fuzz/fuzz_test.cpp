// Random programs on the tensor API, each in one random configuration, against the oracle, and bit for bit against another
// configuration.
//   WEFT_FUZZ_SECONDS=n   how long
//   WEFT_SEED=n           the first seed; without it every run has fresh ones, and `make test` those of its commit (WEFT_FUZZ_SEED)
//   WEFT_FUZZ_COUNT=n     that many programs instead
#include "tests/fuzz/verdict.h"

#include "core/str.h"

#include <doctest/doctest.h>

#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <random>

namespace weft::testing::fuzz {
namespace {

constexpr int kBatch = 200;

std::uint64_t from_environment(const char* name, std::uint64_t fallback) {
    const char* text = std::getenv(name);
    return text && *text ? std::strtoull(text, nullptr, 10) : fallback;
}

struct Trial {
    Program program;
    Configuration configuration, other;
};

Trial trial_of(std::uint64_t seed) {
    Rng rng(seed ^ 0x5eed);
    Trial trial;
    trial.configuration = random_configuration(rng);
    trial.other = rng.chance(0.2) ? Configuration{.backend = "ref", .off = "all"} : Configuration{};
    if (!rng.chance(0.5)) trial.other = trial.configuration;  // the oracle alone
    trial.program = random_program(seed);
    return trial;
}

void report(std::uint64_t seed, const std::string& found) {
    const Trial trial = trial_of(seed);
    const auto fails = [&](const Program& p) { return !verdict_in_child(p, trial.configuration, trial.other).empty(); };
    if (!fails(trial.program)) {
        std::cout << "seed " << seed << ", " << to_string(trial.configuration) << ": " << found
                  << "\n(not alone in a process: what ran before it matters)\n"
                  << std::flush;
        return;
    }
    const Program small = shrunk(trial.program, fails, static_cast<double>(from_environment("WEFT_FUZZ_SHRINK", 20)));
    std::string helps;
    for (const std::string off : {"donate", "all"})
        if (verdict_in_child(small,
                             {.backend = trial.configuration.backend,
                              .cpu = trial.configuration.cpu,
                              .threads = trial.configuration.threads,
                              .off = off},
                             {.backend = trial.configuration.backend,
                              .cpu = trial.configuration.cpu,
                              .threads = trial.configuration.threads,
                              .off = off})
                .empty())
            helps += " WEFT_OPT=" + off;
    std::cout << "seed " << seed << ", " << to_string(trial.configuration) << " (right with:" << helps
              << "): " << verdict_in_child(small, trial.configuration, trial.other) << "\n"
              << text_of(small) << "\n"
              << std::flush;
}

// Runs a batch in a child; returns how many programs went well before one failed, and what was wrong with that one.
std::pair<int, std::string> run_batch(std::uint64_t first, int count) {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        default_signals();
        for (int i = 0; i < count; ++i) {
            alarm(300);  // the c backend starts a compiler
            const Trial trial = trial_of(first + static_cast<std::uint64_t>(i));
            const std::string text = verdict(trial.program, trial.configuration, trial.other);
            const std::string sent = text.empty() ? "." : text;
            [[maybe_unused]] const ssize_t written = write(ends[1], sent.data(), sent.size());
            if (!text.empty()) break;
        }
        _exit(0);
    }
    close(ends[1]);
    std::string all;
    char part[4096];
    for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;) all.append(part, static_cast<std::size_t>(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    const std::size_t good = std::min(all.find_first_not_of('.'), all.size());
    std::string text = all.substr(good);
    if (text.empty() && WIFSIGNALED(status)) text = str("killed by ", strsignal(WTERMSIG(status)));
    return {static_cast<int>(good), text};
}

TEST_CASE("random programs compute what the oracle computes, with the same bits in every configuration") {
    const std::uint64_t first =
        from_environment("WEFT_SEED", from_environment("WEFT_FUZZ_SEED", std::random_device()() % 1000000000));
    const std::uint64_t count = from_environment("WEFT_FUZZ_COUNT", 0);
    const auto start = std::chrono::steady_clock::now();
    const auto spent = [&] { return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count(); };
    const double seconds = static_cast<double>(from_environment("WEFT_FUZZ_SECONDS", 0));
    std::cout << "fuzz: first seed " << first << std::endl;
    std::uint64_t done = 0;
    int failures = 0;
    while (count ? done < count : spent() < seconds) {
        const int size = static_cast<int>(count ? std::min<std::uint64_t>(kBatch, count - done) : kBatch);
        const auto [good, text] = run_batch(first + done, size);
        done += static_cast<std::uint64_t>(good);
        if (text.empty()) continue;
        ++failures;
        report(first + done, text);
        ++done;
    }
    std::cout << "fuzz: " << done << " programs in " << spent() << " s, " << failures << " failures; first seed "
              << first << std::endl;
    CHECK(failures == 0);
}

}  // namespace
}  // namespace weft::testing::fuzz
