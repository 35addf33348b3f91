// kernel/pass_distribute.cpp: the "distribute" pass: stores of a chunk that have nothing in common (the parts of an array, copied by one
// kernel) get a loop each. The processor then follows one array after the other, instead of as many at once as there are stores.
#include "core/str.h"
#include "kernel/nest.h"
#include "kernel/passes.h"

#include <algorithm>
#include <functional>
#include <unordered_set>

namespace weft::kernel {
namespace {

constexpr std::int64_t kShortestLoop = 64;  // elements: a shorter loop is not worth its start

class Distributor {
public:
    explicit Distributor(Kernel& kernel) : kernel_(kernel) {}

    std::optional<Body> operator()(const Loop& loop) {
        if (!apart(loop)) return {};
        return distribute(loop);
    }

    std::size_t distributed() const { return distributed_; }

private:
    // Does each store of the loop write, and read, memory that no other one touches?
    bool apart(const Loop& loop) const {
        if (!loop.independent || loop.kind != LoopKind::Serial || loop.count || loop.extent() < kShortestLoop ||
            loop.body.size() < 2)
            return false;
        std::unordered_set<int> touched;
        for (const Stmt& stmt : loop.body) {
            const Store* store = stmt.store();
            if (!store || kernel_.buffers[store->buffer].role != Buffer::Role::Output) return false;
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

    Body distribute(const Loop& loop) {
        Body result;
        for (const Stmt& stmt : loop.body) {
            const NodeRef var = kernel_.new_var(loop.extent());
            result.emplace_back(
                Loop{var, LoopKind::Serial, copy(kernel_, Body{stmt}, {{loop.id(), var}}), true, nullptr});
        }
        distributed_ += loop.body.size();
        return result;
    }

    Kernel& kernel_;
    std::size_t distributed_ = 0;
};

}  // namespace

Kernel distribute_stores(Kernel kernel, const Target&) {
    if (kernel.body.size() != 1 || !kernel.body[0].loop() || kernel.body[0].loop()->kind != LoopKind::Parallel)
        return kernel;  // small: its memory is in the cache
    Distributor distributor(kernel);
    kernel.body = replace_loops(Body(kernel.body), std::ref(distributor));
    if (distributor.distributed())
        kernel.schedule.push_back(str("distribute ", distributor.distributed(), " stores over loops of their own"));
    return kernel;
}

}  // namespace weft::kernel
