// What the optimiser's passes decide, as values: for a kernel, and for the kernels that compute a tensor. And what is in its loops.
#pragma once

#include "backend/device.h"
#include "ir/walk.h"
#include "kernel/lower.h"
#include "kernel/nest.h"
#include "kernel/optimise.h"
#include "kernel/proven.h"
#include "support/differential.h"
#include "support/target.h"
#include "tensor/cell.h"

#include <algorithm>
#include <set>
#include <string_view>
#include <vector>

namespace weft::testing {

template <class Kind>
std::vector<Kind> decisions(const kernel::Kernel& kernel) {
    std::vector<Kind> found;
    for (const kernel::Decision& decision : kernel.schedule)
        if (const Kind* one = std::get_if<Kind>(&decision)) found.push_back(*one);
    return found;
}

template <class Kind>
bool decides(const kernel::Kernel& kernel) {
    return !decisions<Kind>(kernel).empty();
}

// As they would be compiled now, for the device that x is on: without passes that are not proven. What x is computed from is memory there.
inline std::vector<kernel::Kernel> kernels_of(const Tensor& x) {
    const TargetRef target = device::runtime_of(x.device().number()).target();
    std::vector<kernel::Kernel> kernels;
    for (const schedule::PlanStep& step : plan_of({node_of(x)}, target).steps)
        if (!step.kernel.custom) kernels.push_back(kernel::proven_kernel(step.kernel.graph, *target).kernel);
    return kernels;
}

template <class Kind>
bool decides(const Tensor& x) {
    return std::ranges::any_of(kernels_of(x), [](const kernel::Kernel& kernel) { return decides<Kind>(kernel); });
}

// The only one.
inline kernel::Kernel kernel_of(const Tensor& x) {
    std::vector<kernel::Kernel> kernels = kernels_of(x);
    if (kernels.size() != 1) throw InternalError("kernel_of: several kernels, or none");
    return std::move(kernels[0]);
}

// ---- what is in the loops --------------------------------------------------------------------------------------------

// Arrays of which a Prefetch statement asks for elements.
inline std::set<int> prefetched(const kernel::Body& body) {
    std::set<int> found;
    for (const kernel::Stmt& stmt : body) {
        if (const kernel::Prefetch* one = stmt.prefetch()) found.insert(one->load->as<ir::LoadArg>().buffer);
        if (const kernel::Loop* loop = stmt.loop()) found.merge(prefetched(loop->body));
    }
    return found;
}

inline std::vector<const kernel::Loop*> loops_in(const kernel::Body& body) {
    std::vector<const kernel::Loop*> found;
    for (const kernel::Stmt& stmt : body)
        if (const kernel::Loop* loop = stmt.loop()) {
            found.push_back(loop);
            for (const kernel::Loop* inside : loops_in(loop->body)) found.push_back(inside);
        }
    return found;
}

// Whether an index, a gate or a value of a store has such an op.
inline bool computes(const kernel::Kernel& kernel, ir::Op op) {
    bool found = false;
    kernel::for_each_store(kernel.body, [&](const kernel::Store& store, std::span<const kernel::Loop* const>) {
        const ir::NodeRef roots[] = {store.index, store.value};
        for (const ir::Node* node : ir::topological_order(roots)) found = found || node->op == op;
    });
    return found;
}

// The sizes of its locals of this name.
inline std::vector<std::int64_t> locals(const kernel::Kernel& kernel, std::string_view name) {
    std::vector<std::int64_t> sizes;
    for (const kernel::Buffer& buffer : kernel.buffers)
        if (buffer.role == kernel::Buffer::Role::Local && buffer.name == name) sizes.push_back(buffer.size);
    return sizes;
}

// Whether a contraction is tiled for tensor cores.
inline bool by_tensor_cores(const Tensor& x) {
    for (const kernel::Kernel& kernel : kernels_of(x))
        for (const kernel::BlockTile& tile : decisions<kernel::BlockTile>(kernel))
            if (tile.tensor) return true;
    return false;
}

}  // namespace weft::testing
