// python/src/optim.cpp: the optimisers' engines, and the formulas of the schedulers. weft.optim puts parameter groups and PyTorch's
// names on top.
#include "arguments.h"
#include "interrupt.h"
#include "topics.h"

#include <weft/lr_scheduler.h>
#include <weft/optim.h>

#include <string>

namespace weft::python {

namespace {

using namespace optim;

// The settings of a group, as a dict under PyTorch's names.
class Settings {
public:
    Settings(const char* optimizer, nb::dict values) : optimizer_(optimizer), values_(std::move(values)) {}
    double number(const char* name) const { return to_double(values_[name].ptr(), {optimizer_, name}); }
    bool flag(const char* name) const { return to_bool(values_[name].ptr(), {optimizer_, name}); }
    double beta(int i) const {
        const nb::object betas = values_["betas"];
        return to_double(nb::object(betas[i]).ptr(), {optimizer_, "betas"});
    }

private:
    const char* optimizer_;
    nb::dict values_;
};

SGDOptions sgd(const Settings& s) {
    return {.lr = s.number("lr"),
            .momentum = s.number("momentum"),
            .dampening = s.number("dampening"),
            .weight_decay = s.number("weight_decay"),
            .nesterov = s.flag("nesterov"),
            .maximize = s.flag("maximize")};
}
AdamOptions adam(const Settings& s) {
    return {.lr = s.number("lr"),
            .beta1 = s.beta(0),
            .beta2 = s.beta(1),
            .eps = s.number("eps"),
            .weight_decay = s.number("weight_decay"),
            .amsgrad = s.flag("amsgrad"),
            .maximize = s.flag("maximize"),
            .decoupled_weight_decay = s.flag("decoupled_weight_decay")};
}
RMSpropOptions rmsprop(const Settings& s) {
    return {.lr = s.number("lr"),
            .alpha = s.number("alpha"),
            .eps = s.number("eps"),
            .weight_decay = s.number("weight_decay"),
            .momentum = s.number("momentum"),
            .centered = s.flag("centered"),
            .maximize = s.flag("maximize")};
}
AdagradOptions adagrad(const Settings& s) {
    return {.lr = s.number("lr"),
            .lr_decay = s.number("lr_decay"),
            .weight_decay = s.number("weight_decay"),
            .initial_accumulator_value = s.number("initial_accumulator_value"),
            .eps = s.number("eps"),
            .maximize = s.flag("maximize")};
}
LionOptions lion(const Settings& s) {
    return {.lr = s.number("lr"),
            .beta1 = s.beta(0),
            .beta2 = s.beta(1),
            .weight_decay = s.number("weight_decay"),
            .maximize = s.flag("maximize")};
}
AdadeltaOptions adadelta(const Settings& s) {
    return {.lr = s.number("lr"),
            .rho = s.number("rho"),
            .eps = s.number("eps"),
            .weight_decay = s.number("weight_decay"),
            .maximize = s.flag("maximize")};
}
AdamaxOptions adamax(const Settings& s) {
    return {.lr = s.number("lr"),
            .beta1 = s.beta(0),
            .beta2 = s.beta(1),
            .eps = s.number("eps"),
            .weight_decay = s.number("weight_decay"),
            .maximize = s.flag("maximize")};
}
NAdamOptions nadam(const Settings& s) {
    return {.lr = s.number("lr"),
            .beta1 = s.beta(0),
            .beta2 = s.beta(1),
            .eps = s.number("eps"),
            .weight_decay = s.number("weight_decay"),
            .momentum_decay = s.number("momentum_decay"),
            .decoupled_weight_decay = s.flag("decoupled_weight_decay"),
            .maximize = s.flag("maximize")};
}
RAdamOptions radam(const Settings& s) {
    return {.lr = s.number("lr"),
            .beta1 = s.beta(0),
            .beta2 = s.beta(1),
            .eps = s.number("eps"),
            .weight_decay = s.number("weight_decay"),
            .decoupled_weight_decay = s.flag("decoupled_weight_decay"),
            .maximize = s.flag("maximize")};
}

std::vector<Tensor> tensors_in(nb::handle list, const char* function) {
    return Converter<std::vector<Tensor>>(list.ptr(), {function, "params"}).get();
}

// weft._weft._SGD and so on: `read` makes the options from a dict. Several classes of Python may share one, each under its own name.
template <class Engine, auto read>
void bind_engine(nb::module_& m, const char* class_name) {
    static const char* name;
    name = class_name + 1;
    nb::class_<Engine, Optimizer>(m, class_name)
        .def("__init__",
             [](Engine* self, nb::handle params, nb::dict settings, const std::string& shown_as) {
                 new (self) Engine(tensors_in(params, name), read(Settings(name, std::move(settings))), shown_as);
             })
        .def("add_group",
             [](Engine& self, nb::handle params, nb::dict settings) {
                 self.add_param_group(tensors_in(params, name), read(Settings(name, std::move(settings))));
             })
        .def("set_options", [](Engine& self, std::size_t group, nb::dict settings) {
            self.set_options(group, read(Settings(name, std::move(settings))));
        });
}

void bind_base(nb::module_& m) {
    nb::class_<Optimizer>(m, "_Optimizer", "Updates groups of parameters.")
        .def("step", [](Optimizer& self) { without_gil([&] { self.step(); }); })
        .def("set_lr", [](Optimizer& self, std::size_t group, double lr) { self.set_lr(group, lr); })
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
}

// One rate, by the same formulas as weft/lr_scheduler.h: before is the rate of the step before, first that of step 0.
void bind_schedules(nb::module_& m) {
    nb::module_ s = m.def_submodule("_schedules", "The formulas of weft.optim.lr_scheduler.");
    function(s, "step", "before, first, step, step_size, gamma", "Times gamma every step_size steps.",
             [](double before, double first, std::int64_t step, std::int64_t size, double gamma) {
                 return step_lr(size, gamma)({before, first, step});
             });
    function(s, "multi_step", "before, first, step, milestones, gamma", "Times gamma at each milestone.",
             [](double before, double first, std::int64_t step, const Dims& milestones, double gamma) {
                 return multi_step_lr({milestones.begin(), milestones.end()}, gamma)({before, first, step});
             });
    function(s, "exponential", "before, first, step, gamma", "Times gamma every step.",
             [](double before, double first, std::int64_t step, double gamma) {
                 return exponential_lr(gamma)({before, first, step});
             });
    function(s, "constant", "before, first, step, factor, total_iters", "Times factor until total_iters.",
             [](double before, double first, std::int64_t step, double factor, std::int64_t total) {
                 return constant_lr(factor, total)({before, first, step});
             });
    function(s, "linear", "before, first, step, start_factor, end_factor, total_iters", "A line between two factors.",
             [](double before, double first, std::int64_t step, double start, double end, std::int64_t total) {
                 return linear_lr(start, end, total)({before, first, step});
             });
    function(s, "warmup", "before, first, step, warmup_steps", "A line that rises to the first rate.",
             [](double before, double first, std::int64_t step, std::int64_t steps) {
                 return linear_warmup(steps)({before, first, step});
             });
    function(s, "polynomial", "before, first, step, total_iters, power", "Down to 0 along a power.",
             [](double before, double first, std::int64_t step, std::int64_t total, double power) {
                 return polynomial_lr(total, power)({before, first, step});
             });
    function(s, "cosine", "before, first, step, T_max, eta_min", "Half a cosine.",
             [](double before, double first, std::int64_t step, std::int64_t t_max, double eta_min) {
                 return cosine_annealing_lr(t_max, eta_min)({before, first, step});
             });
    function(s, "warm_restarts", "before, first, step, T_0, T_mult, eta_min", "Half a cosine, again and again.",
             [](double before, double first, std::int64_t step, std::int64_t t_0, std::int64_t t_mult, double eta_min) {
                 return cosine_annealing_warm_restarts(t_0, t_mult, eta_min)({before, first, step});
             });
    function(s, "one_cycle", "start, peak, end, step, total_steps, pct_start, linear, three_phase",
             "From start to peak and on to end.",
             [](double start, double peak, double end, std::int64_t step, std::int64_t total, double pct_start,
                bool linear, bool three_phase) {
                 return one_cycle(start, peak, end, step, total,
                                  {.pct_start = pct_start, .linear = linear, .three_phase = three_phase});
             });
}

}  // namespace

void bind_optim(nb::module_& m) {
    bind_base(m);
    bind_engine<SGD, sgd>(m, "_SGD");
    bind_engine<Adam, adam>(m, "_Adam");
    bind_engine<RMSprop, rmsprop>(m, "_RMSprop");
    bind_engine<Adagrad, adagrad>(m, "_Adagrad");
    bind_engine<Lion, lion>(m, "_Lion");
    bind_engine<Adadelta, adadelta>(m, "_Adadelta");
    bind_engine<Adamax, adamax>(m, "_Adamax");
    bind_engine<NAdam, nadam>(m, "_NAdam");
    bind_engine<RAdam, radam>(m, "_RAdam");
    bind_schedules(m);
    function(m, "_clip_grad_norm_", "parameters, max_norm, norm_type, error_if_nonfinite",
             "Scales all gradients so that their joint norm is at most max_norm.",
             [](const std::vector<Tensor>& params, double most, double p, bool error_if_nonfinite) {
                 return clip_grad_norm(params, most, p, error_if_nonfinite);
             });
    function(m, "_clip_grad_value_", "parameters, clip_value", "Limits every element of the gradients.",
             [](const std::vector<Tensor>& params, double most) { clip_grad_value(params, most); });
    function(m, "_parameters_to_vector", "parameters", "All elements, one after the other.",
             [](const std::vector<Tensor>& params) { return parameters_to_vector(params); });
    function(m, "_vector_to_parameters", "vec, parameters", "Writes them back.",
             [](const Tensor& vector, const std::vector<Tensor>& params) { vector_to_parameters(vector, params); });
}

}  // namespace weft::python
