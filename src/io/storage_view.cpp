// io/storage_view.cpp: finds the array that strides walk through: with strides 12, 4, 1 it has rows of 4 in planes of 3.
#include "io/storage_view.h"

#include <weft/movement.h>

#include <algorithm>

namespace weft::io {

Tensor storage_view(const Tensor& storage, const Shape& shape, const Dims& strides, std::int64_t offset) {
    const auto general = [&] { return as_strided(storage, shape, strides, offset); };
    if (numel(shape) == 0) return general();
    Dims axes;  // those that walk, by falling strides
    for (int d = 0; d < static_cast<int>(shape.size()); ++d)
        if (shape[d] > 1 && strides[d] > 0) axes.push_back(d);
    std::stable_sort(axes.begin(), axes.end(), [&](std::int64_t a, std::int64_t b) { return strides[a] > strides[b]; });

    // The array's sizes, and where in each of them the part starts.
    Shape sizes;
    Dims starts;
    std::int64_t left = offset, above = storage.numel();
    for (const std::int64_t d : axes) {
        if (above % strides[d] != 0) return general();
        const std::int64_t start = left / strides[d];
        if (start + shape[d] > above / strides[d]) return general();  // rows would overlap
        sizes.push_back(above / strides[d]);
        starts.push_back(start);
        left %= strides[d];
        above = strides[d];
    }
    sizes.push_back(above);  // between neighbours of the last axis
    Tensor part = storage.reshape(sizes);
    for (int i = 0; i < static_cast<int>(axes.size()); ++i) part = part.narrow(i, starts[i], shape[axes[i]]);
    part = part.narrow(static_cast<int>(axes.size()), left, 1).squeeze(-1);

    Dims order = Dims::filled(axes.size());  // back into the order of the tensor's own axes
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = static_cast<std::int64_t>(i);
    std::sort(order.begin(), order.end(), [&](std::int64_t a, std::int64_t b) { return axes[a] < axes[b]; });
    part = part.permute(order);
    for (int d = 0; d < static_cast<int>(shape.size()); ++d)
        if (shape[d] == 1 || strides[d] == 0) part = part.unsqueeze(d);
    return part.expand(shape);
}

}  // namespace weft::io
