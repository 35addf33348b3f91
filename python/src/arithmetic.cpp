// python/src/arithmetic.cpp: elementwise ops as functions, methods and in-place methods.
#include "elementwise.h"
#include "interrupt.h"
#include "topics.h"

namespace weft::python {

namespace {

template <Tensor& (Tensor::*op)(const Operand&)>
void writes(nb::handle tensor, const char* name, const char* doc) {
    method(tensor, name, "other", doc, [](nb::handle self, const Operand& other) {
        (nb::inst_ptr<Tensor>(self)->*op)(other);
        return nb::borrow(self);
    });
}

Tensor divided(const Operand& a, const Operand& b, std::optional<std::string_view> mode) {
    if (!mode) return div(a, b);
    if (*mode != "floor" && *mode != "trunc")
        throw ValueError("div(): argument 'rounding_mode' must be None, 'floor' or 'trunc', not '" +
                         std::string(*mode) + "'");
    return div(a, b, *mode == "floor" ? Rounding::Floor : Rounding::Trunc);
}

void bind_unary(nb::module_& m, nb::handle t) {
    unary<neg>(m, t, "neg", "-x.");
    unary<abs>(m, t, "abs", "|x|.");
    unary<sign>(m, t, "sign", "-1, 0 or 1.");
    unary<square>(m, t, "square", "x * x.");
    unary<trunc>(m, t, "trunc", "Rounded towards 0.");
    unary<floor>(m, t, "floor", "Rounded down.");
    unary<ceil>(m, t, "ceil", "Rounded up.");
    both(m, t, "round", "*, decimals=0", "Rounded to so many decimals, halves to even.",
         [](const Tensor& x, int decimals) { return round(x, decimals); });
    method(t, "round_", "*, decimals=0", "The same, in place.",
           [](InPlace self, int decimals) { return stored(self, round(self.tensor(), decimals)); });
    unary<sqrt>(m, t, "sqrt", "The square root.");
    unary<rsqrt>(m, t, "rsqrt", "1 / sqrt(x).");
    unary<reciprocal>(m, t, "reciprocal", "1 / x.");
    unary<exp>(m, t, "exp", "e to the power of x.");
    unary<exp2>(m, t, "exp2", "2 to the power of x.");
    unary<expm1>(m, t, "expm1", "exp(x) - 1, accurate near 0.");
    unary<log>(m, t, "log", "The natural logarithm.");
    unary<log2>(m, t, "log2", "The logarithm to base 2.");
    unary<log10>(m, t, "log10", "The logarithm to base 10.");
    unary<log1p>(m, t, "log1p", "log(1 + x), accurate near 0.");
    unary<sin>(m, t, "sin", "The sine.");
    unary<cos>(m, t, "cos", "The cosine.");
    unary<tan>(m, t, "tan", "The tangent.");
    unary<asin>(m, t, "asin", "The inverse of the sine.");
    unary<acos>(m, t, "acos", "The inverse of the cosine.");
    unary<atan>(m, t, "atan", "The inverse of the tangent.");
    unary<sinh>(m, t, "sinh", "The hyperbolic sine.");
    unary<cosh>(m, t, "cosh", "The hyperbolic cosine.");
    unary<tanh>(m, t, "tanh", "The hyperbolic tangent.");
    unary<erf>(m, t, "erf", "The error function.");
    unary<bitwise_not>(m, t, "bitwise_not", "~x.");
    unary<logical_not>(m, t, "logical_not", "Whether x is 0.");
    both(m, t, "isnan", "", "Whether an element is NaN.", [](const Tensor& x) { return isnan(x); });
    both(m, t, "isinf", "", "Whether an element is infinite.", [](const Tensor& x) { return isinf(x); });
    both(m, t, "isfinite", "", "Whether an element is a number.", [](const Tensor& x) { return isfinite(x); });
}

void bind_binary(nb::module_& m, nb::handle t) {
    both(m, t, "add", "other, *, alpha=1", "x + alpha * other.",
         [](const Operand& a, const Operand& b, Scalar alpha) { return add(a, b, alpha); });
    both(m, t, "sub", "other, *, alpha=1", "x - alpha * other.",
         [](const Operand& a, const Operand& b, Scalar alpha) { return sub(a, b, alpha); });
    function(m, "rsub", "input, other, *, alpha=1", "other - alpha * input.",
             [](const Operand& a, const Operand& b, Scalar alpha) { return sub(b, a, alpha); });
    function(m, "fill", "input, value", "The value everywhere, in a tensor's shape and type.",
             [](const Tensor& x, const Operand& value) {
                 if (value.is_scalar()) return full_like(x, value.scalar());
                 if (value.tensor().rank() > 0)
                     throw ShapeError("fill(): the value must be a number or a 0-d tensor, not one of the shape " +
                                      to_string(value.tensor().shape()));
                 return value.tensor().to(x.dtype()).expand(x.shape()).clone();
             });
    binary<mul>(m, t, "mul", "x * other.");
    both(m, t, "div", "other, *, rounding_mode=None",
         "x / other; rounding_mode 'floor' or 'trunc' rounds the quotient.",
         [](const Operand& a, const Operand& b, std::optional<std::string_view> mode) { return divided(a, b, mode); });
    binary<floor_divide>(m, t, "floor_divide", "x // other: the quotient, rounded down.");
    binary<remainder>(m, t, "remainder", "x % other, with the divisor's sign.");
    binary<fmod>(m, t, "fmod", "What division leaves, with the dividend's sign.");
    binary<maximum>(m, t, "maximum", "The larger of two; NaN if either is.");
    binary<minimum>(m, t, "minimum", "The smaller of two; NaN if either is.");
    binary<eq>(m, t, "eq", "x == other.");
    binary<ne>(m, t, "ne", "x != other.");
    binary<lt>(m, t, "lt", "x < other.");
    binary<le>(m, t, "le", "x <= other.");
    binary<gt>(m, t, "gt", "x > other.");
    binary<ge>(m, t, "ge", "x >= other.");
    binary<logical_and>(m, t, "logical_and", "Whether both are not 0.");
    binary<logical_or>(m, t, "logical_or", "Whether one of them is not 0.");
    binary<logical_xor>(m, t, "logical_xor", "Whether exactly one of them is not 0.");
    binary<bitwise_and>(m, t, "bitwise_and", "x & other.");
    binary<bitwise_or>(m, t, "bitwise_or", "x | other.");
    binary<bitwise_xor>(m, t, "bitwise_xor", "x ^ other.");
    binary<shift_left>(m, t, "bitwise_left_shift", "x << other.");
    binary<shift_right>(m, t, "bitwise_right_shift", "x >> other.");
    both(m, t, "pow", "exponent", "x to the power of `exponent`.",
         [](const Operand& a, const Operand& b) { return pow(a, b); });
}

void bind_choice(nb::module_& m, nb::handle t) {
    const auto clamped = [](const Tensor& x, nb::handle low, nb::handle high) {
        if (low.is_none() && high.is_none()) throw ValueError("clamp(): one of 'min' and 'max' must be given");
        if (low.is_none()) return clamp_max(x, OperandHolder(high.ptr(), {"clamp", "max"}).get());
        const OperandHolder least(low.ptr(), {"clamp", "min"});
        if (high.is_none()) return clamp_min(x, least.get());
        return clamp(x, least.get(), OperandHolder(high.ptr(), {"clamp", "max"}).get());
    };
    both(m, t, "clamp", "min=None, max=None", "No less than `min` and no more than `max`.", clamped);
    method(t, "clamp_", "min=None, max=None", "The same, in place.", [](InPlace self, nb::handle low, nb::handle high) {
        return stored(self, decltype(clamped)()(self.tensor(), low, high));
    });
    function(m, "where", "condition, input=None, other=None",
             "`input` where the condition holds, else `other`; of a condition alone: where it holds, a tensor for each "
             "axis.",
             [](const Tensor& condition, nb::handle a, nb::handle b) -> nb::object {
                 if (a.is_none() && b.is_none())
                     return nb::steal(to_python(without_gil([&] { return nonzero_by_axis(atleast_1d(condition)); })));
                 const OperandHolder input(a.ptr(), {"where", "input"}), other(b.ptr(), {"where", "other"});
                 return nb::steal(to_python(where(condition, input.get(), other.get())));
             });
    method(t, "where", "condition, other", "This tensor where the condition holds, else `other`.",
           [](const Tensor& self, const Tensor& condition, const Operand& other) {
               return where(condition, self, other);
           });
    both(m, t, "masked_fill", "mask, value", "`value` where the mask holds.",
         [](const Tensor& x, const Tensor& mask, const Operand& value) { return masked_fill(x, mask, value); });
    method(t, "masked_fill_", "mask, value", "The same, in place.",
           [](nb::handle self, const Tensor& mask, const Operand& value) {
               nb::inst_ptr<Tensor>(self)->assign(masked_fill(tensor_in(self.ptr()), mask, value));
               return nb::borrow(self);
           });
}

void bind_writes(nb::handle t) {
    method(t, "add_", "other, *, alpha=1", "Adds alpha * other, in place.",
           [](InPlace self, const Operand& other, Scalar alpha) {
               return stored(self, add(self.tensor(), other, alpha));
           });
    method(t, "sub_", "other, *, alpha=1", "Subtracts alpha * other, in place.",
           [](InPlace self, const Operand& other, Scalar alpha) {
               return stored(self, sub(self.tensor(), other, alpha));
           });
    writes<&Tensor::mul_>(t, "mul_", "Multiplies in place.");
    method(t, "div_", "other, *, rounding_mode=None", "Divides in place.",
           [](InPlace self, const Operand& other, std::optional<std::string_view> mode) {
               return stored(self, divided(self.tensor(), other, mode));
           });
    method(t, "copy_", "src, non_blocking=False", "Takes over the values of `src`, which is broadcast and converted.",
           [](nb::handle self, const Operand& source, bool) {
               nb::inst_ptr<Tensor>(self)->assign(source);
               return nb::borrow(self);
           });
    method(t, "fill_", "value", "Writes the value everywhere.", [](nb::handle self, Scalar value) {
        nb::inst_ptr<Tensor>(self)->fill_(value);
        return nb::borrow(self);
    });
    method(t, "zero_", "", "Writes 0 everywhere.", [](nb::handle self) {
        nb::inst_ptr<Tensor>(self)->zero_();
        return nb::borrow(self);
    });
}

}  // namespace

void bind_arithmetic(nb::module_& m, nb::handle tensor) {
    bind_unary(m, tensor);
    bind_binary(m, tensor);
    bind_choice(m, tensor);
    bind_writes(tensor);
}

}  // namespace weft::python
