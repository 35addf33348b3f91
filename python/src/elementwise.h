// python/src/elementwise.h: how elementwise ops are bound: as functions, as methods, and as methods that work in place.
#pragma once

#include "arguments.h"

#include <weft/ops.h>

#include <string>

namespace weft::python {

// What an in-place method does with its result: it is written, if its shape is self's and its kind no higher. Returns self.
nb::object stored(nb::handle self, const Tensor& result);

// name(input), Tensor.name() and Tensor.name_().
template <Tensor (*op)(const Tensor&)>
void unary(nb::module_& m, nb::handle tensor, const char* name, const char* doc) {
    both(m, tensor, name, "", doc, [](const Tensor& x) { return op(x); });
    method(tensor, (std::string(name) + "_").c_str(), "", "The same, in place.",
           [](nb::handle self) { return stored(self, op(tensor_in(self.ptr()))); });
}

// name(input, other) and Tensor.name(other); and Tensor.name_(other).
template <Tensor (*op)(const Operand&, const Operand&)>
void binary(nb::module_& m, nb::handle tensor, const char* name, const char* doc, const char* other = "other") {
    both(m, tensor, name, other, doc, [](const Operand& a, const Operand& b) { return op(a, b); });
}
template <Tensor (*op)(const Operand&, const Operand&)>
void in_place(nb::handle tensor, const char* name, const char* other = "other") {
    method(tensor, name, other, "The same, in place.",
           [](nb::handle self, const Operand& b) { return stored(self, op(tensor_in(self.ptr()), b)); });
}
template <Tensor (*op)(const Operand&, const Operand&)>
void binary_both(nb::module_& m, nb::handle tensor, const char* name, const char* doc, const char* other = "other") {
    binary<op>(m, tensor, name, doc, other);
    in_place<op>(tensor, (std::string(name) + "_").c_str(), other);
}

}  // namespace weft::python
