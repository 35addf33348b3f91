// python/src/topics.h: what the module consists of, a file per topic.
#pragma once

#include <nanobind/nanobind.h>

namespace weft::python {

namespace nb = nanobind;

void bind_errors(nb::module_& m);
void bind_dtype(nb::module_& m);
nb::object bind_tensor(nb::module_& m);  // weft.Tensor; the topics below add to it
void bind_creation(nb::module_& m, nb::handle tensor);
void bind_random(nb::module_& m, nb::module_& f, nb::handle tensor);  // f: the submodule functional
void bind_arithmetic(nb::module_& m, nb::handle tensor);
void bind_arithmetic_in_place(nb::module_& m, nb::handle tensor);
void bind_products(nb::module_& m, nb::module_& f, nb::handle tensor);
void bind_elementwise(nb::module_& m, nb::handle tensor);
void bind_special(nb::module_& m, nb::handle tensor);
void bind_movement(nb::module_& m, nb::module_& f, nb::handle tensor);
void bind_movement_joining(nb::module_& m, nb::handle tensor);
void bind_reduction(nb::module_& m, nb::handle tensor);
void bind_statistics(nb::module_& m, nb::module_& f, nb::handle tensor);
void bind_indexing(nb::module_& m, nb::module_& f, nb::handle tensor);
void bind_sorting(nb::module_& m, nb::handle tensor);
void bind_scatter(nb::module_& m, nb::handle tensor);
void bind_tensor_layout(nb::module_& m, nb::handle tensor);
void bind_activations(nb::module_& m, nb::module_& f, nb::handle tensor);
void bind_norm(nb::module_& f);
void bind_convolution(nb::module_& f);
void bind_pooling(nb::module_& f);
void bind_images(nb::module_& m, nb::module_& f);
void bind_embedding(nb::module_& f);
void bind_attention(nb::module_& f);
void bind_recurrent(nb::module_& f);
void bind_loss(nb::module_& f);
void bind_out(nb::module_& m);
void bind_linalg(nb::module_& m, nb::handle tensor);
void bind_autograd(nb::module_& m, nb::handle tensor);
void bind_custom(nb::module_& m, nb::handle tensor);
void bind_dlpack(nb::module_& m, nb::handle tensor);
void bind_cuda(nb::module_& m);
void bind_optim(nb::module_& m);
void bind_init(nb::module_& m);
void bind_jit(nb::module_& m);
void bind_data(nb::module_& m);
void bind_files(nb::module_& m);
void bind_debug(nb::module_& m);
void bind_profile(nb::module_& m);
void bind_autocast(nb::module_& m);

}  // namespace weft::python
