// tensor/images_interpolate.cpp: grids in another size. Axis by axis, each result is a weighted sum of a few elements whose places
// follow from the sizes alone; what only repeats or skips elements is an index map.
#include "tensor/indices.h"
#include "tensor/nodes.h"
#include "tensor/windows.h"

#include <weft/ops.h>

#include <algorithm>
#include <cmath>

namespace weft {
namespace {

using ir::NodeRef;

// How the results along one axis follow from its elements: result i is Σ weight[tap][i] · x[place[tap][i]]. Places beyond the
// ends mean the ends.
struct Taps {
    std::vector<std::vector<std::int64_t>> places;
    std::vector<std::vector<double>> weights;  // none: 1
};

struct Resize {
    std::int64_t in, out;
    double step;  // between results, in elements

    double source(std::int64_t i, bool align_corners) const {
        const auto at = static_cast<double>(i);
        return align_corners ? at * step : (at + 0.5) * step - 0.5;
    }
    std::int64_t inside(double place) const {
        return static_cast<std::int64_t>(std::clamp(place, 0.0, static_cast<double>(in - 1)));
    }
};

Resize resize_of(std::int64_t in, std::int64_t out, std::optional<double> factor, bool align_corners) {
    const auto from = static_cast<double>(in), to = static_cast<double>(out);
    if (align_corners) return {in, out, out > 1 ? (from - 1) / (to - 1) : 0.0};
    return {in, out, factor ? 1 / *factor : from / to};
}

// In f32, as PyTorch counts: a place just below a whole number is rounded up to it.
Taps nearest_taps(const Resize& r, bool exact) {
    Taps taps{.places = {{}}};
    const auto step = static_cast<float>(r.step);
    for (std::int64_t i = 0; i < r.out; ++i) {
        const float at = (static_cast<float>(i) + (exact ? 0.5f : 0.0f)) * step;
        taps.places[0].push_back(r.inside(std::floor(at)));
    }
    return taps;
}

Taps linear_taps(const Resize& r, bool align_corners) {
    Taps taps{.places = {{}, {}}, .weights = {{}, {}}};
    for (std::int64_t i = 0; i < r.out; ++i) {
        const double at = std::max(0.0, r.source(i, align_corners)),
                     low = static_cast<double>(r.inside(std::floor(at)));
        const double part = std::clamp(at - low, 0.0, 1.0);
        taps.places[0].push_back(r.inside(low));
        taps.places[1].push_back(r.inside(low + 1));
        taps.weights[0].push_back(1 - part);
        taps.weights[1].push_back(part);
    }
    return taps;
}

// Cubic convolution with its free parameter.
double cubic_weight(double distance, double a = -0.75) {
    const double d = std::abs(distance);
    if (d <= 1) return ((a + 2) * d - (a + 3)) * d * d + 1;
    return d < 2 ? ((a * d - 5 * a) * d + 8 * a) * d - 4 * a : 0;
}

Taps cubic_taps(const Resize& r, bool align_corners) {
    Taps taps{.places = std::vector<std::vector<std::int64_t>>(4), .weights = std::vector<std::vector<double>>(4)};
    for (std::int64_t i = 0; i < r.out; ++i) {
        const double at = r.source(i, align_corners), low = std::floor(at);
        for (int tap = 0; tap < 4; ++tap) {
            taps.places[tap].push_back(static_cast<std::int64_t>(low) + tap - 1);
            taps.weights[tap].push_back(cubic_weight(at - (low + tap - 1)));
        }
    }
    return taps;
}

Taps taps_of(const Resize& r, const InterpolateOptions& options) {
    switch (options.mode) {
        case Interpolation::Linear: return linear_taps(r, options.align_corners);
        case Interpolation::Cubic: return cubic_taps(r, options.align_corners);
        default: return nearest_taps(r, options.mode == Interpolation::NearestExact);
    }
}

// Windows as wide as the step, if that is above 1: every result has all elements in reach of its centre, with weights that add
// up to 1. Windows that are cut off at the ends have fewer; their last element then counts in parts, never with a weight of 0,
// which would make NaN of an infinity that is not there.
Taps smooth_taps(const Resize& r, bool cubic) {
    const double width = std::max(1.0, r.step), reach = width * (cubic ? 2 : 1);
    const auto most = static_cast<std::size_t>(std::ceil(2 * reach)) + 1;
    Taps taps{.places = std::vector<std::vector<std::int64_t>>(most),
              .weights = std::vector<std::vector<double>>(most)};
    for (std::int64_t i = 0; i < r.out; ++i) {
        const double centre = (static_cast<double>(i) + 0.5) * r.step;
        const auto first = std::clamp<std::int64_t>(static_cast<std::int64_t>(centre - reach + 0.5), 0, r.in - 1);
        const auto end = std::clamp<std::int64_t>(static_cast<std::int64_t>(centre + reach + 0.5), first + 1, r.in);
        std::vector<double> weights;
        double sum = 0;
        for (std::int64_t place = first; place < end; ++place) {
            const double distance = (static_cast<double>(place) - centre + 0.5) / width;
            weights.push_back(cubic ? cubic_weight(distance, -0.5) : std::max(0.0, 1 - std::abs(distance)));
            sum += weights.back();
        }
        const double parts = static_cast<double>(most - weights.size() + 1);
        for (std::size_t tap = 0; tap < most; ++tap) {
            const std::size_t used = std::min(tap, weights.size() - 1);
            taps.places[tap].push_back(first + static_cast<std::int64_t>(used));
            taps.weights[tap].push_back(weights[used] / sum / (used + 1 == weights.size() ? parts : 1));
        }
    }
    return taps;
}

template <class Wanted>
bool are(const std::vector<std::int64_t>& places, Wanted wanted) {
    for (std::size_t i = 0; i < places.size(); ++i)
        if (places[i] != wanted(static_cast<std::int64_t>(i))) return false;
    return true;
}

// The elements at these places along an axis.
NodeRef picked_along(const NodeRef& x, int axis, const std::vector<std::int64_t>& places) {
    const std::int64_t in = x->shape[axis], out = static_cast<std::int64_t>(places.size());
    if (out % in == 0 && are(places, [&](std::int64_t i) { return i / (out / in); })) {  // each so many times
        Shape split = x->shape, spread, result = x->shape;
        split.insert(split.begin() + axis + 1, 1);
        spread = split;
        spread[axis + 1] = out / in;
        result[axis] = out;
        return ir::reshape(ir::expand(ir::reshape(x, split), spread), result);
    }
    const std::int64_t first = places[0], step = out > 1 ? places[1] - first : 1;
    if (step > 0 && are(places, [&](std::int64_t i) { return first + i * step; })) {  // one of so many
        Dims starts = zeros_for(x->shape);
        Shape span = x->shape;
        starts[axis] = first;
        span[axis] = (out - 1) * step + 1;
        return nodes::strided(ir::shrink(x, starts, span), axis, step, out);
    }
    return select(x, node_of(from_data(places)), axis);
}

// By a whole factor, result `factor · i + phase` has the same weights for every i: the weights of phase p for the element
// i + offset are [offset - first][p]. Empty: there is no such pattern.
struct Phases {
    std::int64_t factor = 0, first = 0;
    std::vector<std::vector<double>> weights;
};

Phases phases_of(const Taps& taps, std::int64_t in) {
    const auto out = static_cast<std::int64_t>(taps.places[0].size());
    if (out % in != 0 || out == in) return {};
    Phases p{.factor = out / in, .first = taps.places[0][0]};
    std::int64_t last = p.first;
    for (const auto& places : taps.places)
        for (std::int64_t i = 0; i < out; ++i) {
            const std::int64_t offset = places[i] - i / p.factor;
            if (offset != places[i % p.factor]) return {};
            p.first = std::min(p.first, offset), last = std::max(last, offset);
        }
    p.weights.assign(static_cast<std::size_t>(last - p.first + 1), std::vector<double>(p.factor));
    for (std::size_t tap = 0; tap < taps.places.size(); ++tap)
        for (std::int64_t i = 0; i < out; ++i) {
            if (std::abs(taps.weights[tap][i] - taps.weights[tap][i % p.factor]) > 1e-9) return {};
            if (i < p.factor) p.weights[taps.places[tap][i] - p.first][i] += taps.weights[tap][i];
        }
    return p;
}

// Weights along an axis, as a constant that broadcasts to x.
NodeRef weights_along(const NodeRef& x, int axis, const std::vector<double>& weights) {
    Shape line = Shape::filled(x->shape.size(), 1);
    line[axis] = static_cast<std::int64_t>(weights.size());
    return ir::cast(node_of(from_data(weights, line)), x->dtype);
}

NodeRef resized_by_phases(const NodeRef& x, int axis, const Phases& p) {
    const std::int64_t in = x->shape[axis], last = p.first + static_cast<std::int64_t>(p.weights.size()) - 1;
    const int back = x->rank() - 1 - axis;
    Dims widths = Dims::filled(2 * static_cast<std::size_t>(back + 1), 0);
    widths[2 * back] = std::max<std::int64_t>(0, -p.first), widths[2 * back + 1] = std::max<std::int64_t>(0, last);
    const NodeRef padded = node_of(pad(make_tensor(x), widths, PadMode::Replicate));
    NodeRef sum;
    for (std::size_t k = 0; k < p.weights.size(); ++k) {
        Dims starts = zeros_for(x->shape);
        starts[axis] = p.first + static_cast<std::int64_t>(k) + widths[2 * back];
        const NodeRef shifted = nodes::add_axis(ir::shrink(padded, starts, x->shape), axis + 1);
        const NodeRef term = shifted * weights_along(shifted, axis + 1, p.weights[k]);
        sum = sum ? sum + term : term;
    }
    Shape result = x->shape;
    result[axis] = in * p.factor;
    return ir::reshape(sum, result);
}

NodeRef resized(const NodeRef& x, int axis, Taps taps) {
    if (!taps.weights.empty())
        if (const Phases p = phases_of(taps, x->shape[axis]); p.factor > 0) return resized_by_phases(x, axis, p);
    NodeRef sum;
    for (std::size_t tap = 0; tap < taps.places.size(); ++tap) {
        for (std::int64_t& place : taps.places[tap]) place = std::clamp<std::int64_t>(place, 0, x->shape[axis] - 1);
        NodeRef term = picked_along(x, axis, taps.places[tap]);
        if (!taps.weights.empty()) term = term * weights_along(x, axis, taps.weights[tap]);
        sum = sum ? sum + term : term;
    }
    return sum;
}

// Many taps: all windows are picked at once and summed, as one kernel, whatever their number.
NodeRef resized_by_windows(const NodeRef& x, int axis, const Taps& taps) {
    const std::size_t most = taps.places.size(), out = taps.places[0].size();
    std::vector<std::int64_t> places;
    std::vector<double> weights;
    for (std::size_t i = 0; i < out; ++i)
        for (std::size_t tap = 0; tap < most; ++tap) {
            places.push_back(taps.places[tap][i]);
            weights.push_back(taps.weights[tap][i]);
        }
    Shape windows = x->shape, line = Shape::filled(x->shape.size() + 1, 1);
    windows[axis] = line[axis] = static_cast<std::int64_t>(out);
    windows.insert(windows.begin() + axis + 1, static_cast<std::int64_t>(most));
    line[axis + 1] = static_cast<std::int64_t>(most);
    const NodeRef picked = ir::reshape(select(x, node_of(from_data(places)), axis), windows);
    const NodeRef factors = ir::cast(node_of(from_data(weights, line)), x->dtype);
    return nodes::drop_axes(ir::reduce(ir::Op::Add, picked * factors, {axis + 1}), {axis + 1});
}

Tensor area(const Tensor& x, const Dims& sizes) {
    if (sizes.size() == 1) return adaptive_avg_pool1d(x, Sizes(sizes));
    return sizes.size() == 2 ? adaptive_avg_pool2d(x, Sizes(sizes)) : adaptive_avg_pool3d(x, Sizes(sizes));
}

}  // namespace

Tensor interpolate(const Tensor& x, const InterpolateOptions& options) {
    const Checker check("interpolate", {{"x", x}});
    check.that(x.rank() >= 3 && x.rank() <= 5, "x must be [n, c, spatial…] with one to three spatial axes");
    const std::size_t spatial = x.shape().size() - 2;
    check.value(options.sizes.empty() != options.factors.empty(), "either sizes or factors must be given");
    const bool smooth = options.mode == Interpolation::Linear || options.mode == Interpolation::Cubic;
    check.value(smooth || !options.align_corners, "align_corners is for linear and cubic interpolation");
    check.value(!options.antialias || (smooth && spatial == 2),
                "antialias is for linear and cubic interpolation of [n, c, height, width]");
    check.dtype(is_float(x.dtype()) || (!smooth && options.mode != Interpolation::Area),
                "x must hold floats for this mode, not ", x.dtype());
    const std::size_t given = std::max(options.sizes.size(), options.factors.size());
    check.value(given == 1 || given == spatial, "there must be one number, or one for each of the ", spatial,
                " spatial axes, not ", given);
    Dims sizes;
    for (std::size_t s = 0; s < spatial; ++s) {
        const std::int64_t in = x.shape()[2 + s];
        check.that(in > 0, "spatial axis ", s, " has no elements");
        if (options.factors.empty()) {
            sizes.push_back(options.sizes[given == 1 ? 0 : s]);
        } else {
            const double factor = options.factors[given == 1 ? 0 : s],
                         wanted = std::floor(static_cast<double>(in) * factor);
            check.value(factor > 0 && wanted < 0x1p62, "a factor must be positive and finite, not ", factor);
            sizes.push_back(static_cast<std::int64_t>(wanted));
        }
        check.value(sizes[s] > 0, "size ", sizes[s], " of spatial axis ", s, " must be positive");
    }
    if (options.mode == Interpolation::Area) return area(x, sizes);
    NodeRef result = ir::cast(node_of(x), smooth ? accumulator_of(x.dtype()) : x.dtype());
    for (std::size_t s = 0; s < spatial; ++s) {
        const int axis = 2 + static_cast<int>(s);
        const bool by_factor = !options.factors.empty() && !options.recompute_factor;
        const std::optional<double> factor =
            by_factor ? std::optional(options.factors[given == 1 ? 0 : s]) : std::nullopt;
        const Resize r = resize_of(result->shape[axis], sizes[s], factor, options.align_corners);
        if (r.in == r.out && r.step == 1) continue;
        check.table(8 * static_cast<double>(r.out));  // places and weights of up to four taps
        result = options.antialias
                     ? resized_by_windows(result, axis, smooth_taps(r, options.mode == Interpolation::Cubic))
                     : resized(result, axis, taps_of(r, options));
        // Each axis in a kernel of its own: together, every result would read all taps of all axes.
        if (smooth && s + 1 < spatial) result = ir::contiguous(result);
    }
    return make_tensor(ir::cast(result, x.dtype()));
}

}  // namespace weft
