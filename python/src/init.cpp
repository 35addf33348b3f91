// python/src/init.cpp: weft.nn.init. Each function writes into its argument and gives that very object back.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/init.h>

namespace weft::python {

namespace {

// A tensor to write into, and the Python object that it came in.
struct Target {
    nb::handle object;
};

}  // namespace

template <>
struct Converter<Target> {
    Converter(PyObject* object, const Site& site) : object(object) {
        if (!is_tensor(object)) wrong_type(site, "a Tensor", object);
    }
    Target get() const { return {object}; }
    PyObject* object;
};

namespace {

template <class F>
nb::object filled(Target target, F fill) {
    const Tensor tensor = tensor_in(target.object.ptr());
    without_gil([&] { fill(tensor); });
    return nb::borrow(target.object);
}

nn::init::KaimingOptions kaiming(double a, std::string_view mode, std::string_view nonlinearity) {
    if (mode != "fan_in" && mode != "fan_out")
        throw ValueError("argument 'mode' must be 'fan_in' or 'fan_out', not '" + std::string(mode) + "'");
    return {.a = a, .mode = mode == "fan_in" ? nn::init::Fan::In : nn::init::Fan::Out, .nonlinearity = nonlinearity};
}

}  // namespace

void bind_init(nb::module_& m) {
    using namespace nn::init;
    nb::module_ s = m.def_submodule("init", "Initial values, written into a tensor. Each function returns it.");
    function(s, "uniform_", "tensor, a=0.0, b=1.0", "Uniform in [a, b).",
             [](Target t, double a, double b) { return filled(t, [=](const Tensor& x) { uniform_(x, a, b); }); });
    function(
        s, "normal_", "tensor, mean=0.0, std=1.0", "Normal with this mean and standard deviation.",
        [](Target t, double mean, double std) { return filled(t, [=](const Tensor& x) { normal_(x, mean, std); }); });
    function(s, "trunc_normal_", "tensor, mean=0.0, std=1.0, a=-2.0, b=2.0", "Normal, within [a, b].",
             [](Target t, double mean, double std, double a, double b) {
                 return filled(t, [=](const Tensor& x) { trunc_normal_(x, mean, std, a, b); });
             });
    function(s, "constant_", "tensor, val", "The same value everywhere.",
             [](Target t, double value) { return filled(t, [=](const Tensor& x) { constant_(x, value); }); });
    function(s, "zeros_", "tensor", "Zeros.", [](Target t) { return filled(t, [](const Tensor& x) { zeros_(x); }); });
    function(s, "ones_", "tensor", "Ones.", [](Target t) { return filled(t, [](const Tensor& x) { ones_(x); }); });
    function(s, "eye_", "tensor", "Ones on the diagonal of a matrix.",
             [](Target t) { return filled(t, [](const Tensor& x) { eye_(x); }); });
    function(s, "dirac_", "tensor, groups=1", "A convolution's weight that passes each channel on.",
             [](Target t, std::int64_t groups) { return filled(t, [=](const Tensor& x) { dirac_(x, groups); }); });
    function(s, "orthogonal_", "tensor, gain=1", "Orthonormal rows, or columns if those are fewer, times gain.",
             [](Target t, double gain) { return filled(t, [=](const Tensor& x) { orthogonal_(x, gain); }); });
    function(s, "sparse_", "tensor, sparsity, std=0.01", "Normal, with this part of each column 0.",
             [](Target t, double sparsity, double std) {
                 return filled(t, [=](const Tensor& x) { sparse_(x, sparsity, std); });
             });
    function(
        s, "calculate_gain", "nonlinearity, param=None", "The factor that keeps the variance through an activation.",
        [](std::string_view name, std::optional<double> param) { return calculate_gain(name, param.value_or(0.01)); });
    function(s, "xavier_uniform_", "tensor, gain=1.0", "Uniform, so that the variance stays in both directions.",
             [](Target t, double gain) { return filled(t, [=](const Tensor& x) { xavier_uniform_(x, gain); }); });
    function(s, "xavier_normal_", "tensor, gain=1.0", "Normal, so that the variance stays in both directions.",
             [](Target t, double gain) { return filled(t, [=](const Tensor& x) { xavier_normal_(x, gain); }); });
    function(s, "kaiming_uniform_", "tensor, a=0, mode='fan_in', nonlinearity='leaky_relu'",
             "Uniform, so that the variance stays behind a rectifier.",
             [](Target t, double a, std::string_view mode, std::string_view nonlinearity) {
                 const auto options = kaiming(a, mode, nonlinearity);
                 return filled(t, [=](const Tensor& x) { kaiming_uniform_(x, options); });
             });
    function(s, "kaiming_normal_", "tensor, a=0, mode='fan_in', nonlinearity='leaky_relu'",
             "Normal, so that the variance stays behind a rectifier.",
             [](Target t, double a, std::string_view mode, std::string_view nonlinearity) {
                 const auto options = kaiming(a, mode, nonlinearity);
                 return filled(t, [=](const Tensor& x) { kaiming_normal_(x, options); });
             });
    function(s, "lecun_uniform_", "tensor", "Uniform with the variance 1 / inputs.",
             [](Target t) { return filled(t, [](const Tensor& x) { lecun_uniform_(x); }); });
    function(s, "lecun_normal_", "tensor", "Normal with the variance 1 / inputs.",
             [](Target t) { return filled(t, [](const Tensor& x) { lecun_normal_(x); }); });
}

}  // namespace weft::python
