// kernel/lower_special.cpp: one loop runs in order along the axis, everything else is independent.
#include "kernel/lower_special.h"

#include "kernel/expressions.h"
#include "kernel/nest.h"

#include "core/checked.h"
#include "core/str.h"
#include "ir/walk.h"

#include <weft/error.h>

namespace weft::kernel {

using ir::KernelGraph;
using ir::Node;
using ir::Op;

namespace {

// Loop variables for every axis, the one along `axis` last.
struct AxisLoops {
    IndexList index;
    std::vector<NodeRef> others;
    NodeRef along;
};

AxisLoops axis_loops(Kernel& kernel, const Shape& shape, int axis) {
    AxisLoops loops;
    for (int d = 0; d < static_cast<int>(shape.size()); ++d) {
        const NodeRef var = kernel.new_var(shape[d]);
        loops.index.push_back(var);
        if (d == axis) loops.along = var;
        else loops.others.push_back(var);
    }
    return loops;
}

const Node& scan_in(const KernelGraph& graph) {
    std::vector<NodeRef> values;
    for (const KernelGraph::Output& output : graph.outputs) values.push_back(output.value);
    for (const Node* node : ir::topological_order(values))
        if (node->op == Op::Scan) return *node;
    throw InternalError("lower_scan: there is no scan");
}

Kernel lower_scan(const KernelGraph& graph, const Numerics& numerics) {
    Kernel kernel = empty_kernel(graph, numerics);
    const Node& scan = scan_in(graph);
    const auto& arg = scan.as<ir::ReduceArg>();
    kernel.name = str("scan_", ir::name_of(arg.op));
    Elements elements(kernel);
    AxisLoops loops = axis_loops(kernel, scan.shape, static_cast<int>(arg.axes[0]));
    const int acc = kernel.new_local("acc", scan.dtype, 1);
    const NodeRef zero = kernel.index(0), running = kernel.load(acc, zero);
    const NodeRef first = kernel.make(Op::Const, scan.dtype, {}, ir::ConstArg{ir::identity_word(arg.op, scan.dtype)});
    const bool in_blocks = arg.order.kind == ir::SumOrder::Kind::Blocks;
    const NodeRef length = kernel.index(scan.shape[arg.axes[0]]), per_block = kernel.index(arg.order.chunks);
    NodeRef block;
    if (in_blocks) {
        block = kernel.new_var(ceil_div(scan.shape[arg.axes[0]], std::int64_t{arg.order.chunks}));
        loops.along = kernel.new_var(arg.order.chunks);
        loops.index[arg.axes[0]] = kernel.add(kernel.mul(block, per_block), loops.along);
    }
    // An output may be a part of another array and have that one's axes, so indices are found from the number of the element.
    const NodeRef element = ir::flatten_index(*kernel.interner, scan.shape, loops.index);
    const auto index_of = [&](const Node& node) { return ir::unflatten_index(*kernel.interner, node.shape, element); };
    Body step{Store{acc, zero, kernel.binary(arg.op, running, elements.value(scan.source(), index_of(scan)))}};
    // Of blocks, what all of them before came to, and what they come to with this one up to here.
    const int before = in_blocks ? kernel.new_local("before", scan.dtype, 1) : acc,
              now = in_blocks ? kernel.new_local("now", scan.dtype, 1) : acc;
    const NodeRef both = kernel.binary(arg.op, kernel.load(before, zero), running);
    if (in_blocks) step.emplace_back(Store{now, zero, both});
    elements.bind(scan, index_of(scan), now);
    // The running value, and what is computed from it at the same place. Of several outputs one may take over the memory that the
    // others are computed from, so all values are there before the first is stored.
    Body stores;
    for (const KernelGraph::Output& output : graph.outputs) {
        const IndexList index = index_of(*output.value);
        NodeRef value = elements.value(*output.value, index);
        if (graph.outputs.size() > 1) {
            const int local = kernel.new_local("new", value->dtype, 1);
            step.emplace_back(Store{local, zero, value});
            value = kernel.load(local, zero);
        }
        stores.emplace_back(Store{output.param, ir::strided_position(*kernel.interner, index, output.strides), value});
    }
    for (Stmt& store : stores) step.push_back(std::move(store));
    Body body;
    if (in_blocks) {
        const NodeRef left = kernel.binary(Op::Sub, length, kernel.mul(block, per_block));
        Body chain{Store{acc, zero, first}, Loop{loops.along, LoopKind::Serial, std::move(step), false, left},
                   Store{before, zero, both}};
        body = Body{Store{before, zero, first}, Loop{block, LoopKind::Serial, std::move(chain), false}};
    } else {
        body = nested({loops.along}, std::move(step), false);
        body.insert(body.begin(), Store{acc, zero, first});
    }
    kernel.body = nested(loops.others, std::move(body), true);
    return kernel;
}

// out = base; then, along the axis in order: out[index] = out[index] + value (or *, max, min, or just value: the last one wins).
Kernel lower_scatter(const KernelGraph& graph, const Numerics& numerics) {
    Kernel kernel = empty_kernel(graph, numerics);
    const KernelGraph::Output& output = graph.outputs.at(0);
    const Node& scatter = *output.value;
    const auto& arg = scatter.as<ir::IndexArg>();
    kernel.name = "scatter";
    Elements elements(kernel);
    const AxisLoops loops = axis_loops(kernel, scatter.source(1).shape, arg.axis);
    const NodeRef base_along = kernel.new_var(scatter.shape[arg.axis]);

    IndexList base_index = loops.index;
    base_index[arg.axis] = base_along;
    Body copy{Store{output.param, ir::strided_position(*kernel.interner, base_index, output.strides),
                    elements.value(scatter.source(0), base_index)}};
    Body body = nested({base_along}, std::move(copy), true);

    if (scatter.source(1).shape[arg.axis] > 0) {
        IndexList target = loops.index;
        target[arg.axis] = in_range(kernel, elements.value(scatter.source(1), loops.index), scatter.shape[arg.axis]);
        const NodeRef at = ir::strided_position(*kernel.interner, target, output.strides);
        NodeRef value = elements.keeping_checks(elements.value(scatter.source(2), loops.index), target[arg.axis], at);
        if (arg.mode != Op::Where) value = kernel.binary(arg.mode, kernel.load(output.param, at), value);
        append(body, nested({loops.along}, Body{Store{output.param, at, value}}, false));
    }
    kernel.body = nested(loops.others, std::move(body), true);
    return kernel;
}

}  // namespace

Kernel lower_special(const KernelGraph& graph, const Numerics& numerics) {
    switch (graph.kind) {
        case KernelGraph::Kind::Scan: return lower_scan(graph, numerics);
        case KernelGraph::Kind::Scatter: return lower_scatter(graph, numerics);
        case KernelGraph::Kind::Rows:
        case KernelGraph::Kind::Custom: break;
    }
    throw InternalError("lower_special of something else than a scan or a scatter");
}

}  // namespace weft::kernel
