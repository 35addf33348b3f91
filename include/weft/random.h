// weft/random.h: random numbers: Threefry-2x32-20 of (key, counter + index). The key is the seed; the counter advances
// when a function is *called*, not when it runs. So the numbers depend on the seed and on the order of the calls, and
// on no backend, thread or plan.
#pragma once

#include <weft/api.h>
#include <weft/tensor.h>
#include <weft/tensor_options.h>

#include <cstdint>
#include <memory>

namespace WEFT_API weft {

// Starts over: the same calls after the same seed give the same numbers.
//
//     manual_seed(42);
//     const Tensor noise = randn({64, 100});
void manual_seed(std::uint64_t seed);

// Where the generator stands. Setting a state continues from there: checkpoints keep it.
struct RandomState {
    std::uint64_t seed = 0, counter = 0;
};
RandomState random_state();
void set_random_state(const RandomState& state);

// A sequence of random numbers of one's own, beside the global one. What is drawn in a GeneratorScope on this thread comes from it.
//
//     const auto order = std::make_shared<Generator>(7);
//     const GeneratorScope scope(order);
//     randperm(60000);                  // the same whatever else is drawn in the program
class Generator {
public:
    explicit Generator(std::uint64_t seed = 0) : state_{.seed = seed} {}
    RandomState state() const;
    void set_state(const RandomState& state);
    std::uint64_t draw(std::int64_t blocks);  // the first of so many counters, which are taken

private:
    RandomState state_;
};

class GeneratorScope {
public:
    explicit GeneratorScope(std::shared_ptr<Generator> generator);  // nullptr: whatever was in use goes on
    ~GeneratorScope();
    GeneratorScope(const GeneratorScope&) = delete;
    GeneratorScope& operator=(const GeneratorScope&) = delete;

private:
    std::shared_ptr<Generator> before_;
};

Tensor rand(const Shape& shape,
            const TensorOptions& options = {});  // uniform in [0, 1): 24 random bits for f32, 53 for f64
Tensor randn(const Shape& shape, const TensorOptions& options = {});  // normal, with mean 0 and variance 1

// Integers in [low, high), each as likely as any other; i64 unless the options have a type.
//
//     randint(0, 10, {5});              // five digits
Tensor randint(std::int64_t low, std::int64_t high, const Shape& shape, const TensorOptions& options = {});

Tensor randperm(std::int64_t n, const TensorOptions& options = {});  // 0 … n - 1 in random order: i64[n]

// 1 with the probability that stands in `probability`, else 0; of its shape and type.
//
//     bernoulli(full({4}, 0.25));
Tensor bernoulli(const Tensor& probability);

// ---- other distributions ---------------------------------------------------------------------------------------------

Tensor uniform(const Shape& shape, double low, double high, const TensorOptions& options = {});  // in [low, high)

// Normal with this mean and deviation for each element, which are broadcast; or all with the same, of any shape.
//
//     normal(zeros({3}), tensor({1, 2, 3}, f32));
Tensor normal(const Operand& mean, const Operand& deviation);
Tensor normal(const Shape& shape, double mean, double deviation, const TensorOptions& options = {});
Tensor log_normal(const Shape& shape, double mean, double deviation, const TensorOptions& options = {});  // exp of it
Tensor exponential(const Shape& shape, double rate,
                   const TensorOptions& options = {});  // density rate * exp(-rate * x)
Tensor cauchy(const Shape& shape, double median, double scale, const TensorOptions& options = {});
Tensor geometric(const Shape& shape, double probability,
                 const TensorOptions& options = {});  // tries up to the first success: 1, 2 …

// Normal numbers, but none outside of [low, high]; f32 unless the options have a type.
Tensor truncated_normal(const Shape& shape, double mean = 0, double deviation = 1, double low = -2, double high = 2,
                        const TensorOptions& options = {});

// How often something happens that happens `rate` times on average; of the rates' shape and type.
Tensor poisson(const Tensor& rate);

// Of the gamma distribution with each of these shapes and rate 1; and its logarithm, in f64, which is finite where the sample of a small
// shape is not a number above 0. The gradient moves a sample so that its quantile stays.
Tensor standard_gamma(const Tensor& shape);
Tensor log_standard_gamma(const Tensor& shape);

// `count` positions along the last axis, each with a probability proportional to its weight: i64[…, count], for weights of one or two
// axes. Without replacement none is drawn twice. Reads the weights at the call.
//
//     multinomial(tensor({1, 2, 7}, f32), 5, true);
Tensor multinomial(const Tensor& weights, std::int64_t count, bool replacement = false);

// In training each element is 0 with this probability, and the others are scaled by 1 / (1 - probability), so that the
// mean stays. Backward draws the same mask again instead of storing it.
//
//     dropout(x, 0.1);
Tensor dropout(const Tensor& x, double probability = 0.5, bool training = true);

// The same for whole channels of [n, channels, spatial…], with one, two or three spatial axes. The batch may be
// missing, except that three axes are [n, channels, length] for dropout2d, as in PyTorch.
Tensor dropout1d(const Tensor& x, double probability = 0.5, bool training = true);
Tensor dropout2d(const Tensor& x, double probability = 0.5, bool training = true);
Tensor dropout3d(const Tensor& x, double probability = 0.5, bool training = true);

}  // namespace weft
