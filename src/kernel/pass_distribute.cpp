// kernel/pass_distribute.cpp: the "distribute" pass: stores of a chunk that have nothing in common (the parts of an array, copied by one
// kernel) get a loop each. The processor then follows one array after the other, instead of as many at once as there are stores.
#include "kernel/nest.h"
#include "kernel/passes.h"

#include <optional>
#include <unordered_set>

namespace weft::kernel {
namespace {

constexpr std::int64_t kShortestLoop = 64;  // elements: a shorter loop is not worth its start

// Does each store of the loop write, and read, memory that no other one touches?
bool stores_are_apart(const Kernel& kernel, const Loop& loop) {
    if (!loop.independent || loop.kind != LoopKind::Serial || loop.count || loop.extent() < kShortestLoop ||
        loop.body.size() < 2)
        return false;
    std::unordered_set<int> touched;
    for (const Stmt& stmt : loop.body) {
        const Store* store = stmt.store();
        if (!store || kernel.buffers[store->buffer].role != Buffer::Role::Output) return false;
        std::unordered_set<int> own{store->buffer};
        Uses uses;
        collect_uses(store->value, uses);
        collect_uses(store->index, uses);
        for (const NodeRef& load : uses.loads) own.insert(load->as<ir::LoadArg>().buffer);
        for (const int buffer : own)
            if (!touched.insert(buffer).second) return false;
    }
    return true;
}

}  // namespace

Decisions choose_distribution(const Kernel& kernel, const Target&) {
    if (kernel.body.size() != 1 || !kernel.body[0].loop() || kernel.body[0].loop()->kind != LoopKind::Parallel)
        return {};  // small: its memory is in the cache
    return decide_for_loops(kernel.body, [&](const Loop& loop) -> std::optional<Distribute> {
        if (!stores_are_apart(kernel, loop)) return {};
        return Distribute{loop.id(), loop.body.size()};
    });
}

Kernel distribute_stores(Kernel kernel, const Decisions& chosen) {
    kernel.body = replace_chosen<Distribute>(kernel.body, chosen, [&](const Loop& loop, const Distribute&) {
        Body result;
        for (const Stmt& stmt : loop.body) {
            const NodeRef var = kernel.new_var(loop.extent());
            result.emplace_back(
                Loop{var, LoopKind::Serial, copy(kernel, Body{stmt}, {{loop.id(), var}}), true, nullptr});
        }
        return result;
    });
    return kernel;
}

}  // namespace weft::kernel
