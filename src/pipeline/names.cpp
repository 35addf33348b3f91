// pipeline/names.cpp: the ops of a kernel, and its size.
#include "pipeline/names.h"

#include "core/str.h"
#include "ir/custom.h"
#include "ir/rewrite.h"
#include "ir/walk.h"

#include <algorithm>

namespace weft::pipeline {
namespace {

using ir::Node;
using ir::NodeRef;
using ir::Op;
using schedule::PlanStep;

constexpr std::size_t kNamed = 3;  // ops in a name

std::string dims(const Shape& shape) {  // without those of size 1
    std::string text;
    for (const std::int64_t size : shape)
        if (size != 1) text += str(text.empty() ? "" : "×", size);
    return text;
}

std::vector<NodeRef> results_of(const PlanStep& step) {
    std::vector<NodeRef> values;
    for (const ir::KernelGraph::Output& output : step.kernel.graph.outputs) values.push_back(output.value);
    return values;
}

bool is_random(const Node* node) { return node->op == Op::ThreefryX || node->op == Op::ThreefryY; }

}  // namespace

// Of a contraction m×k×n, of anything else the largest result.
std::string size_of_step(const PlanStep& step) {
    if (step.kernel.custom) return dims(step.kernel.custom->shape);
    const std::vector<NodeRef> values = results_of(step);
    const Node* largest = nullptr;
    for (const Node* node : ir::topological_order(values)) {
        const bool is_product = step.kernel.contraction && node->op == Op::Reduce && node->source().op == Op::Mul;
        if (!is_product) continue;
        if (!largest || numel(node->source().shape) > numel(largest->source().shape)) largest = node;
    }
    if (largest) {
        Shape sizes;
        for (const std::int64_t size : largest->shape)
            if (size > 1) sizes.push_back(size);
        const std::int64_t terms = numel(largest->source().shape) / std::max<std::int64_t>(numel(largest->shape), 1);
        if (sizes.empty()) sizes.push_back(1);
        const std::int64_t columns = sizes.back();
        sizes.back() = terms;
        sizes.push_back(columns);
        return dims(sizes);
    }
    const auto consider = [&](const Node& node) {
        if (!largest || numel(node.shape) > numel(largest->shape)) largest = &node;
    };
    for (const NodeRef& value : values) consider(*value);
    for (const Node* node : ir::topological_order(values))  // what a sum reads tells more than its result
        if (node->op == Op::Reduce) consider(node->source());
    return largest ? dims(largest->shape) : "";
}

std::vector<std::string> ops_of_step(const PlanStep& step) {
    if (step.kernel.custom) return {ir::to_string(step.kernel.custom->arg, step.kernel.custom->dtype)};
    std::vector<std::string> names;
    const auto add = [&](std::string name) {
        if (std::find(names.begin(), names.end(), name) == names.end()) names.push_back(std::move(name));
    };
    const auto order = ir::topological_order(results_of(step));
    const bool random = std::any_of(order.begin(), order.end(), is_random);
    for (const Node* node : order) {
        if (is_random(node)) add("rand");
        if (random && (!is_float(node->dtype) || node->op == Op::Cast)) continue;  // arithmetic of the generator
        if (node->sources.empty() || ir::constant_value(NodeRef(node)) || ir::is_movement(node->op) ||
            node->op == Op::Contiguous)
            continue;
        if (node->op == Op::Mul && std::holds_alternative<ir::FusedArg>(node->arg)) continue;
        if (node->op == Op::Reduce || node->op == Op::Scan) {
            const bool product = node->op == Op::Reduce && node->source().op == Op::Mul &&
                                 std::holds_alternative<ir::FusedArg>(node->source().arg);
            const Op op = node->as<ir::ReduceArg>().op;
            add(product ? "matmul" : str(node->op == Op::Scan ? "cum" : "", op == Op::Add ? "sum" : ir::name_of(op)));
        } else {
            add(std::string(ir::name_of(node->op)));
        }
    }
    if (names.empty()) names.push_back(step.kernel.graph.outputs.empty() ? "nothing" : "copy");
    return names;
}

std::string joined_name(const std::vector<std::string>& ops, const std::string& size) {
    std::string text;
    for (std::size_t i = 0; i < std::min(ops.size(), kNamed); ++i) text += str(i == 0 ? "" : "+", ops[i]);
    if (ops.size() > kNamed) text += str("+", ops.size() - kNamed, " more");
    return size.empty() ? text : str(text, " ", size);
}

std::string name_of_step(const PlanStep& step) { return joined_name(ops_of_step(step), size_of_step(step)); }

}  // namespace weft::pipeline
