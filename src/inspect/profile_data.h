// inspect/profile_data.h: what a profile has recorded.
#pragma once

#include "core/leaf_mutex.h"
#include "inspect/calls.h"
#include "inspect/provenance.h"
#include "ir/print.h"
#include "pipeline/observer.h"
#include "schedule/plan.h"

#include <weft/profile.h>

#include <chrono>
#include <deque>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::inspect {

// Runs of one plan for the same calls.
struct RunKind {
    std::shared_ptr<const pipeline::CachedPlan> plan;
    std::uint64_t origins_hash = 0;
    std::vector<ir::OriginIds> origins;        // per step
    std::vector<std::string> names;            // per step
    std::vector<ir::OriginIds> value_origins;  // per value of the plan
    std::string graph, simplified;             // what was captured, and after simplify
    std::vector<std::pair<std::string, int>> rules;
};

// Of the whole process: what jit traced is replayed later. Under the graph lock.
class RunKinds {
public:
    int number_of(const schedule::Captured& captured, const std::shared_ptr<const pipeline::CachedPlan>& plan);
    int number_of(const std::shared_ptr<const pipeline::CachedPlan>& plan);
    const RunKind& operator[](int number) const { return kinds_[number]; }

private:
    std::deque<RunKind> kinds_;
    std::unordered_map<const pipeline::CachedPlan*, std::vector<int>> of_plan_;
};
RunKinds& run_kinds();

LeafMutex& profile_mutex();  // guards the lists: kernels of several threads end at once

struct ProfileData {
    struct Event {
        std::int64_t start, duration;  // nanoseconds, from the beginning of the profile
        Profile::Event kind;
        int track;
        int what;  // Kernel, Run: a RunKind. Others: a label
        int step;  // Kernel: of the plan
    };
    // A row of the timeline.
    struct Track {
        enum class Kind : std::uint8_t { Thread, Worker, Stream };  // Worker: a helper of the kernels' threads
        std::string name;
        Kind kind = Kind::Thread;
        int number = 0;        // of a helper, of a device
        std::string thread;    // its name, which several may have
        bool is_free = false;  // the thread has ended: the next one of its name goes on here
    };
    struct MemoryPoint {
        std::int64_t time, live, pool;
    };
    struct Holder {
        std::weak_ptr<const ir::Storage> storage;
        int run, value;
    };

    // With the mutex, or before others know of this.
    int track();                                 // of this thread
    int track_of(Track::Kind kind, int number);  // of a helper or a device
    int label(std::string_view name);
    void push(Profile::Event kind, int track, int what, std::size_t step, std::int64_t start, std::int64_t end);

    void add(Profile::Event kind, std::string_view name, std::int64_t start, std::int64_t end);  // on this thread
    void add_holder(Holder holder);                                                              // with the mutex
    void note_memory(std::int64_t at, int run);  // at the end of this run

    const std::uint64_t id = ir::fresh_id();
    std::string title;
    std::int64_t began = 0, ended = 0, overhead = 0;
    std::chrono::system_clock::time_point wall;
    std::vector<Event> events;
    std::vector<MemoryPoint> memory;
    std::vector<Track> tracks;
    std::vector<std::string> labels;
    std::unordered_map<std::string, int> label_numbers;
    std::vector<Holder> holders, at_peak;
    std::size_t most_holders = 1024;  // before those that are gone are dropped
    std::int64_t peak_bytes = 0, peak_time = 0;
    bool recording = false;  // still: nothing may run beside the program
    int peak_run = -1;       // a RunKind, whose arena is still there
};

std::string to_json(const ProfileData& data);   // docs/profile-format.md
std::string to_table(const ProfileData& data);  // kernels by time

}  // namespace weft::inspect
