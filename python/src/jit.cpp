// python/src/jit.cpp: traced functions. A call computes without the GIL, and takes it only where the Python function itself runs.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/jit.h>

namespace weft::python {

namespace {

std::vector<Tensor> call_python(nb::handle function, std::span<const Tensor> inputs) {
    const nb::gil_scoped_acquire gil;
    const nb::object arguments = nb::steal(to_python(std::vector<Tensor>(inputs.begin(), inputs.end())));
    const nb::object result = nb::steal(PyObject_CallObject(function.ptr(), arguments.ptr()));
    if (!result.is_valid()) throw nb::python_error();
    return Converter<std::vector<Tensor>>(result.ptr(), {"jit", "the result"}).get();
}

}  // namespace

void bind_jit(nb::module_& m) {
    nb::class_<Jit>(m, "_Jit", "A traced function of tensors that returns a tuple of tensors.")
        .def("__init__",
             [](Jit* self, nb::object function) {
                 new (self) Jit([function](std::span<const Tensor> inputs) { return call_python(function, inputs); });
             })
        .def("traces", &Jit::traces)
        .def("__call__", [](const Jit& self, nb::handle inputs) {
            const Converter<std::vector<Tensor>> tensors(inputs.ptr(), {"jit", "args"});
            return nb::steal(to_python(without_gil([&] { return self(tensors.get()); })));
        });
}

}  // namespace weft::python
