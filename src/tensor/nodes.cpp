// tensor/nodes.cpp: small composites of nodes that several topics share.
#include "tensor/nodes.h"

#include "core/checked.h"
#include "core/device.h"

#include <weft/products.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace weft::nodes {

NodeRef number(const NodeRef& like, const Scalar& value) { return ir::constant(like->dtype, value); }
NodeRef not_equal(const NodeRef& a, const NodeRef& b) { return ir::logical_not(ir::equal_to(a, b)); }
NodeRef both(const NodeRef& a, const NodeRef& b) { return ir::binary(Op::And, a, b); }
NodeRef either(const NodeRef& a, const NodeRef& b) { return ir::binary(Op::Or, a, b); }

NodeRef is_nan(const NodeRef& x) {
    return is_float(x->dtype) ? not_equal(x, x) : ir::constant(DType::Bool, Scalar(false), x->shape);
}

NodeRef floor(const NodeRef& x) {
    if (!is_float(x->dtype)) return x;
    const NodeRef whole = ir::unary(Op::Trunc, x);
    return ir::where(ir::less(x, whole), whole - number(x, 1), whole);
}

// A sum of this size has no place below 1: adding rounds to a whole number, halves to even.
NodeRef round(const NodeRef& x) {
    if (!is_float(x->dtype)) return x;
    if (is_half(x->dtype)) return ir::cast(round(ir::cast(x, DType::F32)), x->dtype);
    const NodeRef magic = number(x, x->dtype == DType::F64 ? 0x1p52 : 0x1p23), size = ir::unary(Op::Abs, x);
    const NodeRef whole = copysign((size + magic) - magic, x);
    return flat(ir::where(ir::less(size, magic), whole, x), {x});
}

NodeRef power(const NodeRef& x, std::int64_t exponent) {
    if (exponent == 0) return ir::like(x, 1);
    if (exponent == 1) return x;
    const NodeRef half = power(x, exponent / 2);
    return exponent % 2 ? half * half * x : half * half;
}

NodeRef with_grad(const NodeRef& value, const NodeRef& input, const std::shared_ptr<const ir::GradRuleObject>& rule) {
    return ir::with_grad(value, {&input, 1}, rule);
}

std::shared_ptr<const ir::GradRuleObject> grad_rule(
    std::string name, std::function<ir::Grads(const NodeRef& out, const NodeRef& gradient)> rule) {
    return std::make_shared<const ir::GradRuleObject>(ir::GradRuleObject{std::move(name), std::move(rule)});
}

NodeRef with_grads(const NodeRef& value, std::initializer_list<NodeRef> inputs,
                   const std::shared_ptr<const ir::GradRuleObject>& rule) {
    std::vector<NodeRef> expanded;
    for (const NodeRef& input : inputs) expanded.push_back(ir::expand(input, value->shape));
    return ir::with_grad(value, expanded, rule);
}

NodeRef flat(const NodeRef& value, std::initializer_list<NodeRef> inputs) {
    static const auto rule = grad_rule("flat", [](const NodeRef& out, const NodeRef&) {
        ir::Grads grads;
        for (std::size_t i = 1; i < out->sources.size(); ++i) grads.push_back(ir::like(out->sources[i], 0));
        return grads;
    });
    return is_float(value->dtype) ? ir::with_grad(value, {inputs.begin(), inputs.size()}, rule) : value;
}

NodeRef copysign(const NodeRef& magnitude, const NodeRef& sign) {
    const NodeRef m = bits(magnitude), s = bits(sign);
    const std::int64_t minus = sign_bit(m->dtype);
    return ir::bitcast(either(both(m, number(m, ~minus)), both(s, number(s, minus))), magnitude->dtype);
}

NodeRef bits(const NodeRef& x) {
    const std::size_t size = size_of(x->dtype);
    return ir::bitcast(x, size == 8 ? DType::I64 : size == 4 ? DType::I32 : DType::I16);
}

std::int64_t sign_bit(DType t) { return std::numeric_limits<std::int64_t>::min() >> (64 - 8 * size_of(t)); }

NodeRef sigmoid(const NodeRef& x) {
    static const auto rule = grad_rule(
        "sigmoid", [](const NodeRef& out, const NodeRef& g) { return ir::Grads{g * (out * (number(out, 1) - out))}; });
    const NodeRef one = number(x, 1);
    return with_grad(ir::unary(Op::Recip, one + ir::unary(Op::Exp, -x)), x, rule);
}

NodeRef relu(const NodeRef& x) {
    const NodeRef value = ir::binary(Op::Max, x, number(x, 0));
    if (!is_float(x->dtype)) return value;
    static const auto rule = grad_rule("relu", [](const NodeRef& out, const NodeRef& g) {
        return ir::Grads{ir::where(ir::less_equal(out, number(out, 0)), number(g, 0), g)};
    });
    return with_grad(value, x, rule);
}

NodeRef softplus(const NodeRef& x) {
    static const auto rule = grad_rule(
        "softplus", [](const NodeRef& out, const NodeRef& g) { return ir::Grads{g * sigmoid(out->sources[1])}; });
    const NodeRef tail = ir::unary(Op::Log1p, ir::unary(Op::Exp, -ir::unary(Op::Abs, x)));
    return with_grad(ir::binary(Op::Max, x, number(x, 0)) + tail, x, rule);
}

NodeRef positions(std::int64_t size, int axis, int rank) {
    Shape shape = Shape::filled(static_cast<std::size_t>(rank), 1);
    shape[axis] = size;
    return ir::reshape(ir::iota(size), shape);
}

NodeRef drop_axes(const NodeRef& x, const Dims& axes) {
    Shape shape = x->shape;
    for (std::size_t i = axes.size(); i-- > 0;) shape.erase(shape.begin() + axes[i]);
    return ir::reshape(x, shape);
}

NodeRef add_axis(const NodeRef& x, int axis) {
    Shape shape = x->shape;
    shape.insert(shape.begin() + axis, 1);
    return ir::reshape(x, shape);
}

NodeRef reduced(Op op, const NodeRef& x, const Dims& axes, bool keepdim) {
    const NodeRef result = ir::reduce(op, x, axes);
    return keepdim ? result : drop_axes(result, axes);
}

std::int64_t count_of(const NodeRef& x, const Dims& axes) {
    std::int64_t count = 1;
    for (const std::int64_t axis : axes) count *= x->shape[axis];
    return count;
}

NodeRef mean(const NodeRef& x, const Dims& axes) {
    return ir::reduce(Op::Add, x, axes) / number(x, static_cast<double>(count_of(x, axes)));
}

NodeRef variance(const NodeRef& x, const NodeRef& mean, const Dims& axes, double correction) {
    const NodeRef distance = x - mean;
    const double divisor = std::max(0.0, static_cast<double>(count_of(x, axes)) - correction);
    return ir::reduce(Op::Add, distance * distance, axes) / number(x, divisor);
}

NodeRef shifted(const NodeRef& x, const Dims& axes) {
    const NodeRef top = ir::detach(ir::reduce(Op::Max, x, axes));
    return x - top;
}

namespace {

// […, N, K] summed along K, as a matrix of one row: […, 1, N].
Shape row_shape(const Shape& terms) {
    Shape shape(terms.begin(), terms.end() - 1);
    shape.insert(shape.end() - 1, 1);
    return shape;
}

}  // namespace

ir::FusedArg rounding_of(const NodeRef& a, const NodeRef& b) {
    if (!tf32_products() || a->dtype != DType::F32) return {};
    const auto is_half_inside = [](const NodeRef& x) {
        const ir::Node* node = x.get();
        while (ir::is_movement(node->op)) node = &node->source();
        return node->op == Op::Cast && is_half(node->source().dtype);
    };
    const Device device = Device::of_number(std::max(a->device, b->device));
    return {.tf32 = multiplies_tf32(device) && !(is_half_inside(a) && is_half_inside(b))};
}

NodeRef contraction(const NodeRef& a, const NodeRef& b) {
    if (a->shape[a->rank() - 2] ==
        1) {  // a vector times a matrix: sums along the last axis, as of a matrix times a vector
        Dims transposed;
        for (int d = 0; d < b->rank(); ++d) transposed.push_back(d);
        std::swap(transposed[b->rank() - 2], transposed[b->rank() - 1]);
        const NodeRef product = ir::product(a, ir::permute(b, transposed));  // […, 1, K] and […, N, K]
        return ir::reshape(reduced(Op::Add, product, {product->rank() - 1}, false), row_shape(product->shape));
    }
    const NodeRef left = add_axis(a, a->rank()), right = add_axis(b, b->rank() - 2);  // […, M, K, 1] and […, 1, K, N]
    const bool is_vector = b->shape[b->rank() - 1] == 1;
    const NodeRef product = ir::product(left, right, is_vector ? ir::FusedArg{} : rounding_of(a, b));
    return reduced(Op::Add, product, {product->rank() - 2}, false);
}

NodeRef strided(const NodeRef& x, int axis, std::int64_t step, std::int64_t count) {
    if (step == 1) return x;
    const ir::SkewArg arg{.axis = axis, .window = x->rank(), .stride = step};
    return drop_axes(ir::skew(add_axis(x, x->rank()), arg, count), {x->rank()});
}

NodeRef spread(const NodeRef& x, int axis, std::int64_t step, std::int64_t size) {
    if (step == 1) return x;
    const ir::SkewArg arg{.axis = axis, .window = x->rank(), .stride = step};
    return drop_axes(ir::unskew(add_axis(x, x->rank()), arg, size), {x->rank()});
}

std::int64_t Window::outputs(std::int64_t input) const {
    const std::int64_t reach = checked_add(checked_mul(size - 1, dilation), 1);
    return input < reach ? 0 : (input - reach) / stride + 1;
}

NodeRef windows(const NodeRef& x, std::span<const Window> windows) {
    const int rank = x->rank();
    Shape with_windows = x->shape, expanded = x->shape;
    for (const Window& window : windows) {
        with_windows.push_back(1);
        expanded.push_back(window.size);
    }
    NodeRef result = ir::expand(ir::reshape(x, with_windows), expanded);
    for (std::size_t i = 0; i < windows.size(); ++i) {
        const Window& w = windows[i];
        const ir::SkewArg arg{
            .axis = w.axis, .window = rank + static_cast<int>(i), .stride = w.stride, .dilation = w.dilation};
        result = ir::skew(result, arg, w.outputs(x->shape[w.axis]));
    }
    return result;
}

}  // namespace weft::nodes
