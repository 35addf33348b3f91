// tests/fuzz/ops.cpp: the rows.
#include "tests/fuzz/ops.h"

#include <weft/convolution.h>
#include <weft/pooling.h>
#include <weft/sorting.h>

#include <algorithm>

namespace weft::testing::fuzz {
namespace {

#define WEFT_OPERANDS                                           \
    [[maybe_unused]] const Tensor &x = o.x, &y = o.y, &z = o.z; \
    [[maybe_unused]] const double c = o.c;                      \
    [[maybe_unused]] const int d = o.d;                         \
    [[maybe_unused]] const std::int64_t k = o.k;
#define OP(weight, operands, ...)                                                                             \
    {                                                                                                         \
        weight, operands, #__VA_ARGS__, [](const Operands& o) -> Tensor { WEFT_OPERANDS return __VA_ARGS__; } \
    }
#define WRITE(weight, operands, ...)                                                                \
    {                                                                                               \
        weight, operands, #__VA_ARGS__, [](const Operands& o) { WEFT_OPERANDS(void)(__VA_ARGS__); } \
    }

Tensor numbered(const Tensor& x, int axis, std::int64_t step) {  // indices of x along an axis, each within it
    return arange(x.size(axis)) * step % x.size(axis);
}

// For convolutions of x [channels, length]: k + 1 kernels out of its first elements.
Tensor kernels(const Tensor& x, std::int64_t k, std::int64_t length) {
    const Tensor one = x.narrow(1, 0, std::min(length, x.size(1)));
    std::vector<Tensor> all;
    for (std::int64_t i = 0; i <= k % 18; ++i) all.push_back(one * (0.3 + 0.1 * static_cast<double>(i)));
    return stack(all);
}

// For those of an image x [height, width].
Tensor kernel(const Tensor& x, std::int64_t height, std::int64_t width) {
    return x.narrow(0, 0, std::min(height, x.size(0)))
        .narrow(1, 0, std::min(width, x.size(1)))
        .unsqueeze(0)
        .unsqueeze(0);
}

// A transposed convolution multiplies zeros between the elements, or leaves them out (S275): what is not finite would show it.
Tensor finite(const Tensor& x) { return is_float(x.dtype()) ? clamp(nan_to_num(x), -9.0, 9.0) : x; }

// clang-format off
const OpRow kOps[] = {
    // one operand
    OP(2, 1, tanh(x)), OP(2, 1, sigmoid(x)), OP(1, 1, sin(x)), OP(2, 1, relu(x)), OP(2, 1, exp(-abs(x))), OP(1, 1, sqrt(x * x + 1)),
    OP(2, 1, rsqrt(abs(x) + 0.5)), OP(1, 1, log1p(abs(x))), OP(3, 1, x * c), OP(3, 1, x + c), OP(1, 1, c - x), OP(1, 1, -x), OP(1, 1, abs(x)),
    OP(1, 1, clamp(x, -1, 1)), OP(1, 1, x / (abs(x) + 1)), OP(1, 1, gelu(x)), OP(1, 1, erf(x)), OP(2, 1, clone(x)), OP(2, 1, contiguous(x)),
    OP(1, 1, where(x > c, x, x * c)), OP(1, 1, x * x * 0.3), OP(1, 1, masked_fill(x, x < c, 0.5)), OP(2, 1, x.detach()), OP(1, 1, elu(x)),
    // other types, and back
    OP(1, 1, x.to(f64)), OP(1, 1, x.to(f32)), OP(1, 1, x.to(f16)), OP(1, 1, x.to(bf16)), OP(1, 1, (x > c).to(i32)), OP(1, 1, (x > c)),
    OP(1, 1, (x < c).to(i64) * 3 - 1), OP(1, 1, (x > c).to(u8) + 2), OP(1, 1, (x > c).to(i8) - 3), OP(1, 1, x.to(f16).to(f32)),
    // along an axis
    OP(2, 1, softmax(x, d)), OP(1, 1, log_softmax(x, d)), OP(3, 1, cumsum(x, d)), OP(2, 1, cumsum(x * 0.3, d) * 0.5),
    OP(2, 1, cumprod(clamp(x, -1.0, 1.0) / (x.size(d) + 1) + 1, d)), OP(2, 1, x.flip(d)), OP(1, 1, roll(x, {k}, d)), OP(1, 1, sort(x, d).values),
    OP(1, 1, argsort(floor(x * 8 + 0.37), d)), OP(1, 1, x - mean(x, d, true)), OP(1, 1, x / (sum(abs(x), d, true) + 1)), OP(1, 1, logcumsumexp(x, d)),
    OP(1, 1, x * max(x, d, true) * 0.3), OP(1, 1, layer_norm(x, {x.size(-1)}, {}, {}, 0.1)), OP(1, 1, diff(x, 1, d)),
    // reductions
    OP(2, 1, sum(x, d)), OP(2, 1, sum(x, d, true)), OP(2, 1, mean(x, d)), OP(2, 1, max(x, d)), OP(1, 1, min(x, d, true)), OP(1, 1, logsumexp(x, d)),
    OP(2, 1, prod(clamp(x, -1.0, 1.0) / (x.size(d) + 1) + 1, d)), OP(1, 1, sum(x)), OP(1, 1, var(x, d, 0)), OP(1, 1, norm(x + 3, 2, d) * 0.1), OP(1, 1, argmax(x, d)),
    OP(1, 1, sum(x * x, d) * 0.1), OP(1, 1, cross_entropy(x, numbered(x, 0, 1) % x.size(1))), OP(1, 1, any(x > c, d)),
    // two operands
    OP(4, 2, x + y), OP(3, 2, x - y), OP(4, 2, x * y), OP(2, 2, maximum(x, y)), OP(1, 2, minimum(x, y)), OP(2, 2, where(x > y, x * 0.5, y)),
    OP(2, 2, x / (abs(y) + 1)), OP(1, 2, lerp(x, y, 0.3)), OP(1, 2, sigmoid(x) * tanh(y)), OP(1, 3, addcmul(x, y, z, 0.5)), OP(1, 3, where(x > c, y, z)),
    OP(2, 2, x + y.unsqueeze(-1)), OP(2, 2, x * y.unsqueeze(0)), OP(1, 2, x - sum(y, d, true)),
    // products
    OP(5, 2, matmul(x, y) * 0.3), OP(5, 2, matmul(x, y.t()) * 0.3), OP(3, 2, matmul(x.t(), y) * 0.3), OP(3, 1, matmul(x, x.t()) * 0.1),
    OP(2, 3, linear(x, y, z)), OP(1, 2, tanh(matmul(x, y))), OP(1, 2, relu(matmul(x, y.t()) + c)), OP(1, 2, outer(x, y)),
    // joins
    OP(4, 2, cat({x, y}, d)), OP(4, 2, stack({x, y}, d)), OP(2, 2, cat({x, y, x}, d)), OP(2, 3, cat({x, y, z}, d)), OP(1, 2, cat({x * c, cumsum(y, d)}, d)), OP(1, 2, cat({x * y, cumsum(x, d)}, 0)),
    OP(1, 2, cat({y * x, cumsum(x, 1)}, 0) / (abs(y) + 1)),
    OP(1, 1, stack({x, cumsum(x, d)})), OP(1, 2, sum(stack({x, y}), 0)), OP(1, 2, max(stack({x, y}, d), d)),
    // views and moves
    OP(4, 1, x.t()), OP(2, 1, x.flatten()), OP(2, 1, x.reshape({x.size(-1), -1})), OP(3, 1, x.slice(d, {k})), OP(3, 1, x.slice(d, {{}, k})),
    OP(2, 1, x.slice(d, {{}, {}, 2})), OP(2, 1, select(x, d, k)), OP(1, 1, x[0]), OP(2, 1, pad(x, {1, 2})), OP(1, 1, pad(x, {0, 0, k, 1})), OP(2, 1, x.unsqueeze(d)),
    OP(1, 1, x.unsqueeze(0).expand({2, -1, -1})), OP(1, 1, tril(x)), OP(1, 1, triu(x, 1)), OP(1, 1, x.squeeze()), OP(1, 1, x.narrow(d, k, 1)),
    OP(1, 1, unfold(x, d, 2, 1)), OP(1, 1, repeat_interleave(x, 2, d)),
    // windows
    OP(1, 1, conv1d(x.unsqueeze(0), kernels(x, k, 1 + k % 5), {}, {.stride = 1 + d, .padding = k % 4, .dilation = 1 + k % 2}) * 0.2),
    OP(1, 1, conv2d(x.unsqueeze(0), kernel(x, 2, 1 + k % 3), {}, {.stride = 1 + k % 3, .padding = 1}) * 0.2),
    OP(1, 1, conv_transpose1d(finite(x).unsqueeze(0), kernels(finite(x), k, 1 + k % 4).permute({1, 0, 2}), {}, {.stride = 1 + k % 3}) * 0.2),
    OP(1, 1, conv_transpose2d(finite(x).unsqueeze(0), kernel(finite(x), 1 + k % 3, 2), {}, {.stride = 1 + k % 3, .padding = k % 2}) * 0.2),
    OP(1, 1, max_pool2d(x.unsqueeze(0), {1 + k % 3, 2}, {.stride = 1 + k % 3, .padding = 0})), OP(1, 1, avg_pool2d(x.unsqueeze(0), {2, 1 + k % 3}, {.stride = 1 + d})),
    // indices
    OP(2, 1, take(x, numbered(x, d, 3), d)), OP(1, 1, index_select(x, d, numbered(x, d, 2))), OP(1, 2, index_add(x, 0, numbered(y, 0, 2) % x.size(0), y)),
    OP(1, 1, gather(x, d, argsort(floor(x * 8 + 0.37), d))), OP(1, 2, index_put(x, {numbered(y, 0, 1) % x.size(0)}, y)), OP(1, 2, slice_scatter(x, y, d, {k, k + 1})),
    OP(2, 1, index_select(x, d, x.size(d) - 1 - arange(x.size(d)))),
};

const WriteRow kWrites[] = {
    WRITE(3, 1, Tensor(x).mul_(c)), WRITE(3, 1, Tensor(x).add_(c)), WRITE(2, 1, Tensor(x).fill_(c)), WRITE(2, 1, Tensor(x).copy_(tanh(x))),
    WRITE(4, 2, Tensor(x).add_(y)), WRITE(3, 2, Tensor(x).mul_(y)), WRITE(4, 2, Tensor(x).copy_(y)), WRITE(2, 2, Tensor(x).sub_(y * c)),
    WRITE(3, 2, Tensor(x).mul_(0.9).add_(y)), WRITE(3, 2, Tensor(x).mul_(0.9).add_(y.t())), WRITE(3, 2, Tensor(x).sub_(y.t())), WRITE(2, 2, Tensor(x).copy_(x * 0.5 + y.t())),
    WRITE(4, 1, select(x, d, k).fill_(c)), WRITE(3, 1, x.slice(d, {k}).fill_(c)), WRITE(2, 1, x.slice(d, {{}, k}).mul_(c)), WRITE(2, 1, x.slice(d, {{}, {}, 2}).add_(c)),
    WRITE(3, 2, select(x, d, k).copy_(y)), WRITE(3, 2, select(x, d, k).add_(y)), WRITE(2, 2, x.slice(d, {k, k + 1}).copy_(y)), WRITE(2, 2, x.t().add_(y)),
    WRITE(2, 2, x.slice(d, {{}, {}, -1}).copy_(y)), WRITE(2, 2, x.flatten().add_(y.flatten())), WRITE(1, 2, x[0].mul_(y[0])), WRITE(2, 1, x.slice(d, {k, k + 1}).copy_(x.slice(d, {0, 1}))),
    WRITE(1, 1, Tensor(x).copy_(x.flip(d))), WRITE(1, 1, Tensor(x).add_(x.t())), WRITE(1, 1, Tensor(x).copy_(cumsum(x, d) * 0.3)),
};
// clang-format on

}  // namespace

std::span<const OpRow> ops() { return kOps; }
std::span<const WriteRow> writes() { return kWrites; }

}  // namespace weft::testing::fuzz
