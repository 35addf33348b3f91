// cells/autograd.cpp: what requires a gradient, where it is collected, and backward(). The derivative itself is src/grad's.
#include "cells/state.h"
#include "core/str.h"
#include "grad/gradient.h"
#include "ir/build.h"
#include "ir/origins.h"
#include "ir/walk.h"
#include "schedule/capture.h"
#include "tensor/hooks.h"

#include <weft/autograd.h>
#include <weft/error.h>

#include <unordered_set>
#include <utility>

namespace weft {
namespace {

using cells::state;
using ir::NodeRef;

thread_local bool creating_graph = false;

// While gradients are built: whether they will be differentiated themselves.
class GraphScope {
public:
    explicit GraphScope(bool creates) : before_(std::exchange(creating_graph, creates)) {}
    ~GraphScope() { creating_graph = before_; }
    GraphScope(const GraphScope&) = delete;
    GraphScope& operator=(const GraphScope&) = delete;

private:
    const bool before_;
};

Cell& checked_cell(const Tensor& tensor, std::string_view call) {
    if (!tensor.defined()) throw ValueError(str(call, ": the tensor is undefined"));
    return *tensor.cell();
}

std::string described(std::string_view call, const Tensor& t) {
    return str(call, "(self: ", t.dtype(), t.shape(), "): ");
}

NodeRef detached(const NodeRef& node) { return node->needs_grad ? ir::detach(node) : node; }

bool is_constant(const ir::Node& node) {
    const ir::Node* n = &node;
    while (ir::is_movement(n->op) && n->op != ir::Op::Insert) n = n->sources[0].get();
    return n->op == ir::Op::Const;
}

// ---- backward --------------------------------------------------------------------------------------------------------

NodeRef checked_seed(const Tensor& output, const Tensor& seed, std::string_view call) {
    if (!is_float(output.dtype())) throw GradError(str(described(call, output), "only floats have a gradient"));
    if (!seed.defined()) {
        if (output.numel() != 1)
            throw GradError(str(described(call, output),
                                "only of one element can the gradient start by itself; pass one of ",
                                "self's shape, or reduce first: mean(), sum()"));
        return nullptr;
    }
    if (seed.shape() != output.shape())
        throw ShapeError(
            str(described(call, output), "the gradient given has the shape ", seed.shape(), ", not self's"));
    return ir::cast(node_of(seed), output.dtype());
}

// Where the walk starts.
std::vector<grad::Start> starts_of(std::span<const Tensor> outputs, std::span<const Tensor> gradients,
                                   std::string_view call) {
    if (!gradients.empty() && gradients.size() != outputs.size())
        throw ValueError(str(call, "(): ", gradients.size(), " gradients were given for ", outputs.size(),
                             " outputs; there must be one for each"));
    std::vector<grad::Start> starts;
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        checked_cell(outputs[i], str(call, "()"));
        NodeRef seed = checked_seed(outputs[i], gradients.empty() ? Tensor() : gradients[i], call);
        const NodeRef root = node_of(outputs[i]);
        if (!root->needs_grad)
            throw GradError(
                str(described(call, outputs[i]), "no tensor that it was computed from requires a gradient"));
        starts.push_back({root, std::move(seed)});
    }
    return starts;
}

std::vector<NodeRef> roots_of(std::span<const grad::Start> starts) {
    std::vector<NodeRef> roots;
    for (const grad::Start& start : starts) roots.push_back(start.node);
    return roots;
}

bool is_inside_cone(const ir::Node& node) { return node.needs_grad && node.op != ir::Op::Leaf; }

std::vector<NodeRef> leaves_under(std::span<const NodeRef> roots) {
    const std::lock_guard lock(ir::graph_lock());
    std::vector<NodeRef> result;
    for (const ir::Node* node : ir::topological_order(roots, is_inside_cone))
        if (node->op == ir::Op::Leaf) result.emplace_back(node);
    return result;
}

// The computed tensors that a gradient passes on its way from the roots.
template <class Wanted>
std::vector<std::shared_ptr<Cell>> cells_in_cone(std::span<const NodeRef> roots, const Wanted& wanted) {
    const std::uint64_t epoch = ir::topological_order(roots, is_inside_cone).back()->mark;
    std::vector<std::shared_ptr<Cell>> result;
    const auto look_at = [&](Cell& cell) {
        if (!cell.node || cell.node->mark != epoch || !cell.node->needs_grad || cell.requires_grad) return;
        if (cell.view && cell.view->version != cell.view->base->version) return;  // the base has another value now
        if (!cell.used) return;  // an equal expression is in the cone, this tensor is not
        if (!wanted(cell)) return;
        if (std::shared_ptr<Cell> alive = cell.weak_from_this().lock()) result.push_back(std::move(alive));
    };
    for (Cell* cell = state().first_pending(); cell; cell = cell->next) look_at(*cell);
    for (Cell* cell = state().first_view(); cell; cell = cell->next) look_at(*cell);
    return result;
}

bool has_own_hooks(const Cell& cell) { return cell.hooks && cell.hooks->own; }

grad::Hook hook_of(const Cell& cell) {
    return {cell.node, [hooks = cell.hooks->own](const NodeRef& g) { return call_hooks(hooks, g); }};
}

// The leaf of an id; null: the tensor is gone, and with it whoever would read the gradient.
std::shared_ptr<Cell> leaf_of(std::uint64_t id) {
    const std::lock_guard lock(ir::graph_lock());
    const auto leaf = state().leaves.find(id);
    if (leaf == state().leaves.end()) return nullptr;
    std::shared_ptr<Cell> cell = leaf->second->weak_from_this().lock();
    return cell && cell->requires_grad ? cell : nullptr;
}

// A leaf's hooks see the sum, so they are called when the walk is over.
NodeRef seen_by_leaf_hooks(const Cell& leaf, const NodeRef& gradient) {
    std::shared_ptr<GradHooks> hooks;
    {
        const std::lock_guard lock(ir::graph_lock());
        if (leaf.requires_grad && leaf.hooks) hooks = leaf.hooks->own;
    }
    return hooks ? call_hooks(hooks, gradient) : gradient;
}

void set_new_gradient(Cell& leaf, const NodeRef& value) {
    const Tensor made(std::make_shared<Cell>());
    Cell& cell = *made.cell();
    cell.node = other_devices() && leaf.node ? ir::made_on(value, leaf.node->device) : value;
    state().list(cell);
    state().note_write(cell, nullptr);
    cells::Outgoing& entry = *state().entry_of(cell);
    entry.gradient_of = leaf.weak_from_this();
    entry.gradient_before = std::exchange(leaf.grad, made);
}

// .grad += gradient: a value like any other, which the next run computes. It is the caller who detaches it.
void accumulate(Cell& leaf, const NodeRef& value) {
    if (!leaf.grad.defined()) return set_new_gradient(leaf, value);
    Cell& cell = *leaf.grad.cell();
    if (reads_shared(cell)) return set_new_gradient(leaf, snapshot_of(cell) + value);
    if (value->needs_grad)  // a sum with a history is a tensor of its own
        return set_new_gradient(leaf, current_node(cell) + value);
    Cell& base = cell.view ? *cell.view->base : cell;
    const NodeRef sum = detached(current_node(cell)) + value;
    const NodeRef old = current_node(base);
    if (base.requires_grad)  // somebody's leaf was put there: leave it alone
        return set_new_gradient(leaf, sum);
    state().note_write(base, old);
    const NodeRef value_now = cell.view ? cell.view->write(detached(old), sum).base : sum;
    base.node = old->needs_grad ? keeping_history(value_now, old) : value_now;
    mark_written(base);
    state().list(base);
}

// Handles inside the cone are computed with the next run and then need nothing of the graph; until then, and afterwards, a
// backward() through them raises. Of a view it is the base: views follow it.
void let_go_of_cone(std::span<const NodeRef> roots) {
    for (const std::shared_ptr<Cell>& found : cells_in_cone(roots, [](const Cell&) { return true; })) {
        found->hooks = nullptr;
        Cell& cell = found->view ? *found->view->base : *found;
        if (const ViewStep* const step = found->view ? found->view->detached() : nullptr; step && step->history) {
            step->history = cells::let_go_history(step->history);
            mark_written(cell);
        }
        if (cell.requires_grad || !cell.node->needs_grad) continue;
        cell.node = cells::let_go(cell.node);
        mark_written(cell);
        state().send(cell);
    }
}

}  // namespace

void backward(std::span<const Tensor> outputs, const BackwardOptions& options) {
    const std::vector<grad::Start> starts = starts_of(outputs, options.gradients, "backward");
    if (starts.empty()) return;
    const std::vector<NodeRef> roots = roots_of(starts);
    std::vector<std::shared_ptr<Cell>> retaining;
    std::vector<NodeRef> targets;
    std::vector<grad::Hook> hooks;
    const auto is_asked = [&](const Cell& cell) {
        for (const Tensor& input : options.inputs)
            if (input.cell().get() == &cell) return true;
        return options.inputs.empty();
    };
    for (const Tensor& input : options.inputs) {
        checked_cell(input, "backward()");
        if (!input.requires_grad())
            throw GradError(str("backward(inputs: ", input.dtype(), input.shape(), "): it requires no gradient"));
    }
    {
        const std::lock_guard lock(ir::graph_lock());
        const auto collects = [&](const Cell& cell) {
            return cell.retains_grad || (!options.inputs.empty() && is_asked(cell));
        };
        for (std::shared_ptr<Cell>& cell :
             cells_in_cone(roots, [&](const Cell& cell) { return collects(cell) || has_own_hooks(cell); })) {
            if (has_own_hooks(*cell)) hooks.push_back(hook_of(*cell));
            if (!collects(*cell)) continue;
            targets.push_back(cell->node);
            retaining.push_back(std::move(cell));
        }
    }
    const GraphScope scope(options.create_graph);
    const ir::CallOrigin origin("backward");
    const grad::Gradients found = grad::differentiate(starts, {.targets = targets, .leaves = true, .hooks = hooks});
    std::vector<std::pair<std::shared_ptr<Cell>, NodeRef>> gradients;
    for (const auto& [id, value] : found.leaves)
        if (const std::shared_ptr<Cell> cell = leaf_of(id); cell && is_asked(*cell))
            gradients.emplace_back(cell, seen_by_leaf_hooks(*cell, value));
    for (std::size_t i = 0; i < retaining.size(); ++i)
        if (found.targets[i]) gradients.emplace_back(retaining[i], found.targets[i]);
    for (const auto& [cell, gradient] : gradients)  // a custom function or a hook may have made it anywhere
        if (const Device here = Tensor(cell).device(), there = Device::of_number(gradient->device);
            gradient->device != kAnyDevice && here != there)
            throw ValueError(str("backward(): the gradient of a tensor on ", here.name(), " is on ", there.name(),
                                 "; the function or hook that made it must move it with to()"));
    std::vector<std::pair<std::shared_ptr<GradHooks>, Tensor>> told;
    {
        const std::lock_guard lock(ir::graph_lock());
        const WriteGroup together;
        for (const auto& [cell, gradient] : gradients) {
            accumulate(*cell, options.create_graph ? gradient : detached(gradient));
            if (cell->requires_grad && has_own_hooks(*cell)) told.emplace_back(cell->hooks->own, Tensor(cell));
        }
        for (const Tensor& output : outputs) state().send(*output.cell());
        if (!options.retain_graph && !options.create_graph) let_go_of_cone(roots);
    }
    for (const auto& [hooks_after, leaf] : told) call_after_hooks(hooks_after, leaf);
    relieve(outputs.front());
}

bool creates_graph() { return creating_graph; }

std::vector<Tensor> leaves(std::span<const Tensor> outputs) {
    std::vector<NodeRef> roots;
    for (const Tensor& output : outputs) {
        checked_cell(output, "leaves()");
        if (node_of(output)->needs_grad) roots.push_back(node_of(output));
    }
    std::vector<Tensor> result;
    std::unordered_set<const Cell*> seen;
    for (const NodeRef& leaf : leaves_under(roots))  // a leaf that was written to has several nodes
        if (std::shared_ptr<Cell> cell = leaf_of(leaf->as<ir::LeafArg>().cell); cell && seen.insert(cell.get()).second)
            result.emplace_back(std::move(cell));
    return result;
}

void Tensor::backward(const Tensor& gradient, bool retain_graph, bool create_graph) const {
    weft::backward({this, 1},
                   {.gradients = {&gradient, 1}, .retain_graph = retain_graph, .create_graph = create_graph});
}

// ---- gradients as values ---------------------------------------------------------------------------------------------

namespace {

// One gradient per target, null where no output depends on it.
std::vector<NodeRef> gradients_of(std::span<const grad::Start> starts, std::span<const Tensor> targets) {
    std::vector<NodeRef> nodes;
    for (const Tensor& target : targets) {
        checked_cell(target, "gradient()");
        if (!is_float(target.dtype()))
            throw GradError(str("gradient(target: ", target.dtype(), target.shape(), "): only floats have a gradient"));
        nodes.push_back(node_of(target));
    }
    // A leaf is known by its cell: the output, or a part of it, may have been built on values that it held before.
    const std::vector<NodeRef> roots = roots_of(starts);
    std::vector<NodeRef> asked = nodes;
    std::vector<std::size_t> whose;  // of the further ones
    for (const NodeRef& leaf : leaves_under(roots))
        for (std::size_t i = 0; i < nodes.size(); ++i)
            if (nodes[i]->op == ir::Op::Leaf && !(nodes[i] == leaf) &&
                nodes[i]->as<ir::LeafArg>().cell == leaf->as<ir::LeafArg>().cell) {
                asked.push_back(leaf);
                whose.push_back(i);
            }
    std::vector<grad::Hook> hooks;
    {
        const std::lock_guard lock(ir::graph_lock());
        for (const std::shared_ptr<Cell>& cell : cells_in_cone(roots, has_own_hooks)) hooks.push_back(hook_of(*cell));
    }
    std::vector<NodeRef> found = grad::differentiate(starts, {.targets = asked, .hooks = hooks}).targets;
    for (std::size_t k = 0; k < whose.size(); ++k) {
        NodeRef& sum = found[whose[k]];
        if (const NodeRef& more = found[nodes.size() + k]) sum = sum ? sum + more : more;
    }
    found.resize(nodes.size());
    for (std::size_t i = 0; i < nodes.size(); ++i)
        if (found[i]) found[i] = seen_by_leaf_hooks(*targets[i].cell(), found[i]);
    return found;
}

}  // namespace

std::vector<Tensor> gradient(const Tensor& output, std::span<const Tensor> targets, const Tensor& seed) {
    checked_cell(output, "gradient()");
    const grad::Start starts[] = {{node_of(output), checked_seed(output, seed, "gradient")}};
    const GraphScope scope(true);
    const std::vector<NodeRef> found = gradients_of(starts, targets);
    std::vector<Tensor> result;
    for (std::size_t i = 0; i < targets.size(); ++i)
        result.push_back(make_tensor(found[i] ? found[i] : ir::like(node_of(targets[i]), 0.0)));
    return result;
}

std::vector<Tensor> gradients(std::span<const Tensor> outputs, std::span<const Tensor> inputs,
                              const GradOptions& options) {
    const std::vector<grad::Start> starts = starts_of(outputs, options.gradients, "grad");
    for (const Tensor& input : inputs) {
        checked_cell(input, "grad()");
        if (!input.requires_grad())
            throw GradError(str("grad(inputs: ", input.dtype(), input.shape(), "): it requires no gradient"));
    }
    if (starts.empty()) throw ValueError("grad(): there are no outputs");
    const GraphScope scope(options.create_graph);
    const std::vector<NodeRef> found = gradients_of(starts, inputs);
    std::vector<Tensor> result;
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (!found[i] && !options.allow_unused)
            throw GradError(str("grad(inputs: ", inputs[i].dtype(), inputs[i].shape(), "): input ", i,
                                " was not used for the outputs; pass allow_unused = true if that is meant"));
        result.push_back(found[i] ? make_tensor(options.create_graph ? found[i] : detached(found[i])) : Tensor());
    }
    return result;
}

std::string grad_fn_name(const Tensor& tensor) {
    Cell& cell = checked_cell(tensor, "grad_fn_name()");
    const std::lock_guard lock(ir::graph_lock());
    const ir::Node* node = current_node(cell).get();
    if (!node->needs_grad || cell.requires_grad) return "";
    const auto rule = [](const ir::Node& n) -> const ir::GradRuleObject* {
        return n.op == ir::Op::WithGrad ? n.as<ir::WithGradArg>().rule.get() : nullptr;
    };
    while (rule(*node) && rule(*node)->hook) node = node->sources[1].get();
    if (node->op == ir::Op::Leaf) return "AccumulateGrad";
    std::string name;
    bool starts_word = true;  // "cross entropy", "cross_entropy": CrossEntropy
    for (const char c : rule(*node) ? std::string_view(rule(*node)->name) : ir::name_of(node->op)) {
        if (c == ' ' || c == '_' || c == '-') {
            starts_word = true;
            continue;
        }
        name += starts_word && c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        starts_word = false;
    }
    return name + (rule(*node) && rule(*node)->part >= 0 ? "Backward" : "Backward0");
}

// ---- leaves ----------------------------------------------------------------------------------------------------------

bool Tensor::requires_grad() const {
    Cell& cell = checked_cell(*this, "requires_grad()");
    const std::lock_guard lock(ir::graph_lock());
    return current_node(cell)->needs_grad;
}

bool Tensor::is_leaf() const {
    const bool needs_grad = requires_grad();
    const std::lock_guard lock(ir::graph_lock());
    return cell_->requires_grad || !needs_grad;
}

Tensor& Tensor::set_requires_grad(bool wanted) {
    Cell& cell = checked_cell(*this, "set_requires_grad()");
    const std::lock_guard lock(ir::graph_lock());
    NodeRef node = current_node(cell);
    if (wanted == node->needs_grad) return *this;
    if (!wanted) {
        if (!cell.requires_grad)
            throw GradError(str(described("set_requires_grad", *this),
                                "only a leaf can be told to require no gradient; of a computed tensor use detach()"));
        cell.requires_grad = false;
        cell.node = node->sources[0];
        mark_written(cell);
        if (!cells::stored_value(cell.node)) state().list(cell);
        return *this;
    }
    if (!is_float(node->dtype))
        throw GradError(str(described("set_requires_grad", *this), "only floats can require a gradient"));
    if (cell.view && reads_shared(cell)) {  // a parameter over shared memory is trained there
        const auto memory = schedule::memory_of(node);
        node = memory ? schedule::buffer_of(*memory) : snapshot_of(cell);
        if (memory) cell.shared = node;
    }
    if (cell.id == 0) cell.id = ir::fresh_id();
    state().leaves[cell.id] = &cell;
    cell.view = nullptr;  // a leaf has a value of its own
    cell.requires_grad = true;
    cell.node = ir::leaf(cell.id, node);
    mark_written(cell);
    state().unlist(cell);
    // What is expensive to compute is computed once, with the next run, and not again by whoever uses the leaf.
    if (!cells::stored_value(node) && !is_constant(*node)) state().send(cell);
    return *this;
}

Tensor Tensor::grad() const {
    checked_cell(*this, "grad()");
    const std::lock_guard lock(ir::graph_lock());
    if (active_tracer)
        active_tracer->stand_in(*cell_);  // whether there is a gradient is something the function has seen
    return cell_->grad;
}

void Tensor::set_grad(const Tensor& gradient) const {
    checked_cell(*this, "set_grad()");
    if (gradient.defined() && (gradient.shape() != shape() || gradient.dtype() != dtype()))
        throw ShapeError(str(described("set_grad", *this), "the gradient must have self's type and shape, not ",
                             gradient.dtype(), gradient.shape()));
    if (gradient.defined() && gradient.device() != device())
        throw ValueError(str(described("set_grad", *this), "self is on ", device().name(), " and the gradient on ",
                             gradient.device().name(), "; move it with to()"));
    Tensor before;  // let go outside the lock
    const std::lock_guard lock(ir::graph_lock());
    if (active_tracer) active_tracer->stand_in(*cell_);
    before = std::exchange(cell_->grad, gradient);
}

void Tensor::retain_grad() const {
    if (!requires_grad()) throw GradError(str(described("retain_grad", *this), "it does not require a gradient"));
    const std::lock_guard lock(ir::graph_lock());
    if (!cell_->requires_grad) cell_->retains_grad = true;
}

Tensor Tensor::detach() const {
    checked_cell(*this, "detach()");
    return make_view(
        *this, [](const NodeRef& x) { return x; }, [](const NodeRef&, const NodeRef& value) { return value; }, true);
}

}  // namespace weft
