// kernel/block_loops.cpp: see block_loops.h.
#include "kernel/block_loops.h"

#include "ir/symbolic.h"
#include "kernel/nest.h"

#include <algorithm>
#include <map>
#include <set>

namespace weft::kernel {

Substitution counted(const Kernel& kernel, const std::vector<NodeRef>& vars, NodeRef number) {
    Substitution with;
    std::size_t left = 0;  // of which there is more than one iteration
    for (const NodeRef& var : vars) left += extent_of(var) > 1;
    for (std::size_t v = vars.size(); v-- > 0;) {
        const NodeRef extent = kernel.index(extent_of(vars[v]));
        if (extent_of(vars[v]) == 1) {
            with.emplace_back(id_of(vars[v]), kernel.index(0));
            continue;
        }
        const NodeRef at = left == 1 ? number : kernel.binary(ir::Op::Mod, number, extent);
        with.emplace_back(id_of(vars[v]), ir::simplify_index(*kernel.interner, at));
        if (--left > 0) number = ir::simplify_index(*kernel.interner, kernel.binary(ir::Op::IDiv, number, extent));
    }
    return with;
}

namespace {

NodeRef redirected(const Kernel& kernel, const NodeRef& expression, int from, int to, bool own) {
    std::map<const ir::Node*, NodeRef> done;
    const auto walk = [&](const auto& self, const NodeRef& node) -> NodeRef {
        if (const auto found = done.find(node.get()); found != done.end()) return found->second;
        ir::Sources sources;
        bool changed = false;
        for (const NodeRef& source : node->sources) {
            sources.push_back(self(self, source));
            changed = changed || sources.back() != source;
        }
        NodeRef result = node;
        if (node->op == ir::Op::Load && node->as<ir::LoadArg>().buffer == from) {
            if (own) sources[0] = kernel.index(0);
            result = kernel.load(to, sources[0], sources.size() > 1 ? sources[1] : nullptr);
        } else if (changed) {
            result = kernel.interner->make(node->op, node->dtype, {}, std::move(sources), node->arg);
        }
        return done.emplace(node.get(), std::move(result)).first->second;
    };
    return walk(walk, expression);
}

}  // namespace

Body redirected(const Kernel& kernel, const Body& body, int from, int to, bool own) {
    Body result;
    for (const Stmt& stmt : body) {
        if (const Loop* const loop = stmt.loop()) {
            Loop moved = loop->with(redirected(kernel, loop->body, from, to, own));
            if (moved.count) moved.count = redirected(kernel, moved.count, from, to, own);
            result.emplace_back(std::move(moved));
        } else if (const Store* const store = stmt.store()) {
            Store moved{store->buffer, redirected(kernel, store->index, from, to, own),
                        redirected(kernel, store->value, from, to, own)};
            if (store->buffer == from) {
                moved.buffer = to;
                if (own) moved.index = kernel.index(0);
            }
            result.emplace_back(std::move(moved));
        }
    }
    return result;
}

Body with_own_local(Kernel& kernel, const Body& body, int local) {
    Buffer own = kernel.buffers[static_cast<std::size_t>(local)];
    kernel.buffers.push_back(std::move(own));
    return redirected(kernel, body, local, static_cast<int>(kernel.buffers.size()) - 1);
}

Body partly_unrolled(Kernel& kernel, const Body& body) {
    constexpr std::int64_t kMost = 8;
    Body result;
    for (const Stmt& stmt : body) {
        const Loop* const loop = stmt.loop();
        if (!loop) {
            result.push_back(stmt);
            continue;
        }
        const bool innermost =
            std::ranges::none_of(loop->body, [](const Stmt& inner) { return inner.loop() != nullptr; });
        std::int64_t by = innermost && loop->kind == LoopKind::Serial && !loop->count ? kMost : 1;
        while (by > 1 && (loop->extent() % by || loop->extent() == by)) by /= 2;
        if (by < 2) {
            result.emplace_back(loop->with(partly_unrolled(kernel, loop->body)));
            continue;
        }
        const NodeRef outer = kernel.new_var(loop->extent() / by), inner = kernel.new_var(by);
        const NodeRef number = kernel.add(kernel.mul(outer, kernel.index(by)), inner);
        Body some{
            Loop{inner, LoopKind::Unrolled, substitute(kernel, loop->body, {{loop->id(), number}}), false, nullptr}};
        result.emplace_back(Loop{outer, LoopKind::Serial, std::move(some), loop->independent, nullptr});
    }
    return result;
}

bool reads_stored(const Body& body) {
    std::set<int> stored;
    for (const Stmt& stmt : body) {
        const Store* const store = stmt.store();
        if (!store) return true;
        Uses uses;
        collect_uses(store->value, uses);
        collect_uses(store->index, uses);
        for (const NodeRef& load : uses.loads)
            if (stored.contains(load->as<ir::LoadArg>().buffer)) return true;
        stored.insert(store->buffer);
    }
    return false;
}

Body values_first(Kernel& kernel, const std::vector<Body>& iterations) {
    Body values;
    std::vector<Body> stores(iterations[0].size());  // of each statement
    for (const Body& iteration : iterations)
        for (std::size_t s = 0; s < iteration.size(); ++s) {
            const Store& store = *iteration[s].store();
            const int local = kernel.new_local("value", store.value->dtype, 1);
            values.emplace_back(Store{local, kernel.index(0), store.value});
            stores[s].emplace_back(Store{store.buffer, store.index, kernel.load(local, kernel.index(0))});
        }
    for (Body& each : stores) append(values, std::move(each));
    return values;
}

Body when(Kernel& kernel, const NodeRef& positive, Body body) {
    return Body{Loop{kernel.new_var(1), LoopKind::Serial, std::move(body), false, positive}};
}

}  // namespace weft::kernel
