// examples/cpp/mnist.cpp: trains a perceptron or a convolutional network on the handwritten digits of MNIST and tests it.
//
//     example_mnist [mlp|cnn] [--epochs N] [--short]
//
// Everything in the loop is lazy until the optimiser's step: forward, backward and update of a batch are one plan, compiled in the
// first step and found again in every later one.
#include <weft/weft.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <memory>
#include <string_view>

using namespace weft;

namespace {

struct Options {
    bool convolutional = false;
    bool is_short = false;  // a pass over some of the digits: a test
    int epochs = 5;
};

data::TensorDataset to_tensors(const data::IdxArray& images, const data::IdxArray& labels, std::int64_t most) {
    const Tensor pixels = from_data(images.values<std::uint8_t>(), {images.shape[0], 1, 28, 28});
    const Tensor classes = from_data(labels.values<std::uint8_t>(), labels.shape);
    const Slice chosen{0, std::min(most, images.shape[0])};
    const std::vector<Tensor> tensors = {pixels[{chosen}].to(f32) / 255.0, classes[{chosen}].to(i64)};
    realize(tensors);
    return data::TensorDataset(tensors);  // f32[n, 1, 28, 28] in 0 … 1, i64[n]
}

struct Perceptron : nn::Module {
    nn::Linear hidden{784, 128}, out{128, 10};
    Perceptron() { child("hidden", hidden), child("out", out); }
    Tensor forward(const Tensor& x) override { return out(relu(hidden(x.flatten(1)))); }
};

struct Convolutional : nn::Module {
    nn::Conv2d conv1{1, 16, 3, {.padding = 1}}, conv2{16, 32, 3, {.padding = 1}};
    nn::Dropout dropout{0.25};
    nn::Linear hidden{32 * 7 * 7, 64}, out{64, 10};
    Convolutional() {
        child("conv1", conv1), child("conv2", conv2), child("dropout", dropout), child("hidden", hidden),
            child("out", out);
    }
    Tensor forward(const Tensor& x) override {
        const Tensor half = max_pool2d(relu(conv1(x)), 2);        // [n, 16, 14, 14]
        const Tensor quarter = max_pool2d(relu(conv2(half)), 2);  // [n, 32, 7, 7]
        return out(relu(hidden(dropout(quarter.flatten(1)))));    // [n, 10]
    }
};

double accuracy(nn::Module& model, const data::TensorDataset& digits) {
    const NoGrad no_grad;
    model.eval();
    std::int64_t right = 0;
    for (const auto& batch : data::DataLoader(digits, {.batch_size = 1000}))
        right += (model(batch[0]).argmax(1) == batch[1]).sum().item<std::int64_t>();
    model.train();
    return static_cast<double>(right) / static_cast<double>(digits.size());
}

int run(const Options& options) {
    manual_seed(1);
    const std::int64_t all = 60000, some = options.convolutional ? 3200 : 12800;
    const data::Mnist mnist = data::load_mnist({.source_folder = WEFT_SOURCE_DIR "/data"});
    const auto training = to_tensors(mnist.train_images, mnist.train_labels, options.is_short ? some : all);
    const auto test = to_tensors(mnist.test_images, mnist.test_labels, options.is_short ? 2000 : all);
    std::printf("MNIST: %lld digits to train on, %lld to test\n", static_cast<long long>(training.size()),
                static_cast<long long>(test.size()));

    std::unique_ptr<nn::Module> model;
    if (options.convolutional) model = std::make_unique<Convolutional>();
    else model = std::make_unique<Perceptron>();
    optim::Adam adam(model->parameters(), {.lr = 2e-3});
    const data::DataLoader loader(training,
                                  {.batch_size = options.convolutional ? 64 : 128, .shuffle = true, .drop_last = true});
    const CounterScope count;
    double reached = 0;
    for (int epoch = 1; epoch <= (options.is_short ? 1 : options.epochs); ++epoch) {
        const auto start = std::chrono::steady_clock::now();
        double loss_sum = 0;
        for (const auto& batch : loader) {
            const Tensor loss = cross_entropy((*model)(batch[0]), batch[1]);
            adam.zero_grad();
            loss.backward();
            adam.step();
            loss_sum += loss.item();
        }
        const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
        reached = accuracy(*model, test);
        std::printf("epoch %d  loss %.4f  test accuracy %.2f %%  %6.0f images/s\n", epoch,
                    loss_sum / static_cast<double>(loader.size()), 100 * reached,
                    static_cast<double>(training.size()) / seconds);
        std::fflush(stdout);
    }
    std::printf("%lld kernels compiled in %.1f ms, %lld launched, %lld plans made, %lld plan-cache hits\n",
                static_cast<long long>(count.kernels_compiled()),
                static_cast<double>(count.compile_nanoseconds()) / 1e6,
                static_cast<long long>(count.kernels_launched()), static_cast<long long>(count.plans_made()),
                static_cast<long long>(count.plan_cache_hits()));
    const double wanted = options.is_short ? 0.8 : options.convolutional ? 0.985 : 0.97;
    return reached >= wanted ? EXIT_SUCCESS : EXIT_FAILURE;
}

}  // namespace

// Exits with 1 if fewer than 97 % (cnn: 98.5 %) of the test digits are recognised.
int main(int argc, char** argv) {
    try {
        Options options;
        for (int i = 1; i < argc; ++i) {
            const std::string_view word = argv[i];
            if (word == "cnn" || word == "mlp") options.convolutional = word == "cnn";
            else if (word == "--short") options.is_short = true;
            else if (word == "--epochs" && i + 1 < argc) options.epochs = std::max(1, std::atoi(argv[++i]));
            else return std::fprintf(stderr, "usage: example_mnist [mlp|cnn] [--epochs N] [--short]\n"), EXIT_FAILURE;
        }
        return run(options);
    } catch (const std::exception& error) {
        std::fprintf(stderr, "mnist: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
