// weft/nn/module.h: Module, what has parameters, buffers and children, and modules made of modules.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>

#include <filesystem>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace WEFT_API weft {
namespace nn {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// ---- modules ---------------------------------------------------------------------------------------------------------

// Something with parameters, buffers (values that belong to it but are not trained) and children. It knows its members
// by address, so it is neither copied nor moved; copy_state_from() copies the values.
class Module {
public:
    Module() = default;
    virtual ~Module() = default;
    Module(const Module&) = delete;
    Module& operator=(const Module&) = delete;

    virtual Tensor forward(const Tensor& x);  // throws unless overridden; a module may have others beside it
    Tensor operator()(const Tensor& x) { return forward(x); }

    // Own ones first, then the children's, in the order in which they were named: "hidden.weight", "hidden.bias" …
    NamedTensors named_parameters() const;
    NamedTensors named_buffers() const;
    NamedTensors state() const;  // both: what a checkpoint holds
    std::vector<Tensor> parameters() const;
    std::int64_t parameter_count() const;  // of elements

    void train(bool training = true);  // dropout and batch norm behave differently in training; so do the children's
    void eval() { train(false); }
    bool training() const { return training_; }
    void zero_grad();

    // Writes these values into the parameters and buffers of the same names. Throws, and writes nothing, if a name is
    // missing or unknown or a shape differs.
    void load_state(const NamedTensors& state);
    void copy_state_from(const Module& other) { load_state(other.state()); }

    // The same from and to a file, by its ending: .safetensors (or an index, .json) or PyTorch's .pt and .pth.
    //
    //     net.load("model.safetensors");
    void load(const std::filesystem::path& path);
    void save(const std::filesystem::path& path) const;

    std::string summary() const;  // a table: the name, shape and size of each parameter, and their number in all

protected:
    // For constructors: the member is known under this name. An undefined tensor (no bias) is skipped.
    void parameter(std::string name, Tensor& tensor);  // makes it require a gradient
    void buffer(std::string name, Tensor& tensor);
    void child(std::string name, Module& module);

private:
    template <class F>
    void visit(const std::string& prefix, F&& f) const;

    struct Named {
        std::string name;
        Tensor* tensor;
    };
    std::vector<Named> parameters_, buffers_;
    std::vector<std::pair<std::string, Module*>> children_;
    bool training_ = true;
};

// Modules one after the other:
//
//     nn::Sequential net;
//     net.add<nn::Linear>(784, 128).add<nn::ReLU>().add<nn::Linear>(128, 10);
class Sequential : public Module {
public:
    template <class M, class... Arguments>
    Sequential& add(Arguments&&... arguments) {
        return add(std::make_unique<M>(std::forward<Arguments>(arguments)...));
    }
    Sequential& add(std::unique_ptr<Module> module);  // named "0", "1" …
    Tensor forward(const Tensor& x) override;
    std::size_t size() const { return modules_.size(); }
    Module& operator[](std::size_t i) { return *modules_.at(i); }

private:
    std::vector<std::unique_ptr<Module>> modules_;
};

// Modules in a list, for loops over layers; named "0", "1" …
//
//     for (std::size_t i = 0; i < blocks.size(); ++i) x = blocks[i](x);
class ModuleList : public Module {
public:
    template <class M, class... Arguments>
    M& add(Arguments&&... arguments) {
        return static_cast<M&>(add(std::make_unique<M>(std::forward<Arguments>(arguments)...)));
    }
    Module& add(std::unique_ptr<Module> module);
    std::size_t size() const { return modules_.size(); }
    Module& operator[](std::size_t i) { return *modules_.at(i); }

private:
    std::vector<std::unique_ptr<Module>> modules_;
};

// Modules by name.
class ModuleDict : public Module {
public:
    template <class M, class... Arguments>
    M& add(std::string name, Arguments&&... arguments) {
        return static_cast<M&>(add(std::move(name), std::make_unique<M>(std::forward<Arguments>(arguments)...)));
    }
    Module& add(std::string name, std::unique_ptr<Module> module);  // ValueError: there is one of this name
    std::size_t size() const { return modules_.size(); }
    bool contains(const std::string& name) const { return modules_.contains(name); }
    Module& operator[](const std::string& name);  // IndexError: there is none

private:
    std::map<std::string, std::unique_ptr<Module>> modules_;
};

}  // namespace nn
}  // namespace weft
