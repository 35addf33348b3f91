// tests/fuzz/verdict.cpp: comparisons, child processes, and the search for a smaller program.
#include "tests/fuzz/verdict.h"

#include "core/str.h"
#include "tests/fuzz/ops.h"
#include "tests/support/oracle.h"

#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <bit>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstring>
#include <set>

namespace weft::testing::fuzz {
namespace {

using Readings = std::vector<Reading>;

std::string element(const Reading& reading, std::size_t i, double a, double b) {
    return str("statement ", reading.statement, ", element ", i, " of ", reading.dtype, reading.shape, " is ", a,
               " instead of ", b);
}

std::string difference_in_form(const Readings& a, const Readings& b) {
    if (a.size() != b.size()) return str(a.size(), " readings instead of ", b.size());
    for (std::size_t r = 0; r < a.size(); ++r) {
        if (a[r].error != b[r].error)
            return str("statement ", a[r].statement, ": '", a[r].error, "' instead of '", b[r].error, "'");
        if (a[r].error.find("InternalError") != std::string::npos) return a[r].error;
        if (a[r].values.size() != b[r].values.size())
            return str("statement ", a[r].statement, ": ", a[r].shape, " instead of ", b[r].shape);
    }
    return {};
}

std::string difference_in_bits(const Readings& a, const Readings& b) {
    if (std::string text = difference_in_form(a, b); !text.empty()) return text;
    for (std::size_t r = 0; r < a.size(); ++r)
        for (std::size_t i = 0; i < a[r].values.size(); ++i) {
            const double x = a[r].values[i], y = b[r].values[i];
            if (std::bit_cast<std::uint64_t>(x) != std::bit_cast<std::uint64_t>(y) && !(std::isnan(x) && std::isnan(y)))
                return element(a[r], i, x, y);
        }
    return {};
}

// A unit in the last place of the coarsest type that took part, and more for sums: a chain of 512 equal terms may round the same
// way each time.
double unit_of(const Program& program) {
    double unit = 4e-6;
    const auto meets = [&](DType dtype, std::string_view text) {
        if (dtype == bf16 || text.find("bf16") != std::string_view::npos) unit = std::max(unit, 1.6e-2);
        if (dtype == f16 || text.find("(f16") != std::string_view::npos) unit = std::max(unit, 2e-3);
    };
    for (const Statement& s : program.statements)
        meets(s.act == Act::Make ? s.dtype : f32,
              s.act == Act::Op || s.act == Act::Jit ? ops()[static_cast<std::size_t>(s.row)].text : "");
    for (const Statement& s : program.statements)
        if (s.act == Act::Jit) meets(f32, ops()[static_cast<std::size_t>(s.d) % ops().size()].text);
    return unit;
}

double largest(const std::vector<double>& values) {
    double result = 0;
    for (const double value : values)
        if (std::isfinite(value)) result = std::max(result, std::fabs(value));
    return result;
}

// By reading: how far apart two runs are, at most; infinite where the form or a special value differs.
std::vector<double> distances(const Readings& a, const Readings& b) {
    std::vector<double> result(a.size(), INFINITY);
    if (a.size() != b.size()) return result;
    for (std::size_t r = 0; r < a.size(); ++r) {
        if (a[r].values.size() != b[r].values.size() || a[r].error != b[r].error) continue;
        result[r] = 0;
        for (std::size_t i = 0; i < a[r].values.size(); ++i) {
            const double x = a[r].values[i], y = b[r].values[i];
            if (x == y || (std::isnan(x) && std::isnan(y))) continue;
            const double distance = std::fabs(x - y);
            result[r] = std::isfinite(distance) ? std::max(result[r], distance) : INFINITY;
        }
    }
    return result;
}

bool all_finite(const std::vector<double>& values) {
    return std::all_of(values.begin(), values.end(), [](double x) { return std::isfinite(x); });
}

Readings on_oracle(const Program& program, const RunOptions& options, double jitter = 0) {
    const OracleScope oracle(jitter);
    RunOptions plain = options;
    plain.plain = true;
    return run(program, plain);
}

// The trials of difference_from_oracle: more digits, other data, other rounding.
Readings other_run(const Program& program, int trial) {
    if (trial == 0) return on_oracle(program, {.wide = true});
    return trial % 2 ? on_oracle(program, {.noise = trial * 1e-6}) : on_oracle(program, {}, trial);
}

// How well a value is determined shows when the program is run with more digits, with data that is changed a little, and with ops
// that round otherwise: a float that should be 3 and is written into an integer may become 2.
std::string difference_from_oracle(const Program& program, const Readings& got) {
    double terms = 0;  // what was added up may be far larger than the sum
    const Readings expected = on_oracle(program, {.largest = &terms});
    if (std::string text = difference_in_form(got, expected); !text.empty()) return text;
    const std::vector<double> off = distances(got, expected);
    const double unit = unit_of(program);
    std::vector<double> allowed;
    for (const Reading& reading : expected) allowed.push_back(8 * unit * (largest(reading.values) + 0.5 + 0.2 * terms));
    const auto worst = [&] {
        for (std::size_t r = 0; r < off.size(); ++r)
            if (off[r] > allowed[r]) return r;
        return off.size();
    };
    if (worst() == off.size()) return {};
    for (int trial = 0; trial < 10; ++trial) {
        const std::vector<double> spread = distances(other_run(program, trial), expected);
        for (std::size_t r = 0; r < off.size() && r < spread.size(); ++r) {
            allowed[r] = std::max(allowed[r], 30 * spread[r]);
            if (!all_finite(expected[r].values)) allowed[r] = INFINITY;  // where it overflows depends on the order
        }
        if (worst() == off.size()) return {};
    }
    const std::size_t r = worst();
    for (std::size_t i = 0; i < got[r].values.size(); ++i)
        if (!(std::fabs(got[r].values[i] - expected[r].values[i]) <= allowed[r]))
            return str("the oracle: ", element(got[r], i, got[r].values[i], expected[r].values[i]));
    return "the oracle: another form";
}

}  // namespace

void default_signals() {
    for (const int number : {SIGSEGV, SIGABRT, SIGFPE, SIGILL, SIGBUS, SIGTERM}) std::signal(number, SIG_DFL);
}

std::string verdict(const Program& program, const Configuration& configuration, const Configuration& other) {
    const auto in = [&](const Configuration& c) {
        const ConfigurationScope scope(c);
        return run(program);
    };
    const Readings got = in(configuration);
    for (const Reading& reading : got)
        if (reading.error.find("InternalError") != std::string::npos) return reading.error;
    if (std::string text = difference_from_oracle(program, got); !text.empty()) return text;
    if (to_string(configuration) == to_string(other)) return {};
    if (std::string text = difference_in_bits(got, in(other)); !text.empty())
        return str("bits, ", to_string(other), ": ", text);
    return {};
}

std::string verdict_in_child(const Program& program, const Configuration& configuration, const Configuration& other) {
    int ends[2];
    if (pipe(ends) != 0) return "no pipe";
    const pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        default_signals();
        alarm(300);
        const std::string text = verdict(program, configuration, other);
        [[maybe_unused]] const ssize_t written = write(ends[1], text.data(), text.size());
        _exit(0);
    }
    close(ends[1]);
    std::string text;
    char part[4096];
    for (ssize_t n; (n = read(ends[0], part, sizeof part)) > 0;) text.append(part, static_cast<std::size_t>(n));
    close(ends[0]);
    int status = 0;
    waitpid(child, &status, 0);
    if (WIFSIGNALED(status)) return str("killed by ", strsignal(WTERMSIG(status)));
    return text;
}

// ---- a smaller program -----------------------------------------------------------------------------------------------

namespace {

std::vector<Program> smaller_sizes(const Program& program) {
    std::set<std::int64_t, std::greater<>> sizes;
    for (const Statement& s : program.statements)
        for (const std::int64_t n : s.shape) sizes.insert(n);
    std::vector<Program> result;
    for (const std::int64_t n : sizes)
        for (const std::int64_t m : {std::int64_t{1}, std::int64_t{2}, n / 2, n - 1}) {
            if (m <= 0 || m >= n) continue;
            Program next = program;
            for (Statement& s : next.statements)
                for (std::int64_t& size : s.shape)
                    if (size == n) size = m;
            result.push_back(std::move(next));
        }
    return result;
}

std::vector<Program> simpler_statements(const Program& program) {
    std::vector<Program> result;
    for (std::size_t i = 0; i < program.statements.size(); ++i) {
        const Statement& s = program.statements[i];
        const auto with = [&](auto change) {
            Program next = program;
            change(next.statements[i]);
            result.push_back(std::move(next));
        };
        if (s.no_grad) with([](Statement& n) { n.no_grad = false; });
        if (s.act == Act::Make && s.flag) with([](Statement& n) { n.flag = false; });
        if (s.act == Act::Make && s.dtype != f32) with([](Statement& n) { n.dtype = f32; });
        if (s.act == Act::Op && s.row != 0) with([](Statement& n) { n.row = 0; });  // tanh
    }
    return result;
}

}  // namespace

Program shrunk(Program program, const std::function<bool(const Program&)>& fails, double seconds) {
    const auto end = std::chrono::steady_clock::now() + std::chrono::duration<double>(seconds);
    const auto late = [&] { return std::chrono::steady_clock::now() > end; };
    for (bool smaller = true; smaller && !late();) {
        smaller = false;
        for (std::size_t size = std::max<std::size_t>(program.statements.size() / 2, 1); size >= 1 && !late();
             size /= 2)
            for (std::size_t at = program.statements.size(); at-- > 0 && !late();) {
                if (at + size > program.statements.size()) continue;
                Program next = program;
                next.statements.erase(next.statements.begin() + static_cast<std::ptrdiff_t>(at),
                                      next.statements.begin() + static_cast<std::ptrdiff_t>(at + size));
                if (next.statements.empty() || !fails(next)) continue;
                program = std::move(next);
                smaller = true;
            }
        for (const auto& candidates : {smaller_sizes(program), simpler_statements(program)})
            for (const Program& next : candidates)
                if (!smaller && !late() && fails(next)) {
                    program = next;
                    smaller = true;
                }
    }
    return program;
}

std::string text_of(const Program& program) {
    std::vector<std::string> lines;
    {
        const OracleScope oracle;
        run(program, {.plain = true, .text = &lines});
    }
    std::string text;
    for (const std::string& line : lines) text += "    " + line + "\n";
    return text;
}

}  // namespace weft::testing::fuzz
