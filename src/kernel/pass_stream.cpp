// kernel/pass_stream.cpp: the "stream" pass: marks outputs that are too large for the caches, written once and not read again, so that
// a backend may write them past the cache. Memory then need not be read before it is overwritten.
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "ir/symbolic.h"

#include <algorithm>
#include <unordered_set>
#include <vector>

namespace weft::kernel {
namespace {

// Bytes. Measured: an output that takes no more than half of the last cache is better off there, with what is read to make it in the
// other half. Where a cache is larger than 32 MB it is shared with many cores, and ours is not all of it.
constexpr std::int64_t kSmallestLarge = 4 << 20, kLargestLarge = 16 << 20;

struct Written {
    std::int64_t elements = 0;  // at most: a condition (a loop that runs once or not at all) counts as met
    bool known = true;          // where and how often is known: no loop with a count, no index that is data
    bool jumps = true;          // in all of its stores
};

// Every iteration of the innermost loop is another page, as in a transpose, and all rows begin at the same place in a line.
bool jumps(const Kernel& kernel, const Store& store, std::span<const Loop* const> around) {
    constexpr std::int64_t kLine = 64, kPage = 4096;
    bool result = false;
    for (const Loop* loop : around) {
        if (loop->kind == LoopKind::Vector || loop->extent() == 1) continue;
        const auto stride = ir::stride_of(*kernel.interner, store.index, loop->id());
        if (!stride) return false;
        const std::int64_t bytes = *stride * static_cast<std::int64_t>(size_of(kernel.buffers[store.buffer].dtype));
        if (bytes >= kPage && bytes % kLine != 0) return false;
        if (loop->kind == LoopKind::Serial) result = bytes >= kPage;
    }
    return result;
}

// The lines of a transpose that are being written may all fall into one set of the cache. AVX2 stores them in two halves: such a line is
// read before it is overwritten, and again if it had to go in between.
std::int64_t large_jumping_output(const Target& target) {
    return target.level == CpuLevel::Avx2 ? large_output(target) / 2 : large_output(target);
}

}  // namespace

std::int64_t large_output(const Target& target) {
    return std::clamp(target.last_level_cache / 2, kSmallestLarge, kLargestLarge);
}

Decisions choose_streams(const Kernel& kernel, const Target& target) {
    std::vector<Written> written(kernel.buffers.size());
    for_each_store(kernel.body, [&](const Store& store, std::span<const Loop* const> around) {
        if (kernel.buffers[store.buffer].role != Buffer::Role::Output) return;
        Written& to = written[store.buffer];
        std::int64_t times = 1;
        for (const Loop* loop : around) {
            to.known &= !loop->count || loop->extent() == 1;
            to.known &= !__builtin_mul_overflow(times, loop->extent(), &times);
        }
        to.jumps &= jumps(kernel, store, around);
        Uses uses;
        collect_uses(store.index, uses);
        to.known &= uses.loads.empty() && !__builtin_add_overflow(to.elements, times, &to.elements);
    });
    std::unordered_set<int> loaded;
    for (const NodeRef& load : uses_of(kernel.body).loads) loaded.insert(load->as<ir::LoadArg>().buffer);
    Decisions chosen;
    for (std::size_t b = 0; b < kernel.buffers.size(); ++b) {
        const Buffer& buffer = kernel.buffers[b];
        const std::int64_t elements = std::min(written[b].elements, buffer.size);
        const std::int64_t bytes = elements * static_cast<std::int64_t>(size_of(buffer.dtype));
        const bool large = written[b].jumps ? bytes >= large_jumping_output(target) : bytes > large_output(target);
        if (!large || !written[b].known || loaded.contains(static_cast<int>(b))) continue;
        chosen.emplace_back(Stream{static_cast<int>(b)});
    }
    return chosen;
}

Kernel mark_streams(Kernel kernel, const Decisions& chosen) {
    for (const Decision& decision : chosen)
        kernel.buffers[static_cast<std::size_t>(std::get<Stream>(decision).buffer)].stream = true;
    return kernel;
}

}  // namespace weft::kernel
