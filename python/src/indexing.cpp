// python/src/indexing.cpp: x[index] as in PyTorch. Integers, slices, None and … are one view; what remains (tensors, arrays, lists,
// masks) picks elements of that view. Assignment goes the same way: through the view, or by a scatter into it.
#include "indexing.h"

#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/ops.h>
#include <weft/selection.h>

#include <numeric>

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
    if (is_tensor(object)) return tensor_in(object);
    if (has_buffer(object)) return tensor_from_buffer(object, true, kSite);
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

// The axes of the view with the picked ones first; and where the picked axes' result belongs: at the first of them if they
// stand together, else in front.
struct Order {
    Dims axes;
    int place = 0;
};
Order picked_first(int rank, const std::vector<std::pair<int, Tensor>>& picks) {
    Order order;
    std::vector<bool> picked(static_cast<std::size_t>(rank));
    for (const auto& [axis, pick] : picks) {
        order.axes.push_back(axis);
        picked[static_cast<std::size_t>(axis)] = true;
    }
    for (int axis = 0; axis < rank; ++axis)
        if (!picked[static_cast<std::size_t>(axis)]) order.axes.push_back(axis);
    const int first = picks.front().first, last = picks.back().first;
    if (last - first + 1 == static_cast<int>(picks.size())) order.place = first;
    return order;
}

// Moves `count` axes from the front to `place`, or back.
Dims move_block(int rank, int count, int place, bool back) {
    Dims there;
    for (int i = 0; i < place; ++i) there.push_back(count + i);
    for (int i = 0; i < count; ++i) there.push_back(i);
    for (int i = count + place; i < rank; ++i) there.push_back(i);
    if (!back) return there;
    Dims inverse(there.size(), 0);
    for (std::size_t i = 0; i < there.size(); ++i)
        inverse[static_cast<std::size_t>(there[i])] = static_cast<std::int64_t>(i);
    return inverse;
}

Tensor viewed(const Tensor& x, const Taken& taken) { return x.index_by(taken.view); }

std::int64_t product(const Shape& shape, std::size_t from, std::size_t to) {
    return std::accumulate(shape.begin() + from, shape.begin() + to, std::int64_t{1}, std::multiplies<>());
}

}  // namespace

Tensor index_with(const Tensor& x, PyObject* index) {
    if (PyLong_Check(index) && !PyBool_Check(index)) return x[to_int(index, kSite)];
    Taken taken = take_apart(x, index);
    const Tensor view = viewed(x, taken);
    if (taken.mask.defined())
        return without_gil([&] { return select_by_mask(view, taken.mask, taken.picks[0].first); });
    if (taken.picks.empty()) return view;
    if (taken.picks.size() == 1) return take(view, taken.picks[0].second, taken.picks[0].first);
    const Order order = picked_first(view.rank(), taken.picks);
    std::vector<Tensor> picks;
    for (const auto& [axis, pick] : taken.picks) picks.push_back(pick);
    const Tensor result = weft::index(view.permute(order.axes), picks);  // [picked…, rest…]
    const int rest = view.rank() - static_cast<int>(picks.size());
    return order.place == 0 ? result
                            : result.permute(move_block(result.rank(), result.rank() - rest, order.place, false));
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
    const Order order = picked_first(view.rank(), taken.picks);
    Tensor target = view.permute(order.axes);  // [picked…, rest…], a view of x
    const Shape sizes = target.shape();
    const std::size_t count = taken.picks.size();

    // One position in the flattened picked axes; take() counts negative ones from the end and checks them.
    Tensor at;
    for (std::size_t i = 0; i < count; ++i) {
        const Tensor checked = take(arange(sizes[i]), taken.picks[i].second) * product(sizes, i + 1, count);
        at = at.defined() ? at + checked : checked;
    }
    const Shape block = at.shape();
    Shape spread = block;
    for (std::size_t i = count; i < sizes.size(); ++i) spread.push_back(sizes[i]);
    const std::int64_t positions_count = numel(block), rest = product(sizes, count, sizes.size());

    Tensor source = value.is_scalar() ? full({}, value.scalar(), view.dtype()) : value.tensor().to(view.dtype());
    const Dims back = move_block(static_cast<int>(spread.size()), static_cast<int>(block.size()), order.place, true);
    const Dims there = move_block(static_cast<int>(spread.size()), static_cast<int>(block.size()), order.place, false);
    Shape as_read;  // the shape that reading would give, to which the value is broadcast
    for (const std::int64_t axis : there) as_read.push_back(spread[static_cast<std::size_t>(axis)]);
    source = broadcast_to(source, as_read).permute(back).reshape({positions_count, rest});

    Tensor flat = target.reshape({product(sizes, 0, count), rest});
    const Tensor rows = at.reshape({positions_count, 1}).expand({positions_count, rest});
    flat.assign(scatter(flat, 0, rows, source));
}

void bind_indexing(nb::module_& m, nb::handle tensor) {
    both(m, tensor, "index_select", "dim, index", "The slices at a 1-d tensor's indices along an axis.",
         [](const Tensor& x, int dim, const Tensor& index) { return index_select(x, dim, index); });
    both(m, tensor, "gather", "dim, index", "The element at each index along an axis.",
         [](const Tensor& x, int dim, const Tensor& index) { return gather(x, dim, index); });
    both(m, tensor, "take_along_dim", "indices, dim",
         "gather() with broadcasting; negative indices count from the end.",
         [](const Tensor& x, const Tensor& index, int dim) { return take_along_dim(x, index, dim); });
    both(m, tensor, "scatter", "dim, index, src", "A copy with `src` written at the indices along an axis.",
         [](const Tensor& x, int dim, const Tensor& index, const Operand& source) {
             return scatter(x, dim, index, source);
         });
    both(m, tensor, "scatter_add", "dim, index, src", "A copy with `src` added at the indices along an axis.",
         [](const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
             return scatter_add(x, dim, index, source);
         });
    both(m, tensor, "index_add", "dim, index, source",
         "A copy with the slices of `source` added at the indices along an axis.",
         [](const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
             return index_add(x, dim, index, source);
         });
    method(tensor, "scatter_", "dim, index, src", "The same as scatter(), in place.",
           [](nb::handle self, int dim, const Tensor& index, const Operand& source) {
               nb::inst_ptr<Tensor>(self)->assign(scatter(tensor_in(self.ptr()), dim, index, source));
               return nb::borrow(self);
           });
    method(tensor, "scatter_add_", "dim, index, src", "The same as scatter_add(), in place.",
           [](nb::handle self, int dim, const Tensor& index, const Tensor& source) {
               nb::inst_ptr<Tensor>(self)->assign(scatter_add(tensor_in(self.ptr()), dim, index, source));
               return nb::borrow(self);
           });
    method(tensor, "index_add_", "dim, index, source", "The same as index_add(), in place.",
           [](nb::handle self, int dim, const Tensor& index, const Tensor& source) {
               nb::inst_ptr<Tensor>(self)->assign(index_add(tensor_in(self.ptr()), dim, index, source));
               return nb::borrow(self);
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
    function(m, "take", "input, index", "The elements at positions in the flattened tensor.",
             [](const Tensor& x, const Tensor& index) { return take(x.flatten(), index); });
}

}  // namespace weft::python
