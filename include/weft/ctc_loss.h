// weft/ctc_loss.h: the loss of sequences whose labels are in order, but not at known times.
#pragma once

#include <weft/api.h>
#include <weft/loss.h>
#include <weft/tensor.h>

#include <cstdint>

namespace WEFT_API weft {

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
