// python/src/scatter.cpp: writes at indices that are data, as functions, methods and in-place methods.
#include "arguments.h"
#include "indexing.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/ops.h>

namespace weft::python {

namespace {

ScatterReduce reduce_in(const Site& site, std::string_view name, bool with_sum) {
    if (name == "sum" && with_sum) return ScatterReduce::Sum;
    if (name == "prod") return ScatterReduce::Prod;
    if (name == "mean") return ScatterReduce::Mean;
    if (name == "amax") return ScatterReduce::Max;
    if (name == "amin") return ScatterReduce::Min;
    throw ValueError(std::string(site.function) + "(): argument 'reduce' must be " + (with_sum ? "'sum', " : "") +
                     "'prod', 'mean', 'amax' or 'amin', not '" + std::string(name) + "'");
}

// name(…), Tensor.name(…) and Tensor.name_(…), whose first parameter is the tensor.
template <class F, class R, class... A>
void in_place(nb::handle t, const char* name, const char* parameters, F, R (F::*)(const Tensor&, A...) const) {
    method(t, (std::string(name) + "_").c_str(), parameters, "The same, in place.",
           [](nb::handle self, A... arguments) {
               nb::inst_ptr<Tensor>(self)->assign(F()(tensor_in(self.ptr()), arguments...));
               return nb::borrow(self);
           });
}

template <class F>
void all_three(nb::module_& m, nb::handle t, const char* name, const char* parameters, const char* doc, F f) {
    both(m, t, name, parameters, doc, f);
    in_place(t, name, parameters, f, &F::operator());
}

// scatter(dim, index, src), scatter(dim, index, value=…) and both with reduce='add' or 'multiply'.
Tensor scattered(const Tensor& x, int dim, const Tensor& index, nb::handle source, nb::handle value,
                 std::optional<std::string_view> reduce) {
    if (source.is_none() == value.is_none())
        raise(PyExc_TypeError, "scatter() needs one of the arguments 'src' and 'value'");
    const OperandHolder holder((source.is_none() ? value : source).ptr(),
                               {"scatter", source.is_none() ? "value" : "src"});
    const Operand given = holder.get();
    if (!reduce) return scatter(x, dim, index, given);
    if (*reduce != "add" && *reduce != "multiply")
        throw ValueError("scatter(): argument 'reduce' must be 'add' or 'multiply', not '" + std::string(*reduce) +
                         "'");
    const Tensor values = given.is_scalar() ? full(index.shape(), given.scalar(), x.dtype()) : given.tensor();
    return scatter_reduce(x, dim, index, values, *reduce == "add" ? ScatterReduce::Sum : ScatterReduce::Prod);
}

std::vector<Tensor> positions_in(const std::vector<MaybeTensor>& indices) {
    std::vector<Tensor> positions;
    for (const MaybeTensor& each : indices)
        positions.push_back(each.tensor.defined() ? understood_index(each.tensor) : Tensor());
    return positions;
}

void bind_elements(nb::module_& m, nb::handle t) {
    all_three(m, t, "scatter", "dim, index, src=None, *, value=None, reduce=None",
              "A copy with `src` (or a number) written, added or multiplied at the indices along an axis.",
              [](const Tensor& x, int dim, const Tensor& index, nb::handle source, nb::handle value,
                 std::optional<std::string_view> reduce) { return scattered(x, dim, index, source, value, reduce); });
    all_three(m, t, "scatter_add", "dim, index, src", "A copy with `src` added at the indices along an axis.",
              [](const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
                  return scatter_add(x, dim, index, source);
              });
    all_three(m, t, "scatter_reduce", "dim, index, src, reduce, *, include_self=True",
              "A copy with all that meet at an index joined: 'sum', 'prod', 'mean', 'amax' or 'amin'.",
              [](const Tensor& x, int dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                 bool include_self) {
                  return scatter_reduce(x, dim, index, source, reduce_in({"scatter_reduce", "reduce"}, reduce, true),
                                        include_self);
              });
    all_three(m, t, "index_put", "indices, values, accumulate=False",
              "A copy with `values` written (or added) at x[indices]; masks run the graph.",
              [](const Tensor& x, const std::vector<MaybeTensor>& indices, const Operand& values, bool accumulate) {
                  const std::vector<Tensor> positions = positions_in(indices);
                  return without_gil([&] { return index_put(x, positions, values, accumulate); });
              });
    all_three(m, t, "put", "index, source, accumulate=False",
              "A copy with `source` written (or added) at positions in the flattened tensor.",
              [](const Tensor& x, const Tensor& index, const Tensor& source, bool accumulate) {
                  return put(x, index, source, accumulate);
              });
    all_three(
        m, t, "masked_scatter", "mask, source", "A copy with the elements of `source` where the mask holds, in order.",
        [](const Tensor& x, const Tensor& mask, const Tensor& source) { return masked_scatter(x, mask, source); });
}

void bind_slices(nb::module_& m, nb::handle t) {
    all_three(m, t, "index_add", "dim, index, source, *, alpha=1",
              "A copy with alpha times the slices of `source` added at the indices along an axis.",
              [](const Tensor& x, int dim, const Tensor& index, const Tensor& source, Scalar alpha) {
                  return index_add(x, dim, index, source, alpha);
              });
    all_three(m, t, "index_copy", "dim, index, source",
              "A copy with the slices of `source` written at the indices along an axis.",
              [](const Tensor& x, int dim, const Tensor& index, const Tensor& source) {
                  return index_copy(x, dim, index, source);
              });
    all_three(m, t, "index_fill", "dim, index, value", "A copy with a number written at the indices along an axis.",
              [](const Tensor& x, int dim, const Tensor& index, const Operand& value) {
                  return index_fill(x, dim, index, value);
              });
    all_three(m, t, "index_reduce", "dim, index, source, reduce, *, include_self=True",
              "A copy with all slices that meet at an index joined: 'prod', 'mean', 'amax' or 'amin'.",
              [](const Tensor& x, int dim, const Tensor& index, const Tensor& source, std::string_view reduce,
                 bool include_self) {
                  return index_reduce(x, dim, index, source, reduce_in({"index_reduce", "reduce"}, reduce, false),
                                      include_self);
              });
    both(m, t, "select_scatter", "src, dim, index", "A copy with one slice along an axis replaced.",
         [](const Tensor& x, const Tensor& source, int dim, std::int64_t index) {
             return select_scatter(x, source, dim, index);
         });
    both(m, t, "slice_scatter", "src, dim=0, start=None, end=None, step=1",
         "A copy with a slice along an axis replaced.",
         [](const Tensor& x, const Tensor& source, int dim, std::optional<std::int64_t> start,
            std::optional<std::int64_t> end, std::int64_t step) {
             return slice_scatter(x, source, dim, {start, end, step});
         });
    both(m, t, "diagonal_scatter", "src, offset=0, dim1=0, dim2=1", "A copy with a diagonal replaced.",
         [](const Tensor& x, const Tensor& source, std::int64_t offset, int a, int b) {
             return diagonal_scatter(x, source, offset, a, b);
         });
}

}  // namespace

void bind_scatter(nb::module_& m, nb::handle tensor) {
    bind_elements(m, tensor);
    bind_slices(m, tensor);
}

}  // namespace weft::python
