// python/src/creation.cpp: tensors from data, from nothing and from chance.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/creation.h>

namespace weft::python {

namespace {

Scalar number(nb::handle object, const char* function, const char* parameter) {
    return Converter<Scalar>(object.ptr(), {function, parameter}).get();
}

void bind_copies(nb::module_& m) {
    function(m, "tensor", "data, *, dtype=None, device=None, requires_grad=False",
             "A copy of numbers in nested lists, of an array or of a tensor.",
             [](nb::handle data, std::optional<DType> dtype, OnDevice on, bool requires_grad) {
                 const Tensor made = tensor_from(data.ptr(), dtype, {"tensor", "data"});
                 return leaf_if(on.wanted ? made.to(*on.wanted) : made, requires_grad);
             });
    function(m, "as_tensor", "data, dtype=None, device=None",
             "A tensor over the same memory where that is possible, else a copy.",
             [](nb::handle data, std::optional<DType> dtype, OnDevice on) {
                 if (!is_tensor(data.ptr()) && !has_buffer(data.ptr()))
                     return tensor_from(data.ptr(), dtype, {"as_tensor", "data"});
                 const bool given = is_tensor(data.ptr());
                 const Tensor shared =
                     given ? tensor_in(data.ptr()) : tensor_from_buffer(data.ptr(), false, {"as_tensor", "data"});
                 const Tensor there = shared.to(on.wanted.value_or(given ? shared.device() : default_device()));
                 return dtype && *dtype != there.dtype() ? there.to(*dtype) : there;
             });
    function(m, "from_numpy", "ndarray",
             "A tensor over an array's memory. It is read when the graph runs, so what is written there before then is "
             "seen.",
             [](nb::handle array) {
                 if (!has_buffer(array.ptr())) wrong_type({"from_numpy", "ndarray"}, "a NumPy array", array.ptr());
                 return tensor_from_buffer(array.ptr(), false, {"from_numpy", "ndarray"});
             });
}

void bind_constants(nb::module_& m) {
    function(m, "zeros", "*size, dtype=None, device=None, requires_grad=False", "Zeros: zeros(2, 3) or zeros((2, 3)).",
             [](const Dims& size, std::optional<DType> dtype, OnDevice, bool requires_grad) {
                 return leaf_if(zeros(size, dtype.value_or(default_dtype())), requires_grad);
             });
    function(m, "empty", "*size, dtype=None, device=None, requires_grad=False", "Zeros; nothing is ever uninitialised.",
             [](const Dims& size, std::optional<DType> dtype, OnDevice, bool requires_grad) {
                 return leaf_if(zeros(size, dtype.value_or(default_dtype())), requires_grad);
             });
    function(m, "ones", "*size, dtype=None, device=None, requires_grad=False", "Ones: ones(2, 3) or ones((2, 3)).",
             [](const Dims& size, std::optional<DType> dtype, OnDevice, bool requires_grad) {
                 return leaf_if(ones(size, dtype.value_or(default_dtype())), requires_grad);
             });
    function(m, "full", "size, fill_value, *, dtype=None, device=None, requires_grad=False",
             "Every element is `fill_value`.",
             [](const Dims& size, Scalar value, std::optional<DType> dtype, OnDevice, bool requires_grad) {
                 return leaf_if(full(size, value, dtype), requires_grad);
             });
    function(m, "zeros_like", "input, *, dtype=None, device=None, requires_grad=False",
             "Zeros of a tensor's shape and type.",
             [](const Tensor& x, std::optional<DType> dtype, OnDevice on, bool requires_grad) {
                 const DeviceScope there(on.or_that_of(x));
                 return leaf_if(zeros(x.shape(), dtype.value_or(x.dtype())), requires_grad);
             });
    function(m, "empty_like", "input, *, dtype=None, device=None, requires_grad=False",
             "Zeros of a tensor's shape and type.",
             [](const Tensor& x, std::optional<DType> dtype, OnDevice on, bool requires_grad) {
                 const DeviceScope there(on.or_that_of(x));
                 return leaf_if(zeros(x.shape(), dtype.value_or(x.dtype())), requires_grad);
             });
    function(m, "ones_like", "input, *, dtype=None, device=None, requires_grad=False",
             "Ones of a tensor's shape and type.",
             [](const Tensor& x, std::optional<DType> dtype, OnDevice on, bool requires_grad) {
                 const DeviceScope there(on.or_that_of(x));
                 return leaf_if(ones(x.shape(), dtype.value_or(x.dtype())), requires_grad);
             });
    function(m, "full_like", "input, fill_value, *, dtype=None, device=None, requires_grad=False",
             "`fill_value` everywhere, of a tensor's shape and type.",
             [](const Tensor& x, Scalar value, std::optional<DType> dtype, OnDevice on, bool requires_grad) {
                 const DeviceScope there(on.or_that_of(x));
                 return leaf_if(full(x.shape(), value, dtype.value_or(x.dtype())), requires_grad);
             });
    function(
        m, "arange", "start=0, end=None, step=1, *, dtype=None, device=None, requires_grad=False",
        "start, start + step, … below `end`; arange(5) starts at 0.",
        [](nb::handle start, nb::handle end, Scalar step, std::optional<DType> dtype, OnDevice, bool requires_grad) {
            const Scalar first = number(start, "arange", "start");
            if (end.is_none()) return leaf_if(arange(0, first, step, dtype), requires_grad);
            return leaf_if(arange(first, number(end, "arange", "end"), step, dtype), requires_grad);
        });
    function(
        m, "linspace", "start, end, steps, *, dtype=None, device=None, requires_grad=False",
        "`steps` numbers at equal distances, both ends included.",
        [](double start, double end, std::int64_t steps, std::optional<DType> dtype, OnDevice, bool requires_grad) {
            return leaf_if(linspace(start, end, steps, dtype.value_or(default_dtype())), requires_grad);
        });
    function(m, "logspace", "start, end, steps, base=10.0, *, dtype=None, device=None, requires_grad=False",
             "`base` to the power of `steps` numbers at equal distances.",
             [](double start, double end, std::int64_t steps, double base, std::optional<DType> dtype, OnDevice,
                bool requires_grad) {
                 return leaf_if(logspace(start, end, steps, base, dtype.value_or(default_dtype())), requires_grad);
             });
    function(m, "vander", "x, N=None, increasing=False",
             "The powers of a vector's elements as columns, falling or rising.",
             [](const Tensor& x, std::optional<std::int64_t> columns, bool increasing) {
                 return vander(x, columns, increasing);
             });
    function(
        m, "eye", "n, m=None, *, dtype=None, device=None, requires_grad=False",
        "Ones on the diagonal, zeros elsewhere.",
        [](std::int64_t n, std::optional<std::int64_t> columns, std::optional<DType> dtype, OnDevice,
           bool requires_grad) { return leaf_if(eye(n, columns, dtype.value_or(default_dtype())), requires_grad); });
}

template <Tensor (*make)(std::int64_t, bool, const TensorOptions&)>
void bind_window(nb::module_& m, const char* name) {
    function(m, name, "window_length, periodic=True, *, dtype=None, device=None, requires_grad=False",
             "The weights of a window for spectra.",
             [](std::int64_t length, bool periodic, std::optional<DType> dtype, OnDevice, bool requires_grad) {
                 return leaf_if(make(length, periodic, dtype.value_or(default_dtype())), requires_grad);
             });
}

void bind_windows_of_spectra(nb::module_& m) {
    bind_window<hann_window>(m, "hann_window");
    bind_window<blackman_window>(m, "blackman_window");
    bind_window<bartlett_window>(m, "bartlett_window");
    function(m, "hamming_window",
             "window_length, periodic=True, alpha=0.54, beta=0.46, *, dtype=None, device=None, requires_grad=False",
             "The weights of a window for spectra.",
             [](std::int64_t length, bool periodic, double alpha, double beta, std::optional<DType> dtype, OnDevice,
                bool requires_grad) {
                 return leaf_if(hamming_window(length, periodic, alpha, beta, dtype.value_or(default_dtype())),
                                requires_grad);
             });
    function(
        m, "kaiser_window", "window_length, periodic=True, beta=12.0, *, dtype=None, device=None, requires_grad=False",
        "The weights of a window for spectra.",
        [](std::int64_t length, bool periodic, double beta, std::optional<DType> dtype, OnDevice, bool requires_grad) {
            return leaf_if(kaiser_window(length, periodic, beta, dtype.value_or(default_dtype())), requires_grad);
        });
}

template <Tensor (*triangle)(const Tensor&, std::int64_t)>
void bind_triangle(nb::module_& m, nb::handle tensor, const char* name, const char* doc) {
    both(m, tensor, name, "diagonal=0", doc,
         [](const Tensor& x, std::int64_t diagonal) { return triangle(x, diagonal); });
    method(tensor, (std::string(name) + "_").c_str(), "diagonal=0", "The same, in place.",
           [](nb::handle self, std::int64_t diagonal) {
               nb::inst_ptr<Tensor>(self)->assign(triangle(tensor_in(self.ptr()), diagonal));
               return nb::borrow(self);
           });
}

}  // namespace

void bind_creation(nb::module_& m, nb::handle tensor) {
    bind_copies(m);
    bind_constants(m);
    bind_windows_of_spectra(m);
    bind_triangle<tril>(m, tensor, "tril", "The lower triangle of the last two axes; the rest is 0.");
    bind_triangle<triu>(m, tensor, "triu", "The upper triangle of the last two axes; the rest is 0.");
    function(m, "set_default_dtype", "d", "Sets the type of floats without one: float32 until then.",
             [](DType dtype) { set_default_dtype(dtype); });
    function(m, "get_default_dtype", "", "The type of floats without one.",
             [] { return dtype_object(default_dtype()); });
    method(tensor, "new_tensor", "data, *, dtype=None, device=None, requires_grad=False",
           "weft.tensor(data) of this tensor's type.",
           [](const Tensor& self, nb::handle data, std::optional<DType> dtype, OnDevice on, bool requires_grad) {
               const DeviceScope there(on.or_that_of(self));
               const Tensor made = tensor_from(data.ptr(), dtype.value_or(self.dtype()), {"new_tensor", "data"});
               return leaf_if(made.to(default_device()), requires_grad);
           });
    method(tensor, "new_zeros", "*size, dtype=None, device=None, requires_grad=False", "Zeros of this tensor's type.",
           [](const Tensor& self, const Dims& size, std::optional<DType> dtype, OnDevice on, bool requires_grad) {
               const DeviceScope there(on.or_that_of(self));
               return leaf_if(zeros(size, dtype.value_or(self.dtype())), requires_grad);
           });
    method(tensor, "new_empty", "*size, dtype=None, device=None, requires_grad=False",
           "Zeros of this tensor's type; nothing is ever uninitialised.",
           [](const Tensor& self, const Dims& size, std::optional<DType> dtype, OnDevice on, bool requires_grad) {
               const DeviceScope there(on.or_that_of(self));
               return leaf_if(zeros(size, dtype.value_or(self.dtype())), requires_grad);
           });
    method(tensor, "new_ones", "*size, dtype=None, device=None, requires_grad=False", "Ones of this tensor's type.",
           [](const Tensor& self, const Dims& size, std::optional<DType> dtype, OnDevice on, bool requires_grad) {
               const DeviceScope there(on.or_that_of(self));
               return leaf_if(ones(size, dtype.value_or(self.dtype())), requires_grad);
           });
    method(tensor, "new_full", "size, fill_value, *, dtype=None, device=None, requires_grad=False",
           "`fill_value` everywhere, of this tensor's type.",
           [](const Tensor& self, const Dims& size, Scalar value, std::optional<DType> dtype, OnDevice on,
              bool requires_grad) {
               const DeviceScope there(on.or_that_of(self));
               return leaf_if(full(size, value, dtype.value_or(self.dtype())), requires_grad);
           });
}

}  // namespace weft::python
