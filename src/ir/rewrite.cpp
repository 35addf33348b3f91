// ir/rewrite.cpp: the matcher and the bottom-up driver.
#include "ir/rewrite.h"

#include "core/interrupt.h"
#include "core/str.h"
#include "ir/build.h"
#include "ir/origins.h"
#include "ir/print.h"
#include "ir/walk.h"

#include <weft/error.h>

namespace weft::ir {

const Node* constant_value(const NodeRef& node) {
    const Node* n = node.get();
    while (n->op == Op::Expand || n->op == Op::Reshape) n = &n->source();
    return n->op == Op::Const ? n : nullptr;
}

bool matches(const Pattern& pattern, const NodeRef& node, Match& match) {
    const auto bind = [&] {
        NodeRef& slot = match.bound[pattern.variable];
        if (slot && !(slot == node)) return false;
        slot = node;
        return true;
    };
    switch (pattern.kind) {
        case Pattern::Kind::Any: return bind();
        case Pattern::Kind::Constant: return constant_value(node) && bind();
        case Pattern::Kind::Number: {
            const Node* constant = constant_value(node);
            // Compared as words, so that 0 does not match -0.
            return constant && constant->as<ConstArg>().value == scalar_word(node->dtype, pattern.number);
        }
        case Pattern::Kind::Operation: break;
    }
    if (node->op != pattern.op || node->sources.size() < pattern.operands.size()) return false;
    const auto in_order = [&](bool swapped) {
        Match trial = match;
        for (std::size_t i = 0; i < pattern.operands.size(); ++i)
            if (!matches(pattern.operands[swapped ? 1 - i : i], node->sources[i], trial)) return false;
        match = std::move(trial);
        return true;
    };
    return in_order(false) || (info(node->op).commutative && pattern.operands.size() == 2 && in_order(true));
}

Rewritten rewrite(std::span<const NodeRef> roots, std::span<const Rule> rules, int fuel) {
    std::unordered_map<int, std::vector<const Rule*>> by_op;
    for (const Rule& r : rules) by_op[static_cast<int>(r.pattern.op)].push_back(&r);

    Rewritten result;
    const std::vector<const Node*> order = topological_order(roots);
    std::unordered_map<const Node*, int> uses;  // of the old graph, handed on to what its nodes become
    for (const NodeRef& root : roots) ++uses[root.get()];
    for (const Node* node : order)
        for (const NodeRef& source : node->sources) ++uses[source.get()];
    const Rule* last = nullptr;
    const auto rewrite_once = [&](const NodeRef& node) -> NodeRef {
        const auto found = by_op.find(static_cast<int>(node->op));
        if (found == by_op.end()) return nullptr;
        for (const Rule* r : found->second) {
            Match match;
            match.root = node;
            match.uses = &uses;
            if (!matches(r->pattern, node, match)) continue;
            if (NodeRef fresh = r->apply(match); fresh && !(fresh == node)) {
                ++result.applied[r->name];
                last = r;
                return fresh;
            }
        }
        return nullptr;
    };
    for (const Node* node : order) {
        poll_interrupt();
        const OriginsOf origins(*node);
        Sources sources;
        bool changed = false;
        for (const NodeRef& source : node->sources) {
            sources.push_back(result.became.at(source.get()));
            changed |= !(sources.back() == source);
        }
        NodeRef now = changed ? with_sources(*node, std::move(sources)) : NodeRef(node);
        // A rule's result may itself be rewritten: at its root here; what it built below is met by the next round.
        int left = fuel;
        while (const NodeRef next = rewrite_once(now)) {
            if (--left == 0)
                throw InternalError(str("rule ", last->name, " (", last->where.file_name(), ":", last->where.line(),
                                        ") does not come to an end at ", print_line(*now)));
            now = next;
        }
        origins.hand_to(*now);
        if (now.get() != node) uses[now.get()] += uses[node];
        result.became.emplace(node, now);
    }
    for (const NodeRef& root : roots) result.roots.push_back(result.became.at(root.get()));
    return result;
}

}  // namespace weft::ir
