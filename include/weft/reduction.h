// weft/reduction.h: sums, extremes and norms along axes, and running sums. Axes may be negative; none means all of them. keepdim keeps
// them with size 1.
//
//     sum(x);  sum(x, 0);  mean(x, {-2, -1}, true);
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <optional>

namespace WEFT_API weft {

Tensor sum(const Tensor& x, const Axes& axes = {}, bool keepdim = false);   // integers and bools give i64
Tensor prod(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // integers and bools give i64
Tensor mean(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // floats only
Tensor max(const Tensor& x, const Axes& axes = {}, bool keepdim = false);   // the value; NaN wins; not of no elements
Tensor min(const Tensor& x, const Axes& axes = {}, bool keepdim = false);
Tensor any(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // bool
Tensor all(const Tensor& x, const Axes& axes = {}, bool keepdim = false);

// The position of the largest (smallest) element, the first of equal ones; i64. A NaN counts as the largest (smallest).
// Without an axis: the position in the flattened tensor.
Tensor argmax(const Tensor& x, std::optional<int> axis = {}, bool keepdim = false);
Tensor argmin(const Tensor& x, std::optional<int> axis = {}, bool keepdim = false);

// Mean square distance from the mean, with n - correction in the denominator; stddev is its root.
Tensor var(const Tensor& x, const Axes& axes = {}, double correction = 1, bool keepdim = false);
Tensor stddev(const Tensor& x, const Axes& axes = {}, double correction = 1, bool keepdim = false);

// (sum of |x|^p)^(1/p). p = infinity: the largest |x|; p = 0: how many are not 0.
Tensor norm(const Tensor& x, double p = 2, const Axes& axes = {}, bool keepdim = false);
Tensor logsumexp(const Tensor& x, const Axes& axes = {}, bool keepdim = false);  // log(sum(exp(x))), without overflow
Tensor cumsum(const Tensor& x, int axis);                                        // integers and bools give i64
Tensor cumprod(const Tensor& x, int axis);

}  // namespace weft
