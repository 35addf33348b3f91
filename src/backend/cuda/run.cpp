// backend/cuda/run.cpp: see run.h.
#include "backend/cuda/run.h"

#include "backend/cuda/tensor_map.h"
#include "core/process.h"
#include "core/str.h"

#include <weft/error.h>

#include <algorithm>
#include <utility>

namespace weft::backend::cuda {

// ---- checks ----------------------------------------------------------------------------------------------------------

void Checks::open(Address record, Stream stream) {
    record_ = record;
    stream_ = stream;
    require(driver().fill_bytes(record_, 0, sizeof(Record), stream_), "setting up checks");
}

Checks::Tag Checks::begin() {
    const std::lock_guard lock(mutex_);
    if (open_.empty() && pending_.empty()) next_ = 0;
    open_.push_back({next_, next_, std::this_thread::get_id()});
    return next_;
}

std::uint64_t Checks::add(std::span<const ir::CheckArg> checks) {
    if (checks.empty()) return 0;
    const std::lock_guard lock(mutex_);
    pending_.push_back({next_, {checks.begin(), checks.end()}});
    waiting_ = pending_.size();
    return next_++ << 32;
}

void Checks::sent() {
    const std::lock_guard lock(mutex_);
    open_.back().sent = next_;
}

void Checks::end(Tag run) {
    const std::lock_guard lock(mutex_);
    if (!found_.empty()) throw IndexError(open_.size() > 1 ? found_ : std::exchange(found_, {}));
    std::erase_if(open_, [&](const OpenRun& each) { return each.first == run; });
}

void Checks::abandon(Tag run) noexcept {
    bool was_sent = false, others = false;
    {
        const std::lock_guard lock(mutex_);
        was_sent =
            std::ranges::any_of(open_, [&](const OpenRun& each) { return each.first == run && each.sent > run; });
        std::erase_if(open_, [&](const OpenRun& each) { return each.first == run; });
        std::erase_if(pending_, [&](const Pending& each) { return each.tag >= run; });
        waiting_ = pending_.size();
        others = !pending_.empty();
        if (open_.empty()) found_.clear();
    }
    if (!was_sent) return;
    try {  // in order: before the kernels of the next run
        if (!others || read_record().code >> 32 >= run) clear_record();
    } catch (const std::exception&) {}  // the next call finds the same
}

Checks::Mine Checks::mine() const {
    Mine mine{.ended = open_.empty() ? next_ : open_.front().first};
    if (!open_.empty() && open_.back().thread == std::this_thread::get_id()) {
        mine.first = open_.back().first;
        mine.sent = open_.back().sent;
    }
    return mine;
}

Checks::Record Checks::read_record() {
    Record found;
    require(driver().copy_to_host(&found, record_, sizeof found, stream_), "reading checks");
    require(driver().synchronize_stream(stream_), "running kernels");
    return found;
}

void Checks::clear_record() { require(driver().fill_bytes(record_, 0, sizeof(Record), stream_), "clearing checks"); }

void Checks::look() {
    Mine seen;
    {
        const std::lock_guard lock(mutex_);
        seen = mine();
    }
    const Record found = read_record();
    const std::lock_guard lock(mutex_);
    std::string message;
    if (const Tag tag = found.code >> 32; found.code != 0 && seen.has(tag)) {
        const auto at = std::ranges::find(pending_, tag, &Pending::tag);
        if (at != pending_.end())  // else another thread has told
            message = str(at->checks.at((found.code & 0xffffffff) - 1).what, "; got ", found.value);
    }
    std::erase_if(pending_, [&](const Pending& each) { return seen.has(each.tag); });
    waiting_ = pending_.size();
    if (message.empty()) return;
    clear_record();
    if (!open_.empty() && open_.back().thread != std::this_thread::get_id()) found_ = message;
    throw IndexError(message);
}

// ---- launches --------------------------------------------------------------------------------------------------------

void Launches::clear() {
    calls.clear();
    values.clear();
}

void Launches::add_maps(const Entry& entry, std::span<void* const> buffers) {
    for (const TensorMap& map : entry.maps) {
        alignas(64) std::uint64_t words[kMapWords] = {};
        const void* const buffer = buffers[static_cast<std::size_t>(map.parameter)];
        require(encode_map(words, map, reinterpret_cast<Address>(buffer), driver().encode_tiled),
                "describing an array to the copy unit");
        values.insert(values.end(), std::begin(words), std::end(words));
    }
}

KernelNode Launches::node_of(const Call& call) {
    parameters_.clear();
    const std::size_t maps = call.entry->maps.size() * kMapWords, words = call.count - maps;
    for (std::size_t v = 0; v < words; ++v) parameters_.push_back(&values[call.first + v]);
    for (std::size_t v = words; v < call.count; v += kMapWords) parameters_.push_back(&values[call.first + v]);
    KernelNode node{.function = call.function};
    for (int axis = 0; axis < 3; ++axis)
        node.blocks[axis] = static_cast<unsigned>(call.entry->blocks[static_cast<std::size_t>(axis)]);
    node.threads[0] = static_cast<unsigned>(call.entry->threads);
    node.shared_bytes = static_cast<unsigned>(call.entry->dynamic_shared);
    node.parameters = parameters_.data();
    return node;
}

void launch_each(Launches& launches, Stream stream) {
    for (const Launches::Call& call : launches.calls) {
        const KernelNode node = launches.node_of(call);
        require(driver().launch(node.function, node.blocks[0], node.blocks[1], node.blocks[2], node.threads[0], 1, 1,
                                node.shared_bytes, stream, node.parameters, nullptr),
                "launching a kernel");
    }
}

// ---- graphs ----------------------------------------------------------------------------------------------------------

PlanGraph::~PlanGraph() { destroy(); }

void PlanGraph::destroy() {
    if (graph_ && process_number() == process_ && driver().set_context(context_) == Result::Success) {
        if (exec_) driver().destroy_exec(exec_);
        driver().destroy_graph(graph_);
    }
    exec_ = nullptr;
    graph_ = nullptr;
    nodes_.clear();
}

bool PlanGraph::is_same(const Launches& launches) const {
    return std::ranges::equal(launches.calls, last_.calls, [](const Launches::Call& a, const Launches::Call& b) {
        return a.function == b.function && a.count == b.count;
    });
}

void PlanGraph::launch(Launches& launches, Context context, Stream stream) {
    constexpr int kBuilt = 2;  // runs, so that what happens once costs nothing more
    if (launches.calls.size() < 2) {
        launch_each(launches, stream);
        return launches.clear();
    }
    if (!is_same(launches) || (exec_ && update(launches) != Result::Success)) {
        destroy();
        runs_ = 0;
    }
    std::swap(last_, launches);
    launches.clear();
    if (exec_) return require(driver().launch_graph(exec_, stream), "launching kernels");
    launch_each(last_, stream);
    if (runs_ < kBuilt && ++runs_ == kBuilt) build(context);
}

// The kernels of this run are on their way already: that there is no graph is no error of it.
void PlanGraph::build(Context context) {
    context_ = context;
    process_ = process_number();
    if (driver().create_graph(&graph_, 0) != Result::Success || add_nodes() != Result::Success ||
        driver().instantiate(&exec_, graph_, 0) != Result::Success)
        destroy();
}

Result PlanGraph::add_nodes() {
    for (const Launches::Call& call : last_.calls) {
        const KernelNode node = last_.node_of(call);
        GraphNode made = nullptr;
        const Result result = driver().add_kernel(&made, graph_, nodes_.empty() ? nullptr : &nodes_.back(),
                                                  nodes_.empty() ? 0 : 1, &node);
        if (result != Result::Success) return result;
        nodes_.push_back(made);
    }
    return Result::Success;
}

Result PlanGraph::update(Launches& launches) {
    for (std::size_t c = 0; c < launches.calls.size(); ++c) {
        const Launches::Call& call = launches.calls[c];
        const auto begin = launches.values.begin() + static_cast<std::ptrdiff_t>(call.first);
        if (std::equal(begin, begin + static_cast<std::ptrdiff_t>(call.count),
                       last_.values.begin() + static_cast<std::ptrdiff_t>(call.first)))
            continue;
        const KernelNode node = launches.node_of(call);
        if (const Result result = driver().set_kernel(exec_, nodes_[c], &node); result != Result::Success)
            return result;
    }
    return Result::Success;
}

}  // namespace weft::backend::cuda
