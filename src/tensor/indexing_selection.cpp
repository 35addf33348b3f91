// tensor/indexing_selection.cpp: ops whose result's shape depends on values: they read, and build from what they have read.
#include "tensor/check.h"

#include <weft/creation.h>
#include <weft/indexing.h>
#include <weft/ops.h>
#include <weft/random.h>
#include <weft/sorting.h>

#include <algorithm>

namespace weft {

namespace {

// Where the elements are not 0, counted in row-major order. Every element is written, and counts if it is not 0: no branch to guess.
std::vector<std::int64_t> flat_positions(const Tensor& x) {
    const std::vector<std::uint8_t> wanted = ne(x.detach(), 0).to(DType::U8).to_vector<std::uint8_t>();
    std::size_t count = 0;
    for (const std::uint8_t each : wanted) count += each;
    std::vector<std::int64_t> found(count + 1);  // + 1: the element after the last is written, too
    std::int64_t* next = found.data();
    for (std::size_t i = 0; i < wanted.size(); ++i) {
        *next = static_cast<std::int64_t>(i);
        next += wanted[i];
    }
    found.pop_back();
    return found;
}

}  // namespace

std::vector<Tensor> nonzero_by_axis(const Tensor& x) {
    const Checker check("nonzero", {{"x", x}});
    const Shape shape = x.shape();
    Tensor quotient = from_data(flat_positions(x));
    std::vector<Tensor> result(shape.size());
    for (std::size_t axis = shape.size(); axis-- > 0;) {
        result[axis] = axis ? remainder(quotient, shape[axis]) : quotient;
        quotient = floor_divide(quotient, shape[axis]);
    }
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
    return select_by_mask(broadcast_to(x, shape), broadcast_to(mask, shape));
}

Tensor select_by_mask(const Tensor& x, const Tensor& mask, int axis) {
    const Checker check("select_by_mask", {{"x", x}, {"mask", mask}, {"axis", axis}});
    check.dtype(is_bool(mask.dtype()), "the mask must hold bools");
    check.index(axis >= 0 && axis + mask.rank() <= x.rank(), "the mask has too many axes");
    const Shape shape = x.shape(), covered = mask.shape();
    const auto first = shape.begin() + axis, after = first + mask.rank();
    check.that(std::equal(first, after, covered.begin()), "the mask must have the sizes of the axes that it covers");
    Shape merged(shape.begin(), first);
    merged.push_back(numel(covered));
    merged.append(after, shape.end());
    return index_select(x.reshape(merged), axis, from_data(flat_positions(mask)));
}

}  // namespace weft
