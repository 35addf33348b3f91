// nn/convolution.cpp: convolution layers: their parameters, and which options they pass on.
#include "nn/start.h"

#include <weft/error.h>
#include <weft/nn/convolution.h>

namespace weft::nn {
namespace {

// Checks the sizes, and gives the kernel's size along each axis.
Dims kernel_sizes(std::string_view name, int spatial, std::int64_t in, std::int64_t out, const Sizes& kernel,
                  std::int64_t groups) {
    check_positive(name, {in, out, groups});
    if (kernel.size() != 1 && kernel.size() != static_cast<std::size_t>(spatial))
        throw ValueError(std::string(name) + ": the kernel must have one size or " + std::to_string(spatial) +
                         ", not " + to_string(kernel));
    if (in % groups != 0 || out % groups != 0)
        throw ValueError(std::string(name) + ": " + std::to_string(in) + " and " + std::to_string(out) +
                         " channels cannot both be divided into " + std::to_string(groups) + " groups");
    Dims result;
    for (int s = 0; s < spatial; ++s) {
        check_positive(name, {kernel.at(s)});
        result.push_back(kernel.at(s));
    }
    return result;
}

Shape weight_shape(std::int64_t first, std::int64_t second, const Dims& kernel) {
    Shape shape = {first, second};
    shape.append(kernel.begin(), kernel.end());
    return shape;
}

}  // namespace

Conv::Conv(std::string_view name, int spatial, std::int64_t in, std::int64_t out, const Sizes& kernel,
           const ConvSettings& s)
    : settings(s) {
    const DeviceScope there = made_on(s.device);
    const Shape shape = weight_shape(out, in / std::max<std::int64_t>(1, s.groups),
                                     kernel_sizes(name, spatial, in, out, kernel, s.groups));
    const std::int64_t inputs = numel(shape) / out;
    weight = fan_in_uniform(shape, inputs);
    if (s.bias) bias = fan_in_uniform({out}, inputs);
    parameter("weight", weight);
    parameter("bias", bias);
}

ConvOptions Conv::options() const {
    return {.stride = settings.stride,
            .padding = settings.padding,
            .dilation = settings.dilation,
            .groups = settings.groups};
}

ConvTranspose::ConvTranspose(std::string_view name, int spatial, std::int64_t in, std::int64_t out, const Sizes& kernel,
                             const ConvTransposeSettings& s)
    : settings(s) {
    const DeviceScope there = made_on(s.device);
    const Shape shape = weight_shape(in, out / std::max<std::int64_t>(1, s.groups),
                                     kernel_sizes(name, spatial, in, out, kernel, s.groups));
    const std::int64_t inputs = numel(shape) / in;
    weight = fan_in_uniform(shape, inputs);
    if (s.bias) bias = fan_in_uniform({out}, inputs);
    parameter("weight", weight);
    parameter("bias", bias);
}

ConvTransposeOptions ConvTranspose::options() const {
    return {.stride = settings.stride,
            .padding = settings.padding,
            .output_padding = settings.output_padding,
            .groups = settings.groups,
            .dilation = settings.dilation};
}

}  // namespace weft::nn
