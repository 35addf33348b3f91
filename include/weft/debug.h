// weft/debug.h: looking inside: counters that tests and users can assert on, and scopes that switch backend, threads or
// optimisations for a while.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace WEFT_API weft {

// Totals since the program started, except where "now" is said.
struct Counters {
    std::int64_t runs = 0;  // evaluations of a graph
    std::int64_t plans_made = 0;
    std::int64_t plan_cache_hits = 0;
    std::int64_t values_kept = 0;  // stored besides what was asked for, because a live handle stands on them
    std::int64_t kernels_compiled = 0;
    std::int64_t compile_nanoseconds = 0;  // spent on new plans, from the graph to machine code
    std::int64_t passes_refused = 0;       // left out of a kernel, because what they made was not proven to be safe
    std::int64_t donations_refused =
        0;  // memory that was not reused, because the order of loads and stores was not proven
    std::int64_t kernels_launched = 0;
    std::int64_t contractions_launched = 0;  // matmuls, convolutions: part of kernels_launched
    std::int64_t buffers_allocated = 0;      // taken from the pool
    std::int64_t fresh_allocations = 0;      // of these, not served by a block that the pool still had
    std::int64_t bytes_allocated = 0;        // in use now
    std::int64_t bytes_peak = 0;             // the most that were in use at once
    std::int64_t live_buffers = 0;           // now
    std::int64_t live_nodes = 0;             // of the graph, now
};
Counters counters();

// What happened since it was made:
//   const CounterScope count;
//   (a + b).realize();
//   CHECK(count.kernels_launched() == 1);
class CounterScope {
public:
    CounterScope() : start_(counters()) {}
    std::int64_t runs() const { return counters().runs - start_.runs; }
    std::int64_t plans_made() const { return counters().plans_made - start_.plans_made; }
    std::int64_t plan_cache_hits() const { return counters().plan_cache_hits - start_.plan_cache_hits; }
    std::int64_t values_kept() const { return counters().values_kept - start_.values_kept; }
    std::int64_t kernels_compiled() const { return counters().kernels_compiled - start_.kernels_compiled; }
    std::int64_t compile_nanoseconds() const { return counters().compile_nanoseconds - start_.compile_nanoseconds; }
    std::int64_t kernels_launched() const { return counters().kernels_launched - start_.kernels_launched; }
    std::int64_t contractions_launched() const {
        return counters().contractions_launched - start_.contractions_launched;
    }
    std::int64_t buffers_allocated() const { return counters().buffers_allocated - start_.buffers_allocated; }
    std::int64_t fresh_allocations() const { return counters().fresh_allocations - start_.fresh_allocations; }
    std::int64_t bytes_allocated() const { return counters().bytes_allocated - start_.bytes_allocated; }
    std::int64_t live_buffers() const { return counters().live_buffers - start_.live_buffers; }
    std::int64_t live_nodes() const { return counters().live_nodes - start_.live_nodes; }

private:
    Counters start_;
};

// Runs what follows on another backend ("c", "ref"), for the whole process, until the scope ends.
class BackendScope {
public:
    explicit BackendScope(std::string_view name);
    ~BackendScope();
    BackendScope(const BackendScope&) = delete;
    BackendScope& operator=(const BackendScope&) = delete;

private:
    std::string before_;
};

// Runs what follows on that many threads (0: one per core).
class ThreadScope {
public:
    explicit ThreadScope(int threads);
    ~ThreadScope();
    ThreadScope(const ThreadScope&) = delete;
    ThreadScope& operator=(const ThreadScope&) = delete;

private:
    int before_;
};

// Switches optimisations off by their WEFT_OPT names: `const OptScope off{"tile", "donate"};`, or all of them: {"all"}.
class OptScope {
public:
    OptScope(std::initializer_list<std::string_view> off);
    ~OptScope();
    OptScope(const OptScope&) = delete;
    OptScope& operator=(const OptScope&) = delete;

private:
    std::set<std::string, std::less<>> before_;
    bool donate_before_;
};

// How tensors are printed: digits behind the point, from how many elements on only `edge_items` at each end are shown, the width
// of a line, and whether floats are always or never written with an exponent.
struct PrintOptions {
    int precision = 4;
    std::int64_t threshold = 1000, edge_items = 3, line_width = 80;
    std::optional<bool> scientific = {};
};
PrintOptions print_options();
void set_print_options(const PrintOptions& options);

// What runs the kernels here, for reports: `python -m weft` prints it.
struct SystemInfo {
    std::string cpu;      // "AMD EPYC 9R14"
    std::string level;    // the instructions used: "avx512", "avx2", "baseline"
    std::string backend;  // in one line: what it is, and how it is set up
    int threads = 1;
    std::int64_t l1_bytes = 0, l2_bytes = 0, l3_bytes = 0;  // the caches for data; 0: not known
};
SystemInfo system_info();

void set_threads(int threads);    // 0: one per core
int threads();                    // how many there are, never 0
void set_debug_level(int level);  // as WEFT_DEBUG: 0 … 5

// Called by the thread that runs a graph, every few milliseconds; true stops the run, which raises Interrupted and leaves
// every tensor with its last computed value. Empty: never asked.
void set_interrupt_callback(std::function<bool()> wanted);

// Gives memory that the pool keeps for reuse back to the system.
void trim_memory();
void set_memory_limit(std::int64_t bytes);  // what tensors may take together; 0: what the machine has
std::int64_t memory_limit();

// What computing a tensor would do, stage by stage; the tensor is not computed.
//   std::cout << explain(softmax(x @ w));
struct Explanation {
    struct Kernel {
        std::string name;                                 // "linear+relu 128×784×128"
        std::vector<std::string> ops;                     // that were called for it; of an Inspection (weft/profile.h)
        std::vector<std::string> lines;                   // … and where: "train.py:12"
        std::string function;                             // its name in the source
        std::string reason;                               // why it is a kernel of its own
        std::string compute;                              // what it computes, node by node
        std::vector<std::string> inside;                  // which results lie inside a larger array, a line each
        std::vector<std::string> stored;                  // why each result is stored, a line each
        std::vector<std::string> schedule;                // how it is run, a decision per line
        std::string loops;                                // the loop IR after the last pass
        std::string source;                               // what the backend made of it: machine code, or C
        std::int64_t reads = 0, writes = 0, scratch = 0;  // bytes
        std::int64_t multiply_adds = 0;
        double estimate = 0;  // seconds that this machine needs at least, about
        double measured = 0;  // the shortest launch that a Profile saw; 0: none
    };
    std::string graph;             // the simplified graph
    std::vector<Kernel> kernels;   // in run order
    std::int64_t arena_bytes = 0;  // memory between kernels
    // "kernels": a line for each. "details": what each computes, why, how it runs. "graph", "schedule", "loops", "source": that stage.
    std::string text(std::string_view stage = "kernels") const;
};
Explanation explain(const Tensor& tensor);
std::ostream& operator<<(std::ostream& out, const Explanation& explanation);

}  // namespace weft
