// tensor/random_distributions.cpp: distributions made of uniform and normal numbers, as graphs; Poisson's and the gamma
// distribution need a loop for each element and are Custom functions with a generator of their own per element.
#include "core/str.h"
#include "core/word.h"
#include "ir/build.h"
#include "numerics/maths.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/mapped.h"
#include "tensor/nodes.h"
#include "tensor/options.h"
#include "tensor/random.h"
#include "tensor/random_stream.h"

#include <weft/ops.h>
#include <weft/sorting.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft {
namespace {

// f16 and bf16 are computed in f32 and rounded once.
template <class F>
Tensor drawn(std::string_view name, const Shape& shape, const TensorOptions& options, F f) {
    const DeviceScope there = place_of(options);
    const DType dtype = options.dtype_or(default_dtype());
    const Checker check(name, {{"shape", shape}, {"dtype", dtype}});
    check.dtype(is_float(dtype), "the dtype must be a float type, not ", dtype);
    return f(accumulator_of(dtype)).to(dtype);
}

void check_positive(std::string_view function, std::string_view name, double value) {
    if (!(value > 0)) throw ValueError(str(function, "(): ", name, " must be positive, not ", value));
}

Tensor above_zero(const Shape& shape, DType dtype) { return 1 - rand(shape, dtype); }  // in (0, 1]: it has a logarithm

// ---- Poisson's -------------------------------------------------------------------------------------------------------

// How many uniform numbers it takes for their product to fall below exp(-rate).
double poisson_by_product(double rate, Stream& stream) {
    const double least = std::exp(-rate);
    double product = stream.next();
    std::int64_t count = 0;
    for (; product > least; ++count) product *= stream.next();
    return static_cast<double>(count);
}

// Transformed rejection (W. Hörmann, "The transformed rejection method for generating Poisson random variables", 1993, algorithm PTRS).
double poisson_by_rejection(double rate, Stream& stream) {
    const double b = 0.931 + 2.53 * std::sqrt(rate), a = -0.059 + 0.02483 * b;
    const double scale = 1.1239 + 1.1328 / (b - 3.4), sure = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = stream.next() - 0.5, v = stream.next(), side = 0.5 - std::fabs(u);
        const double k = std::floor((2 * a / side + b) * u + rate + 0.43);
        if (side >= 0.07 && v <= sure) return k;
        if (k < 0 || (side < 0.013 && v > side)) continue;
        if (std::log(v * scale / (a / (side * side) + b)) <= k * std::log(rate) - rate - maths::log_gamma(k + 1))
            return k;
    }
}

double poisson_of(double rate, Stream stream) {
    if (!(rate >= 0)) return std::nan("");
    if (rate == 0) return 0;
    if (std::isinf(rate)) return rate;
    return rate < 10 ? poisson_by_product(rate, stream) : poisson_by_rejection(rate, stream);
}

// ---- the gamma distribution ------------------------------------------------------------------------------------------

double normal_of(Stream& stream) {  // Box and Muller
    const double radius = std::sqrt(-2 * std::log(stream.next()));
    return radius * std::cos(2 * std::numbers::pi * stream.next());
}

// G. Marsaglia and W. Tsang, "A simple method for generating gamma variables", 2000: rejection, so exact; 1 to 1.05 rounds on average.
// The logarithm, as a sample of a small shape may be below the smallest number. Below 1: a sample of shape + 1 times u^(1/shape).
double log_gamma_of(double shape, Stream stream) {
    if (!(shape >= 0)) return std::nan("");
    if (shape == 0) return -INFINITY;
    if (std::isinf(shape)) return shape;
    const double less = shape < 1 ? std::log(stream.next()) / shape : 0, d = (shape < 1 ? shape + 1 : shape) - 1.0 / 3;
    const double c = 1 / (3 * std::sqrt(d));
    for (;;) {
        const double x = normal_of(stream), root = 1 + c * x, u = stream.next();
        if (root <= 0) continue;
        const double v = root * root * root, log_v = 3 * std::log1p(c * x);
        if (std::log(u) < 0.5 * x * x + d - d * v + d * log_v) return std::log(d) + log_v + less;
    }
}

// A number of f's for each element, from its parameter and a stream of its own.
template <double (*f)(double parameter, Stream stream)>
void run_samples(const ir::CustomCall& call) {
    constexpr std::int64_t kBlock = 1024;
    const std::uint64_t key = *call.source<std::uint64_t>(1), counter = *call.source<std::uint64_t>(2);
    const std::int64_t count = numel(call.node.shape);
    call.for_each((count + kBlock - 1) / kBlock, [&](std::int64_t block) {
        for (std::int64_t i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i)
            call.result<double>(0)[i] =
                f(call.source<double>(0)[i], Stream(key, counter + static_cast<std::uint64_t>(i)));
    });
}

template <double (*f)(double parameter, Stream stream)>
ir::NodeRef samples(const char* name, const ir::NodeRef& parameters) {
    const RandomStart start = draw(numel(parameters->shape));
    const ir::NodeRef sources[] = {ir::detach(parameters), start.key, start.counter};
    ir::CustomFunction function{.name = name, .results = {{f64, parameters->shape}}, .run = run_samples<f>};
    return ir::custom(ir::shared(std::move(function)), sources);
}

}  // namespace

Tensor uniform(const Shape& shape, double low, double high, const TensorOptions& options) {
    if (!(low <= high)) throw ValueError(str("uniform(): low must not exceed high, and they are ", low, " and ", high));
    return drawn("uniform", shape, options, [&](DType wide) { return rand(shape, wide) * (high - low) + low; });
}

Tensor normal(const Shape& shape, double mean, double deviation, const TensorOptions& options) {
    if (!(deviation >= 0)) throw ValueError(str("normal(): the deviation must not be negative, and is ", deviation));
    return drawn("normal", shape, options, [&](DType wide) { return randn(shape, wide) * deviation + mean; });
}

Tensor normal(const Operand& mean, const Operand& deviation) {
    const Checker check("normal", {{"mean", mean}, {"deviation", deviation}});
    const DType dtype = promote({mean, deviation});
    check.dtype(is_float(dtype), "the mean and the deviation must be floats");
    const Shape shape = check.broadcast(shape_of(mean), shape_of(deviation));
    check.value(!deviation.is_scalar() || deviation.scalar().as_double() >= 0, "the deviation must not be negative");
    return (randn(shape, accumulator_of(dtype)) * deviation + mean).to(dtype);
}

Tensor log_normal(const Shape& shape, double mean, double deviation, const TensorOptions& options) {
    check_positive("log_normal", "the deviation", deviation);
    return drawn("log_normal", shape, options, [&](DType wide) { return exp(randn(shape, wide) * deviation + mean); });
}

Tensor exponential(const Shape& shape, double rate, const TensorOptions& options) {
    check_positive("exponential", "the rate", rate);
    return drawn("exponential", shape, options, [&](DType wide) { return -log(above_zero(shape, wide)) / rate; });
}

Tensor cauchy(const Shape& shape, double median, double scale, const TensorOptions& options) {
    check_positive("cauchy", "the scale", scale);
    return drawn("cauchy", shape, options,
                 [&](DType wide) { return tan((rand(shape, wide) - 0.5) * std::numbers::pi) * scale + median; });
}

Tensor geometric(const Shape& shape, double probability, const TensorOptions& options) {
    const DeviceScope there = place_of(options);
    const DType dtype = options.dtype_or(default_dtype());
    if (!(probability > 0 && probability < 1))
        throw ValueError(str("geometric(): the probability must lie between 0 and 1, and is ", probability));
    const Checker check("geometric", {{"shape", shape}, {"dtype", dtype}});
    check.dtype(!is_bool(dtype), "the dtype must be a number type, not ", dtype);
    const Tensor tries = ceil(log(above_zero(shape, f64)) / std::log1p(-probability));
    return maximum(tries, 1).to(dtype);
}

Tensor truncated_normal(const Shape& shape, double mean, double deviation, double low, double high,
                        const TensorOptions& options) {
    if (!(deviation > 0 && low < high))
        throw ValueError("truncated_normal(): the deviation must be positive, and the lower limit below the upper one");
    const auto below = [&](double limit) { return std::erfc((mean - limit) / (deviation * std::numbers::sqrt2)) / 2; };
    const double from = below(low), to = below(high);  // the share of a normal distribution that is cut off and kept
    return drawn("truncated_normal", shape, {options.dtype_or(f32), options.device}, [&](DType) {
        const Tensor place = rand(shape, f64) * (to - from) + from;
        return clamp(erfinv(2 * place - 1) * (deviation * std::numbers::sqrt2) + mean, low, high);
    });
}

Tensor poisson(const Tensor& rate) {
    const Checker check("poisson", {{"rate", rate}});
    check.dtype(is_float(rate.dtype()), "the rates must be floats, not ", rate.dtype());
    return make_tensor(ir::cast(samples<poisson_of>("poisson", ir::cast(node_of(rate), f64)), rate.dtype()));
}

// A sample moves with its shape so that its quantile stays: d log(x) / da = -(dP/da) / (x dP/dx), P the share below x.
Tensor log_standard_gamma(const Tensor& shape) {
    const Checker check("log_standard_gamma", {{"shape", shape}});
    check.dtype(is_float(shape.dtype()), "the shapes must be floats, not ", shape.dtype());
    static const auto rule = nodes::grad_rule("standard_gamma", [](const ir::NodeRef& out, const ir::NodeRef& g) {
        return ir::Grads{
            g * nodes::mapped("the derivative of standard_gamma", out->sources[1], out, maths::gamma_sample_slope)};
    });
    const ir::NodeRef a = ir::cast(node_of(shape), f64);
    return make_tensor(nodes::with_grad(samples<log_gamma_of>("log_standard_gamma", a), a, rule));
}

Tensor standard_gamma(const Tensor& shape) {
    const Checker check("standard_gamma", {{"shape", shape}});
    check.dtype(is_float(shape.dtype()), "the shapes must be floats, not ", shape.dtype());
    return exp(log_standard_gamma(shape)).to(shape.dtype());
}

Tensor multinomial(const Tensor& weights, std::int64_t count, bool replacement) {
    const Checker check("multinomial", {{"weights", weights}, {"count", count}});
    check.that(weights.rank() == 1 || weights.rank() == 2, "the weights must have one or two axes");
    check.dtype(is_float(weights.dtype()), "the weights must be floats, not ", weights.dtype());
    check.value(count > 0, "there must be something to draw");
    const std::int64_t choices = weights.size(-1);
    check.value(choices > 0 || weights.size(0) == 0, "there are no weights to choose by");
    const Tensor wide = weights.detach().to(f64);
    const Tensor bad = any(logical_not(logical_and(ge(wide, 0), isfinite(wide))));
    const Tensor possible = sum(gt(wide, 0), -1);
    check.value(!bad.item<bool>(), "the weights must be finite and not negative");
    if (weights.size(0) == 0) return zeros({0, count}, i64);
    const std::int64_t fewest = min(possible).item<std::int64_t>();
    check.value(fewest > 0, "the weights of a row sum to 0");
    check.value(replacement || count <= fewest, "only ", fewest, " weights are not 0; draw with replacement, or fewer");
    Shape shape = weights.shape();
    if (!replacement) {  // whoever waits least, with waiting times of rate `weight`
        const Tensor waits = -log(above_zero(shape, f64)) / wide;
        return topk(waits, count, -1, false).indices;
    }
    shape.back() = count;
    const Tensor running = cumsum(wide, -1), total = running.slice(-1, {choices - 1, choices});
    const Tensor last =
        argmax(eq(running, total), -1, true);  // the last that can be drawn, if a product rounds up to the total
    return minimum(searchsorted(running, rand(shape, f64) * total, true), last);
}

}  // namespace weft
