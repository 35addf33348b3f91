// python/src/operators.cpp: x + y, x < y, x @ y, -x, x += y, len(x), x[i] … as slots of the type, which is the shortest way from
// Python's interpreter to an op. An operand that is neither a tensor nor a number leaves the answer to the other side.
#include "operators.h"

#include "arguments.h"
#include "buffer.h"
#include "indexing.h"
#include "interrupt.h"

#include <weft/ops.h>

namespace weft::python {

namespace {

PyObject* not_implemented() {
    Py_INCREF(Py_NotImplemented);
    return Py_NotImplemented;
}

using Binary = Tensor (*)(const Operand&, const Operand&);

template <Binary op>
PyObject* binary_slot(PyObject* a, PyObject* b) {
    return guarded([&] {
        OperandHolder left, right;
        if (!OperandHolder::make(a, left) || !OperandHolder::make(b, right)) return not_implemented();
        return to_python(op(left.get(), right.get()));
    });
}

PyObject* power(PyObject* a, PyObject* b, PyObject*) { return binary_slot<pow>(a, b); }

PyObject* matrix_product(PyObject* a, PyObject* b) {
    return guarded([&] {
        if (!is_tensor(a) || !is_tensor(b)) return not_implemented();
        PyObject* values[] = {a, b};
        const CastArguments casts(Cast::Lower, values, 2);
        return to_python(matmul(tensor_in(values[0]), tensor_in(values[1])));
    });
}

PyObject* compare(PyObject* a, PyObject* b, int which) {
    switch (which) {
        case Py_EQ: return binary_slot<eq>(a, b);
        case Py_NE: return binary_slot<ne>(a, b);
        case Py_LT: return binary_slot<lt>(a, b);
        case Py_LE: return binary_slot<le>(a, b);
        case Py_GT: return binary_slot<gt>(a, b);
        default: return binary_slot<ge>(a, b);
    }
}

template <Tensor (*op)(const Tensor&)>
PyObject* unary_slot(PyObject* a) {
    return guarded([&] { return to_python(op(tensor_in(a))); });
}
PyObject* same(PyObject* a) {
    Py_INCREF(a);
    return a;
}

template <Tensor& (Tensor::*op)(const Operand&)>
PyObject* in_place_slot(PyObject* a, PyObject* b) {
    return guarded([&] {
        OperandHolder right;
        if (!OperandHolder::make(b, right)) return not_implemented();
        (nb::inst_ptr<Tensor>(a)->*op)(right.get());
        return same(a);
    });
}

// In-place forms that C++ has no name for: the tensor keeps its type, so the result must have it.
template <Binary op>
PyObject* in_place_slot_by(PyObject* a, PyObject* b) {
    return guarded([&] {
        OperandHolder right;
        if (!OperandHolder::make(b, right)) return not_implemented();
        Tensor& target = *nb::inst_ptr<Tensor>(a);
        const Tensor result = op(target, right.get());
        if (result.dtype() != target.dtype())
            throw DTypeError("an in-place op cannot store " + std::string(name_of(result.dtype())) +
                             " in a tensor of " + std::string(name_of(target.dtype())));
        target.assign(result);
        return same(a);
    });
}
PyObject* in_place_power(PyObject* a, PyObject* b, PyObject*) { return in_place_slot_by<pow>(a, b); }
PyObject* in_place_matmul(PyObject* a, PyObject* b) {
    return guarded([&] {
        if (!is_tensor(b)) return not_implemented();
        nb::inst_ptr<Tensor>(a)->assign(matmul(tensor_in(a), tensor_in(b)));
        return same(a);
    });
}

int as_bool(PyObject* a) {
    bool value = false;
    const bool ok = guarded([&] {
        const Tensor tensor = tensor_in(a);
        value = without_gil([&] { return static_cast<bool>(tensor); });
        return Py_None;
    });
    return ok ? value : -1;
}

Py_ssize_t length(PyObject* a) {
    Py_ssize_t size = -1;
    guarded([&] {
        const Shape shape = tensor_in(a).shape();
        if (shape.empty()) raise(PyExc_TypeError, "len() of a 0-d tensor");
        size = shape[0];
        return Py_None;
    });
    return size;
}

PyObject* iterate(PyObject* a) {
    return guarded([&] {
        const Tensor& tensor = tensor_in(a);
        if (tensor.rank() == 0) raise(PyExc_TypeError, "iteration over a 0-d tensor");
        std::vector<Tensor> items;
        for (std::int64_t i = 0; i < tensor.size(0); ++i) items.push_back(tensor[i]);
        const nb::object tuple = nb::steal(to_python(items));
        return PyObject_GetIter(tuple.ptr());
    });
}

PyObject* get_item(PyObject* a, PyObject* index) {
    return guarded([&] { return to_python(index_with(tensor_in(a), index)); });
}

int set_item(PyObject* a, PyObject* index, PyObject* value) {
    return guarded([&] {
        if (!value) raise(PyExc_TypeError, "a tensor's elements cannot be deleted");
        const OperandHolder source(value, {"__setitem__", "value"});
        assign_with(*nb::inst_ptr<Tensor>(a), index, source.get());
        return Py_None;
    })
               ? 0
               : -1;
}

// One element as a Python number of the kind that the caller asked for.
PyObject* as_number(PyObject* a, bool whole) {
    return guarded([&] {
        const nb::object value = nb::steal(PyObject_CallMethod(a, "item", nullptr));
        if (!value.is_valid()) throw nb::python_error();
        return whole ? PyNumber_Long(value.ptr()) : PyNumber_Float(value.ptr());
    });
}
PyObject* as_int(PyObject* a) { return as_number(a, true); }
PyObject* as_float(PyObject* a) { return as_number(a, false); }
PyObject* as_index(PyObject* a) {
    return guarded([&] {
        const Tensor& tensor = tensor_in(a);
        if (is_float(tensor.dtype()) || tensor.numel() != 1)
            raise(PyExc_TypeError, "only integer tensors of a single element can be used as an index");
        return as_number(a, true);
    });
}

Py_hash_t hash(PyObject* a) { return static_cast<Py_hash_t>(reinterpret_cast<std::uintptr_t>(a) >> 4); }

template <class F>
PyType_Slot slot(int id, F* function) {
    return {id, reinterpret_cast<void*>(function)};
}

}  // namespace

const PyType_Slot* tensor_slots() {
    static const PyType_Slot slots[] = {
        slot(Py_nb_add, binary_slot<add>),
        slot(Py_nb_subtract, binary_slot<sub>),
        slot(Py_nb_multiply, binary_slot<mul>),
        slot(Py_nb_true_divide, binary_slot<div>),
        slot(Py_nb_floor_divide, binary_slot<floor_divide>),
        slot(Py_nb_remainder, binary_slot<remainder>),
        slot(Py_nb_power, power),
        slot(Py_nb_matrix_multiply, matrix_product),
        slot(Py_nb_and, binary_slot<bitwise_and>),
        slot(Py_nb_or, binary_slot<bitwise_or>),
        slot(Py_nb_xor, binary_slot<bitwise_xor>),
        slot(Py_nb_lshift, binary_slot<shift_left>),
        slot(Py_nb_rshift, binary_slot<shift_right>),
        slot(Py_nb_negative, unary_slot<neg>),
        slot(Py_nb_positive, same),
        slot(Py_nb_invert, unary_slot<bitwise_not>),
        slot(Py_nb_absolute, unary_slot<abs>),
        slot(Py_nb_inplace_add, in_place_slot<&Tensor::add_>),
        slot(Py_nb_inplace_subtract, in_place_slot<&Tensor::sub_>),
        slot(Py_nb_inplace_multiply, in_place_slot<&Tensor::mul_>),
        slot(Py_nb_inplace_true_divide, in_place_slot<&Tensor::div_>),
        slot(Py_nb_inplace_floor_divide, in_place_slot_by<floor_divide>),
        slot(Py_nb_inplace_remainder, in_place_slot_by<remainder>),
        slot(Py_nb_inplace_power, in_place_power),
        slot(Py_nb_inplace_matrix_multiply, in_place_matmul),
        slot(Py_nb_inplace_and, in_place_slot_by<bitwise_and>),
        slot(Py_nb_inplace_or, in_place_slot_by<bitwise_or>),
        slot(Py_nb_inplace_xor, in_place_slot_by<bitwise_xor>),
        slot(Py_nb_inplace_lshift, in_place_slot_by<shift_left>),
        slot(Py_nb_inplace_rshift, in_place_slot_by<shift_right>),
        slot(Py_nb_bool, as_bool),
        slot(Py_nb_int, as_int),
        slot(Py_nb_float, as_float),
        slot(Py_nb_index, as_index),
        slot(Py_tp_richcompare, compare),
        slot(Py_tp_hash, hash),
        slot(Py_tp_iter, iterate),
        slot(Py_mp_length, length),
        slot(Py_mp_subscript, get_item),
        slot(Py_mp_ass_subscript, set_item),
        slot(Py_bf_getbuffer, export_buffer),
        slot(Py_bf_releasebuffer, release_buffer),
        {0, nullptr},
    };
    return slots;
}

}  // namespace weft::python
