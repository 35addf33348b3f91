// kernel/multiply_add_tiles.cpp: a tile of a contraction by fused multiply-adds. The threads of a block bring the factors of some steps of the sum, a
// slice, into shared memory, and each multiplies and adds those of a tile of its own, in registers. An element's products are added by one
// thread, in the order of the plain loops. There is room for several slices: while one is multiplied, others are under way.
//
//     threads: acc = 0
//     threads: slice 0;  threads: slice 1                           (one less than there is room for)
//     slices s of the sum
//       threads: slice s + 2;  for each step of slice s: acc += left * right;  at the end of a block of the sum: total += acc, acc = 0
//
// Steps beyond the sum repeat the last one, and nobody adds them.
#include "kernel/block_loops.h"
#include "kernel/block_tiles.h"
#include "kernel/nest.h"

#include <algorithm>
#include <functional>

namespace weft::kernel {
namespace {

using ir::Op;

constexpr std::int64_t kTogether = 4;     // elements that one instruction loads
constexpr std::int64_t kMostTotals = 32;  // of a thread in registers: two blocks fit a multiprocessor

// A load of what is multiplied, as it is: a copy can be under way while threads go on.
bool is_plain(const ContractionNest& nest, const NodeRef& factor) {
    return factor->op == Op::Load && factor->dtype == nest.accumulate;
}

class MultiplyAddTiles final : public BlockTiles {
public:
    MultiplyAddTiles(Kernel& kernel, const ContractionNest& nest, const BlockTile& tile)
        : BlockTiles(kernel, nest, tile) {
        high_ = tile.rows / tile.thread_rows;
        wide_ = tile.columns / tile.thread_columns;
        group_ = std::min(tile.thread_columns, kTogether);
        left_ = {.factor = nest.left, .side = m_, .width = tile.rows};
        right_ = {.factor = nest.right, .side = n_, .width = tile.columns};
        for (Side* side : {&left_, &right_}) {
            side->contiguous_in_k = is_contiguous_in_k(side->factor, side->side);
            const bool all = side->width * tile.depth / kTogether % thread_count() == 0;  // threads have a share
            side->together =
                all && !side->contiguous_in_k && are_neighbours(side->factor, side->side, kTogether) ? kTogether : 1;
            side->pitch =
                side->width + (side->contiguous_in_k ? kTogether : 0);  // columns of threads are in other banks
            side->local = local(side == &left_ ? "left" : "right", nest.accumulate,
                                tile.slices * tile.depth * side->pitch, Buffer::MemoryType::Shared);
            side->plain = is_plain(nest, side->factor);
            kernel_.buffers.back().late = tile.slices - 1;
            kernel_.buffers.back().slices = tile.slices;
        }
        acc_ = per_thread("acc");
        total_ = nest.outer.empty() ? acc_ : per_thread("total");
        if (total_ != acc_ && kernel_.buffers.back().size > kMostTotals)
            kernel_.buffers.back().memory = Buffer::MemoryType::Scratch;
    }

private:
    Body sums() override {
        Body body{threads([&](const NodeRef&, const NodeRef&) {
            Body zeros = each_element([&](std::int64_t e) { return zero(acc_, e); });
            if (total_ != acc_) append(zeros, each_element([&](std::int64_t e) { return zero(total_, e); }));
            return zeros;
        })};
        const std::int64_t slices = all_slices();
        for (std::int64_t s = 0; s + 1 < tile_.slices && s < slices; ++s)
            body.push_back(threads(
                [&](const NodeRef& y, const NodeRef& x) { return copied(kernel_.index(s), kernel_.index(s), y, x); }));
        const NodeRef s = kernel_.new_var(slices);
        Body steps{threads([&](const NodeRef& y, const NodeRef& x) { return of_slice(s, slices, y, x); })};
        body.emplace_back(Loop{s, LoopKind::Serial, std::move(steps), false, nullptr});
        return body;
    }

    // A factor, and how it is brought into shared memory: element `at` of step k of a slice lies at k * pitch + at.
    struct Side {
        NodeRef factor;
        std::vector<NodeRef> side;
        std::int64_t width = 0, pitch = 0;
        int local = -1;
        bool contiguous_in_k = false;  // memory runs along the sum
        bool plain = false;            // copied as it is
        std::int64_t together = 1;     // elements that one instruction copies
    };

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
        const NodeRef start = first_step(s), thread = plus(times(y, wide_), x);
        const std::int64_t groups = side.width * tile_.depth / side.together,
                           fast = side.contiguous_in_k ? tile_.depth : side.width / side.together;
        std::vector<Store> stores;
        for (std::int64_t q = 0; q * thread_count() < groups; ++q) {
            const NodeRef number = plus(thread, q * thread_count());
            const NodeRef inner = remainder(number, fast), outer = quotient(number, fast);
            const NodeRef step = side.contiguous_in_k ? inner : outer,
                          at = times(side.contiguous_in_k ? outer : inner, side.together);
            NodeRef k = plus(start, step), position = plus((&side == &left_ ? first_row_ : first_column_), at);
            if (!is_even()) k = least(k, minus(limit(block), kernel_.index(1)));
            if (product(side.side) % side.width)
                position = least(position, kernel_.index(product(side.side) - side.together));
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
    NodeRef row_of(const NodeRef& y, std::int64_t i) const override { return place_of(y, i, tile_.thread_rows, high_); }
    NodeRef column_of(const NodeRef& x, std::int64_t j) const override {
        return place_of(x, j, tile_.thread_columns, wide_);
    }
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

    Side left_, right_;
    int acc_ = -1;
};

}  // namespace

Stmt multiply_add_tiles(Kernel& kernel, const ContractionNest& nest, const BlockTile& tile) {
    return MultiplyAddTiles(kernel, nest, tile)();
}

}  // namespace weft::kernel
