// tensor/selection.cpp: ops whose result's shape depends on values: they read, and build from what they have read.
#include "tensor/check.h"

#include <weft/creation.h>
#include <weft/ops.h>
#include <weft/random.h>
#include <weft/selection.h>
#include <weft/sorting.h>

#include <algorithm>

namespace weft {

std::vector<Tensor> nonzero_by_axis(const Tensor& x) {
    const Checker check("nonzero", {{"x", x}});
    const Shape shape = x.shape();
    const std::vector<bool> wanted = ne(x.detach(), 0).to_vector<bool>();
    std::vector<std::vector<std::int64_t>> found(shape.size());
    Dims at(shape.size(), 0);
    for (const bool each : wanted) {
        for (std::size_t axis = 0; each && axis < shape.size(); ++axis) found[axis].push_back(at[axis]);
        for (std::size_t axis = shape.size(); axis-- > 0 && ++at[axis] == shape[axis];) at[axis] = 0;
    }
    std::vector<Tensor> result;
    for (const auto& axis : found) result.push_back(from_data(axis));
    return result;
}

Tensor nonzero(const Tensor& x) {
    const Checker check("nonzero", {{"x", x}});
    if (x.rank() == 0) return zeros({ne(x.detach(), 0).item<bool>() ? 1 : 0, 0}, i64);
    return stack(nonzero_by_axis(x), 1);
}

Tensor masked_select(const Tensor& x, const Tensor& mask) {
    const Checker check("masked_select", {{"x", x}, {"mask", mask}});
    check.dtype(is_bool(mask.dtype()), "the mask must hold bools");
    Shape shape;
    for (int d = -std::max(x.rank(), mask.rank()); d < 0; ++d) {
        const std::int64_t a = -d <= x.rank() ? x.size(d) : 1, b = -d <= mask.rank() ? mask.size(d) : 1;
        check.that(a == b || a == 1 || b == 1, "the shapes cannot be broadcast together");
        shape.push_back(a == 1 ? b : a);
    }
    if (shape.empty()) shape.push_back(1);
    return index(broadcast_to(x, shape), nonzero_by_axis(broadcast_to(mask, shape)));
}

Tensor randperm(std::int64_t n) {
    if (n < 0) throw ValueError(str("randperm(n: ", n, "): n must not be negative"));
    return argsort(rand({n}, f64));
}

}  // namespace weft
