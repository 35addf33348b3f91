// python/src/indexing.h: x[index] and x[index] = value for everything that Python may write there.
#pragma once

#include <nanobind/nanobind.h>
#include <weft/tensor.h>

namespace weft::python {

Tensor index_with(const Tensor& x, PyObject* index);
void assign_with(Tensor& x, PyObject* index, const Operand& value);

// A tensor that is an index, as PyTorch understands it: one of uint8 is a mask. That is warned about, since other integers are positions.
Tensor understood_index(const Tensor& given);

}  // namespace weft::python
