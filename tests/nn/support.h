// tests/nn/support.h: gradients of whole layers against central differences, in f64.
#pragma once

#include "tests/tensor/support.h"

#include <functional>
#include <vector>

namespace weft::testing {

inline Tensor random_f64(const Shape& shape, unsigned seed) {
    const std::vector<float> values = noise(static_cast<std::size_t>(numel(shape)), seed);
    return from_data(std::vector<double>(values.begin(), values.end()), shape);
}

using Inputs = std::vector<Tensor>;

// The gradients of a weighted sum of f's result, for each input.
inline void check_gradients(const std::function<Tensor(const Inputs&)>& f, const std::vector<Shape>& shapes,
                            double tolerance = 1e-6) {
    constexpr double kStep = 1e-5;
    Inputs inputs;
    for (std::size_t i = 0; i < shapes.size(); ++i)
        inputs.push_back(random_f64(shapes[i], static_cast<unsigned>(i) + 1).set_requires_grad());
    const auto loss = [&](const Inputs& at) {
        const Tensor y = f(at);
        return (y * random_f64(y.shape(), 77)).sum();
    };
    loss(inputs).backward();
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        CAPTURE(i);
        const Doubles found = values(inputs[i].grad());
        Doubles at = values(inputs[i]);
        const auto loss_at = [&](std::size_t element, double value) {
            const double before = std::exchange(at[element], value);
            Inputs moved;
            for (std::size_t k = 0; k < inputs.size(); ++k)
                moved.push_back(k == i ? from_data(at, shapes[i]) : inputs[k].detach());
            at[element] = before;
            return loss(moved).item();
        };
        for (std::size_t e = 0; e < found.size(); ++e) {
            CAPTURE(e);
            const double expected = (loss_at(e, at[e] + kStep) - loss_at(e, at[e] - kStep)) / (2 * kStep);
            CHECK(std::abs(found[e] - expected) <= tolerance * (1 + std::abs(expected)));
        }
    }
}

}  // namespace weft::testing
