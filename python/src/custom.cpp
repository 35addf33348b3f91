// python/src/custom.cpp: Python functions that are called when a gradient is built: backward() of autograd.Function, and hooks. They are
// called with the GIL and without Weft's locks, and let go of later, with the GIL (lifetime.h): a graph may end under the locks.
#include "arguments.h"
#include "lifetime.h"
#include "topics.h"

#include <weft/autograd.h>

namespace weft::python {

namespace {

using PythonObject = std::shared_ptr<PyObject>;

PythonObject keep(nb::handle object) {
    return {object.inc_ref().ptr(), [](PyObject* last) { put_aside([last] { Py_DECREF(last); }); }};
}

nb::object call(const PythonObject& function, nb::object first, nb::object second = {}) {
    nb::object result = nb::steal(PyObject_CallFunctionObjArgs(
        function.get(), first.ptr(), second.is_valid() ? second.ptr() : static_cast<PyObject*>(nullptr), nullptr));
    if (!result.is_valid()) throw nb::python_error();
    return result;
}

nb::object tuple_of(std::span<const Tensor> tensors) {
    return nb::steal(to_python(std::vector<Tensor>(tensors.begin(), tensors.end())));
}

std::vector<Tensor> tensors_or_none(PyObject* object, const Site& site) {
    const nb::object items = nb::steal(PySequence_Tuple(object));
    if (!items.is_valid()) throw nb::python_error();
    std::vector<Tensor> result;
    for (Py_ssize_t i = 0; i < PyTuple_Size(items.ptr()); ++i)
        result.push_back(Converter<MaybeTensor>(PyTuple_GetItem(items.ptr(), i), site).get().tensor);
    return result;
}

std::function<Tensor(const Tensor&)> as_hook(nb::handle function) {
    if (!PyCallable_Check(function.ptr())) wrong_type({"register_hook", "hook"}, "a function", function.ptr());
    return [hook = keep(function)](const Tensor& gradient) {
        const nb::gil_scoped_acquire gil;
        const nb::object result = call(hook, nb::steal(to_python(gradient)));
        return Converter<MaybeTensor>(result.ptr(), {"register_hook", "what the hook returns"}).get().tensor;
    };
}

// The name of what computed a tensor, as an object, which programs compare with None.
struct GradFn {
    std::string name;
};

PyObject* get_grad_fn(PyObject* self, void*) {
    return guarded([&]() -> PyObject* {
        std::string name = grad_fn_name(tensor_in(self));
        if (name.empty()) return nb::none().release().ptr();
        return nb::cast(GradFn{std::move(name)}).release().ptr();
    });
}

}  // namespace

void bind_custom(nb::module_& m, nb::handle tensor) {
    nb::class_<SavedTensor>(m, "_SavedTensor",
                            "The value of a tensor, with its history, whatever is written to it later.")
        .def("__init__",
             [](SavedTensor* self, nb::handle value) {
                 new (self) SavedTensor(Converter<Tensor>(value.ptr(), {"save_for_backward", "tensors"}).get());
             })
        .def("unpack", [](const SavedTensor& self) { return nb::steal(to_python(self.unpack())); });

    nb::class_<HookHandle>(m, "RemovableHandle",
                           "Takes a hook away again: `handle.remove()`, or at the end of a `with` block.")
        .def("remove", &HookHandle::remove)
        .def("__enter__", [](nb::object self) { return self; })
        .def("__exit__", [](const HookHandle& self, nb::args) { self.remove(); });

    nb::class_<GradFn>(m, "GradFn", "What computed a tensor that requires a gradient.")
        .def("name", [](const GradFn& self) { return self.name; })
        .def("__repr__", [](const GradFn& self) { return "<" + self.name + ">"; });
    static PyGetSetDef grad_fn = {"grad_fn", get_grad_fn, nullptr,
                                  "What computed the tensor, to read; None for leaves and without a gradient.",
                                  nullptr};
    property(tensor, grad_fn);

    function(m, "_custom_gradient", "name, inputs, outputs, backward",
             "The outputs, with backward(gradients, outputs) as their derivative with respect to the inputs.",
             [](std::string_view name, const std::vector<Tensor>& inputs, const std::vector<Tensor>& outputs,
                nb::handle backward) {
                 auto rule = [function = keep(backward)](std::span<const Tensor> given, std::span<const Tensor> made) {
                     const nb::gil_scoped_acquire gil;
                     const nb::object result = call(function, tuple_of(given), tuple_of(made));
                     return tensors_or_none(result.ptr(), {"backward", "what backward() returns"});
                 };
                 return custom_gradient(std::string(name), inputs, outputs, std::move(rule));
             });
    method(tensor, "register_hook", "hook",
           "Calls `hook(gradient)` when the gradient of this tensor is built; a tensor that it returns replaces the "
           "gradient. Returns a handle with remove().",
           [](const Tensor& self, nb::handle hook) { return nb::cast(register_hook(self, as_hook(hook))); });
    function(m, "_register_post_accumulate_grad_hook", "tensor, hook", "Calls `hook(tensor)` after .grad was added to.",
             [](const Tensor& self, nb::handle function) {
                 if (!PyCallable_Check(function.ptr()))
                     wrong_type({"register_post_accumulate_grad_hook", "hook"}, "a function", function.ptr());
                 return nb::cast(register_post_accumulate_grad_hook(self, [hook = keep(function)](const Tensor& leaf) {
                     const nb::gil_scoped_acquire gil;
                     call(hook, nb::steal(to_python(leaf)));
                 }));
             });
    function(
        m, "_backward", "tensors, grad_tensors, retain_graph, create_graph, inputs",
        "Adds the gradients of several tensors to the .grad of leaves.",
        [](const std::vector<Tensor>& tensors, nb::handle seeds, bool retain_graph, bool create_graph,
           const std::vector<Tensor>& inputs) {
            const std::vector<Tensor> gradients = tensors_or_none(seeds.ptr(), {"backward", "grad_tensors"});
            backward(
                tensors,
                {.gradients = gradients, .retain_graph = retain_graph, .create_graph = create_graph, .inputs = inputs});
        });
    function(m, "_gradients", "outputs, inputs, grad_outputs, create_graph, allow_unused",
             "The gradients of the sum of outputs, as values; None where an input is not used.",
             [](const std::vector<Tensor>& outputs, const std::vector<Tensor>& inputs, nb::handle seeds,
                bool create_graph, bool allow_unused) {
                 const std::vector<Tensor> given = tensors_or_none(seeds.ptr(), {"grad", "grad_outputs"});
                 return gradients(outputs, inputs,
                                  {.gradients = given, .create_graph = create_graph, .allow_unused = allow_unused});
             });
}

}  // namespace weft::python
