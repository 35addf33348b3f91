// kernel/box_copy.cpp: see box_copy.h.
#include "kernel/box_copy.h"

#include "ir/symbolic.h"
#include "kernel/block_loops.h"
#include "kernel/block_tiles.h"
#include "kernel/linear_form.h"
#include "kernel/matrix_product.h"
#include "kernel/nest.h"

#include <algorithm>

namespace weft::kernel {
namespace {

using ir::Op;

constexpr std::int64_t kStrideBytes = 16, kMostStride = std::int64_t{1} << 40, kMostExtent = std::int64_t{1} << 32;
constexpr std::size_t kMostAxes = 5;

}  // namespace

std::int64_t steps_of_sum(const Kernel& kernel, const ContractionNest& nest) {
    const std::int64_t steps = product(nest.inner), all = steps * product(nest.outer);
    if (!nest.inner_count) return all;
    // Blocks are full, but the last one: the count is what is left of all steps.
    if (nest.inner.size() > 1 || nest.outer.size() != 1) return 0;
    const LinearForm left = linear_form(*ir::simplify_index(*kernel.interner, nest.inner_count));
    const bool known = left.exact && left.terms.size() == 1 && left.terms[0].atom == nest.outer[0].get() &&
                       left.terms[0].factor == -steps && left.constant <= all && left.constant > all - steps;
    return known ? left.constant : 0;
}

std::optional<BoxView> box_view(const Kernel& kernel, const ContractionNest& nest, const NodeRef& load, LoopRole side) {
    if (load->op != Op::Load || load->sources.size() > 1) return {};
    const auto size = static_cast<std::int64_t>(size_of(load->dtype));
    const auto number = [&](int id, std::int64_t extent) {
        return kernel.make(Op::LoopVar, DType::I64, {}, ir::LoopArg{kernel.next_var + id, extent});
    };
    const std::vector<NodeRef> along = of_side(nest, side), batch = of_side(nest, LoopRole::Batch);
    std::vector<NodeRef> sum = nest.outer;
    sum.insert(sum.end(), nest.inner.begin(), nest.inner.end());
    const NodeRef at = number(0, product(along)), step = number(1, product(sum));
    Substitution with = counted(kernel, along, at);
    for (const auto& each : counted(kernel, sum, step)) with.push_back(each);
    const LinearForm form =
        linear_form(*ir::simplify_index(*kernel.interner, substitute(kernel, load->sources[0], with)));
    BoxView view{.buffer = load->as<ir::LoadArg>().buffer, .offset = form.constant};
    const auto fits = [&](std::int64_t stride) {
        return stride > 0 && stride * size % kStrideBytes == 0 && stride < kMostStride / size;
    };
    for (const LinearForm::Term& term : form.terms) {
        if (term.atom == at.get()) view.side_stride = term.factor;
        else if (term.atom == step.get()) view.sum_stride = term.factor;
        else {
            const auto var = std::ranges::find(batch, term.atom, &NodeRef::get);
            if (var == batch.end() || !fits(term.factor)) return {};
            view.batch.emplace_back(*var, term.factor);
        }
    }
    const bool one = view.side_stride == 1 ? fits(view.sum_stride) : view.sum_stride == 1 && fits(view.side_stride);
    const bool is_read = kernel.buffers[static_cast<std::size_t>(view.buffer)].role == Buffer::Role::Input;
    const std::int64_t steps = steps_of_sum(kernel, nest);
    if (!form.exact || !one || !is_read || view.offset < 0 || view.offset * size % kStrideBytes || steps == 0 ||
        steps >= kMostExtent || product(along) >= kMostExtent || view.batch.size() + 2 > kMostAxes)
        return {};
    return view;
}

std::int64_t box_row(DType t) { return kPieces * 16 / static_cast<std::int64_t>(size_of(t)); }

Body elements_of(const Kernel& kernel, const BoxCopy& box, const NodeRef& element) {
    const auto simple = [&](const NodeRef& index) { return ir::simplify_index(*kernel.interner, index); };
    const auto plus = [&](const NodeRef& a, const NodeRef& b) { return simple(kernel.add(a, b)); };
    const std::int64_t width = box_row(kernel.buffers[static_cast<std::size_t>(box.to)].dtype);
    const NodeRef row = simple(kernel.binary(Op::IDiv, element, kernel.index(width))),
                  inside = simple(kernel.binary(Op::Mod, element, kernel.index(width)));
    NodeRef from = kernel.index(box.offset), gate;
    for (std::size_t axis = 0; axis < box.corner.size(); ++axis) {
        const NodeRef at = axis > 1 ? box.corner[axis] : plus(box.corner[axis], axis == 0 ? inside : row);
        from = plus(from, simple(kernel.mul(at, kernel.index(box.strides[axis]))));
        if (const ir::Bounds range = ir::bounds(at); range.low >= 0 && range.high < box.extents[axis]) continue;
        const NodeRef is_there = kernel.binary(Op::CmpLt, at, kernel.index(box.extents[axis]));
        gate = gate ? kernel.binary(Op::And, gate, is_there) : is_there;
    }
    const MatrixProduct::Operand rows{.contiguous_in_k = true, .piece = width / kPieces};
    const NodeRef to = plus(box.first, place_in_slice(kernel, rows, row, inside));
    return Body{Store{box.to, to, kernel.load(box.from, from, gate)}};
}

Stmt copy_of(Kernel& kernel, BoxCopy box) {
    const std::int64_t width = box_row(kernel.buffers[static_cast<std::size_t>(box.to)].dtype);
    const NodeRef element = kernel.new_var(box.rows * width);
    Loop loop{element, LoopKind::Copy, elements_of(kernel, box, element), false, nullptr};
    loop.box = std::make_shared<const BoxCopy>(std::move(box));
    return loop;
}

bool is_pipeline(const Loop& loop) {
    const auto is = [](const Stmt& stmt, LoopKind kind) { return stmt.loop() && stmt.loop()->kind == kind; };
    return loop.kind == LoopKind::Serial && loop.body.size() > 1 && is(loop.body.back(), LoopKind::Thread) &&
           std::ranges::all_of(copies_of(loop), [&](const Stmt& stmt) { return is(stmt, LoopKind::Copy); });
}
std::span<const Stmt> copies_of(const Loop& pipeline) {
    return std::span(pipeline.body).first(pipeline.body.size() - 1);
}
const Loop& threads_of(const Loop& pipeline) { return *pipeline.body.back().loop(); }
std::int64_t slices_of(const Kernel& kernel, const Loop& pipeline) {
    return kernel.buffers[static_cast<std::size_t>(copies_of(pipeline)[0].loop()->box->to)].slices;
}

}  // namespace weft::kernel
