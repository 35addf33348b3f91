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
             [](nb::handle data, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(tensor_from(data.ptr(), dtype, {"tensor", "data"}), requires_grad);
             });
    function(m, "as_tensor", "data, dtype=None, device=None",
             "A tensor over the same memory where that is possible, else a copy.",
             [](nb::handle data, std::optional<DType> dtype, Device) {
                 if (is_tensor(data.ptr())) {
                     const Tensor& tensor = tensor_in(data.ptr());
                     return dtype && *dtype != tensor.dtype() ? tensor.to(*dtype) : tensor;
                 }
                 if (!has_buffer(data.ptr())) return tensor_from(data.ptr(), dtype, {"as_tensor", "data"});
                 const Tensor shared = tensor_from_buffer(data.ptr(), false, {"as_tensor", "data"});
                 return dtype && *dtype != shared.dtype() ? shared.to(*dtype) : shared;
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
             [](const Dims& size, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(zeros(size, dtype.value_or(f32)), requires_grad);
             });
    function(m, "empty", "*size, dtype=None, device=None, requires_grad=False", "Zeros; nothing is ever uninitialised.",
             [](const Dims& size, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(zeros(size, dtype.value_or(f32)), requires_grad);
             });
    function(m, "ones", "*size, dtype=None, device=None, requires_grad=False", "Ones: ones(2, 3) or ones((2, 3)).",
             [](const Dims& size, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(ones(size, dtype.value_or(f32)), requires_grad);
             });
    function(m, "full", "size, fill_value, *, dtype=None, device=None, requires_grad=False",
             "Every element is `fill_value`.",
             [](const Dims& size, Scalar value, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(full(size, value, dtype), requires_grad);
             });
    function(m, "zeros_like", "input, *, dtype=None, device=None, requires_grad=False",
             "Zeros of a tensor's shape and type.",
             [](const Tensor& x, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(zeros_like(x, dtype), requires_grad);
             });
    function(m, "empty_like", "input, *, dtype=None, device=None, requires_grad=False",
             "Zeros of a tensor's shape and type.",
             [](const Tensor& x, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(zeros_like(x, dtype), requires_grad);
             });
    function(m, "ones_like", "input, *, dtype=None, device=None, requires_grad=False",
             "Ones of a tensor's shape and type.",
             [](const Tensor& x, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(ones_like(x, dtype), requires_grad);
             });
    function(m, "full_like", "input, fill_value, *, dtype=None, device=None, requires_grad=False",
             "`fill_value` everywhere, of a tensor's shape and type.",
             [](const Tensor& x, Scalar value, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(full_like(x, value, dtype), requires_grad);
             });
    function(m, "arange", "start=0, end=None, step=1, *, dtype=None, device=None, requires_grad=False",
             "start, start + step, … below `end`; arange(5) starts at 0.",
             [](nb::handle start, nb::handle end, Scalar step, std::optional<DType> dtype, Device, bool requires_grad) {
                 const Scalar first = number(start, "arange", "start");
                 if (end.is_none()) return leaf_if(arange(0, first, step, dtype), requires_grad);
                 return leaf_if(arange(first, number(end, "arange", "end"), step, dtype), requires_grad);
             });
    function(m, "linspace", "start, end, steps, *, dtype=None, device=None, requires_grad=False",
             "`steps` numbers at equal distances, both ends included.",
             [](double start, double end, std::int64_t steps, std::optional<DType> dtype, Device, bool requires_grad) {
                 return leaf_if(linspace(start, end, steps, dtype.value_or(f32)), requires_grad);
             });
    function(m, "eye", "n, m=None, *, dtype=None, device=None, requires_grad=False",
             "Ones on the diagonal, zeros elsewhere.",
             [](std::int64_t n, std::optional<std::int64_t> columns, std::optional<DType> dtype, Device,
                bool requires_grad) { return leaf_if(eye(n, columns, dtype.value_or(f32)), requires_grad); });
}

}  // namespace

void bind_creation(nb::module_& m, nb::handle tensor) {
    bind_copies(m);
    bind_constants(m);
    both(m, tensor, "tril", "diagonal=0", "The lower triangle of the last two axes; the rest is 0.",
         [](const Tensor& x, std::int64_t diagonal) { return tril(x, diagonal); });
    both(m, tensor, "triu", "diagonal=0", "The upper triangle of the last two axes; the rest is 0.",
         [](const Tensor& x, std::int64_t diagonal) { return triu(x, diagonal); });
    method(tensor, "new_tensor", "data, *, dtype=None", "weft.tensor(data) of this tensor's type.",
           [](const Tensor& self, nb::handle data, std::optional<DType> dtype) {
               return tensor_from(data.ptr(), dtype.value_or(self.dtype()), {"new_tensor", "data"});
           });
    method(tensor, "new_zeros", "*size, dtype=None", "Zeros of this tensor's type.",
           [](const Tensor& self, const Dims& size, std::optional<DType> dtype) {
               return zeros(size, dtype.value_or(self.dtype()));
           });
    method(tensor, "new_ones", "*size, dtype=None", "Ones of this tensor's type.",
           [](const Tensor& self, const Dims& size, std::optional<DType> dtype) {
               return ones(size, dtype.value_or(self.dtype()));
           });
    method(tensor, "new_full", "size, fill_value, *, dtype=None", "`fill_value` everywhere, of this tensor's type.",
           [](const Tensor& self, const Dims& size, Scalar value, std::optional<DType> dtype) {
               return full(size, value, dtype.value_or(self.dtype()));
           });
}

}  // namespace weft::python
