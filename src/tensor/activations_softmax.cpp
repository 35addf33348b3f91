// tensor/activations_softmax.cpp: softmax and its logarithm: reductions along a row, then elementwise work with their results.
#include "tensor/activations_softmax.h"

#include "ir/build.h"
#include "tensor/cell.h"
#include "tensor/check.h"
#include "tensor/nodes.h"

#include <weft/ops.h>

#include <limits>

namespace weft {
namespace {

using ir::NodeRef;
using ir::Op;
using SoftmaxRule = std::shared_ptr<const ir::GradRuleObject>;

// d softmax = out * (g - sum(g * out)). One object per axis, so that equal softmaxes are one node.
SoftmaxRule make_softmax_rule(int axis) {
    return nodes::grad_rule("softmax", [axis](const NodeRef& out, const NodeRef& g) {
        return ir::Grads{out * (g - ir::reduce(Op::Add, g * out, {axis}))};
    });
}

SoftmaxRule softmax_rule(int axis) {
    constexpr int kShared = 16;
    static const std::vector<SoftmaxRule> rules = [] {
        std::vector<SoftmaxRule> made;
        for (int d = 0; d < kShared; ++d) made.push_back(make_softmax_rule(d));
        return made;
    }();
    return axis < kShared ? rules[axis] : make_softmax_rule(axis);
}

NodeRef softmax_operand(const Tensor& x) { return ir::cast(node_of(x), accumulator_of(float_type(x.dtype()))); }

}  // namespace

Tensor softmax(const Tensor& x, int axis) {
    const Checker check("softmax", {{"x", x}, {"axis", axis}});
    const Dims axes = check.axes({axis}, x.rank());
    if (axes.empty()) return softmax(x.reshape({1}), 0).reshape({});  // of a scalar: 1, whose gradient is 0
    const NodeRef wide = softmax_operand(x);
    const DType result = float_type(x.dtype());
    const NodeRef powers = ir::unary(Op::Exp, nodes::shifted(wide, axes));
    // One division per row; the products are within 1.5 ULP of the quotients.
    const NodeRef value = powers * ir::unary(Op::Recip, ir::reduce(Op::Add, powers, axes));
    return make_tensor(ir::cast(nodes::with_grad(value, wide, softmax_rule(static_cast<int>(axes[0]))), result));
}

Tensor softmin(const Tensor& x, int axis) { return softmax(-x, axis); }

Tensor masked_softmax(const Tensor& x) {
    const NodeRef wide = softmax_operand(x);
    const int axis = x.rank() - 1;
    const NodeRef top = ir::detach(ir::reduce(Op::Max, wide, {axis}));
    const double infinity = std::numeric_limits<double>::infinity();
    const NodeRef nothing = ir::equal_to(top, nodes::number(top, -infinity)), zero = nodes::number(top, 0);
    const NodeRef powers = ir::unary(Op::Exp, wide - ir::where(nothing, zero, top));
    const NodeRef total = ir::reduce(Op::Add, powers, {axis});
    const NodeRef value = powers * ir::where(nothing, zero, ir::unary(Op::Recip, total));
    return make_tensor(ir::cast(nodes::with_grad(value, wide, softmax_rule(axis)), x.dtype()));
}

Tensor log_softmax(const Tensor& x, int axis) {
    const Checker check("log_softmax", {{"x", x}, {"axis", axis}});
    const Dims axes = check.axes({axis}, x.rank());
    const NodeRef z = nodes::shifted(softmax_operand(x), axes);
    const NodeRef total = ir::unary(Op::Log, ir::reduce(Op::Add, ir::unary(Op::Exp, z), axes));
    return make_tensor(ir::cast(z - total, float_type(x.dtype())));
}

}  // namespace weft
