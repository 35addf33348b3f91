// backend/cuda/run.cpp: see run.h.
#include "backend/cuda/run.h"

#include "core/str.h"

#include <weft/error.h>

#include <unistd.h>

#include <algorithm>
#include <utility>

namespace weft::backend::cuda {

// ---- checks ----------------------------------------------------------------------------------------------------------

void Checks::open(Address record, Stream stream) {
    record_ = record;
    stream_ = stream;
    require(driver().fill_bytes(record_, 0, sizeof(Record), stream_), "setting up checks");
}

std::uint64_t Checks::add(std::span<const ir::CheckArg> checks) {
    if (checks.empty()) return 0;
    pending_.emplace_back(checks.begin(), checks.end());
    return static_cast<std::uint64_t>(pending_.size() - 1) << 32;
}

void Checks::look() {
    Record found;
    require(driver().copy_to_host(&found, record_, sizeof found, stream_), "reading checks");
    require(driver().synchronize_stream(stream_), "running kernels");
    const auto pending = std::exchange(pending_, {});
    if (found.code == 0) return;
    require(driver().fill_bytes(record_, 0, sizeof found, stream_), "clearing checks");
    const ir::CheckArg& check = pending.at(found.code >> 32).at((found.code & 0xffffffff) - 1);
    throw IndexError(str(check.what, "; got ", found.value));
}

void Checks::forget() noexcept {
    if (pending_.empty()) return;
    pending_.clear();
    driver().fill_bytes(record_, 0, sizeof(Record), stream_);  // in order: before the kernels of the next run
}

// ---- launches --------------------------------------------------------------------------------------------------------

KernelNode Launches::node_of(const Call& call, std::vector<void*>& parameters) {
    parameters.clear();
    for (std::size_t v = 0; v < call.count; ++v) parameters.push_back(&values[call.first + v]);
    KernelNode node{.function = call.function};
    for (int axis = 0; axis < 3; ++axis)
        node.blocks[axis] = static_cast<unsigned>(call.entry->blocks[static_cast<std::size_t>(axis)]);
    node.threads[0] = static_cast<unsigned>(call.entry->threads);
    node.shared_bytes = static_cast<unsigned>(call.entry->dynamic_shared);
    node.parameters = parameters.data();
    return node;
}

void launch_each(Launches& launches, Stream stream) {
    std::vector<void*> parameters;
    for (const Launches::Call& call : launches.calls) {
        const KernelNode node = launches.node_of(call, parameters);
        require(driver().launch(node.function, node.blocks[0], node.blocks[1], node.blocks[2], node.threads[0], 1, 1,
                                node.shared_bytes, stream, node.parameters, nullptr),
                "launching a kernel");
    }
}

// ---- graphs ----------------------------------------------------------------------------------------------------------

PlanGraph::~PlanGraph() { destroy(); }

void PlanGraph::destroy() {
    if (graph_ && ::getpid() == process_ && driver().set_context(context_) == Result::Success) {
        if (exec_) driver().destroy_exec(exec_);
        driver().destroy_graph(graph_);
    }
    graph_ = nullptr;
    exec_ = nullptr;
    nodes_.clear();
}

bool PlanGraph::is_same(const Launches& launches) const {
    return std::ranges::equal(launches.calls, last_.calls, [](const Launches::Call& a, const Launches::Call& b) {
        return a.function == b.function && a.count == b.count;
    });
}

void PlanGraph::launch(Launches&& launches, Context context, Stream stream) {
    constexpr int kBuilt = 2;  // runs, so that what happens once costs nothing more
    if (launches.calls.size() < 2) return launch_each(launches, stream);
    if (exec_ && is_same(launches)) {
        update(std::move(launches));
        require(driver().launch_graph(exec_, stream), "launching kernels");
        return;
    }
    const bool again = !last_.calls.empty() && is_same(launches);
    destroy();
    launch_each(launches, stream);
    runs_ = again ? runs_ + 1 : 1;
    last_ = std::move(launches);
    if (runs_ >= kBuilt) build(context);
}

void PlanGraph::build(Context context) {
    context_ = context;
    process_ = ::getpid();
    require(driver().create_graph(&graph_, 0), "making a graph");
    std::vector<void*> parameters;
    for (const Launches::Call& call : last_.calls) {
        const KernelNode node = last_.node_of(call, parameters);
        GraphNode made = nullptr;
        require(driver().add_kernel(&made, graph_, nodes_.empty() ? nullptr : &nodes_.back(), nodes_.empty() ? 0 : 1,
                                    &node),
                "adding a kernel to a graph");
        nodes_.push_back(made);
    }
    require(driver().instantiate(&exec_, graph_, 0), "making a graph of kernels");
}

void PlanGraph::update(Launches&& launches) {
    std::vector<void*> parameters;
    for (std::size_t c = 0; c < launches.calls.size(); ++c) {
        const Launches::Call& call = launches.calls[c];
        const auto begin = launches.values.begin() + static_cast<std::ptrdiff_t>(call.first);
        if (std::equal(begin, begin + static_cast<std::ptrdiff_t>(call.count),
                       last_.values.begin() + static_cast<std::ptrdiff_t>(call.first)))
            continue;
        const KernelNode node = launches.node_of(call, parameters);
        require(driver().set_kernel(exec_, nodes_[c], &node), "binding a kernel's parameters");
    }
    last_.values = std::move(launches.values);
}

}  // namespace weft::backend::cuda
