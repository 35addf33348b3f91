// inspect/profile.cpp: Profile: what is recorded while the program runs. Making sense of it waits until somebody asks: profile_json.cpp.
#include "inspect/page.h"
#include "inspect/profile_data.h"

#include "cells/state.h"
#include "core/str.h"
#include "device/pool.h"

#include <weft/error.h>
#include <weft/profile.h>

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <mutex>

namespace weft {
namespace inspect {

// ---- what plans compute, and for whom --------------------------------------------------------------------------------

namespace {

std::uint64_t hash_of(const ItemOrigins& origins) {
    std::uint64_t hash = 1469598103934665603u;
    const auto mix = [&](std::uint64_t word) { hash = (hash ^ word) * 1099511628211u; };
    for (const ir::OriginIds& ids : origins) {
        mix(ids.size() + 0x9e37);
        for (const ir::OriginId id : ids) mix(id);
    }
    return hash;
}

}  // namespace

int RunKinds::number_of(const schedule::Captured& captured, const std::shared_ptr<const pipeline::CachedPlan>& plan) {
    const ItemOrigins origins = origins_of_items(captured);
    const std::uint64_t hash = hash_of(origins);
    std::vector<int>& known = of_plan_[plan.get()];
    for (const int number : known)
        if (kinds_[number].origins_hash == hash) return number;
    RunKind kind{.plan = plan, .origins_hash = hash};
    const PlanItems items = items_of(captured, *plan);
    for (std::size_t s = 0; s < plan->plan.steps.size(); ++s) {
        kind.origins.push_back(origins_of_step(items, captured, origins, s));
        kind.names.push_back(name_of_step(plan->plan.steps[s], {kind.origins[s].data(), kind.origins[s].size()}));
    }
    for (const int item : items.values) kind.value_origins.push_back(item >= 0 ? origins[item] : ir::OriginIds());
    const schedule::SimplifiedGraph graph = schedule::simplified(captured, plan->plan.run_time_constants);
    kind.graph = ir::print_graph(graph.canonical.outputs);
    kind.simplified = ir::print_graph(graph.simple.roots);
    for (const auto& [rule, times] : graph.simple.applied) kind.rules.emplace_back(rule, times);
    std::sort(kind.rules.begin(), kind.rules.end());
    kinds_.push_back(std::move(kind));
    known.push_back(static_cast<int>(kinds_.size()) - 1);
    return known.back();
}

int RunKinds::number_of(const std::shared_ptr<const pipeline::CachedPlan>& plan) {
    std::vector<int>& known = of_plan_[plan.get()];
    for (const int number : known)
        if (kinds_[number].origins_hash == 0) return number;
    RunKind kind{.plan = plan};
    for (const schedule::PlanStep& step : plan->plan.steps) {
        kind.origins.emplace_back();
        kind.names.push_back(name_of_step(step, {}));
    }
    kind.value_origins.resize(plan->plan.values.size());
    kinds_.push_back(std::move(kind));
    known.push_back(static_cast<int>(kinds_.size()) - 1);
    return known.back();
}

RunKinds& run_kinds() {
    static RunKinds& instance = *new RunKinds;
    return instance;
}

// ---- events ----------------------------------------------------------------------------------------------------------

LeafMutex& profile_mutex() {
    static LeafMutex& mutex = *new LeafMutex;
    return mutex;
}

namespace {

constinit thread_local int own_track = -1;
constinit thread_local std::uint64_t track_of = 0;  // the profile that own_track belongs to

std::string thread_name() {
    char name[64] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    return name[0] ? name : "thread";
}

}  // namespace

int ProfileData::track() {
    if (track_of == id) return own_track;
    track_of = id;
    const bool is_first = tracks.empty();
    tracks.push_back(is_first ? "main" : str(thread_name(), " ", tracks.size()));
    return own_track = static_cast<int>(tracks.size()) - 1;
}

void ProfileData::add(Profile::Event kind, int what, std::int64_t step, std::int64_t start, std::int64_t end) {
    const std::lock_guard lock(profile_mutex());
    events.push_back({start - began, end - start, kind, track(), what, static_cast<int>(step)});
}

void ProfileData::add_holder(Holder holder) {
    if (holders.size() >= most_holders) {
        std::erase_if(holders, [](const Holder& old) { return old.storage.expired(); });
        most_holders = std::max<std::size_t>(2 * holders.size(), 1024);
    }
    holders.push_back(std::move(holder));
}

int ProfileData::label(std::string_view name) {
    const std::lock_guard lock(profile_mutex());
    const auto found = std::find(labels.begin(), labels.end(), name);
    if (found != labels.end()) return static_cast<int>(found - labels.begin());
    labels.emplace_back(name);
    return static_cast<int>(labels.size()) - 1;
}

void ProfileData::note_memory(std::int64_t at, int run) {
    const device::PoolStats pool = device::pool_stats();
    const std::lock_guard lock(profile_mutex());
    memory.push_back({at - began, pool.bytes_in_use, pool.bytes_in_use + pool.bytes_kept});
    if (pool.bytes_in_use <= peak_bytes) return;
    // The holders are looked up for a peak that is clearly higher than the last one: a growing program has few of those.
    const bool clearly = pool.bytes_in_use > peak_bytes + peak_bytes / 50;
    peak_bytes = pool.bytes_in_use;
    peak_time = at - began;
    peak_run = run;
    if (!clearly) return;
    std::erase_if(holders, [](const Holder& holder) { return holder.storage.expired(); });
    at_peak = holders;
}

}  // namespace inspect

using inspect::ProfileData;

class Profile::Recorder final : public pipeline::Observer {
public:
    explicit Recorder(std::string title) {
        const std::lock_guard queue(cells::run_lock());
        if (pipeline::observer()) throw ValueError("profile: another profile is recording; stop it first");
        data.title = std::move(title);
        data.began = Profile::now();
        data.wall = std::chrono::system_clock::now();
        data.track();  // the first is the thread that profiles
        pipeline::set_observer(this);
    }
    ~Recorder() override { stop(); }

    void stop() {
        const std::lock_guard queue(cells::run_lock());
        if (stopped_) return;
        pipeline::set_observer(nullptr);
        calls_.reset();
        const std::lock_guard lock(inspect::profile_mutex());
        data.ended = Profile::now();
        stopped_ = true;
    }

    bool stopped() const { return stopped_; }
    void set_title(std::string title) {
        const std::lock_guard lock(inspect::profile_mutex());
        data.title = std::move(title);
    }

    ProfileData so_far() const {
        const std::lock_guard lock(inspect::profile_mutex());
        ProfileData copy = data;
        copy.recording = !stopped_;
        if (copy.recording) copy.ended = Profile::now();
        return copy;
    }

    int captured(const schedule::Captured& captured, const std::shared_ptr<const pipeline::CachedPlan>& plan) override {
        const std::int64_t start = Profile::now();
        const int number = inspect::run_kinds().number_of(captured, plan);
        const std::int64_t end = Profile::now();
        {
            const std::lock_guard lock(inspect::profile_mutex());
            data.overhead += end - start;
        }
        constexpr std::int64_t kNoticed = 100'000;  // the first run of a plan: its lines are looked up
        if (end - start > kNoticed) data.add(Event::Wait, data.label("the profile itself"), -1, start, end);
        return number;
    }
    int captured_before(const std::shared_ptr<const pipeline::CachedPlan>& plan) override {
        const std::lock_guard lock(ir::graph_lock());
        return inspect::run_kinds().number_of(plan);
    }
    void planned(std::int64_t start, std::int64_t end) override { data.add(Event::Compile, -1, -1, start, end); }
    void launched(int run, std::size_t step, std::int64_t start, std::int64_t end) override {
        data.add(Event::Kernel, run, static_cast<std::int64_t>(step), start, end);
    }
    void ran(int run, std::int64_t start, std::int64_t end) override {
        data.add(Event::Run, run, -1, start, end);
        data.note_memory(end, run);
    }
    void stored(int run, int value, const ir::StorageRef& storage) override {
        const std::lock_guard lock(inspect::profile_mutex());
        data.add_holder({storage, run, value});
    }

    ProfileData data;

private:
    std::atomic<bool> stopped_ = false;
    std::optional<inspect::Recording> calls_{std::in_place};
};

Profile::Profile(std::string title) : recorder_(std::make_unique<Recorder>(std::move(title))) {}
Profile::~Profile() = default;

std::int64_t Profile::now() { return pipeline::now(); }

void Profile::add(Event kind, std::string_view label, std::int64_t start, std::int64_t end) {
    if (kind == Event::Kernel || kind == Event::Compile || kind == Event::Run)
        throw ValueError("Profile::add: kernels, compilations and runs are recorded by the library");
    if (!recorder_->stopped()) recorder_->data.add(kind, recorder_->data.label(label), -1, start, end);
}

void Profile::stop() { recorder_->stop(); }
void Profile::set_title(std::string title) { recorder_->set_title(std::move(title)); }

std::string Profile::json() const { return inspect::to_json(recorder_->so_far()); }
std::string Profile::table() const { return inspect::to_table(recorder_->so_far()); }

void Profile::save(const std::string& path) const {
    if (!path.ends_with(".html") && !path.ends_with(".json"))
        throw ValueError(str("save(\"", path, "\"): a profile is written as .html or .json"));
    const std::string text = json();
    std::ofstream file(path, std::ios::binary);
    if (path.ends_with(".html")) file << inspect::page_with(text);
    else file << text;
    if (!file.flush()) throw IoError(str("cannot write ", path));
}

}  // namespace weft
