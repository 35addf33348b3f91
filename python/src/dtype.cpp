// python/src/dtype.cpp: weft.float32 and its siblings, and weft.Size.
#include "arguments.h"
#include "topics.h"

namespace weft::python {

namespace {

struct ElementType {
    DType dtype;
};
PyObject* element_types[kDTypeCount];  // the one object of each
PyTypeObject* element_type = nullptr;
PyObject* size_type = nullptr;

constexpr const char* kNames[kDTypeCount] = {"bool",  "uint8", "uint16",  "uint32",   "uint64",  "int8",   "int16",
                                             "int32", "int64", "float16", "bfloat16", "float32", "float64"};

struct Alias {
    const char* name;
    DType dtype;
};
constexpr Alias kAliases[] = {{"half", f16},  {"float", f32}, {"double", f64},
                              {"short", i16}, {"int", i32},   {"long", i64}};

DType dtype_of(const ElementType& type) { return type.dtype; }

}  // namespace

nb::object dtype_object(DType dtype) { return nb::borrow(element_types[static_cast<int>(dtype)]); }

bool is_dtype(PyObject* object) { return PyObject_TypeCheck(object, element_type); }

DType to_dtype(PyObject* object, const Site& site) {
    if (PyObject_TypeCheck(object, element_type)) return nb::inst_ptr<ElementType>(object)->dtype;
    if (object == reinterpret_cast<PyObject*>(&PyFloat_Type)) return f64;
    if (object == reinterpret_cast<PyObject*>(&PyLong_Type)) return i64;
    if (object == reinterpret_cast<PyObject*>(&PyBool_Type)) return bool_;
    wrong_type(site, "a dtype such as weft.float32", object);
}

nb::object shape_object(const Shape& shape) {
    nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
    for (std::size_t i = 0; i < shape.size(); ++i)
        PyTuple_SetItem(tuple.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
    nb::object size = nb::steal(PyObject_CallFunctionObjArgs(size_type, tuple.ptr(), nullptr));
    if (!size.is_valid()) throw nb::python_error();
    return size;
}

void bind_dtype(nb::module_& m) {
    nb::class_<ElementType> type(m, "dtype", nb::is_final());
    type.doc() = "An element type, such as weft.float32.";
    type.def("__repr__",
             [](const ElementType& self) { return std::string("weft.") + kNames[static_cast<int>(self.dtype)]; });
    type.def("__reduce__", [](const ElementType& self) { return kNames[static_cast<int>(self.dtype)]; });
    type.def_prop_ro("itemsize", [](const ElementType& self) { return size_of(dtype_of(self)); });
    type.def_prop_ro("is_floating_point", [](const ElementType& self) { return is_float(dtype_of(self)); });
    type.def_prop_ro("is_signed",
                     [](const ElementType& self) { return is_float(dtype_of(self)) || is_signed_int(dtype_of(self)); });
    type.def_prop_ro("is_complex", [](const ElementType&) { return false; });
    element_type = reinterpret_cast<PyTypeObject*>(type.ptr());
    for (int i = 0; i < kDTypeCount; ++i) {
        nb::object object = nb::inst_alloc(type);
        new (nb::inst_ptr<ElementType>(object)) ElementType{static_cast<DType>(i)};
        nb::inst_mark_ready(object);
        m.attr(kNames[i]) = object;
        element_types[i] = object.release().ptr();
    }
    for (const Alias& alias : kAliases) m.attr(alias.name) = dtype_object(alias.dtype);
    function(m, "promote_types", "type1, type2", "The type that two tensors of these types have together.",
             [](DType a, DType b) { return dtype_object(promote(a, b)); });
    function(m, "_set_size_type", "type", "Tells the module the class of Tensor.shape.",
             [](nb::handle type) { size_type = type.inc_ref().ptr(); });
}

}  // namespace weft::python
