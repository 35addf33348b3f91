// tensor/check.h: what every op function starts with. A Checker knows the call as it was made and opens each message with
// it; promotion decides the result's type; as_node turns an operand into a node of that type.
#pragma once

#include "core/checked.h"
#include "core/str.h"
#include "ir/node.h"
#include "ir/origins.h"

#include <weft/error.h>
#include <weft/tensor.h>

#include <initializer_list>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <variant>

namespace weft {

struct OptionalArgument {};
inline constexpr OptionalArgument kOptional;  // {"bias", bias, kOptional}: an undefined tensor is allowed

// Nothing is formatted unless a check fails, so that a correct call costs some comparisons only.
//
//     const Checker check("matmul", {{"a", a}, {"b", b}});
//     check.that(a.rank() > 0, "a scalar has no dimension to sum over");
//     // ShapeError: matmul(a: f32[], b: f32[3]): a scalar has no dimension to sum over
class Checker final : Call {
public:
    // A name and what was passed under it. Tensors and lists are pointed to: the Checker lives inside the call.
    struct Argument {
        Argument(std::string_view name, const Tensor& tensor) : name(name), value(&tensor) {}
        Argument(std::string_view name, const Tensor& tensor, OptionalArgument)
            : name(name), value(&tensor), optional(true) {}
        Argument(std::string_view name, const Operand& operand);
        Argument(std::string_view name, std::span<const Tensor> tensors) : name(name), value(tensors) {}
        Argument(std::string_view name, const Dims& dims) : name(name), value(&dims) {}
        Argument(std::string_view name, DType dtype) : name(name), value(dtype) {}
        template <class T>
        requires(std::is_arithmetic_v<T>) Argument(std::string_view name, T number)
            : name(name), value(Scalar(number)) {}

        std::string_view name;
        std::variant<const Tensor*, std::span<const Tensor>, const Dims*, DType, Scalar> value;
        bool optional = false;
    };

    Checker(std::string_view function, std::initializer_list<Argument> arguments);  // ValueError: a tensor is undefined

    template <class... Parts>
    void that(bool holds, const Parts&... parts) const {
        if (!holds) [[unlikely]]
            throw ShapeError(message(str(parts...)));
    }
    template <class... Parts>
    void dtype(bool holds, const Parts&... parts) const {
        if (!holds) [[unlikely]]
            throw DTypeError(message(str(parts...)));
    }
    template <class... Parts>
    void value(bool holds, const Parts&... parts) const {
        if (!holds) [[unlikely]]
            throw ValueError(message(str(parts...)));
    }
    template <class... Parts>
    void index(bool holds, const Parts&... parts) const {
        if (!holds) [[unlikely]]
            throw IndexError(message(str(parts...)));
    }

    int axis(std::int64_t axis, int rank) const;            // counted from the front; IndexError if out of range
    Dims axes(const Dims& axes, int rank) const;            // ascending, each once; none given means all
    Shape broadcast(const Shape& a, const Shape& b) const;  // ShapeError names the axis
    void sizes(const Shape& shape) const;                   // no size is negative, the product fits 63 bits
    void table(double count) const;                         // so many numbers, made at the call, fit into memory
    std::string call() const override;                      // "matmul(a: f32[2, 3], b: f32[4, 5])"

private:
    std::string message(const std::string& problem) const { return str(call(), ": ", problem); }
    void make_constants_there();

    std::string_view function_;
    InlineVector<Argument, 4> arguments_;
    ir::CallOrigin origin_;
    std::optional<DeviceScope> there_;  // where the operands are: what the op makes besides belongs there, too
};

std::string to_string(const Scalar& scalar);

// Whether an integer written in the program is an element of this type. A negative number may wrap in an unsigned type
// (x + -1 is x - 1); floats always fit, since they saturate.
bool fits(const Scalar& scalar, DType dtype);

// The type that operands meet in, as in PyTorch: tensors with dimensions decide; 0-d tensors and numbers only raise the
// kind (bool < integer < float).
DType promote(std::initializer_list<Operand> operands);

// The operand as a node of this type. ValueError if an integer written in the program does not fit it.
ir::NodeRef as_node(const Operand& operand, DType dtype, const Checker& check);

Shape shape_of(const Operand& operand);

inline DType float_type(DType t) {
    return is_float(t) ? t : default_dtype();
}  // what float functions compute integers in
inline DType accumulator_of(DType t) { return is_half(t) ? DType::F32 : t; }  // what f16 and bf16 are summed in

}  // namespace weft
