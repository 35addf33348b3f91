// kernel/pass_tile.cpp: the "tile" pass: a contraction's loops become register tiles over packed panels. One side of the output runs
// in lanes (the *vector* side, the one whose neighbours are neighbours in memory), the other is broadcast, row by row.
// tile_schedule.cpp decides, tile_loops.cpp and tile_pack.cpp make the loops.
#include "kernel/passes.h"
#include "kernel/tile_schedule.h"

#include <algorithm>

namespace weft::kernel {
namespace {

using ir::Op;

// Phases in one body. The n-th chunks of all of them are one chunk: they store to the same lines, and read about the same inputs.
Body merge_phases(Kernel& kernel, std::vector<Body> phases) {
    if (phases.size() == 1) return std::move(phases[0]);
    std::int64_t chunks = 0;
    for (const Body& phase : phases)
        if (const Loop* loop = phase[0].loop(); loop && loop->kind == LoopKind::Parallel)
            chunks = std::max(chunks, loop->extent());
    const NodeRef chunk = chunks > 0 ? kernel.new_var(chunks) : nullptr;
    Body all;
    for (Body& phase : phases) {
        const Loop* loop = phase[0].loop();
        const bool shared = chunk && phase.size() == 1 && loop && loop->independent && loop->extent() <= chunks;
        const std::int64_t extent = shared ? loop->extent() : 1;
        Body body = shared ? substitute(kernel, loop->body, {{loop->id(), chunk}}) : std::move(phase);
        if (chunk && extent != chunks) {
            const NodeRef left = kernel.binary(Op::Sub, kernel.index(extent), chunk);
            body = Body{Loop{kernel.new_var(1), LoopKind::Serial, std::move(body), false, left}};
        }
        append(all, std::move(body));
    }
    return chunk ? Body{Loop{chunk, LoopKind::Parallel, std::move(all), true, nullptr}} : all;
}

}  // namespace

Decisions choose_tiles(const Kernel& kernel, const Target& target) {
    Decisions chosen;
    int phase = 0;
    for (const ContractionNest& nest : contractions_of(kernel)) {
        if (std::optional<TileSchedule> schedule = choose_tile_schedule(kernel, nest, target)) {
            schedule->phase = phase;
            chosen.emplace_back(std::move(*schedule));
        }
        ++phase;
    }
    return chosen;
}

Kernel tile_contractions(Kernel kernel, const Decisions& chosen) {
    const std::vector<ContractionNest> nests = contractions_of(kernel);
    TileScratch scratch;
    std::vector<Body> phases;
    auto next = chosen.begin();
    for (int phase = 0; phase < static_cast<int>(nests.size()); ++phase) {
        const ContractionNest& nest = nests[static_cast<std::size_t>(phase)];
        const TileSchedule* const tile = next == chosen.end() ? nullptr : &std::get<TileSchedule>(*next);
        const bool tiled = tile && tile->phase == phase;
        phases.push_back(tiled ? apply_tile_schedule(kernel, nest, *tile, scratch) : plain_loops(kernel, nest));
        next += tiled;
    }
    kernel.body = merge_phases(kernel, std::move(phases));
    return kernel;
}

}  // namespace weft::kernel
