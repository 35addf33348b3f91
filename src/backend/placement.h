// backend/placement.h: where an expression may be computed: at the outermost loop where all its variables are known and nothing it
// loads is stored to. c and x86 walk the loops of an expanded body and ask here.
#pragma once

#include "backend/expand.h"

#include <string>
#include <unordered_map>
#include <vector>

namespace weft::backend {

// A set of buffers, a bit each (modulo 64: two may share one, which only costs).
inline std::uint64_t bit_of(int buffer) { return std::uint64_t(1) << (buffer % 64); }
std::uint64_t stored_in(const kernel::Body& body);

// What decides where an expression may stand.
struct ExprFacts {
    int level = 0;              // the innermost loop whose variable it uses, by depth
    int lane = -1;              // the vector loop whose variable it uses
    std::uint64_t buffers = 0;  // what it loads
    bool touches = false;       // it loads or checks: must not run where its loop would not
    int height = 0;             // of the expression: 0 for a leaf
};

// Depth 0 is the function's body. What is known goes by address: nodes must live as long as this.
class Placement {
public:
    Placement(const kernel::Kernel& kernel, const Expanded& expanded) : kernel_(kernel), expanded_(expanded) {}

    void enter(const kernel::Loop& loop, bool guarded);  // guarded: it may run zero times
    void leave() { loops_.pop_back(); }
    int depth_of(int loop_var) const { return depths_.at(loop_var); }

    const ExprFacts& facts(const ir::Node& node);
    int level_of(const ir::Node& node);

private:
    struct OpenLoop {
        std::uint64_t stored;  // buffers that it stores to
        bool guarded;
    };
    ExprFacts facts_from_sources(const ir::Node& node) const;

    const kernel::Kernel& kernel_;
    const Expanded& expanded_;
    std::vector<OpenLoop> loops_;
    std::unordered_map<int, int> depths_;  // loop variable -> depth
    std::unordered_map<const ir::Node*, ExprFacts> facts_;
};

// For backends that write text: what is written of an open loop, and the values that are known in it.
template <class Value>
struct TextScope {
    std::string text;
    std::unordered_map<const ir::Node*, Value> values;
};

template <class Scope>
const auto* find_value(const std::vector<Scope>& scopes, const ir::Node& node) {
    for (const Scope& scope : scopes)
        if (const auto found = scope.values.find(&node); found != scope.values.end()) return &found->second;
    return static_cast<decltype(&scopes[0].values.begin()->second)>(nullptr);
}

// These buffers are stored to: values that load them are no longer known.
template <class Scope>
void forget_values(std::vector<Scope>& scopes, Placement& placement, std::uint64_t buffers) {
    for (Scope& scope : scopes)
        std::erase_if(scope.values,
                      [&](const auto& entry) { return (placement.facts(*entry.first).buffers & buffers) != 0; });
}

}  // namespace weft::backend
