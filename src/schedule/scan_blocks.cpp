// schedule/scan_blocks.cpp: see scan_blocks.h.
#include "schedule/scan_blocks.h"

#include "core/checked.h"
#include "ir/build.h"

namespace weft::schedule {

using namespace ir;

namespace {

constexpr std::int64_t kShortest = 512;

NodeRef neutral(Op op, DType dtype, const Shape& shape) {
    return constant_word(dtype, identity_word(op, dtype), shape);
}

// With neutral elements before and after those of an axis.
NodeRef filled_up(const NodeRef& x, Op op, std::size_t axis, std::int64_t before, std::int64_t after) {
    if (before == 0 && after == 0) return x;
    Dims front = Dims::filled(x->shape.size(), 0), back = front;
    front[axis] = before;
    back[axis] = after;
    const NodeRef padded = pad(x, front, back);
    if (identity_word(op, x->dtype) == 0) return padded;
    Shape line = Shape::filled(padded->shape.size(), 1);
    line[axis] = padded->shape[axis];
    const NodeRef place = expand(reshape(iota(line[axis]), line), padded->shape);
    const NodeRef there =
        binary(Op::And, less_equal(like(place, before), place), less(place, like(place, before + x->shape[axis])));
    return where(there, padded, neutral(op, x->dtype, padded->shape));
}

NodeRef first_of(const NodeRef& x, std::size_t axis, std::int64_t start, std::int64_t count) {
    Dims starts = Dims::filled(x->shape.size(), 0);
    starts[axis] = start;
    Shape sizes = x->shape;
    sizes[axis] = count;
    return shrink(x, starts, sizes);
}

}  // namespace

NodeRef scan_in_blocks(const Node& node, const Target& target) {
    if (target.processor != Processor::Gpu || node.op != Op::Scan || numel(node.shape) == 0) return nullptr;
    const auto& arg = node.as<ReduceArg>();
    const auto axis = static_cast<std::size_t>(arg.axes[0]);
    const std::int64_t length = node.shape[axis], rows = numel(node.shape) / length;
    const bool ordered = is_float(node.dtype) && (arg.op == Op::Add || arg.op == Op::Mul);
    if (length < kShortest || (ordered ? arg.order.kind != SumOrder::Kind::Blocks : rows >= target.most_threads()))
        return nullptr;
    const std::int64_t block = ordered ? arg.order.chunks : scan_block(length), blocks = ceil_div(length, block);
    const NodeRef whole = filled_up(node.sources[0], arg.op, axis, 0, blocks * block - length);
    Shape cut;
    for (std::size_t d = 0; d < node.shape.size(); ++d) {
        cut.push_back(d == axis ? blocks : node.shape[d]);
        if (d == axis) cut.push_back(block);
    }
    const SumOrder chain;
    const int along = static_cast<int>(axis);
    const NodeRef inside = scan(arg.op, reshape(whole, cut), along + 1, &chain);
    const NodeRef sums = scan(arg.op, first_of(inside, axis + 1, block - 1, 1), along, &chain);
    const NodeRef before = filled_up(first_of(sums, axis, 0, blocks - 1), arg.op, axis, 1, 0);
    const NodeRef all = binary(arg.op, expand(before, cut), inside);
    return first_of(reshape(all, whole->shape), axis, 0, length);
}

}  // namespace weft::schedule
