// kernel/pass_jam_vectors.cpp: the "jam_vectors" pass, unroll-and-jam of vectors: where a vector of results takes a long computation, two vectors are computed before either is
// stored. A backend may then let the instructions of one run between those of the other, each of which waits for the one before it.
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "ir/walk.h"

#include <algorithm>
#include <optional>

namespace weft::kernel {
namespace {

// Vectors of the loop IR, which AVX2 takes in two halves: for it, one is a pair.
std::int64_t vectors_at_once(const Target& target) { return target.level == CpuLevel::Avx512 ? 2 : 1; }

// Expression nodes of a vector. Less is waiting for memory anyway; of more, two leave no registers.
constexpr std::size_t kFewest = 24, kMost = 192;
constexpr std::int64_t kSmallest = 1 << 18;  // elements of the result: the larger program takes twice as long to make

bool takes_long(const Kernel& kernel, const Loop& loop, std::int64_t vectors) {
    if (loop.kind != LoopKind::Serial || !loop.independent || loop.count || loop.extent() < 2 * vectors ||
        loop.body.size() != 1)
        return false;
    const Loop* lanes = loop.body[0].loop();
    if (!lanes || lanes->kind != LoopKind::Vector || lanes->body.size() != 1) return false;
    const Store* store = lanes->body[0].store();
    if (!store || !is_float(store->value->dtype)) return false;
    if (const Buffer& to = kernel.buffers[store->buffer]; to.role != Buffer::Role::Output || to.size < kSmallest)
        return false;
    const std::vector<const ir::Node*> nodes = ir::topological_order(std::span(&store->value, 1));
    return nodes.size() >= kFewest && nodes.size() <= kMost &&
           std::none_of(nodes.begin(), nodes.end(), [&](const ir::Node* node) {
               const bool branches = std::holds_alternative<ir::RareArg>(node->arg);  // the two could not be mixed
               const bool wider =                                                     // and soon out of registers
                   is_float(node->dtype) && size_of(node->dtype) == 8 && node->dtype != store->value->dtype;
               return branches || wider;
           });
}

Body jammed(Kernel& kernel, const Loop& loop, std::int64_t vectors) {
    const Loop& lanes = *loop.body[0].loop();
    const std::int64_t pairs = loop.extent() / vectors;
    const NodeRef p = kernel.new_var(pairs);
    const DType t = lanes.body[0].store()->value->dtype;
    const int held = static_cast<int>(kernel.buffers.size());
    kernel.buffers.push_back({.name = "pair",
                              .dtype = t,
                              .size = vectors * lanes.extent(),
                              .role = Buffer::Role::Local,
                              .memory = Buffer::MemoryType::Register});
    // One of the two statements, for both vectors.
    const auto both = [&](bool stores) {
        const NodeRef which = kernel.new_var(vectors), l = kernel.new_var(lanes.extent());
        const NodeRef iteration = kernel.add(kernel.mul(p, kernel.index(vectors)), which);
        const Body at = copy(kernel, lanes.body, {{loop.id(), iteration}, {lanes.id(), l}});
        const Store& store = *at[0].store();
        const NodeRef place = kernel.add(kernel.mul(which, kernel.index(lanes.extent())), l);
        const Store half =
            stores ? Store{store.buffer, store.index, kernel.load(held, place)} : Store{held, place, store.value};
        return Loop{which, LoopKind::Unrolled, Body{Loop{l, LoopKind::Vector, Body{half}, true, nullptr}}, true,
                    nullptr};
    };
    Body result{Loop{p, LoopKind::Serial, Body{both(false), both(true)}, true, nullptr}};
    if (loop.extent() % vectors) {
        const NodeRef last = kernel.index(loop.extent() - 1);
        for (Stmt& stmt : copy(kernel, loop.body, {{loop.id(), last}})) result.push_back(std::move(stmt));
    }
    return result;
}

}  // namespace

Decisions choose_jammed_vectors(const Kernel& kernel, const Target& target) {
    if (target.level == CpuLevel::Baseline) return {};  // too few registers for two
    const std::int64_t vectors = vectors_at_once(target);
    return decide_for_loops(kernel.body, [&](const Loop& loop) -> std::optional<JamVectors> {
        if (!takes_long(kernel, loop, vectors)) return {};
        return JamVectors{loop.id(), vectors};
    });
}

Kernel jam_vectors(Kernel kernel, const Decisions& chosen) {
    kernel.body = replace_chosen<JamVectors>(kernel.body, chosen, [&](const Loop& loop, const JamVectors& jam) {
        return jammed(kernel, loop, jam.vectors);
    });
    return kernel;
}

}  // namespace weft::kernel
