// tensor/hooks.cpp: registering, removing and calling hooks on gradients.
#include "tensor/hooks.h"

#include "core/str.h"
#include "ir/build.h"
#include "tensor/cell.h"

#include <weft/error.h>

#include <algorithm>

namespace weft {

namespace {

CellHooks& hooks_of(Cell& cell) {
    if (!cell.hooks) cell.hooks = std::make_unique<CellHooks>();
    return *cell.hooks;
}

const std::shared_ptr<GradHooks>& own_hooks(Cell& cell) {
    CellHooks& hooks = hooks_of(cell);
    if (!hooks.own) hooks.own = std::make_shared<GradHooks>();
    return hooks.own;
}

// From here on whoever uses the cell's value passes the hooks.
std::shared_ptr<GradHooks> put_into_graph(Cell& cell) {
    auto hooks = std::make_shared<GradHooks>();
    auto rule = std::make_shared<ir::GradRuleObject>(
        ir::GradRuleObject{"hook", [](const ir::NodeRef&, const ir::NodeRef& g) { return ir::Grads{g}; }});
    rule->hook = [hooks](const ir::NodeRef& g) { return call_hooks(hooks, g); };
    const ir::NodeRef value = current_node(cell), inputs[] = {value};
    cell.node = ir::with_grad(value, inputs, std::move(rule));
    hooks_of(cell).in_graph = hooks;
    return hooks;
}

template <class List>
bool erase(List& list, std::uint64_t id, typename List::value_type& erased) {
    const auto found = std::find_if(list.begin(), list.end(), [&](const auto& each) { return each.first == id; });
    if (found == list.end()) return false;
    erased = std::move(*found);
    list.erase(found);
    return true;
}

template <class List>
List copied(const List& list) {
    const std::lock_guard lock(ir::graph_lock());
    return list;
}

}  // namespace

void HookHandle::remove() const {
    const std::shared_ptr<GradHooks> hooks = hooks_.lock();
    if (!hooks) return;
    std::pair<std::uint64_t, std::function<Tensor(const Tensor&)>> before;  // let go outside the lock
    std::pair<std::uint64_t, std::function<void(const Tensor&)>> after;
    const std::lock_guard lock(ir::graph_lock());
    if (!erase(hooks->before, id_, before)) erase(hooks->after, id_, after);
}

HookHandle register_hook(const Tensor& tensor, std::function<Tensor(const Tensor& gradient)> hook) {
    if (!tensor.defined()) throw ValueError("register_hook(): the tensor is undefined");
    if (!tensor.requires_grad())
        throw GradError(str("register_hook(self: ", tensor.dtype(), tensor.shape(), "): it requires no gradient"));
    const std::uint64_t id = ir::fresh_id();
    std::shared_ptr<GradHooks> hooks;
    {
        const std::lock_guard lock(ir::graph_lock());
        Cell& cell = *tensor.cell();
        if (!cell.requires_grad && cell.hooks) hooks = cell.hooks->in_graph.lock();
        if (!hooks) hooks = cell.requires_grad || cell.used ? own_hooks(cell) : put_into_graph(cell);
    }
    const std::lock_guard lock(ir::graph_lock());
    hooks->before.emplace_back(id, std::move(hook));
    return {hooks, id};
}

HookHandle register_post_accumulate_grad_hook(const Tensor& leaf, std::function<void(const Tensor& leaf)> hook) {
    if (!leaf.defined()) throw ValueError("register_post_accumulate_grad_hook(): the tensor is undefined");
    if (!leaf.requires_grad() || !leaf.is_leaf())
        throw GradError(str("register_post_accumulate_grad_hook(self: ", leaf.dtype(), leaf.shape(),
                            "): only a leaf that requires a gradient collects one"));
    const std::uint64_t id = ir::fresh_id();
    std::shared_ptr<GradHooks> hooks;
    {
        const std::lock_guard lock(ir::graph_lock());
        hooks = own_hooks(*leaf.cell());
    }
    const std::lock_guard lock(ir::graph_lock());
    hooks->after.emplace_back(id, std::move(hook));
    return {hooks, id};
}

ir::NodeRef call_hooks(const std::shared_ptr<GradHooks>& hooks, const ir::NodeRef& gradient) {
    const EnableGrad recording;
    ir::NodeRef now = gradient;
    for (const auto& [id, hook] : copied(hooks->before)) {
        const Tensor given = make_tensor(now), other = hook(given);
        if (!other.defined()) {
            now = node_of(given);
            continue;
        }
        if (other.shape() != given.shape())
            throw GradError(str("register_hook(): the hook returned a gradient of the shape ", other.shape(), " for ",
                                given.dtype(), given.shape()));
        now = ir::cast(node_of(other), gradient->dtype);
    }
    return now;
}

void call_after_hooks(const std::shared_ptr<GradHooks>& hooks, const Tensor& leaf) {
    for (const auto& [id, hook] : copied(hooks->after)) hook(leaf);
}

}  // namespace weft
