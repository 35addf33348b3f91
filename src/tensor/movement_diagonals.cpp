// tensor/movement_diagonals.cpp: matrices from their diagonals, and where triangles are. The view diagonal() is in movement_views.cpp.
#include "core/checked.h"
#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

namespace weft {
namespace {

using ir::NodeRef;

// […, length] to […, n, n]: the element of column (row, for an offset below 0) i where the diagonal passes, else 0.
NodeRef embedded(const Checker& check, const NodeRef& x, std::int64_t offset) {
    const std::int64_t aside = offset < 0 ? checked_mul(offset, -1) : offset;
    const std::int64_t size = checked_add(x->shape.back(), aside);
    const int rank = x->rank() + 1;
    Shape whole = x->shape;
    whole.back() = size;
    whole.push_back(size);
    check.sizes(whole);
    Dims none = Dims::filled(x->shape.size(), 0), before = none, after = none;
    (offset < 0 ? before : after).back() = aside;  // so that element i stands at row i
    const NodeRef rows = nodes::add_axis(ir::pad(x, before, after), rank - 1);
    const NodeRef row = nodes::positions(size, rank - 2, rank), column = nodes::positions(size, rank - 1, rank);
    const NodeRef hit = ir::equal_to(row + nodes::number(row, offset), column);
    return ir::where(hit, ir::expand(rows, whole), nodes::number(x, 0));
}

Tensor triangle_indices(std::string_view name, std::int64_t rows, std::int64_t columns, std::int64_t offset,
                        const TensorOptions& options, bool lower) {
    const DType dtype = options.dtype_or(DType::I64);
    const Checker check(name, {{"rows", rows}, {"columns", columns}, {"offset", offset}});
    check.value(rows >= 0 && columns >= 0, "sizes must not be negative");
    check.dtype(dtype == DType::I64 || dtype == DType::I32, "indices are i32 or i64, not ", dtype);
    // The columns of a row: the lower triangle ends in column r + offset, the upper one begins there.
    const auto span = [&](std::int64_t r) {
        const std::int64_t edge = checked_add(r, offset);
        const std::int64_t first = lower ? 0 : std::clamp<std::int64_t>(edge, 0, columns);
        return std::pair(first, lower ? std::clamp<std::int64_t>(checked_add(edge, 1), 0, columns) : columns);
    };
    check.table(static_cast<double>(rows));
    double total = 0;
    for (std::int64_t r = 0; r < rows; ++r) total += static_cast<double>(span(r).second - span(r).first);
    check.table(4 * total);
    std::vector<std::int64_t> row, column;
    for (std::int64_t r = 0; r < rows; ++r)
        for (auto [c, end] = span(r); c < end; ++c) row.push_back(r), column.push_back(c);
    const auto count = static_cast<std::int64_t>(row.size());
    row.insert(row.end(), column.begin(), column.end());
    return from_data(row, {2, count}, {dtype, options.device});
}

}  // namespace

Tensor diag_embed(const Tensor& x, std::int64_t offset, int axis1, int axis2) {
    const Checker check("diag_embed", {{"x", x}, {"offset", offset}, {"axis1", axis1}, {"axis2", axis2}});
    check.that(x.rank() >= 1, "x must have one axis at least");
    const int rank = x.rank() + 1, row = check.axis(axis1, rank), column = check.axis(axis2, rank);
    check.value(row != column, "the two axes must differ");
    Dims order = Dims::filled(static_cast<std::size_t>(rank), -1);
    order[row] = rank - 2, order[column] = rank - 1;
    int next = 0;
    for (std::int64_t& place : order)
        if (place < 0) place = next++;
    return make_tensor(ir::permute(embedded(check, node_of(x), offset), order));
}

Tensor diag(const Tensor& x, std::int64_t offset) {
    const Checker check("diag", {{"x", x}, {"offset", offset}});
    check.that(x.rank() == 1 || x.rank() == 2, "x must be a vector or a matrix");
    return x.rank() == 1 ? diag_embed(x, offset) : clone(diagonal(x, offset));
}

Tensor diagflat(const Tensor& x, std::int64_t offset) {
    const Checker check("diagflat", {{"x", x}, {"offset", offset}});
    return diag_embed(x.flatten(), offset);
}

Tensor tril_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset, const TensorOptions& options) {
    return triangle_indices("tril_indices", rows, columns, offset, options, true);
}

Tensor triu_indices(std::int64_t rows, std::int64_t columns, std::int64_t offset, const TensorOptions& options) {
    return triangle_indices("triu_indices", rows, columns, offset, options, false);
}

}  // namespace weft
