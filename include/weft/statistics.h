// weft/statistics.h: what is made of several reductions: pairs of them, those without NaN, running values and distances; and statistics of
// samples: covariances, histograms, and derivatives of functions that are known at points. Axes may be negative; none means all.
#pragma once

#include <weft/api.h>
#include <weft/sorting.h>
#include <weft/tensor.h>

#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace WEFT_API weft {

// ---- pairs, counts, without NaN -------------------------------------------------------------------------------------

std::pair<Tensor, Tensor> var_mean(const Tensor& x, const Axes& axes = {}, double correction = 1, bool keepdim = false);
std::pair<Tensor, Tensor> std_mean(const Tensor& x, const Axes& axes = {}, double correction = 1, bool keepdim = false);
std::pair<Tensor, Tensor> aminmax(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor count_nonzero(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // i64; NaN is not 0

// The same without the elements that are NaN. Of NaN alone, nansum is 0 and the others are NaN.
Tensor nansum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor nanmean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor nanmax(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor nanmin(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

// ---- running values --------------------------------------------------------------------------------------------------

// The largest (smallest) element so far and where it is, the last of equal ones; NaN wins.
//
//     cummax(tensor({3, 1, 3, 5}), 0);          // 3 3 3 5 and 0 0 2 3
ValuesAndIndices cummax(const Tensor& x, int axis);
ValuesAndIndices cummin(const Tensor& x, int axis);
Tensor logcumsumexp(const Tensor& x, int axis);  // log(cumsum(exp(x))), without overflow

// Differences of neighbours along an axis, n times; of bools: whether they differ. `prepend` and `append` come before and after x.
//
//     diff(tensor({1, 4, 9}));                  // 3 5
Tensor diff(const Tensor& x, int n = 1, int axis = -1, const Tensor& prepend = {}, const Tensor& append = {});

// The integral of y by trapezoids, with points dx apart, or at x (along the axis, or of a shape that y broadcasts with).
//
//     trapezoid(tensor({1., 2., 3.}));          // 4
Tensor trapezoid(const Tensor& y, double dx = 1, int axis = -1);
Tensor trapezoid(const Tensor& y, const Tensor& x, int axis = -1);
Tensor cumulative_trapezoid(const Tensor& y, double dx = 1, int axis = -1);
Tensor cumulative_trapezoid(const Tensor& y, const Tensor& x, int axis = -1);

// ---- distances -------------------------------------------------------------------------------------------------------

Tensor dist(const Tensor& a, const Tensor& b, double p = 2);  // the p-norm of a - b, of all elements

// The p-norm distances of all rows of a […, n, d] from all rows of b […, m, d]: […, n, m]. Of equal rows the gradient is 0.
Tensor cdist(const Tensor& a, const Tensor& b, double p = 2);

// x / max(norm(x), eps) along an axis.
Tensor normalize(const Tensor& x, double p = 2, const Axes& axes = 1, double eps = 1e-12);

// x with each slice along the axis scaled down so that its p-norm is at most `limit`.
Tensor renorm(const Tensor& x, double p, int axis, double limit);

// ---- covariances -----------------------------------------------------------------------------------------------------

// How the variables, the rows of x [variables, observations], vary together: [variables, variables]; of a 1-d x its variance. An
// observation counts `frequencies` times (integers), and has `weights` besides (floats); both are [observations].
//
//     cov(tensor({{0., 1., 2.}, {2., 1., 0.}}));      // 1 -1 / -1 1
struct CovarianceOptions {
    double correction = 1;
    Tensor frequencies = {}, weights = {};
};
Tensor cov(const Tensor& x, const CovarianceOptions& options = {});
Tensor corrcoef(const Tensor& x);  // the covariance over the standard deviations, within [-1, 1]

// ---- histograms ------------------------------------------------------------------------------------------------------

// How many elements (or how much of their `weights`) lie in each bin, as floats of x's type, and the edges of the bins. A bin contains its
// lower edge; the last one its upper edge too. Elements outside count nowhere. `bins` is a number of equal bins within `range` (the extremes
// of x, which runs the graph), or their edges. `density`: the sum times the widths is 1.
//
//     histogram(tensor({1., 2., 1.}), 4, {.range = {{0, 3}}});      // 0 2 1 0 and 0 0.75 1.5 2.25 3
using Bins = std::variant<std::int64_t, Tensor>;
struct HistogramOptions {
    std::optional<std::pair<double, double>> range = {};
    Tensor weights = {};
    bool density = false;
};
std::pair<Tensor, Tensor> histogram(const Tensor& x, const Bins& bins, const HistogramOptions& options = {});

// The same of points [points, axes], with bins along each axis; `ranges` has one for each axis, or none.
struct HistogramsOptions {
    std::vector<std::pair<double, double>> ranges = {};
    Tensor weights = {};
    bool density = false;
};
std::pair<Tensor, std::vector<Tensor>> histogramdd(const Tensor& x, std::span<const Bins> bins,
                                                   const HistogramsOptions& options = {});

// ---- derivatives at points -------------------------------------------------------------------------------------------

// The derivative of a function along axes (none: all), from its values x at points that are `spacing` apart (one number, or one for each axis),
// or at the given coordinates, a 1-d tensor for each axis. Second order inside; `edge_order` 1 or 2 at the ends.
//
//     differences(tensor({1., 4., 9., 16.}));         // 3 4 6 7
std::vector<Tensor> differences(const Tensor& x, const std::vector<double>& spacing = {1}, const Axes& axes = {},
                                int edge_order = 1);
std::vector<Tensor> differences(const Tensor& x, std::span<const Tensor> coordinates, const Axes& axes = {},
                                int edge_order = 1);

}  // namespace weft
