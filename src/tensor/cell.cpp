// tensor/cell.cpp: how cells are made and read: new values, views that follow their base, and the mode in which this thread records.
#include "tensor/cell.h"

#include "core/config.h"
#include "ir/build.h"
#include "ir/custom.h"
#include "ir/strided.h"
#include "tensor/graph_mode.h"

#include <weft/error.h>
#include <weft/products.h>
#include <weft/shared_memory.h>

#include <algorithm>
#include <vector>

namespace weft {
namespace {

thread_local bool with_gradients = true;

// The chain of views from the base outwards.
std::vector<const ViewStep*> steps_of(const ViewOf& view) {
    std::vector<const ViewStep*> steps;
    for (const ViewStep* step = view.last.get(); step; step = step->before.get()) steps.push_back(step);
    std::reverse(steps.begin(), steps.end());
    return steps;
}

ir::NodeRef apply(const ViewStep& step, const ir::NodeRef& value) {
    ir::NodeRef result = step.read(value);
    if (step.detached && result->needs_grad) result = ir::detach(result);
    return step.history ? keeping_history(result, step.history) : result;
}

}  // namespace

// ---- gradient mode ---------------------------------------------------------------------------------------------------

NoGrad::NoGrad() : before_(std::exchange(with_gradients, false)) {}
NoGrad::~NoGrad() { with_gradients = before_; }
EnableGrad::EnableGrad() : before_(std::exchange(with_gradients, true)) {}
EnableGrad::~EnableGrad() { with_gradients = before_; }
bool grad_enabled() { return with_gradients; }
GraphMode graph_mode() { return {with_gradients, default_dtype(), config().plain_convolution, tf32_products()}; }

// ---- views -----------------------------------------------------------------------------------------------------------

ViewStep::~ViewStep() {
    // A link that only we hold is taken apart here; letting it go would recurse through the chain.
    while (before && before.use_count() == 1) {
        std::shared_ptr<const ViewStep> next = std::move(const_cast<ViewStep&>(*before).before);
        before = std::move(next);
    }
}

ir::NodeRef ViewOf::read(const ir::NodeRef& base_value) const {
    ir::NodeRef value = base_value;
    for (const ViewStep* step : steps_of(*this)) value = apply(*step, value);
    return value;
}

ViewOf::Written ViewOf::write(const ir::NodeRef& base_value, const ir::NodeRef& value) const {
    const std::vector<const ViewStep*> steps = steps_of(*this);
    std::vector<ir::NodeRef> inputs{base_value};  // what each step reads
    for (const ViewStep* step : steps) inputs.push_back(apply(*step, inputs.back()));
    Written result{value, nullptr};
    for (std::size_t i = steps.size(); i-- > 0;) {
        if (steps[i]->detached) {
            if (!result.detached) result.detached = result.base;
            if (result.base->needs_grad) result.base = ir::detach(result.base);
        }
        result.base = steps[i]->write(inputs[i], result.base);
    }
    return result;
}

const ViewStep* ViewOf::detached() const {
    for (const ViewStep* step = last.get(); step; step = step->before.get())
        if (step->detached) return step;
    return nullptr;
}

namespace {

const std::shared_ptr<const ir::GradRuleObject>& hands_on() {
    static const auto& rule = *new std::shared_ptr<const ir::GradRuleObject>(std::make_shared<ir::GradRuleObject>(
        ir::GradRuleObject{"written in place", [](const ir::NodeRef&, const ir::NodeRef& g) { return ir::Grads{g}; }}));
    return rule;
}

}  // namespace

ir::NodeRef keeping_history(const ir::NodeRef& value, const ir::NodeRef& history) {
    const ir::NodeRef inputs[] = {history};
    return ir::with_grad(value, inputs, hands_on());
}

const ir::NodeRef& history_of(const ir::NodeRef& node) {
    const bool kept = node->op == ir::Op::WithGrad && node->as<ir::WithGradArg>().rule == hands_on();
    return kept ? node->sources[1] : node;
}

constinit thread_local ActiveTracer* active_tracer = nullptr;

const ir::NodeRef& current_node(Cell& cell) {
    if (active_tracer)
        if (const ir::NodeRef* other = active_tracer->stand_in(cell)) return *other;
    if (cell.view) {
        ViewOf& view = *cell.view;
        const ir::NodeRef& base = current_node(*view.base);
        // A base that was only computed gives the same value; deriving anew lets go of what it was computed from. A node that
        // needs a gradient is kept: others have been built on it.
        const bool moved = view.binding != view.base->binding && cell.node && cell.node->op != ir::Op::Buffer &&
                           !cell.node->needs_grad;
        if (!cell.node || view.version != view.base->version || moved) cell.node = view.read(base);
        view.version = view.base->version;
        view.binding = view.base->binding;
    }
    if (cell.node->realized && !cell.node->needs_grad) {
        cell.node = ir::NodeRef(cell.node->realized);
        ++cell.binding;
        if (!cell.view) unlist_cell(cell);
    }
    return cell.node;
}

ir::NodeRef node_of(const Tensor& tensor) {
    if (!tensor.defined()) throw ValueError("an undefined tensor has no value");
    const std::lock_guard lock(ir::graph_lock());
    return node_under_lock(tensor);
}

// Shape and dtype never change while a cell lives, so a view that must be derived anew can tell them as well.
const ir::Node& facts_of(const Tensor& tensor) {
    if (!tensor.defined()) throw ValueError("an undefined tensor has no shape and no dtype; assign to it first");
    Cell& cell = *tensor.cell();
    return cell.node ? *cell.node : *current_node(cell);
}

ir::NodeRef node_under_lock(const Tensor& tensor) {
    Cell& cell = *tensor.cell();
    cell.used = true;
    return reads_shared(cell) ? snapshot_of(cell) : current_node(cell);
}

bool reads_shared(const Cell& cell) {
    const Cell& base = cell.view ? *cell.view->base : cell;
    if (!base.shared || (active_tracer && base.made_in != active_tracer->id)) return false;
    const bool marked = base.node->op == ir::Op::Leaf || base.node->op == ir::Op::WithGrad;
    return base.node == base.shared || (marked && base.node->sources[0] == base.shared);
}

Tensor make_selection(const Tensor& x, const std::function<ir::NodeRef(const ir::NodeRef& x)>& select) {
    ir::NodeRef shared;
    {
        const std::lock_guard lock(ir::graph_lock());
        if (x.defined() && !active_tracer && reads_shared(*x.cell())) shared = current_node(*x.cell());
    }
    Tensor result = make_tensor(select(shared ? shared : node_of(x)));
    if (shared) result.realize();
    return result;
}

// ---- new cells -------------------------------------------------------------------------------------------------------

Tensor make_tensor(ir::NodeRef node) {
    if (node->device == kAnyDevice && other_devices()) node = ir::made_on(node, default_device().number());
    return make_number(std::move(node));
}

Tensor make_number(ir::NodeRef node) {
    if (!with_gradients && node->needs_grad) node = ir::detach(node);
    Tensor result(std::make_shared<Cell>());
    bool much = false;
    {
        const std::lock_guard lock(ir::graph_lock());
        Cell& cell = *result.cell();
        const bool pending = node->op != ir::Op::Buffer || active_tracer;  // a Buffer may be a stand-in
        cell.node = std::move(node);
        if (pending) list_cell(cell);
        much = is_too_much(*cell.node);
    }
    if (much) relieve(result);
    return result;
}

Tensor make_view(const Tensor& base, ReadView read, WriteView write, bool detached) {
    if (!base.defined()) throw ValueError("an undefined tensor has no value");
    const std::lock_guard lock(ir::graph_lock());
    Tensor result(std::make_shared<Cell>());
    Cell& cell = *result.cell();
    const std::shared_ptr<Cell>& parent = base.cell();
    auto step = std::make_shared<ViewStep>();
    if (parent->view) step->before = parent->view->last;
    step->read = std::move(read);
    step->write = std::move(write);
    step->detached = detached || !with_gradients;
    step->no_grad = !detached && !with_gradients;
    cell.node = apply(*step, current_node(*parent));
    parent->used = true;
    cell.view = std::make_unique<ViewOf>();
    cell.view->base = parent->view ? parent->view->base : parent;
    cell.view->last = std::move(step);
    cell.view->version = cell.view->base->version;
    cell.view->binding = cell.view->base->binding;
    list_cell(cell);
    return result;
}

std::optional<Dims> strides_in_base(const Tensor& x) {
    if (!x.defined()) throw ValueError("an undefined tensor has no value");
    const std::lock_guard lock(ir::graph_lock());
    Cell &cell = *x.cell(), &base = cell.view ? *cell.view->base : cell;
    const Shape& whole = current_node(base)->shape;
    const Dims* const given = active_tracer ? active_tracer->strides_of(base) : nullptr;
    ir::StridedView view{whole, 0,
                         given         ? *given
                         : base.shared ? base.shared->as<ir::BufferArg>().strides
                                       : row_major_strides(whole)};
    if (!cell.view) return view.strides;
    // The steps are functions of values: a value that nothing else has shows what they do.
    const ir::NodeRef stand_in = ir::graph().make(ir::Op::Param, DType::F32, whole, {}, ir::SlotArg{});
    const ir::NodeRef read = cell.view->read(stand_in);
    std::vector<const ir::Node*> movements;
    for (const ir::Node* node = read.get(); node != stand_in.get(); node = node->sources[0].get()) {
        if (ir::is_marker(node->op)) continue;
        if (!ir::is_movement(node->op)) return {};
        movements.push_back(node);
    }
    for (std::size_t i = movements.size(); i-- > 0;)
        if (!ir::apply_view(*movements[i], view)) return {};
    return view.strides;
}

Tensor base_of(const Tensor& x) {
    if (!x.defined()) throw ValueError("base_of(): the tensor is undefined");
    const std::lock_guard lock(ir::graph_lock());
    return x.cell()->view ? Tensor(x.cell()->view->base) : x;
}

Tensor derived_from_base(const Tensor& x) {
    const Tensor base = base_of(x);
    ir::NodeRef node;
    {
        const std::lock_guard lock(ir::graph_lock());
        if (!x.cell()->view) return x;
        node = x.cell()->view->read(current_node(*base.cell()));
    }
    return make_tensor(std::move(node));
}

}  // namespace weft
