// tensor/loss_vectors.cpp: how alike vectors are, and the losses that pull them together or push them apart.
#include "tensor/loss.h"

#include "tensor/cell.h"
#include "tensor/check.h"

#include <weft/ops.h>

namespace weft {
namespace {

DType float_result(const Checker& check, const Tensor& a, const Tensor& b) {
    const DType result = promote({a, b});
    check.dtype(is_float(result), "one of them must be a float tensor");
    return result;
}

}  // namespace

Tensor cosine_similarity(const Tensor& x1, const Tensor& x2, int axis, double eps) {
    const Checker check("cosine_similarity", {{"x1", x1}, {"x2", x2}, {"axis", axis}});
    const Shape shape = check.broadcast(x1.shape(), x2.shape());
    const DType result = float_result(check, x1, x2), wide = accumulator_of(result);
    const Axes along(check.axes({axis}, static_cast<int>(shape.size())));  // of scalars: none
    const Tensor a = broadcast_to(x1.to(wide), shape), b = broadcast_to(x2.to(wide), shape);
    const Tensor unit_a = a / at_least(norm(a, 2, along, true), eps),
                 unit_b = b / at_least(norm(b, 2, along, true), eps);
    return (unit_a * unit_b).sum(along).to(result);
}

Tensor pairwise_distance(const Tensor& x1, const Tensor& x2, double p, double eps, bool keepdim) {
    const Checker check("pairwise_distance", {{"x1", x1}, {"x2", x2}});
    check.that(!check.broadcast(x1.shape(), x2.shape()).empty(), "there is no axis to measure along");
    const DType result = float_result(check, x1, x2), wide = accumulator_of(result);
    return norm(x1.to(wide) - x2.to(wide) + eps, p, -1, keepdim).to(result);
}

Tensor cosine_embedding_loss(const Tensor& x1, const Tensor& x2, const Tensor& target, double margin,
                             Reduction reduction) {
    const Checker check("cosine_embedding_loss", {{"x1", x1}, {"x2", x2}, {"target", target}});
    check.that(target.rank() <= 1, "the target must be a number or have one axis");
    check.that(x1.rank() == target.rank() + 1 && x2.rank() == target.rank() + 1,
               target.rank() == 0 ? "a target that is a number needs vectors of one axis"
                                  : "a target of one axis needs vectors in the rows of matrices");
    const DType result = float_result(check, x1, x2), wide = accumulator_of(result);
    const Tensor a = x1.to(wide), b = x2.to(wide);
    constexpr double kTiny = 1e-12;  // under the root, so that a vector of zeros has a cosine
    const Tensor cosine = (a * b).sum(-1) / sqrt((square(a).sum(-1) + kTiny) * (square(b).sum(-1) + kTiny));
    const Tensor alike = where(target == 1, 1 - cosine, 0);
    return reduced_loss(alike + where(target == -1, clamp_min(cosine - margin, 0), 0), reduction, result);
}

Tensor margin_ranking_loss(const Tensor& x1, const Tensor& x2, const Tensor& target, double margin,
                           Reduction reduction) {
    const Checker check("margin_ranking_loss", {{"x1", x1}, {"x2", x2}, {"target", target}});
    check.that(x1.rank() == x2.rank() && x1.rank() == target.rank(), "all three must have the same number of axes");
    const DType result = promote({x1, x2, target});
    check.dtype(is_float(result), "one of them must be a float tensor");
    const DType wide = accumulator_of(result);
    return reduced_loss(clamp_min(margin - target.to(wide) * (x1.to(wide) - x2.to(wide)), 0), reduction, result);
}

Tensor hinge_embedding_loss(const Tensor& input, const Tensor& target, double margin, Reduction reduction) {
    const Checker check("hinge_embedding_loss", {{"input", input}, {"target", target}});
    check.broadcast(input.shape(), target.shape());
    const DType result = input.dtype();
    check.dtype(is_float(result), "the input must be a float tensor, not ", result);
    const Tensor x = input.to(accumulator_of(result));
    return reduced_loss(where(target != 1, clamp_min(margin - x, 0), 0) + where(target != -1, x, 0), reduction, result);
}

Tensor triplet_margin_loss(const Tensor& anchor, const Tensor& positive, const Tensor& negative,
                           const TripletOptions& options) {
    const Checker check("triplet_margin_loss", {{"anchor", anchor}, {"positive", positive}, {"negative", negative}});
    check.that(anchor.rank() == positive.rank() && anchor.rank() == negative.rank(),
               "all three must have the same number of axes");
    check.value(options.margin > 0, "margin must be positive");
    const DType result = promote({anchor, positive, negative}), wide = accumulator_of(result);
    const auto distance = [&](const Tensor& a, const Tensor& b) {
        return pairwise_distance(a.to(wide), b.to(wide), options.p, options.eps);
    };
    Tensor far = distance(anchor, negative);
    if (options.swap) far = minimum(far, distance(positive, negative));
    return reduced_loss(clamp_min(options.margin + distance(anchor, positive) - far, 0), options.reduction, result);
}

}  // namespace weft
