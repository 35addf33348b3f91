// weft/nn/linear.h: linear maps, tables, and layers that only change a shape or drop elements.
#pragma once

#include <weft/api.h>
#include <weft/functional.h>
#include <weft/nn/module.h>

#include <optional>
#include <utility>

namespace WEFT_API weft {
namespace nn {

struct Identity : Module {
    Tensor forward(const Tensor& x) override { return x; }
};

struct LinearSettings {
    bool bias = true;
    std::optional<Device> device = {};  // of the parameters; none: default_device()
};

// x times weight transposed, plus bias: […, in] → […, out]. Uniform in ±1/√in.
class Linear : public Module {
public:
    Linear(std::int64_t in, std::int64_t out, const LinearSettings& settings = {});
    Linear(std::int64_t in, std::int64_t out, bool bias, std::optional<Device> device = {})
        : Linear(in, out, LinearSettings{.bias = bias, .device = std::move(device)}) {}
    Tensor forward(const Tensor& x) override;
    Tensor weight, bias;  // [out, in], [out]
};

// aᵀ W b + bias for each output: […, in1], […, in2] → […, out]. Uniform in ±1/√in1.
class Bilinear : public Module {
public:
    Bilinear(std::int64_t in1, std::int64_t in2, std::int64_t out, const LinearSettings& settings = {});
    Bilinear(std::int64_t in1, std::int64_t in2, std::int64_t out, bool bias, std::optional<Device> device = {})
        : Bilinear(in1, in2, out, LinearSettings{.bias = bias, .device = std::move(device)}) {}
    Tensor operator()(const Tensor& a, const Tensor& b) { return bilinear(a, b, weight, bias); }
    Tensor weight, bias;  // [out, in1, in2], [out]
};

struct EmbeddingSettings {
    std::optional<std::int64_t> padding = {};  // a row that is 0 and stays so
    std::optional<Device> device = {};         // of the parameters; none: default_device()
};

// Rows of a table, by index: i64[…] → f32[…, features]. Normal.
class Embedding : public Module {
public:
    Embedding(std::int64_t count, std::int64_t features, const EmbeddingSettings& settings = {});
    Embedding(std::int64_t count, std::int64_t features, std::optional<std::int64_t> padding,
              std::optional<Device> device = {})
        : Embedding(count, features, EmbeddingSettings{.padding = padding, .device = std::move(device)}) {}
    Tensor forward(const Tensor& index) override { return embedding(weight, index, padding); }
    Tensor weight;  // [count, features]
    const std::optional<std::int64_t> padding;
};

struct EmbeddingBagSettings {
    BagMode mode = BagMode::Mean;
    std::optional<std::int64_t> padding = {};  // a row that does not count
    std::optional<Device> device = {};         // of the parameters; none: default_device()
};

// Sums, means or maxima of bags of rows: i64[bags, size], or i64[n] and where each bag begins, → f32[bags, features].
// Normal.
class EmbeddingBag : public Module {
public:
    EmbeddingBag(std::int64_t count, std::int64_t features, const EmbeddingBagSettings& settings = {});
    EmbeddingBag(std::int64_t count, std::int64_t features, BagMode mode, std::optional<std::int64_t> padding = {},
                 std::optional<Device> device = {})
        : EmbeddingBag(count, features,
                       EmbeddingBagSettings{.mode = mode, .padding = padding, .device = std::move(device)}) {}
    Tensor forward(const Tensor& index) override { return (*this)(index); }
    Tensor operator()(const Tensor& index, const Tensor& offsets = {}, const Tensor& per_sample_weights = {});
    Tensor weight;  // [count, features]
    const BagMode mode;
    const std::optional<std::int64_t> padding;
};

// In training each element is 0 with this probability, and the others are scaled up. Dropout1d … 3d drop whole
// channels.
class Dropout : public Module {
public:
    explicit Dropout(double probability = 0.5);
    Tensor forward(const Tensor& x) override;
    const double probability;
};
class Dropout1d : public Dropout {
public:
    using Dropout::Dropout;
    Tensor forward(const Tensor& x) override;
};
class Dropout2d : public Dropout {
public:
    using Dropout::Dropout;
    Tensor forward(const Tensor& x) override;
};
class Dropout3d : public Dropout {
public:
    using Dropout::Dropout;
    Tensor forward(const Tensor& x) override;
};

class Flatten : public Module {
public:
    explicit Flatten(int first = 1, int last = -1) : first(first), last(last) {}
    Tensor forward(const Tensor& x) override { return x.flatten(first, last); }
    const int first, last;
};

// Splits one axis into several: Unflatten(1, {3, 28, 28}).
class Unflatten : public Module {
public:
    Unflatten(int axis, Shape sizes) : axis(axis), sizes(std::move(sizes)) {}
    Tensor forward(const Tensor& x) override;
    const int axis;
    const Shape sizes;
};

}  // namespace nn
}  // namespace weft
