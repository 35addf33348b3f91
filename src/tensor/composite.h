// tensor/composite.h: how a float function of one tensor is made from several nodes.
#pragma once

#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"

#include <string_view>

namespace weft {

// A composite of float functions: f16 and bf16 are computed in f32 throughout and rounded once.
template <class Build>
Tensor float_composite(std::string_view name, const Tensor& x, Build build) {
    const Checker check(name, {{"x", x}});
    const DType result = float_type(x.dtype());
    return make_tensor(ir::cast(build(ir::cast(node_of(x), accumulator_of(result))), result));
}

// The same for two operands, which broadcast.
template <class Build>
Tensor float_composite(std::string_view name, const Operand& a, const Operand& b, Build build) {
    const Checker check(name, {{"a", a}, {"b", b}});
    check.broadcast(shape_of(a), shape_of(b));
    const DType result = float_type(promote({a, b})), wide = accumulator_of(result);
    const auto operand = [&](const Operand& x) {  // a number keeps its digits
        return x.is_scalar() ? as_node(x, wide, check) : ir::cast(as_node(x, result, check), wide);
    };
    return make_tensor(ir::cast(build(operand(a), operand(b)), result));
}

}  // namespace weft
