// backend/cuda/shared_memory.cpp: see shared_memory.h.
#include "backend/cuda/shared_memory.h"

#include "kernel/nest.h"

#include <algorithm>
#include <set>

namespace weft::backend::cuda {
namespace {

using kernel::Body;
using kernel::Buffer;
using kernel::Loop;
using kernel::LoopKind;
using kernel::Stmt;

constexpr std::int64_t kReused = 48 * 1024;  // bytes in all, from which on it is worth a barrier to share them
constexpr std::int64_t kAligned = 16,
                       kSwizzled = 1024;  // factors of tensor cores, whose rows are swizzled by their addresses

std::int64_t rounded_up(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

// What tensor cores multiply.
std::set<int> factors_of(const kernel::Kernel& kernel) {
    std::set<int> factors;
    kernel::for_each_store(kernel.body, [&](const kernel::Store&, std::span<const Loop* const> around) {
        if (around.empty() || !around.back()->product) return;
        factors.insert({around.back()->product->left.local, around.back()->product->right.local});
    });
    return factors;
}

// The statements of blocks, numbered in their order.
class Lifetimes {
public:
    explicit Lifetimes(std::vector<SharedPlace>& places) : places_(places) {}

    void walk(const Body& body) {
        for (const Stmt& stmt : body) {
            const Loop* const loop = stmt.loop();
            if (loop && loop->kind == LoopKind::Block) walk(loop->body);
            else if (loop) use(loop->body), ++statement_;
        }
    }

private:
    void use(const Body& body) {
        kernel::for_each_store(body, [&](const kernel::Store& store, std::span<const Loop* const>) {
            kernel::Uses uses;
            kernel::collect_uses(store.value, uses);
            kernel::collect_uses(store.index, uses);
            for (const ir::NodeRef& load : uses.loads) note(load->as<ir::LoadArg>().buffer);
            note(store.buffer);
        });
    }
    void note(int b) {
        SharedPlace& place = places_[static_cast<std::size_t>(b)];
        if (place.last < place.first) place.first = statement_;
        place.last = statement_;
    }

    std::vector<SharedPlace>& places_;
    int statement_ = 0;
};

std::int64_t arrange(std::vector<SharedPlace>& places, const std::vector<std::size_t>& wanted,
                     const std::set<int>& factors, bool reuse) {
    std::int64_t total = 0;
    std::vector<const SharedPlace*> placed;
    for (const std::size_t b : wanted) {
        SharedPlace& place = places[b];
        const std::int64_t aligned = factors.contains(static_cast<int>(b)) ? kSwizzled : kAligned;
        place.offset = reuse ? 0 : rounded_up(total, aligned);
        const auto in_the_way = [&](const SharedPlace* other) {
            return place.meets(*other) && place.first <= other->last && other->first <= place.last;
        };
        for (auto found = placed.begin(); reuse && found != placed.end();) {
            found = std::ranges::find_if(placed, in_the_way);
            if (found != placed.end()) place.offset = rounded_up((*found)->offset + (*found)->bytes, aligned);
        }
        placed.push_back(&place);
        total = std::max(total, place.offset + place.bytes);
    }
    return total;
}

}  // namespace

std::vector<SharedPlace> place_in_shared_memory(const kernel::Kernel& kernel, const Expanded& expanded,
                                                std::int64_t most) {
    std::vector<SharedPlace> places(kernel.buffers.size());
    std::vector<std::size_t> wanted;
    for (std::size_t b = 0; b < places.size(); ++b) {
        const Buffer& buffer = kernel.buffers[b];
        if (buffer.memory != Buffer::MemoryType::Shared || !expanded.buffers[b].used) continue;
        const std::int64_t bytes =
            std::max<std::int64_t>(1, buffer.size) * static_cast<std::int64_t>(size_of(buffer.dtype));
        places[b].bytes = rounded_up(bytes, kAligned);
        wanted.push_back(b);
    }
    Lifetimes(places).walk(expanded.body);
    std::ranges::stable_sort(wanted, {}, [&](std::size_t b) { return -places[b].bytes; });
    const std::set<int> factors = factors_of(kernel);
    if (arrange(places, wanted, factors, false) <= kReused) return places;
    while (arrange(places, wanted, factors, true) > most) {
        places[wanted.front()].offset = SharedPlace::kNone;
        wanted.erase(wanted.begin());
    }
    return places;
}

}  // namespace weft::backend::cuda
