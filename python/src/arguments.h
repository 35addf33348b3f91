// python/src/arguments.h: how a C++ function becomes a Python function. `function(m, "softmax", "input, dim=-1", doc, f)` reads names
// and defaults from the signature and types from f's parameters; whatever does not fit raises TypeError in one sentence that names
// the function and the argument. (nanobind's own functions would list C++ overloads instead, and take longer per call.)
#pragma once

#include "autocast.h"
#include "convert.h"
#include "errors.h"
#include "type_names.h"

#include <nanobind/nanobind.h>
#include <weft/tensor.h>

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace weft::python {

namespace nb = nanobind;

// A parsed signature: "input, dim=None, *, dtype=None". "*size" takes all positional arguments that are left;
// "*args=()" may get none.
class Signature {
public:
    Signature(std::string name, const char* parameters, const char* doc, bool method, bool takes_out = false);

    // What a call has given besides the parameters. The caller keeps it while it uses the values.
    struct Given {
        nb::object rest;          // the tuple of "*size", or nothing
        PyObject* out = nullptr;  // where the result is to be written; null: nowhere
        bool typed = false;       // `dtype` was given
    };

    // Puts each argument where its parameter stands, and defaults elsewhere. Throws python_error (TypeError).
    Given bind(PyObject* const* arguments, Py_ssize_t count, PyObject* keywords, PyObject** values) const;

    // The result (a new reference) as the call wants it: itself, or `out` with the result written into it.
    PyObject* finished(PyObject* result, const Given& given) const {
        return given.out ? written(result, given) : result;
    }

    const std::string name;
    const std::string shown;  // in messages: "clip_grad_norm_" where the package calls _clip_grad_norm_
    const Cast cast;          // what autocast does with its arguments
    std::size_t size() const { return parameters_.size(); }
    const char* parameter(std::size_t i) const { return parameters_[i].name.c_str(); }
    const char* doc() const { return doc_.c_str(); }

private:
    struct Parameter {
        std::string name;
        nb::object key, fallback;  // the interned name; null: required
        bool keyword_only = false, rest = false;
    };
    std::size_t find(PyObject* key) const;
    bool takes(PyObject* key, PyObject* value, Given& given) const;
    PyObject* written(PyObject* result, const Given& given) const;
    std::vector<Parameter> parameters_;
    std::size_t positional_ = 0;                          // how many may be given by position
    bool takes_out_, creates_ = false, formats_ = false;  // `out`; `layout` and `pin_memory`; `memory_format`
    std::string doc_;
};

namespace detail {

// What a function takes and gives, in Python's words, for the stubs (tools/make_stubs.py): by parameter, then the result.
void describe(nb::handle owner, const Signature& signature, const char* const* types);

template <class F>
struct Callee : Callee<decltype(&F::operator())> {};
template <class F, class R, class... A>
struct Callee<R (F::*)(A...) const> {
    static constexpr std::size_t kCount = sizeof...(A);
    static constexpr const char* kTypes[] = {TypeName<std::remove_cvref_t<A>>::value...,
                                             TypeName<std::remove_cvref_t<R>>::value};
    template <class Function>
    static PyObject* call(const Signature& signature, PyObject** values) {
        return call<Function>(signature, values, std::index_sequence_for<A...>());
    }

private:
    template <class Function, std::size_t... I>
    static PyObject* call(const Signature& signature, [[maybe_unused]] PyObject** values, std::index_sequence<I...>) {
        // Holders first: an Operand points to what its holder keeps.
        std::tuple<Converter<std::remove_cvref_t<A>>...> holders{
            Converter<std::remove_cvref_t<A>>(values[I], Site{signature.shown.c_str(), signature.parameter(I)})...};
        if constexpr (std::is_void_v<R>) {
            Function()(std::get<I>(holders).get()...);
            return nb::none().release().ptr();
        } else {
            return to_python(Function()(std::get<I>(holders).get()...));
        }
    }
};

// Objects of this type take functions over that they are given to: sparse tensors. Null until one can be made.
inline PyTypeObject* overriding_type = nullptr;

// What such an argument makes of a call: type.__weft_function__(name, arguments, keywords). Null: there is none among them.
PyObject* overridden(const std::string& name, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords);

// One function per lambda type, so that Python's own function and method objects serve, without a closure.
template <class F>
struct Trampoline {
    static inline const Signature* as_function = nullptr;
    static inline const Signature* as_method = nullptr;
    static inline PyMethodDef function_definition, method_definition;

    static PyObject* function(PyObject*, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
        return guarded(
            [&] {
                if (overriding_type)
                    if (PyObject* result = overridden(as_function->name, arguments, count, keywords)) return result;
                PyObject* values[Callee<F>::kCount + 1];
                const Signature::Given given = as_function->bind(arguments, count, keywords, values);
                const CastArguments casts(as_function->cast, values, Callee<F>::kCount);
                return as_function->finished(Callee<F>::template call<F>(*as_function, values), given);
            },
            as_function->shown);
    }
    static PyObject* method(PyObject* self, PyObject* const* arguments, Py_ssize_t count, PyObject* keywords) {
        return guarded(
            [&] {
                PyObject* values[Callee<F>::kCount + 1];
                values[0] = self;
                const Signature::Given given = as_method->bind(arguments, count, keywords, values);
                const CastArguments casts(as_method->cast, values, Callee<F>::kCount);
                return Callee<F>::template call<F>(*as_method, values);
            },
            as_method->shown);
    }
};

void add_function(nb::handle module, PyMethodDef& definition);
void add_method(nb::handle type, PyMethodDef& definition);
void check_count(const Signature& signature, std::size_t count);
bool takes_out(nb::handle module, std::string_view name);  // whether PyTorch's function has `out`
PyCFunction as_c_function(PyObject* (*f)(PyObject*, PyObject* const*, Py_ssize_t, PyObject*));

}  // namespace detail

// All functions and methods, as (where, name, types of the parameters and of the result).
nb::object described_functions();

void property(nb::handle type, PyGetSetDef& definition);  // type.name as the definition says, which lives on

// module.name(parameters…). The parameter list of f and the signature must have the same length.
template <class F>
void function(nb::handle module, const char* name, const char* parameters, const char* doc, F) {
    using Trampoline = detail::Trampoline<F>;
    Trampoline::as_function = new Signature(name, parameters, doc, false, detail::takes_out(module, name));
    detail::check_count(*Trampoline::as_function, detail::Callee<F>::kCount);
    Trampoline::function_definition = {Trampoline::as_function->name.c_str(),
                                       detail::as_c_function(&Trampoline::function), METH_FASTCALL | METH_KEYWORDS,
                                       Trampoline::as_function->doc()};
    detail::add_function(module, Trampoline::function_definition);
    detail::describe(module, *Trampoline::as_function, detail::Callee<F>::kTypes);
}

// type.name(self, parameters…): f's first parameter is self, which the signature leaves out.
template <class F>
void method(nb::handle type, const char* name, const char* parameters, const char* doc, F) {
    using Trampoline = detail::Trampoline<F>;
    Trampoline::as_method = new Signature(name, parameters, doc, true);
    detail::check_count(*Trampoline::as_method, detail::Callee<F>::kCount);
    Trampoline::method_definition = {Trampoline::as_method->name.c_str(), detail::as_c_function(&Trampoline::method),
                                     METH_FASTCALL | METH_KEYWORDS, Trampoline::as_method->doc()};
    detail::add_method(type, Trampoline::method_definition);
    detail::describe(type, *Trampoline::as_method, detail::Callee<F>::kTypes);
}

// Both: weft.exp(input) and Tensor.exp(). `parameters` leaves the first one out, which is `input` in the function.
template <class F>
void both(nb::handle module, nb::handle type, const char* name, const char* parameters, const char* doc, F f) {
    const std::string all = *parameters ? std::string("input, ") + parameters : "input";
    function(module, name, all.c_str(), doc, f);
    method(type, name, parameters, doc, f);
}

// owner.name is owner.of, a function or a method that is bound; the stubs know it by both names.
void alias(nb::handle owner, const char* name, const char* of);

}  // namespace weft::python
