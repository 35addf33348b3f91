// python/src/errors.cpp: Weft's exceptions in Python. Those that Python has by name are Python's own; a shape, an element type or a value that
// does not fit is both what PyTorch raises (RuntimeError) and what Python would (ValueError, TypeError).
#include "errors.h"

#include "interrupt.h"
#include "topics.h"

#include <weft/error.h>
#include <weft/io.h>

#include <algorithm>
#include <cctype>
#include <cerrno>
#include <new>
#include <string>

namespace weft::python {

namespace {

PyObject *shape_error, *dtype_error, *argument_error, *grad_error, *linalg_error, *backend_error, *memory_error;

PyObject* new_error(nb::module_& m, const char* name, const char* doc, nb::object bases) {
    const std::string full = std::string("weft.") + name;
    PyObject* error = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr);
    if (!error) throw nb::python_error();
    m.attr(name) = nb::handle(error);
    return error;
}

nb::object both_of(PyObject* a, PyObject* b) { return nb::make_tuple(nb::handle(a), nb::handle(b)); }

// "matmul(…): …", "x[…]: …" and "WEFT_THREADS=x: …" say already what they are about.
bool opens_with_call(std::string_view text) {
    const auto in_name = [](char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '.'; };
    const auto end = std::find_if_not(text.begin(), text.end(), in_name);
    return text.starts_with("WEFT_") || (end != text.begin() && end != text.end() && (*end == '(' || *end == '['));
}

void raise_about(PyObject* type, std::string_view function, const std::exception& error) {
    const std::string_view text = error.what();
    const bool complete = function.empty() || opens_with_call(text);
    PyErr_SetString(type, complete ? error.what() : (std::string(function) + "(): " + std::string(text)).c_str());
}

// As Python's own functions for files raise them, but with our sentence alone as the text.
void raise_file_error(const io::FileError& error) {
    PyObject* const type = error.code == ENOENT                          ? PyExc_FileNotFoundError
                           : error.code == EACCES || error.code == EPERM ? PyExc_PermissionError
                           : error.code == EISDIR                        ? PyExc_IsADirectoryError
                           : error.code == ENOTDIR                       ? PyExc_NotADirectoryError
                                                                         : PyExc_OSError;
    const nb::object raised = nb::steal(PyObject_CallFunction(type, "s", error.what()));
    if (!raised.is_valid()) return;
    raised.attr("errno") = error.code;
    PyErr_SetObject(type, raised.ptr());
}

}  // namespace

void raise_from(const std::exception_ptr& error, std::string_view function) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (nb::python_error& e) {
        e.restore();
    } catch (const nb::cast_error&) {
        PyErr_SetString(PyExc_TypeError, "an object could not be converted");
    } catch (const ShapeError& e) {
        raise_about(shape_error, function, e);
    } catch (const DTypeError& e) {
        raise_about(dtype_error, function, e);
    } catch (const ValueError& e) {
        raise_about(argument_error, function, e);
    } catch (const IndexError& e) {
        raise_about(PyExc_IndexError, function, e);
    } catch (const GradError& e) {
        PyErr_SetString(grad_error, e.what());
    } catch (const LinAlgError& e) {
        PyErr_SetString(linalg_error, e.what());
    } catch (const MemoryError& e) {
        raise_about(memory_error, function, e);
    } catch (const BackendError& e) {
        PyErr_SetString(backend_error, e.what());
    } catch (const io::FileError& e) {
        raise_file_error(e);
    } catch (const IoError& e) {
        PyErr_SetString(PyExc_OSError, e.what());
    } catch (const Interrupted&) {
        raise_interrupt();
    } catch (const std::bad_alloc&) {
        PyErr_SetString(
            memory_error,
            (std::string(function) + (function.empty() ? "" : "(): ") + "there is not enough memory").c_str());
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    }
}

void bind_errors(nb::module_& m) {
    shape_error =
        new_error(m, "ShapeError", "Sizes, ranks or axes do not fit.", both_of(PyExc_RuntimeError, PyExc_ValueError));
    dtype_error = new_error(m, "DTypeError", "An op is not defined for this element type.",
                            both_of(PyExc_RuntimeError, PyExc_TypeError));
    argument_error = new_error(m, "ArgumentError", "An argument has a value that the function does not take.",
                               both_of(PyExc_RuntimeError, PyExc_ValueError));
    grad_error =
        new_error(m, "GradError", "A gradient was asked for where there is none.", nb::borrow(PyExc_RuntimeError));
    linalg_error = new_error(m, "LinAlgError", "A matrix cannot be factored: it is singular, or not positive definite.",
                             nb::borrow(PyExc_RuntimeError));
    backend_error = new_error(m, "BackendError", "A backend cannot run here.", nb::borrow(PyExc_RuntimeError));
    memory_error = new_error(m, "OutOfMemoryError", "The CPU or a GPU has no memory left.",
                             both_of(PyExc_RuntimeError, PyExc_MemoryError));
    nb::register_exception_translator([](const std::exception_ptr& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (const Error&) {
            raise_from(error);
        }
    });
}

}  // namespace weft::python
