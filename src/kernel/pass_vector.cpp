// kernel/pass_vector.cpp: the "vector" pass: independent loops run in lanes. The innermost independent loop is taken; where all of
// those are short (10 classes), the loop around them, so that lanes run over rows.
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <cstdlib>

namespace weft::kernel {
namespace {

constexpr std::int64_t kShortLoop = 16;
constexpr std::int64_t kNear = 4;            // elements from lane to lane
constexpr std::int64_t kMostUnrolled = 512;  // expression nodes, before common ones are merged

struct Contents {
    bool independent = false;  // has an independent loop inside
    std::int64_t longest = 0;  // … the longest of them
    bool arrays = false;       // stores to a local that is an array: it has no lane of its own
    bool counted = false;      // has a loop with a count that differs from lane to lane
};

// What is inside a loop with this variable.
Contents contents_of(const Kernel& kernel, const Body& body, int var) {
    Contents all;
    for (const Stmt& stmt : body) {
        if (const Store* store = stmt.store()) {
            const Buffer& buffer = kernel.buffers[store->buffer];
            all.arrays |= buffer.role == Buffer::Role::Local && buffer.size > 1;
            continue;
        }
        if (stmt.prefetch()) {  // of a tile, whose lanes are chosen
            all.arrays = true;
            continue;
        }
        const Loop& loop = *stmt.loop();
        const Contents inner = contents_of(kernel, loop.body, var);
        all.independent |= inner.independent || loop.independent;
        all.longest = std::max({all.longest, inner.longest, loop.independent ? loop.extent() : 0});
        all.arrays |= inner.arrays;
        all.counted |= inner.counted || (loop.count && ir::depends_on(loop.count, var));
    }
    return all;
}

class ChooseVectors {
public:
    explicit ChooseVectors(const Kernel& kernel) : kernel_(kernel) {}

    void operator()(const Body& body, Decisions& chosen) const {
        for (const Stmt& stmt : body) {
            const Loop* loop = stmt.loop();
            if (!loop) continue;
            if (!worth_it(*loop)) (*this)(loop->body, chosen);
            else if (is_lane_loop(*loop))
                chosen.emplace_back(Vectorize{loop->id(), static_cast<int>(loop->extent()), true});
            else {
                Vectorize widened{loop->id(), lanes_for(kernel_, loop->body)};
                choose_unrolled(loop->body, widened.unrolled);
                chosen.emplace_back(std::move(widened));
            }
        }
    }

private:
    bool worth_it(const Loop& loop) const {
        if (!loop.independent || loop.kind != LoopKind::Serial || loop.count || loop.extent() < 2) return false;
        const Contents inside = contents_of(kernel_, loop.body, loop.id());
        if (loop.extent() <= kMaxLanes && !inside.independent && !inside.counted) {
            bool loops =
                std::any_of(loop.body.begin(), loop.body.end(), [](const Stmt& s) { return s.loop() != nullptr; });
            if (!loops) return true;  // a lane loop as lowering made it, or a short one
        }
        if (inside.arrays || inside.counted) return false;
        return !inside.independent ||
               (loop.extent() >= kShortLoop && inside.longest < kShortLoop && !dense_inside(loop));
    }

    // Is there one loop inside that fills half of the lanes or more, along which stores are dense and loads are near each other? Lanes
    // over the rows would gather and scatter instead.
    bool dense_inside(const Loop& loop) const {
        const Loop* inner = loop.body.size() == 1 ? loop.body[0].loop() : nullptr;
        if (!inner || !inner->independent || inner->count || inner->extent() < kMaxLanes / 2) return false;
        const auto step = [&](const NodeRef& index) { return ir::stride_of(*kernel_.interner, index, inner->id()); };
        bool dense = true;
        for_each_store(inner->body, [&](const Store& store, std::span<const Loop* const>) {
            dense &= kernel_.buffers[store.buffer].role == Buffer::Role::Local || step(store.index) == 1;
        });
        const Uses uses = uses_of(inner->body);
        return dense && std::all_of(uses.loads.begin(), uses.loads.end(), [&](const NodeRef& load) {
                   const auto stride = step(load->sources[0]);
                   return stride && std::abs(*stride) <= kNear;
               });
    }

    // Short loops inside lanes (the taps of a window, a few classes) are written out: then each gate is a constant mask or is gone,
    // and nothing counts. Returns the number of expression nodes afterwards.
    static std::int64_t choose_unrolled(const Body& body, std::vector<int>& unrolled) {
        std::int64_t nodes = 0;
        for (const Stmt& stmt : body) {
            if (const Store* store = stmt.store()) {
                const NodeRef roots[] = {store->index, store->value};
                nodes += static_cast<std::int64_t>(ir::topological_order(roots).size());
            }
            const Loop* const loop = stmt.loop();
            if (!loop) continue;
            std::int64_t inside = choose_unrolled(loop->body, unrolled);
            if (loop->kind == LoopKind::Serial && !loop->count && loop->extent() <= kMaxLanes &&
                inside <= kMostUnrolled / std::max<std::int64_t>(1, loop->extent())) {
                unrolled.push_back(loop->id());
                inside *= loop->extent();
            }
            nodes += inside;
        }
        return nodes;
    }

    // As lowering made it: its locals are indexed by the lane.
    bool is_lane_loop(const Loop& loop) const {
        const bool flat =
            std::none_of(loop.body.begin(), loop.body.end(), [](const Stmt& s) { return s.loop() != nullptr; });
        return flat && loop.extent() <= kMaxLanes && contents_of(kernel_, loop.body, loop.id()).arrays;
    }

    const Kernel& kernel_;
};

class VectorLoops {
public:
    VectorLoops(Kernel& kernel, const Decisions& chosen) : kernel_(kernel), chosen_(chosen) {}

    Body operator()(const Body& body) {
        Body result;
        for (const Stmt& stmt : body) {
            const Loop* loop = stmt.loop();
            if (!loop) result.push_back(stmt);
            else if (const Vectorize* widened = find_decision<Vectorize>(chosen_, loop->id()))
                widen(*loop, *widened, result);
            else result.emplace_back(loop->with((*this)(loop->body)));
        }
        return result;
    }

private:
    void widen(const Loop& loop, const Vectorize& chosen, Body& result) {
        if (chosen.whole) {
            result.emplace_back(Loop{loop.var, LoopKind::Vector, loop.body, true, nullptr});
            return;
        }
        const int lanes = chosen.lanes;
        const std::int64_t whole = loop.extent() / lanes, tail = loop.extent() % lanes;
        if (whole > 0) {
            const NodeRef v = kernel_.new_var(whole), l = kernel_.new_var(lanes);
            const NodeRef at = kernel_.add(kernel_.mul(v, kernel_.index(lanes)), l);
            result.emplace_back(Loop{v, LoopKind::Serial, Body{vector(loop, chosen, l, at)}, true, nullptr});
        }
        if (tail > 0) {
            const NodeRef l = kernel_.new_var(tail);
            result.push_back(vector(loop, chosen, l, kernel_.add(kernel_.index(whole * lanes), l)));
        }
    }

    Stmt vector(const Loop& loop, const Vectorize& chosen, const NodeRef& lane, const NodeRef& at) {
        Body inside = loop.body;
        unroll(inside, chosen.unrolled);
        const Body body = copy(kernel_, inside, {{loop.id(), ir::simplify_index(*kernel_.interner, at)}});
        return Loop{lane, LoopKind::Vector, lane_private(kernel_, body, id_of(lane)), true, nullptr};
    }

    static void unroll(Body& body, const std::vector<int>& loops) {
        for (Stmt& stmt : body)
            if (Loop* const loop = stmt.loop()) {
                if (std::ranges::find(loops, loop->id()) != loops.end()) loop->kind = LoopKind::Unrolled;
                unroll(loop->body, loops);
            }
    }

    Kernel& kernel_;
    const Decisions& chosen_;
};

}  // namespace

Decisions choose_vectors(const Kernel& kernel, const Target&) {
    Decisions chosen;
    ChooseVectors{kernel}(kernel.body, chosen);
    return chosen;
}

Kernel widen_loops(Kernel kernel, const Decisions& chosen) {
    kernel.body = VectorLoops(kernel, chosen)(kernel.body);
    return kernel;
}

}  // namespace weft::kernel
