// kernel/pass_block_tile.cpp: the "block_tile" pass: on processors with thousands of threads, a contraction's output is cut into tiles, one
// for each block (kernel/block_tiles.h). Their products are computed by fused multiply-adds, or by tensor cores.
#include "kernel/block_tiles.h"
#include "kernel/box_copy.h"
#include "kernel/contraction_nest.h"
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "core/checked.h"
#include "core/tensor_cores.h"
#include "ir/walk.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>

namespace weft::kernel {
namespace {

using ir::Op;

constexpr std::int64_t kLeastBlockTiled =
    8;                                      // rows, columns or steps below: threads have elements of their own instead
constexpr std::int64_t kCheapEpilogue = 8;  // ops of an element that are written out for each one of a thread

// Of blocks and of threads: each divides evenly among them.
struct BlockShape {
    std::int64_t rows, columns, thread_rows, thread_columns, depth;
    std::int64_t threads() const { return rows / thread_rows * (columns / thread_columns); }
    // Blocks that a multiprocessor should have. Threads with large tiles wait for shared memory: eight warps hide that.
    std::int64_t blocks() const { return threads() <= 128 && thread_rows * thread_columns >= 32 ? 2 : 1; }
};
constexpr std::array kShapes = {
    BlockShape{128, 128, 8, 8, 16}, BlockShape{128, 64, 8, 8, 16}, BlockShape{64, 128, 8, 8, 16},
    BlockShape{128, 64, 8, 4, 16},  BlockShape{64, 64, 8, 4, 32},  BlockShape{32, 64, 8, 4, 32},
    BlockShape{256, 32, 8, 4, 16},  BlockShape{128, 32, 4, 4, 16}, BlockShape{32, 64, 4, 4, 32},
    BlockShape{32, 32, 4, 2, 32},   BlockShape{16, 32, 2, 2, 32},  BlockShape{8, 32, 1, 2, 32}};

std::int64_t ops_of(const Body& body) {
    std::vector<NodeRef> values;
    for_each_store(body, [&](const Store& store, std::span<const Loop* const>) { values.push_back(store.value); });
    std::int64_t ops = 0;
    for (const ir::Node* node : ir::topological_order(values)) ops += !node->sources.empty();
    return ops;
}

bool has_inner_loops(const Body& body) {
    return std::ranges::any_of(body, [](const Stmt& stmt) { return stmt.loop() != nullptr; });
}

// A tensor core multiplies these, as they are in memory.
const ir::Node* half_load(const NodeRef& factor) {
    if (factor->op != Op::Cast || factor->dtype != DType::F32) return nullptr;
    const ir::Node& load = factor->source();
    return load.op == Op::Load && is_half(load.dtype) ? &load : nullptr;
}

// … and these, rounded.
bool is_tf32(const ContractionNest& nest) {
    return nest.accumulate == DType::F32 && nest.left->op == Op::RoundTf32 && nest.right->op == Op::RoundTf32;
}

struct TensorShape {
    std::int64_t rows, columns, depth, slices;
};
constexpr std::array kTensorShapes = {TensorShape{128, 256, 64, 4}, TensorShape{128, 128, 64, 4},
                                      TensorShape{64, 128, 64, 4},
                                      TensorShape{kLeastTensorTile, kLeastTensorTile, 64, 4}};
constexpr std::array kWarpShapes = {TensorShape{kLeastTensorTile, kLeastTensorTile, 64, 4}};  // in less shared memory
constexpr std::int64_t kTf32Depth = 32;                                                       // as many bytes

bool is_for_tensor_cores(const ContractionNest& nest, const Target& target) {
    if (target.tensor_cores == TensorCores::None || nest.accumulate != DType::F32) return false;
    if (is_tf32(nest)) return true;
    const ir::Node *const left = half_load(nest.left), *const right = half_load(nest.right);
    return left && right &&
           multiplies_halves(target, left->dtype, right->dtype, nest.accumulate, product(of_side(nest, LoopRole::M)),
                             product(of_side(nest, LoopRole::N)));
}

// Whether a copy unit can bring the slices of both factors.
bool has_boxes(const Kernel& kernel, const ContractionNest& nest) {
    return !is_tf32(nest) && box_view(kernel, nest, nest.left->sources[0], LoopRole::M) &&
           box_view(kernel, nest, nest.right->sources[0], LoopRole::N);
}

std::optional<BlockTile> choose_tensor(const Kernel& kernel, const ContractionNest& nest, const Target& target,
                                       int statement) {
    const std::int64_t m = product(of_side(nest, LoopRole::M)), n = product(of_side(nest, LoopRole::N)),
                       batches = product(of_side(nest, LoopRole::Batch)), steps = product(nest.inner);
    const bool by_warps = target.tensor_cores == TensorCores::Warp;
    const auto shapes =
        by_warps ? std::span<const TensorShape>(kWarpShapes) : std::span<const TensorShape>(kTensorShapes);
    const TensorShape* shape = &shapes.back();
    const std::int64_t depth = is_tf32(nest) ? kTf32Depth : shape->depth;
    if (m <= shape->rows / 2 || n <= shape->columns / 2 || steps < depth / 2 || has_inner_loops(nest.epilogue))
        return {};
    for (const TensorShape& each : shapes) {
        const std::int64_t tiles = batches * ceil_div(m, each.rows) * ceil_div(n, each.columns);
        if (m <= each.rows / 2 || n <= each.columns / 2 || tiles * 8 < target.multiprocessors * 7) continue;
        shape = &each;
        break;
    }
    constexpr std::int64_t kColumns = 4;  // of threads
    BlockTile tile{statement, shape->rows, shape->columns, 2, shape->columns / kColumns, depth, shape->slices};
    tile.tensor = true;
    tile.boxes = !by_warps && has_boxes(kernel, nest);
    return tile;
}

// A slice of whole windows, where several loops count the sum's steps (channels, then the window of a convolution): each step of a slice is then at a
// place of the window that is known here, and what depends on it alone is computed once.
std::int64_t depth_of(const ContractionNest& nest, const BlockShape& shape) {
    const std::int64_t window = product(nest.inner) / extent_of(nest.inner[0]);
    const std::int64_t windows = (shape.depth + window / 2) / window, depth = windows * window;
    const bool all_share = depth * shape.rows % shape.threads() == 0 && depth * shape.columns % shape.threads() == 0;
    return windows > 0 && extent_of(nest.inner[0]) % windows == 0 && all_share ? depth : shape.depth;
}

std::optional<BlockTile> choose(const Kernel& kernel, const ContractionNest& nest, const Target& target,
                                int statement) {
    if (is_for_tensor_cores(nest, target))
        if (std::optional<BlockTile> tile = choose_tensor(kernel, nest, target, statement)) return tile;
    const std::int64_t m = product(of_side(nest, LoopRole::M)), n = product(of_side(nest, LoopRole::N)),
                       batches = product(of_side(nest, LoopRole::Batch)), steps = product(nest.inner);
    if (m < kLeastBlockTiled || n < kLeastBlockTiled || steps < kLeastBlockTiled || has_inner_loops(nest.epilogue))
        return {};
    const BlockShape* shape = &kShapes.back();
    for (const BlockShape& each : kShapes) {
        const bool doubles = nest.accumulate == DType::F64 && each.thread_rows * each.thread_columns > 16;
        if (doubles || m <= each.rows / 2 || n <= each.columns / 2 ||
            batches * ceil_div(m, each.rows) * ceil_div(n, each.columns) < each.blocks() * target.multiprocessors)
            continue;
        shape = &each;
        break;
    }
    BlockTile tile{statement,          shape->rows,           shape->columns,
                   shape->thread_rows, shape->thread_columns, depth_of(nest, *shape)};
    tile.slices = 3;
    tile.epilogue_in_registers = ops_of(nest.epilogue) <= kCheapEpilogue;
    return tile;
}

}  // namespace

Decisions choose_block_tiles(const Kernel& kernel, const Target& target) {
    Decisions chosen;
    int statement = 0;
    for (const ContractionNest& nest : contractions_of(kernel)) {
        if (std::optional<BlockTile> tile = choose(kernel, nest, target, statement)) chosen.emplace_back(*tile);
        ++statement;
    }
    return chosen;
}

Kernel tile_for_blocks(Kernel kernel, const Decisions& chosen) {
    const std::vector<ContractionNest> nests = contractions_of(kernel);
    for (const Decision& decision : chosen) {
        const auto& tile = std::get<BlockTile>(decision);
        const ContractionNest& nest = nests[static_cast<std::size_t>(tile.statement)];
        const auto make = !tile.tensor ? multiply_add_tiles : is_tf32(nest) ? tf32_tiles : tensor_tiles;
        kernel.body[static_cast<std::size_t>(tile.statement)] = make(kernel, nest, tile);
    }
    return kernel;
}

}  // namespace weft::kernel
