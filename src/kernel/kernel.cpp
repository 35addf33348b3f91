// kernel/kernel.cpp: building, rewriting and printing the loop IR.
#include "kernel/kernel.h"

#include "core/str.h"
#include "ir/node_table.h"
#include "ir/print.h"
#include "ir/symbolic.h"
#include "ir/walk.h"

#include <weft/error.h>

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace weft::kernel {

using ir::Op;

std::string_view name_of(LoopKind kind) {
    constexpr std::string_view kNames[] = {"serial", "parallel", "vector", "unrolled",
                                           "block",  "thread",   "tensor", "copy"};
    return kNames[static_cast<int>(kind)];
}

std::string_view name_of(LoopRole role) {
    constexpr std::string_view kNames[] = {"", "batch", "m", "n", "k blocks", "k"};
    return kNames[static_cast<int>(role)];
}

Loop Loop::with(Body other) const {
    return {.var = var,
            .kind = kind,
            .body = std::move(other),
            .independent = independent,
            .count = count,
            .polls = polls,
            .role = role,
            .product = product,
            .box = box};
}

// ---- expressions -----------------------------------------------------------------------------------------------------

NodeRef Kernel::make(Op op, DType dtype, ir::Sources sources, ir::Arg arg) const {
    const auto constant_source = [](const NodeRef& s) { return s->op == Op::Const; };
    if (!sources.empty() && std::all_of(sources.begin(), sources.end(), constant_source)) {
        Word in[3] = {};
        for (std::size_t i = 0; i < sources.size() && i < 3; ++i) in[i] = sources[i]->as<ir::ConstArg>().value;
        const DType operand = sources.back()->dtype;
        if (op == Op::Cast)
            return interner->make(Op::Const, dtype, {}, {}, ir::ConstArg{cast_word(operand, dtype, in[0])});
        if (op == Op::Bitcast)
            return interner->make(Op::Const, dtype, {}, {}, ir::ConstArg{bitcast_word(operand, dtype, in[0])});
        if (ir::can_eval(op))
            return interner->make(Op::Const, dtype, {}, {}, ir::ConstArg{ir::info(op).eval(operand, in)});
    }
    return interner->make(op, dtype, {}, std::move(sources), std::move(arg));
}

NodeRef Kernel::constant(DType dtype, const Scalar& value) const {
    return interner->make(Op::Const, dtype, {}, {}, ir::ConstArg{scalar_word(dtype, value)});
}

NodeRef Kernel::new_var(std::int64_t extent) {
    return interner->make(Op::LoopVar, DType::I64, {}, {}, ir::LoopArg{next_var++, extent});
}

NodeRef Kernel::load(int buffer, NodeRef at, NodeRef gate) const {
    ir::Sources sources{std::move(at)};
    if (gate && gate->op == Op::Const) {
        if (gate->as<ir::ConstArg>().value == 0) return constant(buffers[buffer].dtype, 0);
        gate = nullptr;
    }
    if (gate) sources.push_back(std::move(gate));
    return interner->make(Op::Load, buffers[buffer].dtype, {}, std::move(sources), ir::LoadArg{buffer});
}

NodeRef Kernel::binary(Op op, const NodeRef& a, const NodeRef& b) const {
    const bool compare = ir::info(op).kind == ir::OpKind::Compare;
    return make(op, compare ? DType::Bool : a->dtype, {a, b});
}

NodeRef Kernel::unary(Op op, const NodeRef& a) const { return make(op, a->dtype, {a}); }

NodeRef Kernel::cast(const NodeRef& a, DType to) const { return a->dtype == to ? a : make(Op::Cast, to, {a}); }

NodeRef Kernel::where(const NodeRef& condition, const NodeRef& a, const NodeRef& b) const {
    if (condition->op == Op::Const) return condition->as<ir::ConstArg>().value ? a : b;
    return a == b ? a : make(Op::Where, a->dtype, {condition, a, b});
}

NodeRef Kernel::rarely(const NodeRef& condition, const NodeRef& a, const NodeRef& b) const {
    if (condition->op == Op::Const || a == b) return where(condition, a, b);
    return make(Op::Where, a->dtype, {condition, a, b}, ir::RareArg{});
}

NodeRef Kernel::fma(const NodeRef& a, const NodeRef& b, const NodeRef& c) const {
    return make(Op::Fma, c->dtype, {a, b, c});
}

int Kernel::new_local(std::string local_name, DType dtype, std::int64_t size) {
    buffers.push_back({.name = std::move(local_name),
                       .dtype = dtype,
                       .size = size,
                       .role = Buffer::Role::Local,
                       .memory = size == 1 ? Buffer::MemoryType::Register : Buffer::MemoryType::Scratch});
    return static_cast<int>(buffers.size()) - 1;
}

std::int64_t parallel_extent(const Kernel& kernel) {
    if (kernel.body.size() != 1) return 1;
    const Loop* loop = kernel.body[0].loop();
    return loop && (loop->kind == LoopKind::Parallel || loop->kind == LoopKind::Block) ? loop->extent() : 1;
}

// ---- substitution ----------------------------------------------------------------------------------------------------

namespace {

// Rebuilds expressions with some variables replaced; indices and gates are simplified again, since that is where a
// replaced variable pays.
// A condition on indices, which bounds may decide. (One on values would only be walked through, down to the last load.)
bool asks_indices(const ir::Node& condition) {
    switch (condition.op) {
        case Op::And:
        case Op::Or:
        case Op::Xor: return asks_indices(condition.source(0)) || asks_indices(condition.source(1));
        case Op::CmpLt:
        case Op::CmpLe:
        case Op::CmpEq: return condition.source().dtype == DType::I64;
        default: return false;
    }
}

class Substituter {
public:
    Substituter(const Kernel& kernel, const Substitution& with, ir::IndexSimplifier& simplify)
        : kernel_(kernel), simplify_(simplify) {
        for (const auto& each : with) replacement_.push_back(each);
    }

    // The loops of a copy get variables of their own, and those locals of their own that are private to lanes of such a loop.
    Body copied(Kernel& kernel, const Body& body) {
        for (const auto& [id, value] : Substitution(replacement_))
            if (value->op == Op::LoopVar) copy_locals(kernel, id, value->as<ir::LoopArg>().id);
        return (*this)(body, &kernel);
    }

    NodeRef operator()(const NodeRef& root) {
        if (is_constant(*root)) return root;
        InlineVector<const ir::Node*, 32> pending;
        pending.push_back(root.get());
        while (!pending.empty()) {
            const ir::Node* node = pending.back();
            const std::size_t before = pending.size();
            if (node->op == Op::Load && node->sources.size() == 1 && !done_[node])
                if (const NodeRef at = simplify_.plain_sum(node->sources[0], replacement_))
                    done_[node] = at == node->sources[0] && buffer_of(*node) == node->as<ir::LoadArg>().buffer
                                      ? NodeRef(node)
                                      : kernel_.load(buffer_of(*node), at);
            if (!done_[node])
                for (const NodeRef& source : node->sources)
                    if (!is_constant(*source) && !done_[source.get()]) pending.push_back(source.get());
            if (pending.size() > before) continue;
            pending.pop_back();
            if (!done_[node]) {
                NodeRef fresh = replace(*node);  // may make the table grow
                done_[node] = std::move(fresh);
            }
        }
        return done_[root.get()];
    }

    NodeRef index(const NodeRef& root) {
        if (NodeRef plain = simplify_.plain_sum(root, replacement_)) return plain;
        const NodeRef fresh = (*this)(root);
        return fresh == root ? root : simplified(fresh);
    }

    Body operator()(const Body& body, Kernel* renaming = nullptr) {
        Body result;
        result.reserve(body.size());
        for (const Stmt& stmt : body) {
            if (const Store* store = stmt.store()) {
                result.emplace_back(Store{renamed(store->buffer), index(store->index), (*this)(store->value)});
            } else if (const Prefetch* prefetch = stmt.prefetch()) {
                result.emplace_back(Prefetch{(*this)(prefetch->load)});
            } else {
                const Loop& loop = *stmt.loop();
                NodeRef count = loop.count ? index(loop.count) : nullptr, var = loop.var;
                if (renaming) {
                    var = renaming->new_var(loop.extent());
                    replacement_.emplace_back(loop.id(), var);
                    copy_locals(*renaming, loop.id(), var->as<ir::LoopArg>().id);
                }
                Loop copied = loop.with((*this)(loop.body, renaming));
                copied.var = var;
                copied.count = std::move(count);
                result.emplace_back(std::move(copied));
            }
        }
        return result;
    }

private:
    static bool is_constant(const ir::Node& node) { return node.sources.empty() && node.op != Op::LoopVar; }

    void copy_locals(Kernel& kernel, int from, int to) {
        for (int b = kernel.parameters, count = static_cast<int>(kernel.buffers.size()); b < count; ++b) {
            if (kernel.buffers[b].lane_loop != from) continue;
            Buffer fresh = kernel.buffers[b];
            fresh.lane_loop = to;
            locals_.emplace_back(b, static_cast<int>(kernel.buffers.size()));
            kernel.buffers.push_back(std::move(fresh));
        }
    }

    int renamed(int buffer) const {
        for (const auto& [from, to] : locals_)
            if (from == buffer) return to;
        return buffer;
    }
    int buffer_of(const ir::Node& load) const { return renamed(load.as<ir::LoadArg>().buffer); }

    NodeRef replace(const ir::Node& node) {
        if (node.op == Op::LoopVar) {
            const int id = node.as<ir::LoopArg>().id;
            for (const auto& [var, value] : replacement_)
                if (var == id) return value;
            return NodeRef(&node);
        }
        ir::Sources sources;
        bool changed = false;
        for (const NodeRef& source : node.sources) {
            sources.push_back(is_constant(*source) ? source : done_[source.get()]);
            changed |= !(sources.back() == source);
        }
        changed |= node.op == Op::Load && buffer_of(node) != node.as<ir::LoadArg>().buffer;
        if (!changed) return NodeRef(&node);
        if (node.op == Op::Load) {
            for (NodeRef& source : sources) source = simplified(source);
            return kernel_.load(buffer_of(node), sources[0], sources.size() > 1 ? sources[1] : nullptr);
        }
        if (node.op == Op::Where) {
            if (asks_indices(*sources[0])) sources[0] = simplified(sources[0]);
            const bool rare = std::holds_alternative<ir::RareArg>(node.arg);
            return rare ? kernel_.rarely(sources[0], sources[1], sources[2])
                        : kernel_.where(sources[0], sources[1], sources[2]);
        }
        return kernel_.make(node.op, node.dtype, std::move(sources), node.arg);
    }

    // Where a check would vanish, because what it guards does not matter or has a known range, the expression stays as it is. One that
    // cannot fail may go, and two spellings of one check may become one.
    NodeRef simplified(const NodeRef& e) {
        NodeRef simple = simplify_(e);
        if (kernel_.checks.empty()) return simple;
        const std::vector<const ir::Node*> there = ir::topological_order(std::span(&simple, 1));
        for (const ir::Node* check : ir::topological_order(std::span(&e, 1))) {
            if (check->op != Op::Check) continue;
            const NodeRef same = simplify_(NodeRef(check));
            if (same->op == Op::Check && std::find(there.begin(), there.end(), same.get()) == there.end()) return e;
        }
        return simple;
    }

    const Kernel& kernel_;
    ir::IndexSimplifier& simplify_;
    Substitution replacement_;
    std::vector<std::pair<int, int>> locals_;  // of a copy: private to lanes, and what they are called there
    ir::NodeTable<NodeRef, 64> done_;
};

}  // namespace

NodeRef substitute(const Kernel& kernel, const NodeRef& expression, const Substitution& with) {
    ir::IndexSimplifier simplify(*kernel.interner);
    return Substituter(kernel, with, simplify)(expression);
}

Body substitute(const Kernel& kernel, const Body& body, const Substitution& with) {
    ir::IndexSimplifier simplify(*kernel.interner);
    return substitute(kernel, body, with, simplify);
}

Body substitute(const Kernel& kernel, const Body& body, const Substitution& with, ir::IndexSimplifier& simplify) {
    return Substituter(kernel, with, simplify)(body);
}

Body copy(Kernel& kernel, const Body& body, const Substitution& with) {
    ir::IndexSimplifier simplify(*kernel.interner);
    return Substituter(kernel, with, simplify).copied(kernel, body);
}

// ---- printing --------------------------------------------------------------------------------------------------------

namespace {

void print_body(const Kernel& kernel, const Body& body, int indent, std::string& out) {
    for (const Stmt& stmt : body) {
        out.append(2 * static_cast<std::size_t>(indent), ' ');
        if (const Loop* loop = stmt.loop()) {
            out += str(name_of(loop->kind), " i", loop->id(), " < ", loop->extent(),
                       loop->role == LoopRole::None ? "" : str(" (", name_of(loop->role), ")"),
                       loop->count ? str(" while < ", ir::print_expression(loop->count)) : "",
                       loop->polls ? ", polls" : "", "\n");
            print_body(kernel, loop->body, indent + 1, out);
        } else if (const Prefetch* prefetch = stmt.prefetch()) {
            out += str("prefetch ", ir::print_expression(prefetch->load), "\n");
        } else {
            const Store& store = *stmt.store();
            out += str("b", store.buffer, "[", ir::print_expression(store.index),
                       "] = ", ir::print_expression(store.value), "\n");
        }
    }
}

}  // namespace

std::string print(const Kernel& kernel) {
    std::string out = str("kernel ", kernel.name, "\n");
    for (std::size_t b = 0; b < kernel.buffers.size(); ++b) {
        const Buffer& buffer = kernel.buffers[b];
        constexpr std::string_view kRoles[] = {"in", "out", "local"};
        constexpr std::string_view kMemoryTypes[] = {"", " in registers", " in scratch", " shared"};
        out += str("  b", b, ": ", kRoles[static_cast<int>(buffer.role)], " ", buffer.name, " ", buffer.dtype, "[",
                   buffer.size, "]", kMemoryTypes[static_cast<int>(buffer.memory)],
                   buffer.lane_loop >= 0 ? str(", one per lane of i", buffer.lane_loop) : "", "\n");
    }
    for (const std::string& line : describe(kernel)) out += str("  schedule: ", line, "\n");
    print_body(kernel, kernel.body, 1, out);
    return out;
}

}  // namespace weft::kernel
