// kernel/pass_block_tile.cpp: the "block_tile" pass: on processors with thousands of threads, a contraction's output is cut into tiles, one
// for each block. The threads of a block bring the factors of some steps of the sum, a slice, into shared memory, and each multiplies and
// adds those of a tile of its own, in registers. An element's products are added by one thread, in the order of the plain loops. There is room
// for several slices: while one is multiplied, others are under way.
//
//     block over the tiles
//       threads: acc = 0
//       threads: slice 0;  threads: slice 1                           (one less than there is room for)
//       slices s of the sum
//         threads: slice s + 2;  for each step of slice s: acc += left * right;  at the end of a block of the sum: total += acc, acc = 0
//       threads: the epilogue
//
// Rows and columns beyond the output repeat the last one, and so do steps beyond the sum, which nobody adds.
#include "kernel/block_loops.h"
#include "kernel/contraction_nest.h"
#include "kernel/nest.h"
#include "kernel/passes.h"

#include "core/checked.h"
#include "ir/symbolic.h"
#include "ir/walk.h"

#include <algorithm>
#include <array>
#include <functional>
#include <optional>
#include <set>
#include <span>

namespace weft::kernel {
namespace {

using ir::Op;

constexpr std::int64_t kSmallest = 8;        // rows, columns or steps below: threads have elements of their own instead
constexpr std::int64_t kTogether = 4;        // elements that one instruction loads
constexpr std::int64_t kCheapEpilogue = 8;   // ops of an element that are written out for each one of a thread
constexpr std::int64_t kMostTotals = 32;     // of a thread in registers: two blocks fit a multiprocessor
constexpr std::int64_t kMostBlocks = 65535;  // along the second and third axis of blocks
constexpr std::int64_t kRasterRows =
    8;  // tiles below each other whose blocks follow each other: they share columns in the cache

// Of blocks and of threads: each divides evenly among them.
struct TileShape {
    std::int64_t rows, columns, thread_rows, thread_columns, depth;
    std::int64_t threads() const { return rows / thread_rows * (columns / thread_columns); }
};
constexpr std::array kShapes = {TileShape{128, 128, 8, 8, 16}, TileShape{256, 64, 8, 8, 16}, TileShape{64, 128, 8, 8, 16}, TileShape{128, 64, 8, 4, 16},
                                TileShape{64, 64, 8, 4, 16},   TileShape{256, 32, 8, 4, 16}, TileShape{128, 32, 4, 4, 16}, TileShape{32, 64, 4, 4, 32},
                                TileShape{32, 32, 4, 2, 32},   TileShape{16, 32, 2, 2, 32},
                                TileShape{8, 32, 1, 2, 32}};

std::vector<NodeRef> of_side(const ContractionNest& nest, LoopRole side) {
    std::vector<NodeRef> vars;
    for (std::size_t v = 0; v < nest.rows.size(); ++v)
        if (nest.sides[v] == side) vars.push_back(nest.rows[v]);
    return vars;
}

// A load of what is multiplied, as it is: a copy can be under way while threads go on.
bool is_plain(const ContractionNest& nest, const NodeRef& factor) {
    return factor->op == Op::Load && factor->dtype == nest.accumulate;
}

std::int64_t ops_of(const Body& body) {
    std::vector<NodeRef> values;
    for_each_store(body, [&](const Store& store, std::span<const Loop* const>) { values.push_back(store.value); });
    std::int64_t ops = 0;
    for (const ir::Node* node : ir::topological_order(values)) ops += !node->sources.empty();
    return ops;
}

bool has_loops(const Body& body) {
    return std::ranges::any_of(body, [](const Stmt& stmt) { return stmt.loop() != nullptr; });
}

std::optional<BlockTile> choose(const ContractionNest& nest, const Target& target, int statement) {
    const std::int64_t m = product(of_side(nest, LoopRole::M)), n = product(of_side(nest, LoopRole::N)),
                       batches = product(of_side(nest, LoopRole::Batch)), steps = product(nest.inner);
    if (m < kSmallest || n < kSmallest || steps < kSmallest || has_loops(nest.epilogue)) return {};
    const TileShape* shape = &kShapes.back();
    for (const TileShape& each : kShapes) {
        const bool doubles = nest.accumulate == DType::F64 && each.thread_rows * each.thread_columns > 16;
        if (doubles || m <= each.rows / 2 || n <= each.columns / 2 || batches * ceil_div(m, each.rows) * ceil_div(n, each.columns) < target.multiprocessors) continue;
        shape = &each;
        break;
    }
    BlockTile tile{statement, shape->rows, shape->columns, shape->thread_rows, shape->thread_columns, shape->depth};
    tile.slices = 3;
    tile.epilogue_in_registers = ops_of(nest.epilogue) <= kCheapEpilogue;
    return tile;
}

class Tiles {
public:
    Tiles(Kernel& kernel, const ContractionNest& nest, const BlockTile& tile)
        : kernel_(kernel),
          nest_(nest),
          tile_(tile),
          m_(of_side(nest, LoopRole::M)),
          n_(of_side(nest, LoopRole::N)),
          batch_(of_side(nest, LoopRole::Batch)) {
        left_ = {.factor = nest.left, .side = m_, .width = tile.rows};
        right_ = {.factor = nest.right, .side = n_, .width = tile.columns};
        for (Side* side : {&left_, &right_}) {
            side->along_sum = runs_along_sum(*side);
            const bool all = side->width * tile.depth / kTogether % thread_count() == 0;  // threads have a share
            side->together = all && !side->along_sum && moves_together(*side) ? kTogether : 1;
            side->pitch = side->width + (side->along_sum ? kTogether : 0);  // columns of threads are in other banks
            side->local = shared(side == &left_ ? "left" : "right", tile.slices * tile.depth * side->pitch);
            side->plain = is_plain(nest, side->factor);
            kernel_.buffers.back().late = tile.slices - 1;
        }
        acc_ = per_thread("acc");
        total_ = nest.outer.empty() ? acc_ : per_thread("total");
        if (total_ != acc_ && kernel_.buffers.back().size > kMostTotals)
            kernel_.buffers.back().memory = Buffer::MemoryType::Scratch;
    }

    Stmt operator()() {
        const std::vector<NodeRef> blocks = place();
        Body body{threads([&](const NodeRef&, const NodeRef&) {
            Body zeros = each_element([&](std::int64_t e) { return zero(acc_, e); });
            if (total_ != acc_) append(zeros, each_element([&](std::int64_t e) { return zero(total_, e); }));
            return zeros;
        })};
        const std::int64_t slices = slices_of_block() * product(nest_.outer);
        for (std::int64_t s = 0; s + 1 < tile_.slices; ++s)
            body.push_back(threads([&](const NodeRef& y, const NodeRef& x) {
                return s < slices ? copied(kernel_.index(s), kernel_.index(s), y, x) : Body{};
            }));
        std::erase_if(body, [](const Stmt& stmt) { return stmt.loop()->body[0].loop()->body.empty(); });
        const NodeRef s = kernel_.new_var(slices);
        Body steps{threads([&](const NodeRef& y, const NodeRef& x) { return of_slice(s, slices, y, x); })};
        body.emplace_back(Loop{s, LoopKind::Serial, std::move(steps), false, nullptr});
        append(body, tile_.epilogue_in_registers ? epilogue_in_registers() : epilogue_in_memory());
        for (std::size_t b = blocks.size(); b-- > 0;)
            body = Body{Loop{blocks[b], LoopKind::Block, std::move(body), true, nullptr}};
        return std::move(body[0]);
    }

private:
    // A factor, and how it is brought into shared memory: element `at` of step k of a slice lies at k * pitch + at.
    struct Side {
        NodeRef factor;
        std::vector<NodeRef> side;
        std::int64_t width = 0, pitch = 0;
        int local = -1;
        bool along_sum = false;     // memory runs along the sum
        bool plain = false;         // copied as it is
        std::int64_t together = 1;  // elements that one instruction copies
        NodeRef first;              // of the block's tile
    };

    int shared(std::string name, std::int64_t size) {
        const int local = kernel_.new_local(std::move(name), nest_.accumulate, size);
        kernel_.buffers.back().memory = Buffer::MemoryType::Shared;
        return local;
    }
    int registers(std::string name, DType dtype, std::int64_t size) {
        const int local = kernel_.new_local(std::move(name), dtype, size);
        kernel_.buffers.back().memory = Buffer::MemoryType::Register;
        return local;
    }
    int per_thread(std::string name) {
        const int local = registers(std::move(name), nest_.accumulate, tile_.thread_rows * tile_.thread_columns);
        kernel_.buffers.back().per_thread = true;
        return local;
    }
    NodeRef simplified(const NodeRef& index) const { return ir::simplify_index(*kernel_.interner, index); }
    NodeRef times(const NodeRef& a, std::int64_t by) const { return simplified(kernel_.mul(a, kernel_.index(by))); }
    NodeRef plus(const NodeRef& a, const NodeRef& b) const { return simplified(kernel_.add(a, b)); }
    NodeRef plus(const NodeRef& a, std::int64_t b) const { return plus(a, kernel_.index(b)); }
    NodeRef minus(const NodeRef& a, const NodeRef& b) const { return simplified(kernel_.binary(Op::Sub, a, b)); }
    NodeRef quotient(const NodeRef& a, std::int64_t by) const {
        return simplified(kernel_.binary(Op::IDiv, a, kernel_.index(by)));
    }
    NodeRef remainder(const NodeRef& a, std::int64_t by) const {
        return simplified(kernel_.binary(Op::Mod, a, kernel_.index(by)));
    }
    NodeRef element(int local, std::int64_t e) const { return kernel_.load(local, kernel_.index(e)); }
    Store zero(int local, std::int64_t e) const {
        return {local, kernel_.index(e), kernel_.constant(nest_.accumulate, 0)};
    }

    std::int64_t down() const { return ceil_div(product(m_), tile_.rows); }
    std::int64_t across() const { return ceil_div(product(n_), tile_.columns); }
    std::int64_t high() const { return tile_.rows / tile_.thread_rows; }  // threads
    std::int64_t wide() const { return tile_.columns / tile_.thread_columns; }
    std::int64_t thread_count() const { return high() * wide(); }

    Stmt threads(const std::function<Body(const NodeRef&, const NodeRef&)>& body) {
        const NodeRef y = kernel_.new_var(high()), x = kernel_.new_var(wide());
        Body inner{Loop{x, LoopKind::Thread, body(y, x), true, nullptr}};
        return Loop{y, LoopKind::Thread, std::move(inner), true, nullptr};
    }
    Body each_element(const std::function<Store(std::int64_t)>& store) const {
        Body body;
        for (std::int64_t e = 0; e < tile_.thread_rows * tile_.thread_columns; ++e) body.emplace_back(store(e));
        return body;
    }

    // The loops over blocks, outermost first, and which tile of the output each one has. Blocks that follow each other go down some rows of
    // tiles, then to the next column.
    std::vector<NodeRef> place() {
        const std::int64_t groups = product(batch_) * down() / kRasterRows;
        NodeRef batch, row, column;
        std::vector<NodeRef> blocks;
        if (down() % kRasterRows == 0 && groups <= kMostBlocks && across() <= kMostBlocks) {
            blocks = {kernel_.new_var(groups), kernel_.new_var(across()), kernel_.new_var(kRasterRows)};
            batch = quotient(blocks[0], down() / kRasterRows);
            row = plus(times(remainder(blocks[0], down() / kRasterRows), kRasterRows), blocks[2]);
            column = blocks[1];
        } else {
            blocks = {kernel_.new_var(product(batch_) * down() * across())};
            const NodeRef tile = remainder(blocks[0], down() * across());
            batch = quotient(blocks[0], down() * across());
            row = quotient(tile, across());
            column = remainder(tile, across());
        }
        const Substitution with = counted(kernel_, batch_, batch);
        with_.insert(with_.end(), with.begin(), with.end());
        left_.first = times(row, tile_.rows);
        right_.first = times(column, tile_.columns);
        return blocks;
    }

    // ---- the sum ----

    std::int64_t steps_of_block() const { return product(nest_.inner); }
    std::int64_t slices_of_block() const { return ceil_div(steps_of_block(), tile_.depth); }

    // The block of the sum that slice s is in, and the first step in it.
    Substitution of_block(const NodeRef& s) const {
        Substitution with = with_;
        const Substitution outer = counted(kernel_, nest_.outer, quotient(s, slices_of_block()));
        with.insert(with.end(), outer.begin(), outer.end());
        return with;
    }
    NodeRef first_step(const NodeRef& s) const { return times(remainder(s, slices_of_block()), tile_.depth); }

    // Steps of the block of the sum: all, or fewer in the last one.
    NodeRef limit(const Substitution& with) const {
        if (!nest_.inner_count) return kernel_.index(steps_of_block());
        const std::int64_t first = extent_of(nest_.inner[0]);
        const NodeRef count = substitute(kernel_, nest_.inner_count, with);
        return times(kernel_.binary(Op::Min, kernel_.index(first), count), steps_of_block() / first);
    }
    bool is_even() const { return !nest_.inner_count && steps_of_block() % tile_.depth == 0; }  // all slices are full

    // Does memory run along the sum, and not along the side?
    bool runs_along_sum(const Side& side) const {
        Uses uses;
        collect_uses(side.factor, uses);
        for (const NodeRef& load : uses.loads) {
            const auto along = ir::stride_of(*kernel_.interner, load->sources[0], id_of(nest_.inner.back()));
            const auto across = ir::stride_of(*kernel_.interner, load->sources[0], id_of(side.side.back()));
            if (across && *across == 1) return false;
            if (along && *along == 1) return true;
        }
        return false;
    }

    // Whether four elements along the side that follow each other, from a multiple of four on, are neighbours in memory.
    bool moves_together(const Side& side) const {
        if (product(side.side) % kTogether) return false;
        const NodeRef group =
            kernel_.make(Op::LoopVar, DType::I64, {}, ir::LoopArg{kernel_.next_var, product(side.side) / kTogether});
        Uses uses;
        collect_uses(side.factor, uses);
        const auto at = [&](const NodeRef& index, std::int64_t z) {
            return simplified(
                substitute(kernel_, index, counted(kernel_, side.side, plus(times(group, kTogether), z))));
        };
        return uses.gates.empty() && std::ranges::all_of(uses.indices, [&](const NodeRef& index) {
                   const NodeRef start = at(index, 0);
                   const auto step = ir::stride_of(*kernel_.interner, start, kernel_.next_var);
                   for (std::int64_t z = 1; z < kTogether; ++z)
                       if (at(index, z) != plus(start, z)) return false;
                   return !step || *step % kTogether == 0;
               });
    }

    // A thread's share of slice s, into the place with this number.
    Body copied(const NodeRef& s, const NodeRef& slot, const NodeRef& y, const NodeRef& x) {
        Body body;
        for (const Side* side : {&left_, &right_})
            for (Store& store : share_of(*side, s, slot, y, x)) body.emplace_back(std::move(store));
        return body;
    }

    std::vector<Store> share_of(const Side& side, const NodeRef& s, const NodeRef& slot, const NodeRef& y,
                                const NodeRef& x) const {
        const Substitution block = of_block(s);
        const NodeRef start = first_step(s), thread = plus(times(y, wide()), x);
        const std::int64_t groups = side.width * tile_.depth / side.together,
                           fast = side.along_sum ? tile_.depth : side.width / side.together;
        std::vector<Store> stores;
        for (std::int64_t q = 0; q * thread_count() < groups; ++q) {
            const NodeRef number = plus(thread, q * thread_count());
            const NodeRef inner = remainder(number, fast), outer = quotient(number, fast);
            const NodeRef step = side.along_sum ? inner : outer,
                          at = times(side.along_sum ? outer : inner, side.together);
            NodeRef k = plus(start, step), position = plus(side.first, at);
            if (!is_even()) k = simplified(kernel_.binary(Op::Min, k, minus(limit(block), kernel_.index(1))));
            if (product(side.side) % side.width)
                position =
                    simplified(kernel_.binary(Op::Min, position, kernel_.index(product(side.side) - side.together)));
            for (std::int64_t z = 0; z < side.together; ++z) {
                Substitution with = block;
                for (const Substitution& more :
                     {counted(kernel_, side.side, plus(position, z)), counted(kernel_, nest_.inner, k)})
                    with.insert(with.end(), more.begin(), more.end());
                const NodeRef to =
                    plus(plus(times(slot, tile_.depth * side.pitch), times(step, side.pitch)), plus(at, z));
                stores.push_back({side.local, to, in_bounds(substitute(kernel_, side.factor, with))});
            }
        }
        return stores;
    }

    // Loads with gates, of padded images: the lowered kernel has a proof that they stay inside where the gate holds, but it speaks of loops over
    // rows and columns, not of a number that counts through both. Elsewhere the address does not matter: it is moved inside. So are those of
    // steps beyond the last block of a sum, if several loops count them.
    NodeRef in_bounds(const NodeRef& factor) const {
        const bool uneven = nest_.inner_count && nest_.inner.size() > 1;
        return ir::rebuild(std::span(&factor, 1), [&](const ir::Node& node, const ir::Sources& sources) {
            if (node.op == Op::Load && (sources.size() > 1 || uneven)) {
                const int b = node.as<ir::LoadArg>().buffer;
                const NodeRef last = kernel_.index(kernel_.buffers[static_cast<std::size_t>(b)].size - 1);
                const NodeRef inside =
                    kernel_.binary(Op::Min, kernel_.binary(Op::Max, sources[0], kernel_.index(0)), last);
                return kernel_.load(b, inside, sources.size() > 1 ? sources[1] : nullptr);
            }
            return sources == node.sources ? NodeRef(&node)
                                           : kernel_.interner->make(node.op, node.dtype, {}, sources, node.arg);
        })[0];
    }

    // One slice is multiplied, and the one that comes some later is on its way. What must be computed first is loaded before, and stored after.
    Body of_slice(const NodeRef& s, std::int64_t slices, const NodeRef& y, const NodeRef& x) {
        const NodeRef next = plus(s, tile_.slices - 1), is_there = minus(kernel_.index(slices), next);
        Body copies, values, stores;
        for (const Side* side : {&left_, &right_})
            for (Store& store : share_of(*side, next, remainder(next, tile_.slices), y, x)) {
                if (side->plain) {
                    copies.emplace_back(std::move(store));
                    continue;
                }
                const int value = registers("next", nest_.accumulate, 1);
                values.emplace_back(Store{value, kernel_.index(0), std::move(store.value)});
                stores.emplace_back(Store{store.buffer, std::move(store.index), kernel_.load(value, kernel_.index(0))});
            }
        append(copies, std::move(values));
        Body body;
        if (slices >= tile_.slices) append(body, when(kernel_, is_there, std::move(copies)));
        append(body, multiplied(s, y, x));
        if (slices >= tile_.slices && !stores.empty()) append(body, when(kernel_, is_there, std::move(stores)));
        if (total_ != acc_) append(body, when(kernel_, is_last_of_block(s), added_up()));
        return body;
    }

    // 1 for the last slice of a block of the sum.
    NodeRef is_last_of_block(const NodeRef& s) const {
        return minus(remainder(s, slices_of_block()), kernel_.index(slices_of_block() - 2));
    }
    Body added_up() const {
        Body body = each_element([&](std::int64_t e) {
            return Store{total_, kernel_.index(e), kernel_.add(element(total_, e), element(acc_, e))};
        });
        append(body, each_element([&](std::int64_t e) { return zero(acc_, e); }));
        return body;
    }

    // Rows of a thread's tile come in groups that one instruction loads; the groups of threads beside each other are beside each other.
    NodeRef row_of(const NodeRef& y, std::int64_t i) const { return place_of(y, i, tile_.thread_rows, high()); }
    NodeRef column_of(const NodeRef& x, std::int64_t j) const { return place_of(x, j, tile_.thread_columns, wide()); }
    NodeRef place_of(const NodeRef& t, std::int64_t i, std::int64_t each, std::int64_t count) const {
        const std::int64_t group = std::min(each, kTogether);
        return plus(times(t, group), i / group * (group * count) + i % group);
    }

    Body multiplied(const NodeRef& s, const NodeRef& y, const NodeRef& x) {
        const NodeRef slot = remainder(s, tile_.slices);
        const auto steps = [&](std::int64_t count, LoopKind kind, const NodeRef& of) {
            const NodeRef k = kernel_.new_var(count);
            Body step = products(plus(times(slot, tile_.depth * left_.pitch), times(k, left_.pitch)),
                                 plus(times(slot, tile_.depth * right_.pitch), times(k, right_.pitch)), y, x);
            return Body{Loop{k, kind, std::move(step), false, of}};
        };
        if (is_even()) return steps(tile_.depth, LoopKind::Unrolled, nullptr);
        const NodeRef left = minus(limit(of_block(s)), first_step(s));  // steps in this slice and after it
        Body body =
            when(kernel_, minus(left, kernel_.index(tile_.depth - 1)), steps(tile_.depth, LoopKind::Unrolled, nullptr));
        const NodeRef some =
            kernel_.where(kernel_.binary(Op::CmpLt, left, kernel_.index(tile_.depth)), left, kernel_.index(0));
        append(body, steps(tile_.depth, LoopKind::Serial, some));
        return body;
    }

    Body products(const NodeRef& left, const NodeRef& right, const NodeRef& y, const NodeRef& x) const {
        Body step;
        for (std::int64_t j = 0; j < tile_.thread_columns; ++j)
            for (std::int64_t i = 0; i < tile_.thread_rows; ++i) {
                const std::int64_t e = i * tile_.thread_columns + j;
                const NodeRef a = kernel_.load(left_.local, plus(left, row_of(y, i))),
                              b = kernel_.load(right_.local, plus(right, column_of(x, j)));
                step.emplace_back(Store{acc_, kernel_.index(e), kernel_.fma(a, b, element(acc_, e))});
            }
        return step;
    }

    // ---- what becomes of the sums ----

    // The epilogue of the element at a place of the block's tile, for a sum in this local.
    Body one_element(const NodeRef& row, const NodeRef& column, int sum) {
        Substitution with = with_;
        for (const Substitution& more :
             {counted(kernel_, m_, plus(left_.first, row)), counted(kernel_, n_, plus(right_.first, column))})
            with.insert(with.end(), more.begin(), more.end());
        return copy(kernel_, own_locals(redirected(kernel_, nest_.epilogue, nest_.total, sum)), with);
    }
    Body if_row(Body body, const NodeRef& row) {
        if (product(m_) % tile_.rows == 0) return body;
        return when(kernel_, minus(kernel_.index(product(m_)), plus(left_.first, row)), std::move(body));
    }
    Body if_column(Body body, const NodeRef& column) {
        if (product(n_) % tile_.columns == 0) return body;
        return when(kernel_, minus(kernel_.index(product(n_)), plus(right_.first, column)), std::move(body));
    }
    bool columns_together() const { return product(n_) % std::min(tile_.thread_columns, kTogether) == 0; }

    // Several elements beside each other: what they store comes last, so that neighbours are stored together.
    Body neighbours(const NodeRef& row, const std::function<NodeRef(std::int64_t)>& column, std::int64_t count,
                    const std::function<int(std::int64_t)>& sum) {
        Body values;
        std::vector<Body> stores;
        for (std::int64_t z = 0; z < count; ++z) {
            std::size_t s = 0;
            for (Stmt& stmt : one_element(row, column(z), sum(z))) {
                const Store& store = *stmt.store();
                if (kernel_.buffers[static_cast<std::size_t>(store.buffer)].role == Buffer::Role::Local) {
                    values.push_back(std::move(stmt));
                    continue;
                }
                const int value = registers("value", store.value->dtype, 1);
                values.emplace_back(Store{value, kernel_.index(0), store.value});
                if (stores.size() <= s) stores.emplace_back();
                stores[s++].emplace_back(Store{store.buffer, store.index, kernel_.load(value, kernel_.index(0))});
            }
        }
        for (Body& each : stores) append(values, std::move(each));
        return values;
    }

    Body epilogue_in_registers() {
        return Body{threads([&](const NodeRef& y, const NodeRef& x) {
            Body body;
            const std::int64_t group = std::min(tile_.thread_columns, kTogether);
            const bool together = columns_together();
            for (std::int64_t i = 0; i < tile_.thread_rows; ++i) {
                Body row;
                for (std::int64_t j = 0; j < tile_.thread_columns; j += together ? group : 1) {
                    const auto sum = [&](std::int64_t z) {
                        const int local = registers("sum", nest_.accumulate, 1);
                        row_sums_.emplace_back(
                            Store{local, kernel_.index(0), element(total_, i * tile_.thread_columns + j + z)});
                        return local;
                    };
                    Body some = neighbours(
                        row_of(y, i), [&](std::int64_t z) { return column_of(x, j + z); }, together ? group : 1, sum);
                    Body sums = std::exchange(row_sums_, {});
                    append(sums, std::move(some));
                    append(row, if_column(std::move(sums), column_of(x, j)));
                }
                append(body, if_row(std::move(row), row_of(y, i)));
            }
            return body;
        })};
    }

    // An expensive epilogue is written once, in a loop: the sums pass through shared memory.
    Body epilogue_in_memory() {
        const std::int64_t group = std::min(tile_.thread_columns, kTogether), pitch = tile_.columns + kTogether;
        const int sums = shared("sums", tile_.rows * pitch);
        Body body{threads([&](const NodeRef& y, const NodeRef& x) {
            Body stores;
            for (std::int64_t i = 0; i < tile_.thread_rows; ++i)
                for (std::int64_t j = 0; j < tile_.thread_columns; ++j)
                    stores.emplace_back(Store{sums, plus(times(row_of(y, i), pitch), column_of(x, j)),
                                              element(total_, i * tile_.thread_columns + j)});
            return stores;
        })};
        body.push_back(threads([&](const NodeRef& y, const NodeRef& x) {
            const std::int64_t each = columns_together() ? group : 1, groups = tile_.columns / each;
            const NodeRef q = kernel_.new_var(tile_.rows * groups / thread_count());
            const NodeRef number = plus(times(q, thread_count()), plus(times(y, wide()), x));
            const NodeRef row = quotient(number, groups), first = times(remainder(number, groups), each);
            const auto sum = [&](std::int64_t z) {
                const int local = registers("sum", nest_.accumulate, 1);
                row_sums_.emplace_back(
                    Store{local, kernel_.index(0), kernel_.load(sums, plus(times(row, pitch), plus(first, z)))});
                return local;
            };
            Body some = neighbours(
                row, [&](std::int64_t z) { return plus(first, z); }, each, sum);
            Body inside = std::exchange(row_sums_, {});
            append(inside, std::move(some));
            return Body{Loop{q, LoopKind::Serial, if_row(if_column(std::move(inside), first), row), true, nullptr}};
        }));
        return body;
    }

    // Every copy of the epilogue has locals of its own.
    Body own_locals(Body epilogue) {
        std::set<int> stored;
        for_each_store(epilogue, [&](const Store& store, std::span<const Loop* const>) {
            if (kernel_.buffers[static_cast<std::size_t>(store.buffer)].role == Buffer::Role::Local)
                stored.insert(store.buffer);
        });
        for (const int b : stored) epilogue = with_own_local(kernel_, epilogue, b);
        return epilogue;
    }

    static void append(Body& to, Body more) { kernel::append(to, std::move(more)); }

    Kernel& kernel_;
    const ContractionNest& nest_;
    const BlockTile tile_;
    const std::vector<NodeRef> m_, n_, batch_;
    Side left_, right_;
    Substitution with_;  // what the block says of the variables of the batch
    int acc_ = -1, total_ = -1;
    Body row_sums_;  // of the epilogue that is being written
};

}  // namespace

Decisions choose_block_tiles(const Kernel& kernel, const Target& target) {
    Decisions chosen;
    int statement = 0;
    for (const ContractionNest& nest : contractions_of(kernel)) {
        if (std::optional<BlockTile> tile = choose(nest, target, statement)) chosen.emplace_back(*tile);
        ++statement;
    }
    return chosen;
}

Kernel tile_for_blocks(Kernel kernel, const Decisions& chosen) {
    const std::vector<ContractionNest> nests = contractions_of(kernel);
    for (const Decision& decision : chosen) {
        const auto& tile = std::get<BlockTile>(decision);
        kernel.body[static_cast<std::size_t>(tile.statement)] =
            Tiles(kernel, nests[static_cast<std::size_t>(tile.statement)], tile)();
    }
    return kernel;
}

}  // namespace weft::kernel
