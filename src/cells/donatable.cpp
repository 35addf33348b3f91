// cells/donatable.cpp: which memory is free once a run has rebound its cells, found by trial deletion: references are dropped on
// paper, and what has none left drops its own. An output may take such memory over (donation).
#include "cells/state.h"

namespace weft::cells {

std::uint64_t find_donatable_storages(std::span<const ir::Node* const> dropped) {
    // Walk marks instead of maps: this runs before every evaluation.
    const std::uint64_t epoch = ir::next_epoch();
    InlineVector<const ir::Node*, 32> dead;
    const auto drop = [&](const ir::Node* node) {
        if (node->mark != epoch) {
            node->mark = epoch;
            node->slot = 0;
        }
        if (++node->slot == node->use_count()) dead.push_back(node);
    };
    for (const ir::Node* node : dropped) drop(node);
    while (!dead.empty()) {
        const ir::Node* const node = dead.back();
        dead.pop_back();
        for (const ir::NodeRef& source : node->sources) drop(source.get());
        if (node->realized) drop(node->realized.get());
        if (node->op != ir::Op::Buffer) continue;
        const ir::StorageRef& storage = node->as<ir::BufferArg>().storage;
        if (storage->mark != epoch) {
            storage->mark = epoch;
            storage->slot = 0;
        }
        // Whoever else holds a storage (another node, an exported array) keeps it alive. Foreign memory is never ours to write.
        if (++storage->slot == storage.use_count() && !storage->foreign) storage->donatable_in = epoch;
    }
    return epoch;
}

}  // namespace weft::cells
