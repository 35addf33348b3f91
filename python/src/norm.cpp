// python/src/norm.cpp: the normalisations of weft.nn.functional.
#include "arguments.h"
#include "topics.h"

#include <weft/norm.h>

namespace weft::python {

void bind_norm(nb::module_& f) {
    function(f, "layer_norm", "input, normalized_shape, weight=None, bias=None, eps=1e-05",
             "Mean 0 and variance 1 over the last axes, times weight plus bias.",
             [](const Tensor& x, const Dims& shape, const MaybeTensor& weight, const MaybeTensor& bias, double eps) {
                 return layer_norm(x, shape, weight.tensor, bias.tensor, eps);
             });
    function(f, "rms_norm", "input, normalized_shape, weight=None, eps=None",
             "x / sqrt(mean(x²) + eps) * weight over the last axes.",
             [](const Tensor& x, const Dims& shape, const MaybeTensor& weight, std::optional<double> eps) {
                 return rms_norm(x, shape, weight.tensor, eps);
             });
    function(f, "group_norm", "input, num_groups, weight=None, bias=None, eps=1e-05",
             "Groups of channels, each with mean 0 and variance 1.",
             [](const Tensor& x, std::int64_t groups, const MaybeTensor& weight, const MaybeTensor& bias, double eps) {
                 return group_norm(x, groups, weight.tensor, bias.tensor, eps);
             });
    function(f, "batch_norm",
             "input, running_mean, running_var, weight=None, bias=None, training=False, momentum=0.1, eps=1e-05",
             "Each channel with mean 0 and variance 1 over the batch; in training the running ones move.",
             [](const Tensor& x, const MaybeTensor& mean, const MaybeTensor& var, const MaybeTensor& weight,
                const MaybeTensor& bias, bool training, double momentum, double eps) {
                 return batch_norm(x, mean.tensor, var.tensor, weight.tensor, bias.tensor,
                                   {.training = training, .momentum = momentum, .eps = eps});
             });
    function(f, "instance_norm",
             "input, running_mean=None, running_var=None, weight=None, bias=None, use_input_stats=True, momentum=0.1, "
             "eps=1e-05",
             "Each channel of each example with mean 0 and variance 1.",
             [](const Tensor& x, const MaybeTensor& mean, const MaybeTensor& var, const MaybeTensor& weight,
                const MaybeTensor& bias, bool use_input_stats, double momentum, double eps) {
                 return instance_norm(x, mean.tensor, var.tensor, weight.tensor, bias.tensor,
                                      {.use_input_stats = use_input_stats, .momentum = momentum, .eps = eps});
             });
    function(f, "_batch_norm", "input, mean, var, weight, bias, training, momentum, eps, batches",
             "batch_norm that counts its batches; without momentum the statistics are the mean over all of them.",
             [](const Tensor& x, const MaybeTensor& mean, const MaybeTensor& var, const MaybeTensor& weight,
                const MaybeTensor& bias, bool training, std::optional<double> momentum, double eps,
                const MaybeTensor& batches) {
                 return batch_norm(x, mean.tensor, var.tensor, weight.tensor, bias.tensor,
                                   {.training = training, .momentum = momentum, .eps = eps, .batches = batches.tensor});
             });
}

}  // namespace weft::python
