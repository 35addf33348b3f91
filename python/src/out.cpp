// python/src/out.cpp: `out`, the tensor that a function writes its result into: which functions take it, and the writing.
#include "arguments.h"
#include "topics.h"

#include <algorithm>

namespace weft::python {

namespace {

// Functions of PyTorch's that compute a new value and have no `out`, and what is no function of tensors. All others of weft and
// weft.linalg have it; those of weft.nn.functional have not.
constexpr std::string_view kWithout[] = {"allclose",
                                         "argwhere",
                                         "as_strided",
                                         "as_tensor",
                                         "atleast_1d",
                                         "atleast_2d",
                                         "atleast_3d",
                                         "bincount",
                                         "block_diag",
                                         "broadcast_tensors",
                                         "broadcast_to",
                                         "cartesian_prod",
                                         "cbrt",
                                         "cdist",
                                         "celu",
                                         "chain_matmul",
                                         "channel_shuffle",
                                         "chunk",
                                         "clone",
                                         "combinations",
                                         "corrcoef",
                                         "cov",
                                         "count_nonzero",
                                         "counters",
                                         "cumulative_trapezoid",
                                         "detach",
                                         "diag_embed",
                                         "diagflat",
                                         "diagonal",
                                         "diagonal_scatter",
                                         "dist",
                                         "dsplit",
                                         "einsum",
                                         "equal",
                                         "explain",
                                         "fill",
                                         "flatten",
                                         "flip",
                                         "fliplr",
                                         "flipud",
                                         "from_dlpack",
                                         "from_numpy",
                                         "get_default_dtype",
                                         "get_num_threads",
                                         "get_rng_state",
                                         "hsplit",
                                         "index_fill",
                                         "index_put",
                                         "initial_seed",
                                         "is_complex",
                                         "is_grad_enabled",
                                         "is_nonzero",
                                         "is_same_size",
                                         "is_signed",
                                         "isclose",
                                         "isfinite",
                                         "isinf",
                                         "isnan",
                                         "isreal",
                                         "logdet",
                                         "manual_seed",
                                         "masked_fill",
                                         "masked_scatter",
                                         "matrix_exp",
                                         "matrix_transpose",
                                         "meshgrid",
                                         "moveaxis",
                                         "movedim",
                                         "nanmax",
                                         "nanmin",
                                         "narrow",
                                         "permute",
                                         "pinverse",
                                         "pixel_shuffle",
                                         "pixel_unshuffle",
                                         "poisson",
                                         "positive",
                                         "prelu",
                                         "promote_types",
                                         "put",
                                         "ravel",
                                         "realize",
                                         "relu",
                                         "repeat_interleave",
                                         "reshape",
                                         "roll",
                                         "rsub",
                                         "rot90",
                                         "rrelu",
                                         "select",
                                         "select_scatter",
                                         "selu",
                                         "set_debug_level",
                                         "set_default_dtype",
                                         "set_memory_limit",
                                         "set_num_threads",
                                         "set_printoptions",
                                         "set_rng_state",
                                         "split",
                                         "split_with_sizes",
                                         "squeeze",
                                         "swapaxes",
                                         "swapdims",
                                         "t",
                                         "tensor",
                                         "tensor_split",
                                         "tile",
                                         "trace",
                                         "transpose",
                                         "trapezoid",
                                         "trapz",
                                         "trim_memory",
                                         "truncated_normal",
                                         "unbind",
                                         "unflatten",
                                         "unique",
                                         "unique_consecutive",
                                         "unravel_index",
                                         "unsqueeze",
                                         "unstack",
                                         "vander",
                                         "vsplit"};

int kind_of(DType type) { return is_float(type) ? 2 : is_int(type) ? 1 : 0; }

// One result into one tensor. A tensor of another shape gets the result's, as PyTorch resizes it.
void write(const std::string& name, PyObject* result, PyObject* out, bool convert) {
    if (!is_tensor(out)) wrong_type({name.c_str(), "out"}, "a Tensor", out);
    const Tensor& value = tensor_in(result);
    Tensor& place = *nb::inst_ptr<Tensor>(nb::handle(out));
    if (grad_enabled() && (value.requires_grad() || place.requires_grad()))
        throw GradError(name +
                        "(): what requires a gradient cannot be written into 'out'; leave out= away, or use no_grad()");
    const auto text = [](DType type) { return std::string(name_of(type)); };
    if (!convert && kind_of(value.dtype()) > kind_of(place.dtype()))
        throw DTypeError(name + "(): the result is " + text(value.dtype()) +
                         ", which cannot be stored in an 'out' of " + text(place.dtype()));
    if (place.device() != value.device())
        throw ValueError(name + "(): the result is on " + value.device().name() + " and 'out' on " +
                         place.device().name() + "; give an 'out' that is there");
    if (place.shape() == value.shape()) {
        place.assign(value);
        return;
    }
    if (place.numel() > 0) {
        const std::string message = name + "(): 'out' has the shape " + to_string(place.shape()) +
                                    " and gets the result's, " + to_string(value.shape()) +
                                    "; give a tensor of that shape, or weft.empty(0)";
        if (PyErr_WarnEx(PyExc_UserWarning, message.c_str(), 1) < 0) throw nb::python_error();
    }
    place = value.dtype() == place.dtype() ? value.clone() : value.to(place.dtype());
}

}  // namespace

namespace {

// The result (a new reference) as `out` has it: a tensor, or a tuple of them.
PyObject* written_into(const std::string& name, PyObject* object, PyObject* out, bool convert) {
    const nb::object result = nb::steal(object);
    if (is_tensor(object)) {
        write(name, object, out, convert);
        return nb::borrow(out).release().ptr();
    }
    if (!PyTuple_Check(object)) raise(PyExc_TypeError, name + "() has no argument named 'out'");
    if (!PyTuple_Check(out) && !PyList_Check(out)) wrong_type({name.c_str(), "out"}, "a tuple of tensors", out);
    const nb::object places = nb::steal(PySequence_Tuple(out));
    if (!places.is_valid()) throw nb::python_error();
    const Py_ssize_t count = PyTuple_Size(object);
    if (PyTuple_Size(places.ptr()) != count)
        raise(PyExc_TypeError, name + "(): argument 'out' must have " + std::to_string(count) + " tensors, not " +
                                   std::to_string(PyTuple_Size(places.ptr())));
    for (Py_ssize_t i = 0; i < count; ++i)
        write(name, PyTuple_GetItem(object, i), PyTuple_GetItem(places.ptr(), i), convert);
    const nb::object type = nb::borrow(reinterpret_cast<PyObject*>(Py_TYPE(object)));
    if (type.is(nb::handle(reinterpret_cast<PyObject*>(&PyTuple_Type)))) return nb::object(places).release().ptr();
    PyObject* const named = PyObject_CallObject(type.ptr(), places.ptr());  // (values, indices), say
    if (!named) throw nb::python_error();
    return named;
}

}  // namespace

PyObject* Signature::written(PyObject* object, const Given& given) const {
    return written_into(shown, object, given.out, creates_ && !given.typed);  // zeros(3, out=x) makes what x holds
}

void bind_out(nb::module_& m) {
    function(m, "_write_out", "name, result, out",
             "`out` with the result written into it, for functions of the package.",
             [](std::string_view name, nb::handle result, nb::handle out) {
                 return nb::steal(written_into(std::string(name), result.inc_ref().ptr(), out.ptr(), false));
             });
}

namespace detail {

bool takes_out(nb::handle module, std::string_view name) {
    if (name.starts_with("__") || name.ends_with('_')) return false;  // "_i0e" is weft.special.i0e
    const std::string place = nb::cast<std::string>(module.attr("__name__"));
    if (place.ends_with("functional")) return false;
    return std::ranges::find(kWithout, name) == std::end(kWithout);
}

}  // namespace detail

}  // namespace weft::python
