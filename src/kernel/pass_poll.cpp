// kernel/pass_poll.cpp: the "poll" pass: loops that may run for long ask the runtime between iterations whether to go on, so that an
// interrupt is heard inside a chunk: a product of large matrices, a scan of one long row. Where the iterations are too short to ask in
// each, the loop becomes blocks of iterations. Nearly all kernels are shorter than that and stay as they are.
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "ir/walk.h"

#include <algorithm>

namespace weft::kernel {
namespace {

// In instructions, of vectors or scalars: about a nanosecond each at most, often a quarter. A block takes a few milliseconds.
constexpr std::int64_t kLong = 1 << 24, kBlock = 1 << 22;
constexpr std::int64_t kMissedCache = 64;  // a load whose index is data may wait for memory
constexpr std::int64_t kUnbounded = std::int64_t{1} << 62;

std::int64_t times(std::int64_t a, std::int64_t b) {
    std::int64_t product;
    return __builtin_mul_overflow(a, b, &product) ? kUnbounded : std::min(product, kUnbounded);
}

bool loads_by_data(const ir::Node& load) {
    Uses uses;
    collect_uses(load.sources[0], uses);
    return !uses.loads.empty();
}

std::int64_t cost_of(const Body& body);

std::int64_t cost_of(const Stmt& stmt) {
    if (const Loop* loop = stmt.loop())
        return times(loop->kind == LoopKind::Vector ? 1 : loop->extent(), cost_of(loop->body));
    std::int64_t cost = 1;
    if (stmt.prefetch()) return 1;
    const NodeRef roots[] = {stmt.store()->value, stmt.store()->index};
    for (const ir::Node* node : ir::topological_order(roots)) {
        const bool ratio = node->op == ir::Op::IDiv || node->op == ir::Op::Mod;
        if (node->op == ir::Op::Load) cost += loads_by_data(*node) ? kMissedCache : 0;
        else if (!node->sources.empty() && (node->dtype != DType::I64 || ratio)) cost += ir::info(node->op).cost;
    }
    return cost;  // most sums of indices are computed outside of the loop
}

std::int64_t cost_of(const Body& body) {
    std::int64_t cost = 0;
    for (const Stmt& stmt : body) cost = std::min(kUnbounded, cost + cost_of(stmt));
    return cost;
}

// Whole blocks, of which the loop polls, and what is left. A count is known before the loop: it counts down by blocks.
Body in_blocks(Kernel& kernel, const Loop& loop, std::int64_t block) {
    const auto part = [&](const NodeRef& start, std::int64_t size) {
        const NodeRef inner = kernel.new_var(size);
        return Loop{.var = inner,
                    .kind = LoopKind::Serial,
                    .body = copy(kernel, loop.body, {{loop.id(), kernel.add(start, inner)}}),
                    .independent = loop.independent,
                    .count = loop.count ? kernel.binary(ir::Op::Sub, loop.count, start) : nullptr};
    };
    const std::int64_t whole = loop.extent() / block, tail = loop.extent() % block;
    const NodeRef number = kernel.new_var(whole);
    Body body{Loop{.var = number,
                   .kind = LoopKind::Serial,
                   .body = Body{part(kernel.mul(number, kernel.index(block)), block)},
                   .independent = loop.independent,
                   .polls = true}};
    if (tail > 0) body.emplace_back(part(kernel.index(whole * block), tail));
    return body;
}

void choose_polls(const Body& body, Decisions& chosen) {
    for (const Stmt& stmt : body) {
        const Loop* const loop = stmt.loop();
        const bool runs = loop && (loop->kind == LoopKind::Serial || loop->kind == LoopKind::Parallel);
        const std::int64_t iteration = runs ? std::max<std::int64_t>(1, cost_of(loop->body)) : 0;
        if (!runs || times(loop->extent(), iteration) <= kLong) continue;
        if (iteration > kLong) choose_polls(loop->body, chosen);
        if (loop->kind == LoopKind::Serial)  // between chunks the runtime asks
            chosen.emplace_back(Poll{loop->id(), std::max<std::int64_t>(1, kBlock / iteration)});
    }
}

Body polling(Kernel& kernel, Body body, const Decisions& chosen) {
    Body result;
    for (Stmt& stmt : body) {
        Loop* const loop = stmt.loop();
        if (loop) loop->body = polling(kernel, std::move(loop->body), chosen);
        const Poll* const poll = loop ? find_decision<Poll>(chosen, loop->id()) : nullptr;
        if (poll && poll->iterations > 1) {
            append(result, in_blocks(kernel, *loop, poll->iterations));
            continue;
        }
        if (poll) loop->polls = true;
        result.push_back(std::move(stmt));
    }
    return result;
}

}  // namespace

Decisions choose_polls(const Kernel& kernel, const Target&) {
    Decisions chosen;
    if (cost_of(kernel.body) > kLong) choose_polls(kernel.body, chosen);
    return chosen;
}

Kernel poll_long_loops(Kernel kernel, const Decisions& chosen) {
    kernel.body = polling(kernel, std::move(kernel.body), chosen);
    return kernel;
}

}  // namespace weft::kernel
