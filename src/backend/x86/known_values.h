// backend/x86/known_values.h: what has been emitted and still holds: the register of an expression, of its broadcast,
// and of a sum of index terms. What a loop knows ends with it; a store makes what was loaded from its buffer stale.
#pragma once

#include "backend/x86/lane_ops.h"
#include "ir/node.h"

#include <array>
#include <map>
#include <unordered_map>
#include <utility>
#include <vector>

namespace weft::backend::x86 {

struct KnownValue {
    Value value;
    int level;
};

// A buffer and terms: nodes with their factors in bytes; no node: a constant.
using AddressSum = std::pair<int, std::vector<std::pair<const ir::Node*, std::int64_t>>>;

// Nodes go by address. A set of buffers is a bit each, as in placement.h.
class KnownValues {
public:
    enum Form { kOwn, kBroadcast };

    void open_level() { levels_.emplace_back(); }
    void close_level();
    void forget(std::uint64_t buffers);  // they are stored to

    const KnownValue* find(Form form, const ir::Node& node) const;
    void remember(Form form, const ir::Node& node, const KnownValue& known, std::uint64_t loads_from);
    void erase(const ir::Node& node) { values_[kOwn].erase(&node); }

    const Reg* find_address(int level, const AddressSum& sum) const;
    void remember_address(int level, AddressSum sum, Reg reg, std::uint64_t loads_from);

    // What is remembered at a level behind a branch is known only there.
    struct Mark;
    Mark mark(int level) const;
    void return_to(Mark mark);

private:
    struct Address {
        Reg reg;
        std::uint64_t loads_from;
    };
    struct Level {
        std::vector<const ir::Node*> nodes;
        std::map<AddressSum, Address> addresses;
    };
    std::vector<Level> levels_{1};
    std::array<std::unordered_map<const ir::Node*, KnownValue>, 2> values_;  // by Form
    std::array<std::vector<const ir::Node*>, 64> loading_;                   // by buffer: nodes that load from it
    std::uint64_t loading_addresses_ = 0;                                    // buffers that addresses load from
};

struct KnownValues::Mark {
    int level;
    std::size_t nodes;
    std::map<AddressSum, Address> addresses;
};

}  // namespace weft::backend::x86
