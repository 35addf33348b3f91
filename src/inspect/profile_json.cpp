// inspect/profile_json.cpp: a profile as JSON (docs/profile-format.md), and as a table.
#include "inspect/profile_data.h"

#include "core/str.h"
#include "inspect/code.h"
#include "inspect/json.h"
#include "inspect/limits.h"
#include "kernel/proven.h"
#include "pipeline/profile.h"

#include <weft/debug.h>

#include <algorithm>
#include <ctime>
#include <filesystem>
#include <map>
#include <tuple>

namespace weft::inspect {
namespace {

using schedule::PlanValue;

constexpr std::size_t kWithLoops =
    200;  // kernels whose loops are written, by time: a page holds a program, not a library

// ---- sites -----------------------------------------------------------------------------------------------------------

class Sites {
public:
    int number_of(int site) {
        const auto [found, fresh] = numbers_.try_emplace(site, static_cast<int>(sites.size()));
        if (fresh) add(calls().site(site));
        return found->second;
    }
    Json files = Json::array(), sites = Json::array();

private:
    void add(const Site& site) {
        const SourceLine line = calls().line(site.line);
        Json entry;
        if (!line.file.empty()) {
            entry["file"] = file_number(line.file);
            entry["line"] = line.line;
        }
        if (!line.function.empty()) entry["function"] = line.function;
        if (!line.module.empty()) entry["module"] = line.module;
        entry["op"] = site.op;
        sites.push_back(std::move(entry));
    }
    // What lies below the working folder is named from there.
    static std::string shown(const std::string& path) {
        std::error_code error;
        const std::string here = std::filesystem::current_path(error).string() + "/";
        return !error && path.starts_with(here) ? path.substr(here.size()) : path;
    }
    int file_number(const std::string& path) {
        const auto [found, fresh] = file_numbers_.try_emplace(path, static_cast<int>(files.size()));
        if (fresh) {
            std::string text = calls().text(path);
            Json entry{{"path", shown(path)}};
            if (!text.empty()) entry["source"] = std::move(text);
            files.push_back(std::move(entry));
        }
        return found->second;
    }
    std::map<int, int> numbers_;
    std::map<std::string, int> file_numbers_;
};

// ---- kernels and plans -----------------------------------------------------------------------------------------------

struct KernelTimes {
    std::int64_t calls = 0, time = 0, best = INT64_MAX;
};

struct KernelKey {
    int run, step;
    auto operator<=>(const KernelKey&) const = default;
};

std::string_view kind_of(const schedule::PlanStep& step) {
    if (step.kernel.custom) return "custom";
    if (step.kernel.contraction) return "contraction";
    return step.kernel.graph.kind == ir::KernelGraph::Kind::Rows && step.kernel.graph.inner.empty() ? "map" : "row";
}

void add_loops(const ir::KernelGraph& graph, const Target& target, Json& out) {
    Json passes = Json::array();
    std::string before;
    const kernel::Kernel kernel =
        kernel::proven_kernel(graph, target, [&](std::string_view pass, const kernel::Kernel& now) {
            std::string text = kernel::print(now);
            if (text != before) passes.push_back(Json{{"name", pass}, {"loops", text}});
            before = std::move(text);
        }).kernel;
    out["passes"] = std::move(passes);
    const Code code = code_of(kernel, target);
    if (!code.text.empty()) out["source"] = code.text;
    if (code.registers >= 0) out["registers"] = code.registers;
    if (code.spills >= 0) out["spills"] = code.spills;
}

std::string_view where_name(PlanValue::Where where) {
    switch (where) {
        case PlanValue::Where::Leaf: return "leaf";
        case PlanValue::Where::Output: return "output";
        case PlanValue::Where::Donated: return "donated";
        case PlanValue::Where::Arena: return "arena";
        case PlanValue::Where::Inside: return "inside";
    }
    __builtin_unreachable();
}

std::string type_of(const PlanValue& value) { return str(value.dtype, value.shape); }

std::int64_t bytes_of(const PlanValue& value) {
    return value.bytes ? value.bytes : numel(value.shape) * static_cast<std::int64_t>(size_of(value.dtype));
}

class Writer {
public:
    Writer(const ProfileData& data, const MachineLimits& limits) : data_(data), limits_(limits) {
        for (const ProfileData::Event& event : data.events) {
            if (event.kind != Profile::Event::Kernel || is_helper(event)) continue;  // who helps is not a launch
            KernelTimes& times = times_[same_as({event.what, event.step})];
            ++times.calls;
            times.time += event.duration;
            times.best = std::min(times.best, event.duration);
        }
        std::vector<std::pair<std::int64_t, KernelKey>> by_time;
        for (const auto& [key, times] : times_) by_time.emplace_back(-times.time, key);
        std::sort(by_time.begin(), by_time.end());
        const std::size_t most = data.recording ? 0 : kWithLoops;  // it takes time: not while the program runs
        for (std::size_t i = 0; i < std::min(by_time.size(), most); ++i) with_loops_[by_time[i].second] = true;
    }

    std::string json() {
        Json out{{"format", "weft-profile"}, {"version", 1}, {"title", data_.title}};
        out["began"] = utc(data_.wall);
        out["duration"] = data_.ended - data_.began;
        out["overhead"] = data_.overhead;
        out["machine"] = machine();
        Json tracks = tracks_json();
        Json events = events_json();  // numbers the kernels and plans that it meets
        Json memory = memory_json();
        out["files"] = std::move(sites_.files);
        out["sites"] = std::move(sites_.sites);
        out["kernels"] = std::move(kernels_);
        out["plans"] = std::move(plans_);
        out["tracks"] = std::move(tracks);
        out["labels"] = data_.labels;
        out["events"] = std::move(events);
        out["memory"] = std::move(memory);
        return out.dump();
    }

    std::string table() {
        struct Row {
            std::int64_t time, calls;
            std::string name, lines;
            double fraction;
            std::string rates;  // of a device, whose limits are not known here
        };
        std::vector<Row> rows;
        std::int64_t total = 0;
        for (const auto& [key, times] : times_) {
            const RunKind& run = run_kinds()[key.run];
            const double limit = limit_of(*run.plan, run.plan->plan.steps[key.step]);
            rows.push_back({times.time, times.calls, run.names[key.step], lines_of(run.origins[key.step]),
                            limit > 0 ? limit / static_cast<double>(std::max<std::int64_t>(times.best, 1)) : 0,
                            rates_of(*run.plan, run.plan->plan.steps[key.step], times.best)});
            total += times.time;
        }
        std::stable_sort(rows.begin(), rows.end(), [](const Row& a, const Row& b) { return a.time > b.time; });
        std::string out = str(rows.size(), rows.size() == 1 ? " kernel" : " kernels", ", ", time_text(total), " of ",
                              time_text(data_.ended - data_.began), "\n");
        constexpr std::size_t kShown = 30;
        for (std::size_t i = 0; i < std::min(rows.size(), kShown); ++i) {
            char text[96];
            std::snprintf(
                text, sizeof text, "%*s  %5.1f %%  %7lld×  ", rows[i].time < kMicroseconds ? 11 : 10,  // µ is two bytes
                time_text(rows[i].time).c_str(),
                100.0 * static_cast<double>(rows[i].time) / static_cast<double>(std::max<std::int64_t>(total, 1)),
                static_cast<long long>(rows[i].calls));
            out += str(text, rows[i].name);
            if (rows[i].fraction > 0) {
                std::snprintf(text, sizeof text, "  (%.0f %% of the limit)", 100 * rows[i].fraction);
                out += rows[i].fraction > 1 ? "  (in the caches)" : text;
            }
            if (!rows[i].rates.empty()) out += str("  (", rows[i].rates, ")");
            out += str(rows[i].lines.empty() ? "" : "  ", rows[i].lines, "\n");
        }
        if (rows.size() > kShown) out += str("… and ", rows.size() - kShown, " more\n");
        return out;
    }

private:
    static std::string utc(std::chrono::system_clock::time_point time) {
        const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
        std::tm parts{};
        gmtime_r(&seconds, &parts);
        char text[32];
        std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &parts);
        return text;
    }

    static constexpr std::int64_t kMicroseconds = 1'000'000;  // nanoseconds: shorter times are shown in µs
    static std::string time_text(std::int64_t nanoseconds) {
        char text[32];
        if (nanoseconds < kMicroseconds)
            std::snprintf(text, sizeof text, "%.1f µs", 1e-3 * static_cast<double>(nanoseconds));
        else std::snprintf(text, sizeof text, "%.2f ms", 1e-6 * static_cast<double>(nanoseconds));
        return text;
    }

    static std::string lines_of(const ir::OriginIds& origins) {
        constexpr std::size_t kShown = 3;
        const std::vector<std::string> lines = lines_behind({origins.data(), origins.size()});
        std::string text;
        for (std::size_t i = 0; i < std::min(lines.size(), kShown); ++i) text += str(i == 0 ? "" : " ", lines[i]);
        return lines.size() > kShown ? str(text, " …") : text;
    }

    Json machine() const {
        const SystemInfo info = system_info();
        Json out{{"cpu", info.cpu}, {"level", info.level}, {"backend", info.backend}, {"threads", info.threads}};
        out["caches"] = std::vector{info.l1_bytes, info.l2_bytes, info.l3_bytes};
        if (limits_.measured) {
            out["bandwidth"] = limits_.bandwidth;
            out["flops"] = limits_.flops;
        }
        return out;
    }

    static std::string rates_of(const pipeline::CachedPlan& plan, const schedule::PlanStep& step, std::int64_t best) {
        if (step.kernel.custom || plan.target->processor != Processor::Gpu) return {};
        return pipeline::rates_of(pipeline::traffic_of(step.kernel.graph),
                                  1e-9 * static_cast<double>(std::max<std::int64_t>(best, 1)));
    }

    // Nanoseconds that the machine needs at least; 0: not known.
    double limit_of(const pipeline::CachedPlan& plan, const schedule::PlanStep& step) const {
        if (step.kernel.custom || !limits_.measured || plan.target->processor != Processor::Cpu) return 0;
        const pipeline::Traffic traffic = pipeline::traffic_of(step.kernel.graph);
        return 1e9 * seconds_at_least(traffic.reads + traffic.writes, traffic.multiply_adds, limits_);
    }

    // Steps of one plan that are there for the same calls are one kernel, also if the runs differ elsewhere.
    KernelKey same_as(KernelKey key) {
        const RunKind& run = run_kinds()[key.run];
        std::vector<ir::OriginId> origins(run.origins[key.step].begin(), run.origins[key.step].end());
        return first_.try_emplace({run.plan.get(), key.step, std::move(origins)}, key).first->second;
    }

    int kernel_number(KernelKey any) {
        const KernelKey key = same_as(any);
        const auto [found, fresh] = kernel_numbers_.try_emplace(key, static_cast<int>(kernels_.size()));
        if (fresh) kernels_.push_back(kernel(key));
        return found->second;
    }

    Json kernel(KernelKey key) {
        const RunKind& run = run_kinds()[key.run];
        const schedule::PlanStep& step = run.plan->plan.steps[key.step];
        Json out{{"name", run.names[key.step]}, {"kind", kind_of(step)}};
        Json sites = Json::array(), forward = Json::array(), backward = Json::array(), both = Json::array();
        for (const ir::OriginId id : run.origins[key.step]) {
            const int site = sites_.number_of(site_of(id));
            if (!sites.contains(site)) sites.push_back(site);
            (is_backward(id) ? backward : forward).push_back(site);
            if (forward.contains(site) && backward.contains(site)) both.push_back(site);
        }
        out["sites"] = std::move(sites);
        if (backward.size() > 0) out["backward"] = std::move(backward);
        if (both.size() > 0) out["both"] = std::move(both);
        out["step"] = key.step;
        if (step.kernel.graph.cut != ir::KernelGraph::Cut::None)
            out["reason"] = std::string(ir::describe(step.kernel.graph.cut));
        if (!step.kernel.custom) describe(key, *run.plan, out);
        const KernelTimes& times = times_.at(key);
        out["calls"] = times.calls;
        out["time"] = times.time;
        if (times.calls > 0) out["best"] = times.best;
        if (const double limit = limit_of(*run.plan, step); limit > 0) out["limit"] = static_cast<std::int64_t>(limit);
        return out;
    }

    void describe(KernelKey key, const pipeline::CachedPlan& plan, Json& out) const {
        const ir::KernelGraph& graph = plan.plan.steps[key.step].kernel.graph;
        std::vector<ir::NodeRef> values;
        for (const ir::KernelGraph::Output& output : graph.outputs) values.push_back(output.value);
        out["compute"] = ir::print_graph(values);
        out["stored"] = reasons_to_store(plan.plan, plan.plan.steps[key.step]);
        if (const auto places = places_of(plan.plan, plan.plan.steps[key.step]); !places.empty())
            out["inside"] = places;
        std::vector<std::string> schedule = plan.kernels[key.step]->schedule;
        if (with_loops_.contains(key)) add_loops(graph, *plan.target, out);
        Json launches = Json::array();
        for (const backend::LaunchSize& launch : plan.kernels[key.step]->program->launches()) {
            Json one{{"blocks", launch.blocks}, {"threads", launch.threads}, {"shared", launch.shared_bytes}};
            if (launch.registers >= 0) one["registers"] = launch.registers;
            launches.push_back(std::move(one));
            schedule.push_back(to_string(launch));
        }
        out["schedule"] = schedule;
        if (launches.size() > 0) out["launches"] = std::move(launches);
        const pipeline::Traffic traffic = pipeline::traffic_of(graph);
        out["reads"] = traffic.reads;
        out["writes"] = traffic.writes;
        out["scratch"] = plan.kernels[key.step]->scratch_bytes;
        out["flops"] = 2 * traffic.multiply_adds;
    }

    int plan_number(int number) {
        const auto [found, fresh] = plan_numbers_.try_emplace(number, static_cast<int>(plans_.size()));
        if (!fresh) return found->second;
        const int place = found->second;
        plans_.push_back(Json());
        plans_[static_cast<std::size_t>(place)] = plan(run_kinds()[number], number, place);
        return place;
    }

    Json plan(const RunKind& run, int number, int place) {
        const schedule::Plan& plan = run.plan->plan;
        Json out;
        out["kernels"] = Json::array();
        for (std::size_t s = 0; s < plan.steps.size(); ++s) {
            const KernelKey key = same_as({number, static_cast<int>(s)});
            if (!times_.contains(key)) times_[key] = {0, 0, 0};  // the run ended before it
            const int kernel = kernel_number(key);
            out["kernels"].push_back(kernel);
            Json& entry = kernels_[static_cast<std::size_t>(kernel)];
            if (!entry.has("plan")) entry["plan"] = place;
        }
        out["runs"] = std::count_if(data_.events.begin(), data_.events.end(), [&](const ProfileData::Event& event) {
            return event.kind == Profile::Event::Run && event.what == number;
        });
        if (!run.graph.empty()) out["graph"] = run.graph;
        if (!run.simplified.empty()) out["simplified"] = run.simplified;
        out["rules"] = run.rules;
        out["arena"] = plan.arena_bytes;
        add_values(run, out);
        return out;
    }

    void add_values(const RunKind& run, Json& out) {
        const schedule::Plan& plan = run.plan->plan;
        const int steps = static_cast<int>(plan.steps.size());
        std::vector<int> first(plan.values.size(), steps), last(plan.values.size(), -1);
        Json io = Json::array();
        for (int s = 0; s < steps; ++s) {
            Json reads = Json::array(), writes = Json::array();
            const schedule::PlanStep& step = plan.steps[s];
            for (std::size_t p = 0; p < step.values.size(); ++p) {
                const int value = step.values[p];
                const bool written =
                    step.kernel.custom ? p >= step.kernel.custom->sources.size() : step.kernel.graph.params[p].output;
                (written ? writes : reads).push_back(value);
                first[value] = std::min(first[value], s);
                last[value] = std::max(last[value], s);
            }
            io.push_back(Json{{"reads", std::move(reads)}, {"writes", std::move(writes)}});
        }
        for (const int output : plan.outputs) last[output] = steps;
        Json values = Json::array();
        for (std::size_t v = 0; v < plan.values.size(); ++v) {
            const PlanValue& value = plan.values[v];
            const bool before = value.where == PlanValue::Where::Leaf || value.where == PlanValue::Where::Donated;
            Json entry{{"type", type_of(value)}, {"bytes", bytes_of(value)}, {"where", where_name(value.where)}};
            if (value.where == PlanValue::Where::Arena) entry["offset"] = value.arena_offset;
            if (value.where == PlanValue::Where::Inside) {
                entry["offset"] = value.offset * static_cast<std::int64_t>(size_of(value.dtype));
                entry["whole"] = value.whole;
            }
            if (value.leaf >= 0) entry["leaf"] = value.leaf;
            entry["first"] = before ? -1 : first[v];
            entry["last"] = before && value.where == PlanValue::Where::Leaf ? steps : std::max(last[v], first[v]);
            if (!run.value_origins[v].empty()) entry["site"] = sites_.number_of(site_of(run.value_origins[v].front()));
            values.push_back(std::move(entry));
        }
        out["steps"] = std::move(io);
        out["values"] = std::move(values);
    }

    bool is_helper(const ProfileData::Event& event) const {
        return data_.tracks[static_cast<std::size_t>(event.track)].kind == ProfileData::Track::Kind::Worker;
    }

    // The main thread, then threads, helpers and devices, by name: "helper 2" is before "helper 10".
    Json tracks_json() {
        static constexpr std::string_view kKinds[] = {"thread", "worker", "stream"};
        std::map<std::string, int> order;
        for (std::size_t t = 0; t < data_.tracks.size(); ++t) {
            const ProfileData::Track& track = data_.tracks[t];
            order[str(static_cast<int>(track.kind), t > 0 ? "b" : "a", 1000 + track.name.size(), track.name, " ", t)] =
                static_cast<int>(t);
        }
        Json out = Json::array();
        track_numbers_.resize(data_.tracks.size());
        for (const auto& [key, t] : order) {
            const ProfileData::Track& track = data_.tracks[static_cast<std::size_t>(t)];
            track_numbers_[static_cast<std::size_t>(t)] = static_cast<int>(out.size());
            out.push_back(Json{{"name", track.name}, {"kind", kKinds[static_cast<std::size_t>(track.kind)]}});
        }
        return out;
    }

    Json events_json() {
        std::vector<ProfileData::Event> events = data_.events;
        std::stable_sort(events.begin(), events.end(), [](const auto& a, const auto& b) {
            return a.start != b.start ? a.start < b.start : a.duration > b.duration;
        });
        std::vector<int> kinds, tracks, what;
        std::vector<std::int64_t> starts, durations;
        for (const ProfileData::Event& event : events) {
            kinds.push_back(static_cast<int>(event.kind));
            starts.push_back(event.start);
            durations.push_back(event.duration);
            tracks.push_back(track_numbers_[static_cast<std::size_t>(event.track)]);
            what.push_back(event.kind == Profile::Event::Kernel ? kernel_number({event.what, event.step})
                           : event.kind == Profile::Event::Run  ? plan_number(event.what)
                                                                : event.what);
        }
        return Json{{"kind", kinds}, {"start", starts}, {"duration", durations}, {"track", tracks}, {"what", what}};
    }

    Json memory_json() {
        std::vector<std::int64_t> times, live, pool;
        for (const ProfileData::MemoryPoint& point : data_.memory) {
            times.push_back(point.time);
            live.push_back(point.live);
            pool.push_back(point.pool);
        }
        Json out{{"time", times}, {"live", live}, {"pool", pool}};
        if (data_.peak_bytes == 0) return out;
        struct Holder {
            std::int64_t bytes;
            std::string type;
            int site;
        };
        std::vector<Holder> holders;
        std::int64_t others = data_.peak_bytes;
        for (const ProfileData::Holder& holder : data_.at_peak) {
            const RunKind& run = run_kinds()[holder.run];
            const PlanValue& value = run.plan->plan.values[holder.value];
            const ir::OriginIds& origins = run.value_origins[holder.value];
            holders.push_back({bytes_of(value), type_of(value), origins.empty() ? -1 : site_of(origins.front())});
            others -= bytes_of(value);
        }
        const auto arena = static_cast<std::int64_t>(run_kinds()[data_.peak_run].plan->plan.arena_bytes);
        if (arena > 0) holders.push_back({arena, "values between the kernels of a run", -1});
        if (others -= arena; others > 0) holders.push_back({others, "made before the profile, or not by a kernel", -1});
        std::stable_sort(holders.begin(), holders.end(),
                         [](const Holder& a, const Holder& b) { return a.bytes > b.bytes; });
        constexpr std::size_t kHolders = 50;
        Json list = Json::array();
        for (std::size_t i = 0; i < std::min(holders.size(), kHolders); ++i) {
            Json entry{{"bytes", holders[i].bytes}, {"type", holders[i].type}};
            if (holders[i].site >= 0) entry["site"] = sites_.number_of(holders[i].site);
            list.push_back(std::move(entry));
        }
        out["peak"] = Json{{"time", data_.peak_time}, {"bytes", data_.peak_bytes}, {"holders", std::move(list)}};
        return out;
    }

    const ProfileData& data_;
    const MachineLimits limits_;
    Sites sites_;
    std::map<KernelKey, KernelTimes> times_;
    std::map<KernelKey, bool> with_loops_;
    std::map<std::tuple<const pipeline::CachedPlan*, int, std::vector<ir::OriginId>>, KernelKey> first_;
    Json kernels_ = Json::array(), plans_ = Json::array();
    std::map<KernelKey, int> kernel_numbers_;
    std::map<int, int> plan_numbers_;
    std::vector<int> track_numbers_;
};

}  // namespace

std::string to_json(const ProfileData& data) {
    const MachineLimits limits = machine_limits(!data.recording);
    const std::lock_guard lock(ir::graph_lock());  // of RunKinds, and printing walks nodes
    return Writer(data, limits).json();
}

std::string to_table(const ProfileData& data) {
    const MachineLimits limits = machine_limits(!data.recording);
    const std::lock_guard lock(ir::graph_lock());
    return Writer(data, limits).table();
}

}  // namespace weft::inspect
