// tests/programs/training.h: a small training loop with everything that a step touches in one place, for tests that stop it half way.
#pragma once

#include <weft/nn.h>
#include <weft/ops.h>
#include <weft/optim.h>

#include <bit>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace weft::testing {

using Bits = std::vector<std::uint32_t>;

inline Bits bits_of(const Tensor& tensor) {
    Bits result;
    for (const float value : tensor.to_vector<float>()) result.push_back(std::bit_cast<std::uint32_t>(value));
    return result;
}

using MakeOptimizer = std::function<std::unique_ptr<optim::Optimizer>(std::vector<Tensor>)>;

struct NamedOptimizer {
    std::string name;
    MakeOptimizer make;
};
inline std::vector<NamedOptimizer> optimizers() {
    return {{"SGD",
             [](auto p) {
                 return std::make_unique<optim::SGD>(p,
                                                     optim::SGDOptions{.lr = 0.1, .momentum = 0.9, .dampening = 0.3});
             }},
            {"Adam", [](auto p) { return std::make_unique<optim::Adam>(p, optim::AdamOptions{.lr = 0.05}); }}};
}

// A classifier of two layers on fixed data: every instance starts with the same bits.
class Training {
public:
    Training(const MakeOptimizer& make, std::int64_t batch = 6, std::int64_t features = 4, std::int64_t hidden = 8,
             std::int64_t classes = 3)
        : classes_(classes) {
        manual_seed(7);
        net.add<nn::Linear>(features, hidden).add<nn::ReLU>().add<nn::Linear>(hidden, classes);
        x = randn({batch, features}).realize();
        realize(net.parameters());
        labels = labels_for(0);
        optimizer = make(net.parameters());
    }

    // `shift` beyond the classes gives labels that do not exist.
    Tensor labels_for(std::int64_t shift) const {
        std::vector<std::int64_t> values;
        for (std::int64_t i = 0; i < x.size(0); ++i) values.push_back(i % classes_ + shift);
        return from_data(values);
    }

    Tensor loss(const Tensor& wanted) { return cross_entropy(net(x), wanted); }

    // One step; returns its loss, not yet read.
    Tensor step(const Tensor& wanted) {
        optimizer->zero_grad();
        const Tensor value = loss(wanted);
        value.backward();
        optimizer->step();
        return value;
    }
    Tensor step() { return step(labels); }

    // The bits of all that a step changes.
    std::vector<Bits> state() const {
        std::vector<Bits> result;
        for (const Tensor& p : net.parameters()) result.push_back(bits_of(p));
        for (const auto& [name, tensor] : optimizer->state()) {
            Bits bits = bits_of(tensor);
            for (const char c : name) bits.push_back(static_cast<std::uint32_t>(c));
            result.push_back(bits);
        }
        return result;
    }

    nn::Sequential net;
    Tensor x, labels;
    std::unique_ptr<optim::Optimizer> optimizer;

private:
    const std::int64_t classes_;
};

}  // namespace weft::testing
