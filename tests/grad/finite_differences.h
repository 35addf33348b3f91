// tests/grad/finite_differences.h: compares gradients with central differences, both computed by the oracle in f64.
#pragma once

#include "grad/gradient.h"
#include "ir/build.h"
#include "ir/verify.h"
#include "tests/support/eager.h"

#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

namespace weft::testing {

// Numbers that look random and are the same everywhere.
class Numbers {
public:
    explicit Numbers(std::uint64_t seed) : state_(seed * 2 + 1) {}
    double between(double low, double high) {
        state_ = state_ * 6364136223846793005u + 1442695040888963407u;
        return low + (high - low) * static_cast<double>(state_ >> 11) * 0x1p-53;
    }

private:
    std::uint64_t state_;
};

inline ir::NodeRef random_buffer(Numbers& numbers, const Shape& shape, double low, double high) {
    std::vector<double> values;
    for (std::int64_t i = 0; i < numel(shape); ++i) values.push_back(numbers.between(low, high));
    return buffer_of(f64, shape, values);
}

inline ir::NodeRef sum_of_all(const ir::NodeRef& x) {
    Dims axes;
    for (int d = 0; d < x->rank(); ++d) axes.push_back(d);
    return ir::reshape(ir::reduce(ir::Op::Add, x, axes), {});
}

// A scalar that tells the elements of x apart.
inline ir::NodeRef weighted_sum(const ir::NodeRef& x, std::uint64_t seed) {
    Numbers numbers(seed);
    return sum_of_all(x * ir::expand(random_buffer(numbers, x->shape, 0.5, 1.5), x->shape));
}

using Inputs = std::vector<ir::NodeRef>;
using Function = std::function<ir::NodeRef(const Inputs&)>;

// d(loss)/d(input) by central differences: the input's buffer is changed in place, and the graph computed anew.
inline std::vector<double> differences(const ir::NodeRef& loss, const ir::NodeRef& input) {
    constexpr double kStep = 1e-5;
    auto* values = reinterpret_cast<double*>(input->as<ir::BufferArg>().storage->address);
    std::vector<double> result;
    for (std::int64_t i = 0; i < numel(input->shape); ++i) {
        const double value = values[i];
        const auto loss_at = [&](double x) {
            values[i] = x;
            return evaluate_to_doubles(loss)[0];
        };
        const double above = loss_at(value + kStep), below = loss_at(value - kStep);
        values[i] = value;
        result.push_back((above - below) / (2 * kStep));
    }
    return result;
}

// Checks the gradient of a scalar loss, and then, `orders` times in all, that of a weighted sum of the gradients.
inline void check_gradients(ir::NodeRef loss, const Inputs& inputs, int orders = 2) {
    for (int order = 1; order <= orders; ++order) {
        CAPTURE(order);
        const std::vector<ir::NodeRef> gradients = grad::gradient(loss, inputs);
        ir::verify_graph(std::span(&loss, 1), "building");
        ir::NodeRef next;
        for (std::size_t i = 0; i < inputs.size(); ++i) {
            CAPTURE(i);
            const std::vector<double> expected = differences(loss, inputs[i]);
            std::vector<double> found(expected.size(), 0);
            if (gradients[i]) {
                ir::verify_graph(std::span(&gradients[i], 1), "gradient");
                REQUIRE(gradients[i]->shape == inputs[i]->shape);
                found = evaluate_to_doubles(gradients[i]);
                const ir::NodeRef term = weighted_sum(gradients[i], 17 * order + i);
                next = next ? next + term : term;
            }
            for (std::size_t e = 0; e < expected.size(); ++e) {
                CAPTURE(e);
                CHECK(std::abs(found[e] - expected[e]) <= 1e-6 * (1 + std::abs(expected[e])));
            }
        }
        if (!next) return;
        loss = next;
    }
}

}  // namespace weft::testing
