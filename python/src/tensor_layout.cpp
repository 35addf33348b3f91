// python/src/tensor_layout.cpp: what users of torch.Tensor ask a tensor about its layout and type, shapes changed in place, and how tensors
// are printed.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/debug.h>
#include <weft/ops.h>

namespace weft::python {

namespace {

const char* type_text(DType dtype) {
    switch (dtype) {
        case DType::Bool: return "weft.BoolTensor";
        case DType::U8: return "weft.ByteTensor";
        case DType::U16: return "weft.UInt16Tensor";
        case DType::U32: return "weft.UInt32Tensor";
        case DType::U64: return "weft.UInt64Tensor";
        case DType::I8: return "weft.CharTensor";
        case DType::I16: return "weft.ShortTensor";
        case DType::I32: return "weft.IntTensor";
        case DType::I64: return "weft.LongTensor";
        case DType::F16: return "weft.HalfTensor";
        case DType::BF16: return "weft.BFloat16Tensor";
        case DType::F32: return "weft.FloatTensor";
        case DType::F64: return "weft.DoubleTensor";
    }
    throw InternalError("an unknown element type");
}

// A tensor named by "weft.FloatTensor", by a type of the package, or by a dtype.
DType type_in(nb::handle object) {
    if (PyUnicode_Check(object.ptr())) {
        const std::string given(to_text(object.ptr(), {"type", "dtype"}));
        std::string name = given;
        if (name.starts_with("torch.")) name.replace(0, 5, "weft");  // scripts write PyTorch's names as text
        for (int i = 0; i <= static_cast<int>(DType::F64); ++i)
            if (name == type_text(static_cast<DType>(i))) return static_cast<DType>(i);
        throw ValueError("type(): there is no type '" + given + "'; one is 'weft.FloatTensor'");
    }
    if (PyType_Check(object.ptr()) && nb::hasattr(object, "dtype") && is_dtype(object.attr("dtype").ptr()))
        return to_dtype(object.attr("dtype").ptr(), {"type", "dtype"});  // weft.FloatTensor
    return to_dtype(object.ptr(), {"type", "dtype"});
}

// Whether row-major values of this shape lie in the order that a memory format names, where sizes of 1 have no order.
bool lies_as(const Shape& shape, nb::handle format) {
    if (format.is_none()) return true;
    const nb::str text(format);
    const std::string name = nb::cast<std::string>(text);
    const std::size_t rank = name == "weft.channels_last" ? 4 : name == "weft.channels_last_3d" ? 5 : 0;
    if (type_name(format.ptr()) != "memory_format")
        wrong_type({"is_contiguous", "memory_format"}, "a memory format", format.ptr());
    if (rank == 0) return true;
    if (shape.size() != rank) return false;
    std::vector<std::size_t> order{1};  // the channels first, then the last axis, …, and the batch
    for (std::size_t d = rank - 1; d >= 2; --d) order.push_back(d);
    order.push_back(0);
    const Dims strides = row_major_strides(shape);
    std::int64_t wanted = 1;
    for (const std::size_t d : order) {
        if (shape[d] == 1) continue;
        if (strides[d] != wanted) return false;
        wanted *= shape[d];
    }
    return true;
}

void bind_questions(nb::module_& m, nb::handle t) {
    method(t, "stride", "dim=None", "The strides of the values in row-major order, in elements, or one of them.",
           [](const Tensor& x, std::optional<int> dim) -> nb::object {
               const Dims strides = row_major_strides(x.shape());
               if (dim) {
                   x.size(*dim);  // raises for an axis out of range
                   return nb::int_(strides[static_cast<std::size_t>(*dim < 0 ? *dim + x.rank() : *dim)]);
               }
               nb::list all;
               for (const std::int64_t stride : strides) all.append(stride);
               return nb::steal(PySequence_Tuple(all.ptr()));
           });
    method(t, "is_contiguous", "memory_format=None",
           "Whether the values lie in the order of a memory format; in row-major order always.",
           [](const Tensor& x, nb::handle format) { return lies_as(x.shape(), format); });
    method(t, "storage_offset", "", "0: order in memory is Weft's business.",
           [](const Tensor&) { return std::int64_t{0}; });
    method(t, "type", "dtype=None", "The name of the tensor's type, or the values in another one.",
           [](const Tensor& x, nb::handle dtype) -> nb::object {
               if (dtype.is_none()) return nb::str(type_text(x.dtype()));
               const DType wanted = type_in(dtype);
               return nb::steal(to_python(wanted == x.dtype() ? x : x.to(wanted)));
           });
    both(m, t, "is_signed", "", "Whether the elements can be negative.",
         [](const Tensor& x) { return !is_bool(x.dtype()) && !is_unsigned(x.dtype()); });
    both(m, t, "is_complex", "", "False: there are no complex types.", [](const Tensor&) { return false; });
    both(m, t, "is_same_size", "other", "Whether another tensor has the same shape.",
         [](const Tensor& x, const Tensor& other) { return x.shape() == other.shape(); });
    both(m, t, "is_nonzero", "", "Whether the only element is not 0. Runs the graph.", [](const Tensor& x) {
        if (x.numel() != 1)
            throw ValueError("is_nonzero(): a tensor of the shape " + to_string(x.shape()) + " has " +
                             std::to_string(x.numel()) + " elements; exactly one is needed");
        return without_gil([&] { return ne(x.detach(), 0).item<bool>(); });
    });
    method(t, "ndimension", "", "The number of axes.", [](const Tensor& x) { return std::int64_t{x.rank()}; });
    method(t, "get_device", "", "The number of its device; -1: the CPU.",
           [](const Tensor& x) { return x.device() == cpu ? std::int64_t{-1} : std::int64_t{x.device().index()}; });
    both(m, t, "narrow_copy", "dim, start, length", "A copy of a part along an axis.",
         [](const Tensor& x, int dim, std::int64_t start, std::int64_t length) {
             return x.narrow(dim, start, length).clone();
         });
    function(m, "unravel_index", "indices, shape",
             "Positions in a flattened tensor of this shape as one index for each axis.",
             [](const Tensor& indices, const Dims& shape) {
                 std::vector<Tensor> result;
                 Tensor quotient = indices;
                 if (!is_int(indices.dtype()))
                     throw DTypeError("unravel_index(): indices must be integers, not " +
                                      std::string(name_of(indices.dtype())));
                 for (std::size_t d = shape.size(); d-- > 0;) {
                     if (shape[d] < 0)
                         throw ValueError("unravel_index(): the sizes " + to_string(shape) + " must not be negative");
                     result.insert(result.begin(), remainder(quotient, shape[d]));
                     quotient = floor_divide(quotient, shape[d]);
                 }
                 return result;
             });
}

// Shapes changed in place: the object becomes a view of what it was, which others may still hold.
Tensor& changeable(nb::handle self, const char* name) {
    Tensor& x = *nb::inst_ptr<Tensor>(self);
    if (x.is_leaf() && x.requires_grad() && grad_enabled())
        throw GradError(std::string(name) +
                        "(): a leaf that requires a gradient cannot change its shape; use the function without _");
    return x;
}

// The first elements in row-major order, with zeros after them where there are not enough.
Tensor resized(const Tensor& x, const Shape& shape) {
    const std::int64_t count = x.numel();
    std::int64_t wanted = 1;
    for (const std::int64_t size : shape) {
        if (size < 0) throw ValueError("resize_(): the sizes " + to_string(shape) + " must not be negative");
        wanted *= size;
    }
    const Tensor flat = x.reshape({count});
    if (wanted <= count) return flat.narrow(0, 0, wanted).reshape(shape);
    const Tensor parts[] = {flat, zeros({wanted - count}, x.dtype())};
    return cat(parts, 0).reshape(shape);
}

Tensor& resizable(nb::handle self, const char* name) {
    Tensor& x = *nb::inst_ptr<Tensor>(self);
    if (x.requires_grad())
        throw GradError(std::string(name) + "(): a tensor that requires a gradient cannot be resized; use reshape()");
    return x;
}

void bind_sizes(nb::handle t) {
    method(t, "resize_", "*sizes", "Another shape, in place: the first elements, and zeros after them.",
           [](nb::handle self, const Dims& sizes) {
               Tensor& x = resizable(self, "resize_");
               x = resized(x, sizes);
               return nb::borrow(self);
           });
    method(t, "resize_as_", "the_template", "The shape of another tensor, in place: see resize_().",
           [](nb::handle self, const Tensor& other) {
               Tensor& x = resizable(self, "resize_as_");
               x = resized(x, other.shape());
               return nb::borrow(self);
           });
    method(t, "set_", "source=None", "Becomes another tensor, in place, and shares its values; without one: empty.",
           [](nb::handle self, const MaybeTensor& source) {
               Tensor& x = changeable(self, "set_");
               if (!source.tensor.defined()) {
                   x = zeros({0}, x.dtype());
                   return nb::borrow(self);
               }
               if (source.tensor.dtype() != x.dtype())
                   throw DTypeError("set_(): the source is " + std::string(name_of(source.tensor.dtype())) +
                                    ", but the tensor is " + std::string(name_of(x.dtype())));
               x = source.tensor;
               return nb::borrow(self);
           });
}

void bind_changes(nb::handle t) {
    method(t, "unsqueeze_", "dim", "With a new axis of size 1, in place.", [](nb::handle self, int dim) {
        Tensor& x = changeable(self, "unsqueeze_");
        x = x.unsqueeze(dim);
        return nb::borrow(self);
    });
    method(t, "squeeze_", "dim=None", "Without axes of size 1, in place.",
           [](nb::handle self, const std::optional<Dims>& dims) {
               Tensor& x = changeable(self, "squeeze_");
               x = dims ? squeeze(x, *dims) : x.squeeze();
               return nb::borrow(self);
           });
    method(t, "transpose_", "dim0, dim1", "Two axes exchanged, in place.", [](nb::handle self, int a, int b) {
        Tensor& x = changeable(self, "transpose_");
        x = x.transpose(a, b);
        return nb::borrow(self);
    });
    method(t, "swapaxes_", "axis0, axis1", "Two axes exchanged, in place.", [](nb::handle self, int a, int b) {
        Tensor& x = changeable(self, "swapaxes_");
        x = x.transpose(a, b);
        return nb::borrow(self);
    });
    method(t, "swapdims_", "dim0, dim1", "Two axes exchanged, in place.", [](nb::handle self, int a, int b) {
        Tensor& x = changeable(self, "swapdims_");
        x = x.transpose(a, b);
        return nb::borrow(self);
    });
    method(t, "t_", "", "A matrix transposed, in place.", [](nb::handle self) {
        Tensor& x = changeable(self, "t_");
        if (x.rank() > 2)
            throw ShapeError("t_(): a matrix is needed, not a tensor of the shape " + to_string(x.shape()));
        if (x.rank() == 2) x = x.t();
        return nb::borrow(self);
    });
    method(t, "detach_", "", "Gives no gradient from now on, in place.", [](nb::handle self) {
        Tensor& x = *nb::inst_ptr<Tensor>(self);
        x = x.detach();
        return nb::borrow(self);
    });
}

void bind_printing(nb::module_& m) {
    function(
        m, "set_printoptions",
        "precision=None, threshold=None, edgeitems=None, linewidth=None, profile=None, sci_mode=None",
        "How tensors are printed: digits, from how many elements on only the edges, how many of them, the width of a "
        "line, "
        "'default', 'short' or 'full', and whether floats have an exponent.",
        [](std::optional<std::int64_t> precision, nb::handle threshold, std::optional<std::int64_t> edge,
           std::optional<std::int64_t> width, std::optional<std::string_view> profile, std::optional<bool> exponent) {
            PrintOptions options = print_options();
            if (profile) {
                if (*profile != "default" && *profile != "short" && *profile != "full")
                    throw ValueError(
                        "set_printoptions(): argument 'profile' must be 'default', 'short' or 'full', not '" +
                        std::string(*profile) + "'");
                options = {};
                if (*profile == "short") options = {.precision = 2, .edge_items = 2};
                if (*profile == "full") options.threshold = std::numeric_limits<std::int64_t>::max();
            }
            if (precision) options.precision = static_cast<int>(*precision);
            if (edge) options.edge_items = *edge;
            if (width) options.line_width = *width;
            if (!threshold.is_none()) {  // may be math.inf
                const double most = to_double(threshold.ptr(), {"set_printoptions", "threshold"});
                options.threshold =
                    most < 0x1p62 ? static_cast<std::int64_t>(most) : std::numeric_limits<std::int64_t>::max();
            }
            options.scientific = exponent;
            set_print_options(options);
        });
}

}  // namespace

void bind_tensor_layout(nb::module_& m, nb::handle tensor) {
    bind_questions(m, tensor);
    bind_changes(tensor);
    bind_sizes(tensor);
    bind_printing(m);
}

}  // namespace weft::python
