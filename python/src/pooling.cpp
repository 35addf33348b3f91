// python/src/pooling.cpp: pooling of weft.nn.functional.
#include "arguments.h"
#include "topics.h"

#include <weft/pooling.h>

namespace weft::python {

namespace {

// The sizes that adaptive pooling gives; None keeps one.
struct OutputSizes {
    Sizes sizes = -1;
};

}  // namespace

template <>
struct Converter<OutputSizes> {
    Converter(PyObject* object, const Site& site) {
        if (object == Py_None) return;
        if (!PyTuple_Check(object) && !PyList_Check(object)) {
            value.sizes = Sizes(to_dims(object, site));
            return;
        }
        Dims sizes;
        for (Py_ssize_t i = 0; i < PySequence_Size(object); ++i) {
            const nb::object item = nb::steal(PySequence_GetItem(object, i));
            sizes.push_back(item.is_none() ? -1 : to_int(item.ptr(), site));
        }
        value.sizes = Sizes(sizes);
    }
    const OutputSizes& get() const { return value; }
    OutputSizes value;
};
template <>
struct TypeName<OutputSizes> {
    static constexpr char value[] = "int | Sequence[int | None] | None";
};

namespace {

using MaxPool = PooledMaxima (*)(const Tensor&, const Sizes&, const PoolOptions&);
using AvgPool = Tensor (*)(const Tensor&, const Sizes&, const PoolOptions&);
using Adaptive = Tensor (*)(const Tensor&, const Sizes&);

template <AvgPool plain, MaxPool with_indices>
void bind_max_pool(nb::module_& f, const char* name) {
    function(
        f, name, "input, kernel_size, stride=None, padding=0, dilation=1, ceil_mode=False, return_indices=False",
        "The largest element of each window, and where it stands in the flattened spatial axes.",
        [](const Tensor& x, const Sizes& window, const std::optional<Sizes>& stride, const Sizes& padding,
           const Sizes& dilation, bool ceil_mode, bool return_indices) -> nb::object {
            const PoolOptions options{
                .stride = stride.value_or(Sizes{}), .padding = padding, .dilation = dilation, .ceil_mode = ceil_mode};
            if (!return_indices) return nb::steal(to_python(plain(x, window, options)));
            const PooledMaxima maxima = with_indices(x, window, options);
            return nb::steal(to_python(std::vector<Tensor>{maxima.values, maxima.indices}));
        });
}

template <AvgPool pool>
void bind_avg_pool(nb::module_& f, const char* name) {
    function(f, name,
             "input, kernel_size, stride=None, padding=0, ceil_mode=False, count_include_pad=True, "
             "divisor_override=None",
             "The mean of each window.",
             [](const Tensor& x, const Sizes& window, const std::optional<Sizes>& stride, const Sizes& padding,
                bool ceil_mode, bool count_include_pad, std::optional<std::int64_t> divisor) {
                 return pool(x, window,
                             {.stride = stride.value_or(Sizes{}),
                              .padding = padding,
                              .ceil_mode = ceil_mode,
                              .count_include_pad = count_include_pad,
                              .divisor_override = divisor});
             });
}

template <Adaptive pool>
void bind_adaptive(nb::module_& f, const char* name, const char* doc) {
    function(f, name, "input, output_size", doc,
             [](const Tensor& x, const OutputSizes& size) { return pool(x, size.sizes); });
}

using AdaptiveMax = PooledMaxima (*)(const Tensor&, const Sizes&);
template <Adaptive plain, AdaptiveMax with_indices>
void bind_adaptive_max(nb::module_& f, const char* name) {
    function(f, name, "input, output_size, return_indices=False",
             "The maxima of so many parts of each axis, and where they stand in the flattened spatial axes.",
             [](const Tensor& x, const OutputSizes& size, bool return_indices) -> nb::object {
                 if (!return_indices) return nb::steal(to_python(plain(x, size.sizes)));
                 const PooledMaxima maxima = with_indices(x, size.sizes);
                 return nb::steal(to_python(std::vector<Tensor>{maxima.values, maxima.indices}));
             });
}

}  // namespace

void bind_pooling(nb::module_& f) {
    bind_max_pool<max_pool1d, max_pool1d_with_indices>(f, "max_pool1d");
    bind_max_pool<max_pool2d, max_pool2d_with_indices>(f, "max_pool2d");
    bind_max_pool<max_pool3d, max_pool3d_with_indices>(f, "max_pool3d");
    bind_avg_pool<avg_pool1d>(f, "avg_pool1d");
    bind_avg_pool<avg_pool2d>(f, "avg_pool2d");
    bind_avg_pool<avg_pool3d>(f, "avg_pool3d");
    constexpr const char* kMean = "The means of so many parts of each axis.";
    bind_adaptive<adaptive_avg_pool1d>(f, "adaptive_avg_pool1d", kMean);
    bind_adaptive<adaptive_avg_pool2d>(f, "adaptive_avg_pool2d", kMean);
    bind_adaptive<adaptive_avg_pool3d>(f, "adaptive_avg_pool3d", kMean);
    bind_adaptive_max<adaptive_max_pool1d, adaptive_max_pool1d_with_indices>(f, "adaptive_max_pool1d");
    bind_adaptive_max<adaptive_max_pool2d, adaptive_max_pool2d_with_indices>(f, "adaptive_max_pool2d");
    bind_adaptive_max<adaptive_max_pool3d, adaptive_max_pool3d_with_indices>(f, "adaptive_max_pool3d");
    function(f, "_max_unpool", "input, indices, size", "Zeros, with each value at its index in the spatial axes.",
             [](const Tensor& x, const Tensor& indices, const Dims& size) { return max_unpool(x, indices, size); });
}

}  // namespace weft::python
