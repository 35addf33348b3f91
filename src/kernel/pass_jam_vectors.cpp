// kernel/pass_jam_vectors.cpp: the "jam_vectors" pass, unroll-and-jam of vectors: where a vector of results takes a long computation, two vectors are computed before either is
// stored. A backend may then let the instructions of one run between those of the other, each of which waits for the one before it.
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "ir/walk.h"

#include <algorithm>
#include <functional>

namespace weft::kernel {
namespace {

// Vectors of the loop IR, which AVX2 takes in two halves: for it, one is a pair.
std::int64_t vectors_at_once(const Target& target) { return target.level == CpuLevel::Avx512 ? 2 : 1; }

// Expression nodes of a vector. Less is waiting for memory anyway; of more, two leave no registers.
constexpr std::size_t kFewest = 24, kMost = 192;
constexpr std::int64_t kSmallest = 1 << 18;  // elements of the result: the larger program takes twice as long to make

class InterleaveVectors {
public:
    InterleaveVectors(Kernel& kernel, std::int64_t vectors) : kernel_(kernel), vectors_(vectors) {}

    std::optional<Body> operator()(const Loop& loop) {
        if (!worth_it(loop)) return {};
        return jammed(loop);
    }

    bool any() const { return any_; }

private:
    bool worth_it(const Loop& loop) const {
        if (loop.kind != LoopKind::Serial || !loop.independent || loop.count || loop.extent() < 2 * vectors_ ||
            loop.body.size() != 1)
            return false;
        const Loop* lanes = loop.body[0].loop();
        if (!lanes || lanes->kind != LoopKind::Vector || lanes->body.size() != 1) return false;
        const Store* store = lanes->body[0].store();
        if (!store || !is_float(store->value->dtype)) return false;
        if (const Buffer& to = kernel_.buffers[store->buffer]; to.role != Buffer::Role::Output || to.size < kSmallest)
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

    Body jammed(const Loop& loop) {
        any_ = true;
        const Loop& lanes = *loop.body[0].loop();
        const std::int64_t pairs = loop.extent() / vectors_;
        const NodeRef p = kernel_.new_var(pairs);
        const DType t = lanes.body[0].store()->value->dtype;
        const int held = static_cast<int>(kernel_.buffers.size());
        kernel_.buffers.push_back({.name = "pair",
                                   .dtype = t,
                                   .size = vectors_ * lanes.extent(),
                                   .role = Buffer::Role::Local,
                                   .memory = Buffer::MemoryType::Register});
        // One of the two statements, for both vectors.
        const auto both = [&](bool stores) {
            const NodeRef which = kernel_.new_var(vectors_), l = kernel_.new_var(lanes.extent());
            const NodeRef iteration = kernel_.add(kernel_.mul(p, kernel_.index(vectors_)), which);
            const Body at = copy(kernel_, lanes.body, {{loop.id(), iteration}, {lanes.id(), l}});
            const Store& store = *at[0].store();
            const NodeRef place = kernel_.add(kernel_.mul(which, kernel_.index(lanes.extent())), l);
            const Store half =
                stores ? Store{store.buffer, store.index, kernel_.load(held, place)} : Store{held, place, store.value};
            return Loop{which, LoopKind::Unrolled, Body{Loop{l, LoopKind::Vector, Body{half}, true, nullptr}}, true,
                        nullptr};
        };
        Body result{Loop{p, LoopKind::Serial, Body{both(false), both(true)}, true, nullptr}};
        if (loop.extent() % vectors_) {
            const NodeRef last = kernel_.index(loop.extent() - 1);
            for (Stmt& stmt : copy(kernel_, loop.body, {{loop.id(), last}})) result.push_back(std::move(stmt));
        }
        return result;
    }

    Kernel& kernel_;
    const std::int64_t vectors_;
    bool any_ = false;
};

}  // namespace

Kernel jam_vectors(Kernel kernel, const Target& target) {
    if (target.level == CpuLevel::Baseline) return kernel;  // too few registers for two
    InterleaveVectors interleave(kernel, vectors_at_once(target));
    kernel.body = replace_loops(Body(kernel.body), std::ref(interleave));
    if (interleave.any()) kernel.schedule.push_back("vectors by 2");  // of the machine
    return kernel;
}

}  // namespace weft::kernel
