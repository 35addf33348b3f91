// python/src/errors.h: which Python exception a C++ exception becomes.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>

namespace weft::python {

namespace nb = nanobind;

void raise_from(const std::exception_ptr& error) noexcept;  // sets the Python error

// Runs f; a C++ exception becomes a Python one, and the result null.
template <class F>
PyObject* guarded(F&& f) noexcept {
    try {
        return f();
    } catch (...) {
        raise_from(std::current_exception());
        return nullptr;
    }
}

}  // namespace weft::python
