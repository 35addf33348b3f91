// python/src/errors.cpp: Weft's exceptions in Python. Those that Python has by name are Python's own; a shape or an element type that does
// not fit is both what PyTorch raises (RuntimeError) and what Python would (ValueError, TypeError).
#include "errors.h"

#include "interrupt.h"
#include "topics.h"

#include <weft/error.h>

#include <new>

namespace weft::python {

namespace {

PyObject *shape_error, *dtype_error, *grad_error, *linalg_error, *backend_error;

PyObject* new_error(nb::module_& m, const char* name, const char* doc, nb::object bases) {
    const std::string full = std::string("weft.") + name;
    PyObject* error = PyErr_NewExceptionWithDoc(full.c_str(), doc, bases.ptr(), nullptr);
    if (!error) throw nb::python_error();
    m.attr(name) = nb::handle(error);
    return error;
}

nb::object both_of(PyObject* a, PyObject* b) { return nb::make_tuple(nb::handle(a), nb::handle(b)); }

}  // namespace

void raise_from(const std::exception_ptr& error) noexcept {
    try {
        std::rethrow_exception(error);
    } catch (nb::python_error& e) {
        e.restore();
    } catch (const nb::cast_error&) {
        PyErr_SetString(PyExc_TypeError, "an object could not be converted");
    } catch (const ShapeError& e) {
        PyErr_SetString(shape_error, e.what());
    } catch (const DTypeError& e) {
        PyErr_SetString(dtype_error, e.what());
    } catch (const ValueError& e) {
        PyErr_SetString(PyExc_ValueError, e.what());
    } catch (const IndexError& e) {
        PyErr_SetString(PyExc_IndexError, e.what());
    } catch (const GradError& e) {
        PyErr_SetString(grad_error, e.what());
    } catch (const LinAlgError& e) {
        PyErr_SetString(linalg_error, e.what());
    } catch (const MemoryError& e) {
        PyErr_SetString(PyExc_MemoryError, e.what());
    } catch (const BackendError& e) {
        PyErr_SetString(backend_error, e.what());
    } catch (const IoError& e) {
        PyErr_SetString(PyExc_OSError, e.what());
    } catch (const Interrupted&) {
        raise_interrupt();
    } catch (const std::bad_alloc&) {
        PyErr_SetString(PyExc_MemoryError, "there is not enough memory");
    } catch (const std::exception& e) {
        PyErr_SetString(PyExc_RuntimeError, e.what());
    }
}

void bind_errors(nb::module_& m) {
    shape_error =
        new_error(m, "ShapeError", "Sizes, ranks or axes do not fit.", both_of(PyExc_RuntimeError, PyExc_ValueError));
    dtype_error = new_error(m, "DTypeError", "An op is not defined for this element type.",
                            both_of(PyExc_RuntimeError, PyExc_TypeError));
    grad_error =
        new_error(m, "GradError", "A gradient was asked for where there is none.", nb::borrow(PyExc_RuntimeError));
    linalg_error = new_error(m, "LinAlgError", "A matrix cannot be factored: it is singular, or not positive definite.",
                             nb::borrow(PyExc_RuntimeError));
    backend_error = new_error(m, "BackendError", "A backend cannot run here.", nb::borrow(PyExc_RuntimeError));
    nb::register_exception_translator([](const std::exception_ptr& error, void*) {
        try {
            std::rethrow_exception(error);
        } catch (const Error&) {
            raise_from(error);
        }
    });
}

}  // namespace weft::python
