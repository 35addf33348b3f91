// backend/cuda/run.h: one run of a plan: its launches are collected, and go to the device together. From the second run on they are a CUDA
// graph: the host hands it over in one call, and tells it which parameters have changed.
#pragma once

#include "backend/cuda/driver.h"
#include "backend/cuda/memory_pool.h"
#include "backend/cuda/program.h"
#include "backend/device.h"

#include <sys/types.h>

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace weft::backend::cuda {

// What kernels have found wrong: the first failure of all since the host looked.
class Checks {
public:
    void open(Address record, Stream stream);

    // A number for what a launch may find wrong.
    std::uint64_t add(std::span<const ir::CheckArg> checks);
    bool any() const { return !pending_.empty(); }  // have been launched since the host looked
    Address record() const { return record_; }

    void look();             // waits for the device; throws IndexError
    void forget() noexcept;  // what has been found is nobody's

private:
    struct Record {  // as kernels write it
        std::uint64_t code = 0;
        std::int64_t value = 0;
    };
    Address record_ = 0;
    Stream stream_ = nullptr;
    std::vector<std::vector<ir::CheckArg>> pending_;
};

// Launches in their order, with all their parameters one behind the other.
struct Launches {
    struct Call {
        Function function = nullptr;
        const Entry* entry = nullptr;
        std::size_t first = 0, count = 0;  // of `values`
    };
    std::vector<Call> calls;
    std::vector<std::uint64_t> values;
    KernelNode node_of(const Call& call, std::vector<void*>& parameters);
};

// The graph of a plan.
class PlanGraph final : public device::PlanState {
public:
    ~PlanGraph() override;
    // Hands the launches to the stream, as a graph if these have come before.
    void launch(Launches&& launches, Context context, Stream stream);

private:
    bool is_same(const Launches& launches) const;
    void build(Context context);
    void update(Launches&& launches);
    void destroy();

    int runs_ = 0;
    Graph graph_ = nullptr;  // its nodes are what parameters are set by, as long as exec_ lives
    GraphExec exec_ = nullptr;
    std::vector<GraphNode> nodes_;
    Launches last_;  // that the graph has
    Context context_ = nullptr;
    pid_t process_ = 0;
};

void launch_each(Launches& launches, Stream stream);

}  // namespace weft::backend::cuda
