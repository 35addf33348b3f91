// tensor/statistics_histogram.cpp: how many elements lie between which edges (weft/statistics.h). The edges decide, not a division by the width:
// an element on an edge is in the bin above it.
#include "tensor/check.h"

#include <weft/ops.h>
#include <weft/statistics.h>

#include <cmath>

namespace weft {

namespace {

using Range = std::pair<double, double>;

// The limits of equal bins: those given, or the extremes of the elements, made different where they are equal.
Range limits_of(const Checker& check, const Tensor& flat, const std::optional<Range>& given) {
    Range range = given.value_or(Range{0, 1});
    if (!given && flat.numel() > 0) range = {min(flat).to(f64).item<double>(), max(flat).to(f64).item<double>()};
    check.value(std::isfinite(range.first) && std::isfinite(range.second), "the range [", range.first, ", ",
                range.second, "] must be finite");
    check.value(range.first <= range.second, "the lower limit ", range.first, " exceeds the upper one ", range.second);
    if (range.first == range.second) range.first -= 0.5, range.second += 0.5;
    return range;
}

Tensor edges_of(const Checker& check, const Tensor& flat, const Bins& bins, const std::optional<Range>& range) {
    if (const Tensor* edges = std::get_if<Tensor>(&bins)) {
        check.value(!range, "a range goes with a number of bins, not with edges");
        check.that(edges->rank() == 1 && edges->size(0) > 0, "the edges must be 1-d, with one element at least");
        check.dtype(edges->dtype() == flat.dtype(), "the edges must be x's ", flat.dtype(), ", not ", edges->dtype());
        return edges->detach();
    }
    const std::int64_t count = std::get<std::int64_t>(bins);
    check.value(count > 0, "there must be at least one bin");
    const Range limits = limits_of(check, flat, range);
    return linspace(limits.first, limits.second, count + 1, flat.dtype());
}

struct Placed {
    Tensor bin;     // i64, 0 where the element is outside
    Tensor inside;  // bool
};

Placed placed(const Tensor& flat, const Tensor& edges) {
    const std::int64_t count = edges.size(0) - 1;
    const Tensor inside = logical_and(ge(flat, edges[0]), le(flat, edges[count]));
    const Tensor above = searchsorted(edges, flat, true) - 1;
    return {where(inside, clamp(above, 0, std::max<std::int64_t>(count - 1, 0)), 0), inside};
}

void check_weights(const Checker& check, const Tensor& x, const Tensor& weights, const Shape& shape) {
    if (!weights.defined()) return;
    check.that(weights.shape() == shape, "there must be a weight for each element: the shape ", shape);
    check.dtype(weights.dtype() == x.dtype(), "the weights must be x's ", x.dtype(), ", not ", weights.dtype());
}

// Sums in f64 by bin; `size` bins in all.
Tensor counted(const Tensor& bin, const Tensor& inside, const Tensor& weights, std::int64_t size) {
    const Tensor amount =
        weights.defined() ? where(inside, weights.detach().reshape({-1}).to(f64), 0.0) : inside.to(f64);
    return index_add(zeros({size}, f64), 0, bin, amount);
}

}  // namespace

std::pair<Tensor, Tensor> histogram(const Tensor& x, const Bins& bins, const HistogramOptions& options) {
    const Checker check("histogram", {{"x", x}, {"weights", options.weights, kOptional}});
    check.dtype(is_float(x.dtype()), "x must hold floats, not ", x.dtype());
    check_weights(check, x, options.weights, x.shape());
    const Tensor flat = x.detach().reshape({-1}), edges = edges_of(check, flat, bins, options.range);
    const std::int64_t count = edges.size(0) - 1;
    if (count == 0) return {zeros({0}, x.dtype()), edges};
    const Placed where_to = placed(flat, edges);
    Tensor sums = counted(where_to.bin, where_to.inside, options.weights, count);
    if (options.density) sums = sums / (sums.sum() * diff(edges.to(f64)));
    return {sums.to(x.dtype()), edges};
}

std::pair<Tensor, std::vector<Tensor>> histogramdd(const Tensor& x, std::span<const Bins> bins,
                                                   const HistogramsOptions& options) {
    const Checker check("histogramdd", {{"x", x}, {"weights", options.weights, kOptional}});
    check.dtype(is_float(x.dtype()), "x must hold floats, not ", x.dtype());
    check.that(x.rank() >= 2, "x must be [points, axes]");
    const std::int64_t axes = x.size(-1);
    check.value(axes > 0, "the points must have one axis at least");
    check.value(static_cast<std::int64_t>(bins.size()) == axes, "there must be bins for each of the ", axes,
                " axes, not ", bins.size());
    check.value(options.ranges.empty() || static_cast<std::int64_t>(options.ranges.size()) == axes,
                "there must be a range for each of the ", axes, " axes, not ", options.ranges.size());
    Shape rows = x.shape();
    rows.pop_back();
    check_weights(check, x, options.weights, rows);
    const Tensor points = x.detach().reshape({-1, axes});
    std::vector<Tensor> all_edges;
    Shape shape;
    Tensor bin, inside;
    for (std::int64_t axis = 0; axis < axes; ++axis) {
        const Tensor flat = points.narrow(1, axis, 1).reshape({-1});
        const auto i = static_cast<std::size_t>(axis);
        const std::optional<Range> range = options.ranges.empty() ? std::nullopt : std::optional(options.ranges[i]);
        const Tensor edges = edges_of(check, flat, bins[i], range);
        const std::int64_t count = edges.size(0) - 1;
        const Placed along = placed(flat, edges);
        bin = bin.defined() ? bin * count + along.bin : along.bin;
        inside = inside.defined() ? logical_and(inside, along.inside) : along.inside;
        all_edges.push_back(edges);
        shape.push_back(count);
    }
    if (numel(shape) == 0) return {zeros(shape, x.dtype()), all_edges};
    Tensor sums = counted(bin, inside, options.weights, numel(shape)).reshape(shape);
    if (options.density) {
        sums = sums / sums.sum();
        for (std::int64_t axis = 0; axis < axes; ++axis) {
            Shape widths = Shape::filled(static_cast<std::size_t>(axes), 1);
            widths[static_cast<std::size_t>(axis)] = shape[static_cast<std::size_t>(axis)];
            sums = sums / diff(all_edges[static_cast<std::size_t>(axis)].to(f64)).reshape(widths);
        }
    }
    return {sums.to(x.dtype()), all_edges};
}

}  // namespace weft
