// python/src/functional.cpp: what weft.nn.functional consists of; some of it are functions of weft and methods too, as in PyTorch.
#include "arguments.h"
#include "topics.h"

#include <weft/functional.h>
#include <weft/ops.h>

namespace weft::python {

namespace {

Tensor in_type(const Tensor& x, std::optional<DType> dtype) { return dtype && *dtype != x.dtype() ? x.to(*dtype) : x; }

// Where no axis is given PyTorch takes the channels of a batch, and the only axis of a vector.
int usual_axis(const Tensor& x) { return x.rank() == 0 || x.rank() == 1 || x.rank() == 3 ? 0 : 1; }

void bind_softmax(nb::module_& m, nb::module_& f, nb::handle tensor) {
    both(m, tensor, "softmax", "dim, dtype=None", "exp(x) / sum(exp(x)) along an axis, without overflow.",
         [](const Tensor& x, int dim, std::optional<DType> dtype) { return softmax(in_type(x, dtype), dim); });
    both(m, tensor, "log_softmax", "dim, dtype=None", "The logarithm of softmax, accurate where it is tiny.",
         [](const Tensor& x, int dim, std::optional<DType> dtype) { return log_softmax(in_type(x, dtype), dim); });
    function(f, "softmax", "input, dim=None, _stacklevel=3, dtype=None",
             "exp(x) / sum(exp(x)) along an axis, without overflow.",
             [](const Tensor& x, std::optional<int> dim, int, std::optional<DType> dtype) {
                 return softmax(in_type(x, dtype), dim.value_or(usual_axis(x)));
             });
    function(f, "log_softmax", "input, dim=None, _stacklevel=3, dtype=None",
             "The logarithm of softmax, accurate where it is tiny.",
             [](const Tensor& x, std::optional<int> dim, int, std::optional<DType> dtype) {
                 return log_softmax(in_type(x, dtype), dim.value_or(usual_axis(x)));
             });
    function(f, "softmin", "input, dim=None, _stacklevel=3, dtype=None", "softmax(-x).",
             [](const Tensor& x, std::optional<int> dim, int, std::optional<DType> dtype) {
                 return softmin(in_type(x, dtype), dim.value_or(usual_axis(x)));
             });
}

void bind_shapes(nb::module_& f) {
    function(f, "pad", "input, pad, mode='constant', value=None",
             "Elements around the tensor; pairs (before, after), the last axis first.",
             [](const Tensor& x, const Dims& widths, std::string_view mode, std::optional<Scalar> value) {
                 if (mode == "reflect") return pad(x, widths, PadMode::Reflect);
                 if (mode == "replicate") return pad(x, widths, PadMode::Replicate);
                 if (mode == "circular") return pad(x, widths, PadMode::Circular);
                 if (mode != "constant")
                     throw ValueError(
                         "pad(): argument 'mode' must be 'constant', 'reflect', 'replicate' or 'circular', not '" +
                         std::string(mode) + "'");
                 return pad(x, widths, value.value_or(0));
             });
    function(f, "one_hot", "tensor, num_classes=-1", "1 at the index, else 0, along a new last axis.",
             [](const Tensor& index, std::int64_t classes) {
                 return one_hot(index, classes < 0 ? max(index).item<std::int64_t>() + 1 : classes);
             });
}

}  // namespace

void bind_functional(nb::module_& m, nb::handle tensor) {
    nb::module_ f = m.def_submodule("functional", "Layers, activations and losses as functions.");
    bind_activations(m, f, tensor);
    bind_softmax(m, f, tensor);
    bind_layers(f);
    bind_convolution(f);
    bind_images(m, f);
    bind_sequences(f);
    bind_shapes(f);
    bind_loss(f);
}

}  // namespace weft::python
