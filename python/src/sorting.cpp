// python/src/sorting.cpp: order, ranks and search.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/ops.h>
#include <weft/sorting.h>
#include <weft/statistics.h>

#include <array>

namespace weft::python {
namespace {

Between between_of(std::string_view name, const char* function) {
    constexpr std::pair<std::string_view, Between> kNames[] = {{"linear", Between::Linear},
                                                               {"lower", Between::Lower},
                                                               {"higher", Between::Higher},
                                                               {"nearest", Between::Nearest},
                                                               {"midpoint", Between::Midpoint}};
    for (const auto& [text, value] : kNames)
        if (text == name) return value;
    throw ValueError(std::string(function) +
                     "(): argument 'interpolation' must be 'linear', 'lower', 'higher', 'nearest' or 'midpoint'");
}

// q is a number, or a tensor that is read: a 0-d one counts as a number.
using Many = Tensor (*)(const Tensor&, std::span<const double>, std::optional<int>, bool, Between);
using One = Tensor (*)(const Tensor&, double, std::optional<int>, bool, Between);
using At = Tensor (*)(const Tensor&, const Tensor&, std::optional<int>, bool, Between);
template <Many many, One one, At at>
void bind_quantile(nb::module_& m, nb::handle t, const char* name, const char* doc) {
    both(m, t, name, "q, dim=None, keepdim=False, *, interpolation='linear'", doc,
         [](const Tensor& x, const Operand& q, std::optional<int> dim, bool keepdim, std::string_view interpolation) {
             const Between between = between_of(interpolation, "quantile");
             if (q.is_scalar()) return one(x, q.scalar().as_double(), dim, keepdim, between);
             if (q.tensor().rank() > 1) throw ValueError("quantile(): argument 'q' must be a number or a 1-d tensor");
             if (q.tensor().requires_grad() && grad_enabled())
                 return without_gil([&] { return at(x, q.tensor(), dim, keepdim, between); });
             const std::vector<double> values =
                 without_gil([&] { return q.tensor().detach().to(f64).to_vector<double>(); });
             if (q.tensor().rank() == 0) return one(x, values[0], dim, keepdim, between);
             return many(x, values, dim, keepdim, between);
         });
}

template <ValuesAndIndices (*f)(const Tensor&, int, bool)>
void bind_middle(nb::module_& m, nb::handle t, const char* name, const char* doc) {
    both(m, t, name, "dim=None, keepdim=False", doc, [](const Tensor& x, std::optional<int> dim, bool keepdim) {
        if (dim) return nb::steal(to_python(f(x, *dim, keepdim)));
        return nb::steal(to_python(f(x.reshape({-1}), 0, false).values));
    });
}

nb::object unique_results(const Unique& found, bool inverse, bool counts) {
    std::vector<Tensor> results{found.values};
    if (inverse) results.push_back(found.inverse);
    if (counts) results.push_back(found.counts);
    return nb::steal(results.size() == 1 ? to_python(results[0]) : to_python(results));
}

Tensor in_order(const Tensor& sorted, const MaybeTensor& sorter) {
    return sorter.tensor.defined() ? take_along_dim(sorted, sorter.tensor, -1) : sorted;
}

bool right_side(bool right, std::optional<std::string_view> side) {
    if (!side) return right;
    if (*side != "left" && *side != "right")
        throw ValueError("searchsorted(): argument 'side' must be 'left' or 'right'");
    if (right && *side == "left") throw ValueError("searchsorted(): side='left' contradicts right=True");
    return *side == "right";
}

Tensor as_values(const Operand& operand, const Tensor& like) {  // a number is looked for in the sequence's type
    return operand.is_scalar() ? full({}, operand.scalar(), like.dtype()) : operand.tensor();
}

void bind_order(nb::module_& m, nb::handle t) {
    both(m, t, "sort", "dim=-1, descending=False, stable=False",
         "(values, indices) in order along an axis; always stable.",
         [](const Tensor& x, int dim, bool descending, bool) { return sort(x, dim, descending); });
    both(m, t, "argsort", "dim=-1, descending=False, stable=False", "Where the elements of sort() are; always stable.",
         [](const Tensor& x, int dim, bool descending, bool) { return argsort(x, dim, descending); });
    both(m, t, "msort", "", "The values in ascending order along the first axis.",
         [](const Tensor& x) { return sort(x, 0).values; });
    both(m, t, "topk", "k, dim=-1, largest=True, sorted=True",
         "(values, indices) of the k largest or smallest elements along an axis.",
         [](const Tensor& x, std::int64_t k, int dim, bool largest, bool) { return topk(x, k, dim, largest); });
    both(m, t, "kthvalue", "k, dim=-1, keepdim=False", "(values, indices) of the k-th smallest element along an axis.",
         [](const Tensor& x, std::int64_t k, int dim, bool keepdim) { return kthvalue(x, k, dim, keepdim); });
    both(m, t, "mode", "dim=-1, keepdim=False", "(values, indices) of the most frequent element along an axis.",
         [](const Tensor& x, int dim, bool keepdim) { return mode(x, dim, keepdim); });
    bind_middle<median>(m, t, "median", "The middle element, the lower one of two; along an axis (values, indices).");
    bind_middle<nanmedian>(m, t, "nanmedian", "median() of the elements that are not NaN.");
    bind_quantile<quantile, quantile, quantile>(m, t, "quantile",
                                                "What the fraction q of the elements does not exceed.");
    bind_quantile<nanquantile, nanquantile, nanquantile>(m, t, "nanquantile",
                                                         "quantile() of the elements that are not NaN.");
}

void bind_search(nb::module_& m, nb::handle t) {
    function(m, "searchsorted", "sorted_sequence, input, *, out_int32=False, right=False, side=None, sorter=None",
             "Where elements would be inserted to keep the sequence sorted.",
             [](const Tensor& sorted, const Operand& input, bool out_int32, bool right,
                std::optional<std::string_view> side, const MaybeTensor& sorter) {
                 const Tensor found =
                     searchsorted(in_order(sorted, sorter), as_values(input, sorted), right_side(right, side));
                 return out_int32 ? found.to(i32) : found;
             });
    function(m, "bucketize", "input, boundaries, *, out_int32=False, right=False",
             "Between which of the sorted boundaries each element lies.",
             [](const Operand& input, const Tensor& boundaries, bool out_int32, bool right) {
                 const Tensor found = bucketize(as_values(input, boundaries), boundaries, right);
                 return out_int32 ? found.to(i32) : found;
             });
    function(m, "isin", "elements, test_elements, *, assume_unique=False, invert=False",
             "Whether each element is among the others.",
             [](const Operand& elements, const Operand& others, bool, bool invert) {
                 if (elements.is_scalar() && others.is_scalar())
                     throw DTypeError("isin(): one of 'elements' and 'test_elements' must be a Tensor");
                 const Tensor& like = elements.is_scalar() ? others.tensor() : elements.tensor();
                 return isin(as_values(elements, like), as_values(others, like), invert);
             });
    both(m, t, "histc", "bins=100, min=0, max=0", "How many elements fall into each of equal parts of [min, max].",
         [](const Tensor& x, std::int64_t bins, double min, double max) {
             return without_gil([&] { return histc(x, bins, min, max); });
         });
    both(m, t, "bincount", "weights=None, minlength=0", "How often each of 0, 1, 2 … occurs. Runs the graph.",
         [](const Tensor& x, const MaybeTensor& weights, std::int64_t minlength) {
             return without_gil([&] { return bincount(x, weights.tensor, minlength); });
         });
    both(m, t, "unique", "sorted=True, return_inverse=False, return_counts=False, dim=None",
         "The different elements, in order. Runs the graph.",
         [](const Tensor& x, bool, bool inverse, bool counts, std::optional<int> dim) {
             return unique_results(without_gil([&] { return unique(x, dim); }), inverse, counts);
         });
    both(m, t, "unique_consecutive", "return_inverse=False, return_counts=False, dim=None",
         "The elements without those that equal their neighbour before. Runs the graph.",
         [](const Tensor& x, bool inverse, bool counts, std::optional<int> dim) {
             return unique_results(without_gil([&] { return unique_consecutive(x, dim); }), inverse, counts);
         });
    function(m, "_unique", "input", "(values, first, inverse, counts) of the different elements. Runs the graph.",
             [](const Tensor& x) {
                 const Unique found = without_gil([&] { return unique(x); });
                 return std::vector<Tensor>{found.values, found.first, found.inverse, found.counts};
             });
}

}  // namespace

void bind_sorting(nb::module_& m, nb::handle tensor) {
    bind_order(m, tensor);
    bind_search(m, tensor);
}

}  // namespace weft::python
