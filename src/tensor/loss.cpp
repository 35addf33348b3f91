// tensor/loss.cpp: losses, in their stable forms. Each is a value per element or row, then a reduction over them.
#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <numeric>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

Dims all_axes(const NodeRef& x) {
    Dims axes(x->shape.size());
    std::iota(axes.begin(), axes.end(), 0);
    return axes;
}

NodeRef total(const NodeRef& x) { return ir::reshape(ir::reduce(Op::Add, x, all_axes(x)), {}); }

Tensor reduced_loss(const NodeRef& each, Reduction reduction, DType result) {
    NodeRef loss = reduction == Reduction::None ? each : total(each);
    if (reduction == Reduction::Mean) loss = loss / nodes::number(loss, static_cast<double>(numel(each->shape)));
    return make_tensor(ir::cast(loss, result));
}

// ---- losses over classes ---------------------------------------------------------------------------------------------

// Labels with an axis of size 1 where the classes are, and which of them count (null: all do).
struct Labels {
    NodeRef label, counts;
    int axis = 0;  // of the classes
};

Labels checked_labels(const Checker& check, const Tensor& x, const Tensor& labels,
                      std::optional<std::int64_t> ignore_index) {
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
    return {ir::check(label, 0, classes, str(check.call(), ": label out of range [0, ", classes, ")")), counts, axis};
}

// x[label] for each row, as a masked sum along the classes: it fuses with what surrounds it, and so does its gradient.
NodeRef picked(const NodeRef& x, const Labels& labels) {
    const NodeRef at = nodes::positions(x->size(labels.axis), labels.axis, x->rank());
    return ir::reduce(Op::Add, ir::where(ir::equal_to(at, labels.label), x, nodes::number(x, 0)), {labels.axis});
}

Tensor reduced_rows(NodeRef rows, const Labels& labels, Reduction reduction, DType result) {
    if (labels.counts) rows = ir::where(labels.counts, rows, nodes::number(rows, 0));
    rows = nodes::drop_axes(rows, {labels.axis});
    if (reduction != Reduction::Mean || !labels.counts) return reduced_loss(rows, reduction, result);
    return make_tensor(ir::cast(total(rows) / total(ir::cast(labels.counts, rows->dtype)), result));
}

void check_same_shape(const Checker& check, const Tensor& a, const Tensor& b) {
    check.that(a.shape() == b.shape(), "both must have the same shape; broadcasting here would hide a mistake");
}

struct Wide {
    NodeRef input, target;
    DType result;
};

Wide widened(const Checker& check, const Tensor& input, const Tensor& target) {
    check_same_shape(check, input, target);
    const DType result = promote(input.dtype(), target.dtype());
    check.dtype(is_float(result), "one of them must be a float tensor");
    const DType wide = accumulator_of(result);
    return {ir::cast(node_of(input), wide), ir::cast(node_of(target), wide), result};
}

}  // namespace

Tensor cross_entropy(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& options) {
    const Checker check("cross_entropy", {{"logits", logits}, {"labels", labels}});
    const double smoothing = options.label_smoothing;
    check.value(smoothing >= 0 && smoothing <= 1, "label_smoothing must lie between 0 and 1");
    const Labels known = checked_labels(check, logits, labels, options.ignore_index);
    const Dims classes = {known.axis};
    // log(sum(exp(z))) - z[label]: its gradient is softmax(z) - one_hot(label), by the ordinary rules.
    const NodeRef z = nodes::shifted(ir::cast(node_of(logits), accumulator_of(logits.dtype())), classes);
    const NodeRef partition = ir::unary(Op::Log, ir::reduce(Op::Add, ir::unary(Op::Exp, z), classes));
    NodeRef score = picked(z, known);
    if (smoothing > 0)
        score = score * nodes::number(z, 1 - smoothing) + nodes::mean(z, classes) * nodes::number(z, smoothing);
    return reduced_rows(partition - score, known, options.reduction, logits.dtype());
}

Tensor nll_loss(const Tensor& log_probabilities, const Tensor& labels, Reduction reduction,
                std::optional<std::int64_t> ignore_index) {
    const Checker check("nll_loss", {{"log_probabilities", log_probabilities}, {"labels", labels}});
    const Labels known = checked_labels(check, log_probabilities, labels, ignore_index);
    const NodeRef wide = ir::cast(node_of(log_probabilities), accumulator_of(log_probabilities.dtype()));
    return reduced_rows(-picked(wide, known), known, reduction, log_probabilities.dtype());
}

// ---- losses of equal shapes ------------------------------------------------------------------------------------------

Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
    const Checker check("mse_loss", {{"input", input}, {"target", target}});
    const Wide wide = widened(check, input, target);
    const NodeRef distance = wide.input - wide.target;
    return reduced_loss(distance * distance, reduction, wide.result);
}

Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
    const Checker check("l1_loss", {{"input", input}, {"target", target}});
    const Wide wide = widened(check, input, target);
    return reduced_loss(ir::unary(Op::Abs, wide.input - wide.target), reduction, wide.result);
}

namespace {

constexpr double kLowestLog = -100;  // PyTorch's limit: a probability of 0 costs 100, not infinity

NodeRef limited_log(const NodeRef& p) {
    return ir::binary(Op::Max, ir::unary(Op::Log, p), nodes::number(p, kLowestLog));
}
NodeRef limited_log_of_rest(const NodeRef& p) {
    return ir::binary(Op::Max, ir::unary(Op::Log1p, -p), nodes::number(p, kLowestLog));
}

// The logarithms' own gradients at probabilities 0 and 1 are infinite; PyTorch limits them, and so does this rule.
const std::shared_ptr<const ir::GradRuleObject>& cross_entropy_rule() {
    static const auto rule = nodes::grad_rule("binary_cross_entropy", [](const NodeRef& out, const NodeRef& g) {
        const NodeRef &p = out->sources[1], &t = out->sources[2];
        const NodeRef variance = ir::binary(Op::Max, p * (nodes::number(p, 1) - p), nodes::number(p, 1e-12));
        return ir::Grads{g * ((p - t) / variance), g * (limited_log_of_rest(p) - limited_log(p))};
    });
    return rule;
}

}  // namespace

Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& target, Reduction reduction) {
    const Checker check("binary_cross_entropy", {{"probabilities", probabilities}, {"target", target}});
    const Wide wide = widened(check, probabilities, target);
    const NodeRef &p = wide.input, &t = wide.target, one = nodes::number(p, 1);
    const NodeRef value = -(t * limited_log(p) + (one - t) * limited_log_of_rest(p)), inputs[] = {p, t};
    return reduced_loss(ir::with_grad(value, inputs, cross_entropy_rule()), reduction, wide.result);
}

Tensor bce_with_logits(const Tensor& logits, const Tensor& target, Reduction reduction) {
    const Checker check("bce_with_logits", {{"logits", logits}, {"target", target}});
    const Wide wide = widened(check, logits, target);
    return reduced_loss(nodes::softplus(wide.input) - wide.input * wide.target, reduction, wide.result);
}

}  // namespace weft
