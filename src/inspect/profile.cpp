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
    const schedule::SimplifiedGraph graph =
        schedule::simplified(captured, plan->plan.run_time_constants, *plan->target);
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

ProfileData* recorded_now = nullptr;  // under the mutex

// Of this thread. A thread that ends leaves its track to others: a loader starts new ones for each epoch.
struct OwnTrack {
    int track = -1;
    std::uint64_t profile = 0;  // that it belongs to
    std::string name;           // of the thread, where somebody gave one
    ~OwnTrack() {
        const std::lock_guard lock(profile_mutex());
        if (recorded_now && recorded_now->id == profile) recorded_now->tracks[track].is_free = true;
    }
};
thread_local OwnTrack own_track;

std::string thread_name() {
    if (!own_track.name.empty()) return own_track.name;
    char name[64] = "";
    pthread_getname_np(pthread_self(), name, sizeof name);
    return name[0] ? name : "thread";
}

}  // namespace

int ProfileData::track() {
    if (own_track.profile == id) return own_track.track;
    own_track.profile = id;
    const std::string thread = tracks.empty() ? "main" : thread_name();
    int namesakes = 1;
    for (std::size_t t = 0; t < tracks.size(); ++t) {
        if (tracks[t].thread != thread) continue;
        if (std::exchange(tracks[t].is_free, false)) return own_track.track = static_cast<int>(t);
        ++namesakes;
    }
    tracks.push_back({.name = namesakes == 1 ? thread : str(thread, " (", namesakes, ")"), .thread = thread});
    return own_track.track = static_cast<int>(tracks.size()) - 1;
}

int ProfileData::track_of(Track::Kind kind, int number) {
    for (std::size_t t = 0; t < tracks.size(); ++t)
        if (tracks[t].kind == kind && tracks[t].number == number) return static_cast<int>(t);
    const std::string name = kind == Track::Kind::Worker ? str("helper ", number)
                                                         : Device::of_number(static_cast<std::uint8_t>(number)).name();
    tracks.push_back({.name = name, .kind = kind, .number = number});
    return static_cast<int>(tracks.size()) - 1;
}

void ProfileData::push(Profile::Event kind, int track, int what, std::size_t step, std::int64_t start,
                       std::int64_t end) {
    events.push_back({start - began, end - start, kind, track, what, static_cast<int>(step)});
}

void ProfileData::add(Profile::Event kind, std::string_view name, std::int64_t start, std::int64_t end) {
    const std::lock_guard lock(profile_mutex());
    push(kind, track(), label(name), 0, start, end);
}

void ProfileData::add_holder(Holder holder) {
    if (holders.size() >= most_holders) {
        std::erase_if(holders, [](const Holder& old) { return old.storage.expired(); });
        most_holders = std::max<std::size_t>(2 * holders.size(), 1024);
    }
    holders.push_back(std::move(holder));
}

int ProfileData::label(std::string_view name) {
    const auto [found, fresh] = label_numbers.try_emplace(std::string(name), static_cast<int>(labels.size()));
    if (fresh) labels.emplace_back(name);
    return found->second;
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

class Profile::Log final : public pipeline::Observer {
public:
    using Track = ProfileData::Track;

    explicit Log(std::string title) {
        const std::lock_guard queue(cells::run_lock());
        if (pipeline::observer()) throw ValueError("profile: another profile is recording; stop it first");
        data.title = std::move(title);
        data.began = Profile::now();
        data.wall = std::chrono::system_clock::now();
        data.track();  // the first is the thread that profiles
        pipeline::set_observer(this);
        const std::lock_guard lock(inspect::profile_mutex());
        inspect::recorded_now = &data;
    }
    ~Log() override { stop(); }

    void stop() {
        const std::lock_guard queue(cells::run_lock());
        if (stopped_) return;
        pipeline::set_observer(nullptr);
        calls_.reset();
        ask_devices(0);
        const std::lock_guard lock(inspect::profile_mutex());
        inspect::recorded_now = nullptr;
        data.ended = Profile::now();
        stopped_ = true;
    }

    bool stopped() const { return stopped_; }
    void set_title(std::string title) {
        const std::lock_guard lock(inspect::profile_mutex());
        data.title = std::move(title);
    }

    ProfileData so_far() {
        ask_devices(0);
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
        if (end - start > kNoticed) data.add(Event::Wait, "the profile itself", start, end);
        return number;
    }
    int traced_before(const std::shared_ptr<const pipeline::CachedPlan>& plan) override {
        const std::lock_guard lock(ir::graph_lock());
        return inspect::run_kinds().number_of(plan);
    }
    void planned(std::int64_t start, std::int64_t end) override {
        const std::lock_guard lock(inspect::profile_mutex());
        data.push(Event::Compile, data.track(), -1, 0, start, end);
    }
    void launched(pipeline::LaunchedStep step) override {
        const bool on_device = step.began != nullptr;
        if (step.kernel && !on_device) step.kernel->note_time(step.end - step.start);
        {
            const std::lock_guard lock(inspect::profile_mutex());
            for (const auto& [thread, start, end] : step.threads)
                if (thread > 0)
                    data.push(Event::Kernel, data.track_of(Track::Kind::Worker, thread), step.run, step.step, start,
                              end);
                else if (end - start > kShortWait)
                    data.push(Event::Wait, data.track(), data.label("helper threads"), 0, start, end);
            if (!on_device) return data.push(Event::Kernel, data.track(), step.run, step.step, step.start, step.end);
            step.threads = {};
            step.track = data.track();
            queued_.push_back(std::move(step));
            if (queued_.size() < 2 * kQueued) return;
        }
        ask_devices(kQueued);
    }
    void waited(std::uint8_t device, std::int64_t start, std::int64_t end) override {
        if (end - start > kShortWait) data.add(Event::Wait, Device::of_number(device).name(), start, end);
    }
    void copied(std::uint8_t from, std::uint8_t to, std::int64_t start, std::int64_t end) override {
        data.add(Event::Copy, str(Device::of_number(from).name(), " → ", Device::of_number(to).name()), start, end);
    }
    void ran(int run, std::int64_t start, std::int64_t end) override {
        {
            const std::lock_guard lock(inspect::profile_mutex());
            data.push(Event::Run, data.track(), run, 0, start, end);
        }
        data.note_memory(end, run);
    }
    void stored(int run, int value, const ir::StorageRef& storage) override {
        const std::lock_guard lock(inspect::profile_mutex());
        data.add_holder({storage, run, value});
    }

    ProfileData data;

private:
    static constexpr std::int64_t kShortWait = 10'000;  // nanoseconds: not worth an event
    static constexpr std::size_t kQueued = 1024;

    // Asks when the steps that were handed to devices ran, but for the newest ones: a device may be behind. It waits without the mutex.
    void ask_devices(std::size_t newest) {
        std::vector<pipeline::LaunchedStep> steps;
        {
            const std::lock_guard lock(inspect::profile_mutex());
            if (queued_.size() <= newest) return;
            const auto end = queued_.end() - static_cast<std::ptrdiff_t>(newest);
            steps.assign(std::make_move_iterator(queued_.begin()), std::make_move_iterator(end));
            queued_.erase(queued_.begin(), end);
        }
        for (const pipeline::LaunchedStep& step : steps) {
            try {
                const std::int64_t start = step.began->time(), end = step.ended->time();
                step.kernel->note_time(end - start);
                const std::lock_guard lock(inspect::profile_mutex());
                const int track = data.track_of(Track::Kind::Stream, step.device->number());
                data.push(Event::Kernel, track, step.run, step.step, start, end);
                // A device that computes in the host's call: the thread waited.
                const std::int64_t from = std::max(start, step.start), to = std::min(end, step.end);
                if (to - from > kShortWait)
                    data.push(Event::Wait, step.track, data.label(data.tracks[track].name), 0, from, to);
            } catch (const Error&) {  // the device has failed: the program hears of it where it asks for a value
                return;
            }
        }
    }

    std::vector<pipeline::LaunchedStep> queued_;  // under the mutex
    std::atomic<bool> stopped_ = false;
    std::optional<inspect::CallLogScope> calls_{std::in_place};
};

Profile::Profile(std::string title) : log_(std::make_unique<Log>(std::move(title))) {}
Profile::~Profile() = default;

std::int64_t Profile::now() { return pipeline::now(); }
ProfileRegion::ProfileRegion(std::string_view name, Profile::Event kind)
    : kind_(kind), start_(pipeline::observer() ? Profile::now() : -1) {
    if (start_ >= 0) name_ = name;
}
ProfileRegion::~ProfileRegion() {
    if (start_ < 0) return;
    const std::int64_t end = Profile::now();
    const std::lock_guard lock(inspect::profile_mutex());
    ProfileData* const data = inspect::recorded_now;  // another profile may have begun since
    if (data && start_ >= data->began) data->push(kind_, data->track(), data->label(name_), 0, start_, end);
}

void name_thread(std::string_view name) { inspect::own_track.name = name; }

void Profile::add(Event kind, std::string_view label, std::int64_t start, std::int64_t end) {
    if (kind == Event::Kernel || kind == Event::Compile || kind == Event::Run)
        throw ValueError("Profile::add: kernels, compilations and runs are recorded by the library");
    if (!log_->stopped()) log_->data.add(kind, label, start, end);
}

void Profile::stop() { log_->stop(); }
void Profile::set_title(std::string title) { log_->set_title(std::move(title)); }

std::string Profile::json() const { return inspect::to_json(log_->so_far()); }
std::string Profile::table() const { return inspect::to_table(log_->so_far()); }

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
