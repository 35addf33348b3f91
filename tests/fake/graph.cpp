// tests/fake/graph.cpp: graphs of kernels. Nodes die with their graph; what was made of it has copies.
#include "fake/state.h"

#include <algorithm>

using namespace weft::fake;

WEFT_FAKE_EXPORT int cuGraphCreate(Graph** graph, unsigned flags) {
    return call("cuGraphCreate", Needs::Context, [&] {
        if (flags != 0) throw CallError{kInvalidValue, "flags must be 0"};
        *graph = state().graphs.make();
    });
}

WEFT_FAKE_EXPORT int cuGraphDestroy(Graph* graph) {
    return call("cuGraphDestroy", Needs::Context, [&] {
        for (const auto& node : state().graphs[graph]->nodes) state().nodes.remove(node.get());
        state().graphs.remove(graph);
    });
}

// Nodes are in the order in which they were added, which their edges allow: an edge leads to a node that is there.
WEFT_FAKE_EXPORT int cuGraphAddKernelNode(GraphNode** node, Graph* graph, GraphNode* const* after, std::size_t count,
                                          const KernelParams* params) {
    return call("cuGraphAddKernelNode", Needs::Context, [&] {
        Graph& to = *state().graphs[graph];
        for (std::size_t i = 0; i < count; ++i)
            if (state().nodes[after[i]]->graph != graph)
                throw CallError{kInvalidValue, "an edge to a node of another graph"};
        if (count == 0 && !to.nodes.empty())
            throw CallError{kInvalidValue, "Weft's kernels run one after the other, and nothing orders this one"};
        auto made = std::make_shared<GraphNode>(GraphNode{graph, kernel_of(*params)});
        to.nodes.push_back(made);
        *node = state().nodes.add(std::move(made));
    });
}

WEFT_FAKE_EXPORT int cuGraphInstantiateWithFlags(GraphExec** exec, Graph* graph, unsigned long long flags) {
    return call("cuGraphInstantiateWithFlags", Needs::Context, [&] {
        if (flags != 0) throw CallError{kInvalidValue, "the fake knows no flags"};
        auto made = std::make_shared<GraphExec>();
        for (const auto& node : state().graphs[graph]->nodes) made->kernels.emplace_back(node.get(), node->kernel);
        *exec = state().execs.add(std::move(made));
    });
}

WEFT_FAKE_EXPORT int cuGraphExecDestroy(GraphExec* exec) {
    return call("cuGraphExecDestroy", Needs::Context, [&] { state().execs.remove(exec); });
}

WEFT_FAKE_EXPORT int cuGraphExecKernelNodeSetParams(GraphExec* exec, GraphNode* node, const KernelParams* params) {
    return call("cuGraphExecKernelNodeSetParams", Needs::Context, [&] {
        GraphExec& of = *state().execs[exec];
        state().nodes[node];
        const auto found = std::ranges::find(of.kernels, node, &std::pair<GraphNode*, Kernel>::first);
        if (found == of.kernels.end()) throw CallError{kInvalidValue, "the node is of another graph"};
        found->second = kernel_of(*params);
    });
}

WEFT_FAKE_EXPORT int cuGraphLaunch(GraphExec* exec, Stream* stream) {
    return call("cuGraphLaunch", Needs::Context, [&] {
        for (const auto& [node, kernel] : state().execs[exec]->kernels) enqueue(stream, kernel);
    });
}
