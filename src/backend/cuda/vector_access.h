// backend/cuda/vector_access.h: neighbours in memory that one instruction loads or stores: two or four elements, 16 bytes at most. Addresses
// must be multiples of the whole access; which parameters are must be known at the launch (Module::alignments).
#pragma once

#include "backend/expand.h"

#include <span>
#include <unordered_map>
#include <vector>

namespace weft::backend::cuda {

// An index as what it is counted from and a constant.
struct Position {
    const ir::Node* base = nullptr;  // null: the constant is all
    std::int64_t offset = 0;
};
Position position_of(const ir::Node& index);

class VectorAccess {
public:
    using Lanes = std::vector<const ir::Node*>;  // Load nodes, neighbours in memory

    // Looks for neighbours among the loads of statements that run one after the other, under the same conditions.
    void find_loads(const kernel::Kernel& kernel, std::span<const kernel::Stmt> statements);

    // The neighbours that a load is one of, itself included; null: it is alone.
    const Lanes* lanes_of(const ir::Node& load) const;

    // How many of these statements, from the first on, store to neighbours: 1, 2 or 4.
    static std::size_t stores_together(const kernel::Kernel& kernel, std::span<const kernel::Stmt> statements);

private:
    std::vector<Lanes> groups_;
    std::unordered_map<const ir::Node*, std::size_t> group_of_;
};

}  // namespace weft::backend::cuda
