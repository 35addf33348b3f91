// kernel/contraction_nest.cpp: from the parts of a contraction to annotated loops, and back.
#include "kernel/contraction_nest.h"

#include "kernel/nest.h"

#include <algorithm>

namespace weft::kernel {
namespace {

using ir::Op;

using Stmts = std::span<const Stmt>;

Body sum_loops(const std::vector<NodeRef>& vars, Body body, LoopRole role) {
    Body loops = nested(vars, std::move(body), false);
    annotate(loops, std::vector(vars.size(), role));
    return loops;
}

// The loops of these roles that stand alone in each other, and the body inside.
template <class Is>
Stmts enter(Stmts body, Is is, std::vector<const Loop*>& loops) {
    while (body.size() == 1 && body[0].loop() && is(body[0].loop()->role)) {
        loops.push_back(body[0].loop());
        body = loops.back()->body;
    }
    return body;
}

std::vector<NodeRef> vars_of(const std::vector<const Loop*>& loops) {
    std::vector<NodeRef> vars;
    for (const Loop* loop : loops) vars.push_back(loop->var);
    return vars;
}

// The statements of plain_loops(), one by one: local = 0; the terms.
bool read_sum(const Kernel& kernel, const Stmt& zero, const Stmt& terms, ContractionNest& nest) {
    if (!zero.store()) return false;
    nest.acc = zero.store()->buffer;
    nest.accumulate = kernel.buffers[static_cast<std::size_t>(nest.acc)].dtype;
    std::vector<const Loop*> loops;
    const Stmts inside = enter(
        {&terms, 1}, [](LoopRole role) { return role == LoopRole::Sum; }, loops);
    const Store* const term = inside.size() == 1 ? inside[0].store() : nullptr;
    if (!term || term->buffer != nest.acc || term->value->op != Op::Fma) return false;
    nest.inner = vars_of(loops);
    if (!loops.empty()) nest.inner_count = loops[0]->count;
    nest.left = term->value->sources[0];
    nest.right = term->value->sources[1];
    return true;
}

// The body inside the loops over the output: the sum, in blocks or not, and the epilogue.
bool read_body(const Kernel& kernel, Stmts body, ContractionNest& nest) {
    if (body.size() < 3) return false;
    nest.epilogue = Body(body.begin() + 2, body.end());
    std::vector<const Loop*> blocks;
    const Stmts block = enter(
        body.subspan(1, 1), [](LoopRole role) { return role == LoopRole::SumBlock; }, blocks);
    nest.outer = vars_of(blocks);
    if (blocks.empty()) {
        if (!read_sum(kernel, body[0], body[1], nest)) return false;
        nest.total = nest.acc;
        return true;
    }
    if (!body[0].store() || block.size() != 3 || !read_sum(kernel, block[0], block[1], nest)) return false;
    nest.total = body[0].store()->buffer;
    return true;
}

}  // namespace

Body plain_loops(const Kernel& kernel, const ContractionNest& nest) {
    const NodeRef zero = kernel.index(0), identity = kernel.constant(nest.accumulate, 0);
    const NodeRef acc = kernel.load(nest.acc, zero);
    Body sum =
        sum_loops(nest.inner, Body{Store{nest.acc, zero, kernel.fma(nest.left, nest.right, acc)}}, LoopRole::Sum);
    if (nest.inner_count) sum[0].loop()->count = nest.inner_count;
    sum.insert(sum.begin(), Store{nest.acc, zero, identity});
    if (!nest.outer.empty()) {
        sum.emplace_back(Store{nest.total, zero, kernel.add(kernel.load(nest.total, zero), acc)});
        sum = sum_loops(nest.outer, std::move(sum), LoopRole::SumBlock);
        sum.insert(sum.begin(), Store{nest.total, zero, identity});
    }
    append(sum, nest.epilogue);
    Body loops = nested(nest.rows, std::move(sum), true);
    annotate(loops, nest.sides);
    return loops;
}

std::vector<ContractionNest> contractions_of(const Kernel& kernel) {
    if (!has_contraction(kernel.body)) return {};
    std::vector<ContractionNest> nests;
    for (const Stmt& phase : kernel.body) {
        std::vector<const Loop*> loops;
        const Stmts inside = enter({&phase, 1}, is_over_output, loops);
        ContractionNest& nest = nests.emplace_back();
        nest.rows = vars_of(loops);
        for (const Loop* loop : loops) nest.sides.push_back(loop->role);
        if (!read_body(kernel, inside, nest)) return {};
    }
    return nests;
}

void annotate(Body& loops, std::span<const LoopRole> roles) {
    if (roles.empty()) return;
    loops[0].loop()->role = roles[0];
    annotate(loops[0].loop()->body, roles.subspan(1));
}

bool has_contraction(const Body& body) {
    return std::ranges::any_of(body, [](const Stmt& stmt) {
        const Loop* const loop = stmt.loop();
        return loop && (loop->role != LoopRole::None || has_contraction(loop->body));
    });
}

}  // namespace weft::kernel
