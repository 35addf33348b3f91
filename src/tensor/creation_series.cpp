// tensor/creation_series.cpp: rows of numbers that follow a formula: powers, and the windows of spectra.
#include "core/checked.h"
#include "tensor/check.h"
#include "tensor/options.h"

#include <weft/ops.h>

#include <cmath>
#include <numbers>

namespace weft {

Tensor logspace(double start, double stop, std::int64_t count, double base, const TensorOptions& options) {
    const DeviceScope there = place_of(options);
    const Checker check("logspace", {{"start", start}, {"stop", stop}, {"count", count}, {"base", base}});
    check.value(count >= 0, "the count must not be negative");
    return pow(full({}, base, f64), linspace(start, stop, count, f64)).to(options.dtype_or(default_dtype()));
}

Tensor vander(const Tensor& x, std::optional<std::int64_t> columns, bool increasing) {
    const Checker check("vander", {{"x", x}});
    check.that(x.rank() == 1, "x must have one axis");
    const std::int64_t count = columns.value_or(x.numel());
    check.value(count >= 0, "the number of columns must not be negative");
    const DType type = is_float(x.dtype()) ? x.dtype() : i64;
    const Tensor powers = arange(count, type);
    return pow(x.to(type).unsqueeze(1), increasing ? powers : powers.flip(0));
}

// ---- windows: constants, computed here in f64 --------------------------------------------------------------------------

namespace {

// weight(t) for t from 0 to 1 across the window.
template <class Weight>
Tensor window(std::string_view name, std::int64_t length, bool periodic, const TensorOptions& options, Weight weight) {
    const DeviceScope there = place_of(options);
    const DType dtype = options.dtype_or(default_dtype());
    const Checker check(name, {{"length", length}, {"dtype", dtype}});
    check.value(length >= 0, "the length must not be negative");
    check.dtype(is_float(dtype), "the type must be a float");
    check.table(static_cast<double>(length));
    if (length == 1) return ones({1}, dtype);
    const auto last = static_cast<double>(periodic ? length : length - 1);
    std::vector<double> weights;
    weights.reserve(static_cast<std::size_t>(length));
    for (std::int64_t i = 0; i < length; ++i) weights.push_back(weight(static_cast<double>(i) / last));
    return from_data(weights).to(dtype);
}

double cosine(double turns) { return std::cos(2 * std::numbers::pi * turns); }

// The modified Bessel function I₀, by its power series: all terms are positive, so nothing cancels.
double bessel_i0(double x) {
    double sum = 1, term = 1;
    for (double k = 1; term > sum * 1e-17; ++k) {
        term *= (x / (2 * k)) * (x / (2 * k));
        sum += term;
    }
    return sum;
}

}  // namespace

Tensor hann_window(std::int64_t length, bool periodic, const TensorOptions& options) {
    return window("hann_window", length, periodic, options, [](double t) { return 0.5 - 0.5 * cosine(t); });
}

Tensor hamming_window(std::int64_t length, bool periodic, double alpha, double beta, const TensorOptions& options) {
    return window("hamming_window", length, periodic, options, [=](double t) { return alpha - beta * cosine(t); });
}

Tensor blackman_window(std::int64_t length, bool periodic, const TensorOptions& options) {
    return window("blackman_window", length, periodic, options,
                  [](double t) { return std::max(0.0, 0.42 - 0.5 * cosine(t) + 0.08 * cosine(2 * t)); });
}

Tensor bartlett_window(std::int64_t length, bool periodic, const TensorOptions& options) {
    return window("bartlett_window", length, periodic, options, [](double t) { return 1 - std::abs(2 * t - 1); });
}

Tensor kaiser_window(std::int64_t length, bool periodic, double beta, const TensorOptions& options) {
    return window("kaiser_window", length, periodic, options, [=](double t) {
        const double aside = 2 * t - 1;
        return bessel_i0(beta * std::sqrt(std::max(0.0, 1 - aside * aside))) / bessel_i0(beta);
    });
}

}  // namespace weft
