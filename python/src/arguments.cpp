// python/src/arguments.cpp: signatures, and where functions and methods go.
#include "arguments.h"

#include <algorithm>

namespace weft::python {

namespace {

std::string_view trimmed(std::string_view text) {
    while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
    while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
    return text;
}

// The value of a default as it is written in a signature: None, True, 1, 1e-05, 'mean', ().
nb::object literal(std::string_view text) {
    if (text == "None") return nb::none();
    if (text == "True") return nb::borrow(Py_True);
    if (text == "False") return nb::borrow(Py_False);
    if (text == "()") return nb::steal(PyTuple_New(0));
    if (text.front() == '\'') return nb::str(text.data() + 1, text.size() - 2);
    const std::string number(text);
    if (text.find_first_of(".en") == std::string_view::npos)
        return nb::steal(PyLong_FromString(number.c_str(), nullptr, 10));
    return nb::float_(std::stod(number));
}

// What a user has called: functions that only the package calls have an underscore before the name of what calls them.
std::string public_name(const std::string& name) {
    return name.starts_with('_') && !name.starts_with("__") ? name.substr(1) : name;
}

// What has `memory_format` in PyTorch: copies, conversions and what makes a tensor like another one.
bool has_formats(std::string_view name) {
    static constexpr std::string_view kNames[] = {
        "to",         "clone",        "contiguous", "cpu",        "float",     "double",     "half",
        "bfloat16",   "long",         "int",        "short",      "char",      "byte",       "bool",
        "type",       "zeros_like",   "ones_like",  "full_like",  "rand_like", "randn_like", "empty",
        "empty_like", "randint_like", "resize_",    "resize_as_",
    };
    return std::ranges::find(kNames, name) != std::end(kNames);
}

}  // namespace

Signature::Signature(std::string name, const char* parameters, const char* doc, bool method, bool takes_out)
    : name(std::move(name)),
      shown(public_name(this->name)),
      cast(cast_of(this->name)),
      takes_out_(takes_out && *parameters),
      formats_(has_formats(this->name)) {
    if (method)
        parameters_.push_back({.name = "self", .key = nb::steal(PyUnicode_InternFromString("self")), .fallback = {}});
    std::string_view text = parameters;
    bool keyword_only = false;
    while (!text.empty()) {
        const std::size_t comma = text.find(',');
        std::string_view one = trimmed(text.substr(0, comma));
        text = comma == std::string_view::npos ? "" : text.substr(comma + 1);
        if (one == "*") {
            keyword_only = true;
            continue;
        }
        Parameter parameter;
        parameter.rest = one.front() == '*';
        if (parameter.rest) one.remove_prefix(1);
        parameter.keyword_only = keyword_only;
        if (const std::size_t equals = one.find('='); equals != std::string_view::npos) {
            parameter.fallback = literal(one.substr(equals + 1));
            one = one.substr(0, equals);
        }
        keyword_only = keyword_only || parameter.rest;
        parameter.name = one;
        parameter.key = nb::steal(PyUnicode_InternFromString(parameter.name.c_str()));
        parameters_.push_back(std::move(parameter));
    }
    for (const Parameter& parameter : parameters_) {
        positional_ += !parameter.keyword_only && !parameter.rest;
        creates_ = creates_ || parameter.name == "device";
        takes_out_ = takes_out_ && parameter.name != "out";
    }
    std::string listed = parameters;  // Python writes "*args" without a default
    if (const std::size_t at = listed.find("=()"); at != std::string::npos) listed.erase(at, 3);
    if (takes_out_) listed += keyword_only ? ", out=None" : ", *, out=None";
    doc_ = this->name + "(" + (method ? listed.empty() ? "$self" : "$self, " : "") + listed + ")\n--\n\n" + doc;
}

std::size_t Signature::find(PyObject* key) const {
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        if (parameters_[i].key.ptr() == key) return i;
    for (std::size_t i = 0; i < parameters_.size(); ++i)
        if (PyUnicode_Compare(parameters_[i].key.ptr(), key) == 0) return i;
    // PyTorch takes NumPy's words as well.
    const auto is = [&](const char* text) { return PyUnicode_CompareWithASCIIString(key, text) == 0; };
    const char* const other = is("axis") ? "dim" : is("keepdims") ? "keepdim" : nullptr;
    for (std::size_t i = 0; other && i < parameters_.size(); ++i)
        if (parameters_[i].name == other || (is("axis") && parameters_[i].name == "dims")) return i;
    return parameters_.size();
}

// Keywords of PyTorch's that are no parameters of the function behind. How a tensor lies in memory is Weft's business, so those that
// ask for an order there are only checked.
bool Signature::takes(PyObject* key, PyObject* value, Given& given) const {
    const auto is = [&](const char* text) { return PyUnicode_CompareWithASCIIString(key, text) == 0; };
    const auto check = [&](const char* parameter, const char* type, const char* wanted) {
        if (value != Py_None && type_name(value) != type) wrong_type({shown.c_str(), parameter}, wanted, value);
        return true;
    };
    if (is("out")) {
        if (value == Py_None) return true;  // np.sum(tensor) says that it wants no particular place for the result
        given.out = takes_out_ ? value : nullptr;
        return takes_out_;
    }
    if (is("memory_format")) return formats_ && check("memory_format", "memory_format", "a memory format");
    if (is("layout")) return creates_ && check("layout", "layout", "weft.strided");
    if (is("pin_memory")) return creates_ && check("pin_memory", "bool", "a bool");
    return false;
}

Signature::Given Signature::bind(PyObject* const* arguments, Py_ssize_t given, PyObject* keywords,
                                 PyObject** values) const {
    const std::size_t skip = !parameters_.empty() && parameters_[0].name == "self";  // already in its place
    const std::size_t count = static_cast<std::size_t>(given);
    Given also;
    nb::object& rest = also.rest;
    const bool has_rest = positional_ < parameters_.size() && parameters_[positional_].rest;
    const std::size_t by_position = std::min(count + skip, positional_);
    for (std::size_t i = skip; i < by_position; ++i) values[i] = arguments[i - skip];
    for (std::size_t i = by_position; i < parameters_.size(); ++i) values[i] = nullptr;
    if (count + skip > positional_) {
        if (!has_rest)
            raise(PyExc_TypeError, shown + "() takes at most " + std::to_string(positional_ - skip) +
                                       " positional argument" + (positional_ - skip == 1 ? "" : "s") + ", but " +
                                       std::to_string(count) + (count == 1 ? " was given" : " were given"));
        // view(2, 3) and view((2, 3)) are the same.
        const std::size_t first = positional_ - skip, length = count - first;
        const bool one_sequence = length == 1 && !PyLong_Check(arguments[first]) &&
                                  PySequence_Check(arguments[first]) && !PyUnicode_Check(arguments[first]) &&
                                  !is_tensor(arguments[first]);
        if (one_sequence) {
            rest = nb::borrow(arguments[first]);
        } else {
            rest = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(length)));
            for (std::size_t i = 0; i < length; ++i) {
                Py_INCREF(arguments[first + i]);
                PyTuple_SetItem(rest.ptr(), static_cast<Py_ssize_t>(i), arguments[first + i]);
            }
        }
        values[positional_] = rest.ptr();
    }
    if (keywords) {
        const Py_ssize_t named = PyTuple_Size(keywords);
        for (Py_ssize_t k = 0; k < named; ++k) {
            PyObject* key = PyTuple_GetItem(keywords, k);
            const std::size_t i = find(key);
            if (i == parameters_.size() && takes(key, arguments[given + k], also)) continue;
            if (i == parameters_.size() || (skip && i == 0))
                raise(PyExc_TypeError,
                      shown + "() has no argument named '" + std::string(to_text(key, {shown.c_str(), "?"})) + "'");
            if (values[i]) raise(PyExc_TypeError, shown + "(): argument '" + parameters_[i].name + "' was given twice");
            values[i] = arguments[given + k];
            also.typed = also.typed || (creates_ && parameters_[i].name == "dtype" && values[i] != Py_None);
        }
    }
    for (std::size_t i = skip; i < parameters_.size(); ++i) {
        if (values[i]) continue;
        if (!parameters_[i].fallback.is_valid())
            raise(PyExc_TypeError, shown + "() needs the argument '" + parameters_[i].name + "'");
        values[i] = parameters_[i].fallback.ptr();
    }
    return also;
}

void property(nb::handle type, PyGetSetDef& definition) {
    const nb::object descriptor =
        nb::steal(PyDescr_NewGetSet(reinterpret_cast<PyTypeObject*>(type.ptr()), &definition));
    if (!descriptor.is_valid() || PyObject_SetAttrString(type.ptr(), definition.name, descriptor.ptr()) < 0)
        throw nb::python_error();
}

namespace {

struct Described {
    nb::handle owner;  // modules and types live as long as the process
    std::string name;
    const Signature* signature;
    const char* const* types;
};
std::vector<Described>& descriptions() {
    static auto& all = *new std::vector<Described>;
    return all;
}

}  // namespace

nb::object described_functions() {
    nb::list result;
    for (const auto& [owner, name, signature, types] : descriptions()) {
        nb::list words;
        for (std::size_t i = 0; i <= signature->size(); ++i) words.append(nb::str(types[i]));
        result.append(nb::make_tuple(owner.attr("__name__"), nb::str(name.c_str()), words));
    }
    return result;
}

void alias(nb::handle owner, const char* name, const char* of) {
    const nb::object function = nb::steal(PyObject_GetAttrString(owner.ptr(), of));
    if (!function.is_valid() || PyObject_SetAttrString(owner.ptr(), name, function.ptr()) < 0) throw nb::python_error();
    for (const Described& each : descriptions()) {
        if (each.owner.ptr() != owner.ptr() || each.name != of) continue;
        const Described copy{owner, name, each.signature, each.types};
        descriptions().push_back(copy);
        return;
    }
}

namespace detail {

PyObject* overridden(const std::string& name, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
    const Py_ssize_t positional = PyVectorcall_NARGS(static_cast<std::size_t>(count)),
                     named = keywords ? PyTuple_Size(keywords) : 0;
    const bool any = std::any_of(arguments, arguments + positional + named,
                                 [](PyObject* argument) { return Py_TYPE(argument) == overriding_type; });
    if (!any) return nullptr;
    nb::object given = nb::steal(PyTuple_New(positional)), by_name = nb::steal(PyDict_New());
    for (Py_ssize_t i = 0; i < positional; ++i)
        PyTuple_SetItem(given.ptr(), i, nb::borrow(arguments[i]).release().ptr());
    for (Py_ssize_t i = 0; i < named; ++i)
        PyDict_SetItem(by_name.ptr(), PyTuple_GetItem(keywords, i), arguments[positional + i]);
    const nb::handle type(reinterpret_cast<PyObject*>(overriding_type));
    return type.attr("__weft_function__")(name, given, by_name).release().ptr();
}

void describe(nb::handle owner, const Signature& signature, const char* const* types) {
    descriptions().push_back({owner, signature.name, &signature, types});
}

void add_function(nb::handle module, PyMethodDef& definition) {
    const nb::object name = nb::steal(PyObject_GetAttrString(module.ptr(), "__name__"));
    const nb::object function = nb::steal(PyCFunction_NewEx(&definition, nullptr, name.ptr()));
    if (!function.is_valid() || PyObject_SetAttrString(module.ptr(), definition.ml_name, function.ptr()) < 0)
        throw nb::python_error();
}

void add_method(nb::handle type, PyMethodDef& definition) {
    const nb::object method = nb::steal(PyDescr_NewMethod(reinterpret_cast<PyTypeObject*>(type.ptr()), &definition));
    if (!method.is_valid() || PyObject_SetAttrString(type.ptr(), definition.ml_name, method.ptr()) < 0)
        throw nb::python_error();
}

void check_count(const Signature& signature, std::size_t count) {
    if (signature.size() != count) throw InternalError("the signature of " + signature.name + " has the wrong length");
}

PyCFunction as_c_function(PyObject* (*f)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*)) {
    return reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(f));  // what METH_FASTCALL asks for
}

}  // namespace detail

}  // namespace weft::python
