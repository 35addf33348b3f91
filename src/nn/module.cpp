// nn/module.cpp: what a module knows about its members: names, parameters, buffers, children, and copying their values.
#include <weft/error.h>
#include <weft/nn/module.h>

#include <algorithm>
#include <map>

namespace weft::nn {
namespace {

std::string described(const Tensor& t) { return std::string(name_of(t.dtype())) + to_string(t.shape()); }

}  // namespace

Tensor Module::forward(const Tensor&) { throw ValueError("this module has no forward() of one tensor"); }

void Module::parameter(std::string name, Tensor& tensor) {
    if (tensor.defined()) tensor.set_requires_grad();
    parameters_.push_back({std::move(name), &tensor});
}

void Module::buffer(std::string name, Tensor& tensor) { buffers_.push_back({std::move(name), &tensor}); }

void Module::child(std::string name, Module& module) { children_.emplace_back(std::move(name), &module); }

// Calls f(module, prefix of its members' names) for this module and all below it. As deep as the modules are nested.
template <class F>
void Module::visit(const std::string& prefix, F&& f) const {
    f(*this, prefix);
    for (const auto& [name, module] : children_) module->visit(prefix + name + ".", f);
}

NamedTensors Module::named_parameters() const {
    NamedTensors result;
    visit("", [&](const Module& module, const std::string& prefix) {
        for (const Named& p : module.parameters_)
            if (p.tensor->defined()) result.emplace_back(prefix + p.name, *p.tensor);
    });
    return result;
}

NamedTensors Module::named_buffers() const {
    NamedTensors result;
    visit("", [&](const Module& module, const std::string& prefix) {
        for (const Named& b : module.buffers_)
            if (b.tensor->defined()) result.emplace_back(prefix + b.name, *b.tensor);
    });
    return result;
}

NamedTensors Module::state() const {
    NamedTensors result = named_parameters();
    for (auto& entry : named_buffers()) result.push_back(std::move(entry));
    return result;
}

std::vector<Tensor> Module::parameters() const {
    std::vector<Tensor> result;
    for (auto& [name, tensor] : named_parameters()) result.push_back(tensor);
    return result;
}

std::int64_t Module::parameter_count() const {
    std::int64_t count = 0;
    for (const Tensor& p : parameters()) count += p.numel();
    return count;
}

void Module::train(bool training) {
    training_ = training;
    for (const auto& [name, module] : children_) module->train(training);
}

void Module::zero_grad() {
    for (const Tensor& p : parameters()) p.zero_grad();
}

void Module::load_state(const NamedTensors& given) {
    std::map<std::string, Tensor> ours;
    for (auto& [name, tensor] : state()) ours.emplace(name, tensor);
    std::map<std::string, Tensor> theirs(given.begin(), given.end());
    for (const auto& [name, tensor] : theirs) {
        const auto own = ours.find(name);
        if (own == ours.end()) throw ValueError("load_state(): the module has nothing named " + name);
        if (!tensor.defined() || tensor.shape() != own->second.shape())
            throw ShapeError("load_state(): " + name + " is " + described(own->second) + " here, and " +
                             (tensor.defined() ? described(tensor) : "undefined") + " in what is loaded");
    }
    for (const auto& [name, tensor] : ours)
        if (!theirs.contains(name)) throw ValueError("load_state(): " + name + " is missing in what is loaded");
    const NoGrad no_grad;
    for (auto& [name, tensor] : ours) tensor.assign(theirs.at(name));
}

std::string Module::summary() const {
    const NamedTensors named = named_parameters();
    std::size_t names = 9, shapes = 5;
    for (const auto& [name, tensor] : named) {
        names = std::max(names, name.size());
        shapes = std::max(shapes, described(tensor).size());
    }
    const auto row = [&](std::string name, std::string shape, const std::string& count) {
        name.resize(names, ' '), shape.resize(shapes, ' ');
        return name + "  " + shape + "  " + std::string(count.size() < 12 ? 12 - count.size() : 0, ' ') + count + "\n";
    };
    std::string text = row("parameter", "shape", "elements");
    for (const auto& [name, tensor] : named) text += row(name, described(tensor), std::to_string(tensor.numel()));
    return text + row("in all", "", std::to_string(parameter_count()));
}

Sequential& Sequential::add(std::unique_ptr<Module> module) {
    if (!module) throw ValueError("Sequential: the module is null");
    child(std::to_string(modules_.size()), *module);
    modules_.push_back(std::move(module));
    return *this;
}

Tensor Sequential::forward(const Tensor& x) {
    Tensor result = x;
    for (const auto& module : modules_) result = module->forward(result);
    return result;
}

Module& ModuleList::add(std::unique_ptr<Module> module) {
    if (!module) throw ValueError("ModuleList: the module is null");
    child(std::to_string(modules_.size()), *module);
    modules_.push_back(std::move(module));
    return *modules_.back();
}

Module& ModuleDict::add(std::string name, std::unique_ptr<Module> module) {
    if (!module) throw ValueError("ModuleDict: the module is null");
    if (contains(name)) throw ValueError("ModuleDict: there is a module named " + name + " already");
    child(name, *module);
    return *(modules_[std::move(name)] = std::move(module));
}

Module& ModuleDict::operator[](const std::string& name) {
    const auto found = modules_.find(name);
    if (found == modules_.end()) throw IndexError("ModuleDict: there is no module named " + name);
    return *found->second;
}

}  // namespace weft::nn
