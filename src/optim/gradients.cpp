// optim/gradients.cpp: gradients within limits, and parameters as one vector.
#include <weft/error.h>
#include <weft/ops.h>
#include <weft/optim.h>

#include <cmath>
#include <optional>

namespace weft::optim {

Tensor clip_grad_norm(std::span<const Tensor> parameters, double most, double p, bool error_if_nonfinite) {
    if (!(p > 0)) throw ValueError("clip_grad_norm(): the norm's p = " + std::to_string(p) + " must be positive");
    const NoGrad no_grad;
    Tensor all;  // the sum of the powers, or the largest element; f16 would overflow
    std::optional<DType> dtype;
    for (const Tensor& parameter : parameters) {
        if (!parameter.grad().defined() || parameter.numel() == 0) continue;
        dtype = promote(dtype.value_or(parameter.dtype()), parameter.dtype());
        const Tensor g = parameter.grad().to(parameter.dtype() == f64 ? f64 : f32);
        const Tensor own = std::isinf(p) ? abs(g).max()
                           : p == 2      ? square(g).sum()
                           : p == 1      ? abs(g).sum()
                                         : pow(abs(g), p).sum();
        all = !all.defined() ? own : std::isinf(p) ? maximum(all, own) : all + own;
    }
    if (!all.defined()) return zeros({});
    const Tensor total = std::isinf(p) || p == 1 ? all : p == 2 ? sqrt(all) : pow(all, 1 / p);
    if (error_if_nonfinite && !std::isfinite(total.item()))
        throw Error("clip_grad_norm(): the norm of the gradients is " + std::to_string(total.item()) +
                    ", which nothing can be scaled by");
    const Tensor factor = clamp_max(most / (total + 1e-6), 1.0);
    for (const Tensor& parameter : parameters)
        if (Tensor g = parameter.grad(); g.defined()) g *= factor;
    return total.to(*dtype);
}

void clip_grad_value(std::span<const Tensor> parameters, double most) {
    const NoGrad no_grad;
    for (const Tensor& parameter : parameters)
        if (Tensor g = parameter.grad(); g.defined()) g.assign(clamp(g, -most, most));
}

Tensor parameters_to_vector(std::span<const Tensor> parameters) {
    if (parameters.empty()) throw ValueError("parameters_to_vector(): there are no parameters");
    std::vector<Tensor> flat;
    for (const Tensor& p : parameters) flat.push_back(p.reshape({-1}));
    return cat(flat);
}

void vector_to_parameters(const Tensor& vector, std::span<const Tensor> parameters) {
    std::int64_t wanted = 0, at = 0;
    for (const Tensor& p : parameters) wanted += p.numel();
    if (vector.rank() != 1 || vector.numel() < wanted)
        throw ShapeError("vector_to_parameters(): a vector of the shape " + to_string(vector.shape()) +
                         " does not hold " + std::to_string(wanted) + " elements");
    const NoGrad no_grad;
    for (Tensor p : parameters) {
        p.assign(vector.detach().slice(0, {at, at + p.numel()}).reshape(p.shape()));
        at += p.numel();
    }
}

}  // namespace weft::optim
