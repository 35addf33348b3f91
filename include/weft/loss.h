// weft/loss.h: losses, in forms that stay finite for large logits. Each is a value per element or row, then a reduction. f16
// and bf16 are computed in f32 inside and rounded once.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <cstdint>
#include <optional>

namespace WEFT_API weft {

// What becomes of the single losses. BatchMean divides their sum by the first size: kl_div's mathematical mean.
enum class Reduction : std::uint8_t { None, Mean, Sum, BatchMean };

// ---- classes ---------------------------------------------------------------------------------------------------------

// -log softmax(logits)[label], for logits [n, classes, …] and labels [n, …] (or [classes] and []). Labels equal to
// ignore_index, if there is one, count nothing, in the mean neither; any other label out of range raises. label_smoothing
// mixes in that much of the uniform distribution. `weight` [classes] scales each class; the mean divides by the weights of the
// labels. Labels may also be probabilities: floats of the logits' shape.
//
//     cross_entropy(logits, labels).backward();
struct CrossEntropyOptions {
    Reduction reduction = Reduction::Mean;
    std::optional<std::int64_t> ignore_index = {};
    double label_smoothing = 0;
    Tensor weight = {};
};
Tensor cross_entropy(const Tensor& logits, const Tensor& labels, const CrossEntropyOptions& options = {});

// -log_probabilities[label]: what cross_entropy does after log_softmax.
Tensor nll_loss(const Tensor& log_probabilities, const Tensor& labels, Reduction reduction = Reduction::Mean,
                std::optional<std::int64_t> ignore_index = {}, const Tensor& weight = {});

// cross_entropy times (1 - p)^gamma, where p is the label's probability: what is easy counts less. `alpha` [classes] scales
// each class; the mean is over the labels that count.
//
//     focal_loss(logits, labels, {.gamma = 2});
struct FocalOptions {
    double gamma = 2;
    Tensor alpha = {};
    Reduction reduction = Reduction::Mean;
    std::optional<std::int64_t> ignore_index = {};
};
Tensor focal_loss(const Tensor& logits, const Tensor& labels, const FocalOptions& options = {});

// ---- yes or no -------------------------------------------------------------------------------------------------------

// -(target log p + (1 - target) log(1 - p)), for probabilities, whose logarithms are limited to -100, and for logits, which
// is the stable form. `weight` scales each element, `pos_weight` the first term; both broadcast.
Tensor binary_cross_entropy(const Tensor& probabilities, const Tensor& target, Reduction reduction = Reduction::Mean,
                            const Tensor& weight = {});
Tensor bce_with_logits(const Tensor& logits, const Tensor& target, Reduction reduction = Reduction::Mean,
                       const Tensor& weight = {}, const Tensor& pos_weight = {});

// bce_with_logits times (1 - p)^gamma, where p is the target's probability, and times alpha for targets of 1 and 1 - alpha for
// targets of 0 (a negative alpha: neither).
Tensor sigmoid_focal_loss(const Tensor& logits, const Tensor& target, double alpha = 0.25, double gamma = 2,
                          Reduction reduction = Reduction::None);

// ---- distances; input and target have one shape ----------------------------------------------------------------------

Tensor mse_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::Mean);  // (input - target)²
Tensor l1_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::Mean);   // |input - target|

// Of the distance d: d² / 2 below delta, a line above it. smooth_l1_loss divides by beta, so that the line has slope 1; with
// beta = 0 it is l1_loss.
Tensor huber_loss(const Tensor& input, const Tensor& target, double delta = 1, Reduction reduction = Reduction::Mean);
Tensor smooth_l1_loss(const Tensor& input, const Tensor& target, double beta = 1,
                      Reduction reduction = Reduction::Mean);

// log(cosh(input - target)): d² / 2 near 0, |d| - log 2 far away, and smooth.
Tensor log_cosh_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::Mean);

// ---- distributions ---------------------------------------------------------------------------------------------------

// target * (log target - input), for an input of logarithms, and for a target of probabilities or of logarithms.
//
//     kl_div(log_softmax(x), softmax(y), Reduction::BatchMean);
Tensor kl_div(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::Mean,
              bool log_target = false);

// exp(input) - target * input, for the logarithm of a Poisson distribution's mean, or input - target * log(input + eps) for the
// mean itself. `full` adds Stirling's approximation of log(target!).
struct PoissonOptions {
    bool log_input = true, full = false;
    double eps = 1e-8;
    Reduction reduction = Reduction::Mean;
};
Tensor poisson_nll_loss(const Tensor& input, const Tensor& target, const PoissonOptions& options = {});

// (log var + (input - target)² / var) / 2, for the mean and the variance of a normal distribution. The variance has the input's
// shape, or lacks its last axis, or has a size of 1 in one of them; less than eps counts as eps. `full` adds log(2π) / 2.
struct GaussianOptions {
    bool full = false;
    double eps = 1e-6;
    Reduction reduction = Reduction::Mean;
};
Tensor gaussian_nll_loss(const Tensor& input, const Tensor& target, const Tensor& variance,
                         const GaussianOptions& options = {});

// ---- pairs and triples of vectors ------------------------------------------------------------------------------------

// The cosine of the angle between vectors along an axis; norms below eps count as eps. The shapes broadcast.
Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int axis = 1, double eps = 1e-8);
Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p = 2, double eps = 1e-6,
                         bool keepdim = false);  // the p-norm of x1 - x2 + eps along the last axis

// For vectors [n, d] and targets [n] (or [d] and []) of 1 (alike) and -1 (not): 1 - cos, or max(0, cos - margin).
Tensor cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& target, double margin = 0,
                             Reduction reduction = Reduction::Mean);

// max(0, -target * (x1 - x2) + margin): a target of 1 asks for a larger x1, -1 for a larger x2.
Tensor margin_ranking_loss(const Tensor& x1, const Tensor& x2, const Tensor& target, double margin = 0,
                           Reduction reduction = Reduction::Mean);

// Of distances: the distance itself for a target of 1, max(0, margin - distance) for -1.
Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin = 1,
                            Reduction reduction = Reduction::Mean);

// max(0, margin + distance(anchor, positive) - distance(anchor, negative)). With `swap` the negative's distance from the
// positive counts if it is smaller.
struct TripletOptions {
    double margin = 1, p = 2, eps = 1e-6;
    bool swap = false;
    Reduction reduction = Reduction::Mean;
};
Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletOptions& options = {});

// ---- margins between the scores of right and wrong classes ----------------------------------------------------------

// The sum over all other classes of max(0, margin - x[label] + x[class])^p, divided by the number of classes, for scores
// [n, classes] and labels [n] (or [classes] and []). p is 1 or 2; `weight` [classes] scales each label's terms.
//
//     multi_margin_loss(scores, labels, {.p = 2});
struct MultiMarginOptions {
    int p = 1;
    double margin = 1;
    Tensor weight = {};
    Reduction reduction = Reduction::Mean;
};
Tensor multi_margin_loss(const Tensor& input, const Tensor& labels, const MultiMarginOptions& options = {});

// The same for several labels each: a row of `labels`, of the input's shape, holds classes up to its first negative number. Each of
// them is compared with each class that is none of them.
Tensor multilabel_margin_loss(const Tensor& input, const Tensor& labels, Reduction reduction = Reduction::Mean);

// The mean over classes of bce_with_logits, times `weight`.
Tensor multilabel_soft_margin_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::Mean,
                                   const Tensor& weight = {});

// log(1 + exp(-target * input)), for targets of 1 and -1.
Tensor soft_margin_loss(const Tensor& input, const Tensor& target, Reduction reduction = Reduction::Mean);

// ---- sequences whose labels are in order, but not at known times ----------------------------------------------------

// -log of the probability that log_probabilities [time, n, classes] (or [time, classes]) read as the labels, when repeated classes
// are one and blanks are left out. Labels are [n, longest], or all of them in one row. Its cost is linear in time. Mean divides each
// sequence's loss by its number of labels, then takes the mean. Where no reading has the labels the loss is infinite, or with
// zero_infinity 0, with a gradient of 0. The gradient is that of log_probabilities as they are given; PyTorch's has exp(log_probabilities)
// more, which makes no difference behind log_softmax.
//
//     ctc_loss(log_softmax(x, -1), labels, {50, 50}, {10, 12});
struct CtcOptions {
    std::int64_t blank = 0;
    Reduction reduction = Reduction::Mean;
    bool zero_infinity = false;
};
Tensor ctc_loss(const Tensor& log_probabilities, const Tensor& labels, const Dims& input_lengths,
                const Dims& label_lengths, const CtcOptions& options = {});

}  // namespace weft
