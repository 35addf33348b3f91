// python/src/convert.h: Python objects to Weft's types and back. A converter takes an argument and where it stands, keeps what the
// value needs to live, and gives the value; what does not fit raises TypeError, "softmax(): argument 'dim' must be an int, not str".
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/string_view.h>
#include <weft/functional.h>
#include <weft/ops.h>
#include <weft/sorting.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

namespace weft::python {

namespace nb = nanobind;

// Where a value was given, for messages.
struct Site {
    const char* function;
    const char* parameter;
};
[[noreturn]] void wrong_type(const Site& site, const char* wanted, PyObject* got);
[[noreturn]] void raise(PyObject* type, const std::string& message);
std::string type_name(PyObject* object);

// ---- tensors ---------------------------------------------------------------------------------------------------------

extern PyTypeObject* tensor_type;  // weft.Tensor, set by bind_tensor
bool is_tensor(PyObject* object);
const Tensor& tensor_in(PyObject* object);  // of an object for which is_tensor() holds
PyObject* to_python(Tensor tensor);

std::int64_t to_int(PyObject* object, const Site& site);
double to_double(PyObject* object, const Site& site);
Scalar to_scalar(PyObject* object, const Site& site);  // a number, or a tensor of one element, whose graph runs
bool to_bool(PyObject* object, const Site& site);
DType to_dtype(PyObject* object, const Site& site);
bool is_dtype(PyObject* object);                   // weft.float32, say; not float
Dims to_dims(PyObject* object, const Site& site);  // an int or a sequence of ints
std::string_view to_text(PyObject* object, const Site& site);
std::optional<Scalar> number_in(PyObject* object);  // a Python or NumPy number; none: it is something else

// Numbers in nested lists, an array, a tensor: a copy of its own. `site` is for messages.
Tensor tensor_from(PyObject* data, std::optional<DType> dtype, const Site& site);
bool has_buffer(PyObject* object);
// The memory of an object that offers it (a NumPy array): shared and kept alive, or copied.
Tensor tensor_from_buffer(PyObject* object, bool copy, const Site& site);

// A tensor or a number, and what keeps it.
class OperandHolder {
public:
    OperandHolder(PyObject* object, const Site& site);
    Operand get() const {
        if (scalar_) return *scalar_;
        return tensor_ ? *tensor_ : own_;
    }

    // For operators: false if the object is no operand, where Python asks the other side.
    static bool make(PyObject* object, OperandHolder& result);
    OperandHolder() = default;

private:
    bool take(PyObject* object);
    std::optional<Scalar> scalar_;
    const Tensor* tensor_ = nullptr;
    Tensor own_;
};

// ---- converters ------------------------------------------------------------------------------------------------------

template <class T>
struct Converter;

template <>
struct Converter<Tensor> {
    Converter(PyObject* object, const Site& site) : object(object) {
        if (!is_tensor(object)) wrong_type(site, "a Tensor", object);
    }
    const Tensor& get() const { return tensor_in(object); }
    PyObject* object;
};
template <>
struct Converter<Operand> : OperandHolder {
    using OperandHolder::OperandHolder;
};
template <>
struct Converter<Scalar> {
    Converter(PyObject* object, const Site& site) : value(to_scalar(object, site)) {}
    Scalar get() const { return value; }
    Scalar value;
};

// A plain value, converted by one function.
template <class T, T (*convert)(PyObject*, const Site&)>
struct ValueConverter {
    ValueConverter(PyObject* object, const Site& site) : value(convert(object, site)) {}
    T get() const { return value; }
    T value;
};
template <>
struct Converter<std::int64_t> : ValueConverter<std::int64_t, to_int> {
    using ValueConverter::ValueConverter;
};
template <>
struct Converter<double> : ValueConverter<double, to_double> {
    using ValueConverter::ValueConverter;
};
template <>
struct Converter<bool> : ValueConverter<bool, to_bool> {
    using ValueConverter::ValueConverter;
};
template <>
struct Converter<DType> : ValueConverter<DType, to_dtype> {
    using ValueConverter::ValueConverter;
};
template <>
struct Converter<Dims> : ValueConverter<Dims, to_dims> {
    using ValueConverter::ValueConverter;
};
template <>
struct Converter<std::string_view> : ValueConverter<std::string_view, to_text> {
    using ValueConverter::ValueConverter;
};
template <>
struct Converter<int> {
    Converter(PyObject* object, const Site& site);
    int get() const { return value; }
    int value;
};
template <>
struct Converter<Axes> {  // None: all of them
    Converter(PyObject* object, const Site& site) {
        if (object != Py_None) value = to_dims(object, site);
    }
    Axes get() const { return value; }
    Dims value;
};
template <>
struct Converter<Sizes> {
    Converter(PyObject* object, const Site& site) : value(to_dims(object, site)) {}
    const Sizes& get() const { return value; }
    Sizes value;
};
template <>
struct Converter<Padding> {  // numbers, 'same' or 'valid'
    Converter(PyObject* object, const Site& site);
    const Padding& get() const { return value; }
    Padding value = 0;
};
template <>
struct Converter<Reduction> {
    Converter(PyObject* object, const Site& site);
    Reduction get() const { return value; }
    Reduction value = Reduction::Mean;
};
template <>
struct Converter<std::vector<Tensor>> {
    Converter(PyObject* object, const Site& site);
    const std::vector<Tensor>& get() const { return value; }
    std::vector<Tensor> value;
};
template <>
struct Converter<nb::handle> {
    Converter(PyObject* object, const Site&) : object(object) {}
    nb::handle get() const { return object; }
    PyObject* object;
};
template <class T>
struct Converter<std::optional<T>> {
    Converter(PyObject* object, const Site& site) {
        if (object != Py_None) inner.emplace(object, site);
    }
    std::optional<T> get() const {
        if (inner) return inner->get();
        return std::nullopt;
    }
    std::optional<Converter<T>> inner;
};

// A tensor or None, as an undefined tensor.
struct MaybeTensor {
    Tensor tensor;
};
template <>
struct Converter<MaybeTensor> {
    Converter(PyObject* object, const Site& site) {
        if (object == Py_None) return;
        if (!is_tensor(object)) wrong_type(site, "a Tensor or None", object);
        value.tensor = tensor_in(object);
    }
    const MaybeTensor& get() const { return value; }
    MaybeTensor value;
};

template <>
struct Converter<std::vector<MaybeTensor>> {
    Converter(PyObject* object, const Site& site);
    const std::vector<MaybeTensor>& get() const { return value; }
    std::vector<MaybeTensor> value;
};

// The argument `device`. While the call lasts, new tensors are made there.
struct OnDevice {
    std::optional<Device> wanted;
    Device or_that_of(const Tensor& tensor) const { return wanted.value_or(tensor.device()); }
};
template <>
class Converter<OnDevice> {
public:
    Converter(PyObject* object, const Site& site);
    OnDevice get() const { return wanted_; }

private:
    OnDevice wanted_;
    std::unique_ptr<DeviceScope> scope_;
};
// A device by its name or weft.device, or a GPU by its number; throws RuntimeError if it is not there.
Device to_device(PyObject* object, const Site& site);
std::string current_cuda();  // the GPU that "cuda" means on this thread (cuda.cpp): "cuda:0"

// ---- results ---------------------------------------------------------------------------------------------------------

inline PyObject* to_python(nb::object object) { return object.release().ptr(); }
inline PyObject* to_python(bool value) { return PyBool_FromLong(value); }
inline PyObject* to_python(std::int64_t value) { return PyLong_FromLongLong(value); }
inline PyObject* to_python(double value) { return PyFloat_FromDouble(value); }
PyObject* to_python(std::string_view text);
inline PyObject* to_python(const std::string& text) { return to_python(std::string_view(text)); }
PyObject* to_python(const std::vector<Tensor>& tensors);  // a tuple
PyObject* to_python(const ValuesAndIndices& pair);        // a named tuple
void set_values_and_indices(nb::handle type);             // its type

// What a function with `inplace` returns: the result, or x with the result written into it.
inline Tensor placed(const Tensor& x, const Tensor& result, bool inplace) {
    if (!inplace) return result;
    Tensor written = x;
    return written.assign(result);
}
inline Tensor leaf_if(Tensor tensor, bool requires_grad) {
    if (requires_grad) tensor.set_requires_grad();
    return tensor;
}
nb::object dtype_object(DType dtype);
nb::object shape_object(const Shape& shape);  // weft.Size

}  // namespace weft::python
