// backend/cuda/run.h: one run of a plan: its launches are collected, and go to the device together. From the second run on they are a CUDA
// graph: the host hands it over in one call, and tells it which parameters have changed.
#pragma once

#include "backend/cuda/driver.h"
#include "backend/cuda/memory_pool.h"
#include "backend/cuda/program.h"
#include "backend/device.h"

#include <atomic>
#include <cstdint>
#include <mutex>
#include <span>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace weft::backend::cuda {

// What kernels have found wrong: the first failure since the host looked. Every launch that checks something has a tag, which the failure names.
// Runs follow each other, but any thread may look at any time: what a run finds is told to the thread that runs it, and to whoever looks once it has
// ended.
class Checks {
public:
    void open(Address record, Stream stream);

    // Around the launches of a run that checks something, or that is skipped where a check has failed.
    using Tag = std::uint64_t;
    Tag begin();
    std::uint64_t add(std::span<const ir::CheckArg> checks);  // what a launch may find wrong; what it adds to its codes
    void sent();                                              // all that were added are in the stream
    void end(Tag run);  // throws IndexError if another thread has found one meanwhile: kernels have been skipped
    void abandon(Tag run) noexcept;  // it has failed: what it has found is nobody's

    bool any() const { return waiting_.load(std::memory_order_relaxed) > 0; }  // launches that nobody has looked at
    bool many() const { return waiting_.load(std::memory_order_relaxed) >= kMost; }  // … more than should be kept
    Address record() const { return record_; }
    void look();  // waits for the device; throws IndexError

private:
    struct Record {  // as kernels write it
        std::uint64_t code = 0;
        std::int64_t value = 0;
    };
    struct Pending {
        Tag tag = 0;
        std::vector<ir::CheckArg> checks;
    };
    struct OpenRun {
        Tag first = 0, sent = 0;  // tags from here on, of which those below are in the stream
        std::thread::id thread;
    };
    Record read_record();  // waits
    void clear_record();
    // Those in the stream that this thread may tell of are [0, ended) and [first, sent).
    struct Mine {
        Tag ended = 0, first = 0, sent = 0;
        bool has(Tag tag) const { return tag < ended || (tag >= first && tag < sent); }
    };
    Mine mine() const;

    Address record_ = 0;
    Stream stream_ = nullptr;
    static constexpr std::size_t kMost = 4096;
    mutable std::mutex mutex_;
    Tag next_ = 0;
    std::vector<Pending> pending_;         // in the order of their tags
    std::atomic<std::size_t> waiting_{0};  // how many that are, for who need not wait for the lock
    std::vector<OpenRun> open_;            // a host function of a run may start another
    std::string found_;                    // by a thread that looked while runs were open
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
    KernelNode node_of(const Call& call);  // until the next call of it
    void add_maps(const Entry& entry,
                  std::span<void* const> buffers);  // the parameters that it has beside those of all entries
    void clear();                                   // keeps the room

private:
    std::vector<void*> parameters_;
};

// The graph of a plan. It saves time and nothing depends on it: where the driver makes none, kernels are launched one by one.
class PlanGraph final : public device::PlanState {
public:
    ~PlanGraph() override;
    // Whether runs bring back what they replace, if a check fails: once they have to, always, so that their launches stay the same.
    bool restores(bool must) { return restores_ = restores_ || must; }
    // Hands the launches to the stream, as a graph if these have come before. What is left of them is empty.
    void launch(Launches& launches, Context context, Stream stream);
    // Room for the launches of a run, so that equal runs allocate none.
    Launches take_room() { return std::exchange(room_, {}); }
    void give_room(Launches&& room) { room_ = std::move(room); }

private:
    bool is_same(const Launches& launches) const;
    void build(Context context);
    Result add_nodes();
    Result update(Launches& launches);
    void destroy();

    bool restores_ = false;
    int runs_ = 0;           // of the same launches
    Graph graph_ = nullptr;  // owns the nodes, by which parameters are changed
    GraphExec exec_ = nullptr;
    std::vector<GraphNode> nodes_;
    Launches last_;  // that the graph has
    Launches room_;
    Context context_ = nullptr;
    std::uint32_t process_ = 0;
};

void launch_each(Launches& launches, Stream stream);

}  // namespace weft::backend::cuda
