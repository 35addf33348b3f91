// tensor/distributions.cpp: distributions made of uniform and normal numbers, as graphs; Poisson's needs a loop for each element and is a
// Custom function with a generator of its own per element.
#include "core/str.h"
#include "core/threefry.h"
#include "core/word.h"
#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/random.h"

#include <weft/ops.h>
#include <weft/sorting.h>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace weft {
namespace {

// f16 and bf16 are computed in f32 and rounded once.
template <class F>
Tensor drawn(std::string_view name, const Shape& shape, DType dtype, F f) {
    const Checker check(name, {{"shape", shape}, {"dtype", dtype}});
    check.dtype(is_float(dtype), "the dtype must be a float type, not ", dtype);
    return f(accumulator_of(dtype)).to(dtype);
}

void check_positive(std::string_view function, std::string_view name, double value) {
    if (!(value > 0)) throw ValueError(str(function, "(): ", name, " must be positive, not ", value));
}

Tensor above_zero(const Shape& shape, DType dtype) { return 1 - rand(shape, dtype); }  // in (0, 1]: it has a logarithm

// ---- Poisson's -------------------------------------------------------------------------------------------------------

// The random numbers of one element: Threefry keyed by its first block, so that elements never share one.
class Stream {
public:
    Stream(std::uint64_t key, std::uint64_t counter) : key_(threefry(key, counter)) {}
    double next() {  // in (0, 1]
        const std::uint64_t bits = threefry(key_, count_++);
        return (static_cast<double>(bits >> 11) + 1) * 0x1p-53;
    }

private:
    std::uint64_t key_, count_ = 0;
};

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
        if (std::log(v * scale / (a / (side * side) + b)) <= k * std::log(rate) - rate - std::lgamma(k + 1)) return k;
    }
}

double poisson_of(double rate, Stream stream) {
    if (!(rate >= 0)) return std::nan("");
    if (rate == 0) return 0;
    if (std::isinf(rate)) return rate;
    return rate < 10 ? poisson_by_product(rate, stream) : poisson_by_rejection(rate, stream);
}

void run_poisson(const ir::CustomCall& call) {
    constexpr std::int64_t kBlock = 1024;
    const std::uint64_t key = *call.source<std::uint64_t>(1), counter = *call.source<std::uint64_t>(2);
    const std::int64_t count = numel(call.node.shape);
    call.for_each((count + kBlock - 1) / kBlock, [&](std::int64_t block) {
        for (std::int64_t i = block * kBlock; i < std::min(count, (block + 1) * kBlock); ++i)
            call.result<double>(0)[i] =
                poisson_of(call.source<double>(0)[i], Stream(key, counter + static_cast<std::uint64_t>(i)));
    });
}

}  // namespace

Tensor uniform(const Shape& shape, double low, double high, DType dtype) {
    if (!(low <= high)) throw ValueError(str("uniform(): low must not exceed high, and they are ", low, " and ", high));
    return drawn("uniform", shape, dtype, [&](DType wide) { return rand(shape, wide) * (high - low) + low; });
}

Tensor normal(const Shape& shape, double mean, double deviation, DType dtype) {
    if (!(deviation >= 0)) throw ValueError(str("normal(): the deviation must not be negative, and is ", deviation));
    return drawn("normal", shape, dtype, [&](DType wide) { return randn(shape, wide) * deviation + mean; });
}

Tensor normal(const Operand& mean, const Operand& deviation) {
    const Checker check("normal", {{"mean", mean}, {"deviation", deviation}});
    const DType dtype = promote({mean, deviation});
    check.dtype(is_float(dtype), "the mean and the deviation must be floats");
    const Shape shape = check.broadcast(shape_of(mean), shape_of(deviation));
    check.value(!deviation.is_scalar() || deviation.scalar().as_double() >= 0, "the deviation must not be negative");
    return (randn(shape, accumulator_of(dtype)) * deviation + mean).to(dtype);
}

Tensor log_normal(const Shape& shape, double mean, double deviation, DType dtype) {
    check_positive("log_normal", "the deviation", deviation);
    return drawn("log_normal", shape, dtype, [&](DType wide) { return exp(randn(shape, wide) * deviation + mean); });
}

Tensor exponential(const Shape& shape, double rate, DType dtype) {
    check_positive("exponential", "the rate", rate);
    return drawn("exponential", shape, dtype, [&](DType wide) { return -log(above_zero(shape, wide)) / rate; });
}

Tensor cauchy(const Shape& shape, double median, double scale, DType dtype) {
    check_positive("cauchy", "the scale", scale);
    return drawn("cauchy", shape, dtype,
                 [&](DType wide) { return tan((rand(shape, wide) - 0.5) * std::numbers::pi) * scale + median; });
}

Tensor geometric(const Shape& shape, double probability, DType dtype) {
    if (!(probability > 0 && probability < 1))
        throw ValueError(str("geometric(): the probability must lie between 0 and 1, and is ", probability));
    const Checker check("geometric", {{"shape", shape}, {"dtype", dtype}});
    check.dtype(!is_bool(dtype), "the dtype must be a number type, not ", dtype);
    const Tensor tries = ceil(log(above_zero(shape, f64)) / std::log1p(-probability));
    return maximum(tries, 1).to(dtype);
}

Tensor truncated_normal(const Shape& shape, double mean, double deviation, double low, double high, DType dtype) {
    if (!(deviation > 0 && low < high))
        throw ValueError("truncated_normal(): the deviation must be positive, and the lower limit below the upper one");
    const auto below = [&](double limit) { return std::erfc((mean - limit) / (deviation * std::numbers::sqrt2)) / 2; };
    const double from = below(low), to = below(high);  // the share of a normal distribution that is cut off and kept
    return drawn("truncated_normal", shape, dtype, [&](DType) {
        const Tensor place = rand(shape, f64) * (to - from) + from;
        return clamp(erfinv(2 * place - 1) * (deviation * std::numbers::sqrt2) + mean, low, high);
    });
}

Tensor poisson(const Tensor& rate) {
    const Checker check("poisson", {{"rate", rate}});
    check.dtype(is_float(rate.dtype()), "the rates must be floats, not ", rate.dtype());
    const RandomStart start = draw(numel(rate.shape()));
    const ir::NodeRef sources[] = {ir::cast(node_of(rate.detach()), f64), start.key, start.counter};
    ir::CustomFunction function{.name = "poisson", .results = {{f64, rate.shape()}}, .run = run_poisson};
    return make_tensor(ir::cast(ir::custom(ir::shared(std::move(function)), sources), rate.dtype()));
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
