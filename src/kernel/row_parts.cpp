// kernel/row_parts.cpp: see row_parts.h.
#include "kernel/row_parts.h"

#include "kernel/block_loops.h"
#include "kernel/linear_form.h"
#include "kernel/nest.h"

#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>

namespace weft::kernel {

bool is_free(const Loop& loop) {
    return loop.independent && !loop.count && (loop.kind == LoopKind::Serial || loop.kind == LoopKind::Unrolled);
}

std::pair<std::vector<NodeRef>, const Body*> free_nest(const Loop& loop) {
    std::vector<NodeRef> vars;
    const Loop* at = &loop;
    for (;;) {
        vars.push_back(at->var);
        const Loop* const inner = at->body.size() == 1 ? at->body[0].loop() : nullptr;
        if (!inner || !is_free(*inner)) return {std::move(vars), &at->body};
        at = inner;
    }
}

std::int64_t shared_work(const Body& body) {
    std::int64_t work = 0;
    for (const Stmt& stmt : body)
        if (const Loop* const loop = stmt.loop()) {
            if (is_free(*loop)) work += product(free_nest(*loop).first);
            else work += std::min<std::int64_t>(loop->extent(), 1 << 20) * shared_work(loop->body);
            work = std::min<std::int64_t>(work, 1 << 30);
        }
    return work;
}

Parts parts_of(const Body& body) {
    Parts parts;
    for (const Stmt& stmt : body) {
        const Loop* const loop = stmt.loop();
        if (stmt.prefetch()) continue;
        if (loop && is_free(*loop)) {
            const auto [vars, inner] = free_nest(*loop);
            parts.push_back({.kind = Part::Kind::Shared, .body = *inner, .vars = vars});
        } else if (loop && shared_work(loop->body) > 0) {
            Loop around = loop->with({});
            around.kind = LoopKind::Serial;
            parts.push_back({.kind = Part::Kind::Around, .loop = around, .inside = parts_of(loop->body)});
        } else {
            if (parts.empty() || parts.back().kind != Part::Kind::One) parts.emplace_back();
            parts.back().body.push_back(stmt);
        }
    }
    return parts;
}

void locals_in(const Kernel& kernel, const NodeRef& expression, std::set<int>& found) {
    Uses uses;
    collect_uses(expression, uses);
    for (const NodeRef& load : uses.loads)
        if (const int b = load->as<ir::LoadArg>().buffer;
            kernel.buffers[static_cast<std::size_t>(b)].role == Buffer::Role::Local)
            found.insert(b);
}

void locals_in(const Kernel& kernel, const Body& body, std::set<int>& found) {
    for (const Stmt& stmt : body) {
        if (const Loop* const loop = stmt.loop()) {
            if (loop->count) locals_in(kernel, loop->count, found);
            locals_in(kernel, loop->body, found);
        } else if (const Store* const store = stmt.store()) {
            if (kernel.buffers[static_cast<std::size_t>(store->buffer)].role == Buffer::Role::Local)
                found.insert(store->buffer);
            locals_in(kernel, store->index, found);
            locals_in(kernel, store->value, found);
        }
    }
}

std::set<int> stored_in_body(const Body& body) {
    std::set<int> stored;
    for_each_store(body, [&](const Store& store, std::span<const Loop* const>) { stored.insert(store.buffer); });
    return stored;
}

void rename_locals(Kernel& kernel, Parts& parts) {
    for_each_part(parts, [&](Part& part) {
        if (part.kind != Part::Kind::Shared || product(part.vars) < 2) return;
        std::set<int> own;
        for (const int b : stored_in_body(part.body))
            if (kernel.buffers[static_cast<std::size_t>(b)].role == Buffer::Role::Local) own.insert(b);
        for_each_store(part.body, [&](const Store& store, std::span<const Loop* const>) {
            if (depends_on_any(store.index, part.vars)) own.erase(store.buffer);
        });
        for (const int b : own) part.body = with_own_local(kernel, part.body, b);
    });
}

namespace {

class NumberedLocals {
public:
    explicit NumberedLocals(const Kernel& kernel) : kernel_(kernel) {}

    void add(const Parts& parts) {
        for (const Part& part : parts) {
            if (part.kind == Part::Kind::Around && part.loop->count) add(part.loop->count);
            add(part.kind == Part::Kind::Around ? Body() : part.body);
            add(part.inside);
        }
    }
    std::vector<int> found;

private:
    void add(const Body& body) {
        for (const Stmt& stmt : body) {
            if (const Loop* const loop = stmt.loop()) {
                if (loop->count) add(loop->count);
                add(loop->body);
            } else if (const Store* const store = stmt.store()) {
                add(store->index);
                add(store->value);
                add(store->buffer);
            }
        }
    }
    void add(const NodeRef& expression) {
        Uses uses;
        collect_uses(expression, uses);
        for (const NodeRef& load : uses.loads) add(load->as<ir::LoadArg>().buffer);
    }
    void add(int b) {
        if (kernel_.buffers[static_cast<std::size_t>(b)].role == Buffer::Role::Local && seen_.insert(b).second)
            found.push_back(b);
    }

    const Kernel& kernel_;
    std::set<int> seen_;
};

NodeRef with_loads(const Kernel& kernel, const NodeRef& root, const ReplaceLoad& f) {
    return ir::rebuild(std::span(&root, 1), [&](const ir::Node& node, const ir::Sources& sources) {
        if (node.op == ir::Op::Load)
            if (NodeRef other = f(node, sources)) return other;
        return sources == node.sources ? NodeRef(&node)
                                       : kernel.interner->make(node.op, node.dtype, {}, sources, node.arg);
    })[0];
}

}  // namespace

std::vector<int> numbered_locals(const Kernel& kernel, const Parts& parts) {
    NumberedLocals locals(kernel);
    locals.add(parts);
    return std::move(locals.found);
}

std::vector<Part*> numbered_loops(Parts& parts) {
    std::vector<Part*> found;
    for (Part& part : parts) {
        if (part.kind != Part::Kind::Around) continue;
        found.push_back(&part);
        const std::vector<Part*> inside = numbered_loops(part.inside);
        found.insert(found.end(), inside.begin(), inside.end());
    }
    return found;
}

Body with_loads(const Kernel& kernel, const Body& body, const ReplaceLoad& f) {
    Body result;
    for (const Stmt& stmt : body) {
        if (const Loop* const loop = stmt.loop()) {
            Loop other = loop->with(with_loads(kernel, loop->body, f));
            if (other.count) other.count = with_loads(kernel, other.count, f);
            result.emplace_back(std::move(other));
        } else if (const Store* const store = stmt.store()) {
            result.emplace_back(
                Store{store->buffer, with_loads(kernel, store->index, f), with_loads(kernel, store->value, f)});
        }
    }
    return result;
}

namespace {

// index - number of the iteration, if that is a constant, and multiples of the threads.
std::optional<LinearForm> moved_by(const Kernel& kernel, const NodeRef& index, const std::vector<NodeRef>& vars,
                                   std::int64_t threads) {
    const NodeRef number = kernel.make(ir::Op::LoopVar, DType::I64, {}, ir::LoopArg{kernel.next_var, product(vars)});
    const NodeRef at = substitute(kernel, index, counted(kernel, vars, number));
    LinearForm moved = linear_form(*ir::simplify_index(*kernel.interner, kernel.binary(ir::Op::Sub, at, number)));
    if (!moved.exact) return {};
    for (const LinearForm::Term& term : moved.terms)
        if (term.factor % threads || ir::depends_on(NodeRef(term.atom), kernel.next_var)) return {};
    return moved;
}

}  // namespace

std::optional<std::int64_t> own_place(const Kernel& kernel, const NodeRef& index, const std::vector<NodeRef>& vars,
                                      std::int64_t threads) {
    const std::optional<LinearForm> moved = moved_by(kernel, index, vars, threads);
    if (!moved) return {};
    return (moved->constant % threads + threads) % threads;
}

NodeRef own_slot(const Kernel& kernel, const NodeRef& index, const std::vector<NodeRef>& vars, std::int64_t first,
                 std::int64_t threads) {
    const std::optional<LinearForm> moved = moved_by(kernel, index, vars, threads);
    if (!moved || (moved->constant - first) % threads) return nullptr;
    NodeRef slot = kernel.index((moved->constant - first) / threads);
    for (const LinearForm::Term& term : moved->terms)
        slot = kernel.add(slot, kernel.mul(NodeRef(term.atom), kernel.index(term.factor / threads)));
    return ir::simplify_index(*kernel.interner, slot);
}

std::set<int> find_places(const Kernel& kernel, Parts& parts, std::int64_t threads) {
    const auto is_array = [&](int b) {
        const Buffer& buffer = kernel.buffers[static_cast<std::size_t>(b)];
        return buffer.role == Buffer::Role::Local && buffer.size > 1;
    };
    std::set<int> owned, refused;
    for_each_part(parts, [&](Part& part) {
        part.first.reset();
        for_each_store(part.body, [&](const Store& store, std::span<const Loop* const>) {
            if (!is_array(store.buffer)) return;
            const auto first =
                part.kind == Part::Kind::Shared ? own_place(kernel, store.index, part.vars, threads) : std::nullopt;
            if (first && first == part.first.value_or(*first)) {
                part.first = first;
                owned.insert(store.buffer);
            } else {
                refused.insert(store.buffer);
            }
        });
    });
    for (const int b : refused) owned.erase(b);
    return owned;
}

bool is_loaded(const Part& part, int local) {
    return std::ranges::any_of(uses_of(part.body).loads,
                               [&](const NodeRef& load) { return load->as<ir::LoadArg>().buffer == local; });
}

bool loads_own(const Kernel& kernel, const Part& part, int local, std::int64_t threads) {
    if (part.kind != Part::Kind::Shared) return !is_loaded(part, local);
    for (const NodeRef& load : uses_of(part.body).loads)
        if (load->as<ir::LoadArg>().buffer == local &&
            own_place(kernel, load->sources[0], part.vars, threads) != part.first.value_or(0))
            return false;
    return true;
}

}  // namespace weft::kernel
