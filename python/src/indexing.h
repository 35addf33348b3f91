// python/src/indexing.h: x[index] and x[index] = value for everything that Python may write there.
#pragma once

#include <nanobind/nanobind.h>
#include <weft/tensor.h>

namespace weft::python {

Tensor index_with(const Tensor& x, PyObject* index);
void assign_with(Tensor& x, PyObject* index, const Operand& value);

}  // namespace weft::python
