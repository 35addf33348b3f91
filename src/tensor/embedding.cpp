// tensor/embedding.cpp: rows of a table, by index, and sums, means and maxima of bags of them.
#include "core/checked.h"
#include "tensor/indices.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <limits>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

// The rows at a 1-d index, of which some get no gradient, or only a share of it: the row's uses divide it.
NodeRef rows_at(const NodeRef& weight, const NodeRef& at, std::optional<std::int64_t> padding, bool share) {
    NodeRef rows = select(weight, at, 0);
    if (padding) {
        const NodeRef padded = nodes::add_axis(ir::equal_to(at, nodes::number(at, *padding)), 1);
        rows = ir::where(padded, ir::detach(rows), rows);
    }
    if (!share || at->shape[0] == 0) return rows;
    static const auto rule = nodes::grad_rule("embedding", [](const NodeRef& out, const NodeRef& g) {
        return ir::Grads{g / ir::cast(out->sources[2], g->dtype), nullptr};
    });
    const NodeRef none = ir::constant(DType::I64, Scalar(0), {weight->shape[0]});
    const NodeRef uses = ir::scatter(Op::Add, none, at, ir::constant(DType::I64, Scalar(1), at->shape), 0);
    const NodeRef inputs[] = {rows, nodes::add_axis(ir::gather(uses, at, 0), 1)};
    return ir::with_grad(rows, inputs, rule);
}

std::optional<std::int64_t> padding_row(const Checker& check, const Tensor& weight, std::optional<std::int64_t> given) {
    if (!given) return given;
    const std::int64_t count = weight.size(0), row = *given < 0 ? *given + count : *given;
    check.index(row >= 0 && row < count, "the padding row ", *given, " is out of range [", -count, ", ", count, ")");
    return row;
}

// Rows that the index names and that are longer than max_norm are shortened to it, in place.
void shorten_rows(const Tensor& weight, const NodeRef& at, double max_norm, double p) {
    const NoGrad no_grad;
    const NodeRef none = ir::constant(DType::Bool, Scalar(false), {weight.size(0)});
    const NodeRef yes = ir::constant(DType::Bool, Scalar(true), at->shape);
    const Tensor used = make_tensor(nodes::add_axis(ir::scatter(Op::Where, none, at, yes, 0), 1));
    const Tensor value = weight.detach(), length = norm(value, p, 1, true);
    Tensor target = weight;
    target.assign(where(logical_and(used, gt(length, max_norm)), value * (max_norm / (length + 1e-7)), value));
}

}  // namespace

Tensor embedding(const Tensor& weight, const Tensor& index, std::optional<std::int64_t> padding,
                 const EmbeddingOptions& options) {
    const Checker check("embedding", {{"weight", weight}, {"index", index}});
    check.that(weight.rank() == 2, "weight must be [count, features]");
    const NodeRef at = ir::reshape(checked_index(check, "index", index, weight.size(0)), {index.numel()});
    const std::optional<std::int64_t> row = padding_row(check, weight, padding);
    if (options.max_norm) shorten_rows(weight, at, *options.max_norm, options.norm_type);
    return make_selection(weight, [&](const NodeRef& node) {
        const NodeRef rows = rows_at(node, at, row, options.scale_grad_by_freq);
        return ir::reshape(rows, replaced({0, weight.size(1)}, 0, index.shape()));
    });
}

// ---- bags ------------------------------------------------------------------------------------------------------------

namespace {

// Which bag each index belongs to: how many bags begin at it or before it, less one.
NodeRef bags_of(const Checker& check, const NodeRef& starts, std::int64_t count, std::int64_t bags) {
    const NodeRef none = ir::constant(DType::I64, Scalar(0), {count + 1});
    const NodeRef begun = ir::scatter(Op::Add, none, starts, ir::constant(DType::I64, Scalar(1), {bags}), 0);
    const NodeRef running = ir::scan(Op::Add, ir::shrink(begun, {0}, {count}), 0);
    const NodeRef bag = running - nodes::number(running, 1);
    return ir::check(bag, 0, bags, str(check.call(), ": the first offset must be 0"));
}

// Rows [bags, size, features] to [bags, features]; `counts` tells which of them count.
Tensor joined_rows(const Tensor& rows, const Tensor& counts, BagMode mode) {
    if (mode == BagMode::Max) {
        const Tensor lowest = full({}, Scalar(-std::numeric_limits<double>::infinity()), rows.dtype());
        return where(any(counts, 1), max(where(counts, rows, lowest), 1), 0);
    }
    const Tensor total = sum(where(counts, rows, 0), 1);
    if (mode == BagMode::Sum) return total;
    return total / maximum(sum(counts, 1), 1).to(rows.dtype());
}

// Rows [count, features], each of which goes to its bag.
Tensor joined_rows(const Tensor& rows, const Tensor& bag, std::int64_t bags, BagMode mode) {
    const Tensor none = zeros({bags, rows.size(1)}, rows.dtype());
    if (mode == BagMode::Sum) return index_add(none, 0, bag, rows);
    return index_reduce(none, 0, bag, rows, mode == BagMode::Mean ? ScatterReduce::Mean : ScatterReduce::Max, false);
}

}  // namespace

Tensor embedding_bag(const Tensor& weight, const Tensor& index, const Tensor& offsets,
                     const EmbeddingBagOptions& options) {
    const Tensor& factors = options.per_sample_weights;
    const Checker check("embedding_bag", {{"weight", weight},
                                          {"index", index},
                                          {"offsets", offsets, kOptional},
                                          {"per_sample_weights", factors, kOptional}});
    check.that(weight.rank() == 2, "weight must be [count, features]");
    check.that(index.rank() == 1 || index.rank() == 2, "index must have one or two axes");
    check.value(offsets.defined() == (index.rank() == 1), "offsets belong to an index of one axis, and only to one");
    check.value(!factors.defined() || options.mode == BagMode::Sum, "per_sample_weights are for sums");
    check.that(!factors.defined() || factors.shape() == index.shape(), "per_sample_weights must have index's shape");
    check.dtype(!factors.defined() || factors.dtype() == weight.dtype(), "per_sample_weights must have weight's type");
    const std::int64_t count = index.numel(), features = weight.size(1);
    const std::optional<std::int64_t> padding = padding_row(check, weight, options.padding);
    const NodeRef at = ir::reshape(checked_index(check, "index", index, weight.size(0)), {count});
    std::int64_t bags = index.size(0);
    NodeRef bag;
    if (offsets.defined()) {
        check.that(offsets.rank() == 1, "offsets must have one axis");
        check.value(!options.include_last_offset || offsets.numel() > 0, "the last offset must be there");
        bags = offsets.numel() - options.include_last_offset;
        // What lies behind the last offset goes to a bag of its own, which is left out again.
        if (count > 0)
            bag = bags_of(check, checked_index(check, "offsets", offsets, count + 1), count, offsets.numel());
    }
    if (count == 0) return zeros({bags, features}, weight.dtype());

    if (options.rows.max_norm) shorten_rows(weight, at, *options.rows.max_norm, options.rows.norm_type);
    const Tensor rows = make_tensor(rows_at(node_of(weight), at, padding, options.rows.scale_grad_by_freq));
    const Tensor scaled = factors.defined() ? rows * factors.reshape({count, 1}) : rows;
    if (!bag) {
        const NodeRef other = padding ? nodes::not_equal(at, nodes::number(at, *padding))
                                      : ir::constant(DType::Bool, Scalar(true), at->shape);
        return joined_rows(scaled.reshape({bags, index.size(1), features}),
                           make_tensor(ir::reshape(other, {bags, index.size(1), 1})), options.mode);
    }
    // So do rows of the padding.
    if (padding) bag = ir::where(ir::equal_to(at, nodes::number(at, *padding)), nodes::number(bag, bags), bag);
    return joined_rows(scaled, make_tensor(bag), bags + 1, options.mode).narrow(0, 0, bags);
}

}  // namespace weft
