// Kernels as on a GPU: blocks of threads, in any order, have the bits of the CPU's vectors; as loops, and as the PTX that is written for them.
// tests/tools/ptx_test.py assembles that PTX.
#include "backend/backend.h"
#include "backend/ref/code.h"
#include "core/str.h"
#include "support/decisions.h"
#include "support/ptx_runner.h"

#include <weft/nn.h>
#include <weft/optim.h>
#include <weft/weft.h>

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <string>
#include <vector>

using namespace weft;
using backend::ref::ThreadOrder;

namespace {

struct OrderScope {
    explicit OrderScope(ThreadOrder order) { backend::ref::set_thread_order(order); }
    ~OrderScope() { backend::ref::set_thread_order(ThreadOrder::Forward); }
};

using Program = std::function<Tensor(const Device&)>;

std::vector<std::byte> bytes_of(const Tensor& x) {
    const Tensor here = x.to(cpu).contiguous();
    std::vector<std::byte> bytes(static_cast<std::size_t>(here.numel()) * size_of(here.dtype()));
    if (!bytes.empty()) std::memcpy(bytes.data(), here.realize().data_ptr(), bytes.size());
    return bytes;
}

void check_bits(const std::string& name, const Program& program) {
    CAPTURE(name);
    const std::vector<std::byte> expected = bytes_of(program(cpu));
    for (const ThreadOrder order : {ThreadOrder::Forward, ThreadOrder::Backward, ThreadOrder::Shuffled}) {
        const OrderScope scope(order);
        CHECK(bytes_of(program("simulated")) == expected);
    }
    using testing::ptx::Order;
    const std::int64_t steps = testing::ptx_steps();
    for (const Order order : {Order::Forward, Order::Backward, Order::Shuffled}) {
        const testing::PtxScope scope(order);
        CHECK(bytes_of(program("simulated")) == expected);
    }
    CHECK(testing::ptx_steps() > steps);
}

Tensor some(const Shape& shape, std::uint64_t seed = 1) {
    manual_seed(seed);
    return randn(shape).realize();
}

}  // namespace

TEST_CASE("simulated: elementwise work, with odd sizes and several outputs") {
    for (const std::int64_t n : {1, 31, 257, 5000}) {
        const Tensor x = some({n}), y = some({n}, 2);
        check_bits("chain", [&](const Device& d) {
            const Tensor a = x.to(d), b = y.to(d);
            return tanh(a * b + a) * sigmoid(a) - relu(b) / 2;
        });
    }
    const Tensor x = some({70, 33});
    for (const Shape& shape : {Shape{70, 33}, Shape{128, 192}, Shape{130, 260}, Shape{333, 97}}) {
        const Tensor m = some(shape), other = some({shape[1], shape[0]}, 3);
        check_bits("transposed", [&](const Device& d) { return (m.to(d).t() + 1).contiguous(); });
        check_bits("transposed and not", [&](const Device& d) { return m.to(d).t() * other.to(d) - exp(other.to(d)); });
    }
    const Tensor cube = some({5, 70, 96});
    check_bits("permuted", [&](const Device& d) { return cube.to(d).permute({2, 0, 1}) * 2; });
    check_bits("heads", [&](const Device& d) { return (cube.to(d).permute({0, 2, 1}) + 1).contiguous(); });
    check_bits("integers", [&](const Device& d) {
        const Tensor i = (x.to(d) * 100).to(i32);
        return floor_divide(i, 7) + remainder(i, -3) + (i << 2) - gcd(i, full_like(i, 12));
    });
    check_bits("halves", [&](const Device& d) { return (x.to(d).to(bf16) * 3).to(f16) + 1; });
    check_bits("gathered", [&](const Device& d) { return index_select(x.to(d), 0, tensor({3, 69, 0, 3}).to(d)); });
}

TEST_CASE("simulated: rows, sums and scans in the CPU's order") {
    for (const std::int64_t length : {1, 12, 17, 64, 100, 300, 1003}) {
        const Tensor x = some({9, length});
        check_bits("softmax", [&](const Device& d) { return softmax(x.to(d), 1); });
        check_bits("layer norm", [&](const Device& d) { return layer_norm(x.to(d), {length}); });
        check_bits("argmax", [&](const Device& d) { return argmax(x.to(d), 1); });
        check_bits("columns", [&](const Device& d) { return x.to(d).sum({0}); });
        check_bits("cumsum", [&](const Device& d) { return cumsum(x.to(d), 1); });
        check_bits("doubles", [&](const Device& d) { return x.to(d).to(f64).sum({1}); });
    }
    const Tensor large = some({100'000});
    check_bits("sum", [&](const Device& d) { return large.to(d).sum(); });
}

TEST_CASE("simulated: long rows, whose sums are computed in blocks at the same time, and rows that share a block") {
    for (const std::int64_t length : {4096, 5000, 20'011, 70'000}) {
        const Tensor x = some({2, length});
        check_bits("softmax", [&](const Device& d) { return softmax(x.to(d), 1); });
        check_bits("layer norm", [&](const Device& d) { return layer_norm(x.to(d), {length}); });
        check_bits("largest", [&](const Device& d) { return max(x.to(d), {1}); });
        check_bits("integers", [&](const Device& d) { return (x.to(d) * 100).to(i32).sum({1}); });
        check_bits("doubles", [&](const Device& d) { return x.to(d).to(f64).sum({1}); });
    }
    for (const std::int64_t length : {129, 300, 2048}) {
        const Tensor x = some({1056, length});
        check_bits("softmax", [&](const Device& d) { return softmax(x.to(d), 1); });
        check_bits("variance", [&](const Device& d) { return var(x.to(d), {1}); });
    }
    Tensor zeros = some({5, 70'001});
    zeros = where(zeros < 0, full_like(zeros, -0.0), full_like(zeros, 0.0)).realize();
    const Tensor added = some({3, 700});
    check_bits("added in place", [&](const Device& d) {  // one thread stores what all have loaded
        Tensor total = some({1}, 5).to(d).realize();
        for (int i = 0; i < 3; ++i) total.add_(added.to(d)[i].sum()).mul_(0.5).realize();
        return total;
    });
    check_bits("signs of zeros", [&](const Device& d) { return max(zeros.to(d), {1}); });
    check_bits("signs of zeros before a sum", [&](const Device& d) {  // chains of the maximum are cut, too
        const Tensor x = zeros.to(d), most = max(x, {1}, true);
        return most * exp(x - most).sum({1}, true);
    });
    for (const std::int64_t columns : {1, 40, 200}) {
        const Tensor x = some({1500, columns});
        check_bits("columns", [&](const Device& d) { return x.to(d).sum({0}) * 2; });
        check_bits("largest and sum", [&](const Device& d) { return x.to(d).sum({0}) + max(x.to(d), {0}); });
        check_bits("variances", [&](const Device& d) { return var(x.to(d), {0}); });
    }
    const Tensor images = some({26, 5, 29, 31});
    check_bits("statistics of channels", [&](const Device& d) { return images.to(d).mean({0, 2, 3}); });
    check_bits("variances of channels", [&](const Device& d) { return var(images.to(d), {0, 2, 3}); });
}

TEST_CASE("simulated: sums that add to what is there") {
    const Tensor at = randint(0, 50, {200}).realize(), values = some({200, 3});
    check_bits("index_add", [&](const Device& d) {
        return index_add(zeros({50, 3}).to(d), 0, at.to(d), values.to(d));
    });
}

TEST_CASE("simulated: products in tiles, of odd sizes, and of sums in blocks") {
    struct Size {
        std::int64_t m, k, n;
    };
    for (const auto& [m, k, n] :
         {Size{16, 16, 16}, Size{33, 70, 49}, Size{24, 1100, 40}, Size{5, 30, 7}, Size{70, 33, 200}}) {
        const Tensor a = some({m, k}), b = some({k, n}, 2), bt = some({n, k}, 3);
        check_bits("matmul", [&](const Device& d) { return matmul(a.to(d), b.to(d)); });
        check_bits("matmul, transposed", [&](const Device& d) { return gelu(matmul(a.to(d), bt.to(d).t()) + 1); });
    }
    const Tensor batch = some({3, 20, 40});
    check_bits("batches", [&](const Device& d) { return matmul(batch.to(d), batch.to(d).transpose(1, 2)); });
    const Tensor image = some({2, 3, 12, 12}), weight = some({8, 3, 3, 3}, 2);
    check_bits("convolution", [&](const Device& d) { return conv2d(image.to(d), weight.to(d), {}, {.padding = 1}); });
    check_bits("strided", [&](const Device& d) {
        Tensor x = image.to(d).detach();
        x.set_requires_grad();
        conv2d(x, weight.to(d), {}, {.stride = 2, .padding = 1}).sum().backward();
        return x.grad();
    });
}

// Blocks of a launch have 48 kB of shared memory without asking, and these slices have just as much, besides the tables of gelu.
TEST_CASE("simulated: tables beside slices that leave no room for them") {
    const Tensor a = some({8, 64}), b = some({8, 264 * 64}, 2);
    const std::vector<std::byte> expected = bytes_of(gelu(matmul(a.t(), b)));
    const testing::PtxScope scope(testing::ptx::Order::Shuffled);
    const Device device("simulated");
    CHECK(bytes_of(gelu(matmul(a.to(device).t(), b.to(device)))) == expected);
}

TEST_CASE("simulated: what a launch says of its shared memory counts tables") {
    const Device device("simulated");
    const auto shared = [&](const Tensor& result) {
        const std::vector<kernel::Kernel> kernels = testing::kernels_of(result);
        REQUIRE(kernels.size() == 1);
        const kernel::Kernel* const one[] = {&kernels[0]};
        const Target& target = *device::runtime_of(device.number()).target();
        return backend::cuda_backend().compile(one, target)[0]->launches().at(0).shared_bytes;
    };
    const Tensor x = some({100}).to(device).realize(), a = some({8, 64}).to(device).realize(),
                 b = some({8, 264 * 64}, 2).to(device).realize();
    const std::int64_t tables = shared(gelu(x));
    CHECK(tables > 0);
    CHECK(shared(x + 1) == 0);
    CHECK(shared(matmul(a.t(), b)) == 48 * 1024);
    CHECK(shared(gelu(matmul(a.t(), b))) == 48 * 1024 + tables);
}

TEST_CASE("simulated: a training step, and an index that is out of range") {
    check_bits("training", [&](const Device& d) {
        const Tensor x = some({50, 20}).to(d), y = remainder(arange(50), 4).to(d);
        const DeviceScope there(d);
        manual_seed(3);
        nn::Linear first(20, 32), second(32, 4);
        std::vector<Tensor> all = first.parameters();
        for (const Tensor& parameter : second.parameters()) all.push_back(parameter);
        optim::Adam adam(all, {.lr = 0.01});
        for (int step = 0; step < 3; ++step) {
            adam.zero_grad();
            cross_entropy(second(relu(first(x))), y).backward();
            adam.step();
        }
        return first.weight.detach();
    });
    const Tensor x = some({4, 2}).to("simulated"), bad = tensor({1, 7}).to("simulated");
    CHECK_THROWS_AS(index_select(x, 0, bad).realize(), IndexError);
    CHECK(index_select(x, 0, tensor({1}).to("simulated")).to(cpu).numel() == 2);  // the next run works
}

// ---- every type, at its edges ----------------------------------------------------------------------------------------

namespace {

constexpr DType kTypes[] = {bool_, u8, u16, u32, u64, i8, i16, i32, i64, f16, bf16, f32, f64};

// Integers around zero and around the ends of every width; floats besides, some of which the type rounds. Conversions of floats that are far from
// an integer type saturate, and a NaN is any NaN: it is compared after isnan() and where().
Tensor edges(DType type) {
    std::vector<double> numbers = {0, 1, 2, 3, 7, 31, 32, 33, 63, 64, 100, -1, -2, -3, -7, -8, -64, -100};
    for (const double power : {0x1p7, 0x1p8, 0x1p15, 0x1p16, 0x1p31, 0x1p32, 0x1p63, 0x1p64})
        for (const double by : {-1, 0, 1}) numbers.push_back(power + by), numbers.push_back(by - power);
    if (is_float(type))
        for (const double x : {0.5, -0.5, 1.5, 2.5, -2.5, 0.3, 1e-30, -1e-40, 1e-40, 1e30, -1e30, -0.0, 65519.0,
                               65520.0, 0x1p-24, 0x1.8p-25, std::numeric_limits<double>::infinity(),
                               -std::numeric_limits<double>::infinity(), std::numeric_limits<double>::quiet_NaN()})
            numbers.push_back(x);
    if (type == f64) numbers.insert(numbers.end(), {1e300, -1e-290, 1.7e308});
    return from_data(numbers).to(type).realize();
}

// One NaN for all; subnormal f64 are kept on a GPU, and flushed by the CPU.
Tensor comparable(const Tensor& x) {
    if (!is_float(x.dtype())) return x;
    const Tensor one = where(isnan(x), full_like(x, 12345), x);
    return x.dtype() == f64 ? where(abs(one) < 0x1p-1022, zeros_like(one), one) : one;
}

}  // namespace

TEST_CASE("simulated: every conversion") {
    for (const DType from : kTypes)
        for (const DType to : kTypes) {
            if (from == to) continue;
            const Tensor x = edges(from);
            check_bits(str("from ", from, " to ", to), [&](const Device& d) { return comparable(x.to(d).to(to)); });
        }
}

TEST_CASE("simulated: every op of two numbers, in every type") {
    using Function = std::function<Tensor(const Tensor&, const Tensor&)>;
    struct Case {
        std::string name;
        Function function;
        bool bools = false, floats = true;
    };
    const Case cases[] = {
        {"add", [](const Tensor& a, const Tensor& b) { return a + b; }},
        {"sub", [](const Tensor& a, const Tensor& b) { return a - b; }},
        {"mul", [](const Tensor& a, const Tensor& b) { return a * b; }, true},
        {"div", [](const Tensor& a, const Tensor& b) { return a / b; }},
        {"floor_divide", [](const Tensor& a, const Tensor& b) { return floor_divide(a, b); }},
        {"remainder", [](const Tensor& a, const Tensor& b) { return remainder(a, b); }},
        {"maximum", [](const Tensor& a, const Tensor& b) { return maximum(a, b); }, true},
        {"minimum", [](const Tensor& a, const Tensor& b) { return minimum(a, b); }, true},
        {"less", [](const Tensor& a, const Tensor& b) { return a < b; }, true},
        {"less_equal", [](const Tensor& a, const Tensor& b) { return a <= b; }, true},
        {"equal", [](const Tensor& a, const Tensor& b) { return a == b; }, true},
        {"where", [](const Tensor& a, const Tensor& b) { return where(a < b, b, a); }, true},
        {"pow", [](const Tensor& a, const Tensor& b) { return pow(a, b); }},
        {"and", [](const Tensor& a, const Tensor& b) { return (a & b) ^ (a | b); }, true, false},
        {"left", [](const Tensor& a, const Tensor& b) { return a << b; }, false, false},
        {"right", [](const Tensor& a, const Tensor& b) { return a >> b; }, false, false},
        {"gcd", [](const Tensor& a, const Tensor& b) { return gcd(a, b); }, false, false},
        {"unary", [](const Tensor& a, const Tensor& b) { return where(b > a, abs(a), -a); }},
        {"trunc", [](const Tensor& a, const Tensor& b) { return trunc(a) + floor(b); }},
    };
    for (const auto& [name, function, bools, floats] : cases)
        for (const DType type : kTypes) {
            if ((is_bool(type) && !bools) || (is_float(type) && !floats)) continue;
            const Tensor x = edges(type);
            check_bits(str(name, " of ", type), [&](const Device& d) {
                const Tensor a = x.to(d).unsqueeze(0), b = x.to(d).unsqueeze(1);
                return comparable(function(a, b));
            });
        }
}
