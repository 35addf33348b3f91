// examples/cpp/mnist.cpp: trains a 784-128-10 perceptron on the handwritten digits of MNIST and tests it. Run it with `make demo`.
//
// Everything in the loop is lazy until the optimiser's step: forward, backward and update of a batch are one plan, compiled in the
// first step and found again in every later one.
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <numeric>
#include <random>

using namespace weft;

namespace {

constexpr std::int64_t kBatch = 128;

struct Digits {
    Tensor images, labels;  // f32[n, 784] in 0 … 1, i64[n]
    std::int64_t count() const { return labels.size(0); }
};

Digits to_tensors(const data::IdxArray& images, const data::IdxArray& labels) {
    const Tensor pixels = from_data(images.values<std::uint8_t>(), {images.shape[0], 28 * 28});
    const Tensor classes = from_data(labels.values<std::uint8_t>(), labels.shape);
    Digits digits{pixels.to(f32) / 255.0, classes.to(i64)};
    realize(std::vector<Tensor>{digits.images, digits.labels});
    return digits;
}

struct Perceptron : nn::Module {
    nn::Linear hidden{784, 128}, out{128, 10};
    Perceptron() { child("hidden", hidden), child("out", out); }
    Tensor forward(const Tensor& x) override { return out(relu(hidden(x))); }
};

Tensor shuffled(std::int64_t count, std::mt19937& random) {
    std::vector<std::int64_t> order(static_cast<std::size_t>(count));
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), random);
    return from_data(order);
}

// One pass over the digits in a new order; returns the mean loss.
double train(Perceptron& model, optim::Optimizer& optimiser, const Digits& digits, std::mt19937& random) {
    const Tensor order = shuffled(digits.count(), random);
    double loss_sum = 0;
    std::int64_t batches = 0;
    for (std::int64_t at = 0; at + kBatch <= digits.count(); at += kBatch, ++batches) {
        const Tensor chosen = order[{Slice{at, at + kBatch}}];
        const Tensor loss =
            cross_entropy(model(index_select(digits.images, 0, chosen)), index_select(digits.labels, 0, chosen));
        optimiser.zero_grad();
        loss.backward();
        optimiser.step();
        loss_sum += loss.item();
    }
    return loss_sum / static_cast<double>(batches);
}

double accuracy(Perceptron& model, const Digits& digits) {
    const NoGrad no_grad;
    const Tensor right = model(digits.images).argmax(1) == digits.labels;
    return right.to(f32).mean().item();
}

int run(int epochs) {
    manual_seed(1);
    std::mt19937 random(1);
    const data::Mnist mnist = data::load_mnist({.source_folder = WEFT_SOURCE_DIR "/data"});
    const Digits training = to_tensors(mnist.train_images, mnist.train_labels);
    const Digits test = to_tensors(mnist.test_images, mnist.test_labels);
    std::printf("MNIST: %lld digits to train on, %lld to test\n", static_cast<long long>(training.count()),
                static_cast<long long>(test.count()));

    Perceptron model;
    optim::Adam adam(model.parameters(), {.lr = 2e-3});
    const CounterScope count;
    for (int epoch = 1; epoch <= epochs; ++epoch) {
        const auto start = std::chrono::steady_clock::now();
        const double loss = train(model, adam, training, random);
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        std::printf("epoch %d  loss %.4f  test accuracy %.2f %%  %6.0f images/s\n", epoch, loss,
                    100 * accuracy(model, test), static_cast<double>(training.count()) / seconds);
        std::fflush(stdout);
    }
    std::printf("%lld kernels compiled, %lld launched, %lld plans made, %lld plan-cache hits\n",
                static_cast<long long>(count.kernels_compiled()), static_cast<long long>(count.kernels_launched()),
                static_cast<long long>(count.plans_made()), static_cast<long long>(count.plan_cache_hits()));
    return accuracy(model, test) >= 0.97 ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

// `example_mnist [epochs]`; exits with 1 if fewer than 97 % of the test digits are recognised.
int main(int argc, char** argv) {
    try {
        return run(argc > 1 ? std::max(1, std::atoi(argv[1])) : 5);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "mnist: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
