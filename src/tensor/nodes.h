// tensor/nodes.h: small composites of nodes that several topics share. They check nothing: op functions do that first.
#pragma once

#include "ir/build.h"

#include <initializer_list>
#include <memory>
#include <optional>
#include <span>

namespace weft::nodes {

using ir::NodeRef;
using ir::Op;

NodeRef number(const NodeRef& like, const Scalar& value);  // a 0-d constant of like's type
NodeRef not_equal(const NodeRef& a, const NodeRef& b);
NodeRef both(const NodeRef& a, const NodeRef& b);  // bools
NodeRef either(const NodeRef& a, const NodeRef& b);
NodeRef is_nan(const NodeRef& x);  // false for integers

NodeRef floor(const NodeRef& x);
NodeRef round(const NodeRef& x);                                  // halves to even
NodeRef copysign(const NodeRef& magnitude, const NodeRef& sign);  // floats; no gradient goes through it
NodeRef bits(const NodeRef& x);                                   // of a float, as the signed integer of its width
std::int64_t sign_bit(DType t);                                   // the lowest integer of a type of this width
NodeRef power(const NodeRef& x, std::int64_t exponent);           // by multiplications, exponent >= 0
NodeRef sigmoid(const NodeRef& x);                                // its gradient needs the output only
NodeRef relu(const NodeRef& x);
NodeRef softplus(const NodeRef& x);  // log(1 + exp(x)), stable; the gradient is sigmoid(x)

// The index along an axis as a value: i64 of x's rank, with size 1 in every other axis.
NodeRef positions(std::int64_t size, int axis, int rank);

// A reduction; without keepdim the axes are dropped.
NodeRef reduced(Op op, const NodeRef& x, const Dims& axes, bool keepdim);
NodeRef drop_axes(const NodeRef& x, const Dims& axes);      // axes of size 1
NodeRef add_axis(const NodeRef& x, int axis);               // of size 1, counted in the result
std::int64_t count_of(const NodeRef& x, const Dims& axes);  // how many elements a reduction meets
NodeRef mean(const NodeRef& x, const Dims& axes);           // axes kept
NodeRef variance(const NodeRef& x, const NodeRef& mean, const Dims& axes, double correction);  // axes kept

// x minus its maximum along the axes, which is a constant to the gradient: what exp() is then taken of cannot overflow.
NodeRef shifted(const NodeRef& x, const Dims& axes);

// The product of matrices […, M, K] and […, K, N] as one sum of products, of one dtype; batch axes broadcast.
NodeRef contraction(const NodeRef& a, const NodeRef& b);
// How the products of two matrices are rounded: exactly, or as tf32 if that is chosen and they are f32 on a GPU. Casts of halves are exact either way.
ir::FusedArg rounding_of(const NodeRef& a, const NodeRef& b);

// Every step-th element along an axis, `count` of them from the first; and its transpose, with zeros in between.
NodeRef strided(const NodeRef& x, int axis, std::int64_t step, std::int64_t count);
NodeRef spread(const NodeRef& x, int axis, std::int64_t step, std::int64_t size);

// Sliding windows: axis d of `spatial` becomes outputs[d] positions, and windows[d] is appended as a last axis.
struct Window {
    int axis = 0;
    std::int64_t size = 1, stride = 1, dilation = 1;
    std::int64_t outputs(std::int64_t input) const;  // positions in an input of this size; 0 or less: it does not fit
};
NodeRef windows(const NodeRef& x, std::span<const Window> windows);

NodeRef with_grad(const NodeRef& value, const NodeRef& input, const std::shared_ptr<const ir::GradRuleObject>& rule);
// The same for several inputs, which the rule sees expanded to the value's shape: gradients have that shape, too.
NodeRef with_grads(const NodeRef& value, std::initializer_list<NodeRef> inputs,
                   const std::shared_ptr<const ir::GradRuleObject>& rule);
// A value that does not change with its inputs: their gradients are 0, and not missing.
NodeRef flat(const NodeRef& value, std::initializer_list<NodeRef> inputs);
std::shared_ptr<const ir::GradRuleObject> grad_rule(
    std::string name, std::function<ir::Grads(const NodeRef& out, const NodeRef& gradient)> rule);

}  // namespace weft::nodes
