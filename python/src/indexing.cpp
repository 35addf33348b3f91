// python/src/indexing.cpp: x[index] as in PyTorch. Integers, slices, None and … are one view; what remains (tensors, arrays, lists,
// masks) picks elements of that view. Assignment goes the same way: through the view, or by a scatter into it.
#include "indexing.h"

#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/ops.h>

namespace weft::python {

namespace {

constexpr Site kSite{"x[…]", "index"};

// An index, taken apart: the view, and for axes of the view which elements to pick.
struct Taken {
    std::vector<Index> view;
    std::vector<std::pair<int, Tensor>> picks;  // by axis of the view, ascending
    Tensor mask;                                // if the only pick is one mask: that mask, at picks[0].first
    bool plain() const { return picks.empty() && !mask.defined(); }
};

std::optional<std::int64_t> bound(PyObject* slice, const char* name) {
    const nb::object value = nb::steal(PyObject_GetAttrString(slice, name));
    if (value.is_none()) return {};
    return to_int(value.ptr(), {"x[…]", name});
}

Slice slice_in(PyObject* object) {
    Slice slice{bound(object, "start"), bound(object, "stop"), bound(object, "step").value_or(1)};
    if (slice.step == 0) throw ValueError("x[…]: a slice's step cannot be 0");
    return slice;
}

bool is_whole_number(PyObject* object) {
    if (PyLong_Check(object)) return !PyBool_Check(object);
    return !is_tensor(object) && PyObject_HasAttrString(object, "__index__") &&
           !PyObject_HasAttrString(object, "__len__");
}

std::vector<Tensor> positions(const Tensor& mask) {
    return without_gil([&] { return nonzero_by_axis(mask); });
}

Tensor pick_in(PyObject* object) {
    if (is_tensor(object)) return understood_index(tensor_in(object));
    const bool bytes = PyBytes_Check(object) || PyByteArray_Check(object);  // numbers, as in PyTorch
    if (has_buffer(object) && !bytes) return understood_index(tensor_from_buffer(object, true, kSite));
    const bool sequence = PySequence_Check(object) && !PyUnicode_Check(object);
    if (!sequence)
        raise(PyExc_TypeError,
              "x[…]: an index must be an int, a slice, None, …, a list or a tensor of integers or bools, not " +
                  type_name(object));
    const nb::object list = nb::steal(PySequence_List(object));
    if (!list.is_valid()) throw nb::python_error();
    return PySequence_Size(list.ptr()) == 0 ? zeros({0}, i64) : tensor_from(list.ptr(), {}, kSite);
}

Taken take_apart(const Tensor& x, PyObject* index) {
    nb::object items = PyTuple_Check(index) ? nb::borrow(index) : nb::steal(PyTuple_Pack(1, index));
    struct Item {
        PyObject* object;
        Tensor pick;
    };
    std::vector<Item> all;
    int used = 0;  // axes of x that the items but … take
    for (const nb::handle item : nb::borrow<nb::tuple>(items)) {
        PyObject* object = item.ptr();
        all.push_back({object, {}});
        if (object == Py_None || object == Py_Ellipsis) continue;
        if (!PySlice_Check(object) && !is_whole_number(object)) {
            if (PyBool_Check(object))
                raise(PyExc_TypeError, "x[…]: True and False are no indices; use a tensor of bools");
            Tensor pick = pick_in(object);
            if (!is_tensor(object)) pick = pick.to(x.device());
            if (is_float(pick.dtype()))
                raise(PyExc_IndexError,
                      "x[…]: an index tensor must hold integers or bools, not " + std::string(name_of(pick.dtype())));
            used += is_bool(pick.dtype()) ? pick.rank() : 1;
            all.back().pick = std::move(pick);
        } else {
            ++used;
        }
    }
    Taken taken;
    int masks = 0, picks = 0, axis = 0, source = 0;  // axis: of the view; source: of x
    for (const Item& item : all) {
        if (item.object == Py_None) {
            taken.view.emplace_back(kNewAxis);
            ++axis;
        } else if (item.object == Py_Ellipsis) {
            taken.view.emplace_back(kEllipsis);
            axis += x.rank() - used;
            source += x.rank() - used;
        } else if (item.pick.defined() && is_bool(item.pick.dtype())) {
            for (int k = 0; k < item.pick.rank(); ++k)
                if (source + k >= x.rank() || x.size(source + k) != item.pick.size(k))
                    throw IndexError("x[…]: a mask of the shape " + to_string(item.pick.shape()) +
                                     " does not fit a tensor of the shape " + to_string(x.shape()) + " at axis " +
                                     std::to_string(source));
            if (++masks == 1 && picks == 0) taken.mask = item.pick;
            taken.picks.emplace_back(axis, Tensor());
            for (int k = 0; k < item.pick.rank(); ++k) taken.view.emplace_back(Slice{});
            axis += item.pick.rank();
            source += item.pick.rank();
        } else if (item.pick.defined()) {
            ++picks;
            taken.picks.emplace_back(axis, item.pick);
            taken.view.emplace_back(Slice{});
            ++axis;
            ++source;
        } else if (PySlice_Check(item.object)) {
            taken.view.emplace_back(slice_in(item.object));
            ++axis;
            ++source;
        } else {
            taken.view.emplace_back(to_int(item.object, kSite));
            ++source;
        }
    }
    if (masks == 1 && picks == 0) return taken;
    taken.mask = Tensor();
    std::vector<std::pair<int, Tensor>> picked;
    std::size_t next = 0;
    for (const Item& item : all) {
        if (!item.pick.defined()) continue;
        const auto& [first, pick] = taken.picks[next++];
        if (pick.defined()) {
            picked.emplace_back(first, pick);
        } else {
            int offset = 0;
            for (const Tensor& positions_of_axis : positions(item.pick))
                picked.emplace_back(first + offset++, positions_of_axis);
        }
    }
    taken.picks = std::move(picked);
    return taken;
}

void expand_mask(Taken& taken) {
    if (!taken.mask.defined()) return;
    const int first = taken.picks[0].first;
    taken.picks.clear();
    int offset = 0;
    for (const Tensor& each : positions(std::exchange(taken.mask, Tensor())))
        taken.picks.emplace_back(first + offset++, each);
}

// One tensor for each axis of the view up to the last picked one; undefined: the whole axis.
std::vector<Tensor> by_axis(const Taken& taken) {
    std::vector<Tensor> positions(static_cast<std::size_t>(taken.picks.back().first) + 1);
    for (const auto& [axis, pick] : taken.picks) positions[static_cast<std::size_t>(axis)] = pick;
    return positions;
}

Tensor viewed(const Tensor& x, const Taken& taken) { return x.index_by(taken.view); }

}  // namespace

Tensor understood_index(const Tensor& given) {
    if (given.dtype() != u8) return given;
    if (PyErr_WarnEx(PyExc_UserWarning,
                     "x[…]: an index of uint8 is taken for a mask, as in PyTorch; say so with mask.bool(), or write "
                     "index.long() if it holds positions",
                     1) != 0)
        throw nb::python_error();
    return given != 0;
}

Tensor index_with(const Tensor& x, PyObject* index) {
    if (PyLong_Check(index) && !PyBool_Check(index)) return x[to_int(index, kSite)];
    Taken taken = take_apart(x, index);
    const Tensor view = viewed(x, taken);
    if (taken.mask.defined())
        return without_gil([&] { return select_by_mask(view, taken.mask, taken.picks[0].first); });
    if (taken.picks.empty()) return view;
    if (taken.picks.size() == 1) return take(view, taken.picks[0].second, taken.picks[0].first);
    return weft::index(view, by_axis(taken));
}

void assign_with(Tensor& x, PyObject* index, const Operand& value) {
    Taken taken = take_apart(x, index);
    Tensor view = viewed(x, taken);
    if (taken.plain()) {
        view.assign(value);
        return;
    }
    const bool one_value = value.is_scalar() || value.tensor().numel() == 1;
    if (taken.mask.defined() && one_value) {
        const int after = view.rank() - taken.picks[0].first - taken.mask.rank();
        Tensor mask = taken.mask;
        for (int i = 0; i < after; ++i) mask = mask.unsqueeze(-1);
        if (value.is_scalar()) view.assign(masked_fill(view, mask, value));
        else view.assign(masked_fill(view, mask, value.tensor().reshape({}).to(view.dtype())));
        return;
    }
    expand_mask(taken);
    if (taken.picks.empty()) return;
    const Operand& source = value;
    if (source.is_scalar() || source.tensor().dtype() == view.dtype())
        view.assign(index_put(view, by_axis(taken), source));
    else view.assign(index_put(view, by_axis(taken), source.tensor().to(view.dtype())));
}

void bind_indexing(nb::module_& m, nb::module_& f, nb::handle tensor) {
    both(m, tensor, "index_select", "dim, index", "The slices at a 1-d tensor's indices along an axis.",
         [](const Tensor& x, int dim, const Tensor& index) { return index_select(x, dim, index); });
    both(m, tensor, "gather", "dim, index", "The element at each index along an axis.",
         [](const Tensor& x, int dim, const Tensor& index) { return gather(x, dim, index); });
    both(m, tensor, "take_along_dim", "indices, dim=None",
         "gather() with broadcasting; negative indices count from the end. Without an axis both are flattened.",
         [](const Tensor& x, const Tensor& index, std::optional<int> dim) {
             return dim ? take_along_dim(x, index, *dim) : take_along_dim(x.flatten(), index.flatten(), 0);
         });
    both(m, tensor, "nonzero", "*, as_tuple=False", "Where the elements are not 0. Runs the graph.",
         [](const Tensor& x, bool as_tuple) -> nb::object {
             if (as_tuple && x.rank() > 0) return nb::steal(to_python(positions(x)));
             const Tensor found = without_gil([&] { return nonzero(x); });
             if (!as_tuple) return nb::steal(to_python(found));
             return nb::make_tuple(nb::steal(to_python(zeros({found.size(0)}, i64))));  // of a number: as of [number]
         });
    both(m, tensor, "masked_select", "mask", "The elements where the mask holds. Runs the graph.",
         [](const Tensor& x, const Tensor& mask) { return without_gil([&] { return masked_select(x, mask); }); });
    both(m, tensor, "argwhere", "", "Where the elements are not 0, a row each. Runs the graph.",
         [](const Tensor& x) { return without_gil([&] { return nonzero(x); }); });
    both(m, tensor, "take", "index, *, dim=None",
         "The elements at positions in the flattened tensor, or along an axis; negative positions count from the end.",
         [](const Tensor& x, const Tensor& index, std::optional<int> dim) {
             return dim ? take(x, index, *dim) : take(x.flatten(), index);
         });
    function(f, "one_hot", "tensor, num_classes=-1", "1 at the index, else 0, along a new last axis.",
             [](const Tensor& index, std::int64_t classes) {
                 return one_hot(index, classes < 0 ? max(index).item<std::int64_t>() + 1 : classes);
             });
}

}  // namespace weft::python
