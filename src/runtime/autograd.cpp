// runtime/autograd.cpp: what requires a gradient, where it is collected, and backward(). The derivative itself is src/grad's.
#include "core/str.h"
#include "grad/gradient.h"
#include "ir/build.h"
#include "ir/walk.h"
#include "runtime/state.h"

#include <weft/error.h>

namespace weft {
namespace {

using ir::NodeRef;
using runtime::state;

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

// Marks the nodes that a gradient passes on its way from the root, for cells to be found among them.
std::uint64_t mark_cone(const NodeRef& root) {
    const NodeRef roots[] = {root};
    const auto order =
        ir::topological_order(roots, [](const ir::Node& node) { return node.needs_grad && node.op != ir::Op::Leaf; });
    return order.back()->mark;
}

std::vector<NodeRef> leaves_under(const NodeRef& root) {
    const NodeRef roots[] = {root};
    const std::lock_guard lock(ir::graph_lock());
    std::vector<NodeRef> result;
    for (const ir::Node* node :
         ir::topological_order(roots, [](const ir::Node& node) { return node.needs_grad && node.op != ir::Op::Leaf; }))
        if (node->op == ir::Op::Leaf) result.emplace_back(node);
    return result;
}

std::vector<std::shared_ptr<Cell>> cells_in_cone(const NodeRef& root, bool retaining_only) {
    const std::uint64_t epoch = mark_cone(root);
    std::vector<std::shared_ptr<Cell>> result;
    for (Cell* cell = state().first(); cell; cell = cell->next) {
        if (!cell->node || cell->node->mark != epoch || !cell->node->needs_grad || cell->requires_grad) continue;
        if (cell->view && cell->view->version != cell->view->base->version) continue;  // the base has another value now
        if (!cell->used) continue;  // an equal expression is in the cone, this tensor is not
        if (retaining_only && !cell->retains_grad) continue;
        if (std::shared_ptr<Cell> alive = cell->weak_from_this().lock()) result.push_back(std::move(alive));
    }
    return result;
}

// .grad += gradient: a value like any other, which the next run computes.
void accumulate(Cell& leaf, const NodeRef& gradient) {
    const NodeRef value = detached(gradient);
    if (!leaf.grad.defined()) {
        leaf.grad = Tensor(std::make_shared<Cell>());
        Cell& cell = *leaf.grad.cell();
        cell.node = value;
        state().list(cell);
        state().send(cell).gradient_of = leaf.weak_from_this();
        return;
    }
    Cell& cell = *leaf.grad.cell();
    Cell& base = cell.view ? *cell.view->base : cell;
    const NodeRef sum = detached(current_node(cell)) + value;
    const NodeRef old = current_node(base);
    if (base.requires_grad) {  // somebody's leaf was put there: leave it alone
        leaf.grad = Tensor();
        return accumulate(leaf, sum);
    }
    runtime::Outgoing& entry = state().send(base);
    if (!entry.last && entry.gradient_of.expired()) entry.last = old;
    const NodeRef value_now = cell.view ? cell.view->write(detached(old), sum) : sum;
    base.node = old->needs_grad ? runtime::keeping_history(value_now, old) : value_now;
    ++base.version;
    state().list(base);
}

// Handles inside the cone are computed with the next run and then need nothing of the graph; until then, and afterwards, a
// backward() through them raises. Of a view it is the base: views follow it.
void let_go_of_cone(const NodeRef& root) {
    for (const std::shared_ptr<Cell>& found : cells_in_cone(root, false)) {
        Cell& cell = found->view ? *found->view->base : *found;
        if (cell.requires_grad || !cell.node->needs_grad) continue;
        cell.node = runtime::let_go(cell.node);
        ++cell.version;
        state().send(cell);
    }
}

}  // namespace

void Tensor::backward(const Tensor& gradient, bool retain_graph) const {
    checked_cell(*this, "backward()");
    const NodeRef seed = checked_seed(*this, gradient, "backward");
    const NodeRef root = node_of(*this);
    if (!root->needs_grad)
        throw GradError(str(described("backward", *this), "no tensor that it was computed from requires a gradient"));
    std::vector<std::shared_ptr<Cell>> retaining;
    std::vector<NodeRef> targets;
    {
        const std::lock_guard lock(ir::graph_lock());
        retaining = cells_in_cone(root, true);
        for (const std::shared_ptr<Cell>& cell : retaining) targets.push_back(cell->node);
    }
    const grad::Gradients gradients = grad::differentiate(root, seed, {.targets = targets, .leaves = true});
    {
        const std::lock_guard lock(ir::graph_lock());
        for (const auto& [id, value] : gradients.leaves) {
            const auto leaf = state().leaves.find(id);
            if (leaf == state().leaves.end())
                continue;  // the tensor is gone, and with it whoever would read the gradient
            const std::shared_ptr<Cell> cell = leaf->second->weak_from_this().lock();
            if (cell && cell->requires_grad) accumulate(*cell, value);
        }
        for (std::size_t i = 0; i < retaining.size(); ++i)
            if (gradients.targets[i]) accumulate(*retaining[i], gradients.targets[i]);
        state().send(*cell_);
        if (!retain_graph) let_go_of_cone(root);
    }
    relieve(*this);
}

std::vector<Tensor> gradient(const Tensor& output, std::span<const Tensor> targets, const Tensor& seed) {
    checked_cell(output, "gradient()");
    const NodeRef start = checked_seed(output, seed, "gradient");
    std::vector<NodeRef> nodes;
    for (const Tensor& target : targets) {
        checked_cell(target, "gradient()");
        if (!is_float(target.dtype()))
            throw GradError(str("gradient(target: ", target.dtype(), target.shape(), "): only floats have a gradient"));
        nodes.push_back(node_of(target));
    }
    // A leaf is known by its cell: the output, or a part of it, may have been built on values that it held before.
    const NodeRef root = node_of(output);
    std::vector<NodeRef> asked = nodes;
    std::vector<std::size_t> whose;  // of the further ones
    for (const NodeRef& leaf : leaves_under(root))
        for (std::size_t i = 0; i < nodes.size(); ++i)
            if (nodes[i]->op == ir::Op::Leaf && !(nodes[i] == leaf) &&
                nodes[i]->as<ir::LeafArg>().cell == leaf->as<ir::LeafArg>().cell) {
                asked.push_back(leaf);
                whose.push_back(i);
            }
    std::vector<NodeRef> found = grad::gradient(root, asked, start);
    for (std::size_t k = 0; k < whose.size(); ++k) {
        NodeRef& sum = found[whose[k]];
        if (const NodeRef& more = found[nodes.size() + k]) sum = sum ? sum + more : more;
    }
    std::vector<Tensor> result;
    for (std::size_t i = 0; i < targets.size(); ++i)
        result.push_back(make_tensor(found[i] ? found[i] : ir::like(nodes[i], 0.0)));
    return result;
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
    const NodeRef node = current_node(cell);
    if (wanted == node->needs_grad) return *this;
    if (!wanted) {
        if (!cell.requires_grad)
            throw GradError(str(described("set_requires_grad", *this),
                                "only a leaf can be told to require no gradient; of a computed tensor use detach()"));
        cell.requires_grad = false;
        cell.node = node->sources[0];
        ++cell.version;
        if (!runtime::stored_value(cell.node)) state().list(cell);
        return *this;
    }
    if (!is_float(node->dtype))
        throw GradError(str(described("set_requires_grad", *this), "only floats can require a gradient"));
    if (cell.id == 0) cell.id = ir::fresh_id();
    state().leaves[cell.id] = &cell;
    cell.view = nullptr;  // a leaf has a value of its own
    cell.requires_grad = true;
    cell.node = ir::leaf(cell.id, node);
    ++cell.version;
    state().unlist(cell);
    // What is expensive to compute is computed once, with the next run, and not again by whoever uses the leaf.
    if (!runtime::stored_value(node) && !is_constant(*node)) state().send(cell);
    return *this;
}

Tensor Tensor::grad() const {
    checked_cell(*this, "grad()");
    const std::lock_guard lock(ir::graph_lock());
    if (capturing) capturing->stand_in(*cell_);  // whether there is a gradient is something the function has seen
    return cell_->grad;
}

void Tensor::set_grad(const Tensor& gradient) const {
    checked_cell(*this, "set_grad()");
    if (gradient.defined() && (gradient.shape() != shape() || gradient.dtype() != dtype()))
        throw ShapeError(str(described("set_grad", *this), "the gradient must have self's type and shape, not ",
                             gradient.dtype(), gradient.shape()));
    Tensor before;  // let go outside the lock
    const std::lock_guard lock(ir::graph_lock());
    if (capturing) capturing->stand_in(*cell_);
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
