// python/src/reduction.cpp: sums, extremes, norms and running sums.
#include "arguments.h"
#include "topics.h"

#include <weft/linalg.h>
#include <weft/ops.h>

#include <limits>

namespace weft::python {

namespace {

Tensor in_type(const Tensor& x, std::optional<DType> dtype) { return dtype && *dtype != x.dtype() ? x.to(*dtype) : x; }

// f of x in the type that is asked for, and in no wider one: sums of small integers would be i64.
template <class F>
Tensor computed_in(const Tensor& x, std::optional<DType> dtype, F f) {
    return in_type(f(in_type(x, dtype)), dtype);
}

// max(input), max(input, dim, keepdim), max(input, other)
using Reduce = Tensor (*)(const Tensor&, const Axes&, bool);
using Arg = Tensor (*)(const Tensor&, std::optional<int>, bool);
using Binary = Tensor (*)(const Operand&, const Operand&);
template <Reduce reduce, Arg arg, Binary binary>
void extreme(nb::module_& m, nb::handle t, const char* name, const char* doc) {
    both(m, t, name, "dim=None, keepdim=False, *, other=None", doc,
         [](const Tensor& x, nb::handle dim, bool keepdim, nb::handle other) -> nb::object {
             if (is_tensor(dim.ptr())) other = dim, dim = nb::none();
             if (!other.is_none())
                 return nb::steal(to_python(binary(x, OperandHolder(other.ptr(), {"max", "other"}).get())));
             if (dim.is_none()) return nb::steal(to_python(reduce(x, {}, keepdim)));
             const int axis = Converter<int>(dim.ptr(), {"max", "dim"}).get();
             const Tensor index = arg(x, axis, true);  // the value is picked by it: one element gets the gradient
             const Tensor value = x.rank() == 0 ? x : gather(x, axis, index);
             const auto shaped = [&](const Tensor& tensor) {
                 return keepdim || x.rank() == 0 ? tensor : tensor.squeeze(axis);
             };
             return nb::steal(to_python(ValuesAndIndices{shaped(value), shaped(index)}));
         });
}

// var(dim, unbiased, keepdim) and var(dim, *, correction, keepdim); var(unbiased)
template <class F>
Tensor spread(F f, const Tensor& x, nb::handle dim, nb::handle unbiased, bool keepdim,
              std::optional<double> correction) {
    if (PyBool_Check(dim.ptr())) unbiased = dim, dim = nb::none();
    if (!unbiased.is_none()) correction = to_bool(unbiased.ptr(), {"var", "unbiased"}) ? 1 : 0;
    return f(x, Converter<Axes>(dim.ptr(), {"var", "dim"}).get(), correction.value_or(1), keepdim);
}

Tensor norm_of(const Tensor& x, nb::handle p, const Axes& axes, bool keepdim, std::optional<DType> dtype) {
    double order = 2;
    if (PyUnicode_Check(p.ptr())) {
        const std::string_view name = to_text(p.ptr(), {"norm", "p"});
        if (name == "nuc")
            return linalg::matrix_norm(in_type(x, dtype), linalg::MatrixNorm::Nuclear,
                                       axes.empty() ? Axes{-2, -1} : axes, keepdim);
        if (name != "fro") throw ValueError("norm(): argument 'p' must be a number, 'fro' or 'nuc'");
    } else {
        order = to_double(p.ptr(), {"norm", "p"});
    }
    return norm(in_type(x, dtype), order, axes, keepdim);
}

void bind_sums(nb::module_& m, nb::handle t) {
    both(m, t, "sum", "dim=None, keepdim=False, *, dtype=None", "The sum over axes, or over all of them.",
         [](const Tensor& x, const Axes& dim, bool keepdim, std::optional<DType> dtype) {
             return computed_in(x, dtype, [&](const Tensor& typed) { return sum(typed, dim, keepdim); });
         });
    both(m, t, "mean", "dim=None, keepdim=False, *, dtype=None", "The mean over axes, or over all of them.",
         [](const Tensor& x, const Axes& dim, bool keepdim, std::optional<DType> dtype) {
             return computed_in(x, dtype, [&](const Tensor& typed) { return mean(typed, dim, keepdim); });
         });
    both(m, t, "prod", "dim=None, keepdim=False, *, dtype=None", "The product over axes, or over all of them.",
         [](const Tensor& x, const Axes& dim, bool keepdim, std::optional<DType> dtype) {
             return computed_in(x, dtype, [&](const Tensor& typed) { return prod(typed, dim, keepdim); });
         });
    both(m, t, "any", "dim=None, keepdim=False", "Whether an element is not 0.",
         [](const Tensor& x, const Axes& dim, bool keepdim) { return any(x, dim, keepdim); });
    both(m, t, "all", "dim=None, keepdim=False", "Whether no element is 0.",
         [](const Tensor& x, const Axes& dim, bool keepdim) { return all(x, dim, keepdim); });
    both(m, t, "var", "dim=None, unbiased=None, keepdim=False, *, correction=None",
         "The variance, with n - correction in the denominator (1 unless given).",
         [](const Tensor& x, nb::handle dim, nb::handle unbiased, bool keepdim, std::optional<double> correction) {
             return spread([](auto&&... a) { return var(a...); }, x, dim, unbiased, keepdim, correction);
         });
    both(m, t, "std", "dim=None, unbiased=None, keepdim=False, *, correction=None", "The root of the variance.",
         [](const Tensor& x, nb::handle dim, nb::handle unbiased, bool keepdim, std::optional<double> correction) {
             return spread([](auto&&... a) { return stddev(a...); }, x, dim, unbiased, keepdim, correction);
         });
    both(m, t, "norm", "p='fro', dim=None, keepdim=False, dtype=None", "(sum of |x|^p)^(1/p).",
         [](const Tensor& x, nb::handle p, const Axes& dim, bool keepdim, std::optional<DType> dtype) {
             return norm_of(x, p, dim, keepdim, dtype);
         });
    both(m, t, "logsumexp", "dim, keepdim=False", "log(sum(exp(x))), without overflow.",
         [](const Tensor& x, const Axes& dim, bool keepdim) { return logsumexp(x, dim, keepdim); });
    both(m, t, "cumsum", "dim, *, dtype=None", "Running sums along an axis.",
         [](const Tensor& x, int dim, std::optional<DType> dtype) {
             return computed_in(x, dtype, [&](const Tensor& typed) { return cumsum(typed, dim); });
         });
    both(m, t, "cumprod", "dim, *, dtype=None", "Running products along an axis.",
         [](const Tensor& x, int dim, std::optional<DType> dtype) {
             return computed_in(x, dtype, [&](const Tensor& typed) { return cumprod(typed, dim); });
         });
}

}  // namespace

void bind_reduction(nb::module_& m, nb::handle t) {
    bind_sums(m, t);
    extreme<max, argmax, maximum>(m, t, "max",
                                  "The largest element; along an axis (values, indices); of two tensors the larger.");
    extreme<min, argmin, minimum>(m, t, "min",
                                  "The smallest element; along an axis (values, indices); of two tensors the smaller.");
    both(m, t, "amax", "dim=None, keepdim=False", "The largest element over axes.",
         [](const Tensor& x, const Axes& dim, bool keepdim) { return max(x, dim, keepdim); });
    both(m, t, "amin", "dim=None, keepdim=False", "The smallest element over axes.",
         [](const Tensor& x, const Axes& dim, bool keepdim) { return min(x, dim, keepdim); });
    both(m, t, "argmax", "dim=None, keepdim=False", "Where the largest element is, the first of equal ones.",
         [](const Tensor& x, std::optional<int> dim, bool keepdim) { return argmax(x, dim, keepdim); });
    both(m, t, "argmin", "dim=None, keepdim=False", "Where the smallest element is, the first of equal ones.",
         [](const Tensor& x, std::optional<int> dim, bool keepdim) { return argmin(x, dim, keepdim); });
    function(m, "_set_values_and_indices", "type", "Tells the module the named tuple of max(dim), sort and others.",
             [](nb::handle type) { set_values_and_indices(type); });
}

}  // namespace weft::python
