// python/src/statistics.cpp: the functions of weft/statistics.h: covariances, histograms, pairs of reductions, those without NaN, running values and distances.
#include "elementwise.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/statistics.h>

#include <utility>

namespace weft::python {

namespace {

PyObject* min_and_max = nullptr;  // a named tuple

Tensor in_type(const Tensor& x, std::optional<DType> dtype) { return dtype && *dtype != x.dtype() ? x.to(*dtype) : x; }

nb::object as_min_and_max(const std::pair<Tensor, Tensor>& pair) {
    const nb::object first = nb::steal(to_python(pair.first)), second = nb::steal(to_python(pair.second));
    nb::object result = nb::steal(PyObject_CallFunctionObjArgs(min_and_max, first.ptr(), second.ptr(), nullptr));
    if (!result.is_valid()) throw nb::python_error();
    return result;
}

std::vector<Tensor> listed(const std::pair<Tensor, Tensor>& pair) { return {pair.first, pair.second}; }

// var_mean(dim, unbiased, keepdim), var_mean(dim, *, correction, keepdim) and var_mean(unbiased)
template <class F>
std::vector<Tensor> spread(F f, const Tensor& x, nb::handle dim, nb::handle unbiased, bool keepdim,
                           std::optional<double> correction) {
    if (PyBool_Check(dim.ptr())) unbiased = dim, dim = nb::none();
    if (!unbiased.is_none()) correction = to_bool(unbiased.ptr(), {"var_mean", "unbiased"}) ? 1 : 0;
    return listed(f(x, Converter<Axes>(dim.ptr(), {"var_mean", "dim"}).get(), correction.value_or(1), keepdim));
}

using Reduce = Tensor (*)(const Tensor&, const Axes&, bool);
template <Reduce reduce>
void without_nan(nb::module_& m, nb::handle t, const char* name, const char* doc) {
    both(m, t, name, "dim=None, keepdim=False, *, dtype=None", doc,
         [](const Tensor& x, const Axes& dim, bool keepdim, std::optional<DType> dtype) {
             return reduce(in_type(x, dtype), dim, keepdim);
         });
}

using Running = ValuesAndIndices (*)(const Tensor&, int);
template <Running running>
void running_extreme(nb::module_& m, nb::handle t, const char* name, const char* doc) {
    both(m, t, name, "dim", doc, [](const Tensor& x, int dim) { return running(x, dim); });
}

void bind_pairs(nb::module_& m, nb::handle t) {
    function(m, "var_mean", "input, dim=None, unbiased=None, keepdim=False, *, correction=None",
             "The variance and the mean.",
             [](const Tensor& x, nb::handle dim, nb::handle unbiased, bool keepdim, std::optional<double> correction) {
                 return spread([](auto&&... a) { return var_mean(a...); }, x, dim, unbiased, keepdim, correction);
             });
    function(m, "std_mean", "input, dim=None, unbiased=None, keepdim=False, *, correction=None",
             "The root of the variance, and the mean.",
             [](const Tensor& x, nb::handle dim, nb::handle unbiased, bool keepdim, std::optional<double> correction) {
                 return spread([](auto&&... a) { return std_mean(a...); }, x, dim, unbiased, keepdim, correction);
             });
    both(m, t, "aminmax", "*, dim=None, keepdim=False", "(min, max) of all elements, or along an axis.",
         [](const Tensor& x, const Axes& dim, bool keepdim) { return as_min_and_max(aminmax(x, dim, keepdim)); });
    both(m, t, "count_nonzero", "dim=None, keepdim=False", "How many elements are not 0.",
         [](const Tensor& x, const Axes& dim, bool keepdim) { return count_nonzero(x, dim, keepdim); });
    function(m, "_set_min_and_max", "type", "Tells the module the named tuple of aminmax.",
             [](nb::handle type) { min_and_max = type.inc_ref().ptr(); });
}

void bind_running(nb::module_& m, nb::handle t) {
    running_extreme<cummax>(m, t, "cummax", "The largest element so far and where it is, along an axis.");
    running_extreme<cummin>(m, t, "cummin", "The smallest element so far and where it is, along an axis.");
    both(m, t, "logcumsumexp", "dim", "log(cumsum(exp(x))) along an axis, without overflow.",
         [](const Tensor& x, int dim) { return logcumsumexp(x, dim); });
    method(t, "cumsum_", "dim, *, dtype=None", "Running sums along an axis, in place.",
           [](InPlace self, int dim, std::optional<DType> dtype) {
               return stored(self, cumsum(in_type(self.tensor(), dtype), dim));
           });
    method(t, "cumprod_", "dim, *, dtype=None", "Running products along an axis, in place.",
           [](InPlace self, int dim, std::optional<DType> dtype) {
               return stored(self, cumprod(in_type(self.tensor(), dtype), dim));
           });
    both(m, t, "diff", "n=1, dim=-1, prepend=None, append=None", "Differences of neighbours along an axis, n times.",
         [](const Tensor& x, int n, int dim, const MaybeTensor& prepend, const MaybeTensor& append) {
             return diff(x, n, dim, prepend.tensor, append.tensor);
         });
    function(m, "trapezoid", "y, x=None, *, dx=1.0, dim=-1",
             "The integral of y by trapezoids, with points at x, or dx apart.",
             [](const Tensor& y, const MaybeTensor& x, double dx, int dim) {
                 return x.tensor.defined() ? trapezoid(y, x.tensor, dim) : trapezoid(y, dx, dim);
             });
    function(m, "cumulative_trapezoid", "y, x=None, *, dx=1.0, dim=-1",
             "Running integrals of y by trapezoids, with points at x, or dx apart.",
             [](const Tensor& y, const MaybeTensor& x, double dx, int dim) {
                 return x.tensor.defined() ? cumulative_trapezoid(y, x.tensor, dim) : cumulative_trapezoid(y, dx, dim);
             });
    alias(m, "trapz", "trapezoid");
}

void bind_distances(nb::module_& m, nb::handle t) {
    both(m, t, "dist", "other, p=2.0", "The p-norm of x - other.",
         [](const Tensor& a, const Tensor& b, double p) { return dist(a, b, p); });
    function(
        m, "cdist", "x1, x2, p=2.0, compute_mode=None", "The p-norm distances of all rows of x1 from all rows of x2.",
        [](const Tensor& a, const Tensor& b, double p, std::optional<std::string_view>) { return cdist(a, b, p); });
    both(m, t, "renorm", "p, dim, maxnorm", "Slices along an axis, scaled down to a p-norm of at most `maxnorm`.",
         [](const Tensor& x, double p, int dim, double limit) { return renorm(x, p, dim, limit); });
    method(t, "renorm_", "p, dim, maxnorm", "The same, in place.", [](InPlace self, double p, int dim, double limit) {
        return stored(self, renorm(self.tensor(), p, dim, limit));
    });
}

Bins bins_in(nb::handle object, const Site& site) {
    if (is_tensor(object.ptr()) && tensor_in(object.ptr()).rank() > 0) return tensor_in(object.ptr());
    return to_int(object.ptr(), site);
}

std::vector<double> doubles_in(nb::handle object, const Site& site) {
    std::vector<double> result;
    const nb::object items = nb::steal(PySequence_Tuple(object.ptr()));
    if (!items.is_valid()) throw nb::python_error();
    for (const nb::handle item : nb::borrow<nb::tuple>(items)) result.push_back(to_double(item.ptr(), site));
    return result;
}

std::vector<std::pair<double, double>> ranges_in(nb::handle object, const Site& site) {
    if (object.is_none()) return {};
    const std::vector<double> ends = doubles_in(object, site);
    if (ends.size() % 2 != 0 || ends.empty())
        throw ValueError(std::string(site.function) + "(): argument 'range' must have two ends for each axis, not " +
                         std::to_string(ends.size()) + " numbers");
    std::vector<std::pair<double, double>> result;
    for (std::size_t i = 0; i < ends.size(); i += 2) result.emplace_back(ends[i], ends[i + 1]);
    return result;
}

void bind_samples(nb::module_& m, nb::handle t) {
    both(m, t, "cov", "*, correction=1, fweights=None, aweights=None",
         "The covariances of the rows, whose columns are observations.",
         [](const Tensor& x, double correction, const MaybeTensor& frequencies, const MaybeTensor& weights) {
             return cov(x, {.correction = correction, .frequencies = frequencies.tensor, .weights = weights.tensor});
         });
    both(m, t, "corrcoef", "", "The correlation coefficients of the rows, whose columns are observations.",
         [](const Tensor& x) { return corrcoef(x); });
    function(m, "_histogram", "input, bins, range, weight, density", "(sums by bin, edges).",
             [](const Tensor& x, nb::handle bins, nb::handle range, const MaybeTensor& weights, bool density) {
                 const Site site{"histogram", "range"};
                 const auto ranges = ranges_in(range, site);
                 if (ranges.size() > 1) throw ValueError("histogram(): argument 'range' must have two ends");
                 const HistogramOptions options{
                     .range = ranges.empty() ? std::nullopt : std::optional(ranges[0]),
                     .weights = weights.tensor,
                     .density = density,
                 };
                 const Bins wanted = bins_in(bins, {"histogram", "bins"});
                 return listed(without_gil([&] { return histogram(x, wanted, options); }));
             });
    function(m, "_histogramdd", "input, bins, range, weight, density", "(sums by bin, edges of the first axis, …).",
             [](const Tensor& x, nb::handle bins, nb::handle range, const MaybeTensor& weights, bool density) {
                 const HistogramsOptions options{.ranges = ranges_in(range, {"histogramdd", "range"}),
                                                 .weights = weights.tensor,
                                                 .density = density};
                 std::vector<Bins> wanted;
                 for (const nb::handle each : bins) wanted.push_back(bins_in(each, {"histogramdd", "bins"}));
                 auto [sums, edges] = without_gil([&] { return histogramdd(x, wanted, options); });
                 edges.insert(edges.begin(), sums);
                 return edges;
             });
    function(m, "_gradient", "input, spacing, coordinates, dim, edge_order", "The derivatives along axes.",
             [](const Tensor& x, nb::handle spacing, const std::vector<Tensor>& coordinates, const Axes& dim,
                int edge_order) {
                 return coordinates.empty()
                            ? differences(x, doubles_in(spacing, {"gradient", "spacing"}), dim, edge_order)
                            : differences(x, coordinates, dim, edge_order);
             });
}

}  // namespace

void bind_statistics(nb::module_& m, nb::module_& f, nb::handle t) {
    bind_samples(m, t);
    bind_pairs(m, t);
    without_nan<nansum>(m, t, "nansum", "The sum of the elements that are not NaN.");
    without_nan<nanmean>(m, t, "nanmean", "The mean of the elements that are not NaN.");
    without_nan<nanmax>(m, t, "nanmax", "The largest of the elements that are not NaN.");
    without_nan<nanmin>(m, t, "nanmin", "The smallest of the elements that are not NaN.");
    bind_running(m, t);
    bind_distances(m, t);
    function(f, "normalize", "input, p=2.0, dim=1, eps=1e-12", "x / max(norm(x), eps) along an axis.",
             [](const Tensor& x, double p, const Axes& dim, double eps) { return normalize(x, p, dim, eps); });
}

}  // namespace weft::python
