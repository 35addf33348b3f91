// tensor/loss.cpp: losses over classes, in their stable forms. Each is a value per row, then a reduction over the rows.
#include "tensor/loss.h"

#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <numeric>

namespace weft {

using ir::NodeRef;
using ir::Op;

// ---- what all losses share -------------------------------------------------------------------------------------------

NodeRef total(const NodeRef& x) {
    Dims axes = Dims::filled(x->shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    return ir::reshape(ir::reduce(Op::Add, x, axes), {});
}

Tensor reduced_loss(const NodeRef& each, Reduction reduction, DType result) {
    NodeRef loss = reduction == Reduction::None ? each : total(each);
    if (reduction == Reduction::Mean) loss = loss / nodes::number(loss, static_cast<double>(numel(each->shape)));
    if (reduction == Reduction::BatchMean && each->rank() > 0)
        loss = loss / nodes::number(loss, static_cast<double>(each->shape[0]));
    return make_tensor(ir::cast(loss, result));
}

Tensor reduced_loss(const Tensor& each, Reduction reduction, DType result) {
    return reduced_loss(node_of(each), reduction, result);
}

Tensor at_least(const Tensor& x, double low) {
    const Tensor value = x.detach();
    return x + (clamp_min(value, low) - value);
}

WidePair widened(const Checker& check, const Tensor& input, const Tensor& target) {
    check.that(input.shape() == target.shape(),
               "both must have the same shape; broadcasting here would hide a mistake");
    const DType result = promote(input.dtype(), target.dtype());
    check.dtype(is_float(result), "one of them must be a float tensor");
    const DType wide = accumulator_of(result);
    return {ir::cast(node_of(input), wide), ir::cast(node_of(target), wide), result};
}

namespace {

// ---- losses over classes ---------------------------------------------------------------------------------------------

// Labels with an axis of size 1 where the classes are, which of them count (null: all do), and the classes' weights, if there
// are any, with the classes on that axis.
struct Labels {
    NodeRef label, counts, weight;
    int axis = 0;  // of the classes
};

// The classes' weights as [1, classes, 1, …], or null.
NodeRef class_weights(const Checker& check, const Tensor& weight, const Tensor& x) {
    if (!weight.defined()) return nullptr;
    const int axis = x.rank() == 1 ? 0 : 1;
    check.that(weight.shape() == Shape{x.size(axis)}, "weight must have shape [", x.size(axis),
               "]: one per class, not ", weight.shape());
    Shape shape = Shape::filled(static_cast<std::size_t>(x.rank()), 1);
    shape[axis] = x.size(axis);
    return ir::reshape(ir::cast(node_of(weight), accumulator_of(x.dtype())), shape);
}

Labels checked_labels(const Checker& check, const Tensor& x, const Tensor& labels,
                      std::optional<std::int64_t> ignore_index, const Tensor& weight) {
    check.dtype(is_float(x.dtype()), "the first argument must be a float tensor, not ", x.dtype());
    check.dtype(is_int(labels.dtype()), "labels must be integers (class indices), not ", labels.dtype());
    check.that(x.rank() >= 1, "there is no axis of classes");
    const int axis = x.rank() == 1 ? 0 : 1;
    Shape expected = x.shape();
    const std::int64_t classes = expected[axis];
    expected.erase(expected.begin() + axis);
    check.that(labels.shape() == expected, "labels must have shape ", expected, ": one class index per row");
    check.that(classes > 0, "there are no classes");
    NodeRef label = nodes::add_axis(ir::cast(node_of(labels), DType::I64), axis), counts;
    if (ignore_index && (*ignore_index >= 0 || is_signed_int(labels.dtype()))) {  // an unsigned label is never negative
        counts = nodes::not_equal(label, nodes::number(label, *ignore_index));
        label = ir::where(counts, label, nodes::number(label, 0));
    }
    label = ir::check(label, 0, classes, str(check.call(), ": label out of range [0, ", classes, ")"));
    return {label, counts, class_weights(check, weight, x), axis};
}

// x[label] for each row, as a masked sum along the classes: it fuses with what surrounds it, and so does its gradient.
NodeRef picked(const NodeRef& x, const Labels& labels) {
    const NodeRef at = nodes::positions(x->size(labels.axis), labels.axis, x->rank());
    return ir::reduce(Op::Add, ir::where(ir::equal_to(at, labels.label), x, nodes::number(x, 0)), {labels.axis});
}

// The rows that count, reduced; `share`, if there is one, is what each of them weighs in the mean.
Tensor reduced_rows(NodeRef rows, NodeRef share, const Labels& labels, Reduction reduction, DType result) {
    if (labels.counts) {
        const NodeRef zero = nodes::number(rows, 0);
        share = share ? ir::where(labels.counts, share, zero) : ir::cast(labels.counts, rows->dtype);
        rows = ir::where(labels.counts, rows, zero);
    }
    rows = nodes::drop_axes(rows, {labels.axis});
    if (reduction != Reduction::Mean || !share) return reduced_loss(rows, reduction, result);
    return make_tensor(ir::cast(total(rows) / total(share), result));
}

// The logits less their maximum, and log(sum(exp(z))) of that.
struct Logits {
    NodeRef z, partition;
    Logits(const Tensor& logits, int axis)
        : z(nodes::shifted(ir::cast(node_of(logits), accumulator_of(logits.dtype())), {axis})),
          partition(ir::unary(Op::Log, ir::reduce(Op::Add, ir::unary(Op::Exp, z), {axis}))) {}
};

// -sum(p * weight * log softmax), for probabilities p.
Tensor soft_cross_entropy(const Checker& check, const Tensor& logits, const Tensor& target,
                          const CrossEntropyOptions& options) {
    check.dtype(is_float(logits.dtype()), "the first argument must be a float tensor, not ", logits.dtype());
    check.that(logits.rank() >= 1, "there is no axis of classes");
    check.value(!options.ignore_index || *options.ignore_index < 0, "ignore_index needs labels that are class indices");
    const int axis = logits.rank() == 1 ? 0 : 1;
    const auto [z, partition] = Logits(logits, axis);
    NodeRef p = ir::cast(node_of(target), z->dtype);
    if (const double s = options.label_smoothing; s > 0)
        p = p * nodes::number(z, 1 - s) + nodes::number(z, s / static_cast<double>(logits.size(axis)));
    if (const NodeRef weight = class_weights(check, options.weight, logits)) p = p * weight;
    const NodeRef rows = ir::reduce(Op::Add, p * (partition - z), {axis});
    return reduced_loss(nodes::drop_axes(rows, {axis}), options.reduction, logits.dtype());
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& options) {
    const Checker check("cross_entropy", {{"logits", logits}, {"labels", labels}});
    const double smoothing = options.label_smoothing;
    check.value(smoothing >= 0 && smoothing <= 1, "label_smoothing must lie between 0 and 1");
    if (is_float(labels.dtype()) && labels.shape() == logits.shape())
        return soft_cross_entropy(check, logits, labels, options);
    const Labels known = checked_labels(check, logits, labels, options.ignore_index, options.weight);
    const Dims classes = {known.axis};
    // log(sum(exp(z))) - z[label]: its gradient is softmax(z) - one_hot(label), by the ordinary rules.
    const auto [z, partition] = Logits(logits, known.axis);
    if (!known.weight) {
        NodeRef score = picked(z, known);
        if (smoothing > 0)
            score = score * nodes::number(z, 1 - smoothing) + nodes::mean(z, classes) * nodes::number(z, smoothing);
        return reduced_rows(partition - score, nullptr, known, options.reduction, logits.dtype());
    }
    const NodeRef share = picked(known.weight, known);
    NodeRef rows = share * (partition - picked(z, known));
    if (smoothing > 0)
        rows = rows * nodes::number(z, 1 - smoothing) +
               nodes::mean(known.weight * (partition - z), classes) * nodes::number(z, smoothing);
    return reduced_rows(rows, share, known, options.reduction, logits.dtype());
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& labels, Reduction reduction,
                std::optional<std::int64_t> ignore_index, const Tensor& weight) {
    const Checker check("nll_loss", {{"log_probabilities", log_probabilities}, {"labels", labels}});
    const Labels known = checked_labels(check, log_probabilities, labels, ignore_index, weight);
    const NodeRef wide = ir::cast(node_of(log_probabilities), accumulator_of(log_probabilities.dtype()));
    const NodeRef share = known.weight ? picked(known.weight, known) : nullptr;
    const NodeRef rows = -picked(wide, known);
    return reduced_rows(share ? share * rows : rows, share, known, reduction, log_probabilities.dtype());
}

Tensor focal_loss(const Tensor& logits, const Tensor& labels, const FocalOptions& options) {
    const Checker check("focal_loss", {{"logits", logits}, {"labels", labels}});
    check.value(options.gamma >= 0, "gamma must not be negative");
    const Labels known = checked_labels(check, logits, labels, options.ignore_index, options.alpha);
    const auto [z, partition] = Logits(logits, known.axis);
    const NodeRef cost = partition - picked(z, known);  // -log p
    NodeRef rows = cost * focus(-ir::unary(Op::Expm1, -cost), options.gamma);
    if (known.weight) rows = rows * picked(known.weight, known);
    return reduced_rows(rows, nullptr, known, options.reduction, logits.dtype());
}

}  // namespace weft
