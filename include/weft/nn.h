// weft/nn.h: layers that hold parameters, and how to put them together. The arithmetic is in weft/functional.h.
//
//     struct Net : nn::Module {
//         nn::Linear hidden{784, 128}, out{128, 10};
//         Net() { child("hidden", hidden), child("out", out); }
//         Tensor forward(const Tensor& x) override { return out(relu(hidden(x))); }
//     };
//     Net net;
//     optim::Adam adam(net.parameters());
#pragma once

#include <weft/functional.h>
#include <weft/tensor.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace weft::nn {

using NamedTensors = std::vector<std::pair<std::string, Tensor>>;

// ---- modules ---------------------------------------------------------------------------------------------------------

// Something with parameters, buffers (values that belong to it but are not trained) and children. It knows its members by
// address, so it is neither copied nor moved; copy_state_from() copies the values.
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

    // Writes these values into the parameters and buffers of the same names. Throws, and writes nothing, if a name is missing or
    // unknown or a shape differs.
    void load_state(const NamedTensors& state);
    void copy_state_from(const Module& other) { load_state(other.state()); }

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

// ---- layers; parameters start as PyTorch's do -----------------------------------------------------------------------

// x times weight transposed, plus bias: […, in] → […, out]. Uniform in ±1/√in.
class Linear : public Module {
public:
    Linear(std::int64_t in, std::int64_t out, bool bias = true);
    Tensor forward(const Tensor& x) override;
    Tensor weight, bias;  // [out, in], [out]
};

struct Conv2dSettings {
    Pair stride = 1, padding = 0, dilation = 1;
    std::int64_t groups = 1;
    bool bias = true;
};

// [n, in, h, w] → [n, out, h', w']. Uniform in ±1/√(in / groups * kh * kw).
class Conv2d : public Module {
public:
    Conv2d(std::int64_t in, std::int64_t out, Pair kernel, const Conv2dSettings& settings = {});
    Tensor forward(const Tensor& x) override;
    Tensor weight, bias;  // [out, in / groups, kh, kw], [out]
    const Conv2dSettings settings;
};

struct BatchNormSettings {
    double eps = 1e-5, momentum = 0.1;
    bool affine = true, track_running_stats = true;
};

// Normalises each channel over the batch; in eval() by the running mean and variance. BatchNorm1d takes [n, c] or [n, c, l],
// BatchNorm2d takes [n, c, h, w].
class BatchNorm : public Module {
public:
    Tensor forward(const Tensor& x) override;
    Tensor weight, bias, running_mean, running_var;  // [c] each
    const BatchNormSettings settings;

protected:
    BatchNorm(std::string_view name, int least_rank, int most_rank, std::int64_t channels,
              const BatchNormSettings& settings);

private:
    const std::string_view name_;
    const int least_rank_, most_rank_;
};
class BatchNorm1d : public BatchNorm {
public:
    explicit BatchNorm1d(std::int64_t channels, const BatchNormSettings& settings = {})
        : BatchNorm("BatchNorm1d", 2, 3, channels, settings) {}
};
class BatchNorm2d : public BatchNorm {
public:
    explicit BatchNorm2d(std::int64_t channels, const BatchNormSettings& settings = {})
        : BatchNorm("BatchNorm2d", 4, 4, channels, settings) {}
};

// Normalises over the last axes, whose sizes are `shape`.
class LayerNorm : public Module {
public:
    explicit LayerNorm(Shape shape, double eps = 1e-5, bool affine = true);
    Tensor forward(const Tensor& x) override;
    Tensor weight, bias;
    const Shape shape;
    const double eps;
};

class RMSNorm : public Module {
public:
    explicit RMSNorm(Shape shape, double eps = 1e-5);
    Tensor forward(const Tensor& x) override;
    Tensor weight;
    const Shape shape;
    const double eps;
};

// Rows of a table, by index: i64[…] → f32[…, features]. Normal.
class Embedding : public Module {
public:
    Embedding(std::int64_t count, std::int64_t features);
    Tensor forward(const Tensor& index) override;
    Tensor weight;  // [count, features]
};

class Dropout : public Module {
public:
    explicit Dropout(double probability = 0.5);
    Tensor forward(const Tensor& x) override;
    const double probability;
};

class Flatten : public Module {
public:
    explicit Flatten(int first = 1, int last = -1) : first(first), last(last) {}
    Tensor forward(const Tensor& x) override;
    const int first, last;
};

class MaxPool2d : public Module {
public:
    explicit MaxPool2d(Pair window, const PoolOptions& options = {}) : window(window), options(options) {}
    Tensor forward(const Tensor& x) override { return max_pool2d(x, window, options); }
    const Pair window;
    const PoolOptions options;
};

class AvgPool2d : public Module {
public:
    explicit AvgPool2d(Pair window, const PoolOptions& options = {}) : window(window), options(options) {}
    Tensor forward(const Tensor& x) override { return avg_pool2d(x, window, options); }
    const Pair window;
    const PoolOptions options;
};

// ---- activations as modules ------------------------------------------------------------------------------------------

struct Identity : Module {
    Tensor forward(const Tensor& x) override { return x; }
};
struct ReLU : Module {
    Tensor forward(const Tensor& x) override { return weft::relu(x); }
};
struct Tanh : Module {
    Tensor forward(const Tensor& x) override { return x.tanh(); }
};
struct Sigmoid : Module {
    Tensor forward(const Tensor& x) override { return weft::sigmoid(x); }
};
struct SiLU : Module {
    Tensor forward(const Tensor& x) override { return weft::silu(x); }
};
struct GELU : Module {
    explicit GELU(GeluForm form = GeluForm::Erf) : form(form) {}
    Tensor forward(const Tensor& x) override { return weft::gelu(x, form); }
    const GeluForm form;
};
struct LeakyReLU : Module {
    explicit LeakyReLU(double slope = 0.01) : slope(slope) {}
    Tensor forward(const Tensor& x) override { return weft::leaky_relu(x, slope); }
    const double slope;
};
struct ELU : Module {
    explicit ELU(double alpha = 1) : alpha(alpha) {}
    Tensor forward(const Tensor& x) override { return weft::elu(x, alpha); }
    const double alpha;
};
struct Softmax : Module {
    explicit Softmax(int axis = -1) : axis(axis) {}
    Tensor forward(const Tensor& x) override { return weft::softmax(x, axis); }
    const int axis;
};

// ---- initial values --------------------------------------------------------------------------------------------------

Tensor uniform(const Shape& shape, double low, double high, DType dtype = f32);
Tensor normal(const Shape& shape, double mean, double deviation, DType dtype = f32);

}  // namespace weft::nn
