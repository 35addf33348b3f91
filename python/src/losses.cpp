// python/src/losses.cpp: the losses of weft.nn.functional.
#include "arguments.h"
#include "topics.h"

#include <weft/loss.h>

namespace weft::python {

namespace {

void bind_class_losses(nb::module_& f) {
    function(
        f, "cross_entropy", "input, target, weight=None, *, ignore_index=-100, reduction='mean', label_smoothing=0.0",
        "-log softmax(input)[target]; targets equal to ignore_index count nothing. A target of input's shape holds "
        "probabilities.",
        [](const Tensor& logits, const Tensor& labels, const MaybeTensor& weight, std::int64_t ignore_index,
           Reduction reduction, double smoothing) {
            return cross_entropy(logits, labels,
                                 {.reduction = reduction,
                                  .ignore_index = ignore_index,
                                  .label_smoothing = smoothing,
                                  .weight = weight.tensor});
        });
    function(f, "nll_loss", "input, target, weight=None, *, ignore_index=-100, reduction='mean'",
             "-input[target], for logarithms of probabilities; targets equal to ignore_index count nothing.",
             [](const Tensor& x, const Tensor& labels, const MaybeTensor& weight, std::int64_t ignore_index,
                Reduction reduction) { return nll_loss(x, labels, reduction, ignore_index, weight.tensor); });
    function(f, "focal_loss", "input, target, alpha=None, gamma=2.0, *, ignore_index=-100, reduction='mean'",
             "cross_entropy times (1 - p) ** gamma, where p is the target's probability; alpha scales each class.",
             [](const Tensor& x, const Tensor& labels, const MaybeTensor& alpha, double gamma,
                std::int64_t ignore_index, Reduction reduction) {
                 return focal_loss(
                     x, labels,
                     {.gamma = gamma, .alpha = alpha.tensor, .reduction = reduction, .ignore_index = ignore_index});
             });
}

void bind_binary_losses(nb::module_& f) {
    function(f, "binary_cross_entropy", "input, target, weight=None, *, reduction='mean'",
             "-(t log p + (1 - t) log(1 - p)).",
             [](const Tensor& x, const Tensor& target, const MaybeTensor& weight, Reduction reduction) {
                 return binary_cross_entropy(x, target, reduction, weight.tensor);
             });
    function(f, "binary_cross_entropy_with_logits", "input, target, weight=None, *, reduction='mean', pos_weight=None",
             "The same for logits, which is the stable form; pos_weight scales the loss of targets of 1.",
             [](const Tensor& x, const Tensor& target, const MaybeTensor& weight, Reduction reduction,
                const MaybeTensor& pos_weight) {
                 return bce_with_logits(x, target, reduction, weight.tensor, pos_weight.tensor);
             });
    function(f, "sigmoid_focal_loss", "inputs, targets, alpha=0.25, gamma=2.0, reduction='none'",
             "binary_cross_entropy_with_logits times (1 - p) ** gamma, where p is the target's probability.",
             [](const Tensor& x, const Tensor& target, double alpha, double gamma, Reduction reduction) {
                 return sigmoid_focal_loss(x, target, alpha, gamma, reduction);
             });
}

void bind_distances(nb::module_& f) {
    function(f, "mse_loss", "input, target, *, reduction='mean'", "(input - target)².",
             [](const Tensor& x, const Tensor& target, Reduction reduction) { return mse_loss(x, target, reduction); });
    function(f, "l1_loss", "input, target, *, reduction='mean'", "|input - target|.",
             [](const Tensor& x, const Tensor& target, Reduction reduction) { return l1_loss(x, target, reduction); });
    function(f, "smooth_l1_loss", "input, target, *, reduction='mean', beta=1.0",
             "A square below beta, a line of slope 1 above it.",
             [](const Tensor& x, const Tensor& target, Reduction reduction, double beta) {
                 return smooth_l1_loss(x, target, beta, reduction);
             });
    function(f, "huber_loss", "input, target, reduction='mean', delta=1.0",
             "A square below delta, a line of slope delta above it.",
             [](const Tensor& x, const Tensor& target, Reduction reduction, double delta) {
                 return huber_loss(x, target, delta, reduction);
             });
    function(
        f, "log_cosh_loss", "input, target, *, reduction='mean'", "log(cosh(input - target)).",
        [](const Tensor& x, const Tensor& target, Reduction reduction) { return log_cosh_loss(x, target, reduction); });
}

void bind_distributions(nb::module_& f) {
    function(
        f, "kl_div", "input, target, *, reduction='mean', log_target=False",
        "target * (log target - input), for an input of logarithms; 'batchmean' divides the sum by the first size.",
        [](const Tensor& x, const Tensor& target, nb::handle reduction, bool log_target) {
            const bool batch_mean = PyUnicode_Check(reduction.ptr()) && to_text(reduction.ptr(), {}) == "batchmean";
            const Reduction chosen = batch_mean ? Reduction::BatchMean
                                                : Converter<Reduction>(reduction.ptr(), {"kl_div", "reduction"}).get();
            return kl_div(x, target, chosen, log_target);
        });
    function(f, "poisson_nll_loss", "input, target, log_input=True, full=False, *, eps=1e-08, reduction='mean'",
             "exp(input) - target * input, for the logarithm of a Poisson distribution's mean.",
             [](const Tensor& x, const Tensor& target, bool log_input, bool full, double eps, Reduction reduction) {
                 return poisson_nll_loss(x, target,
                                         {.log_input = log_input, .full = full, .eps = eps, .reduction = reduction});
             });
    function(f, "gaussian_nll_loss", "input, target, var, full=False, eps=1e-06, reduction='mean'",
             "(log var + (input - target)² / var) / 2, for the mean and the variance of a normal distribution.",
             [](const Tensor& x, const Tensor& target, const Operand& var, bool full, double eps, Reduction reduction) {
                 if (var.is_scalar() && var.scalar().as_double() < 0)
                     throw ValueError("gaussian_nll_loss(): argument 'var' must not be negative");
                 const Tensor variance = var.is_scalar() ? ones_like(x) * var : var.tensor();
                 return gaussian_nll_loss(x, target, variance, {.full = full, .eps = eps, .reduction = reduction});
             });
}

void bind_vector_losses(nb::module_& f) {
    function(f, "cosine_similarity", "x1, x2, dim=1, eps=1e-08",
             "The cosine of the angle between vectors along an axis.",
             [](const Tensor& a, const Tensor& b, int dim, double eps) { return cosine_similarity(a, b, dim, eps); });
    function(f, "pairwise_distance", "x1, x2, p=2.0, eps=1e-06, keepdim=False",
             "The p-norm of x1 - x2 + eps along the last axis.",
             [](const Tensor& a, const Tensor& b, double p, double eps, bool keepdim) {
                 return pairwise_distance(a, b, p, eps, keepdim);
             });
    function(f, "cosine_embedding_loss", "input1, input2, target, margin=0.0, *, reduction='mean'",
             "1 - cos for a target of 1, max(0, cos - margin) for -1.",
             [](const Tensor& a, const Tensor& b, const Tensor& target, double margin, Reduction reduction) {
                 return cosine_embedding_loss(a, b, target, margin, reduction);
             });
    function(f, "margin_ranking_loss", "input1, input2, target, margin=0.0, *, reduction='mean'",
             "max(0, -target * (input1 - input2) + margin).",
             [](const Tensor& a, const Tensor& b, const Tensor& target, double margin, Reduction reduction) {
                 return margin_ranking_loss(a, b, target, margin, reduction);
             });
    function(f, "hinge_embedding_loss", "input, target, margin=1.0, *, reduction='mean'",
             "The input for a target of 1, max(0, margin - input) for -1.",
             [](const Tensor& x, const Tensor& target, double margin, Reduction reduction) {
                 return hinge_embedding_loss(x, target, margin, reduction);
             });
    function(f, "triplet_margin_loss",
             "anchor, positive, negative, margin=1.0, p=2.0, eps=1e-06, swap=False, *, reduction='mean'",
             "max(0, margin + distance(anchor, positive) - distance(anchor, negative)).",
             [](const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin, double p,
                double eps, bool swap, Reduction reduction) {
                 return triplet_margin_loss(
                     anchor, positive, negative,
                     {.margin = margin, .p = p, .eps = eps, .swap = swap, .reduction = reduction});
             });
}

}  // namespace

void bind_losses(nb::module_& f) {
    bind_class_losses(f);
    bind_binary_losses(f);
    bind_distances(f);
    bind_distributions(f);
    bind_vector_losses(f);
}

}  // namespace weft::python
