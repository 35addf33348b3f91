// python/src/convolution.cpp: convolution of weft.nn.functional.
#include "arguments.h"
#include "topics.h"

#include <weft/convolution.h>

namespace weft::python {

namespace {

using Convolve = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const ConvOptions&);
using Transpose = Tensor (*)(const Tensor&, const Tensor&, const Tensor&, const ConvTransposeOptions&);

template <Convolve convolve>
void bind_conv(nb::module_& f, const char* name) {
    function(f, name, "input, weight, bias=None, stride=1, padding=0, dilation=1, groups=1",
             "Slides weight [out, in / groups, window…] over [n, in, spatial…].",
             [](const Tensor& x, const Tensor& weight, const MaybeTensor& bias, const Sizes& stride,
                const Padding& padding, const Sizes& dilation, std::int64_t groups) {
                 return convolve(x, weight, bias.tensor,
                                 {.stride = stride, .padding = padding, .dilation = dilation, .groups = groups});
             });
}

template <Transpose transpose>
void bind_transpose(nb::module_& f, const char* name) {
    function(f, name, "input, weight, bias=None, stride=1, padding=0, output_padding=0, groups=1, dilation=1",
             "The transpose of a convolution, with weight [in, out / groups, window…].",
             [](const Tensor& x, const Tensor& weight, const MaybeTensor& bias, const Sizes& stride,
                const Sizes& padding, const Sizes& output_padding, std::int64_t groups, const Sizes& dilation) {
                 return transpose(x, weight, bias.tensor,
                                  {.stride = stride,
                                   .padding = padding,
                                   .output_padding = output_padding,
                                   .groups = groups,
                                   .dilation = dilation});
             });
}

}  // namespace

void bind_convolution(nb::module_& f) {
    bind_conv<conv1d>(f, "conv1d");
    bind_conv<conv2d>(f, "conv2d");
    bind_conv<conv3d>(f, "conv3d");
    bind_transpose<conv_transpose1d>(f, "conv_transpose1d");
    bind_transpose<conv_transpose2d>(f, "conv_transpose2d");
    bind_transpose<conv_transpose3d>(f, "conv_transpose3d");
}

}  // namespace weft::python
