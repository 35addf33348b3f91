// tensor/statistics_covariance.cpp: covariances of variables, and derivatives of functions that are known at points (weft/statistics.h).
#include "tensor/check.h"

#include <weft/linalg.h>
#include <weft/ops.h>
#include <weft/statistics.h>

namespace weft {

namespace {

void check_weights(const Checker& check, std::string_view name, const Tensor& weights, std::int64_t observations) {
    check.that(weights.rank() == 1 && weights.size(0) == observations, name, " must have one number for each of the ",
               observations, " observations");
}

Tensor covariance(const Checker& check, const Tensor& x, const CovarianceOptions& options) {
    check.that(x.rank() <= 2, "x must be [variables, observations], or 1-d");
    check.dtype(!is_bool(x.dtype()), "bools have no covariance; convert them with x.to(f32)");
    const Tensor rows = x.rank() == 2 ? x : x.reshape({1, -1});
    const std::int64_t observations = rows.size(1);
    Tensor weights;
    if (options.frequencies.defined()) {
        check.dtype(is_int(options.frequencies.dtype()), "frequencies must be integers, not ",
                    options.frequencies.dtype());
        check_weights(check, "frequencies", options.frequencies, observations);
        weights = options.frequencies;
    }
    if (options.weights.defined()) {
        check.dtype(is_float(options.weights.dtype()), "weights must be floats, not ", options.weights.dtype());
        check_weights(check, "weights", options.weights, observations);
        weights = weights.defined() ? weights * options.weights : options.weights;
    }
    const Tensor total = weights.defined() ? weights.sum() : Tensor(observations);
    const Tensor mean = div((weights.defined() ? rows * weights : rows).sum(1, true), total);
    const bool weighted = options.weights.defined() && options.correction != 0;
    const Tensor lost =
        weighted ? options.correction * div((weights * options.weights).sum(), total) : Tensor(options.correction);
    const Tensor divisor = clamp_min(total - lost, 0);  // too few observations: infinity, or NaN
    const Tensor centred = rows - mean;
    const Tensor products = matmul(centred, (weights.defined() ? centred * weights : centred).t());
    return squeeze(div(products, divisor.to(products.dtype())), {0, 1});
}

}  // namespace

Tensor cov(const Tensor& x, const CovarianceOptions& options) {
    const Checker check(
        "cov", {{"x", x}, {"frequencies", options.frequencies, kOptional}, {"weights", options.weights, kOptional}});
    return covariance(check, x, options);
}

Tensor corrcoef(const Tensor& x) {
    const Tensor c = covariance(Checker("corrcoef", {{"x", x}}), x, {});
    if (c.rank() == 0) return c / c;  // of one variable: 1, or NaN
    const Tensor deviation = sqrt(diagonal(c));
    return clamp(c / deviation.unsqueeze(1) / deviation.unsqueeze(0), -1, 1);
}

// ---- derivatives at points -------------------------------------------------------------------------------------------

namespace {

struct Steps {  // distances between neighbouring points: a number, or a tensor that broadcasts along the axis
    Tensor along;
    double equal = 1;
};

// The part of a tensor of distances that belongs to `count` points from `start` on.
Tensor part(const Tensor& x, int axis, std::int64_t start, std::int64_t count) { return x.narrow(axis, start, count); }

// The derivative at points by a parabola through them and two others, a x0 + b x1 + c x2, at the first, the middle or the last one.
enum class At : std::uint8_t { First, Middle, Last };
Tensor parabola(const Tensor& x0, const Tensor& x1, const Tensor& x2, const Tensor& h1, const Tensor& h2, At at) {
    const Tensor both = h1 + h2;
    if (at == At::First) return both / (h1 * h2) * x1 - (h1 + both) / (h1 * both) * x0 - h1 / (h2 * both) * x2;
    if (at == At::Last) return h2 / (h1 * both) * x0 - both / (h1 * h2) * x1 + (h2 + both) / (h2 * both) * x2;
    return h1 / (h2 * both) * x2 + (h2 - h1) / (h1 * h2) * x1 - h2 / (h1 * both) * x0;
}

Tensor derivative(const Tensor& x, int axis, const Steps& steps, int edge_order) {
    const std::int64_t n = x.size(axis);
    const auto value = [&](std::int64_t i) { return x.narrow(axis, i < 0 ? i + n : i, 1); };
    const auto inner = [&](std::int64_t from) { return x.narrow(axis, from, n - 2); };
    Tensor first, middle, last;
    if (!steps.along.defined()) {
        const double h = steps.equal;
        middle = (inner(2) - inner(0)) / (2 * h);
        if (edge_order == 1) {
            first = (value(1) - value(0)) / h;
            last = (value(-1) - value(-2)) / h;
        } else {
            first = (2.0 * value(1) - 1.5 * value(0) - 0.5 * value(2)) / h;
            last = (0.5 * value(-3) - 2.0 * value(-2) + 1.5 * value(-1)) / h;
        }
    } else {
        const Tensor& h = steps.along;  // n - 1 of them
        middle = parabola(inner(0), inner(1), inner(2), part(h, axis, 0, n - 2), part(h, axis, 1, n - 2), At::Middle);
        const auto step = [&](std::int64_t i) { return part(h, axis, i < 0 ? i + n - 1 : i, 1); };
        if (edge_order == 1) {
            first = (value(1) - value(0)) / step(0);
            last = (value(-1) - value(-2)) / step(-1);
        } else {
            first = parabola(value(0), value(1), value(2), step(0), step(1), At::First);
            last = parabola(value(-3), value(-2), value(-1), step(-2), step(-1), At::Last);
        }
    }
    return cat({first, middle, last}, axis);
}

std::vector<Tensor> derivatives(const Checker& check, const Tensor& x, const Axes& axes, int edge_order,
                                std::size_t given, const std::function<Steps(std::size_t, int)>& steps_of) {
    const Dims along = check.axes(axes, x.rank());
    check.value(edge_order == 1 || edge_order == 2, "edge_order must be 1 or 2, not ", edge_order);
    check.value(given == 1 || given == along.size(), "there must be a spacing for each of the ", along.size(),
                " axes, not ", given);
    std::vector<Tensor> result;
    for (std::size_t i = 0; i < along.size(); ++i) {
        const int axis = static_cast<int>(along[i]);
        check.that(x.size(axis) > edge_order, "axis ", axis, " must have ", edge_order + 1, " points at least, not ",
                   x.size(axis));
        result.push_back(derivative(x, axis, steps_of(given == 1 ? 0 : i, axis), edge_order));
    }
    return result;
}

}  // namespace

std::vector<Tensor> differences(const Tensor& x, const std::vector<double>& spacing, const Axes& axes, int edge_order) {
    const Checker check("differences", {{"x", x}, {"axes", axes}});
    return derivatives(check, x, axes, edge_order, spacing.size(),
                       [&](std::size_t i, int) { return Steps{.along = {}, .equal = spacing[i]}; });
}

std::vector<Tensor> differences(const Tensor& x, std::span<const Tensor> coordinates, const Axes& axes,
                                int edge_order) {
    const Checker check("differences", {{"x", x}, {"coordinates", coordinates}, {"axes", axes}});
    const Dims along = check.axes(axes, x.rank());
    check.value(coordinates.size() == along.size(), "there must be coordinates for each of the ", along.size(),
                " axes, not ", coordinates.size());
    return derivatives(check, x, axes, edge_order, along.size(), [&](std::size_t i, int axis) {
        const Tensor& at = coordinates[along.size() == 1 ? 0 : i];
        check.that(at.rank() == 1 && at.size(0) == x.size(axis), "the coordinates of axis ", axis, " must be ",
                   x.size(axis), " numbers");
        Shape shape = Shape::filled(static_cast<std::size_t>(x.rank()), 1);
        shape[static_cast<std::size_t>(axis)] = x.size(axis) - 1;
        return Steps{.along = diff(at).reshape(shape)};
    });
}

}  // namespace weft
