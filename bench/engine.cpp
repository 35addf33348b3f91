// bench/engine.cpp: the compiler's contractions through the `c` backend against OpenBLAS, one thread each. A convolution is compared by
// its rate: useful GFLOP/s over those of OpenBLAS on the matrix product of 1024.
#include "harness.h"

#include <weft/weft.h>

#include <exception>

#ifdef WEFT_HAVE_OPENBLAS
#include <cblas.h>
extern "C" void openblas_set_num_threads(int threads);
#endif

namespace {

using namespace weft;

Tensor normal(const Shape& shape) {
    Tensor x = randn(shape);
    x.realize();
    return x;
}

// C = A B for square matrices of ones-like data.
class Reference {
public:
    explicit Reference(std::int64_t n) : n_(static_cast<int>(n)), a_(n * n, 0.5f), b_(n * n, 0.25f), c_(n * n) {}
    void operator()() {
#ifdef WEFT_HAVE_OPENBLAS
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, n_, n_, n_, 1, a_.data(), n_, b_.data(), n_, 0,
                    c_.data(), n_);
#else
        throw std::runtime_error("this benchmark needs OpenBLAS (Debian: libopenblas-dev)");
#endif
    }

private:
    int n_;
    std::vector<float> a_, b_, c_;
};

void matmul_rows(bench::Harness& harness) {
    for (const std::int64_t n : {256, 512, 1024}) {
        const Tensor a = normal({n, n}), b = normal({n, n});
        Reference reference(n);
        const double want = n == 1024 ? 0.4 : 0;
        const auto row = [&](const char* kind, double least, auto product) {
            const std::string name = "matmul " + std::to_string(n) + " " + kind;
            if (harness.wanted(name))
                harness.add(harness.compare(
                    name, least, [&] { product().realize(); }, [&] { reference(); }));
        };
        row("NN", want, [&] { return matmul(a, b); });
        row("NT", 0, [&] { return matmul(a, b.t()); });
        row("TN", 0, [&] { return matmul(a.t(), b); });
    }
}

void conv_rows(bench::Harness& harness) {
    constexpr std::int64_t kImages = 32, kChannels = 64, kSide = 28;
    Tensor x = normal({kImages, kChannels, kSide, kSide}), w = normal({kChannels, kChannels, 3, 3});
    const Tensor seed = normal({kImages, kChannels, kSide, kSide});
    x.set_requires_grad(), w.set_requires_grad();
    const double flops = 2.0 * kImages * kChannels * kChannels * kSide * kSide * 9,
                 reference_flops = 2.0 * 1024 * 1024 * 1024;
    Reference reference(1024);
    const auto row = [&](const char* name, double want, const std::function<Tensor()>& work) {
        if (!harness.wanted(name)) return;
        bench::Row r = harness.compare(
            name, want, [&] { work().realize(); }, [&] { reference(); }, 7);
        r.ratio = (flops / r.weft_ms) / (reference_flops / r.reference_ms);
        harness.add(r);
    };
    const auto forward = [&] { return conv2d(x, w, {}, {.padding = {1, 1}}); };
    const std::vector<Tensor> of_x{x}, of_w{w};
    row("conv 3x3 of 32x64x28x28 (rate)", 0.3, [&] {
        const NoGrad no_grad;
        return forward();
    });
    row("  its input gradient (rate)", 0, [&] { return gradient(forward(), of_x, seed)[0]; });
    row("  its weight gradient (rate)", 0, [&] { return gradient(forward(), of_w, seed)[0]; });
}

}  // namespace

int main(int argc, char** argv) {
    try {
        bench::Harness harness(argc, argv);
        const BackendScope backend("c");
        const ThreadScope one(1);
#ifdef WEFT_HAVE_OPENBLAS
        openblas_set_num_threads(1);
#endif
        matmul_rows(harness);
        conv_rows(harness);
        return harness.finish();
    } catch (const std::exception& error) {
        std::fprintf(stderr, "bench: %s\n", error.what());
        return EXIT_FAILURE;
    }
}
