// kernel/nest.cpp: walks over expressions and loop nests.
#include "kernel/nest.h"

#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <iterator>
#include <unordered_map>
#include <unordered_set>

namespace weft::kernel {

using ir::Op;

void collect_uses(const NodeRef& expression, Uses& uses) {
    std::unordered_set<const ir::Node*> seen;
    std::vector<NodeRef> stack{expression};
    while (!stack.empty()) {
        const NodeRef node = stack.back();
        stack.pop_back();
        if (!seen.insert(node.get()).second) continue;
        if (node->op == Op::LoopVar) uses.others.push_back(node);
        if (node->op != Op::Load) {
            for (const NodeRef& source : node->sources) stack.push_back(source);
            continue;
        }
        uses.loads.push_back(node);
        uses.indices.push_back(node->sources[0]);
        if (node->sources.size() > 1) uses.gates.push_back(node->sources[1]);
        for (const NodeRef& source : node->sources)  // loads inside an index (gathers) have uses of their own
            for (const ir::Node* inner : ir::topological_order(std::span(&source, 1)))
                if (inner->op == Op::Load) stack.emplace_back(inner);
    }
}

namespace {

void visit_stores(const Body& body, std::vector<const Loop*>& around,
                  const std::function<void(const Store&, std::span<const Loop* const>)>& f) {
    for (const Stmt& stmt : body) {
        if (const Loop* loop = stmt.loop()) {
            around.push_back(loop);
            visit_stores(loop->body, around, f);
            around.pop_back();
        } else if (stmt.store()) f(*stmt.store(), around);
    }
}

// Do the addresses move by the same step when the outer variable advances once as when the inner one runs through?
bool mergeable(ir::Interner& interner, const NodeRef& outer, const NodeRef& inner, const Uses& uses) {
    const int a = id_of(outer), b = id_of(inner);
    for (const NodeRef& e : uses.others)
        if (ir::depends_on(e, a) || ir::depends_on(e, b)) return false;
    for (const NodeRef& gate : uses.gates)
        if (ir::depends_on(gate, a) || ir::depends_on(gate, b)) return false;
    for (const NodeRef& index : uses.indices) {
        const auto step_a = ir::stride_of(interner, index, a), step_b = ir::stride_of(interner, index, b);
        if (!step_a || !step_b || *step_a != *step_b * extent_of(inner)) return false;
    }
    return true;
}

class LanePrivate {
public:
    LanePrivate(Kernel& kernel, int lane_loop) : kernel_(kernel), lane_loop_(lane_loop) {}

    Body operator()(const Body& body) {
        for_each_store(body, [&](const Store& store, std::span<const Loop* const>) {
            const Buffer buffer = kernel_.buffers[store.buffer];
            if (buffer.role != Buffer::Role::Local || copy_.contains(store.buffer)) return;
            const int fresh = kernel_.new_local(buffer.name, buffer.dtype, 1);
            kernel_.buffers[fresh].lane_loop = lane_loop_;
            copy_.emplace(store.buffer, fresh);
        });
        return copy_.empty() ? body : rename(body);
    }

private:
    Body rename(const Body& body) {
        Body result;
        for (const Stmt& stmt : body) {
            if (const Loop* loop = stmt.loop()) {
                result.emplace_back(loop->with(rename(loop->body)));
                continue;
            }
            if (const Prefetch* prefetch = stmt.prefetch()) {
                result.emplace_back(Prefetch{rename(prefetch->load)});
                continue;
            }
            const Store& store = *stmt.store();
            const auto found = copy_.find(store.buffer);
            result.emplace_back(
                Store{found == copy_.end() ? store.buffer : found->second, rename(store.index), rename(store.value)});
        }
        return result;
    }

    NodeRef rename(const NodeRef& root) {
        return ir::rebuild(std::span(&root, 1), [&](const ir::Node& node, const ir::Sources& sources) {
            if (node.op == Op::Load)
                if (const auto found = copy_.find(node.as<ir::LoadArg>().buffer); found != copy_.end())
                    return kernel_.load(found->second, sources[0], sources.size() > 1 ? sources[1] : nullptr);
            return sources == node.sources ? NodeRef(&node)
                                           : kernel_.interner->make(node.op, node.dtype, {}, sources, node.arg);
        })[0];
    }

    Kernel& kernel_;
    const int lane_loop_;
    std::unordered_map<int, int> copy_;
};

}  // namespace

Body lane_private(Kernel& kernel, const Body& body, int lane_loop) { return LanePrivate(kernel, lane_loop)(body); }

Uses uses_of(const Body& body) {
    Uses uses;
    for_each_store(body, [&](const Store& store, std::span<const Loop* const> around) {
        uses.indices.push_back(store.index);
        Uses inner;
        collect_uses(store.index, inner);  // its variables are addresses, not values: keep only nested loads
        uses.loads.insert(uses.loads.end(), inner.loads.begin(), inner.loads.end());
        uses.indices.insert(uses.indices.end(), inner.indices.begin(), inner.indices.end());
        uses.gates.insert(uses.gates.end(), inner.gates.begin(), inner.gates.end());
        collect_uses(store.value, uses);
        for (const Loop* loop : around)
            if (loop->count) uses.gates.push_back(loop->count);
    });
    return uses;
}

bool depends_on_any(const NodeRef& expression, std::span<const NodeRef> vars) {
    for (const NodeRef& var : vars)
        if (ir::depends_on(expression, id_of(var))) return true;
    return false;
}

std::vector<NodeRef> collapse(Kernel& kernel, const std::vector<NodeRef>& vars, const Uses& uses, Substitution& with) {
    std::vector<NodeRef> result;  // merged so far; the last one may still grow
    std::vector<NodeRef>
        members;  // the innermost original variable of each merged one: its stride is the merged stride
    for (const NodeRef& var : vars) {
        if (extent_of(var) == 1) {
            with.emplace_back(id_of(var), kernel.index(0));
            continue;
        }
        // Merging needs outer-stride == inner-stride * extent pairwise; the outer one counts from 0 afterwards.
        if (!result.empty() && mergeable(*kernel.interner, members.back(), var, uses)) {
            const NodeRef merged = kernel.new_var(extent_of(result.back()) * extent_of(var));
            for (auto& [id, value] : with)
                if (value == result.back()) value = kernel.index(0);
            with.emplace_back(id_of(var), merged);
            result.back() = merged;
            members.back() = var;
            continue;
        }
        const NodeRef fresh = kernel.new_var(extent_of(var));
        with.emplace_back(id_of(var), fresh);
        result.push_back(fresh);
        members.push_back(var);
    }
    return result;
}

std::pair<std::vector<NodeRef>, const Body*> perfect_nest(const Body& body) {
    std::vector<NodeRef> vars;
    const Body* inner = &body;
    while (inner->size() == 1 && inner->front().loop()) {
        const Loop& loop = *inner->front().loop();
        if (loop.kind != LoopKind::Serial || !loop.independent || loop.count) return {{}, inner};
        vars.push_back(loop.var);
        inner = &loop.body;
    }
    return {std::move(vars), inner};
}

void append(Body& to, Body from) { std::move(from.begin(), from.end(), std::back_inserter(to)); }

Body nested(const std::vector<NodeRef>& vars, Body body, bool independent) {
    for (auto it = vars.rbegin(); it != vars.rend(); ++it) {
        Body outer;
        outer.emplace_back(Loop{*it, LoopKind::Serial, std::move(body), independent, nullptr});
        body = std::move(outer);
    }
    return body;
}

Body replace_loops(const Body& body, const std::function<std::optional<Body>(const Loop&)>& f) {
    Body result;
    for (const Stmt& stmt : body) {
        const Loop* loop = stmt.loop();
        if (!loop || loop->kind == LoopKind::Vector || loop->kind == LoopKind::Unrolled) result.push_back(stmt);
        else if (std::optional<Body> made = f(*loop))
            result.insert(result.end(), std::make_move_iterator(made->begin()), std::make_move_iterator(made->end()));
        else result.emplace_back(loop->with(replace_loops(loop->body, f)));
    }
    return result;
}

void choose_loops(const Body& body, const std::function<bool(const Loop&)>& takes) {
    for (const Stmt& stmt : body) {
        const Loop* loop = stmt.loop();
        if (!loop || loop->kind == LoopKind::Vector || loop->kind == LoopKind::Unrolled) continue;
        if (!takes(*loop)) choose_loops(loop->body, takes);
    }
}

void for_each_store(const Body& body, const std::function<void(const Store&, std::span<const Loop* const>)>& f) {
    std::vector<const Loop*> around;
    visit_stores(body, around, f);
}

namespace {

// Elementwise ops on constants and on leaves of this kind alone?
bool made_of(const NodeRef& value, Op leaf) {
    const std::vector<const ir::Node*> nodes = ir::topological_order(std::span(&value, 1));
    return std::all_of(nodes.begin(), nodes.end(), [&](const ir::Node* node) {
        return node->op == leaf || node->op == Op::Const || ir::is_elementwise(node->op);
    });
}

// A condition on the loops' variables alone, like a load's gate.
bool is_index(const NodeRef& condition) {
    const std::vector<const ir::Node*> nodes = ir::topological_order(std::span(&condition, 1));
    return made_of(condition, Op::LoopVar) && std::none_of(nodes.begin(), nodes.end(), [](const ir::Node* node) {
               return node->op == Op::Cast || node->op == Op::Bitcast;
           });
}

// A position as a 32-bit number: it fits lanes of that size before as well.
bool narrows_index(const ir::Node& node) {
    if (node.op != Op::Cast || size_of(node.dtype) > 4 || node.source().dtype != DType::I64) return false;
    const ir::Bounds range = ir::bounds(node.sources[0]);
    return range.low >= INT32_MIN && range.high <= INT32_MAX && is_index(node.sources[0]);
}

}  // namespace

int lanes_for(const Kernel& kernel, const Body& body) {
    bool wide = false;
    for_each_store(body, [&](const Store& store, std::span<const Loop* const>) {
        wide |= size_of(kernel.buffers[store.buffer].dtype) == 8;
        std::vector<NodeRef> stack{store.value};
        std::unordered_map<const ir::Node*, bool> seen;
        while (!stack.empty() && !wide) {
            const NodeRef node = stack.back();
            stack.pop_back();
            if (!seen.emplace(node.get(), true).second) continue;
            if (size_of(node->dtype) == 8 && made_of(node, Op::ScalarParam)) continue;  // the same in all lanes
            wide |= size_of(node->dtype) == 8;
            if (node->op == Op::Load || narrows_index(*node)) continue;  // an address is not data
            for (const NodeRef& source : node->sources)
                if (node->op != Op::Where || source != node->sources[0] || !is_index(source)) stack.push_back(source);
        }
    });
    return wide ? kMaxLanes / 2 : kMaxLanes;
}

std::int64_t product(std::span<const NodeRef> vars) {
    std::int64_t result = 1;
    for (const NodeRef& var : vars) result *= extent_of(var);
    return result;
}

}  // namespace weft::kernel
