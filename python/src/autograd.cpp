// python/src/autograd.cpp: gradients: the attributes of a tensor, backward(), grad() and the mode.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/autograd.h>

#include <cstddef>
#include <new>

namespace weft::python {

namespace {

PyObject* get_requires_grad(PyObject* self, void*) {
    return guarded([&] { return PyBool_FromLong(tensor_in(self).requires_grad()); });
}
int set_requires_grad(PyObject* self, PyObject* value, void*) {
    return guarded([&] {
        if (!value) raise(PyExc_TypeError, "requires_grad cannot be deleted");
        nb::inst_ptr<Tensor>(self)->set_requires_grad(to_bool(value, {"requires_grad", "value"}));
        return Py_None;
    })
               ? 0
               : -1;
}
PyObject* get_grad(PyObject* self, void*) {
    return guarded([&] { return to_python(tensor_in(self).grad()); });
}
int set_grad(PyObject* self, PyObject* value, void*) {
    return guarded([&] {
        const bool none = !value || value == Py_None;
        if (!none && !is_tensor(value)) wrong_type({"grad", "value"}, "a Tensor or None", value);
        tensor_in(self).set_grad(none ? Tensor() : tensor_in(value));
        return Py_None;
    })
               ? 0
               : -1;
}
PyObject* get_data(PyObject* self, void*) {
    return guarded([&] { return to_python(tensor_in(self).data()); });
}
int set_data(PyObject* self, PyObject* value, void*) {
    return guarded([&] {
        if (!value || !is_tensor(value)) wrong_type({"data", "value"}, "a Tensor", value ? value : Py_None);
        nb::inst_ptr<Tensor>(self)->set_data(tensor_in(value));
        return Py_None;
    })
               ? 0
               : -1;
}
PyObject* get_is_leaf(PyObject* self, void*) {
    return guarded([&] { return PyBool_FromLong(tensor_in(self).is_leaf()); });
}

// Enters a mode that Python leaves by entering another one: the scope's end is never reached.
template <class Scope>
void open() {
    alignas(Scope) std::byte space[sizeof(Scope)];
    new (space) Scope;
}

}  // namespace

void bind_autograd(nb::module_& m, nb::handle tensor) {
    static PyGetSetDef definitions[] = {
        {"requires_grad", get_requires_grad, set_requires_grad, "Whether a gradient is collected or passed on.",
         nullptr},
        {"grad", get_grad, set_grad, "The gradient that backward() has collected, or None.", nullptr},
        {"data", get_data, set_data, "The values without the gradient; writes are seen on both sides.", nullptr},
        {"is_leaf", get_is_leaf, nullptr, "Whether the tensor was made by the user and not by an op.", nullptr},
    };
    for (PyGetSetDef& definition : definitions) property(tensor, definition);
    method(tensor, "requires_grad_", "requires_grad=True", "Makes the tensor a leaf whose gradient is collected.",
           [](nb::handle self, bool wanted) {
               nb::inst_ptr<Tensor>(self)->set_requires_grad(wanted);
               return nb::borrow(self);
           });
    method(tensor, "retain_grad", "", "Collects the gradient of a tensor that is no leaf, too.",
           [](const Tensor& self) { self.retain_grad(); });
    both(m, tensor, "detach", "", "The same values (writes are seen), without a gradient.",
         [](const Tensor& x) { return x.detach(); });
    method(tensor, "backward", "gradient=None, retain_graph=None, create_graph=False, inputs=None",
           "Adds the gradients of this tensor to the .grad of its leaves, or of `inputs` only.",
           [](const Tensor& self, const MaybeTensor& gradient, std::optional<bool> retain_graph, bool create_graph,
              nb::handle inputs) {
               std::vector<Tensor> wanted;
               if (is_tensor(inputs.ptr())) wanted.push_back(tensor_in(inputs.ptr()));
               else if (!inputs.is_none())
                   wanted = Converter<std::vector<Tensor>>(inputs.ptr(), {"backward", "inputs"}).get();
               if (!inputs.is_none() && wanted.empty()) throw GradError("backward(): argument 'inputs' is empty");
               backward({&self, 1}, {.gradients = {&gradient.tensor, 1},
                                     .retain_graph = retain_graph.value_or(create_graph),
                                     .create_graph = create_graph,
                                     .inputs = wanted});
           });
    function(m, "_creates_graph", "", "Inside a derivative: whether the gradients will be differentiated themselves.",
             [] { return creates_graph(); });
    function(m, "_leaves", "outputs", "The leaves that require a gradient and that the outputs were computed from.",
             [](const std::vector<Tensor>& outputs) { return leaves(outputs); });
    function(m, "is_grad_enabled", "", "Whether ops on this thread record gradients.", [] { return grad_enabled(); });
    function(m, "_set_grad_enabled", "mode",
             "Sets whether ops on this thread record gradients; returns what was before.", [](bool mode) {
                 const bool before = grad_enabled();
                 if (mode) open<EnableGrad>();
                 else open<NoGrad>();
                 return before;
             });
    function(m, "realize", "*tensors=()", "Computes several tensors in one run; without any, only what is pending.",
             [](nb::handle tensors) {
                 const Converter<std::vector<Tensor>> values(tensors.ptr(), {"realize", "tensors"});
                 without_gil([&] { realize(values.get()); });
             });
}

}  // namespace weft::python
