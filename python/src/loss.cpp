// python/src/loss.cpp: the losses of weft.nn.functional.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/loss.h>
#include <weft/ops.h>

namespace weft::python {

namespace {

void warn(const std::string& text) {
    if (PyErr_WarnEx(PyExc_UserWarning, text.c_str(), 1) < 0) nb::raise_python_error();
}

// The reduction, or what the old arguments say: size_average=False is 'sum', reduce=False 'none'.
Reduction reduction_of(nb::handle size_average, nb::handle reduce, Reduction given) {
    if (size_average.is_none() && reduce.is_none()) return given;
    const auto holds = [](nb::handle value) { return value.is_none() || PyObject_IsTrue(value.ptr()) == 1; };
    const Reduction meant = !holds(reduce) ? Reduction::None : holds(size_average) ? Reduction::Mean : Reduction::Sum;
    warn(std::string("size_average and reduce are old arguments; use reduction='") +
         (meant == Reduction::None   ? "none"
          : meant == Reduction::Mean ? "mean"
                                     : "sum") +
         "' instead");
    return meant;
}

// Input and target in one shape. Where that takes broadcasting it is allowed, but most often a mistake.
struct Pair {
    Tensor input, target;
};
Pair broadcast_pair(const char* name, const Tensor& input, const Tensor& target) {
    if (input.shape() == target.shape()) return {input, target};
    const Shape x = input.shape(), t = target.shape();
    const std::size_t rank = std::max(x.size(), t.size());
    Shape a = Shape::filled(rank - x.size(), 1), b = Shape::filled(rank - t.size(), 1);
    a.append(x.begin(), x.end());
    b.append(t.begin(), t.end());
    for (std::size_t i = 0; i < rank; ++i) {
        if (a[i] != b[i] && a[i] != 1 && b[i] != 1)
            throw ShapeError(std::string(name) + "(): the target's shape " + to_string(target.shape()) +
                             " does not broadcast with the input's shape " + to_string(input.shape()));
        if (a[i] == 1) a[i] = b[i];
    }
    warn(std::string(name) + "(): the target's shape " + to_string(target.shape()) + " is not the input's shape " +
         to_string(input.shape()) + ", so both are broadcast; reshape one of them if that is not what you mean");
    return {broadcast_to(input, a), broadcast_to(target, a)};
}

Dims lengths_of(nb::handle lengths, const char* name) {
    if (!is_tensor(lengths.ptr())) return to_dims(lengths.ptr(), {"ctc_loss", name});
    const std::vector<std::int64_t> numbers =
        without_gil([&] { return tensor_in(lengths.ptr()).to_vector<std::int64_t>(); });
    return {numbers.begin(), numbers.end()};
}

void bind_class_losses(nb::module_& f) {
    function(
        f, "cross_entropy",
        "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean', "
        "label_smoothing=0.0",
        "-log softmax(input)[target]; targets equal to ignore_index count nothing. A target of input's shape holds "
        "probabilities.",
        [](const Tensor& logits, const Tensor& labels, const MaybeTensor& weight, nb::handle average,
           std::int64_t ignore_index, nb::handle reduce, Reduction reduction, double smoothing) {
            return cross_entropy(logits, labels,
                                 {.reduction = reduction_of(average, reduce, reduction),
                                  .ignore_index = ignore_index,
                                  .label_smoothing = smoothing,
                                  .weight = weight.tensor});
        });
    function(f, "nll_loss",
             "input, target, weight=None, size_average=None, ignore_index=-100, reduce=None, reduction='mean'",
             "-input[target], for logarithms of probabilities; targets equal to ignore_index count nothing.",
             [](const Tensor& x, const Tensor& labels, const MaybeTensor& weight, nb::handle average,
                std::int64_t ignore_index, nb::handle reduce, Reduction reduction) {
                 return nll_loss(x, labels, reduction_of(average, reduce, reduction), ignore_index, weight.tensor);
             });
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
    function(f, "binary_cross_entropy", "input, target, weight=None, size_average=None, reduce=None, reduction='mean'",
             "-(t log p + (1 - t) log(1 - p)).",
             [](const Tensor& x, const Tensor& target, const MaybeTensor& weight, nb::handle average, nb::handle reduce,
                Reduction reduction) {
                 return binary_cross_entropy(x, target, reduction_of(average, reduce, reduction), weight.tensor);
             });
    function(f, "binary_cross_entropy_with_logits",
             "input, target, weight=None, size_average=None, reduce=None, reduction='mean', pos_weight=None",
             "The same for logits, which is the stable form; pos_weight scales the loss of targets of 1.",
             [](const Tensor& x, const Tensor& target, const MaybeTensor& weight, nb::handle average, nb::handle reduce,
                Reduction reduction, const MaybeTensor& pos_weight) {
                 return bce_with_logits(x, target, reduction_of(average, reduce, reduction), weight.tensor,
                                        pos_weight.tensor);
             });
    function(f, "sigmoid_focal_loss", "inputs, targets, alpha=0.25, gamma=2.0, reduction='none'",
             "binary_cross_entropy_with_logits times (1 - p) ** gamma, where p is the target's probability.",
             [](const Tensor& x, const Tensor& target, double alpha, double gamma, Reduction reduction) {
                 return sigmoid_focal_loss(x, target, alpha, gamma, reduction);
             });
}

void bind_distances(nb::module_& f) {
    function(f, "mse_loss", "input, target, size_average=None, reduce=None, reduction='mean'", "(input - target)².",
             [](const Tensor& x, const Tensor& target, nb::handle average, nb::handle reduce, Reduction reduction) {
                 const Pair pair = broadcast_pair("mse_loss", x, target);
                 return mse_loss(pair.input, pair.target, reduction_of(average, reduce, reduction));
             });
    function(f, "l1_loss", "input, target, size_average=None, reduce=None, reduction='mean'", "|input - target|.",
             [](const Tensor& x, const Tensor& target, nb::handle average, nb::handle reduce, Reduction reduction) {
                 const Pair pair = broadcast_pair("l1_loss", x, target);
                 return l1_loss(pair.input, pair.target, reduction_of(average, reduce, reduction));
             });
    function(f, "smooth_l1_loss", "input, target, size_average=None, reduce=None, reduction='mean', beta=1.0",
             "A square below beta, a line of slope 1 above it.",
             [](const Tensor& x, const Tensor& target, nb::handle average, nb::handle reduce, Reduction reduction,
                double beta) {
                 const Pair pair = broadcast_pair("smooth_l1_loss", x, target);
                 return smooth_l1_loss(pair.input, pair.target, beta, reduction_of(average, reduce, reduction));
             });
    function(f, "huber_loss", "input, target, reduction='mean', delta=1.0",
             "A square below delta, a line of slope delta above it.",
             [](const Tensor& x, const Tensor& target, Reduction reduction, double delta) {
                 const Pair pair = broadcast_pair("huber_loss", x, target);
                 return huber_loss(pair.input, pair.target, delta, reduction);
             });
    function(
        f, "log_cosh_loss", "input, target, *, reduction='mean'", "log(cosh(input - target)).",
        [](const Tensor& x, const Tensor& target, Reduction reduction) { return log_cosh_loss(x, target, reduction); });
}

void bind_distributions(nb::module_& f) {
    function(
        f, "kl_div", "input, target, size_average=None, reduce=None, reduction='mean', log_target=False",
        "target * (log target - input), for an input of logarithms; 'batchmean' divides the sum by the first size.",
        [](const Tensor& x, const Tensor& target, nb::handle average, nb::handle reduce, nb::handle reduction,
           bool log_target) {
            const bool batch_mean = PyUnicode_Check(reduction.ptr()) && to_text(reduction.ptr(), {}) == "batchmean";
            const Reduction chosen = batch_mean ? Reduction::BatchMean
                                                : Converter<Reduction>(reduction.ptr(), {"kl_div", "reduction"}).get();
            return kl_div(x, target, reduction_of(average, reduce, chosen), log_target);
        });
    function(f, "poisson_nll_loss",
             "input, target, log_input=True, full=False, size_average=None, eps=1e-08, reduce=None, reduction='mean'",
             "exp(input) - target * input, for the logarithm of a Poisson distribution's mean.",
             [](const Tensor& x, const Tensor& target, bool log_input, bool full, nb::handle average, double eps,
                nb::handle reduce, Reduction reduction) {
                 return poisson_nll_loss(x, target,
                                         {.log_input = log_input,
                                          .full = full,
                                          .eps = eps,
                                          .reduction = reduction_of(average, reduce, reduction)});
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

template <Tensor (*loss)(const Tensor&, const Tensor&, const Tensor&, double, Reduction)>
void bind_margin(nb::module_& f, const char* name, const char* doc) {
    function(
        f, name, "input1, input2, target, margin=0.0, size_average=None, reduce=None, reduction='mean'", doc,
        [](const Tensor& a, const Tensor& b, const Tensor& target, double margin, nb::handle average, nb::handle reduce,
           Reduction reduction) { return loss(a, b, target, margin, reduction_of(average, reduce, reduction)); });
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
    bind_margin<cosine_embedding_loss>(f, "cosine_embedding_loss",
                                       "1 - cos for a target of 1, max(0, cos - margin) for -1.");
    bind_margin<margin_ranking_loss>(f, "margin_ranking_loss", "max(0, -target * (input1 - input2) + margin).");
    function(f, "hinge_embedding_loss", "input, target, margin=1.0, size_average=None, reduce=None, reduction='mean'",
             "The input for a target of 1, max(0, margin - input) for -1.",
             [](const Tensor& x, const Tensor& target, double margin, nb::handle average, nb::handle reduce,
                Reduction reduction) {
                 return hinge_embedding_loss(x, target, margin, reduction_of(average, reduce, reduction));
             });
    function(f, "triplet_margin_loss",
             "anchor, positive, negative, margin=1.0, p=2.0, eps=1e-06, swap=False, size_average=None, "
             "reduce=None, reduction='mean'",
             "max(0, margin + distance(anchor, positive) - distance(anchor, negative)).",
             [](const Tensor& anchor, const Tensor& positive, const Tensor& negative, double margin, double p,
                double eps, bool swap, nb::handle average, nb::handle reduce, Reduction reduction) {
                 return triplet_margin_loss(anchor, positive, negative,
                                            {.margin = margin,
                                             .p = p,
                                             .eps = eps,
                                             .swap = swap,
                                             .reduction = reduction_of(average, reduce, reduction)});
             });
}

void bind_margin_losses(nb::module_& f) {
    function(
        f, "multi_margin_loss",
        "input, target, p=1, margin=1.0, weight=None, size_average=None, reduce=None, reduction='mean'",
        "The sum over other classes of max(0, margin - input[target] + input[class]) ** p, by the number of classes.",
        [](const Tensor& x, const Tensor& labels, int p, double margin, const MaybeTensor& weight, nb::handle average,
           nb::handle reduce, Reduction reduction) {
            return multi_margin_loss(x, labels,
                                     {.p = p,
                                      .margin = margin,
                                      .weight = weight.tensor,
                                      .reduction = reduction_of(average, reduce, reduction)});
        });
    function(f, "multilabel_margin_loss", "input, target, size_average=None, reduce=None, reduction='mean'",
             "The same for rows of several labels, which end at the first -1.",
             [](const Tensor& x, const Tensor& labels, nb::handle average, nb::handle reduce, Reduction reduction) {
                 return multilabel_margin_loss(x, labels, reduction_of(average, reduce, reduction));
             });
    function(f, "multilabel_soft_margin_loss",
             "input, target, weight=None, size_average=None, reduce=None, reduction='mean'",
             "The mean over classes of binary_cross_entropy_with_logits.",
             [](const Tensor& x, const Tensor& target, const MaybeTensor& weight, nb::handle average, nb::handle reduce,
                Reduction reduction) {
                 return multilabel_soft_margin_loss(x, target, reduction_of(average, reduce, reduction), weight.tensor);
             });
    function(f, "soft_margin_loss", "input, target, size_average=None, reduce=None, reduction='mean'",
             "log(1 + exp(-target * input)), for targets of 1 and -1.",
             [](const Tensor& x, const Tensor& target, nb::handle average, nb::handle reduce, Reduction reduction) {
                 return soft_margin_loss(x, target, reduction_of(average, reduce, reduction));
             });
    function(
        f, "ctc_loss",
        "log_probs, targets, input_lengths, target_lengths, blank=0, reduction='mean', zero_infinity=False",
        "-log of the probability that log_probs (time, n, classes) read as the targets, without repeats and blanks.",
        [](const Tensor& x, const Tensor& labels, nb::handle input_lengths, nb::handle target_lengths,
           std::int64_t blank, Reduction reduction, bool zero_infinity) {
            return ctc_loss(x, labels, lengths_of(input_lengths, "input_lengths"),
                            lengths_of(target_lengths, "target_lengths"),
                            {.blank = blank, .reduction = reduction, .zero_infinity = zero_infinity});
        });
}

}  // namespace

void bind_loss(nb::module_& f) {
    bind_class_losses(f);
    bind_binary_losses(f);
    bind_distances(f);
    bind_distributions(f);
    bind_vector_losses(f);
    bind_margin_losses(f);
}

}  // namespace weft::python
