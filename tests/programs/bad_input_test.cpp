// Bad input: each a clear exception at the call where it is known, which names the op and the shapes, and after which everything works
// on. Integer division has no bad input: x / 0 is 0, and the lowest number by -1 wraps.
#include "support/backends.h"
#include "tests/programs/training.h"

#include <weft/debug.h>
#include <weft/device.h>
#include <weft/error.h>

#include <doctest/doctest.h>

#include <cstdlib>
#include <limits>

namespace weft::testing {
namespace {

// The call throws E, and the message has all these parts.
template <class E>
void refuses(const std::function<void()>& call, std::initializer_list<std::string> parts) {
    std::string message = "no exception";
    try {
        call();
    } catch (const E& error) {
        message = error.what();
    } catch (const std::exception& error) {
        message = std::string("another exception: ") + error.what();
    }
    INFO(message);
    for (const std::string& part : parts) {
        CAPTURE(part);
        CHECK(message.find(part) != std::string::npos);
    }
    CHECK((tensor({1, 2}, f32) + 1).sum().item() == 5);  // all is well
}

}  // namespace

TEST_CASE("wrong shapes") {
    const BackendScope backend("ref");
    const Tensor a = zeros({2, 3}), b = zeros({4, 5});
    refuses<ShapeError>([&] { a + b; }, {"add(a: f32[2, 3], b: f32[4, 5])", "3 and 5", "broadcast"});
    refuses<ShapeError>([&] { matmul(a, b); }, {"matmul(a: f32[2, 3], b: f32[4, 5])", "3", "4"});
    refuses<ShapeError>([&] { a.reshape({4, 2}); }, {"reshape(x: f32[2, 3], shape: [4, 2])", "6", "8"});
    refuses<ShapeError>([&] { cat({a, b}); }, {"cat(", "f32[2, 3]", "f32[4, 5]", "axis 0"});
    refuses<ShapeError>([&] { mse_loss(a, b); }, {"mse_loss(", "[2, 3]", "[4, 5]"});
    refuses<ShapeError>([&] { cross_entropy(a, tensor({0, 1, 2})); }, {"cross_entropy(", "i64[3]", "[2]"});
    refuses<ShapeError>(
        [&] {
            conv2d(zeros({1, 3, 8, 8}), zeros({4, 2, 3, 3}));
        },
        {"conv2d(", "[1, 3, 8, 8]", "[4, 2, 3, 3]"});
    refuses<ShapeError>([&] { nn::Linear(3, 4)(b); }, {"linear(x: f32[4, 5], weight: f32[4, 3]", "5", "3"});
    refuses<ShapeError>([&] { nn::BatchNorm2d(3)(a); }, {"BatchNorm2d", "[n, channels, h, w]", "[2, 3]"});
    Tensor x = ones({2, 3});
    refuses<ShapeError>([&] { x += b; }, {"add", "f32[2, 3]", "f32[4, 5]"});
    refuses<ShapeError>([&] { x.assign(b); }, {"assign(self: f32[2, 3], other: f32[4, 5])", "broadcast"});
    refuses<ValueError>([&] { x.expand({4, 2, 3}) += 1; }, {"expanded view", "f32[4, 2, 3]", "clone()"});
    refuses<ShapeError>([&] { x.set_grad(b); }, {"set_grad(self: f32[2, 3])", "f32[4, 5]"});
    CHECK(x.sum().item() == 6);
}

TEST_CASE("wrong axes, sizes and constant indices") {
    const BackendScope backend("ref");
    const Tensor a = zeros({2, 3});
    refuses<IndexError>([&] { a.sum(2); }, {"sum(x: f32[2, 3], axes: [2])", "axis 2", "[-2, 2)"});
    refuses<ValueError>([&] { a.sum({0, 0}); }, {"sum(x: f32[2, 3]", "twice"});
    refuses<IndexError>([&] { a.transpose(0, 5); }, {"transpose(x: f32[2, 3]", "axis 5"});
    refuses<ValueError>([&] { a.permute({0}); }, {"permute(x: f32[2, 3], axes: [0])", "2 axes"});
    refuses<IndexError>([&] { softmax(a, 3); }, {"softmax(x: f32[2, 3]", "axis 3"});
    refuses<IndexError>([&] { a[5]; }, {"index(x: f32[2, 3], i: 5)", "[-2, 2)"});
    refuses<IndexError>([&] { a[-3]; }, {"index(x: f32[2, 3], i: -3)", "[-2, 2)"});
    refuses<IndexError>([&] { a[{0, 1, 2}]; }, {"index(x: f32[2, 3])", "too many"});
    refuses<IndexError>([&] { a.narrow(1, 2, 5); }, {"narrow(x: f32[2, 3]", "size 3"});
    refuses<ValueError>([&] { a.slice(0, {0, 1, 0}); }, {"slice(x: f32[2, 3]", "step"});
    refuses<ValueError>([&] { zeros({-1}); }, {"zeros(shape: [-1])", "negative"});
    refuses<ValueError>([&] { a.reshape({-2, 3}); }, {"reshape(x: f32[2, 3]", "-2", "negative"});
    refuses<ValueError>([&] { rand({2, -2}); }, {"rand(shape: [2, -2]", "negative"});
    refuses<ValueError>([&] { nn::Linear(-3, 4); }, {"Linear", "-3"});
    const std::int64_t huge = std::int64_t{1} << 40;
    refuses<ValueError>([&] { zeros({huge, huge}); }, {"zeros(shape: [1099511627776, 1099511627776])", "63 bits"});
    refuses<ValueError>([&] { zeros({huge}).expand({huge, huge}); }, {"expand(", "1099511627776"});
    refuses<ValueError>([&] { zeros({0}).max(); }, {"max(x: f32[0]", "no elements"});
}

TEST_CASE("indices that are only known when the graph runs") {
    const Tensor a = ones({2, 3}).realize(), v = ones({3}).realize();
    for (const std::string& name : testing::backends()) {
        CAPTURE(name);
        const BackendScope backend(name);
        const Tensor five = tensor({2}) * 2 + 1;  // computed
        refuses<IndexError>([&] { take(v, five).realize(); },
                            {"take(x: f32[3], positions: i64[1], axis: 0)", "[-3, 3)", "got 5"});
        refuses<IndexError>(
            [&] {
                gather(a, 1, five.reshape({1, 1})).item();
            },
            {"gather(x: f32[2, 3], axis: 1", "[0, 3)", "got 5"});
        refuses<IndexError>(
            [&] {
                scatter(a, 1, five.reshape({1, 1}), 1).realize();
            },
            {"scatter(x: f32[2, 3]", "[0, 3)", "got 5"});
        refuses<IndexError>([&] { index_add(v, 0, five, ones({1})).realize(); }, {"index_add(x: f32[3]", "got 5"});
        refuses<IndexError>([&] { one_hot(five, 3).realize(); }, {"one_hot(index: i64[1], classes: 3)", "got 5"});
        refuses<IndexError>([&] { embedding(a, five).realize(); }, {"embedding(weight: f32[2, 3]", "[0, 2)", "got 5"});
        refuses<IndexError>(
            [&] {
                cross_entropy(a, tensor({0, 5})).item();
            },
            {"cross_entropy(logits: f32[2, 3], labels: i64[2])", "got 5"});
        refuses<IndexError>([&] { nll_loss(a, tensor({0, -1})).item(); }, {"nll_loss(", "f32[2, 3]", "got -1"});
        CHECK(a.sum().item() == 6);
    }
}

TEST_CASE("wrong types, reads and gradients") {
    const BackendScope backend("ref");
    const Tensor a = ones({2, 3});
    Tensor n = tensor({1, 2, 3});
    refuses<DTypeError>([&] { n.mean(); }, {"mean(x: i64[3]", "f32"});
    refuses<DTypeError>([&] { where(a, a, a); }, {"where(condition: f32[2, 3]", "bool"});
    refuses<DTypeError>([&] { take(a, ones({1})); }, {"take(x: f32[2, 3], positions: f32[1]", "integer"});
    refuses<DTypeError>([&] { bitwise_and(a, a); }, {"bitwise_and(a: f32[2, 3]"});
    refuses<DTypeError>([&] { (a > 0) - (a > 0); }, {"sub(a: bool[2, 3]"});
    refuses<DTypeError>([&] { n += 1.5; }, {"add_(self: i64[3], other: 1.5)", "i64"});
    refuses<ValueError>([&] { full({2}, 300, u8); }, {"300", "u8"});
    refuses<ValueError>([&] { a.item(); }, {"item", "[2, 3]", "6 elements"});
    refuses<ValueError>([&] { static_cast<void>(static_cast<bool>(a)); }, {"bool", "[2, 3]", "6 elements"});
    refuses<ValueError>([&] { Tensor() + a; }, {"add(a: undefined, b: f32[2, 3])"});
    refuses<ValueError>([&] { Tensor().item(); }, {"item()", "undefined"});
    refuses<GradError>([&] { n.set_requires_grad(); }, {"set_requires_grad(self: i64[3])", "floats"});
    refuses<GradError>([&] { n.sum().backward(); }, {"backward(self: i64[])", "floats"});
    refuses<GradError>([&] { a.backward(); }, {"backward(self: f32[2, 3])", "sum()"});
    refuses<GradError>([&] { a.sum().backward(); }, {"backward(self: f32[])", "requires a gradient"});
    refuses<GradError>([&] { gradient(a.sum(), std::vector<Tensor>{n}); },
                       {"gradient(target: i64[3])", "floats have a gradient"});
    refuses<ValueError>([&] { optim::SGD sgd({a}); }, {"leaves", "set_requires_grad()"});
    refuses<ValueError>([&] { BackendScope other("gpu"); }, {"gpu", "ref"});
    CHECK(n.sum().item() == 6);
}

TEST_CASE("more memory than there is: the error has the byte count") {
    for (const std::string& name : testing::backends()) {
        const BackendScope backend(name);
        const Tensor large = zeros({1 << 30, 1 << 10});
        refuses<MemoryError>([&] { large.realize(); }, {"4398046511104 bytes"});
        refuses<MemoryError>([&] { (large + 1).realize(); }, {"4398046511104 bytes"});
        CHECK(large[7][9].item() == 0);
    }
}

TEST_CASE("a missing C compiler is a clear error, and another backend works") {
    const DeviceScope here(cpu);
    const char* before = std::getenv("WEFT_CC");
    const std::string kept = before ? before : "";
    setenv("WEFT_CC", "/no/such/compiler", 1);
    const Tensor x = ones({3, 17, 5});
    {
        const BackendScope backend("c");
        std::string message;
        try {
            (x * 3 + 41).sum(1).realize();  // a kernel that no other test has
        } catch (const BackendError& error) {
            message = error.what();
        }
        INFO(message);
        CHECK(message.find("/no/such/compiler") != std::string::npos);
        CHECK(message.find("WEFT_BACKEND=ref") != std::string::npos);
        const BackendScope other("ref");
        CHECK((x * 3 + 41).sum(1).max().item() == 44 * 17);
    }
    if (before) setenv("WEFT_CC", kept.c_str(), 1);
    else unsetenv("WEFT_CC");
    const BackendScope backend("c");
    CHECK((x * 3 + 41).sum(1).max().item() == 44 * 17);
}

// ---- integer division ------------------------------------------------------------------------------------------------

namespace {

template <class T>
void check_division() {
    const T low = std::numeric_limits<T>::min(), high = std::numeric_limits<T>::max();
    const T minus_one = static_cast<T>(-1);  // of unsigned types the largest number: an ordinary divisor
    const std::vector<T> a = {low, low, low, high, high, 7, 0, 0, minus_one, 1},
                         b = {0, minus_one, 1, 0, minus_one, 0, 0, minus_one, low, low};
    std::vector<T> quotients, remainders;
    for (std::size_t i = 0; i < a.size(); ++i) {
        T q = 0, r = 0;
        if (b[i] != 0 && std::is_signed_v<T> && b[i] == minus_one) {
            q = static_cast<T>(0 - static_cast<std::make_unsigned_t<T>>(a[i]));  // wraps
        } else if (b[i] != 0) {
            q = static_cast<T>(a[i] / b[i]), r = static_cast<T>(a[i] % b[i]);
            if (std::is_signed_v<T> && r != 0 && (r < 0) != (b[i] < 0)) --q, r = static_cast<T>(r + b[i]);
        }
        quotients.push_back(q);
        remainders.push_back(r);
    }
    const std::int64_t many = 40;  // long enough for vectors
    std::vector<T> long_a, long_b, long_q, long_r;
    for (std::int64_t i = 0; i < many; ++i) {
        const std::size_t k = static_cast<std::size_t>(i) % a.size();
        long_a.push_back(a[k]), long_b.push_back(b[k]), long_q.push_back(quotients[k]), long_r.push_back(remainders[k]);
    }
    const Tensor x = from_data(long_a), y = from_data(long_b);
    const Tensor q = floor_divide(x, y), r = remainder(x, y);
    CHECK(q.dtype() == dtype_of<T>());
    CHECK(q.template to_vector<T>() == long_q);
    CHECK(r.template to_vector<T>() == long_r);
    // Constants, which are folded, and divisors that the compiler sees.
    CHECK(floor_divide(full({2}, 7, dtype_of<T>()), 0).template to_vector<T>() == std::vector<T>{0, 0});
    CHECK(remainder(x, 0).template to_vector<T>() == std::vector<T>(static_cast<std::size_t>(many), 0));
    if (std::is_signed_v<T>) {
        CHECK(floor_divide(x, -1).template to_vector<T>()[0] == low);
        CHECK(remainder(x, -1).template to_vector<T>()[0] == 0);
    }
}

}  // namespace

TEST_CASE("integers divided by 0 give 0, and the lowest number by -1 wraps, on every backend") {
    for (const std::string& name : testing::backends()) {
        CAPTURE(name);
        const BackendScope backend(name);
        check_division<std::int8_t>();
        check_division<std::int16_t>();
        check_division<std::int32_t>();
        check_division<std::int64_t>();
        check_division<std::uint8_t>();
        check_division<std::uint16_t>();
        check_division<std::uint32_t>();
        check_division<std::uint64_t>();
    }
}

}  // namespace weft::testing
