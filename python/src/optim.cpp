// python/src/optim.cpp: the optimisers' engines. weft.optim puts parameter groups and PyTorch's names on top.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/optim.h>

#include <string>

namespace weft::python {

namespace {

std::vector<Tensor> tensors_in(nb::handle list, const char* function) {
    return Converter<std::vector<Tensor>>(list.ptr(), {function, "params"}).get();
}

}  // namespace

void bind_optim(nb::module_& m) {
    using namespace optim;
    nb::class_<Optimizer>(m, "_Optimizer", "Updates a list of parameters.")
        .def("step", [](Optimizer& self) { without_gil([&] { self.step(); }); })
        .def("set_lr", &Optimizer::set_lr)
        .def("steps", &Optimizer::steps)
        .def("state",
             [](const Optimizer& self) {
                 nb::dict result;
                 for (const auto& [name, tensor] : self.state()) result[name.c_str()] = nb::steal(to_python(tensor));
                 return result;
             })
        .def("load_state", [](Optimizer& self, nb::dict state) {
            std::vector<std::pair<std::string, Tensor>> entries;
            for (const auto& [name, value] : state) {
                if (!is_tensor(value.ptr()))
                    wrong_type({"load_state_dict", "state_dict"}, "a dict of tensors", value.ptr());
                entries.emplace_back(nb::cast<std::string>(name), tensor_in(value.ptr()));
            }
            self.load_state(entries);
        });
    nb::class_<SGD, Optimizer>(m, "_SGD").def("__init__", [](SGD* self, nb::handle params, double lr, double momentum,
                                                             double dampening, double weight_decay, bool nesterov) {
        new (self) SGD(tensors_in(params, "SGD"), {.lr = lr,
                                                   .momentum = momentum,
                                                   .dampening = dampening,
                                                   .weight_decay = weight_decay,
                                                   .nesterov = nesterov});
    });
    nb::class_<Adam, Optimizer>(m, "_Adam")
        .def("__init__",
             [](Adam* self, nb::handle params, double lr, double beta1, double beta2, double eps, double weight_decay) {
                 new (self) Adam(tensors_in(params, "Adam"),
                                 {.lr = lr, .beta1 = beta1, .beta2 = beta2, .eps = eps, .weight_decay = weight_decay});
             });
    nb::class_<AdamW, Optimizer>(m, "_AdamW")
        .def("__init__", [](AdamW* self, nb::handle params, double lr, double beta1, double beta2, double eps,
                            double weight_decay) {
            new (self) AdamW(tensors_in(params, "AdamW"),
                             {.lr = lr, .beta1 = beta1, .beta2 = beta2, .eps = eps, .weight_decay = weight_decay});
        });
    function(m, "_clip_grad_norm", "params, max_norm",
             "Scales all gradients so that their joint norm is at most max_norm.",
             [](const std::vector<Tensor>& params, double most) { return clip_grad_norm(params, most); });
}

}  // namespace weft::python
