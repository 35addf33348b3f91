// tensor/movement_joining.cpp: several tensors to one, or to several of one shape. What joins is cat and insert; the rest is shapes.
#include "core/checked.h"
#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <algorithm>

namespace weft {
namespace {

using ir::NodeRef;

template <class Shaped>
std::vector<Tensor> each(std::string_view name, std::span<const Tensor> tensors, Shaped shaped) {
    const Checker check(name, {{"tensors", tensors}});
    check.that(!tensors.empty(), "there must be one tensor at least");
    std::vector<Tensor> result;
    for (const Tensor& tensor : tensors) result.push_back(shaped(tensor));
    return result;
}

DType common_type(std::span<const Tensor> tensors) {
    DType dtype = tensors[0].dtype();
    for (const Tensor& tensor : tensors) dtype = promote(dtype, tensor.dtype());
    return dtype;
}

}  // namespace

Tensor hstack(std::span<const Tensor> tensors) {
    const std::vector<Tensor> all = each("hstack", tensors, [](const Tensor& t) { return atleast_1d(t); });
    const bool vectors = std::all_of(all.begin(), all.end(), [](const Tensor& t) { return t.rank() == 1; });
    return cat(all, vectors ? 0 : 1);
}

Tensor vstack(std::span<const Tensor> tensors) {
    return cat(each("vstack", tensors, [](const Tensor& t) { return atleast_2d(t); }), 0);
}

Tensor dstack(std::span<const Tensor> tensors) {
    return cat(each("dstack", tensors, [](const Tensor& t) { return atleast_3d(t); }), 2);
}

Tensor column_stack(std::span<const Tensor> tensors) {
    return cat(each("column_stack", tensors,
                    [](const Tensor& t) {
                        return t.rank() < 2 ? t.reshape({t.numel(), 1}) : t;
                    }),
               1);
}

Tensor block_diag(std::span<const Tensor> tensors) {
    const Checker check("block_diag", {{"tensors", tensors}});
    if (tensors.empty()) return zeros({1, 0});
    const DType dtype = common_type(tensors);
    Shape shape = {0, 0};
    std::vector<NodeRef> blocks;
    for (const Tensor& tensor : tensors) {
        check.that(tensor.rank() <= 2, "a block has two axes at most");
        blocks.push_back(ir::cast(node_of(atleast_2d(tensor)), dtype));
        for (int d = 0; d < 2; ++d) shape[d] = checked_add(shape[d], blocks.back()->shape[d]);
    }
    check.sizes(shape);
    // Zeros beside each block, and these rows one below the other. They are stored first: read through both, the element of a
    // block would be asked for far outside of it, which processors are slow to refuse.
    std::vector<Tensor> rows;
    std::int64_t before = 0;
    for (const NodeRef& block : blocks) {
        const std::int64_t after = shape[1] - before - block->shape[1];
        rows.push_back(make_tensor(ir::contiguous(ir::pad(block, {0, before}, {0, after}))));
        before += block->shape[1];
    }
    return cat(rows, 0);
}

// ---- one shape for all -----------------------------------------------------------------------------------------------

Shape broadcast_shapes(std::span<const Shape> shapes) {
    const Checker check("broadcast_shapes", {});
    Shape common;
    for (const Shape& shape : shapes) {
        check.sizes(shape);
        common = check.broadcast(common, shape);
    }
    return common;
}

std::vector<Tensor> broadcast_tensors(std::span<const Tensor> tensors) {
    const Checker check("broadcast_tensors", {{"tensors", tensors}});
    Shape common;
    for (const Tensor& tensor : tensors) common = check.broadcast(common, tensor.shape());
    std::vector<Tensor> result;
    for (const Tensor& tensor : tensors) result.push_back(tensor.expand(common));
    return result;
}

std::vector<Tensor> meshgrid(std::span<const Tensor> tensors, Indexing indexing) {
    const Checker check("meshgrid", {{"tensors", tensors}});
    check.value(!tensors.empty(), "there must be one tensor at least");
    Shape grid;
    for (const Tensor& tensor : tensors) {
        check.that(tensor.rank() <= 1, "each tensor must have one axis at most");
        check.dtype(tensor.dtype() == tensors[0].dtype(), "all tensors must have one type");
        grid.push_back(tensor.numel());
    }
    check.sizes(grid);
    std::vector<Tensor> result;
    for (std::size_t d = 0; d < tensors.size(); ++d) {
        Shape line = Shape::filled(grid.size(), 1);
        line[d] = grid[d];
        const Tensor spread = tensors[d].reshape(line).expand(grid);
        result.push_back(indexing == Indexing::XY && grid.size() > 1 ? spread.transpose(0, 1) : spread);
    }
    return result;
}

Tensor cartesian_prod(std::span<const Tensor> tensors) {
    const Checker check("cartesian_prod", {{"tensors", tensors}});
    for (const Tensor& tensor : tensors) check.that(tensor.rank() == 1, "each tensor must have one axis");
    const std::vector<Tensor> grid = meshgrid(tensors);
    if (grid.size() == 1) return grid[0];
    std::vector<Tensor> columns;
    for (const Tensor& coordinate : grid) columns.push_back(coordinate.flatten());
    return stack(columns, 1);
}

Tensor combinations(const Tensor& x, std::int64_t count, bool with_replacement) {
    const Checker check("combinations", {{"x", x}, {"count", count}});
    check.that(x.rank() == 1, "x must have one axis");
    check.value(count >= 0, "the count must not be negative");
    if (count == 0) return zeros({0}, x.dtype());
    const std::int64_t size = x.numel(), least = with_replacement ? 0 : 1;
    double total = static_cast<double>(count);  // numbers in all rows: a binomial coefficient of them
    check.table(total);
    for (std::int64_t i = 0; i < count; ++i)
        total *= static_cast<double>(with_replacement ? size + i : size - i) / static_cast<double>(i + 1);
    check.table(2 * total);
    std::vector<std::int64_t> chosen(static_cast<std::size_t>(count)), all;
    std::int64_t rows = 0;
    // Counts up in the last place; what overflows goes back to just above (or to) its neighbour on the left.
    for (std::size_t i = 0; i < chosen.size(); ++i) chosen[i] = least * static_cast<std::int64_t>(i);
    while (chosen.back() < size) {
        all.insert(all.end(), chosen.begin(), chosen.end());
        ++rows;
        std::size_t place = chosen.size() - 1;
        const auto most = [&](std::size_t i) {
            return size - 1 - least * static_cast<std::int64_t>(chosen.size() - 1 - i);
        };
        while (place > 0 && chosen[place] >= most(place)) --place;
        ++chosen[place];
        for (std::size_t i = place + 1; i < chosen.size(); ++i) chosen[i] = chosen[i - 1] + least;
    }
    if (rows == 0) return make_tensor(ir::expand(nodes::add_axis(ir::shrink(node_of(x), {0}, {0}), 1), {0, count}));
    return take(x, from_data(all, {rows, count}));
}

// Every axis of the result runs over a's axis, and inside over b's.
Tensor kron(const Tensor& a, const Tensor& b) {
    const Checker check("kron", {{"a", a}, {"b", b}});
    const std::size_t rank = static_cast<std::size_t>(std::max(a.rank(), b.rank()));
    Shape left = Shape::filled(rank - a.shape().size(), 1), right = Shape::filled(rank - b.shape().size(), 1), outer,
          inner, result;
    const Shape of_a = a.shape(), of_b = b.shape();
    left.append(of_a.begin(), of_a.end());
    right.append(of_b.begin(), of_b.end());
    for (std::size_t d = 0; d < rank; ++d) {
        outer.push_back(left[d]), outer.push_back(1);
        inner.push_back(1), inner.push_back(right[d]);
        result.push_back(checked_mul(left[d], right[d]));
    }
    check.sizes(result);
    return mul(a.reshape(outer), b.reshape(inner)).reshape(result);
}

}  // namespace weft
