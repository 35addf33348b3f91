// grad/gradient.cpp: the reverse walk. It lists the nodes once, marks those that lead to something wanted, and then
// visits them from the output back, handing each node's gradient to its sources by its op's rule.
#include "grad/gradient.h"

#include "core/str.h"
#include "grad/rules.h"
#include "ir/build.h"
#include "ir/origins.h"
#include "ir/print.h"
#include "ir/walk.h"

#include <weft/error.h>

#include <mutex>
#include <unordered_map>

namespace weft::grad {
namespace {

using namespace ir;

// Whether a gradient goes on from a node to its sources. A Custom has its first result's dtype; others may be floats.
bool passes(const Node& node) {
    if (node.op == Op::Leaf || node.op == Op::Detach) return false;
    return node.op == Op::Custom || (is_float(node.dtype) && rule_of(node.op));
}

bool is_users_rule(const Node& node) { return node.op == Op::WithGrad || node.op == Op::Custom || node.op == Op::Part; }

const GradRuleObject* rule_carried(const Node& node) {
    return node.op == Op::WithGrad ? node.as<WithGradArg>().rule.get() : nullptr;
}

// The graph behind the outputs, flat: node i has its sources' positions at sources[begin[i] … begin[i + 1]). Positions
// are copied since the walk's marks belong to whoever holds the graph lock, and the rules run without it.
struct Tape {
    std::vector<const Node*> order;
    std::vector<std::uint32_t> begin, sources;
    std::vector<std::uint32_t> starts;  // the outputs' positions
};

Tape record(std::span<const Start> outputs) {
    const std::lock_guard lock(graph_lock());
    Tape tape;
    std::vector<NodeRef> roots;
    for (const Start& output : outputs) roots.push_back(output.node);
    tape.order = topological_order(roots, passes);
    for (const NodeRef& root : roots) tape.starts.push_back(root->slot);
    for (const Node* node : tape.order) {
        tape.begin.push_back(static_cast<std::uint32_t>(tape.sources.size()));
        if (!passes(*node)) continue;  // its sources may not have been visited
        for (const NodeRef& source : node->sources) tape.sources.push_back(source->slot);
    }
    tape.begin.push_back(static_cast<std::uint32_t>(tape.sources.size()));
    return tape;
}

class ReverseWalk {
public:
    ReverseWalk(std::span<const Start> outputs, const Wanted& wanted)
        : tape_(record(outputs)), collects_leaves_(wanted.leaves) {
        for (const NodeRef& target : wanted.targets) targets_.emplace(target.get(), nullptr);
        for (const Hook& hook : wanted.hooks) hooks_.emplace(hook.node.get(), &hook);
        mark_what_leads_somewhere();
        gradients_.resize(tape_.order.size());
        reached_.resize(tape_.order.size());
    }

    void run(std::span<const Start> outputs) {
        for (std::size_t k = 0; k < outputs.size(); ++k) {
            const std::uint32_t at = tape_.starts[k];
            if (!leads_[at]) continue;
            const NodeRef seed = outputs[k].seed ? outputs[k].seed : like(outputs[k].node, 1);
            gradients_[at] = gradients_[at] ? gradients_[at] + seed : seed;
            reached_[at] = true;
        }
        for (std::size_t i = tape_.order.size(); i-- > 0;) {
            if (!reached_[i]) continue;
            const NodeRef g = seen_by_hooks(*tape_.order[i], std::exchange(gradients_[i], nullptr));
            note(*tape_.order[i], g);
            const BackwardOrigin origin(*tape_.order[i]);
            if (passes(*tape_.order[i])) hand_on(i, g);
        }
    }

    NodeRef target(const NodeRef& node) const { return targets_.at(node.get()); }
    std::vector<LeafGradient> take_leaves() { return std::move(leaves_); }

private:
    bool is_wanted(const Node& node) const {
        return is_float(node.dtype) && (targets_.contains(&node) || (collects_leaves_ && node.op == Op::Leaf));
    }

    void mark_what_leads_somewhere() {
        leads_.resize(tape_.order.size());
        for (std::size_t i = 0; i < tape_.order.size(); ++i) {
            leads_[i] = is_wanted(*tape_.order[i]);
            const bool skips_value =
                tape_.order[i]->op == Op::WithGrad;  // its own rule replaces the value's derivative
            for (std::size_t s = tape_.begin[i] + skips_value; s < tape_.begin[i + 1]; ++s)
                leads_[i] |= leads_[tape_.sources[s]];
        }
    }

    NodeRef seen_by_hooks(const Node& node, NodeRef g) const {
        const auto look = [&](const std::function<NodeRef(const NodeRef&)>& hook) {
            const NodeRef before = g ? g : constant(node.dtype, 0, node.shape);
            NodeRef after = hook(before);
            if (!(after->shape == before->shape) || after->dtype != before->dtype)
                complain(node, str("a hook's gradient ", after->dtype, after->shape, " instead of ", before->dtype,
                                   before->shape));
            g = std::move(after);
        };
        if (const GradRuleObject* rule = rule_carried(node); rule && rule->hook) look(rule->hook);
        if (const auto found = hooks_.find(&node); found != hooks_.end()) look(found->second->call);
        return g;
    }

    void note(const Node& node, const NodeRef& g) {
        if (!is_wanted(node)) return;
        const NodeRef gradient = g ? g : constant(node.dtype, 0, node.shape);
        if (const auto found = targets_.find(&node); found != targets_.end()) found->second = gradient;
        if (!collects_leaves_ || node.op != Op::Leaf) return;
        const std::uint64_t cell = node.as<LeafArg>().cell;
        const auto [place, fresh] = place_of_cell_.emplace(cell, leaves_.size());
        if (fresh) leaves_.push_back({cell, gradient});
        else leaves_[place->second].gradient = leaves_[place->second].gradient + gradient;  // two values of one cell
    }

    // One of several results: its gradient waits at the joint node for those of the others.
    void hand_to_joint(std::size_t i, const GradRuleObject& rule, const NodeRef& g) {
        const Node& node = *tape_.order[i];
        const std::uint32_t to = tape_.sources[tape_.begin[i] + 1];
        if (!leads_[to]) return;
        std::vector<NodeRef>& arrived = arrived_[to];
        arrived.resize(static_cast<std::size_t>(rule.parts));
        NodeRef& sum = arrived[static_cast<std::size_t>(rule.part)];
        const NodeRef gradient = g ? g : constant(node.dtype, 0, node.shape);
        sum = sum ? sum + gradient : gradient;
        reached_[to] = true;
    }

    // A Part's gradient goes past the Custom to that one's sources; g is null where it is zero.
    void hand_on(std::size_t i, const NodeRef& g) {
        const Node& node = *tape_.order[i];
        const GradRuleObject* const carried = rule_carried(node);
        if (carried && carried->part >= 0) return hand_to_joint(i, *carried, g);
        const bool is_part = node.op == Op::Part;
        const std::size_t owner = is_part ? tape_.sources[tape_.begin[i]] : i;
        if (!leads_[owner]) return;
        const Sources& sources = tape_.order[owner]->sources;
        // One lock for all nodes of a rule. Not for a user's, who may wait for a thread that waits for the lock.
        std::unique_lock<std::recursive_mutex> lock;
        if (!is_users_rule(node)) lock = std::unique_lock(ir::graph_lock());
        Grads grads;
        if (carried && carried->joint) {
            grads = carried->joint(NodeRef(&node), arrived_.at(static_cast<std::uint32_t>(i)));
            grads.insert(grads.begin(), nullptr);  // the value stands for nothing
        } else {
            grads = g ? rule_of(node.op)(NodeRef(&node), g) : Grads(sources.size());
        }
        if (grads.size() != sources.size())
            complain(node, str(grads.size(), " gradients for ", sources.size(), " sources"));
        for (std::size_t s = 0; s < sources.size(); ++s) {
            const std::uint32_t to = tape_.sources[tape_.begin[owner] + s];
            if (!leads_[to] || !is_float(sources[s]->dtype)) continue;
            if (grads[s]) add(node, *sources[s], grads[s], gradients_[to]);
            reached_[to] |= grads[s] || !is_users_rule(node);
        }
    }

    static void add(const Node& node, const Node& source, const NodeRef& g, NodeRef& sum) {
        if (!(g->shape == source.shape) || g->dtype != source.dtype)
            complain(node, str("a gradient ", g->dtype, g->shape, " for a source ", source.dtype, source.shape));
        sum = sum ? sum + g : g;
    }

    [[noreturn]] static void complain(const Node& node, const std::string& what) {
        const std::string text = str("the derivative of ", print_line(node), " gave ", what);
        if (is_users_rule(node)) throw GradError(text);
        throw InternalError(text);
    }

    const Tape tape_;
    const bool collects_leaves_;
    std::unordered_map<const Node*, const Hook*> hooks_;
    std::unordered_map<std::uint32_t, std::vector<NodeRef>> arrived_;  // at a joint node, by part
    std::unordered_map<const Node*, NodeRef> targets_;
    std::vector<LeafGradient> leaves_;
    std::unordered_map<std::uint64_t, std::size_t> place_of_cell_;
    std::vector<char> leads_;         // something wanted lies behind this node
    std::vector<char> reached_;       // the output depends on this node by a differentiable way
    std::vector<NodeRef> gradients_;  // summed so far; null while reached: zero
};

}  // namespace

Gradients differentiate(std::span<const Start> outputs, const Wanted& wanted) {
    for (const auto& [output, seed] : outputs) {
        if (!is_float(output->dtype))
            throw GradError(
                str("gradient(output: ", output->dtype, output->shape,
                    "): only floating-point values have a gradient; convert with .to(f32) before the computation"));
        if (seed && (!(seed->shape == output->shape) || seed->dtype != output->dtype))
            throw GradError(str("gradient(output: ", output->dtype, output->shape, ", seed: ", seed->dtype, seed->shape,
                                "): the seed must have the output's shape and dtype"));
    }
    ReverseWalk walk(outputs, wanted);
    walk.run(outputs);
    Gradients result;
    for (const NodeRef& target : wanted.targets) result.targets.push_back(walk.target(target));
    result.leaves = walk.take_leaves();
    return result;
}

std::vector<NodeRef> gradient(const NodeRef& output, std::span<const NodeRef> targets, const NodeRef& seed) {
    const Start start[] = {{output, seed}};
    return differentiate(start, {.targets = targets}).targets;
}

std::vector<LeafGradient> leaf_gradients(const NodeRef& output, const NodeRef& seed) {
    const Start start[] = {{output, seed}};
    return differentiate(start, {.leaves = true}).leaves;
}

}  // namespace weft::grad
