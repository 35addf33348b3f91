// python/src/elementwise.cpp: the functions of weft/elementwise.h, and other names of elementwise ops.
#include "elementwise.h"

#include "interrupt.h"
#include "topics.h"

namespace weft::python {

nb::object stored(const InPlace& to, const Tensor& result) {
    Tensor& written = *nb::inst_ptr<Tensor>(to.self);
    const auto kind = [](DType t) { return is_float(t) ? 2 : is_int(t) ? 1 : 0; };
    const auto text = [](DType t) { return std::string(name_of(t)); };
    const std::string opening = std::string(to.method) + "(): the result ";
    if (kind(result.dtype()) > kind(written.dtype()))
        throw DTypeError(opening + "is " + text(result.dtype()) + ", which cannot be stored in " +
                         text(written.dtype()));
    if (result.shape() != written.shape()) throw ShapeError(opening + "has another shape than the tensor");
    written.assign(result);
    return nb::borrow(to.self);
}

namespace {

PyObject* mantissa_and_exponent = nullptr;  // the named tuple of frexp

void bind_functions(nb::module_& m, nb::handle t) {
    unary<asinh>(m, t, "asinh", "The inverse of the hyperbolic sine.");
    unary<acosh>(m, t, "acosh", "The inverse of the hyperbolic cosine; NaN below 1.");
    unary<atanh>(m, t, "atanh", "The inverse of the hyperbolic tangent; NaN beyond ±1.");
    unary<cbrt>(m, t, "cbrt", "The third root, negative for negative x.");
    unary<sinc>(m, t, "sinc", "sin(pi x) / (pi x), and 1 at 0.");
    unary<erfc>(m, t, "erfc", "1 - erf(x), accurate where that is tiny.");
    unary<erfinv>(m, t, "erfinv", "The inverse of erf.");
    unary<lgamma>(m, t, "lgamma", "log|gamma(x)|.");
    unary<digamma>(m, t, "digamma", "The derivative of lgamma.");
    unary<frac>(m, t, "frac", "x - trunc(x).");
    unary<deg2rad>(m, t, "deg2rad", "Degrees as radians.");
    unary<rad2deg>(m, t, "rad2deg", "Radians as degrees.");
    both(m, t, "positive", "", "x itself; not for bools.", [](const Tensor& x) { return positive(x); });
    both(m, t, "isposinf", "", "Whether an element is infinity.", [](const Tensor& x) { return isposinf(x); });
    both(m, t, "isneginf", "", "Whether an element is -infinity.", [](const Tensor& x) { return isneginf(x); });
    both(m, t, "isreal", "", "Whether an element is no complex number: always.",
         [](const Tensor& x) { return isreal(x); });
    both(m, t, "signbit", "", "Whether the sign is minus, of -0 too.", [](const Tensor& x) { return signbit(x); });
    both(m, t, "logit", "eps=None", "log(x / (1 - x)), the inverse of the sigmoid; of x within [eps, 1 - eps].",
         [](const Tensor& x, std::optional<double> eps) { return logit(x, eps); });
    method(t, "logit_", "eps=None", "The same, in place.",
           [](InPlace self, std::optional<double> eps) { return stored(self, logit(self.tensor(), eps)); });
    both(m, t, "nan_to_num", "nan=0.0, posinf=None, neginf=None",
         "Other numbers for NaN and infinities; the largest ones of the type unless given.",
         [](const Tensor& x, std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf) {
             return nan_to_num(x, nan.value_or(0), posinf, neginf);
         });
    method(t, "nan_to_num_", "nan=0.0, posinf=None, neginf=None", "The same, in place.",
           [](InPlace self, std::optional<double> nan, std::optional<double> posinf, std::optional<double> neginf) {
               return stored(self, nan_to_num(self.tensor(), nan.value_or(0), posinf, neginf));
           });
    function(m, "polygamma", "n, input", "The n-th derivative of digamma.",
             [](std::int64_t n, const Tensor& x) { return polygamma(n, x); });
    method(t, "polygamma", "n", "The n-th derivative of digamma.",
           [](const Tensor& self, std::int64_t n) { return polygamma(n, self); });
    function(m, "_entr", "input", "-x log(x), 0 at 0, -inf below.", [](const Tensor& x) { return entr(x); });
    both(m, t, "frexp", "", "(mantissa, exponent): x is mantissa * 2^exponent, 1/2 <= |mantissa| < 1.",
         [](const Tensor& x) {
             const auto [mantissa, exponent] = frexp(x);
             const nb::object a = nb::steal(to_python(mantissa)), b = nb::steal(to_python(exponent));
             nb::object pair =
                 nb::steal(PyObject_CallFunctionObjArgs(mantissa_and_exponent, a.ptr(), b.ptr(), nullptr));
             if (!pair.is_valid()) throw nb::python_error();
             return pair;
         });
    function(m, "_set_mantissa_and_exponent", "type", "Tells the module the named tuple of frexp.",
             [](nb::handle type) { mantissa_and_exponent = type.inc_ref().ptr(); });
}

void bind_pairs(nb::module_& m, nb::handle t) {
    binary_both<atan2>(m, t, "atan2", "The angle of the point (other, input), from -pi to pi.");
    binary_both<hypot>(m, t, "hypot", "sqrt(x² + other²), without overflow.");
    binary_both<copysign>(m, t, "copysign", "|x| with the sign of `other`.");
    binary_both<nextafter>(m, t, "nextafter", "The float next to x, towards `other`.");
    binary_both<xlogy>(m, t, "xlogy", "x * log(other), and 0 for x = 0.");
    binary_both<heaviside>(m, t, "heaviside", "0 below 0, 1 above, and `values` at 0.", "values");
    binary_both<gcd>(m, t, "gcd", "The greatest common divisor of integers.");
    binary_both<lcm>(m, t, "lcm", "The least common multiple of integers.");
    binary_both<ldexp>(m, t, "ldexp", "x * 2^other.");
    binary_both<float_power>(m, t, "float_power", "x to the power of `exponent`, in float64.", "exponent");
    binary<logaddexp>(m, t, "logaddexp", "log(exp(x) + exp(other)), without overflow.");
    binary<logaddexp2>(m, t, "logaddexp2", "log2(2^x + 2^other), without overflow.");
    binary<fmax>(m, t, "fmax", "The larger of two; NaN only if both are.");
    binary<fmin>(m, t, "fmin", "The smaller of two; NaN only if both are.");
    both(m, t, "lerp", "end, weight", "x + weight * (end - x).",
         [](const Operand& x, const Operand& end, const Operand& weight) { return lerp(x, end, weight); });
    method(t, "lerp_", "end, weight", "The same, in place.",
           [](InPlace self, const Operand& end, const Operand& weight) {
               return stored(self, lerp(self.tensor(), end, weight));
           });
    both(m, t, "addcmul", "tensor1, tensor2, *, value=1", "x + value * tensor1 * tensor2.",
         [](const Tensor& x, const Tensor& a, const Tensor& b, Scalar value) { return addcmul(x, a, b, value); });
    method(t, "addcmul_", "tensor1, tensor2, *, value=1", "The same, in place.",
           [](InPlace self, const Tensor& a, const Tensor& b, Scalar value) {
               return stored(self, addcmul(self.tensor(), a, b, value));
           });
    both(m, t, "addcdiv", "tensor1, tensor2, *, value=1", "x + value * tensor1 / tensor2.",
         [](const Tensor& x, const Tensor& a, const Tensor& b, Scalar value) { return addcdiv(x, a, b, value); });
    method(t, "addcdiv_", "tensor1, tensor2, *, value=1", "The same, in place.",
           [](InPlace self, const Tensor& a, const Tensor& b, Scalar value) {
               return stored(self, addcdiv(self.tensor(), a, b, value));
           });
    both(m, t, "isclose", "other, rtol=1e-05, atol=1e-08, equal_nan=False",
         "Whether |x - other| <= atol + rtol * |other|.",
         [](const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
             return isclose(a, b, rtol, atol, equal_nan);
         });
    both(m, t, "allclose", "other, rtol=1e-05, atol=1e-08, equal_nan=False",
         "Whether all elements are close, as a Python bool. Runs the graph.",
         [](const Tensor& a, const Tensor& b, double rtol, double atol, bool equal_nan) {
             return without_gil([&] { return allclose(a, b, rtol, atol, equal_nan); });
         });
    both(m, t, "equal", "other",
         "Whether two tensors have the same shape and elements, as a Python bool. Runs the graph.",
         [](const Tensor& a, const Tensor& b) { return without_gil([&] { return equal(a, b); }); });
}

// Every alias of a function and of a method, and of the method that works in place if there is one.
constexpr const char* kFunctionAliases[][2] = {
    {"arcsin", "asin"},   {"arccos", "acos"},   {"arctan", "atan"},     {"arcsinh", "asinh"}, {"arccosh", "acosh"},
    {"arctanh", "atanh"}, {"arctan2", "atan2"}, {"absolute", "abs"},    {"negative", "neg"},  {"subtract", "sub"},
    {"multiply", "mul"},  {"divide", "div"},    {"true_divide", "div"}, {"greater", "gt"},    {"greater_equal", "ge"},
    {"less", "lt"},       {"less_equal", "le"}, {"not_equal", "ne"},    {"clip", "clamp"},    {"fix", "trunc"},
    {"sgn", "sign"},
};

}  // namespace

void bind_elementwise(nb::module_& m, nb::handle tensor) {
    bind_functions(m, tensor);
    bind_pairs(m, tensor);
    for (const auto& [name, of] : kFunctionAliases) {
        alias(m, name, of);
        alias(tensor, name, of);
        const std::string writes = std::string(of) + "_";
        if (nb::hasattr(tensor, writes.c_str())) alias(tensor, (std::string(name) + "_").c_str(), writes.c_str());
    }
}

}  // namespace weft::python
