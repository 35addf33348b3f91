// python/src/tensor.cpp: weft.Tensor: facts, values, conversions. Operators are in operators.cpp, ops in files by topic.
#include "arguments.h"
#include "interrupt.h"
#include "operators.h"
#include "topics.h"

#include <cstring>
#include <sstream>

namespace weft::python {

namespace {

PyObject* device_type = nullptr;    // weft.device
PyObject* device_object = nullptr;  // weft.device("cpu")

// ---- values ----------------------------------------------------------------------------------------------------------

PyObject* element(DType dtype, const std::byte* at) {
    const auto read = [&]<class T>(T value) {
        std::memcpy(&value, at, sizeof value);
        return value;
    };
    switch (dtype) {
        case DType::Bool: return PyBool_FromLong(read(std::uint8_t()));
        case DType::U8: return PyLong_FromUnsignedLong(read(std::uint8_t()));
        case DType::U16: return PyLong_FromUnsignedLong(read(std::uint16_t()));
        case DType::U32: return PyLong_FromUnsignedLong(read(std::uint32_t()));
        case DType::U64: return PyLong_FromUnsignedLongLong(read(std::uint64_t()));
        case DType::I8: return PyLong_FromLong(read(std::int8_t()));
        case DType::I16: return PyLong_FromLong(read(std::int16_t()));
        case DType::I32: return PyLong_FromLong(read(std::int32_t()));
        case DType::I64: return PyLong_FromLongLong(read(std::int64_t()));
        case DType::F16: return PyFloat_FromDouble(to_float(read(Half())));
        case DType::BF16: return PyFloat_FromDouble(to_float(read(BFloat16())));
        case DType::F32: return PyFloat_FromDouble(read(float()));
        case DType::F64: return PyFloat_FromDouble(read(double()));
    }
    throw InternalError("an unknown element type");
}

PyObject* list_of(const MemoryView& memory, std::size_t axis, const std::byte* at) {
    if (axis == memory.shape.size()) return element(memory.dtype, at);
    nb::object list = nb::steal(PyList_New(memory.shape[axis]));
    if (!list.is_valid()) throw nb::python_error();
    const std::int64_t step = memory.strides[axis] * static_cast<std::int64_t>(size_of(memory.dtype));
    for (std::int64_t i = 0; i < memory.shape[axis]; ++i)
        PyList_SetItem(list.ptr(), i, list_of(memory, axis + 1, at + i * step));
    return list.release().ptr();
}

nb::object values_of(const Tensor& self) {
    const MemoryView memory = without_gil([&] { return self.to(cpu).memory(); });
    return nb::steal(list_of(memory, 0, static_cast<const std::byte*>(memory.data)));
}

nb::object item_of(const Tensor& self) {
    if (self.numel() != 1)
        throw ValueError("item(): a tensor of the shape " + to_string(self.shape()) + " has " +
                         std::to_string(self.numel()) + " elements; exactly one is needed");
    const MemoryView memory = without_gil([&] { return self.to(cpu).memory(); });
    return nb::steal(element(memory.dtype, static_cast<const std::byte*>(memory.data)));
}

std::string text_of(const Tensor& self) {
    std::ostringstream out;
    without_gil([&] { out << self; });
    std::string text = out.str();
    const std::string type = ", dtype=" + std::string(name_of(self.dtype()));
    if (const std::size_t at = text.rfind(type); at != std::string::npos)
        text.replace(at + 8, type.size() - 8, nb::cast<std::string>(nb::repr(dtype_object(self.dtype()))));
    return text;
}

nb::object numpy_of(nb::handle self, bool force = false) {
    const Tensor& tensor = tensor_in(self.ptr());
    if (force && (tensor.requires_grad() || tensor.device() != cpu))
        return numpy_of(nb::steal(to_python(tensor.detach().to(cpu))));
    if (tensor.requires_grad() && grad_enabled())
        throw GradError("numpy(): the tensor requires a gradient; use detach().numpy() or numpy(force=True)");
    if (tensor.device() != cpu)
        raise(PyExc_TypeError, "numpy(): the tensor is on " + tensor.device().name() +
                                   ", where NumPy cannot read it; use cpu().numpy() or numpy(force=True)");
    if (tensor.dtype() == bf16) raise(PyExc_TypeError, "numpy(): NumPy has no bfloat16; use float().numpy()");
    const nb::object memory = nb::steal(PyMemoryView_FromObject(self.ptr()));
    if (!memory.is_valid()) throw nb::python_error();
    return nb::module_::import_("numpy").attr("asarray")(memory);
}

// ---- conversions -----------------------------------------------------------------------------------------------------

bool names_device(PyObject* object) {
    return PyUnicode_Check(object) || PyLong_Check(object) ||
           reinterpret_cast<PyObject*>(Py_TYPE(object)) == device_type;
}

nb::object device_of(const Tensor& self) {
    const Device device = self.device();
    if (device == cpu) return nb::borrow(device_object);
    return nb::handle(device_type)(device.name());
}

// to(dtype), to("cpu"), to(device, dtype), to(other)
Tensor converted(const Tensor& self, nb::handle rest, std::optional<DType> dtype, std::optional<Device> device,
                 bool copy) {
    const nb::object arguments = nb::steal(PySequence_Tuple(rest.ptr()));
    int flags = 0;  // by position: non_blocking, then copy
    for (const nb::handle argument : nb::borrow<nb::tuple>(arguments)) {
        const Site site{"to", "dtype"};
        if (PyBool_Check(argument.ptr())) copy = ++flags == 2 ? argument.ptr() == Py_True : copy;
        else if (argument.is_none()) continue;  // no other device, no other type
        else if (names_device(argument.ptr())) device = to_device(argument.ptr(), {"to", "device"});
        else if (is_tensor(argument.ptr()))
            dtype = tensor_in(argument.ptr()).dtype(), device = tensor_in(argument.ptr()).device();
        else dtype = to_dtype(argument.ptr(), site);
    }
    // The narrower type travels.
    const DType type = dtype.value_or(self.dtype());
    const bool first = size_of(type) < size_of(self.dtype());
    Tensor result = first ? self.to(type) : self;
    if (device && *device != self.device()) result = result.to(*device), copy = false;
    if (type != result.dtype()) return result.to(type);
    return copy && type == self.dtype() ? self.clone() : result;
}

template <DType dtype>
void bind_cast(nb::handle tensor, const char* name) {
    method(tensor, name, "", "The values in this element type.",
           [](const Tensor& self) { return self.dtype() == dtype ? self : self.to(dtype); });
}

// weft.Tensor(data) as PyTorch has it: floats; a tensor is shared, sizes make zeros.
void construct(Tensor* self, nb::args arguments, nb::kwargs keywords) {
    if (keywords.size() > 0) raise(PyExc_TypeError, "Tensor() takes no keyword arguments; weft.tensor() does");
    if (arguments.size() == 1 && is_tensor(arguments[0].ptr())) {
        new (self) Tensor(tensor_in(nb::object(arguments[0]).ptr()));
    } else if (arguments.size() == 1 && !PyLong_Check(nb::object(arguments[0]).ptr()) &&
               type_name(nb::object(arguments[0]).ptr()) != "Size") {
        new (self) Tensor(tensor_from(nb::object(arguments[0]).ptr(), default_dtype(), {"Tensor", "data"}));
    } else if (arguments.size() == 0) {
        new (self) Tensor(zeros({0}));
    } else {
        const bool listed = arguments.size() == 1 && !PyLong_Check(nb::object(arguments[0]).ptr());  // a Size
        const nb::object sizes = listed ? nb::object(arguments[0]) : nb::object(arguments);
        new (self) Tensor(zeros(to_dims(sizes.ptr(), {"Tensor", "size"})));
    }
}

void bind_facts(nb::class_<Tensor>& tensor) {
    tensor.def_prop_ro(
        "shape", [](const Tensor& self) { return shape_object(self.shape()); }, "The sizes, as weft.Size.");
    tensor.def_prop_ro(
        "dtype", [](const Tensor& self) { return dtype_object(self.dtype()); }, "The element type.");
    tensor.def_prop_ro(
        "ndim", [](const Tensor& self) { return self.rank(); }, "The number of axes.");
    tensor.def_prop_ro(
        "device", [](const Tensor& self) { return device_of(self); }, "Where it lives and is computed.");
    tensor.def_prop_ro(
        "itemsize", [](const Tensor& self) { return size_of(self.dtype()); }, "Bytes per element.");
    tensor.def_prop_ro(
        "nbytes", [](const Tensor& self) { return size_of(self.dtype()) * self.numel(); }, "Bytes in all.");
    tensor.def_prop_ro("is_cuda", [](const Tensor& self) { return self.device().type() == "cuda"; });
    tensor.def_prop_ro("is_cpu", [](const Tensor& self) { return self.device() == cpu; });
    for (const char* name : {"is_sparse", "is_xpu", "is_mps", "is_meta", "is_mkldnn", "is_quantized", "is_nested"})
        tensor.def_prop_ro(name, [](const Tensor&) { return false; });
    method(tensor, "size", "dim=None", "The sizes, or the size along one axis.",
           [](const Tensor& self, std::optional<int> dim) -> nb::object {
               return dim ? nb::object(nb::int_(self.size(*dim))) : shape_object(self.shape());
           });
    method(tensor, "dim", "", "The number of axes.", [](const Tensor& self) { return std::int64_t(self.rank()); });
    method(tensor, "numel", "", "The number of elements.", [](const Tensor& self) { return self.numel(); });
    method(tensor, "nelement", "", "The number of elements.", [](const Tensor& self) { return self.numel(); });
    method(tensor, "element_size", "", "Bytes per element.",
           [](const Tensor& self) { return static_cast<std::int64_t>(size_of(self.dtype())); });
    method(tensor, "is_floating_point", "", "Whether the elements are floats.",
           [](const Tensor& self) { return is_float(self.dtype()); });
    method(tensor, "data_ptr", "", "The address of the computed, dense values.", [](const Tensor& self) {
        return static_cast<std::int64_t>(reinterpret_cast<std::intptr_t>(without_gil([&] { return self.data_ptr(); })));
    });
}

void bind_values(nb::class_<Tensor>& tensor) {
    method(tensor, "item", "", "The value of a tensor of one element, as a Python number. Runs the graph.",
           [](const Tensor& self) { return item_of(self); });
    method(tensor, "tolist", "", "The values as nested lists. Runs the graph.",
           [](const Tensor& self) { return values_of(self); });
    method(tensor, "numpy", "*, force=False",
           "A NumPy array over the same memory, which both may write; `force` detaches, and copies from a GPU. "
           "Runs the graph.",
           [](nb::handle self, bool force) { return numpy_of(self, force); });
    method(tensor, "__array__", "dtype=None, copy=None", "For numpy.asarray().",
           [](nb::handle self, nb::handle dtype, nb::handle copy) -> nb::object {
               const nb::object array = numpy_of(self);
               const nb::object result =
                   dtype.is_none() ? array : nb::object(array.attr("astype")(dtype, nb::arg("copy") = false));
               const bool converted = !result.is(array);
               if (copy.is_none()) return result;
               if (nb::cast<bool>(copy)) return converted ? result : nb::object(result.attr("copy")());
               if (converted)
                   raise(PyExc_ValueError, "__array__(): another element type needs a copy, and copy=False forbids it");
               return result;
           });
    method(tensor, "realize", "", "Computes the value now; returns the tensor.", [](nb::handle self) {
        const Tensor value = tensor_in(self.ptr());
        without_gil([&] { value.realize(); });
        return nb::borrow(self);
    });
    method(tensor, "__repr__", "", "The values as text; large tensors are summarised. Runs the graph.",
           [](const Tensor& self) { return text_of(self); });
    method(tensor, "__format__", "format_spec", "A number is formatted as one, anything else as its text.",
           [](const Tensor& self, std::string_view spec) -> nb::object {
               const nb::object value = self.rank() == 0 ? item_of(self) : nb::object(nb::str(text_of(self).c_str()));
               const nb::str text(spec.data(), spec.size());
               return self.rank() == 0 || spec.empty()
                          ? nb::steal(PyObject_Format(value.ptr(), text.ptr()))
                          : (raise(PyExc_TypeError, "only a 0-d tensor takes a format"), value);
           });
    method(tensor, "__contains__", "value", "Whether an element equals the value. Runs the graph.",
           [](const Tensor& self, const Operand& value) {
               const Tensor found = any(eq(self, value));
               return without_gil([&] { return found.item<bool>(); });
           });
}

}  // namespace

nb::object bind_tensor(nb::module_& m) {
    nb::class_<Tensor> tensor(m, "Tensor", nb::type_slots(tensor_slots()), nb::is_weak_referenceable());
    tensor.doc() = "An array of numbers that is computed when its values are asked for.";
    tensor_type = reinterpret_cast<PyTypeObject*>(tensor.ptr());
    tensor.attr("__module__") = "weft";
    tensor.attr("__array_priority__") = 1000;  // array + tensor is a tensor
    tensor.def("__init__", construct);
    bind_facts(tensor);
    bind_values(tensor);

    method(tensor, "to", "*args=(), dtype=None, device=None, copy=False, non_blocking=False",
           "The values in another element type, or on another device: `to(dtype)`, `to('cpu')`, `to(other)`.",
           [](const Tensor& self, nb::handle rest, std::optional<DType> dtype, OnDevice on, bool copy, bool) {
               return converted(self, rest, dtype, on.wanted, copy);
           });
    method(tensor, "type_as", "other", "The values in the other tensor's element type.",
           [](const Tensor& self, const Tensor& other) { return self.to(other.dtype()); });
    method(tensor, "cpu", "", "The tensor in the CPU's memory: itself if it is there.", [](nb::handle self) {
        const Tensor& tensor = tensor_in(self.ptr());
        return tensor.device() == cpu ? nb::borrow(self) : nb::steal(to_python(tensor.to(cpu)));
    });
    bind_cast<f32>(tensor, "float");
    bind_cast<f64>(tensor, "double");
    bind_cast<f16>(tensor, "half");
    bind_cast<bf16>(tensor, "bfloat16");
    bind_cast<i64>(tensor, "long");
    bind_cast<i32>(tensor, "int");
    bind_cast<i16>(tensor, "short");
    bind_cast<i8>(tensor, "char");
    bind_cast<u8>(tensor, "byte");
    bind_cast<bool_>(tensor, "bool");
    both(m, tensor, "clone", "", "A value of its own: writing to it leaves the original alone.",
         [](const Tensor& x) { return x.clone(); });
    method(tensor, "contiguous", "", "The same value, stored densely when it runs.",
           [](const Tensor& self) { return self.contiguous(); });
    function(m, "_set_overriding_type", "type", "Objects of this type take functions over that they are given to.",
             [](nb::handle type) { detail::overriding_type = reinterpret_cast<PyTypeObject*>(type.inc_ref().ptr()); });
    function(m, "_set_device_type", "type", "Tells the module the type of Tensor.device.", [](nb::handle type) {
        device_type = type.inc_ref().ptr();
        device_object = type("cpu").release().ptr();
    });
    function(m, "_enter_device", "device",
             "Where this thread makes new tensors from now on; gives what it was, or None.", [](nb::handle device) {
                 const std::optional<Device> before = scope_device(
                     device.is_none() ? std::nullopt : std::optional(to_device(device.ptr(), {"device", "device"})));
                 return before ? nb::object(nb::str(before->name().c_str())) : nb::none();
             });
    function(m, "_device_types", "", "The types of devices that can be named.", [] {
        nb::list names;
        for (const std::string_view type : device_types()) names.append(nb::str(type.data(), type.size()));
        return nb::object(names);
    });
    function(m, "get_default_device", "", "Where new tensors are made.",
             [] { return nb::handle(device_type)(default_device().name()); });
    function(m, "set_default_device", "device", "Sets where new tensors are made: the CPU until then, and for None.",
             [](nb::handle device) {
                 set_default_device(device.is_none() ? cpu : to_device(device.ptr(), {"set_default_device", "device"}));
             });
    function(m, "_check_device", "name, device", "Raises where a device is not there; None is the default.",
             [](std::string_view function, nb::handle device) {
                 if (!device.is_none()) to_device(device.ptr(), {std::string(function).c_str(), "device"});
             });
    return tensor;
}

}  // namespace weft::python
