// kernel/optimise.cpp: the list of passes; a pass chooses, by pure functions of the kernel and the target, and applies what it chose. Tile first: it replaces a contraction's loops
// as a whole. Unflatten before all that look for loops along memory. Transpose before parallel: which loop is outermost decides how
// memory is read. Parallel before vector: a chunk is a whole number of vectors. Distribute after parallel: it cuts the loops of a chunk.
// Both jams (jam_rows, jam_vectors) after vector: whole vectors are doubled. Prefetch after them: its hints are no part of what they look
// at. Poll last: it asks how long the loops take that will run.
#include "kernel/optimise.h"

#include "kernel/passes.h"

#include <algorithm>

namespace weft::kernel {
namespace {

struct Pass {
    std::string_view name;
    Decisions (*choose)(const Kernel&, const Target&);
    Kernel (*apply)(Kernel, const Decisions&);
    bool repeats = false;  // until nothing more is chosen
    Processor processor = Processor::Cpu;
};
constexpr Pass kPasses[] = {{"tile", choose_tiles, tile_contractions},
                            {"unflatten", choose_unflatten, unflatten_loops, true},  // rows of rows
                            {"columns", choose_columns, sum_columns},
                            {"transpose", choose_transposes, transpose_blocks},
                            {"peel", choose_cuts, peel_gates},
                            {"parallel", choose_chunks, split_for_threads},
                            {"distribute", choose_distribution, distribute_stores},
                            {"vector", choose_vectors, widen_loops},
                            {"segments", choose_segments, load_segments},
                            {"jam_rows", choose_jammed_rows, jam_rows},
                            {"jam_vectors", choose_jammed_vectors, jam_vectors},
                            {"prefetch", choose_prefetches, prefetch_rows},
                            {"stream", choose_streams, mark_streams},
                            {"poll", choose_polls, poll_long_loops},
                            {"block_tile", choose_block_tiles, tile_for_blocks, false, Processor::Gpu},
                            {"grid", choose_grid, share_among_threads, false, Processor::Gpu}};
static_assert(std::ranges::equal(kPasses, kPassNames, {}, &Pass::name));  // what WEFT_OPT accepts

constexpr std::size_t kLine = 64;

}  // namespace

std::vector<std::string_view> pass_names() {
    std::vector<std::string_view> names;
    for (const Pass& pass : kPasses) names.push_back(pass.name);
    return names;
}

void place_locals(Kernel& kernel) {
    std::size_t at = 0;
    for (Buffer& buffer : kernel.buffers) {
        if (buffer.memory != Buffer::MemoryType::Scratch) continue;
        buffer.scratch_offset = static_cast<std::int64_t>(at);
        const std::size_t bytes = static_cast<std::size_t>(buffer.size) * size_of(buffer.dtype);
        at += (bytes + kLine - 1) / kLine * kLine;
    }
    kernel.scratch_bytes = at;
}

Kernel optimise(Kernel kernel, const Target& target, std::span<const std::string_view> without, const Trace& trace) {
    if (trace) trace("lower", kernel);
    for (const Pass& pass : kPasses) {
        if (pass.processor != target.processor || target.is_off(pass.name)) continue;
        if (std::ranges::find(without, pass.name) != without.end()) continue;
        for (bool again = true; again;) {
            Decisions chosen = pass.choose(kernel, target);
            again = pass.repeats && !chosen.empty();
            if (chosen.empty()) break;
            kernel = pass.apply(std::move(kernel), chosen);
            std::ranges::move(chosen, std::back_inserter(kernel.schedule));
        }
        if (trace) trace(pass.name, kernel);
    }
    verify(kernel, "optimise");
    place_locals(kernel);
    return kernel;
}

}  // namespace weft::kernel
