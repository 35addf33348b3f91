// bench/harness/harness.cpp: timing, checking and printing of rows.
#include "harness/harness.h"

#include <weft/creation.h>
#include <weft/debug.h>

#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <thread>

namespace bench {
namespace {

using Clock = std::chrono::steady_clock;

double since(Clock::time_point start) { return std::chrono::duration<double>(Clock::now() - start).count(); }

constexpr double kWarmSeconds = 0.008;  // untimed calls at the start of a burst
constexpr int kLeastCalls = 2;          // timed ones

double cpu_seconds() {  // of all threads of this process
    timespec now{};
    ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// Rounds go on for two seconds, and for up to five while the best is still improving or the reference lacks cores: on a busy machine a
// quiet moment may come late.
class Rounds {
public:
    bool more() {
        const bool calm = round_ - last_improved_ >= 4 && !crowded_;
        crowded_ = false;
        return round_++ < 4 || since(start_) < (calm ? 2.0 : 5.0);
    }
    bool take(const Timing& timing, Timing& best) {  // whether it is the best so far
        const bool better = timing.ms < best.ms;
        if (timing.ms < 0.99 * best.ms) last_improved_ = round_;
        if (better) best = timing;
        return better;
    }
    void expect_cores(const Timing& best) { crowded_ |= best.cores < kEnough; }
    static constexpr double kEnough = 0.8 * kThreads;

private:
    Clock::time_point start_ = Clock::now();
    int round_ = 0, last_improved_ = 0;
    bool crowded_ = false;
};

// The state of a thread, as /proc has it after the name in parentheses: "1234 (name) S …". A thread that has gone: 'X'.
char state_of(const std::filesystem::path& task) {
    std::ifstream file(task / "stat");
    std::string line;
    if (!std::getline(file, line)) return 'X';
    const std::size_t end = line.rfind(')');
    return end == std::string::npos || end + 2 >= line.size() ? 'X' : line[end + 2];
}

bool others_sleep() {
    const std::string self = std::to_string(::gettid());
    for (const auto& task : std::filesystem::directory_iterator("/proc/self/task"))
        if (task.path().filename() != self && state_of(task.path()) == 'R') return false;
    return true;
}

std::string text_of(const char* format, auto... values) {
    char text[80];
    std::snprintf(text, sizeof text, format, values...);
    return text;
}

// Rates; which reference it was; how many cores both sides had, if the reference lacked some.
std::string note_of(const Contest& contest, const Timing& weft, const Timing& reference, const std::string& name) {
    std::vector<std::string> parts;
    if (contest.flops > 0)
        parts.push_back(
            text_of("%.0f of %.0f GFLOP/s", contest.flops / weft.ms / 1e6, contest.flops / reference.ms / 1e6));
    if (contest.bytes > 0)
        parts.push_back(
            text_of("%.0f of %.0f GB/s", contest.bytes / weft.ms / 1e6, contest.bytes / reference.ms / 1e6));
    if (reference.cores < Rounds::kEnough)
        parts.push_back(text_of("cores: %.1f and %.1f", weft.cores, reference.cores));
    for (const std::string& text : {name, contest.note})
        if (!text.empty()) parts.push_back(text);
    std::string note;
    for (const std::string& part : parts) note += (note.empty() ? "" : "; ") + part;
    return note;
}

[[noreturn]] void wrong(std::int64_t at, double got, double expected) {
    throw std::runtime_error("wrong value at " + std::to_string(at) + ": " + std::to_string(got) + " instead of " +
                             std::to_string(expected));
}

bool close(double got, double expected, const Tolerance& tolerance) {  // NaN is close to nothing
    return std::abs(got - expected) <= tolerance.absolute + tolerance.relative * std::abs(expected);
}

}  // namespace

double seconds_of(const std::function<void()>& work) {
    const auto start = Clock::now();
    work();
    return since(start);
}

Timing best_of(const std::function<void()>& work, double seconds) {
    const auto warming = Clock::now();
    do work();
    while (since(warming) < kWarmSeconds);
    double best = 1e30;
    const double cpu = cpu_seconds();
    const auto start = Clock::now();
    for (int calls = 0; calls < kLeastCalls || since(start) < seconds; ++calls) best = std::min(best, seconds_of(work));
    return {1e3 * best, (cpu_seconds() - cpu) / since(start)};
}

void settle() {
    const auto start = Clock::now();
    while (!others_sleep() && since(start) < 0.5) std::this_thread::sleep_for(std::chrono::milliseconds(1));
}

weft::Tensor uniform(const weft::Shape& shape, std::uint32_t seed) {
    std::vector<float> values(static_cast<std::size_t>(weft::numel(shape)));
    std::uint32_t state = seed * 2654435761u + 12345;
    for (float& value : values) {
        state ^= state << 13, state ^= state >> 17, state ^= state << 5;
        value = static_cast<float>(state >> 8) * 0x1p-23f - 1;
    }
    return weft::from_data(values, shape);
}

const float* data(const weft::Tensor& tensor) { return static_cast<const float*>(tensor.data_ptr()); }

void expect_close(const weft::Tensor& got, std::span<const float> expected, const Tolerance& tolerance) {
    const std::vector<float> values = got.to_vector<float>();
    if (values.size() != expected.size()) throw std::runtime_error("wrong number of elements");
    for (std::size_t i = 0; i < values.size(); ++i)
        if (!close(values[i], expected[i], tolerance)) wrong(static_cast<std::int64_t>(i), values[i], expected[i]);
}

void expect_samples(const weft::Tensor& got, const std::function<double(std::int64_t)>& expected,
                    const Tolerance& tolerance) {
    const std::vector<float> values = got.to_vector<float>();
    const auto count = static_cast<std::int64_t>(values.size());
    const std::int64_t step = std::max<std::int64_t>(1, count / 500) | 1;  // odd: walks through all columns
    for (std::int64_t i = 0; i < count; i += step) {
        const double value = values[static_cast<std::size_t>(i)], right = expected(i);
        if (!close(value, right, tolerance)) wrong(i, value, right);
    }
}

// ---- Harness ---------------------------------------------------------------------------------------------------------

Harness::Harness(int argc, char** argv) {
    for (int i = 1; i < argc; ++i) {
        const bool has_value = i + 1 < argc;
        if (!std::strcmp(argv[i], "--json") && has_value) json_ = argv[++i];
        else if (!std::strcmp(argv[i], "--only") && has_value) only_ = argv[++i];
        else throw std::invalid_argument(std::string("usage: ") + argv[0] + " [--json FILE] [--only NAME]");
    }
    std::printf("%-52s %10s %10s %7s %6s\n", "row", "weft ms", "ref. ms", "ratio", "want");
}

bool Harness::wanted(const std::string& name) const { return only_.empty() || name.find(only_) != std::string::npos; }

void Harness::compare(const Contest& contest) try {
    if (!wanted(contest.name)) return;
    for (const Reference& reference : contest.references) {
        reference.run();
        contest.check(contest.weft().realize());
    }
    Timing weft, reference;
    std::string name;
    for (Rounds rounds; rounds.more();) {
        for (const Reference& each : contest.references) {
            settle();
            Timing timing = best_of(each.run);
            timing.ms *= contest.scale;
            if (rounds.take(timing, reference)) name = each.name;
        }
        rounds.expect_cores(reference);
        settle();
        std::int64_t calls = 0;
        const weft::CounterScope count;
        rounds.take(best_of([&] { contest.weft().realize(), ++calls; }), weft);
        if (count.kernels_launched() < calls) throw std::logic_error("a timed round launched no kernel");
    }
    add({contest.name, weft.ms, reference.ms, contest.want, note_of(contest, weft, reference, name)});
} catch (const std::exception& error) {
    failed(contest.name, error.what());
}

void Harness::limit(const Limit& wanted_row) try {
    if (!wanted(wanted_row.name)) return;
    Timing best;
    settle();
    for (Rounds rounds; rounds.more();) {
        std::int64_t calls = 0;
        const weft::CounterScope count;
        rounds.take(best_of([&] {
                        for (int i = 0; i < wanted_row.calls; ++i) wanted_row.work();
                        calls += wanted_row.calls;
                    }),
                    best);
        const std::int64_t launched = count.kernels_launched();
        if (wanted_row.launches ? launched < calls : launched != 0)
            throw std::logic_error("a timed round launched " + std::to_string(launched) + " kernels");
    }
    add({wanted_row.name, best.ms / wanted_row.calls, wanted_row.limit_ms, 1, wanted_row.note});
} catch (const std::exception& error) {
    failed(wanted_row.name, error.what());
}

void Harness::add(const Row& row) {
    std::printf("%-52s %10.4g %10.4g %7.2f ", row.name.c_str(), row.weft_ms, row.reference_ms, row.ratio());
    if (row.want > 0) std::printf("%6.2f  %-6s", row.want, row.missed() ? "MISSED" : "ok");
    else std::printf("%6s  %-6s", "-", "");
    std::printf("  %s\n", row.note.c_str());
    std::fflush(stdout);
    rows_.push_back(row);
}

void Harness::failed(const std::string& name, const std::string& why) {
    std::printf("%-52s FAILED: %s\n", name.c_str(), why.c_str());
    std::fflush(stdout);
    failures_.push_back(name);
}

int Harness::finish() const {
    if (!json_.empty()) {
        std::ofstream file(json_);
        const auto field = [&](const char* name, double value) {
            file << ", \"" << name << "\": " << text_of("%.6g", value);
        };
        for (std::size_t i = 0; i < rows_.size(); ++i) {
            const Row& row = rows_[i];
            file << (i == 0 ? "[\n" : ",\n") << R"(  {"row": ")" << row.name << '"';
            field("weft_ms", row.weft_ms), field("reference_ms", row.reference_ms);
            field("ratio", row.ratio()), field("want", row.want);
            file << R"(, "note": ")" << row.note << "\"}";
        }
        file << (rows_.empty() ? "[]\n" : "\n]\n");
        if (!file.flush()) throw std::runtime_error("cannot write " + json_);
    }
    const auto asked = std::count_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.want > 0; });
    const auto missed = std::count_if(rows_.begin(), rows_.end(), [](const Row& row) { return row.missed(); });
    std::printf("%td of %td rows with a goal reach it, %zu failed\n", asked - missed, asked, failures_.size());
    return failures_.empty() ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace bench
