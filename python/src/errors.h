// python/src/errors.h: which Python exception a C++ exception becomes.
#pragma once

#include <nanobind/nanobind.h>

#include <exception>
#include <string_view>

namespace weft::python {

namespace nb = nanobind;

// Sets the Python error. A message that does not open with a call gets that of the function, if its name is given.
void raise_from(const std::exception_ptr& error, std::string_view function = {}) noexcept;

// Runs f; a C++ exception becomes a Python one, and the result null.
template <class F>
PyObject* guarded(F&& f, std::string_view function = {}) noexcept {
    try {
        return f();
    } catch (...) {
        raise_from(std::current_exception(), function);
        return nullptr;
    }
}

}  // namespace weft::python
