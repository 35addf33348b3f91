// weft/margin_loss.h: losses that want a margin between the scores of right and wrong classes.
#pragma once

#include <weft/api.h>
#include <weft/loss.h>
#include <weft/tensor.h>

namespace WEFT_API weft {

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

}  // namespace weft
