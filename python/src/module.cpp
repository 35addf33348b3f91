// python/src/module.cpp: the module weft._weft. It binds, converts and documents; the package weft beside it is what users import.
#include "interrupt.h"
#include "topics.h"

NB_MODULE(_weft, m) {
    using namespace weft::python;
    nb::set_leak_warnings(false);  // Python does not free everything at exit either
    bind_errors(m);
    bind_dtype(m);
    const nb::object tensor = bind_tensor(m);
    nb::module_ f = m.def_submodule("functional", "Layers, activations and losses as functions.");
    bind_creation(m, tensor);
    bind_random(m, f, tensor);
    bind_arithmetic(m, tensor);
    bind_arithmetic_in_place(m, tensor);
    bind_products(m, f, tensor);
    bind_elementwise(m, tensor);
    bind_special(m, tensor);
    bind_movement(m, f, tensor);
    bind_movement_joining(m, tensor);
    bind_reduction(m, tensor);
    bind_statistics(m, f, tensor);
    bind_indexing(m, f, tensor);
    bind_sorting(m, tensor);
    bind_scatter(m, tensor);
    bind_tensor_layout(m, tensor);
    bind_activations(m, f, tensor);
    bind_norm(f);
    bind_convolution(f);
    bind_pooling(f);
    bind_images(m, f);
    bind_embedding(f);
    bind_attention(f);
    bind_recurrent(f);
    bind_loss(f);
    bind_out(m);
    bind_linalg(m, tensor);
    bind_autograd(m, tensor);
    bind_custom(m, tensor);
    bind_dlpack(m, tensor);
    bind_cuda(m);
    bind_optim(m);
    bind_init(m);
    bind_jit(m);
    bind_data(m);
    bind_files(m);
    bind_debug(m);
    bind_profile(m);
    bind_autocast(m);
    watch_for_interrupts();
}
