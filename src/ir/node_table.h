// ir/node_table.h: a hash table for walks over one expression: small, on the stack at first, and keyed by the hash that a node has.
#pragma once

#include "ir/node.h"

#include <cstddef>
#include <utility>

namespace weft::ir {

// A hash table from nodes to small values; the marks on the nodes are left to the caller's own walk.
template <class T, std::size_t kInline = 64>
class NodeTable {
public:
    T& operator[](const Node* key) {
        if (2 * (used_ + 1) > slots_.size()) grow();
        Slot& slot = find(key);
        if (!slot.key) {
            slot.key = key;
            ++used_;
        }
        return slot.value;
    }

private:
    struct Slot {
        const Node* key = nullptr;
        T value{};
    };
    Slot& find(const Node* key) {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = (key->hash ^ (key->hash >> 29)) & mask;
        while (slots_[at].key && slots_[at].key != key) at = (at + 1) & mask;
        return slots_[at];
    }
    void grow() {
        const Slots old = std::move(slots_);
        slots_ = Slots::filled(2 * old.size());
        for (const Slot& slot : old)
            if (slot.key) find(slot.key) = slot;
    }

    using Slots = InlineVector<Slot, kInline>;
    Slots slots_ = Slots::filled(kInline);
    std::size_t used_ = 0;
};

}  // namespace weft::ir
