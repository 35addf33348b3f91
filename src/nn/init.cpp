// nn/init.cpp: initial values. Random ones come from Weft's generator, so a seed decides them on every backend; what needs a
// decision per element (orthogonal_, sparse_, dirac_) is computed on the host.
#include <weft/error.h>
#include <weft/init.h>
#include <weft/ops.h>

#include <algorithm>
#include <cmath>
#include <numbers>
#include <numeric>
#include <vector>

namespace weft::nn::init {
namespace {

Tensor written(Tensor x, const Tensor& value) {
    const NoGrad no_grad;
    return x.assign(value);
}

void check_rank(std::string_view function, const Tensor& x, bool holds, std::string_view wanted) {
    if (!holds)
        throw ValueError(std::string(function) + "(): a tensor of the shape " + to_string(x.shape()) + " must have " +
                         std::string(wanted));
}

// [rows, the rest]: how a weight acts on its inputs.
std::pair<std::int64_t, std::int64_t> as_matrix(const Tensor& x) {
    const std::int64_t rows = x.size(0);
    return {rows, rows == 0 ? 0 : x.numel() / rows};
}

double uniform_bound(double deviation) { return std::sqrt(3.0) * deviation; }

}  // namespace

Tensor uniform_(Tensor x, double low, double high) { return written(x, uniform(x.shape(), low, high, x.dtype())); }

Tensor normal_(Tensor x, double mean, double deviation) {
    return written(x, normal(x.shape(), mean, deviation, x.dtype()));
}

// A uniform number between the limits' places in the distribution, taken back to its value there.
Tensor trunc_normal_(Tensor x, double mean, double deviation, double low, double high) {
    return written(x, truncated_normal(x.shape(), mean, deviation, low, high, x.dtype()));
}

Tensor constant_(Tensor x, double value) {
    const NoGrad no_grad;
    return x.fill_(value);
}
Tensor zeros_(Tensor x) { return constant_(std::move(x), 0); }
Tensor ones_(Tensor x) { return constant_(std::move(x), 1); }

Tensor eye_(Tensor x) {
    check_rank("eye_", x, x.rank() == 2, "2 axes");
    return written(x, eye(x.size(0), x.size(1), x.dtype()));
}

Tensor dirac_(Tensor x, std::int64_t groups) {
    check_rank("dirac_", x, x.rank() >= 3 && x.rank() <= 5, "3, 4 or 5 axes");
    if (groups < 1 || x.size(0) % groups != 0)
        throw ValueError("dirac_(): " + std::to_string(x.size(0)) + " channels cannot be divided into " +
                         std::to_string(groups) + " groups");
    const std::int64_t outputs = x.size(0) / groups,
                       window = as_matrix(x).second / std::max<std::int64_t>(x.size(1), 1);
    std::int64_t centre = 0;
    for (int axis = 2; axis < x.rank(); ++axis) centre = centre * x.size(axis) + x.size(axis) / 2;
    std::vector<float> values(static_cast<std::size_t>(x.numel()));
    for (std::int64_t group = 0; group < groups; ++group)
        for (std::int64_t c = 0; c < std::min(outputs, x.size(1)); ++c)
            values[((group * outputs + c) * x.size(1) + c) * window + centre] = 1;
    return written(x, from_data(values, x.shape()));
}

// Gram and Schmidt's method, twice for each vector: once leaves too much of the others where they are nearly parallel.
Tensor orthogonal_(Tensor x, double gain) {
    check_rank("orthogonal_", x, x.rank() >= 2, "at least 2 axes");
    if (x.numel() == 0) return x;
    const auto [rows, columns] = as_matrix(x);
    const std::size_t count = static_cast<std::size_t>(std::min(rows, columns)),
                      length = static_cast<std::size_t>(std::max(rows, columns));
    std::vector<double> vectors =
        randn({static_cast<std::int64_t>(count), static_cast<std::int64_t>(length)}, f64).to_vector<double>();
    const auto dot = [length](const double* a, const double* b) {
        double sums[4] = {};  // four chains: one would wait for each addition
        std::size_t i = 0;
        for (; i + 4 <= length; i += 4)
            for (std::size_t lane = 0; lane < 4; ++lane) sums[lane] += a[i + lane] * b[i + lane];
        for (; i < length; ++i) sums[0] += a[i] * b[i];
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    };
    for (std::size_t v = 0; v < count; ++v) {
        double* own = &vectors[v * length];
        for (int pass = 0; pass < 2; ++pass)
            for (std::size_t other = 0; other < v; ++other) {
                const double* unit = &vectors[other * length];
                const double part = dot(own, unit);
                for (std::size_t i = 0; i < length; ++i) own[i] -= part * unit[i];
            }
        const double size = std::sqrt(dot(own, own));
        for (std::size_t i = 0; i < length; ++i) own[i] /= size;
    }
    Tensor q = from_data(vectors, {static_cast<std::int64_t>(count), static_cast<std::int64_t>(length)});
    if (rows > columns) q = q.t();
    return written(x, (q * gain).reshape(x.shape()));
}

Tensor sparse_(Tensor x, double sparsity, double deviation) {
    check_rank("sparse_", x, x.rank() == 2, "2 axes");
    if (!(sparsity >= 0 && sparsity <= 1)) throw ValueError("sparse_(): sparsity must lie between 0 and 1");
    const std::int64_t rows = x.size(0), columns = x.size(1);
    const auto zeros = static_cast<std::int64_t>(std::ceil(sparsity * static_cast<double>(rows)));
    const std::vector<float> keys = rand({columns, rows}).to_vector<float>();
    std::vector<float> kept(static_cast<std::size_t>(rows * columns), 1);
    std::vector<std::int64_t> order(static_cast<std::size_t>(rows));
    for (std::int64_t c = 0; c < columns; ++c) {  // the rows with the smallest keys are 0
        std::iota(order.begin(), order.end(), 0);
        std::sort(order.begin(), order.end(),
                  [&](std::int64_t a, std::int64_t b) { return keys[c * rows + a] < keys[c * rows + b]; });
        for (std::int64_t i = 0; i < zeros; ++i) kept[order[i] * columns + c] = 0;
    }
    return written(x, randn(x.shape(), x.dtype()) * deviation * from_data(kept, x.shape()));
}

// ---- by the number of inputs and outputs -----------------------------------------------------------------------------

std::pair<std::int64_t, std::int64_t> fans(const Tensor& weight) {
    if (weight.rank() < 2)
        throw ValueError("a tensor of the shape " + to_string(weight.shape()) +
                         " has no fan of inputs and outputs: at least 2 axes are needed");
    std::int64_t window = 1;
    for (int axis = 2; axis < weight.rank(); ++axis) window *= weight.size(axis);
    return {weight.size(1) * window, weight.size(0) * window};
}

double calculate_gain(std::string_view nonlinearity, double slope) {
    if (nonlinearity == "tanh") return 5.0 / 3;
    if (nonlinearity == "relu") return std::numbers::sqrt2;
    if (nonlinearity == "leaky_relu") return std::sqrt(2 / (1 + slope * slope));
    if (nonlinearity == "selu") return 0.75;
    for (const std::string_view plain : {"linear", "sigmoid", "conv1d", "conv2d", "conv3d", "conv_transpose1d",
                                         "conv_transpose2d", "conv_transpose3d"})
        if (nonlinearity == plain) return 1;
    throw ValueError("calculate_gain(): unknown nonlinearity '" + std::string(nonlinearity) + "'");
}

namespace {

double xavier_deviation(const Tensor& x, double gain) {
    const auto [in, out] = fans(x);
    return gain * std::sqrt(2 / static_cast<double>(in + out));
}

double kaiming_deviation(const Tensor& x, const KaimingOptions& options) {
    const auto [in, out] = fans(x);
    return calculate_gain(options.nonlinearity, options.a) /
           std::sqrt(static_cast<double>(options.mode == Fan::In ? in : out));
}

}  // namespace

Tensor xavier_uniform_(Tensor x, double gain) {
    const double bound = uniform_bound(xavier_deviation(x, gain));
    return uniform_(std::move(x), -bound, bound);
}
Tensor xavier_normal_(Tensor x, double gain) {
    const double deviation = xavier_deviation(x, gain);
    return normal_(std::move(x), 0, deviation);
}
Tensor kaiming_uniform_(Tensor x, const KaimingOptions& options) {
    const double bound = uniform_bound(kaiming_deviation(x, options));
    return uniform_(std::move(x), -bound, bound);
}
Tensor kaiming_normal_(Tensor x, const KaimingOptions& options) {
    const double deviation = kaiming_deviation(x, options);
    return normal_(std::move(x), 0, deviation);
}
Tensor lecun_uniform_(Tensor x) { return kaiming_uniform_(std::move(x), {.nonlinearity = "linear"}); }
Tensor lecun_normal_(Tensor x) { return kaiming_normal_(std::move(x), {.nonlinearity = "linear"}); }

}  // namespace weft::nn::init
