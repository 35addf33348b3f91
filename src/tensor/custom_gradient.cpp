// tensor/custom_gradient.cpp: derivatives that a user brings along. The outputs are WithGrads around their values, parts of one joint
// WithGrad over the inputs, whose rule calls back when the gradient's graph is built.
#include "core/str.h"
#include "ir/build.h"
#include "tensor/cell.h"

#include <weft/autograd.h>
#include <weft/error.h>
#include <weft/ops.h>

namespace weft {

namespace {

using ir::NodeRef;

struct CustomRule {
    std::string name;
    BackwardFunction backward;
    std::vector<std::pair<DType, Shape>> inputs;
    // Values, not outputs: those stand on the joint node, which holds this.
    std::vector<NodeRef> values;
    std::vector<std::shared_ptr<const ir::GradRuleObject>> parts;

    NodeRef output(const NodeRef& joint, std::size_t i) const {
        const NodeRef input[] = {joint};
        return ir::with_grad(values[i], input, parts[i]);
    }
};

bool sums_to(const Shape& from, const Shape& to) {
    if (from.size() < to.size()) return false;
    const std::size_t more = from.size() - to.size();
    for (std::size_t d = 0; d < to.size(); ++d)
        if (to[d] != 1 && to[d] != from[d + more]) return false;
    return true;
}

// A gradient of the input's shape and type: what an input was broadcast to is summed.
NodeRef fitted(const CustomRule& rule, std::size_t i, const Tensor& gradient) {
    const auto& [dtype, shape] = rule.inputs[i];
    const Shape given = gradient.shape();
    if (!sums_to(given, shape))
        throw GradError(str(rule.name, ".backward(): gradient ", i, " has the shape ", given,
                            ", which does not fit the input ", dtype, shape));
    if (given == shape) return ir::cast(node_of(gradient), dtype);
    Dims axes;
    const std::size_t more = given.size() - shape.size();
    for (std::size_t d = 0; d < given.size(); ++d)
        if (d < more || shape[d - more] != given[d]) axes.push_back(static_cast<std::int64_t>(d));
    return ir::cast(node_of(sum(gradient, axes, true).reshape(shape)), dtype);
}

ir::Grads call_backward(const CustomRule& rule, const NodeRef& joint, std::span<const NodeRef> gradients) {
    const EnableGrad recording;
    std::vector<Tensor> given, outputs;
    for (const NodeRef& gradient : gradients) given.push_back(gradient ? make_tensor(gradient) : Tensor());
    for (std::size_t i = 0; i < rule.values.size(); ++i) outputs.push_back(make_tensor(rule.output(joint, i)));
    const std::vector<Tensor> results = rule.backward(given, outputs);
    if (results.size() != rule.inputs.size())
        throw GradError(str(rule.name, ".backward() must return a gradient or nothing for each of ", rule.inputs.size(),
                            " inputs, and returned ", results.size()));
    ir::Grads grads;
    for (std::size_t i = 0; i < results.size(); ++i)
        grads.push_back(results[i].defined() && is_float(rule.inputs[i].first) ? fitted(rule, i, results[i]) : nullptr);
    return grads;
}

}  // namespace

SavedTensor::SavedTensor(const Tensor& tensor) : value_(std::make_shared<const NodeRef>(node_of(tensor))) {}

Tensor SavedTensor::unpack() const {
    if (!value_) return {};
    const EnableGrad recording;
    return make_tensor(*static_cast<const NodeRef*>(value_.get()));
}

std::vector<Tensor> custom_gradient(const std::string& name, std::span<const Tensor> inputs,
                                    std::span<const Tensor> outputs, BackwardFunction backward) {
    auto rule = std::make_shared<CustomRule>();
    rule->name = name;
    rule->backward = std::move(backward);
    std::vector<NodeRef> sources;
    bool wanted = false;
    for (const Tensor& input : inputs) {
        sources.push_back(node_of(input));
        rule->inputs.emplace_back(sources.back()->dtype, sources.back()->shape);
        wanted = wanted || sources.back()->needs_grad;
    }
    for (const Tensor& output : outputs) rule->values.push_back(node_of(output));
    std::vector<Tensor> result;
    if (!wanted || !grad_enabled()) {
        const NoGrad none;
        for (const NodeRef& value : rule->values) result.push_back(make_tensor(value));
        return result;
    }
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        auto part = std::make_shared<ir::GradRuleObject>();
        part->name = name;
        part->part = static_cast<int>(i);
        part->parts = static_cast<int>(outputs.size());
        rule->parts.push_back(std::move(part));
    }
    auto all = std::make_shared<ir::GradRuleObject>();
    all->name = name;
    all->joint = [rule](const NodeRef& joint, std::span<const NodeRef> gradients) {
        return call_backward(*rule, joint, gradients);
    };
    const NodeRef joint = ir::with_grad(ir::constant(DType::F32, Scalar(0.0)), sources, std::move(all));
    for (std::size_t i = 0; i < outputs.size(); ++i)
        result.push_back(make_tensor(is_float(rule->values[i]->dtype) ? rule->output(joint, i)
                                     : rule->values[i]->needs_grad    ? ir::detach(rule->values[i])
                                                                      : rule->values[i]));
    return result;
}

}  // namespace weft
