// python/src/elementwise.h: how elementwise ops are bound: as functions, as methods, and as methods that work in place.
#pragma once

#include "arguments.h"

#include <weft/ops.h>

#include <string>

namespace weft::python {

// The tensor that a method works on in place, and the method's name for messages.
struct InPlace {
    nb::handle self;
    const char* method;
    const Tensor& tensor() const { return tensor_in(self.ptr()); }
};
template <>
struct Converter<InPlace> {
    Converter(PyObject* object, const Site& site) : value{object, site.function} {
        if (!is_tensor(object)) wrong_type(site, "a Tensor", object);
    }
    InPlace get() const { return value; }
    InPlace value;
};

// What an in-place method does with its result: it is written, if its shape is self's and its kind no higher. Returns self.
nb::object stored(const InPlace& to, const Tensor& result);

// name(input), Tensor.name() and Tensor.name_().
template <Tensor (*op)(const Tensor&)>
void unary(nb::module_& m, nb::handle tensor, const char* name, const char* doc) {
    both(m, tensor, name, "", doc, [](const Tensor& x) { return op(x); });
    method(tensor, (std::string(name) + "_").c_str(), "", "The same, in place.",
           [](InPlace self) { return stored(self, op(self.tensor())); });
}

// name(input, other) and Tensor.name(other); and Tensor.name_(other).
template <Tensor (*op)(const Operand&, const Operand&)>
void binary(nb::module_& m, nb::handle tensor, const char* name, const char* doc, const char* other = "other") {
    both(m, tensor, name, other, doc, [](const Operand& a, const Operand& b) { return op(a, b); });
}
template <Tensor (*op)(const Operand&, const Operand&)>
void in_place(nb::handle tensor, const char* name, const char* other = "other") {
    method(tensor, name, other, "The same, in place.",
           [](InPlace self, const Operand& b) { return stored(self, op(self.tensor(), b)); });
}
template <Tensor (*op)(const Operand&, const Operand&)>
void binary_both(nb::module_& m, nb::handle tensor, const char* name, const char* doc, const char* other = "other") {
    binary<op>(m, tensor, name, doc, other);
    in_place<op>(tensor, (std::string(name) + "_").c_str(), other);
}

}  // namespace weft::python
