// tensor/correlate.cpp: sums of products over sliding windows. Plainly, that is a view of the windows and one contraction. Windows of
// three that move by one share so much work that two outputs need four products, not six (Winograd's F(2, 3)): with d of the
// input and g of the kernel,
//
//   y0 = d0 g0 + d1 g1 + d2 g2 = m0 + m1 + m2        m0 = (d0 - d2) g0                 m1 = (d1 + d2) (g0 + g1 + g2) / 2
//   y1 = d1 g0 + d2 g1 + d3 g2 = m1 - m2 - m3        m3 = (d1 - d3) g2                 m2 = (d2 - d1) (g0 - g1 + g2) / 2
//
// Each m is a contraction, over the channels and the windows of the other axes, with one value for two outputs. Errors are those of
// the plain sums where neighbours are of about one size: chains are shorter by a third, but a rounding is relative to the largest of
// the pair's four inputs and three kernels, also where the other factor is 0. What is not finite reaches no output whose window does
// not hold it, but an infinity may become NaN, and sums of two inputs may overflow. WEFT_CONV=plain switches it off.
#include "tensor/correlate.h"

#include "core/checked.h"
#include "tensor/graph_mode.h"
#include "tensor/windows.h"

#include <algorithm>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;

constexpr int kShort = 3;  // the window that is done in pairs, along the last axis

// When pairs pay, measured: making the d and joining the y is shared by the terms of a sum, tiles want columns (an image's pairs), and
// nine small kernels instead of one want work. The m take twice the memory of the outputs, and more of them than caches hold save nothing.
constexpr std::int64_t kLeastTerms = 48, kLeastColumns = 96, kLeastPanel = 3 << 13, kLeastProducts = 1 << 25;
constexpr std::int64_t kMostOutputs = 1 << 24;

NodeRef seen_through(const NodeRef& x, const NodeRef& w, const Windows& windows) {
    const int spatial = x->rank() - 3;
    std::vector<nodes::Window> each;
    for (int s = 0; s < spatial; ++s)
        each.push_back(
            {.axis = 3 + s, .size = w->shape[3 + s], .stride = windows.stride[s], .dilation = windows.dilation[s]});
    return nodes::windows(zero_padded(x, windows.before, windows.after), each);
}

NodeRef along_last(const NodeRef& x, std::int64_t start, std::int64_t size) {
    Dims starts = Dims::filled(x->shape.size(), 0);
    Shape sizes = x->shape;
    starts.back() = start, sizes.back() = size;
    return ir::shrink(x, starts, sizes);
}

std::int64_t outputs_along(const NodeRef& x, const NodeRef& w, const Windows& windows, int s) {
    return x->shape[3 + s] + windows.before[s] + windows.after[s] - w->shape[3 + s] + 1;
}

bool fits_pairs(const NodeRef& x, const NodeRef& w, const Windows& windows) {
    if (graph_mode().plain_convolution || x->dtype != DType::F32 || w->shape.back() != kShort) return false;
    for (int s = 0; s < x->rank() - 3; ++s)  // padding beyond the window: the gradient is no sum of windows
        if (windows.stride[s] != 1 || windows.dilation[s] != 1 ||
            std::max(windows.before[s], windows.after[s]) >= w->shape[3 + s])
            return false;
    return true;
}

bool pays_in_pairs(const NodeRef& x, const NodeRef& w, const Windows& windows) {
    const int spatial = x->rank() - 3;
    std::int64_t others = 1, columns = ceil_div(outputs_along(x, w, windows, spatial - 1), std::int64_t{2});
    for (int s = 0; s + 1 < spatial; ++s) {
        others = checked_mul(others, w->shape[3 + s]);
        columns = checked_mul(columns, outputs_along(x, w, windows, s));
    }
    const std::int64_t terms = checked_mul(others, std::min(w->shape[1], w->shape[2]));
    const std::int64_t outputs =
        checked_mul(checked_mul(x->shape[0], checked_mul(w->shape[0], w->shape[1])), 2 * columns);
    return terms >= kLeastTerms && columns >= kLeastColumns && terms >= ceil_div(kLeastPanel, columns) && outputs > 0 &&
           outputs <= kMostOutputs && checked_mul(w->shape[2], others * kShort) >= ceil_div(kLeastProducts, outputs);
}

NodeRef in_pairs(const NodeRef& x, const NodeRef& w, const Windows& windows) {
    const int spatial = x->rank() - 3, last = x->rank() - 1;
    const std::int64_t width = outputs_along(x, w, windows, spatial - 1), pairs = ceil_div(width, std::int64_t{2});
    Windows others = windows;
    Dims before = Dims::filled(static_cast<std::size_t>(spatial), 0), after = before;
    before.back() = windows.before.back(), after.back() = windows.after.back() + 2 * pairs - width;
    others.before.back() = others.after.back() = 0;

    const NodeRef padded = zero_padded(x, before, after);
    const auto d = [&](std::int64_t i) { return nodes::strided(along_last(padded, i, 2 * pairs - 1), last, 2, pairs); };
    const auto g = [&](std::int64_t i) { return along_last(w, i, 1); };
    const NodeRef half = nodes::number(w, 0.5), ends = g(0) * half + g(2) * half, middle = g(1) * half;
    // Kernels are stored: a tile reads each of them many times, and one after the other.
    const auto m = [&](const NodeRef& input, const NodeRef& kernel) {
        const NodeRef kernels = ir::contiguous(kernel);
        return nodes::add_axis(sum_windows(seen_through(input, kernels, others), kernels, spatial), x->rank() - 1);
    };
    const NodeRef m0 = m(d(0) - d(2), g(0)), m1 = m(d(1) + d(2), ends + middle), m2 = m(d(2) - d(1), ends - middle),
                  m3 = m(d(1) - d(3), g(2));
    const NodeRef first = ir::less(ir::iota(2), ir::constant(DType::I64, Scalar(1)));
    const NodeRef joined = ir::where(first, m0 + m1 + m2, m1 - m2 - m3);  // […, pairs, 2]
    Shape flat(joined->shape.begin(), joined->shape.end() - 1);
    flat.back() *= 2;
    return along_last(ir::reshape(joined, flat), 0, width);
}

// Of the input: the gradient's windows, with the kernels reversed. Of the kernels: sums over all outputs.
ir::Grads gradients(const NodeRef& x, const NodeRef& w, const Windows& windows, const NodeRef& gradient) {
    const int spatial = x->rank() - 3;
    Shape grouped = {x->shape[0], w->shape[0], w->shape[1]};
    grouped.append(gradient->shape.begin() + 2, gradient->shape.end());
    const NodeRef g = ir::reshape(gradient, grouped);

    Dims flipped, swapped = {0, 2, 1}, order = {0, 1};
    Windows around = windows;
    for (int s = 0; s < spatial; ++s) {
        flipped.push_back(3 + s), swapped.push_back(3 + s), order.push_back(3 + s);
        around.before[s] = w->shape[3 + s] - 1 - windows.before[s],
        around.after[s] = w->shape[3 + s] - 1 - windows.after[s];
    }
    const NodeRef of_x = ir::reshape(correlate(g, ir::permute(ir::flip(w, flipped), swapped), around), x->shape);

    order.push_back(2);
    Dims summed = {0};
    for (int s = 0; s < spatial; ++s) order.push_back(3 + spatial + s), summed.push_back(3 + s);
    const NodeRef seen = nodes::add_axis(ir::permute(seen_through(x, w, windows), order), 2);
    for (int s = 0; s <= spatial; ++s) grouped.push_back(1);
    const NodeRef of_w = ir::reduce(Op::Add, ir::product(seen, ir::reshape(g, grouped), {.windows = true}), summed);
    return {of_x, ir::reshape(of_w, w->shape)};
}

}  // namespace

// A sum over in and window of two factors, [n, groups, 1, spatial…, in, window…] and [1, groups, out, 1…, in, window…].
NodeRef sum_windows(const NodeRef& seen, const NodeRef& w, int spatial) {
    Dims order = {0, 1};
    for (int s = 0; s < spatial; ++s) order.push_back(3 + s);
    order.push_back(2);
    for (int s = 0; s < spatial; ++s) order.push_back(3 + spatial + s);
    const NodeRef left = nodes::add_axis(ir::permute(seen, order), 2);

    Shape factor = Shape::filled(static_cast<std::size_t>(4 + 2 * spatial), 1);
    factor[1] = w->shape[0], factor[2] = w->shape[1], factor[3 + spatial] = w->shape[2];
    Dims summed = {3 + spatial};
    for (int s = 0; s < spatial; ++s) {
        factor[4 + spatial + s] = w->shape[3 + s];
        summed.push_back(4 + spatial + s);
    }
    const NodeRef total = ir::reduce(Op::Add, ir::product(left, ir::reshape(w, factor), {.windows = true}), summed);
    Shape result = {seen->shape[0], w->shape[0] * w->shape[1]};
    for (int s = 0; s < spatial; ++s) result.push_back(left->shape[3 + s]);
    return ir::reshape(total, result);
}

NodeRef correlate(const NodeRef& x, const NodeRef& w, const Windows& windows) {
    if (fits_pairs(x, w, windows) && pays_in_pairs(x, w, windows)) return correlate_pairs(x, w, windows);
    return sum_windows(seen_through(x, w, windows), w, x->rank() - 3);
}

NodeRef correlate_pairs(const NodeRef& x, const NodeRef& w, const Windows& windows) {
    const NodeRef inputs[] = {x, w};
    return ir::with_grad(in_pairs(x, w, windows), inputs,
                         nodes::grad_rule("correlate", [windows](const NodeRef& out, const NodeRef& g) {
                             return gradients(out->sources[1], out->sources[2], windows, g);
                         }));
}

}  // namespace weft
