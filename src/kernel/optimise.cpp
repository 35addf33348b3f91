// kernel/optimise.cpp: the list of passes; a pass is a pure function, Kernel -> Kernel. Tile first: it replaces a contraction's loops
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
    Kernel (*run)(Kernel, const Target&);
};
constexpr Pass kPasses[] = {{"tile", tile_contraction},
                            {"unflatten", unflatten_loops},
                            {"columns", sum_columns},
                            {"transpose", transpose_blocks},
                            {"peel", peel_gates},
                            {"parallel", split_for_threads},
                            {"distribute", distribute_stores},
                            {"vector", widen_loops},
                            {"segments", load_segments},
                            {"jam_rows", jam_rows},
                            {"jam_vectors", jam_vectors},
                            {"prefetch", prefetch_rows},
                            {"stream", mark_streams},
                            {"poll", poll_long_loops}};
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
    for (const auto& [name, run] : kPasses) {
        if (target.is_off(name)) continue;
        if (std::ranges::find(without, name) != without.end()) continue;
        kernel = run(std::move(kernel), target);
        if (trace) trace(name, kernel);
    }
    verify(kernel, "optimise");
    place_locals(kernel);
    return kernel;
}

}  // namespace weft::kernel
