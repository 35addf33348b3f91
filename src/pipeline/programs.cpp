// pipeline/programs.cpp: the program cache. Kernel graphs are hash-consed, so a key compares a handful of pointers.
#include "pipeline/programs.h"

#include "core/interrupt.h"
#include "core/unlocked.h"
#include "device/denormals.h"
#include "device/threads.h"
#include "kernel/proven.h"
#include "pipeline/counters.h"

#include <algorithm>
#include <iostream>
#include <list>
#include <mutex>
#include <unordered_map>

namespace weft::pipeline {
namespace {

using ir::KernelGraph;

constexpr std::size_t kMostPrograms = 4096;

// What is looked up, without a copy of it.
struct KeyView {
    const KernelGraph& graph;
    const Target* target;  // equal ones are one object
};

struct Key {
    KernelGraph graph;
    TargetRef target;
    operator KeyView() const { return {graph, target}; }
};

struct SameKey {
    using is_transparent = void;
    bool operator()(KeyView a, KeyView b) const {
        const auto same_output = [](const KernelGraph::Output& x, const KernelGraph::Output& y) {
            return x.value == y.value && x.param == y.param && x.full == y.full && x.strides == y.strides;
        };
        const auto same_param = [](const KernelGraph::Param& x, const KernelGraph::Param& y) {
            return x.dtype == y.dtype && x.size == y.size && x.output == y.output;
        };
        return a.target == b.target && a.graph.kind == b.graph.kind && a.graph.rows == b.graph.rows &&
               a.graph.inner == b.graph.inner && a.graph.scalars == b.graph.scalars &&
               std::ranges::equal(a.graph.outputs, b.graph.outputs, same_output) &&
               std::ranges::equal(a.graph.params, b.graph.params, same_param);
    }
};

struct KeyHash {
    using is_transparent = void;
    std::size_t operator()(KeyView key) const {
        std::size_t h = std::hash<const void*>()(key.target) + key.graph.rows.size() * 31 + key.graph.params.size();
        for (const KernelGraph::Output& output : key.graph.outputs)
            h = h * 0x9e3779b97f4a7c15 + std::hash<const void*>()(output.value.get()) +
                static_cast<std::size_t>(output.param);
        return h;
    }
};

struct ProgramCache {                                                   // under the graph lock
    std::list<std::pair<Key, std::shared_ptr<const Compiled>>> recent;  // most recently used first
    std::unordered_map<Key, decltype(recent)::iterator, KeyHash, SameKey> entries;
};

ProgramCache& program_cache() {
    static ProgramCache& c = *new ProgramCache;  // programs may be used until the very end
    return c;
}

void trace_pass(std::string_view pass, const kernel::Kernel& kernel) {
    std::clog << "-- " << kernel.name << " after " << pass << "\n" << kernel::print(kernel);
}

// A kernel to compile, with nodes of its own: nobody else looks at them.
struct Job {
    std::size_t graph;                       // its place among the graphs asked for
    std::unique_ptr<ir::Interner> interner;  // of the copy: outlives it
    KernelGraph copy;
    kernel::Proven proven;
    std::shared_ptr<const backend::Program> program;
};

void lower_and_optimise(Job& job, const Target& target, int debug) {
    job.proven = kernel::proven_kernel(job.copy, target, debug >= 3 ? trace_pass : kernel::Trace());
    count(counter_cells().passes_refused, static_cast<std::int64_t>(job.proven.refused.size()));
    if (debug >= 1)
        for (const std::string& why : job.proven.refused) std::clog << why << "\n";
}

// Constants are computed as kernels would compute them without flushing: device::run_chunks() flushes.
void compile_all(std::span<Job> jobs, const Target& target, int debug) {
    backend::Backend& backend = backend::named(target);
    const backend::Detail detail = debug >= 5   ? backend::Detail::Machine
                                   : debug >= 4 ? backend::Detail::Source
                                                : backend::Detail::None;
    const bool together = backend.starts_compiler();
    const auto work = [&](std::int64_t begin, std::int64_t end, int) {
        const device::DenormalScope keeping(true);
        for (Job& job : jobs.subspan(static_cast<std::size_t>(begin), static_cast<std::size_t>(end - begin))) {
            poll_interrupt();
            lower_and_optimise(job, target, debug);
            const kernel::Kernel* const kernel = &job.proven.kernel;
            if (!together) job.program = backend.compile(std::span(&kernel, 1), target, detail).front();
        }
    };
    device::run_chunks(static_cast<std::int64_t>(jobs.size()), work,
                       {.threads = target.threads, .parallel = debug == 0});
    if (!together || jobs.empty()) return;
    std::vector<const kernel::Kernel*> kernels;
    for (const Job& job : jobs) kernels.push_back(&job.proven.kernel);
    const auto programs = backend.compile(kernels, target, detail);
    for (std::size_t i = 0; i < jobs.size(); ++i) jobs[i].program = programs[i];
}

std::shared_ptr<const Compiled> finished(Job& job, int debug) {
    const kernel::Kernel& k = job.proven.kernel;
    auto compiled = std::make_shared<Compiled>();
    compiled->program = job.program;
    compiled->name = k.name;
    compiled->checks = k.checks;
    compiled->schedule = kernel::describe(k);
    compiled->chunks = kernel::parallel_extent(k);
    compiled->scratch_bytes = k.scratch_bytes;
    compiled->unordered = job.proven.unordered;
    if (debug >= 4) std::clog << job.program->source() << "\n";
    if (debug >= 5) std::clog << job.program->machine() << "\n";
    return compiled;
}

}  // namespace

void clear_program_cache() {
    const std::lock_guard lock(ir::graph_lock());
    program_cache().entries.clear();
    program_cache().recent.clear();
}

std::vector<std::shared_ptr<const Compiled>> compile(std::span<const KernelGraph* const> graphs, TargetRef target,
                                                     int debug, std::unique_lock<std::recursive_mutex>& graph) {
    std::vector<std::shared_ptr<const Compiled>> result(graphs.size());
    std::vector<Job> missing;
    std::unordered_map<KeyView, std::size_t, KeyHash, SameKey> first;  // equal kernels within this call
    std::vector<std::pair<std::size_t, std::size_t>> same;
    for (std::size_t i = 0; i < graphs.size(); ++i) {
        const KeyView key{*graphs[i], target};
        if (const auto found = program_cache().entries.find(key); found != program_cache().entries.end()) {
            program_cache().recent.splice(program_cache().recent.begin(), program_cache().recent, found->second);
            result[i] = found->second->second;
        } else if (const auto [seen, fresh] = first.try_emplace(key, i); !fresh) {
            same.emplace_back(i, seen->second);
        } else {
            auto interner = std::make_unique<ir::Interner>();
            KernelGraph copy = ir::copied_into(*interner, *graphs[i]);
            missing.push_back({i, std::move(interner), std::move(copy), {}, nullptr});
        }
    }
    if (!missing.empty()) {
        const Unlocked building_goes_on(graph);
        compile_all(missing, *target, debug);
    }
    count(counter_cells().kernels_compiled, static_cast<std::int64_t>(missing.size()));
    for (Job& job : missing) {
        result[job.graph] = finished(job, debug);
        Key key{*graphs[job.graph], target};
        if (program_cache().entries.contains(key)) continue;  // another thread was quicker
        program_cache().recent.emplace_front(key, result[job.graph]);
        program_cache().entries.emplace(std::move(key), program_cache().recent.begin());
    }
    for (const auto& [i, original] : same) result[i] = result[original];
    while (program_cache().entries.size() > kMostPrograms) {
        program_cache().entries.erase(program_cache().recent.back().first);
        program_cache().recent.pop_back();
    }
    return result;
}

}  // namespace weft::pipeline
