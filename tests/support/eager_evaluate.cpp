// tests/support/eager_evaluate.cpp: a stand-in for the compiler: evaluate() by the eager oracle. It takes storages that die, and keeps
// every value that a gradient could use, so that a mistake in either bookkeeping shows up as a wrong number.
#include "ir/build.h"
#include "ir/walk.h"
#include "runtime/counters.h"
#include "runtime/evaluate.h"
#include "runtime/pool.h"
#include "tests/support/eager.h"

#include <set>
#include <unordered_map>

namespace weft::runtime {
namespace {

using ir::Node;
using ir::NodeRef;

bool enters(const Node& node) { return !node.realized; }

}  // namespace

Result evaluate(const Request& request) {
    std::vector<NodeRef> wanted = request.roots, rebuilt;
    std::vector<ir::StorageRef> inputs;
    {
        const std::lock_guard lock(ir::graph_lock());
        const auto order = ir::topological_order(request.roots, enters);
        std::unordered_map<const Node*, NodeRef> done;
        for (const Node* node : order) {
            if (request.keep && node->needs_grad && !node->realized && node->op != ir::Op::Custom && node->op != ir::Op::Leaf)
                wanted.push_back(NodeRef(node));
            NodeRef copy(node);
            if (node->realized) {
                copy = node->realized;
            } else if (!node->sources.empty()) {
                ir::Sources sources;
                for (const NodeRef& source : node->sources) sources.push_back(done.at(source.get()));
                copy = ir::with_sources(*node, sources);
            }
            if (copy->op == ir::Op::Buffer) inputs.push_back(copy->as<ir::BufferArg>().storage);
            done.emplace(node, copy);
        }
        for (const NodeRef& node : wanted) rebuilt.push_back(done.at(node.get()));
    }
    count(counter_cells().runs);
    std::set<const ir::Storage*> taken;
    std::unordered_map<const Node*, NodeRef> made;
    Result result;
    std::vector<ir::StorageRef> storages;
    for (const NodeRef& root : wanted) {  // all memory first: nothing may fail once a donated storage is written
        const std::int64_t bytes = numel(root->shape) * static_cast<std::int64_t>(size_of(root->dtype));
        ir::StorageRef storage;
        for (const ir::StorageRef& input : inputs)
            if (!storage && request.dies && request.dies(*input) && static_cast<std::int64_t>(input->bytes) == bytes &&
                taken.insert(input.get()).second)
                storage = input;
        storages.push_back(storage ? storage : allocate(bytes));
    }
    const auto values = testing::evaluate_eagerly(rebuilt);
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        NodeRef& buffer = made[wanted[i].get()];
        if (!buffer) {
            const Node& root = *wanted[i];
            auto* out = static_cast<std::byte*>(storages[i]->data);
            for (const Word word : values[i]) {
                store_word(root.dtype, out, word);
                out += size_of(root.dtype);
            }
            if (i < request.roots.size()) count(counter_cells().kernels_launched);
            buffer = ir::buffer(storages[i], root.dtype, root.shape, 0, row_major_strides(root.shape));
        }
        if (i < request.roots.size()) result.values.push_back(buffer);
        else result.kept.emplace_back(wanted[i], buffer);
    }
    return result;
}

}  // namespace weft::runtime
