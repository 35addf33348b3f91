// tensor/pooling_adaptive.cpp: adaptive maxima with the places where they are. The windows differ in length, so each is read as one of the longest
// length, whose surplus is never chosen; the value is picked by its place, so that one element gets the gradient.
#include "tensor/check.h"

#include <weft/functional.h>
#include <weft/ops.h>

#include <algorithm>

namespace weft {

namespace {

// Of each window along an axis of n elements: where its elements are (with the last one repeated), and which of them count.
struct Reach {
    Tensor at;      // i64[windows, longest]
    Tensor counts;  // bool[windows, longest]
    std::int64_t windows, longest;
};

Reach reach(std::int64_t n, std::int64_t windows) {
    const Tensor i = arange(0, windows, 1, i64);
    const Tensor start = floor_divide(i * n, std::max<std::int64_t>(windows, 1));
    const Tensor end = floor_divide((i + 1) * n + windows - 1, std::max<std::int64_t>(windows, 1));
    std::int64_t longest = 1;
    for (std::int64_t w = 0; w < windows; ++w)
        longest = std::max(longest, ((w + 1) * n + windows - 1) / windows - w * n / windows);
    const Tensor place = start.unsqueeze(1) + arange(0, longest, 1, i64);
    return {clamp_max(place, n - 1), lt(place, end.unsqueeze(1)), windows, longest};
}

PooledMaxima adaptive(std::string_view name, int spatial, const Tensor& x, const Sizes& size) {
    const Checker check(name, {{"x", x}, {"size", size}});
    check.that(x.rank() == spatial + 1 || x.rank() == spatial + 2, "x must be [n, c, …] or [c, …] with ", spatial,
               " spatial axes");
    check.value(size.size() == 1 || static_cast<int>(size.size()) == spatial, "there must be one size, or ", spatial);
    const int first = x.rank() - spatial;
    std::vector<Reach> reaches;
    for (int d = 0; d < spatial; ++d) {
        const std::int64_t n = x.size(first + d), wanted = size[size.size() == 1 ? 0 : static_cast<std::size_t>(d)];
        check.that(n > 0, "spatial axes must have elements");
        reaches.push_back(reach(n, wanted < 0 ? n : wanted));
    }
    // The flat place of element (l1, l2, …) of window (w1, w2, …): i64[w1, w2, …, l1, l2, …].
    Tensor place, counts;
    const Shape own_shape = x.shape();
    Shape windows, flat_windows(own_shape.begin(), own_shape.begin() + first);
    std::int64_t longest = 1;
    for (int d = 0; d < spatial; ++d) {
        const Reach& r = reaches[static_cast<std::size_t>(d)];
        Shape shape = Shape::filled(static_cast<std::size_t>(2 * spatial), 1);
        shape[static_cast<std::size_t>(d)] = r.windows;
        shape[static_cast<std::size_t>(spatial + d)] = r.longest;
        const Tensor at = r.at.reshape(shape), own = r.counts.reshape(shape);
        place = d == 0 ? at : place * x.size(first + d) + at;
        counts = d == 0 ? own : logical_and(counts, own);
        windows.push_back(r.windows);
        longest *= r.longest;
    }
    const std::int64_t count = numel(windows);
    const Tensor places = place.reshape({count, longest});  // of the elements of each window
    const Tensor allowed = counts.reshape({count, longest});
    const Tensor flat = x.flatten(first, -1);
    const Tensor seen = index_select(flat, first, places.reshape({count * longest}));
    Shape split(flat_windows);
    split.push_back(count), split.push_back(longest);
    const Tensor values = seen.detach().reshape(split);
    // What does not count is the window's first element, to which it loses: the first of equal ones is the largest.
    const Tensor best = argmax(where(allowed, values, values.narrow(-1, 0, 1)), -1);
    Shape spread(flat_windows);
    spread.push_back(count);
    const Tensor index = gather(places.expand(split), -1, best.unsqueeze(-1)).reshape(spread);
    Shape result(flat_windows);
    result.append(windows.begin(), windows.end());
    return {gather(flat, first, index).reshape(result), index.reshape(result)};
}

}  // namespace

PooledMaxima adaptive_max_pool1d_with_indices(const Tensor& x, const Sizes& size) {
    return adaptive("adaptive_max_pool1d", 1, x, size);
}
PooledMaxima adaptive_max_pool2d_with_indices(const Tensor& x, const Sizes& size) {
    return adaptive("adaptive_max_pool2d", 2, x, size);
}
PooledMaxima adaptive_max_pool3d_with_indices(const Tensor& x, const Sizes& size) {
    return adaptive("adaptive_max_pool3d", 3, x, size);
}

}  // namespace weft
