// weft/statistics.h: statistics of samples: covariances, histograms, and derivatives of functions that are known at points.
#pragma once

#include <weft/sorting.h>
#include <weft/tensor.h>

#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace weft {

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

// ---- quantiles -------------------------------------------------------------------------------------------------------

// quantile() of weft/sorting.h at fractions that are a 0-d or 1-d tensor, which gets a gradient. Reads them: runs the graph.
Tensor quantile(const Tensor& x, const Tensor& q, std::optional<int> axis = {}, bool keepdim = false,
                Between between = Between::Linear);
Tensor nanquantile(const Tensor& x, const Tensor& q, std::optional<int> axis = {}, bool keepdim = false,
                   Between between = Between::Linear);

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
