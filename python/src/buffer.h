// python/src/buffer.h: the slots of Tensor for Python's buffer protocol; importing is in convert.h.
#pragma once

#include <nanobind/nanobind.h>

namespace weft::python {

int export_buffer(PyObject* self, Py_buffer* view, int flags) noexcept;  // computes the tensor and pins its memory
void release_buffer(PyObject* self, Py_buffer* view) noexcept;

}  // namespace weft::python
