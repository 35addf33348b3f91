// python/src/files.h: Python objects to the plain data of weft/io/objects.h and back.
#pragma once

#include <nanobind/nanobind.h>
#include <weft/io/objects.h>

namespace weft::python {

namespace nb = nanobind;

// `maker` is weft.serialization._Maker: it finds globals, sets states and makes parameters.
nb::object python_object(const io::Objects& objects, nb::handle maker);

// `taker` is weft.serialization._Taker: it says what an object is made of that is no plain data.
io::Objects plain_objects(nb::handle object, nb::handle taker);

}  // namespace weft::python
