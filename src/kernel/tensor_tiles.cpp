// kernel/tensor_tiles.cpp: a tile of a contraction by tensor cores. Slices of both factors come into shared memory, as tensor cores want them
// (kernel/matrix_product.h), some slices ahead of the products. Factors that are arrays are copied as boxes (kernel/box_copy.h), others in pieces, by the
// threads of the block. The blocks of the sum are one: tensor cores have an order of their own. Steps beyond the sum are zeros.
#include "kernel/block_loops.h"
#include "kernel/block_tiles.h"
#include "kernel/box_copy.h"
#include "kernel/matrix_product.h"
#include "kernel/nest.h"

#include "core/checked.h"

#include <algorithm>
#include <optional>

namespace weft::kernel {
namespace {

using ir::Op;

class TensorTiles final : public BlockTiles {
public:
    TensorTiles(Kernel& kernel, const ContractionNest& nest, const BlockTile& tile) : BlockTiles(kernel, nest, tile) {
        constexpr std::int64_t kThreadRows = 2, kThreadColumns = 4;
        high_ = tile.rows / kThreadRows;
        wide_ = kThreadColumns;
        group_ = 2;
        most_together_ = pad_ = kPiece;
        total_ = per_thread("acc");
        left_ = side("left", nest.left->sources[0], LoopRole::M, tile.rows);
        right_ = side("right", nest.right->sources[0], LoopRole::N, tile.columns);
    }

private:
    struct Side {
        NodeRef load;
        std::vector<NodeRef> side;
        MatrixProduct::Operand operand;
        std::int64_t together = 1;    // elements that one instruction copies
        std::optional<BoxView> view;  // of what is copied as boxes
    };

    Side side(std::string name, const NodeRef& load, LoopRole role, std::int64_t width) {
        const std::vector<NodeRef>& counters = role == LoopRole::M ? m_ : n_;
        Side side{.load = load, .side = counters};
        if (tile_.boxes) side.view = box_view(kernel_, nest_, load, role);
        side.operand = {
            .width = width,
            .contiguous_in_k = side.view ? side.view->contiguous_in_k() : is_contiguous_in_k(load, counters)};
        if (side.operand.contiguous_in_k ? sum_comes_in_pieces(load, kPiece) : are_neighbours(load, counters, kPiece))
            side.together = kPiece;
        side.operand.local =
            local(std::move(name), load->dtype, tile_.slices * slice_size(side.operand), Buffer::MemoryType::Shared);
        kernel_.buffers.back().late = tile_.boxes ? 0 : lookahead();
        kernel_.buffers.back().slices = tile_.slices;
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
        append(body, tile_.boxes ? in_boxes() : in_pieces());
        return body;
    }

    // A pipeline: who copies runs ahead as far as there is room.
    Body in_boxes() {
        const NodeRef s = kernel_.new_var(ceil_div(steps_of_sum(kernel_, nest_), tile_.depth));
        Body slice;
        for (const Side* side : {&left_, &right_}) append(slice, boxes_of(*side, s));
        slice.push_back(threads([&](const NodeRef& y, const NodeRef& x) { return multiplied(s, y, x); }));
        return Body{Loop{s, LoopKind::Serial, std::move(slice), false, nullptr}};
    }

    // One box, or one for each row of 128 bytes across the side.
    Body boxes_of(const Side& side, const NodeRef& s) {
        const BoxView& view = *side.view;
        const MatrixProduct::Operand& operand = side.operand;
        const NodeRef place = times(remainder(s, tile_.slices), slice_size(operand)), step = times(s, tile_.depth),
                      at = side.side == m_ ? first_row_ : first_column_;
        const std::int64_t steps = steps_of_sum(kernel_, nest_), width = product(side.side), row = row_size(operand);
        BoxCopy box{.from = view.buffer, .to = operand.local, .offset = view.offset};
        box.extents = operand.contiguous_in_k ? std::vector{steps, width} : std::vector{width, steps};
        box.strides = {1, operand.contiguous_in_k ? view.side_stride : view.sum_stride};
        box.rows = operand.contiguous_in_k ? operand.width : tile_.depth;
        for (const auto& [var, stride] : view.batch) {
            box.extents.push_back(extent_of(var));
            box.strides.push_back(stride);
        }
        Body copies;
        for (std::int64_t q = 0; q < operand.width / (operand.contiguous_in_k ? operand.width : row); ++q) {
            BoxCopy one = box;
            one.first = plus(place, q * box.rows * row);
            one.corner = operand.contiguous_in_k ? std::vector{step, at} : std::vector{plus(at, q * row), step};
            for (const auto& [var, stride] : view.batch) one.corner.push_back(batch_number(var));
            copies.push_back(copy_of(kernel_, std::move(one)));
        }
        return copies;
    }

    Body in_pieces() {
        Body body;
        const std::int64_t slices = all_slices();
        for (std::int64_t s = 0; s < std::min(lookahead(), slices); ++s)
            body.push_back(threads(
                [&](const NodeRef& y, const NodeRef& x) { return copied(kernel_.index(s), kernel_.index(s), y, x); }));
        const NodeRef s = kernel_.new_var(slices);
        Body steps{threads([&](const NodeRef& y, const NodeRef& x) {
            Body slice = multiplied(s, y, x);
            const NodeRef next = plus(s, lookahead());
            if (slices > lookahead())
                append(slice, when(kernel_, minus(kernel_.index(slices), next),
                                   copied(next, remainder(next, tile_.slices), y, x)));
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

    // A thread's share of slice s, into the place with this number.
    Body copied(const NodeRef& s, const NodeRef& slot, const NodeRef& y, const NodeRef& x) const {
        Body body;
        for (const Side* side : {&left_, &right_}) append(body, share_of(*side, s, slot, plus(times(y, wide_), x)));
        return body;
    }

    Body share_of(const Side& side, const NodeRef& s, const NodeRef& slot, const NodeRef& thread) const {
        const MatrixProduct::Operand& operand = side.operand;
        const Substitution block = of_block(s);
        const std::int64_t along = operand.contiguous_in_k ? side.together : 1,
                           across = operand.contiguous_in_k ? 1 : side.together;
        const std::int64_t fast = operand.contiguous_in_k ? tile_.depth / along : operand.width / across;
        const std::int64_t shares = operand.width * tile_.depth / side.together;
        Body stores;
        for (std::int64_t q = 0; q * thread_count() < shares; ++q) {
            const NodeRef number = plus(thread, q * thread_count());
            const NodeRef inner = remainder(number, fast), outer = quotient(number, fast);
            const NodeRef step = times(operand.contiguous_in_k ? inner : outer, along),
                          at = times(operand.contiguous_in_k ? outer : inner, across);
            const NodeRef wanted = plus(first_step(s), step);
            NodeRef first = wanted, position = plus(&side == &left_ ? first_row_ : first_column_, at), gate;
            if (!is_even()) {
                gate = kernel_.binary(Op::CmpLt, wanted, limit(block));
                first = least(wanted, minus(limit(block), kernel_.index(along)));
            }
            if (product(side.side) % operand.width)
                position = least(position, kernel_.index(product(side.side) - across));
            for (std::int64_t z = 0; z < side.together; ++z) {
                Substitution with = block;
                const std::int64_t k = operand.contiguous_in_k ? z : 0, p = operand.contiguous_in_k ? 0 : z;
                for (const Substitution& more :
                     {counted(kernel_, side.side, plus(position, p)), counted(kernel_, nest_.inner, plus(first, k))})
                    with.insert(with.end(), more.begin(), more.end());
                const NodeRef to = plus(times(slot, slice_size(operand)),
                                        place_in_slice(kernel_, operand, plus(at, p), plus(step, k)));
                stores.emplace_back(
                    Store{operand.local, to, gated(substitute(kernel_, in_bounds(side.load), with), gate)});
            }
        }
        return stores;
    }

    NodeRef gated(const NodeRef& load, const NodeRef& gate) const {
        if (!gate) return load;
        const NodeRef both = load->sources.size() > 1 ? kernel_.binary(Op::And, load->sources[1], gate) : gate;
        return kernel_.load(load->as<ir::LoadArg>().buffer, load->sources[0], both);
    }

    Side left_, right_;
};

}  // namespace

Stmt tensor_tiles(Kernel& kernel, const ContractionNest& nest, const BlockTile& tile) {
    return TensorTiles(kernel, nest, tile)();
}

}  // namespace weft::kernel
