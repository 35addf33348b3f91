// tensor/images_sampling.cpp: values of images at the places of a grid: each is a sum of a few gathered neighbours, with weights that are
// differentiated with respect to the grid.
#include "tensor/check.h"

#include <weft/ops.h>

#include <array>

namespace weft {
namespace {

// ---- coordinates -----------------------------------------------------------------------------------------------------

// From -1 … 1 to pixels.
Tensor in_pixels(const Tensor& x, std::int64_t size, bool align_corners) {
    const double count = static_cast<double>(size);
    return align_corners ? (x + 1) * ((count - 1) / 2) : ((x + 1) * count - 1) * 0.5;
}

// Within the image; outside of it and at its ends a place passes no gradient on.
Tensor clipped(const Tensor& x, std::int64_t size) {
    const double last = static_cast<double>(size - 1);
    const Tensor inside = logical_and(x > 0, x < last);
    return where(inside, x, where(x > 0, last, 0.0).to(x.dtype()));
}

// Folded back at the ends: at the centres of the last pixels with align_corners, else at their outer edges.
Tensor reflected(const Tensor& x, std::int64_t size, bool align_corners) {
    const double low = align_corners ? 0 : -0.5, span = static_cast<double>(align_corners ? size - 1 : size);
    if (span <= 0) return x * 0;
    const Tensor from = where(x < low, low - x, x - low);
    const Tensor extra = fmod(from, span), flips = floor(from / span);
    return where(remainder(flips, 2) == 0, extra, span - extra) + low;
}

Tensor placed(const Tensor& x, std::int64_t size, const GridSampleOptions& options) {
    if (options.padding == SamplePadding::Zeros) return x;
    const Tensor folded = options.padding == SamplePadding::Reflection ? reflected(x, size, options.align_corners) : x;
    return clipped(folded, size);
}

// ---- neighbours ------------------------------------------------------------------------------------------------------

// Along one axis: whole coordinates that are read, and what each counts; none: all of it.
struct Tap {
    Tensor at, weight;
};
using PlaceTaps = std::vector<Tap>;

PlaceTaps nearest_taps(const Tensor& x) { return {{round(x), {}}}; }

PlaceTaps linear_taps(const Tensor& x) {
    const Tensor first = floor(x), share = x - first;
    return {{first, 1.0 - share}, {first + 1, share}};
}

// Keys' cubic with A = -3/4, the distances of four neighbours in order.
PlaceTaps cubic_taps(const Tensor& x, std::int64_t size, const GridSampleOptions& options) {
    constexpr double kA = -0.75;
    const auto near = [](const Tensor& d) { return ((kA + 2) * d - (kA + 3)) * d * d + 1; };
    const auto far = [](const Tensor& d) { return ((kA * d - 5 * kA) * d + 8 * kA) * d - 4 * kA; };
    const Tensor first = floor(x), share = x - first;
    const std::array<Tensor, 4> weights = {far(share + 1), near(share), near(1.0 - share), far(2.0 - share)};
    PlaceTaps taps;
    for (int i = 0; i < 4; ++i)
        taps.push_back({placed(first + (i - 1), size, options), weights[static_cast<std::size_t>(i)]});
    return taps;
}

}  // namespace

Tensor grid_sample(const Tensor& input, const Tensor& grid, const GridSampleOptions& options) {
    const Checker check("grid_sample", {{"input", input}, {"grid", grid}});
    const int spatial = input.rank() - 2;
    check.that(spatial == 2 || spatial == 3, "the input must be [n, c, h, w] or [n, c, d, h, w]");
    check.that(grid.rank() == input.rank() && grid.size(-1) == spatial && grid.size(0) == input.size(0),
               "the grid must be [", input.size(0), spatial == 2 ? ", h, w, 2]" : ", d, h, w, 3]");
    check.dtype(is_float(input.dtype()) && input.dtype() == grid.dtype(), "both must be floats of one type");
    check.value(options.mode != SampleMode::Cubic || spatial == 2, "mode 'bicubic' is for images only");
    for (int axis = 2; axis < input.rank(); ++axis)
        check.that(input.size(axis) > 0, "axis ", axis, " of the input is empty");
    const DType result = input.dtype(), wide = accumulator_of(result);
    const std::int64_t n = input.size(0), channels = input.size(1);
    const Shape shape = input.shape(), places = grid.shape();
    Shape outputs = {n, channels};
    std::int64_t pixels = 1, count = 1;
    for (int s = 0; s < spatial; ++s) {
        outputs.push_back(places[static_cast<std::size_t>(1 + s)]);
        pixels *= shape[static_cast<std::size_t>(2 + s)];
        count *= places[static_cast<std::size_t>(1 + s)];
    }
    const Tensor flat = input.to(wide).reshape({n, channels, pixels});
    std::vector<PlaceTaps> axes;  // in the order of the input's axes; the grid has the last axis first
    for (int s = 0; s < spatial; ++s) {
        const std::int64_t size = shape[static_cast<std::size_t>(2 + s)];
        const Tensor at =
            in_pixels(grid.to(wide).narrow(-1, spatial - 1 - s, 1).reshape({n, count}), size, options.align_corners);
        axes.push_back(options.mode == SampleMode::Cubic     ? cubic_taps(at, size, options)
                       : options.mode == SampleMode::Nearest ? nearest_taps(placed(at, size, options))
                                                             : linear_taps(placed(at, size, options)));
    }
    Tensor sum;
    std::vector<std::size_t> chosen(axes.size(), 0);
    for (bool more = true; more;) {
        Tensor index, weight, inside;
        for (std::size_t s = 0; s < axes.size(); ++s) {
            const Tap& tap = axes[s][chosen[s]];
            const std::int64_t size = shape[2 + s];
            const Tensor here = logical_and(tap.at >= 0, tap.at <= static_cast<double>(size - 1));
            const Tensor whole = where(here, tap.at.detach(), 0).to(DType::I64);
            index = index.defined() ? index * size + whole : whole;
            inside = inside.defined() ? logical_and(inside, here) : here;
            if (tap.weight.defined()) weight = weight.defined() ? weight * tap.weight : tap.weight;
        }
        Tensor value = gather(flat, 2, index.unsqueeze(1).expand({n, channels, count}));
        if (weight.defined()) value = value * weight.unsqueeze(1);
        value = where(inside.unsqueeze(1), value, 0);
        sum = sum.defined() ? sum + value : value;
        more = false;
        for (std::size_t s = axes.size(); s-- > 0 && !more;) {
            more = ++chosen[s] < axes[s].size();
            if (!more) chosen[s] = 0;
        }
    }
    return sum.reshape(outputs).to(result);
}

Tensor affine_grid(const Tensor& theta, const Shape& size, bool align_corners) {
    const Checker check("affine_grid", {{"theta", theta}, {"size", size}});
    const int spatial = static_cast<int>(size.size()) - 2;
    check.value(spatial == 2 || spatial == 3, "size must be {n, c, h, w} or {n, c, d, h, w}");
    check.dtype(is_float(theta.dtype()), "theta must be a float tensor, not ", theta.dtype());
    check.that(theta.shape() == Shape{size[0], spatial, spatial + 1}, "theta must be [", size[0], ", ", spatial, ", ",
               spatial + 1, "]");
    for (const std::int64_t each : size) check.value(each > 0, "all sizes must be positive");
    const DType wide = accumulator_of(theta.dtype());
    Shape outputs(size.begin() + 2, size.end());
    std::vector<Tensor> columns;  // x, y, z, 1: the last axis first
    for (int s = spatial - 1; s >= 0; --s) {
        const std::int64_t count = outputs[static_cast<std::size_t>(s)];
        Tensor line = count > 1 ? linspace(-1, 1, count, wide) : zeros({1}, wide);
        if (!align_corners) line = line * (static_cast<double>(count - 1) / static_cast<double>(count));
        Shape along = Shape::filled(static_cast<std::size_t>(spatial), 1);
        along[static_cast<std::size_t>(s)] = count;
        columns.push_back(line.reshape(along).expand(outputs));
    }
    columns.push_back(ones(outputs, wide));
    std::int64_t count = 1;
    for (const std::int64_t each : outputs) count *= each;
    const Tensor base = stack(columns, -1).reshape({count, spatial + 1});
    Shape shape = {size[0]};
    shape.append(outputs.begin(), outputs.end());
    shape.push_back(spatial);
    return matmul(base, theta.to(wide).transpose(1, 2)).reshape(shape).to(theta.dtype());
}

}  // namespace weft
