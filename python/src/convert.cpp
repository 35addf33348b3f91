// python/src/convert.cpp: numbers, types, shapes and tensors between Python and Weft.
#include "convert.h"

#include <weft/cuda.h>

#include <cstring>
#include <limits>

namespace weft::python {

PyTypeObject* tensor_type = nullptr;

// ---- messages --------------------------------------------------------------------------------------------------------

void raise(PyObject* type, const std::string& message) {
    PyErr_SetString(type, message.c_str());
    throw nb::python_error();
}

std::string type_name(PyObject* object) {
    if (object == Py_None) return "None";
    const nb::object name = nb::steal(PyObject_GetAttrString(reinterpret_cast<PyObject*>(Py_TYPE(object)), "__name__"));
    if (!name.is_valid()) throw nb::python_error();
    return nb::cast<std::string_view>(name) == "" ? "object" : std::string(nb::cast<std::string_view>(name));
}

void wrong_type(const Site& site, const char* wanted, PyObject* got) {
    raise(PyExc_TypeError, std::string(site.function) + "(): argument '" + site.parameter + "' must be " + wanted +
                               ", not " + type_name(got));
}

namespace {

[[noreturn]] void wrong_element(const Site& site, const char* wanted, PyObject* got) {
    raise(PyExc_TypeError, std::string(site.function) + "(): argument '" + site.parameter + "' must be " + wanted +
                               ", but one of them is " + type_name(got));
}

}  // namespace

// ---- plain values ----------------------------------------------------------------------------------------------------

namespace {

bool has(PyObject* object, const char* attribute) { return PyObject_HasAttrString(object, attribute) == 1; }

Scalar integer(PyObject* object) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0) return static_cast<std::int64_t>(value);
    const unsigned long long large = overflow > 0 ? PyLong_AsUnsignedLongLong(object) : 0;
    if (overflow < 0 || PyErr_Occurred()) {
        PyErr_Clear();
        raise(PyExc_OverflowError, "an integer does not fit 64 bits");
    }
    return static_cast<std::uint64_t>(large);
}

}  // namespace

std::optional<Scalar> number_in(PyObject* object) {
    if (PyFloat_Check(object)) return PyFloat_AsDouble(object);
    if (PyBool_Check(object)) return object == Py_True;
    if (PyLong_Check(object)) return integer(object);
    // NumPy's scalars, fractions and the like; tensors, arrays and other containers have a length.
    if (object == Py_None || PyUnicode_Check(object) || is_tensor(object) || has(object, "__len__")) return {};
    if (has(object, "__index__")) {
        const nb::object index = nb::steal(PyNumber_Index(object));
        if (!index.is_valid()) throw nb::python_error();
        return integer(index.ptr());
    }
    if (has(object, "__float__") && !has(object, "__complex__")) {
        const double value = PyFloat_AsDouble(object);
        if (value == -1 && PyErr_Occurred()) throw nb::python_error();
        return value;
    }
    if (has(object, "dtype")) {  // NumPy's bool has no __index__, its small floats have __complex__
        const nb::object value = nb::steal(PyObject_CallMethod(object, "item", nullptr));
        if (!value.is_valid()) throw nb::python_error();
        if (PyFloat_Check(value.ptr()) || PyLong_Check(value.ptr())) return number_in(value.ptr());
    }
    return {};
}

std::int64_t to_int(PyObject* object, const Site& site) {
    if (PyFloat_Check(object) || PyBool_Check(object) || !has(object, "__index__")) wrong_type(site, "an int", object);
    const nb::object index = nb::steal(PyNumber_Index(object));
    if (!index.is_valid()) throw nb::python_error();
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(index.ptr(), &overflow);
    if (overflow != 0)
        raise(PyExc_OverflowError,
              std::string(site.function) + "(): argument '" + site.parameter + "' does not fit 64 bits");
    return value;
}

double to_double(PyObject* object, const Site& site) {
    if (PyFloat_CheckExact(object)) return PyFloat_AsDouble(object);
    if (is_tensor(object) && tensor_in(object).numel() == 1) return tensor_in(object).item();
    const std::optional<Scalar> number = number_in(object);
    if (!number) wrong_type(site, "a number", object);
    return number->as_double();
}

Scalar to_scalar(PyObject* object, const Site& site) {
    if (const std::optional<Scalar> number = number_in(object)) return *number;
    if (!is_tensor(object)) wrong_type(site, "a number", object);
    const Tensor& tensor = tensor_in(object);
    if (tensor.numel() != 1)
        raise(PyExc_TypeError, std::string(site.function) + "(): argument '" + site.parameter +
                                   "' must be a number, not a tensor of the shape " + to_string(tensor.shape()));
    if (is_float(tensor.dtype())) return tensor.item();
    return is_bool(tensor.dtype()) ? Scalar(tensor.item<bool>()) : Scalar(tensor.item<std::int64_t>());
}

bool to_bool(PyObject* object, const Site& site) {
    if (object == Py_True || object == Py_False) return object == Py_True;
    if (PyLong_Check(object)) return PyObject_IsTrue(object) == 1;
    if (const std::optional<Scalar> number = number_in(object); number && number->kind() == Scalar::Kind::Bool)
        return number->as_int() != 0;
    wrong_type(site, "a bool", object);
}

Dims to_dims(PyObject* object, const Site& site) {
    if (PyLong_Check(object)) return {to_int(object, site)};
    const bool list = PyTuple_Check(object) || PyList_Check(object);
    if (!list && (PyUnicode_Check(object) || is_tensor(object) || !PySequence_Check(object))) {
        if (!PyUnicode_Check(object) && has(object, "__index__")) return {to_int(object, site)};
        wrong_type(site, "an int or a tuple of ints", object);
    }
    const nb::object items = nb::steal(PySequence_Tuple(object));
    if (!items.is_valid()) throw nb::python_error();
    const Py_ssize_t count = PyTuple_Size(items.ptr());
    Dims result;
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* item = PyTuple_GetItem(items.ptr(), i);
        if (PyFloat_Check(item) || PyBool_Check(item) || !has(item, "__index__"))
            wrong_element(site, "a tuple of ints", item);
        result.push_back(to_int(item, site));
    }
    return result;
}

std::string_view to_text(PyObject* object, const Site& site) {
    if (!PyUnicode_Check(object)) wrong_type(site, "a str", object);
    Py_ssize_t size = 0;
    const char* text = PyUnicode_AsUTF8AndSize(object, &size);
    if (!text) throw nb::python_error();
    return {text, static_cast<std::size_t>(size)};
}

PyObject* to_python(std::string_view text) {
    return PyUnicode_FromStringAndSize(text.data(), static_cast<Py_ssize_t>(text.size()));
}

Converter<int>::Converter(PyObject* object, const Site& site) {
    const std::int64_t wide = to_int(object, site);
    if (wide < std::numeric_limits<int>::min() || wide > std::numeric_limits<int>::max())
        raise(PyExc_IndexError, std::string(site.function) + "(): argument '" + site.parameter + "' is out of range");
    value = static_cast<int>(wide);
}

Converter<Padding>::Converter(PyObject* object, const Site& site) {
    if (!PyUnicode_Check(object)) {
        value = Padding(Sizes(to_dims(object, site)));
        return;
    }
    const std::string_view name = to_text(object, site);
    if (name != "same" && name != "valid")
        raise(PyExc_ValueError, std::string(site.function) +
                                    "(): argument 'padding' must be ints, 'same' or 'valid', not '" +
                                    std::string(name) + "'");
    if (name == "same") value = kSame;
}

Converter<Reduction>::Converter(PyObject* object, const Site& site) {
    const std::string_view name = to_text(object, site);
    if (name == "none") value = Reduction::None;
    else if (name == "mean") value = Reduction::Mean;
    else if (name == "sum") value = Reduction::Sum;
    else
        raise(PyExc_ValueError, std::string(site.function) +
                                    "(): argument 'reduction' must be 'none', 'mean' or 'sum', not '" +
                                    std::string(name) + "'");
}

Converter<std::vector<Tensor>>::Converter(PyObject* object, const Site& site) {
    if (is_tensor(object) || PyUnicode_Check(object) || !PySequence_Check(object))
        wrong_type(site, "a list or tuple of tensors", object);
    const nb::object items = nb::steal(PySequence_Tuple(object));
    if (!items.is_valid()) throw nb::python_error();
    const Py_ssize_t count = PyTuple_Size(items.ptr());
    for (Py_ssize_t i = 0; i < count; ++i) {
        PyObject* item = PyTuple_GetItem(items.ptr(), i);
        if (!is_tensor(item)) wrong_element(site, "a list of tensors", item);
        value.push_back(tensor_in(item));
    }
}

Converter<std::vector<MaybeTensor>>::Converter(PyObject* object, const Site& site) {
    if (is_tensor(object) || !PySequence_Check(object)) wrong_type(site, "a list of tensors", object);
    const nb::object items = nb::steal(PySequence_Tuple(object));
    if (!items.is_valid()) throw nb::python_error();
    for (Py_ssize_t i = 0; i < PyTuple_Size(items.ptr()); ++i)
        value.push_back(Converter<MaybeTensor>(PyTuple_GetItem(items.ptr(), i), site).get());
}

Device to_device(PyObject* object, const Site& site) {
    const bool number = PyLong_Check(object) && !PyBool_Check(object);
    if (is_tensor(object) || PyBool_Check(object)) wrong_type(site, "a device such as 'cpu'", object);
    const nb::object text = nb::steal(PyObject_Str(object));
    if (!text.is_valid()) throw nb::python_error();
    const std::string asked = (number ? "cuda:" : "") + std::string(to_text(text.ptr(), site));
    try {
        const Device device(asked == "cuda" ? current_cuda() : asked);
        check_available(device);
        return device;
    } catch (const ValueError& error) {
        // "there is no device cuda:0: NVIDIA's driver is not installed": the reason
        const std::string_view what = error.what();
        const std::size_t at = what.starts_with("there is no device cuda:") ? what.find(": ") : std::string_view::npos;
        std::string reason = "; Weft runs on 'cpu' and 'cuda'";
        if (at != std::string_view::npos)
            reason = ": " + std::string(what.substr(at + 2)) + (cuda::device_count() ? "" : "; use 'cpu'");
        raise(PyExc_RuntimeError, std::string(site.function) + "(): there is no device '" + asked + "'" + reason);
    }
}

Converter<OnDevice>::Converter(PyObject* object, const Site& site) {
    if (object == Py_None) return;
    wanted_.wanted = to_device(object, site);
    scope_ = std::make_unique<DeviceScope>(*wanted_.wanted);
}

// ---- tensors ---------------------------------------------------------------------------------------------------------

bool is_tensor(PyObject* object) { return PyObject_TypeCheck(object, tensor_type); }

const Tensor& tensor_in(PyObject* object) { return *nb::inst_ptr<Tensor>(object); }

PyObject* to_python(Tensor tensor) {
    if (!tensor.defined()) return nb::none().release().ptr();
    nb::object object = nb::inst_alloc(nb::handle(reinterpret_cast<PyObject*>(tensor_type)));
    new (nb::inst_ptr<Tensor>(object)) Tensor(std::move(tensor));
    nb::inst_mark_ready(object);
    return object.release().ptr();
}

namespace {
PyObject* values_and_indices = nullptr;
}

void set_values_and_indices(nb::handle type) { values_and_indices = type.inc_ref().ptr(); }

PyObject* to_python(const ValuesAndIndices& pair) {
    const nb::object values = nb::steal(to_python(pair.values)), indices = nb::steal(to_python(pair.indices));
    PyObject* const tuple = PyObject_CallFunctionObjArgs(values_and_indices, values.ptr(), indices.ptr(), nullptr);
    if (!tuple) throw nb::python_error();
    return tuple;
}

PyObject* to_python(const std::vector<Tensor>& tensors) {
    nb::object tuple = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(tensors.size())));
    for (std::size_t i = 0; i < tensors.size(); ++i)
        PyTuple_SetItem(tuple.ptr(), static_cast<Py_ssize_t>(i), to_python(tensors[i]));
    return tuple.release().ptr();
}

bool OperandHolder::take(PyObject* object) {
    if (is_tensor(object)) {
        tensor_ = &tensor_in(object);
        return true;
    }
    scalar_ = number_in(object);
    if (scalar_) return true;
    if (!has_buffer(object)) return false;
    own_ = tensor_from_buffer(object, true, {"tensor", "data"});
    return true;
}

OperandHolder::OperandHolder(PyObject* object, const Site& site) {
    if (!take(object)) wrong_type(site, "a Tensor or a number", object);
}

bool OperandHolder::make(PyObject* object, OperandHolder& result) { return result.take(object); }

namespace {

// Lists, tuples, and other sequences such as deque and range; text is none.
bool is_list(PyObject* object) {
    if (PyList_Check(object) || PyTuple_Check(object)) return true;
    return !is_tensor(object) && !PyUnicode_Check(object) && !PyBytes_Check(object) && !PyDict_Check(object) &&
           PySequence_Check(object) && has(object, "__len__");
}

// A list that contains itself has no end.
void check_depth(int depth, const Site& site) {
    constexpr int kDeepest = 64;
    if (depth <= kDeepest) return;
    throw ValueError(std::string(site.function) + "(): argument '" + site.parameter +
                     "' has lists in lists more than " + std::to_string(kDeepest) + " deep; does one contain itself?");
}

Nested nested_from(PyObject* data, const Site& site, int depth) {
    check_depth(depth, site);
    if (const std::optional<Scalar> number = number_in(data)) return Nested(*number);
    if (is_tensor(data) && tensor_in(data).rank() == 0) {
        const Tensor& tensor = tensor_in(data);
        if (is_float(tensor.dtype())) return Nested(tensor.item());
        return is_bool(tensor.dtype()) ? Nested(tensor.item<bool>()) : Nested(tensor.item<std::int64_t>());
    }
    if (!is_list(data)) wrong_type(site, "numbers in nested lists, or an array", data);
    Nested result(false);
    result.is_list = true;
    const Py_ssize_t count = PySequence_Size(data);
    result.list.reserve(static_cast<std::size_t>(count));
    for (Py_ssize_t i = 0; i < count; ++i) {
        const nb::object item = nb::steal(PySequence_GetItem(data, i));
        if (!item.is_valid()) throw nb::python_error();
        result.list.push_back(nested_from(item.ptr(), site, depth + 1));
    }
    return result;
}

bool is_array_like(PyObject* object) { return is_tensor(object) ? tensor_in(object).rank() > 0 : has_buffer(object); }

}  // namespace

namespace {

Tensor tensor_from(PyObject* data, std::optional<DType> dtype, const Site& site, int depth) {
    check_depth(depth, site);
    const auto as_wanted = [&](const Tensor& tensor) {
        return dtype && *dtype != tensor.dtype() ? tensor.to(*dtype) : tensor;
    };
    if (is_tensor(data)) return as_wanted(tensor_in(data).detach().clone());
    if (has_buffer(data) && !PyBytes_Check(data)) return as_wanted(tensor_from_buffer(data, true, site));
    if (!is_list(data) && !number_in(data) && has(data, "__array__")) {  // a column of a table, say
        const nb::object array = nb::steal(PyObject_CallMethod(data, "__array__", nullptr));
        if (!array.is_valid()) throw nb::python_error();
        return as_wanted(tensor_from_buffer(array.ptr(), true, site));
    }
    if (is_list(data) && PySequence_Size(data) > 0) {
        const nb::object first = nb::steal(PySequence_GetItem(data, 0));
        if (is_array_like(first.ptr()) && !number_in(first.ptr())) {  // a list of arrays
            std::vector<Tensor> parts;
            for (Py_ssize_t i = 0; i < PySequence_Size(data); ++i)
                parts.push_back(tensor_from(nb::steal(PySequence_GetItem(data, i)).ptr(), dtype, site, depth + 1));
            return stack(parts);
        }
    }
    return tensor(nested_from(data, site, depth), dtype);
}

}  // namespace

Tensor tensor_from(PyObject* data, std::optional<DType> dtype, const Site& site) {
    return tensor_from(data, dtype, site, 0);
}

}  // namespace weft::python
