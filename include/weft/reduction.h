// weft/reduction.h: reductions and running values beyond those of weft/ops.h, which includes this. Axes may be negative; none
// means all of them.
#pragma once

#include <weft/sorting.h>
#include <weft/tensor.h>

#include <optional>
#include <utility>

namespace weft {

// ---- statistics ------------------------------------------------------------------------------------------------------

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

}  // namespace weft
