// tensor/loss_ctc.cpp: connectionist temporal classification. The loop over time is written out into the graph; a step adds up the
// paths that reach each place of the labels with blanks around them, in logarithms. Lengths are masks, not shapes: other lengths
// make no other kernels.
#include "tensor/loss.h"

#include "tensor/check.h"

#include <weft/ops.h>

#include <algorithm>
#include <limits>
#include <numeric>

namespace weft {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// log of the sum of exp over `terms`. Where all are -inf so is the sum, and no gradient there is NaN: neither the logarithm nor a
// difference of infinities is ever taken.
Tensor log_of_sum(std::span<const Tensor> terms) {
    Tensor top = terms[0].detach();
    for (const Tensor& term : terms.subspan(1)) top = maximum(top, term.detach());
    const Tensor none = top == -kInfinity, base = where(none, 0, top);
    Tensor sum = exp(terms[0] - base);
    for (const Tensor& term : terms.subspan(1)) sum = sum + exp(term - base);
    return where(none, -kInfinity, log(where(none, 1, sum)) + base);
}

// x [n, places], each element `by` places later, with -inf in front.
Tensor moved(const Tensor& x, std::int64_t by) { return pad(x, {by, 0}, -kInfinity).narrow(-1, 0, x.size(-1)); }

Tensor row_of(const Dims& numbers) { return from_data(std::vector<std::int64_t>(numbers.begin(), numbers.end())); }

// Labels [n, longest], with the blank where a row has ended.
Tensor label_rows(const Checker& check, const Tensor& labels, const Dims& lengths, std::int64_t blank) {
    const std::int64_t n = static_cast<std::int64_t>(lengths.size());
    const Tensor count = row_of(lengths).unsqueeze(-1);  // [n, 1]
    const std::int64_t longest = lengths.empty() ? 0 : *std::max_element(lengths.begin(), lengths.end());
    if (labels.rank() == 2) {
        check.that(labels.size(0) == n && labels.size(1) >= longest, "labels must be [", n, ", ", longest,
                   "] at least");
        return where(arange(labels.size(1)) < count, labels.to(DType::I64), blank);
    }
    const std::int64_t total = std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0});
    check.that(labels.rank() == 1 && labels.size(0) == total, "labels must be [n, longest], or one row of all ", total,
               " labels");
    if (longest == 0) return zeros({n, 0}, DType::I64);
    const Tensor inside = arange(longest) < count;
    const Tensor at = where(inside, cumsum(count, 0) - count + arange(longest), 0);
    return where(inside, index_select(labels.to(DType::I64), 0, at.reshape({-1})).reshape({n, longest}), blank);
}

// A blank, the first label, a blank, the second label … a blank: [n, 2 * longest + 1].
Tensor with_blanks(const Tensor& labels, std::int64_t blank) {
    const std::int64_t n = labels.size(0), longest = labels.size(1);
    if (longest == 0) return full({n, 1}, blank, DType::I64);
    const Tensor pairs = stack({full({n, longest}, blank, DType::I64), labels}, -1).reshape({n, 2 * longest});
    return pad(pairs, {0, 1}, blank);
}

}  // namespace

Tensor ctc_loss(const Tensor& log_probabilities, const Tensor& labels, const Dims& input_lengths,
                const Dims& label_lengths, const CtcOptions& options) {
    const Checker check("ctc_loss", {{"log_probabilities", log_probabilities},
                                     {"labels", labels},
                                     {"input_lengths", input_lengths},
                                     {"label_lengths", label_lengths}});
    const bool batched = log_probabilities.rank() == 3;
    check.that(batched || log_probabilities.rank() == 2,
               "log_probabilities must be [time, n, classes] or [time, classes]");
    const DType result = log_probabilities.dtype();
    check.dtype(is_float(result), "log_probabilities must be floats, not ", result);
    check.dtype(is_int(labels.dtype()), "labels must be integers, not ", labels.dtype());
    const Tensor x = (batched ? log_probabilities : log_probabilities.unsqueeze(1)).to(accumulator_of(result));
    const std::int64_t times = x.size(0), n = x.size(1), classes = x.size(2);
    check.value(options.blank >= 0 && options.blank < classes, "blank ", options.blank, " is none of the ", classes,
                " classes");
    check.that(
        static_cast<std::int64_t>(input_lengths.size()) == n && static_cast<std::int64_t>(label_lengths.size()) == n,
        "there must be ", n, " input_lengths and ", n, " label_lengths");
    for (const std::int64_t length : input_lengths)
        check.value(length >= 0 && length <= times, "the input length ", length, " must be between 0 and ", times);
    for (const std::int64_t length : label_lengths)
        check.value(length >= 0, "the label length ", length, " must not be negative");

    const Tensor rows = label_rows(check, labels, label_lengths, options.blank);
    const Tensor path = with_blanks(rows, options.blank);  // [n, places]
    const std::int64_t places = path.size(1);
    const Tensor place = arange(places);
    // From one label to the next, past the blank between them, unless they are equal.
    const Tensor skips =
        logical_and(remainder(place, 2) == 1, path != pad(path, {2, 0}, options.blank).narrow(-1, 0, places));
    const Tensor emitted = gather(x, 2, path.unsqueeze(0).expand({times, n, places}));
    const Tensor lengths = row_of(input_lengths);
    const Tensor goes_on = (arange(times).unsqueeze(-1) < lengths).unsqueeze(-1);  // [time, n, 1]
    Tensor reached = where(place == 0, zeros({n, places}, x.dtype()), -kInfinity);
    for (std::int64_t t = 0; t < times; ++t) {
        const Tensor terms[] = {reached, moved(reached, 1), where(skips, moved(reached, 2), -kInfinity)};
        reached = where(goes_on[t], emitted[t] + log_of_sum(terms), reached);
    }
    const Tensor count = row_of(label_lengths).unsqueeze(-1);
    const Tensor ends[] = {gather(reached, 1, 2 * count),
                           where(count > 0, gather(reached, 1, clamp_min(2 * count - 1, 0)), -kInfinity)};
    Tensor each = -log_of_sum(ends).squeeze(-1);
    if (options.zero_infinity) each = where(each == kInfinity, 0, each);
    if (options.reduction == Reduction::Mean) each = each / clamp_min(count.squeeze(-1), 1).to(each.dtype());
    return reduced_loss(batched ? each : each.squeeze(0), options.reduction, result);
}

}  // namespace weft
