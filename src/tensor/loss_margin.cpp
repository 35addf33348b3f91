// tensor/loss_margin.cpp: losses that want a margin between the scores of right and wrong classes.
#include "tensor/loss.h"

#include "tensor/check.h"

#include <weft/ops.h>

namespace weft {
namespace {

void check_scores(const Checker& check, const Tensor& input) {
    check.dtype(is_float(input.dtype()), "the input must be a float tensor, not ", input.dtype());
    check.that((input.rank() == 1 || input.rank() == 2) && input.size(-1) > 0,
               "the input must be [n, classes] or [classes], with one class at least");
}

}  // namespace

Tensor multi_margin_loss(const Tensor& input, const Tensor& labels, const MultiMarginOptions& options) {
    const Checker check("multi_margin_loss",
                        {{"input", input}, {"labels", labels}, {"weight", options.weight, kOptional}});
    check_scores(check, input);
    check.value(options.p == 1 || options.p == 2, "p must be 1 or 2, not ", options.p);
    check.dtype(is_int(labels.dtype()), "labels must be integers, not ", labels.dtype());
    Shape wanted = input.shape();
    wanted.pop_back();
    check.that(labels.shape() == wanted || (input.rank() == 1 && labels.shape() == Shape{1}),
               "labels must have the shape ", wanted);
    const std::int64_t classes = input.size(-1);
    check.that(!options.weight.defined() || options.weight.shape() == Shape{classes}, "weight must have the shape [",
               classes, "]");
    const DType result = input.dtype(), wide = accumulator_of(result);
    const Tensor x = input.to(wide), label = labels.reshape(wanted).to(DType::I64).unsqueeze(-1);
    Tensor terms = relu(options.margin - gather(x, -1, label) + x);
    if (options.p == 2) terms = terms * terms;
    if (options.weight.defined())
        terms = terms * index_select(options.weight.to(wide), 0, label.reshape({-1})).reshape(label.shape());
    const Tensor others = where(arange(classes) == label, 0, terms);
    return reduced_loss(others.sum(-1) / static_cast<double>(classes), options.reduction, result);
}

Tensor multilabel_margin_loss(const Tensor& input, const Tensor& labels, Reduction reduction) {
    const Checker check("multilabel_margin_loss", {{"input", input}, {"labels", labels}});
    check_scores(check, input);
    check.dtype(is_int(labels.dtype()), "labels must be integers, not ", labels.dtype());
    check.that(labels.shape() == input.shape(), "labels must have the input's shape: each row holds classes, then -1");
    const std::int64_t classes = input.size(-1);
    const DType result = input.dtype(), wide = accumulator_of(result);
    const Tensor x = input.to(wide);
    const Tensor counts =
        cumprod((labels >= 0).to(DType::I64), -1) == 1;  // what stands before the first negative number
    const Tensor label = where(counts, labels.to(DType::I64), 0);
    // [n, labels, classes] from here on.
    const Tensor row = counts.unsqueeze(-1);
    const Tensor same = logical_and(label.unsqueeze(-1) == arange(classes), row);
    const Tensor wrong = logical_not(any(same, -2, true));
    const Tensor terms = relu(1.0 - gather(x, -1, label).unsqueeze(-1) + x.unsqueeze(-2));
    const Tensor each = where(logical_and(row, wrong), terms, 0).sum(-1).sum(-1) / static_cast<double>(classes);
    return reduced_loss(each, reduction, result);
}

Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, Reduction reduction,
                                   const Tensor& weight) {
    const Checker check("multilabel_soft_margin_loss",
                        {{"input", input}, {"target", target}, {"weight", weight, kOptional}});
    check.that(input.rank() > 0 && input.shape() == target.shape(), "both must have the same shape, […, classes]");
    const DType result = promote({input, target}), wide = accumulator_of(result);
    check.dtype(is_float(result), "one of them must be a float tensor");
    const Tensor x = input.to(wide), t = target.to(wide);
    Tensor each = -(t * log_sigmoid(x) + (1.0 - t) * log_sigmoid(-x));
    if (weight.defined()) {
        check.broadcast(each.shape(), weight.shape());
        each = each * weight.to(wide);
    }
    return reduced_loss(each.sum(-1) / static_cast<double>(input.size(-1)), reduction, result);
}

Tensor soft_margin_loss(const Tensor& input, const Tensor& target, Reduction reduction) {
    const Checker check("soft_margin_loss", {{"input", input}, {"target", target}});
    check.broadcast(input.shape(), target.shape());
    const DType result = promote({input, target}), wide = accumulator_of(result);
    check.dtype(is_float(result), "one of them must be a float tensor");
    return reduced_loss(-log_sigmoid(target.to(wide) * input.to(wide)), reduction, result);
}

}  // namespace weft
