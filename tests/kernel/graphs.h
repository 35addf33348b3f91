// Kernel graphs that several tests of this folder are about.
#pragma once

#include "ir/build.h"
#include "ir/kernel_graph.h"

namespace weft::test {

using ir::KernelGraph;
using ir::Op;

inline ir::NodeRef parameter(KernelGraph& graph, const Shape& shape) {
    const int slot = static_cast<int>(graph.params.size());
    graph.params.push_back({f32, numel(shape), false});
    return ir::graph().make(Op::Param, f32, shape, {}, ir::SlotArg{slot, row_major_strides(shape)});
}

// The graph with one more output, whose rows are all of its elements.
inline KernelGraph finished(KernelGraph graph, const ir::NodeRef& value) {
    graph.rows.clear();
    for (const std::int64_t size : value->shape)
        if (size != 1) graph.rows.push_back(size);
    graph.outputs.push_back({value, static_cast<int>(graph.params.size()), false, row_major_strides(value->shape)});
    graph.params.push_back({value->dtype, numel(value->shape), true});
    return graph;
}

inline KernelGraph product(std::int64_t m, std::int64_t k, std::int64_t n, bool transposed = false) {
    KernelGraph graph;
    const Shape domain{m, k, n};
    const ir::NodeRef a = ir::expand(ir::reshape(parameter(graph, {m, k}), {m, k, 1}), domain);
    const ir::NodeRef right = parameter(graph, transposed ? Shape{n, k} : Shape{k, n});
    const ir::NodeRef b = ir::expand(ir::reshape(transposed ? ir::permute(right, {1, 0}) : right, {1, k, n}), domain);
    return finished(graph, ir::reduce(Op::Add, ir::product(a, b), {1}));
}

}  // namespace weft::test
