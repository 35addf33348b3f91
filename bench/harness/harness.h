// bench/harness/harness.h: rows of "Weft against a reference", measured in one run. The two sides alternate in bursts, the threads of one
// are asleep while the other is timed, and the best of many calls counts.
#pragma once

#include <weft/tensor.h>

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace bench {

inline constexpr int kThreads = 2;  // of both sides

// One row of the table. The ratio is reference / weft: the higher, the better.
struct Row {
    std::string name;
    double weft_ms = 0, reference_ms = 0;
    double want = 0;   // the least ratio; 0: for information
    std::string note;  // a rate, or what was measured
    double ratio() const { return reference_ms / weft_ms; }
    bool missed() const { return want > 0 && !(ratio() >= want); }
};

// Computes what Weft does, or something of known cost.
struct Reference {
    std::function<void()> run;
    std::string name = {};
    template <class F>
    requires(std::is_invocable_v<F&>) Reference(F run, std::string name = {})
        : run(std::move(run)), name(std::move(name)) {}
};

// Both sides of a row.
struct Contest {
    std::string name;
    double want = 0;
    std::function<weft::Tensor()> weft;                    // builds a graph, which the harness runs
    std::vector<Reference> references;                     // the fastest counts
    std::function<void(const weft::Tensor& value)> check;  // throws if the value is wrong; called once, before timing
    double scale = 1;                                      // the reference does 1 / scale times Weft's work
    double flops = 0, bytes = 0;                           // of Weft's side: the note gives both rates
    std::string note = {};
};

class Harness {
public:
    Harness(int argc, char** argv);  // throws std::invalid_argument, with the usage

    bool wanted(const std::string& name) const;

    void compare(const Contest& contest);

    // A row with a limit in milliseconds instead of a reference. `calls` are timed together; each must launch a kernel, unless
    // `launches` is false: then none may.
    struct Limit {
        std::string name;
        double limit_ms = 0;
        std::function<void()> work;
        int calls = 1;
        bool launches = true;
        std::string note;
    };
    void limit(const Limit& row);

    void add(const Row& row);
    void failed(const std::string& name, const std::string& why);

    int finish() const;  // summary and JSON; the exit status tells of failures, not of rows that are too slow

private:
    std::string json_, only_;
    std::vector<Row> rows_;
    std::vector<std::string> failures_;
};

// ---- for rows --------------------------------------------------------------------------------------------------------

double seconds_of(const std::function<void()>& work);

// The best call of a burst: some untimed calls, which wake threads and fill caches, then timed ones.
struct Timing {
    double ms = 1e30;
    double cores =
        0;  // that this process had during the burst: fewer than it has threads at work if the machine is busy
};
Timing best_of(const std::function<void()>& work, double seconds = 0.04);

// Returns when all other threads of this process sleep: workers of a library spin for a while after its last call.
void settle();

// Numbers in [-1, 1), the same in every run; in memory of Weft's own pool.
weft::Tensor uniform(const weft::Shape& shape, std::uint32_t seed);
const float* data(const weft::Tensor& tensor);

// Throws unless |got - expected| <= absolute + relative |expected| for each element.
struct Tolerance {
    double absolute = 1e-5, relative = 1e-5;
};
void expect_close(const weft::Tensor& got, std::span<const float> expected, const Tolerance& tolerance);

// The same for some 500 elements of the flattened tensor, each against a formula.
void expect_samples(const weft::Tensor& got, const std::function<double(std::int64_t)>& expected,
                    const Tolerance& tolerance);

}  // namespace bench
