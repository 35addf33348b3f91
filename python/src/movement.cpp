// python/src/movement.cpp: views and copies that move elements.
#include "arguments.h"
#include "topics.h"

#include <weft/ops.h>

#include <algorithm>
#include <functional>

namespace weft::python {

namespace {

void bind_views(nb::module_& m, nb::handle t) {
    function(m, "reshape", "input, shape", "The same elements in another shape; one size may be -1.",
             [](const Tensor& x, const Dims& shape) { return x.reshape(shape); });
    method(t, "reshape", "*shape", "The same elements in another shape; one size may be -1.",
           [](const Tensor& x, const Dims& shape) { return x.reshape(shape); });
    method(t, "view", "*shape", "The same elements in another shape.",
           [](const Tensor& x, const Dims& shape) { return x.reshape(shape); });
    method(t, "view_as", "other", "The same elements in the other tensor's shape.",
           [](const Tensor& x, const Tensor& other) { return x.reshape(other.shape()); });
    method(t, "reshape_as", "other", "The same elements in the other tensor's shape.",
           [](const Tensor& x, const Tensor& other) { return x.reshape(other.shape()); });
    function(m, "permute", "input, dims", "The axes in another order.",
             [](const Tensor& x, const Dims& axes) { return x.permute(axes); });
    method(t, "permute", "*dims", "The axes in another order.",
           [](const Tensor& x, const Dims& axes) { return x.permute(axes); });
    both(m, t, "transpose", "dim0, dim1", "Two axes exchanged.",
         [](const Tensor& x, int a, int b) { return x.transpose(a, b); });
    both(m, t, "swapaxes", "axis0, axis1", "Two axes exchanged.",
         [](const Tensor& x, int a, int b) { return x.transpose(a, b); });
    both(m, t, "t", "", "A matrix transposed.", [](const Tensor& x) {
        if (x.rank() > 2)
            throw ShapeError("t(): a matrix is needed, not a tensor of the shape " + to_string(x.shape()));
        return x.rank() < 2 ? x : x.t();
    });
    method(t, "expand", "*size", "Axes of size 1 repeated without a copy; -1 keeps a size.",
           [](const Tensor& x, const Dims& size) { return x.expand(size); });
    method(t, "expand_as", "other", "Expanded to the other tensor's shape.",
           [](const Tensor& x, const Tensor& other) { return x.expand(other.shape()); });
    both(m, t, "broadcast_to", "size", "Broadcast to a shape.",
         [](const Tensor& x, const Dims& size) { return broadcast_to(x, size); });
    both(m, t, "squeeze", "dim=None", "Without axes of size 1, or without this one.",
         [](const Tensor& x, std::optional<Dims> dims) {
             if (!dims) return x.squeeze();
             if (dims->size() == 1) return x.squeeze(static_cast<int>(dims->front()));
             Dims axes = *dims;  // from the last, so that the others keep their numbers
             for (std::int64_t& axis : axes) axis += axis < 0 ? x.rank() : 0;
             std::sort(axes.begin(), axes.end(), std::greater<>());
             Tensor result = x;
             for (const std::int64_t axis : axes) result = result.squeeze(static_cast<int>(axis));
             return result;
         });
    both(m, t, "unsqueeze", "dim", "With a new axis of size 1.",
         [](const Tensor& x, int dim) { return x.unsqueeze(dim); });
    both(m, t, "flatten", "start_dim=0, end_dim=-1", "With these axes joined to one.",
         [](const Tensor& x, int first, int last) { return x.flatten(first, last); });
    both(m, t, "ravel", "", "With all axes joined to one.", [](const Tensor& x) { return x.flatten(); });
    function(m, "flip", "input, dims", "Reversed along axes.",
             [](const Tensor& x, const Axes& axes) { return x.flip(axes); });
    method(t, "flip", "*dims", "Reversed along axes.", [](const Tensor& x, const Axes& axes) { return x.flip(axes); });
    both(
        m, t, "narrow", "dim, start, length", "A part along an axis.",
        [](const Tensor& x, int dim, std::int64_t start, std::int64_t length) { return x.narrow(dim, start, length); });
    both(m, t, "select", "dim, index", "One slice along an axis, without that axis.",
         [](const Tensor& x, int dim, std::int64_t index) {
             const std::int64_t size = x.size(dim), at = index < 0 ? index + size : index;
             if (at < 0 || at >= size)
                 throw IndexError("select(): index " + std::to_string(index) + " is out of range for an axis of size " +
                                  std::to_string(size));
             return x.narrow(dim, at, 1).squeeze(dim);
         });
    both(m, t, "movedim", "source, destination", "One axis moved to another place.",
         [](const Tensor& x, int from, int to) { return moveaxis(x, from, to); });
    both(m, t, "moveaxis", "source, destination", "One axis moved to another place.",
         [](const Tensor& x, int from, int to) { return moveaxis(x, from, to); });
}

void bind_pieces(nb::module_& m, nb::handle t) {
    both(m, t, "split", "split_size_or_sections, dim=0", "Pieces of this size, or of these sizes, along an axis.",
         [](const Tensor& x, nb::handle sizes, int dim) {
             const Dims dims = to_dims(sizes.ptr(), {"split", "split_size_or_sections"});
             return PyLong_Check(sizes.ptr()) ? split(x, dims.front(), dim) : split_with_sizes(x, dims, dim);
         });
    both(m, t, "chunk", "chunks, dim=0", "So many pieces along an axis.",
         [](const Tensor& x, std::int64_t pieces, int dim) { return chunk(x, pieces, dim); });
    both(m, t, "unbind", "dim=0", "All slices along an axis, without that axis.", [](const Tensor& x, int dim) {
        std::vector<Tensor> slices;
        const Tensor first = moveaxis(x, dim, 0);
        for (std::int64_t i = 0; i < first.size(0); ++i) slices.push_back(first[i]);
        return slices;
    });
    function(m, "cat", "tensors, dim=0", "Tensors one after the other along an axis.",
             [](const std::vector<Tensor>& tensors, int dim) { return cat(tensors, dim); });
    function(m, "concat", "tensors, dim=0", "Tensors one after the other along an axis.",
             [](const std::vector<Tensor>& tensors, int dim) { return cat(tensors, dim); });
    function(m, "stack", "tensors, dim=0", "Tensors one after the other along a new axis.",
             [](const std::vector<Tensor>& tensors, int dim) { return stack(tensors, dim); });
}

void bind_copies(nb::module_& m, nb::handle t) {
    function(m, "tile", "input, dims", "The tensor repeated.",
             [](const Tensor& x, const Dims& repeats) { return tile(x, repeats); });
    method(t, "tile", "*dims", "The tensor repeated.",
           [](const Tensor& x, const Dims& repeats) { return tile(x, repeats); });
    method(t, "repeat", "*repeats", "The tensor repeated, with a number for each axis.",
           [](const Tensor& x, const Dims& repeats) { return repeat(x, repeats); });
    both(m, t, "repeat_interleave", "repeats, dim=None", "Each element (or slice along an axis) repeated.",
         [](const Tensor& x, std::int64_t repeats, std::optional<int> dim) {
             return dim ? repeat_interleave(x, repeats, *dim) : repeat_interleave(x.flatten(), repeats, 0);
         });
    both(m, t, "roll", "shifts, dims=None", "Moved along axes; what leaves at the end comes in first.",
         [](const Tensor& x, const Dims& shifts, std::optional<Dims> dims) {
             return dims ? roll(x, shifts, *dims) : roll(x.flatten(), shifts, 0).reshape(x.shape());
         });
}

}  // namespace

void bind_movement(nb::module_& m, nb::handle tensor) {
    bind_views(m, tensor);
    bind_pieces(m, tensor);
    bind_copies(m, tensor);
}

}  // namespace weft::python
