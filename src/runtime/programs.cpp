// runtime/programs.cpp: the program cache. Kernel graphs are hash-consed, so a key compares a handful of pointers.
#include "runtime/programs.h"

#include "core/config.h"
#include "core/interrupt.h"
#include "core/str.h"
#include "kernel/proven.h"
#include "runtime/counters.h"

#include <iostream>
#include <list>
#include <mutex>
#include <unordered_map>

namespace weft::runtime {
namespace {

using ir::KernelGraph;

constexpr std::size_t kMostPrograms = 4096;

struct Key {
    KernelGraph graph;
    Mode mode;

    friend bool operator==(const Key& a, const Key& b) {
        const auto same_output = [](const KernelGraph::Output& x, const KernelGraph::Output& y) {
            return x.value == y.value && x.param == y.param && x.full == y.full && x.strides == y.strides;
        };
        const auto same_param = [](const KernelGraph::Param& x, const KernelGraph::Param& y) {
            return x.dtype == y.dtype && x.size == y.size && x.output == y.output;
        };
        return a.mode == b.mode && a.graph.kind == b.graph.kind && a.graph.rows == b.graph.rows &&
               a.graph.inner == b.graph.inner && a.graph.scalars == b.graph.scalars &&
               std::equal(a.graph.outputs.begin(), a.graph.outputs.end(), b.graph.outputs.begin(),
                          b.graph.outputs.end(), same_output) &&
               std::equal(a.graph.params.begin(), a.graph.params.end(), b.graph.params.begin(), b.graph.params.end(),
                          same_param);
    }
};

struct KeyHash {
    std::size_t operator()(const Key& key) const {
        std::size_t h =
            std::hash<std::string>()(key.mode.backend) + key.graph.rows.size() * 31 + key.graph.params.size();
        for (const KernelGraph::Output& output : key.graph.outputs)
            h = h * 0x9e3779b97f4a7c15 + std::hash<const void*>()(output.value.get()) +
                static_cast<std::size_t>(output.param);
        return h;
    }
};

struct Cache {                                                          // under the graph lock
    std::list<std::pair<Key, std::shared_ptr<const Compiled>>> recent;  // most recently used first
    std::unordered_map<Key, decltype(recent)::iterator, KeyHash> entries;
};

Cache& cache() {
    static Cache& c = *new Cache;  // programs may be used until the very end
    return c;
}

void trace_pass(std::string_view pass, const kernel::Kernel& kernel) {
    std::clog << "-- " << kernel.name << " after " << pass << "\n" << kernel::print(kernel);
}

kernel::Proven proven_kernel(const KernelGraph& graph) {
    kernel::Proven proven = kernel::proven_kernel(graph, config().debug >= 3 ? trace_pass : kernel::Trace());
    count(counter_cells().passes_refused, static_cast<std::int64_t>(proven.refused.size()));
    if (config().debug >= 1)
        for (const std::string& why : proven.refused) std::clog << why << "\n";
    return proven;
}

}  // namespace

void clear_program_cache() {
    const std::lock_guard lock(ir::graph_lock());
    cache().entries.clear();
    cache().recent.clear();
}

std::vector<std::shared_ptr<const Compiled>> compile(std::span<const KernelGraph* const> graphs) {
    const std::lock_guard lock(ir::graph_lock());
    std::vector<std::shared_ptr<const Compiled>> result(graphs.size());
    std::vector<kernel::Proven> kernels;
    std::vector<std::size_t> missing;
    std::unordered_map<Key, std::size_t, KeyHash> first;  // equal kernels within this call
    std::vector<std::pair<std::size_t, std::size_t>> same;
    const Mode current = config();
    for (std::size_t i = 0; i < graphs.size(); ++i) {
        Key key{*graphs[i], current};
        if (const auto found = cache().entries.find(key); found != cache().entries.end()) {
            cache().recent.splice(cache().recent.begin(), cache().recent, found->second);
            result[i] = found->second->second;
        } else if (const auto [seen, fresh] = first.try_emplace(std::move(key), i); !fresh) {
            same.emplace_back(i, seen->second);
        } else {
            poll_interrupt();
            kernels.push_back(proven_kernel(*graphs[i]));
            missing.push_back(i);
        }
    }
    std::vector<const kernel::Kernel*> pointers;
    for (const kernel::Proven& proven : kernels) pointers.push_back(&proven.kernel);
    const auto programs = pointers.empty() ? std::vector<std::shared_ptr<const backend::Program>>{}
                                           : backend::find(config().backend).compile(pointers);
    count(counter_cells().kernels_compiled, static_cast<std::int64_t>(programs.size()));
    for (std::size_t m = 0; m < missing.size(); ++m) {
        const kernel::Kernel& k = kernels[m].kernel;
        auto compiled = std::make_shared<Compiled>();
        compiled->program = programs[m];
        compiled->name = k.name;
        compiled->checks = k.checks;
        compiled->schedule = k.schedule;
        compiled->chunks = kernel::parallel_extent(k);
        compiled->scratch_bytes = k.scratch_bytes;
        compiled->unordered = kernels[m].unordered;
        if (config().debug >= 4) std::clog << programs[m]->source() << "\n";
        if (config().debug >= 5) std::clog << programs[m]->machine() << "\n";
        result[missing[m]] = compiled;
        Key key{*graphs[missing[m]], current};
        cache().recent.emplace_front(key, compiled);
        cache().entries.emplace(std::move(key), cache().recent.begin());
    }
    for (const auto& [i, original] : same) result[i] = result[original];
    while (cache().entries.size() > kMostPrograms) {
        cache().entries.erase(cache().recent.back().first);
        cache().recent.pop_back();
    }
    return result;
}

}  // namespace weft::runtime
