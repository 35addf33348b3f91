// kernel/tf32_tiles.cpp: a tile of a contraction by tensor cores, of factors that are rounded to tf32. They are computed, so no copy can bring them
// into shared memory: threads load a slice into registers, and round and store it an iteration later, behind products that are under way.
//
//     threads: acc = 0
//     threads: slice 0;  threads: slice 1;  threads: load slice 2          (kernel/matrix_product.h says how slices lie)
//     slices s of the sum
//       threads: acc += slice s;  round and store slice s + 2;  load slice s + 3
//
// Tensor cores take steps of the sum as neighbours. Where memory runs across the sum, threads beside each other load rows or columns beside each other,
// and each stores four steps of its own: that transposes. Steps beyond the sum are zeros.
#include "kernel/block_loops.h"
#include "kernel/block_tiles.h"
#include "kernel/matrix_product.h"
#include "kernel/nest.h"

#include <algorithm>

namespace weft::kernel {
namespace {

using ir::Op;

constexpr std::int64_t kTogether = 4;  // steps of the sum that a thread stores at once: 16 bytes

class Tf32Tiles final : public BlockTiles {
public:
    Tf32Tiles(Kernel& kernel, const ContractionNest& nest, const BlockTile& tile) : BlockTiles(kernel, nest, tile) {
        high_ = tile.rows / tile.thread_rows;
        wide_ = tile.columns / tile.thread_columns;
        group_ = 2;
        most_together_ = pad_ = kPiece;
        total_ = per_thread("acc");
        left_ = side("left", nest.left, m_, tile.rows);
        right_ = side("right", nest.right, n_, tile.columns);
    }

private:
    struct Side {
        NodeRef value;  // before it is rounded
        std::vector<NodeRef> side;
        MatrixProduct::Operand operand;
        bool contiguous_in_k = false;  // memory runs along the sum
        bool together = false;         // one instruction loads four steps
        std::int64_t shares = 0;       // of a thread
        int loaded = -1;               // what it has loaded, in registers
    };

    Side side(const std::string& name, const NodeRef& factor, const std::vector<NodeRef>& counters,
              std::int64_t width) {
        Side side{.value = factor->sources[0], .side = counters};
        side.operand = {.width = width, .contiguous_in_k = true, .piece = kTogether};
        side.contiguous_in_k = is_contiguous_in_k(side.value, counters);
        side.together = side.contiguous_in_k && sum_comes_in_pieces(side.value, kTogether);
        side.operand.local =
            local(name, DType::F32, tile_.slices * slice_size(side.operand), Buffer::MemoryType::Shared);
        kernel_.buffers.back().late = lookahead();
        kernel_.buffers.back().slices = tile_.slices;
        side.shares = width * tile_.depth / (kTogether * thread_count());
        side.loaded = registers(name + "_next", DType::F32, side.shares * kTogether);
        kernel_.buffers.back().per_thread = true;
        return side;
    }

    // One slice is multiplied, and the one before it may still be.
    std::int64_t lookahead() const { return tile_.slices - 2; }

    NodeRef row_of(const NodeRef& y, std::int64_t i) const override { return tensor_row(kernel_, y, i); }
    NodeRef column_of(const NodeRef& x, std::int64_t j) const override { return tensor_column(kernel_, x, j); }

    Body sums() override {
        Body body{threads([&](const NodeRef&, const NodeRef&) {
            return each_element([&](std::int64_t e) { return zero(total_, e); });
        })};
        const std::int64_t slices = all_slices();
        for (std::int64_t s = 0; s <= std::min(lookahead(), slices - 1); ++s)
            body.push_back(threads([&](const NodeRef& y, const NodeRef& x) {
                Body slice = loaded(kernel_.index(s), y, x);
                if (s < lookahead()) append(slice, stored(kernel_.index(s), y, x));
                return slice;
            }));
        const NodeRef s = kernel_.new_var(slices);
        Body steps{threads([&](const NodeRef& y, const NodeRef& x) {
            Body slice = multiplied(s, y, x);
            const NodeRef next = plus(s, lookahead()), later = plus(next, 1);
            const auto if_there = [&](const NodeRef& number, Body some) {
                append(slice, when(kernel_, minus(kernel_.index(slices), number), std::move(some)));
            };
            if (slices > lookahead()) if_there(next, stored(remainder(next, tile_.slices), y, x));
            if (slices > lookahead() + 1) if_there(later, loaded(later, y, x));
            return slice;
        })};
        body.emplace_back(Loop{s, LoopKind::Serial, std::move(steps), false, nullptr});
        return body;
    }

    Body multiplied(const NodeRef& s, const NodeRef& y, const NodeRef& x) {
        const NodeRef slot = remainder(s, tile_.slices), step = kernel_.new_var(tile_.depth);
        MatrixProduct product{.acc = total_, .left = left_.operand, .right = right_.operand, .y = y, .x = x};
        for (MatrixProduct::Operand* operand : {&product.left, &product.right})
            operand->first = times(slot, slice_size(*operand));
        Loop loop{step, LoopKind::Tensor, steps_of(kernel_, product, step), false, nullptr};
        loop.product = std::make_shared<const MatrixProduct>(std::move(product));
        return Body{std::move(loop)};
    }

    // Four steps of one row or column, of which a thread has some in each slice.
    struct Share {
        NodeRef at, step;  // the first one's place in the slice
    };
    Share share(const Side& side, std::int64_t q, const NodeRef& y, const NodeRef& x) const {
        const std::int64_t fast = side.contiguous_in_k ? tile_.depth / kTogether : side.operand.width;
        const NodeRef number = plus(plus(times(y, wide_), x), q * thread_count());
        const NodeRef inner = remainder(number, fast), outer = quotient(number, fast);
        return {side.contiguous_in_k ? outer : inner, times(side.contiguous_in_k ? inner : outer, kTogether)};
    }

    // A thread's shares of slice s, as they are in memory, into its registers.
    Body loaded(const NodeRef& s, const NodeRef& y, const NodeRef& x) const {
        const Substitution block = of_block(s);
        Body stores;
        for (const Side* side : {&left_, &right_})
            for (std::int64_t q = 0; q < side->shares; ++q) {
                const Share share = this->share(*side, q, y, x);
                NodeRef position = plus(side == &left_ ? first_row_ : first_column_, share.at);
                if (product(side->side) % side->operand.width)
                    position = least(position, kernel_.index(product(side->side) - 1));
                for (std::int64_t z = 0; z < kTogether; ++z) {
                    // Steps that one instruction loads are in the sum, or none of them is.
                    const std::int64_t inside = side->together ? z : 0;
                    NodeRef step = plus(plus(first_step(s), share.step), z - inside), gate;
                    if (!is_even()) {
                        gate = kernel_.binary(Op::CmpLt, step, limit(block));
                        step = in_sum(step, limit(block), side->together ? kTogether : 1);
                    }
                    Substitution with = block;
                    for (const Substitution& more :
                         {counted(kernel_, side->side, position), counted(kernel_, nest_.inner, plus(step, inside))})
                        with.insert(with.end(), more.begin(), more.end());
                    stores.emplace_back(Store{side->loaded, kernel_.index(q * kTogether + z),
                                              gated(substitute(kernel_, in_bounds(side->value), with), gate)});
                }
            }
        return stores;
    }

    // The step, or the last one from which so many are in the sum. As a multiple of a piece, which vector loads want to see, where pieces are counted.
    NodeRef in_sum(const NodeRef& step, const NodeRef& limit, std::int64_t piece) const {
        const NodeRef last = minus(limit, kernel_.index(piece));
        if (nest_.inner_count) return least(step, last);
        return times(least(quotient(step, piece), quotient(last, piece)), piece);
    }

    // … and from there, rounded, into the place with this number.
    Body stored(const NodeRef& slot, const NodeRef& y, const NodeRef& x) const {
        Body stores;
        for (const Side* side : {&left_, &right_})
            for (std::int64_t q = 0; q < side->shares; ++q) {
                const Share share = this->share(*side, q, y, x);
                for (std::int64_t z = 0; z < kTogether; ++z) {
                    const NodeRef to = plus(times(slot, slice_size(side->operand)),
                                            place_in_slice(kernel_, side->operand, share.at, plus(share.step, z)));
                    stores.emplace_back(Store{side->operand.local, to,
                                              kernel_.unary(Op::RoundTf32, element(side->loaded, q * kTogether + z))});
                }
            }
        return stores;
    }

    NodeRef gated(const NodeRef& value, const NodeRef& gate) const {
        if (!gate) return value;
        if (value->op != Op::Load) return kernel_.where(gate, value, kernel_.constant(DType::F32, 0));
        const NodeRef both = value->sources.size() > 1 ? kernel_.binary(Op::And, value->sources[1], gate) : gate;
        return kernel_.load(value->as<ir::LoadArg>().buffer, value->sources[0], both);
    }

    Side left_, right_;
};

}  // namespace

Stmt tf32_tiles(Kernel& kernel, const ContractionNest& nest, const BlockTile& tile) {
    return Tf32Tiles(kernel, nest, tile)();
}

}  // namespace weft::kernel
