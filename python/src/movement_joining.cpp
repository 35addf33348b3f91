// python/src/movement_joining.cpp: several tensors to one or to one shape, diagonals and triangles, and views by strides.
#include "arguments.h"
#include "topics.h"

#include <weft/ops.h>

namespace weft::python {

namespace {

template <Tensor (*join)(std::span<const Tensor>)>
void bind_join(nb::module_& m, const char* name, const char* doc) {
    function(m, name, "tensors", doc, [](const std::vector<Tensor>& tensors) { return join(tensors); });
}

// atleast_1d(x) gives a tensor, atleast_1d(x, y) and atleast_1d([x, y]) a tuple.
template <Tensor (*shaped)(const Tensor&)>
void bind_at_least(nb::module_& m, const char* name, const char* doc) {
    function(m, name, "*tensors", doc, [](const std::vector<Tensor>& tensors) -> nb::object {
        if (tensors.size() == 1) return nb::steal(to_python(shaped(tensors[0])));
        std::vector<Tensor> result;
        for (const Tensor& tensor : tensors) result.push_back(shaped(tensor));
        return nb::steal(to_python(result));
    });
}

void bind_joins(nb::module_& m) {
    bind_join<hstack>(m, "hstack", "Tensors beside each other: along axis 1, vectors along 0.");
    bind_join<vstack>(m, "vstack", "Tensors below each other: along axis 0; vectors are rows.");
    bind_join<vstack>(m, "row_stack", "Tensors below each other: along axis 0; vectors are rows.");
    bind_join<dstack>(m, "dstack", "Tensors behind each other: along axis 2.");
    bind_join<column_stack>(m, "column_stack", "Tensors beside each other; vectors are columns.");
    function(m, "block_diag", "*tensors=()", "Matrices along the diagonal, zeros elsewhere.",
             [](const std::vector<Tensor>& tensors) { return block_diag(tensors); });
    bind_at_least<atleast_1d>(m, "atleast_1d", "With one axis at least.");
    bind_at_least<atleast_2d>(m, "atleast_2d", "With two axes at least: a vector is a row.");
    bind_at_least<atleast_3d>(m, "atleast_3d",
                              "With three axes at least: [n] becomes [1, n, 1], [m, n] becomes [m, n, 1].");
    function(m, "broadcast_tensors", "*tensors=()", "The tensors, broadcast to one shape.",
             [](const std::vector<Tensor>& tensors) { return broadcast_tensors(tensors); });
    function(m, "_broadcast_shapes", "shapes", "The shape that all shapes broadcast to.", [](nb::handle shapes) {
        std::vector<Shape> all;
        for (const nb::handle shape : nb::borrow<nb::tuple>(nb::steal(PySequence_Tuple(shapes.ptr()))))
            all.push_back(to_dims(shape.ptr(), {"broadcast_shapes", "shapes"}));
        return shape_object(broadcast_shapes(all));
    });
    function(m, "meshgrid", "*tensors, indexing='ij'", "The coordinates of the grid that vectors span, a tensor each.",
             [](const std::vector<Tensor>& tensors, std::string_view indexing) {
                 if (indexing != "ij" && indexing != "xy")
                     throw ValueError("meshgrid(): argument 'indexing' must be 'ij' or 'xy', not '" +
                                      std::string(indexing) + "'");
                 return meshgrid(tensors, indexing == "ij" ? Indexing::IJ : Indexing::XY);
             });
    function(m, "cartesian_prod", "*tensors", "The points of the grid that vectors span, as rows.",
             [](const std::vector<Tensor>& tensors) { return cartesian_prod(tensors); });
    function(m, "combinations", "input, r=2, with_replacement=False", "All choices of r elements of a vector, as rows.",
             [](const Tensor& x, std::int64_t count, bool repeated) { return combinations(x, count, repeated); });
}

void bind_diagonals(nb::module_& m, nb::handle t) {
    both(m, t, "diagonal", "offset=0, dim1=0, dim2=1", "A view of the diagonal of two axes, as the last axis.",
         [](const Tensor& x, std::int64_t offset, int a, int b) { return diagonal(x, offset, a, b); });
    both(m, t, "diag", "diagonal=0", "Of a vector a matrix, of a matrix its diagonal.",
         [](const Tensor& x, std::int64_t offset) { return diag(x, offset); });
    both(m, t, "diagflat", "offset=0", "A matrix with all elements on its diagonal.",
         [](const Tensor& x, std::int64_t offset) { return diagflat(x, offset); });
    both(m, t, "diag_embed", "offset=0, dim1=-2, dim2=-1", "Zeros with the last axis on a diagonal of two new ones.",
         [](const Tensor& x, std::int64_t offset, int a, int b) { return diag_embed(x, offset, a, b); });
    function(m, "tril_indices", "row, col, offset=0, *, dtype=None, device=None",
             "Where the lower triangle is: rows and columns.",
             [](std::int64_t rows, std::int64_t columns, std::int64_t offset, std::optional<DType> dtype, OnDevice) {
                 return tril_indices(rows, columns, offset, dtype.value_or(i64));
             });
    function(m, "triu_indices", "row, col, offset=0, *, dtype=None, device=None",
             "Where the upper triangle is: rows and columns.",
             [](std::int64_t rows, std::int64_t columns, std::int64_t offset, std::optional<DType> dtype, OnDevice) {
                 return triu_indices(rows, columns, offset, dtype.value_or(i64));
             });
    both(m, t, "kron", "other", "Every element times all of the other tensor.",
         [](const Tensor& a, const Tensor& b) { return kron(a, b); });
    method(t, "fill_diagonal_", "fill_value, wrap=False", "Writes a number on the main diagonal.",
           [](nb::handle self, Scalar value, bool wrap) {
               const Tensor& x = tensor_in(self.ptr());
               const Shape shape = x.shape();
               if (shape.size() < 2)
                   throw ShapeError("fill_diagonal_(): the tensor must have two axes at least, not the shape " +
                                    to_string(shape));
               for (const std::int64_t size : shape)
                   if (shape.size() > 2 && size != shape[0])
                       throw ShapeError("fill_diagonal_(): all sizes must be equal, not " + to_string(shape));
               // In row-major order the diagonal's elements are Σ strides apart; a tall matrix has it once, or again below.
               std::int64_t step = 0, least = shape[0];
               for (const std::int64_t stride : row_major_strides(shape)) step += stride;
               for (const std::int64_t size : shape) least = std::min(least, size);
               const std::int64_t end = wrap && shape.size() == 2 ? x.numel() : least == 0 ? 0 : (least - 1) * step + 1;
               x.flatten().slice(0, {0, end, std::max<std::int64_t>(1, step)}).fill_(value);
               return nb::borrow(self);
           });
}

void bind_strided(nb::module_& m, nb::handle t) {
    method(t, "unfold", "dimension, size, step",
           "Windows along an axis as a view; what a window sees is the last axis.",
           [](const Tensor& x, int axis, std::int64_t size, std::int64_t step) { return unfold(x, axis, size, step); });
    both(m, t, "as_strided", "size, stride, storage_offset=None",
         "The elements at offset + Σ index · stride in row-major order, as a view.",
         [](const Tensor& x, const Dims& size, const Dims& strides, std::optional<std::int64_t> offset) {
             return as_strided(x, size, strides, offset.value_or(0));
         });
    method(t, "sum_to_size", "*size", "Summed over the axes along which this size would be stretched.",
           [](const Tensor& x, const Dims& size) {
               const Shape own = x.shape();
               const std::size_t more = own.size() - std::min(own.size(), size.size());
               Dims axes;
               bool fits = size.size() <= own.size();
               for (std::size_t d = 0; fits && d < own.size(); ++d) {
                   if (d >= more) fits = size[d - more] == own[d] || size[d - more] == 1;
                   if (d < more || size[d - more] != own[d]) axes.push_back(static_cast<std::int64_t>(d));
               }
               if (!fits)
                   throw ShapeError("sum_to_size(): the shape " + to_string(own) + " cannot be summed to " +
                                    to_string(size));
               return axes.empty() ? x : sum(x, axes, true).reshape(size);
           });
}

}  // namespace

void bind_movement_joining(nb::module_& m, nb::handle tensor) {
    bind_joins(m);
    bind_diagonals(m, tensor);
    bind_strided(m, tensor);
}

}  // namespace weft::python
