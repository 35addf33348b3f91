// runtime/dying.cpp: which memory is free once a run has rebound its cells, found by trial deletion: references are dropped on
// paper, and what has none left drops its own. An output may take such memory over (donation).
#include "runtime/state.h"

#include <unordered_map>

namespace weft::runtime {

std::vector<const ir::Storage*> storages_that_die(const DyingReferences& dying) {
    // Walk marks instead of a map for the nodes: this runs before every evaluation.
    const std::uint64_t epoch = ir::next_epoch();
    struct Holders {
        const ir::StorageRef* storage = nullptr;
        long dead = 0;
    };
    std::unordered_map<const ir::Storage*, Holders> holders;
    std::vector<const ir::Node*> dead;
    const auto drop = [&](const ir::Node* node) {
        if (node->mark != epoch) {
            node->mark = epoch;
            node->slot = 0;
        }
        if (++node->slot == node->use_count()) dead.push_back(node);
    };
    for (const ir::Node* node : dying.nodes) drop(node);
    while (!dead.empty()) {
        const ir::Node* const node = dead.back();
        dead.pop_back();
        for (const ir::NodeRef& source : node->sources) drop(source.get());
        if (node->realized) drop(node->realized.get());
        if (node->op != ir::Op::Buffer) continue;
        const ir::StorageRef& storage = node->as<ir::BufferArg>().storage;
        Holders& h = holders[storage.get()];
        h.storage = &storage;
        ++h.dead;
    }
    // Whoever else holds a storage (another node, an exported array) keeps it alive. Foreign memory is never ours to write.
    std::vector<const ir::Storage*> result;
    for (const auto& [storage, h] : holders)
        if (!storage->foreign && h.storage->use_count() == h.dead) result.push_back(storage);
    return result;
}

}  // namespace weft::runtime
