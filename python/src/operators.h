// python/src/operators.h: the slots of Tensor behind Python's operators.
#pragma once

#include <nanobind/nanobind.h>

namespace weft::python {

const PyType_Slot* tensor_slots();

}  // namespace weft::python
