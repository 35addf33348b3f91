// python/src/movement.cpp: views and copies that move elements.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/ops.h>

namespace weft::python {

namespace {

// What view() takes: sizes, or an element type.
struct ShapeOrType {
    Dims shape;
    std::optional<DType> dtype;
};

}  // namespace

template <>
struct Converter<ShapeOrType> {
    Converter(PyObject* object, const Site& site) {
        if (PyTuple_Check(object) && PyTuple_Size(object) == 1 && is_dtype(PyTuple_GetItem(object, 0)))
            value.dtype = to_dtype(PyTuple_GetItem(object, 0), site);
        else value.shape = to_dims(object, site);
    }
    const ShapeOrType& get() const { return value; }
    ShapeOrType value;
};
template <>
struct TypeName<ShapeOrType> {
    static constexpr char value[] = "int | Sequence[int] | dtype";
};

namespace {

const auto flipped = [](const Tensor& x, const std::optional<Dims>& dims) {
    if (!dims) return x.rank() == 0 ? x.flip({}) : x.flip(Axes());
    return dims->empty() ? x.reshape(x.shape()) : x.flip(*dims);
};

void bind_views(nb::module_& m, nb::handle t) {
    function(m, "reshape", "input, shape", "The same elements in another shape; one size may be -1.",
             [](const Tensor& x, const Dims& shape) { return x.reshape(shape); });
    method(t, "reshape", "*shape", "The same elements in another shape; one size may be -1.",
           [](const Tensor& x, const Dims& shape) { return x.reshape(shape); });
    method(t, "view", "*shape",
           "The same elements in another shape; view(dtype): their bits as another type of that size.",
           [](const Tensor& x, const ShapeOrType& as) { return as.dtype ? bit_view(x, *as.dtype) : x.view(as.shape); });
    method(t, "view_as", "other", "The same elements in the other tensor's shape.",
           [](const Tensor& x, const Tensor& other) { return x.view(other.shape()); });
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
    both(m, t, "swapdims", "dim0, dim1", "Two axes exchanged.",
         [](const Tensor& x, int a, int b) { return x.transpose(a, b); });
    both(m, t, "unflatten", "dim, sizes", "One axis split into several; one size may be -1.",
         [](const Tensor& x, int dim, const Dims& sizes) { return unflatten(x, dim, sizes); });
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
    both(m, t, "squeeze", "dim=None", "Without axes of size 1, or without these, where their size is 1.",
         [](const Tensor& x, std::optional<Dims> dims) { return dims ? squeeze(x, *dims) : x.squeeze(); });
    both(m, t, "unsqueeze", "dim", "With a new axis of size 1.",
         [](const Tensor& x, int dim) { return x.unsqueeze(dim); });
    both(m, t, "flatten", "start_dim=0, end_dim=-1", "With these axes joined to one.",
         [](const Tensor& x, int first, int last) { return x.flatten(first, last); });
    both(m, t, "ravel", "", "With all axes joined to one.", [](const Tensor& x) { return x.flatten(); });
    function(m, "flip", "input, dims=None", "Reversed along axes; None: along all of them.", flipped);
    method(t, "flip", "*dims", "Reversed along axes.", flipped);
    both(m, t, "fliplr", "", "Reversed along axis 1.", [](const Tensor& x) { return fliplr(x); });
    both(m, t, "flipud", "", "Reversed along axis 0.", [](const Tensor& x) { return flipud(x); });
    both(m, t, "rot90", "k=1, dims=None", "Turned k times by 90°, from the first of two axes to the second (0 and 1).",
         [](const Tensor& x, std::int64_t k, const std::optional<Dims>& dims) {
             return rot90(x, k, dims.value_or(Dims{0, 1}));
         });
    both(
        m, t, "narrow", "dim, start, length", "A part along an axis.",
        [](const Tensor& x, int dim, std::int64_t start, std::int64_t length) { return x.narrow(dim, start, length); });
    both(m, t, "select", "dim, index", "One slice along an axis, without that axis.",
         [](const Tensor& x, int dim, std::int64_t index) { return select(x, dim, index); });
    both(m, t, "movedim", "source, destination", "Axes moved to other places; the others keep their order.",
         [](const Tensor& x, const Dims& from, const Dims& to) { return moveaxis(x, from, to); });
    both(m, t, "moveaxis", "source, destination", "Axes moved to other places; the others keep their order.",
         [](const Tensor& x, const Dims& from, const Dims& to) { return moveaxis(x, from, to); });
}

// Sections as a number, as indices, or as a tensor of either.
std::vector<Tensor> split_by(const Tensor& x, nb::handle sections, int dim, const Site& site) {
    nb::object given = nb::borrow(sections);
    if (is_tensor(sections.ptr())) {
        const Tensor& numbers = tensor_in(sections.ptr());
        if (numbers.rank() > 1 || !is_int(numbers.dtype()))
            wrong_type(site, "an int, a tuple of ints, or a tensor of integers with one axis at most", sections.ptr());
        given = nb::borrow(sections).attr("tolist")();
    }
    const Dims dims = to_dims(given.ptr(), site);
    return PyLong_Check(given.ptr()) ? tensor_split(x, dims.front(), dim) : tensor_split_at(x, dims, dim);
}

// hsplit, vsplit and dsplit: a number must divide the axis.
template <int axis>
std::vector<Tensor> split_evenly(const char* name, const Tensor& x, nb::handle sections) {
    const int dim = axis == 1 && x.rank() == 1 ? 0 : axis, least = axis == 1 ? 1 : axis + (axis == 0 ? 2 : 1);
    if (x.rank() < least)
        throw ShapeError(std::string(name) + "(): the tensor of the shape " + to_string(x.shape()) + " must have " +
                         std::to_string(least) + " axes at least");
    if (PyLong_Check(sections.ptr())) {
        const std::int64_t count = to_int(sections.ptr(), {name, "sections"});
        if (count <= 0 || x.size(dim) % count != 0)
            throw ShapeError(std::string(name) + "(): axis " + std::to_string(dim) + " of the shape " +
                             to_string(x.shape()) + " cannot be divided into " + std::to_string(count) +
                             " equal parts");
    }
    return split_by(x, sections, dim, {name, "sections"});
}

void bind_pieces(nb::module_& m, nb::handle t) {
    both(m, t, "split", "split_size_or_sections, dim=0", "Pieces of this size, or of these sizes, along an axis.",
         [](const Tensor& x, nb::handle sizes, int dim) {
             const Dims dims = to_dims(sizes.ptr(), {"split", "split_size_or_sections"});
             return PyLong_Check(sizes.ptr()) ? split(x, dims.front(), dim) : split_with_sizes(x, dims, dim);
         });
    both(m, t, "chunk", "chunks, dim=0", "So many pieces along an axis.",
         [](const Tensor& x, std::int64_t pieces, int dim) { return chunk(x, pieces, dim); });
    both(m, t, "split_with_sizes", "split_sizes, dim=0", "Pieces of these sizes along an axis.",
         [](const Tensor& x, const Dims& sizes, int dim) { return split_with_sizes(x, sizes, dim); });
    both(m, t, "tensor_split", "indices_or_sections, dim=0",
         "So many pieces of nearly one size, or the pieces between these indices.",
         [](const Tensor& x, nb::handle sections, int dim) {
             return split_by(x, sections, dim, {"tensor_split", "indices_or_sections"});
         });
    both(m, t, "hsplit", "sections", "Equal parts, or the parts between indices, along axis 1 (of a vector: 0).",
         [](const Tensor& x, nb::handle sections) { return split_evenly<1>("hsplit", x, sections); });
    both(m, t, "vsplit", "sections", "Equal parts, or the parts between indices, along axis 0.",
         [](const Tensor& x, nb::handle sections) { return split_evenly<0>("vsplit", x, sections); });
    both(m, t, "dsplit", "sections", "Equal parts, or the parts between indices, along axis 2.",
         [](const Tensor& x, nb::handle sections) { return split_evenly<2>("dsplit", x, sections); });
    both(m, t, "unbind", "dim=0", "All slices along an axis, without that axis.",
         [](const Tensor& x, int dim) { return unbind(x, dim); });
    function(m, "unstack", "input, dim=0", "All slices along an axis, without that axis.",
             [](const Tensor& x, int dim) { return unbind(x, dim); });
    function(m, "cat", "tensors, dim=0", "Tensors one after the other along an axis.",
             [](const std::vector<Tensor>& tensors, int dim) { return cat(tensors, dim); });
    function(m, "concat", "tensors, dim=0", "Tensors one after the other along an axis.",
             [](const std::vector<Tensor>& tensors, int dim) { return cat(tensors, dim); });
    function(m, "stack", "tensors, dim=0", "Tensors one after the other along a new axis.",
             [](const std::vector<Tensor>& tensors, int dim) { return stack(tensors, dim); });
}

Tensor repeated(const Tensor& x, nb::handle repeats, int axis) {
    if (PyLong_Check(repeats.ptr()))
        return repeat_interleave(x, to_int(repeats.ptr(), {"repeat_interleave", "repeats"}), axis);
    if (is_tensor(repeats.ptr())) {
        const Tensor& counts = tensor_in(repeats.ptr());
        return without_gil([&] { return repeat_interleave(x, counts, axis); });
    }
    const Tensor counts = tensor_from(repeats.ptr(), i64, {"repeat_interleave", "repeats"});
    return repeat_interleave(x, counts, axis);
}

Tensor checked_length(const Tensor& x, int axis, std::optional<std::int64_t> length) {
    if (length && *length != x.size(axis))
        throw ShapeError("repeat_interleave(): output_size is " + std::to_string(*length) + ", but the result has " +
                         std::to_string(x.size(axis)));
    return x;
}

void bind_copies(nb::module_& m, nb::handle t) {
    function(m, "tile", "input, dims", "The tensor repeated.",
             [](const Tensor& x, const Dims& repeats) { return tile(x, repeats); });
    method(t, "tile", "*dims", "The tensor repeated.",
           [](const Tensor& x, const Dims& repeats) { return tile(x, repeats); });
    method(t, "repeat", "*repeats", "The tensor repeated, with a number for each axis.",
           [](const Tensor& x, const Dims& repeats) { return repeat(x, repeats); });
    both(m, t, "repeat_interleave", "repeats=None, dim=None, *, output_size=None",
         "Each element (or slice along an axis) repeated: so many times, or as a tensor says. Of a tensor of counts "
         "alone: the indices.",
         [](const Tensor& x, nb::handle repeats, std::optional<int> dim, std::optional<std::int64_t> size) {
             if (repeats.is_none()) return checked_length(repeat_interleave(arange(x.numel()), x, 0), 0, size);
             const int axis = dim.value_or(0);
             return checked_length(repeated(dim ? x : x.flatten(), repeats, axis), axis, size);
         });
    both(m, t, "roll", "shifts, dims=None", "Moved along axes; what leaves at the end comes in first.",
         [](const Tensor& x, const Dims& shifts, std::optional<Dims> dims) {
             return dims ? roll(x, shifts, *dims) : roll(x.flatten(), shifts, 0).reshape(x.shape());
         });
}

void bind_padding(nb::module_& f) {
    function(f, "pad", "input, pad, mode='constant', value=None",
             "Elements around the tensor; pairs (before, after), the last axis first.",
             [](const Tensor& x, const Dims& widths, std::string_view mode, std::optional<Scalar> value) {
                 if (mode == "reflect") return pad(x, widths, PadMode::Reflect);
                 if (mode == "replicate") return pad(x, widths, PadMode::Replicate);
                 if (mode == "circular") return pad(x, widths, PadMode::Circular);
                 if (mode != "constant")
                     throw ValueError(
                         "pad(): argument 'mode' must be 'constant', 'reflect', 'replicate' or 'circular', not '" +
                         std::string(mode) + "'");
                 return pad(x, widths, value.value_or(0));
             });
}

}  // namespace

void bind_movement(nb::module_& m, nb::module_& f, nb::handle tensor) {
    bind_views(m, tensor);
    bind_pieces(m, tensor);
    bind_copies(m, tensor);
    bind_padding(f);
}

}  // namespace weft::python
