// tensor/movement_pieces.cpp: tensors cut along an axis, into views.
#include "core/checked.h"
#include "tensor/check.h"

#include <weft/movement.h>

#include <algorithm>

namespace weft {

std::vector<Tensor> split_with_sizes(const Tensor& x, const Dims& sizes, int axis) {
    const Checker check("split_with_sizes", {{"x", x}, {"sizes", sizes}, {"axis", axis}});
    const int d = check.axis(axis, x.rank());
    std::int64_t total = 0;
    for (const std::int64_t size : sizes) {
        check.value(size >= 0, "size ", size, " is negative");
        total = checked_add(total, size);
    }
    check.that(total == x.size(d), "the sizes add up to ", total, ", the axis has ", x.size(d));
    std::vector<Tensor> pieces;
    std::int64_t start = 0;
    for (const std::int64_t size : sizes) {
        pieces.push_back(x.narrow(d, start, size));
        start += size;
    }
    return pieces;
}

std::vector<Tensor> split(const Tensor& x, std::int64_t size, int axis) {
    const Checker check("split", {{"x", x}, {"size", size}, {"axis", axis}});
    const int d = check.axis(axis, x.rank());
    const std::int64_t whole = x.size(d);
    check.that(size > 0 || (size == 0 && whole == 0), "the size must be positive");
    Dims sizes;
    for (std::int64_t start = 0; start < whole; start += size) sizes.push_back(std::min(size, whole - start));
    if (sizes.empty()) sizes.push_back(0);
    return split_with_sizes(x, sizes, d);
}

std::vector<Tensor> chunk(const Tensor& x, std::int64_t pieces, int axis) {
    const Checker check("chunk", {{"x", x}, {"pieces", pieces}, {"axis", axis}});
    const int d = check.axis(axis, x.rank());
    check.that(pieces > 0, "the number of pieces must be positive");
    if (x.size(d) == 0) return split_with_sizes(x, Dims::filled(static_cast<std::size_t>(pieces), 0), d);
    return split(x, ceil_div(x.size(d), pieces), d);
}

std::vector<Tensor> tensor_split(const Tensor& x, std::int64_t pieces, int axis) {
    const Checker check("tensor_split", {{"x", x}, {"pieces", pieces}, {"axis", axis}});
    const int d = check.axis(axis, x.rank());
    check.value(pieces > 0, "the number of pieces must be positive");
    const std::int64_t whole = x.size(d), least = whole / pieces, larger = whole % pieces;
    Dims sizes;
    for (std::int64_t i = 0; i < pieces; ++i) sizes.push_back(least + (i < larger));
    return split_with_sizes(x, sizes, d);
}

std::vector<Tensor> tensor_split_at(const Tensor& x, const Dims& indices, int axis) {
    const Checker check("tensor_split_at", {{"x", x}, {"indices", indices}, {"axis", axis}});
    const int d = check.axis(axis, x.rank());
    std::vector<Tensor> pieces;
    std::optional<std::int64_t> start = 0;
    for (const std::int64_t stop : indices) {
        pieces.push_back(x.slice(d, {start, stop}));
        start = stop;
    }
    pieces.push_back(x.slice(d, {start, {}}));
    return pieces;
}

std::vector<Tensor> unbind(const Tensor& x, int axis) {
    const Checker check("unbind", {{"x", x}, {"axis", axis}});
    const int d = check.axis(axis, x.rank());
    std::vector<Tensor> slices;
    for (std::int64_t i = 0; i < x.size(d); ++i) slices.push_back(select(x, d, i));
    return slices;
}

}  // namespace weft
