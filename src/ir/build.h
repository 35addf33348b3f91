// ir/build.h: makes well-formed tensor nodes. src/tensor and src/grad build with these; each checks what the verifier
// checks, and throws InternalError, since the user's mistakes were caught before. Halves compute in f32 with explicit casts.
#pragma once

#include "ir/custom.h"
#include "ir/node.h"

#include <concepts>
#include <span>

namespace weft::ir {

// leaves
// A Const, expanded to the shape; the same, from the element's bits. A user's tensor has a device, a constant inside an op has none.
NodeRef constant(DType dtype, const Scalar& value, const Shape& shape = {}, std::uint8_t device = kAnyDevice);
NodeRef constant_word(DType dtype, Word value, const Shape& shape = {}, std::uint8_t device = kAnyDevice);
// Only a Word is taken for bits: a plain overload would catch every int and double too, since those convert to it.
template <std::same_as<Word> Bits>
NodeRef constant(DType dtype, Bits value, const Shape& shape = {}, std::uint8_t device = kAnyDevice) {
    return constant_word(dtype, value, shape, device);
}
NodeRef like(const NodeRef& x, const Scalar& value);  // a constant of x's dtype and shape
NodeRef variable(DType dtype, Word value,
                 std::shared_ptr<const std::function<Word()>> redraw = nullptr);  // a fresh Var
NodeRef iota(std::int64_t size, std::uint8_t device = kAnyDevice);                // i64[size]: 0, 1, 2 …
NodeRef buffer(StorageRef storage, DType dtype, const Shape& shape, std::int64_t offset, const Dims& strides);

// elementwise; operands have one dtype and shapes that broadcast (aligned right, size 1 stretches)
NodeRef unary(Op op, const NodeRef& x);
NodeRef binary(Op op, const NodeRef& a, const NodeRef& b);  // Add … Shr; comparisons give bool
// The terms of a sum of products, like a matmul's: reduce(Op::Add, product(a, b), axes) rounds once per multiply-add, and may be a
// contraction. a * b is a value of its own, rounded whether it is stored or not, and so is each term of its sum.
NodeRef product(const NodeRef& a, const NodeRef& b, const FusedArg& arg = {});
NodeRef where(const NodeRef& condition, const NodeRef& a, const NodeRef& b);
NodeRef threefry(Op word, const NodeRef& low, const NodeRef& high, const NodeRef& key);  // ThreefryX, ThreefryY
NodeRef cast(const NodeRef& x, DType to);                                                // x itself if it has that type
NodeRef bitcast(const NodeRef& x, DType to);                                             // same width

inline NodeRef operator+(const NodeRef& a, const NodeRef& b) { return binary(Op::Add, a, b); }
inline NodeRef operator-(const NodeRef& a, const NodeRef& b) { return binary(Op::Sub, a, b); }
inline NodeRef operator*(const NodeRef& a, const NodeRef& b) { return binary(Op::Mul, a, b); }
inline NodeRef operator/(const NodeRef& a, const NodeRef& b) { return binary(Op::Div, a, b); }
inline NodeRef operator-(const NodeRef& a) { return unary(Op::Neg, a); }
NodeRef less(const NodeRef& a, const NodeRef& b);
NodeRef less_equal(const NodeRef& a, const NodeRef& b);
NodeRef equal_to(const NodeRef& a, const NodeRef& b);
NodeRef logical_not(const NodeRef& x);  // of a bool

// movement
NodeRef reshape(const NodeRef& x, const Shape& shape);
NodeRef permute(const NodeRef& x, const Dims& axes);   // out axis d is x's axis axes[d]
NodeRef expand(const NodeRef& x, const Shape& shape);  // size-1 axes stretch; missing leading axes are added
NodeRef shrink(const NodeRef& x, const Dims& starts, const Shape& sizes);
NodeRef pad(const NodeRef& x, const Dims& before, const Dims& after);  // with zeros
NodeRef flip(const NodeRef& x, const Dims& axes);
NodeRef skew(const NodeRef& x, const SkewArg& arg,
             std::int64_t outputs);  // out[…,o,k] = x[…, o*stride + k*dilation, k]
NodeRef unskew(const NodeRef& x, const SkewArg& arg, std::int64_t inputs);  // the transpose of skew
NodeRef insert(const NodeRef& base, const NodeRef& value, const Dims& starts);

// reductions keep their axes with size 1
// op: Add, Mul, Max, Min; no axes: x itself. Without an order, the one that follows from x's shape.
NodeRef reduce(Op op, const NodeRef& x, Dims axes, const SumOrder* order = nullptr);
NodeRef scan(Op op, const NodeRef& x, int axis, const SumOrder* order = nullptr);  // inclusive

// data-dependent indices: out[i…] = source[i…] with i[axis] replaced by index[i…]; index i64 has the result's shape,
// and source's other sizes are equal to it
NodeRef gather(const NodeRef& source, const NodeRef& index, int axis);
NodeRef scatter(Op mode, const NodeRef& base, const NodeRef& index, const NodeRef& value, int axis);
NodeRef check(const NodeRef& value, std::int64_t low, std::int64_t high, std::string what);

// markers
NodeRef contiguous(const NodeRef& x);
NodeRef to_device(const NodeRef& x, std::uint8_t device);  // x itself if it is there
// What is made of constants alone is computed anywhere: the same, computed there. Others are as they are.
NodeRef made_on(const NodeRef& x, std::uint8_t device);
NodeRef leaf(std::uint64_t cell, const NodeRef& value);
NodeRef detach(const NodeRef& x);
NodeRef with_grad(const NodeRef& value, std::span<const NodeRef> inputs, std::shared_ptr<const GradRuleObject> rule);
// `value` where it happens to depend on no element of `unused` (there are none, or all are overwritten): its gradient is zeros, not missing.
NodeRef with_unused(const NodeRef& value, const NodeRef& unused);
NodeRef custom(std::shared_ptr<const CustomFunction> function, std::span<const NodeRef> inputs);
NodeRef part(const NodeRef& custom, int index);

// The shape two shapes broadcast to; throws ShapeError.
Shape broadcast_shapes(const Shape& a, const Shape& b);

// A copy of `node` with other sources (and nothing else changed).
NodeRef with_sources(const Node& node, Sources sources);

}  // namespace weft::ir
