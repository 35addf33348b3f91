// Tensors from numbers, data and foreign memory; ranges, series and triangles.
#include "tests/tensor/support.h"

#include <numeric>

using namespace weft;
using namespace weft::testing;

TEST_CASE("nested numbers") {
    CHECK(tensor({{1, 2, 3}, {4, 5, 6}}).shape() == Shape{2, 3});
    CHECK(tensor({{1, 2, 3}, {4, 5, 6}}).dtype() == i64);
    CHECK(tensor({1, 2.5}).dtype() == f32);
    CHECK(tensor({true, false}).dtype() == bool_);
    CHECK(tensor({true, 2}).dtype() == i64);
    CHECK(tensor({1, 2}, f16).dtype() == f16);
    CHECK(tensor(3.0).shape() == Shape{});
    CHECK(tensor({3}).shape() == Shape{1});
    CHECK(tensor({{{1}}}).shape() == Shape{1, 1, 1});
    CHECK(tensor({0.1}, f64).item() == 0.1);
    CHECK(values(tensor({1.9, -1.9, 300.0}, u8)) == Doubles{1, 0, 255});
    CHECK(error_of<ShapeError>([] {
              tensor({{1, 2}, {3}});
          }) == "tensor(): a list of 1 stands where one of 2 is expected");
    CHECK(error_of<ShapeError>([] { tensor({{1, 2}, 3}); }) == "tensor(): a number stands where a list is expected");
    CHECK(error_of<ShapeError>([] { tensor({1, {2}}); }) == "tensor(): a list stands where a number is expected");
}

TEST_CASE("data is copied") {
    std::vector<float> v = {1, 2, 3, 4};
    const Tensor x = from_data(v, {2, 2});
    v[0] = 9;
    CHECK(values(x) == Doubles{1, 2, 3, 4});
    CHECK(from_data(v).shape() == Shape{4});
    CHECK(values(from_data(std::vector<bool>{true, false})) == Doubles{1, 0});
    CHECK(from_data(std::vector<std::uint8_t>{1, 2}).dtype() == u8);
    CHECK(from_data(std::vector<int>{}).shape() == Shape{0});
    CHECK(error_of<ShapeError>([&] { from_data(v, {3}); }) ==
          "from_data(dtype: f32, shape: [3]): 4 elements do not fill a shape of 3");
}

TEST_CASE("foreign memory is read when the graph runs") {
    auto owner = std::make_shared<std::vector<float>>(6);
    std::iota(owner->begin(), owner->end(), 0.0f);
    std::weak_ptr<std::vector<float>> alive = owner;
    float* memory = owner->data();
    {
        Tensor x = from_memory(memory, {3, 2}, {1, 3}, f32, std::move(owner));  // a transposed 2 x 3
        CHECK(values(x) == Doubles{0, 3, 1, 4, 2, 5});
        const Tensor backwards = from_memory(memory + 5, {6}, {-1}, f32, alive.lock());
        CHECK(values(backwards) == Doubles{5, 4, 3, 2, 1, 0});
        const Tensor later = x * 2;
        memory[0] = 10;
        CHECK(values(later) == Doubles{20, 6, 2, 8, 4, 10});
        x += 1;  // the tensor's value, not the foreign memory
        CHECK(values(x) == Doubles{11, 4, 2, 5, 3, 6});
        CHECK(memory[1] == 1);
    }
    CHECK(alive.expired());
    std::vector<char> bytes(9);
    CHECK(error_of<ValueError>([&] { from_memory(bytes.data() + 1, {2}, {1}, f32, nullptr); }).find("not aligned") !=
          std::string::npos);
}

TEST_CASE("constants and ranges") {
    CHECK(values(full({2}, 7)) == Doubles{7, 7});
    CHECK(full({2}, 7).dtype() == i64);
    CHECK(full({2}, 7.5).dtype() == f32);
    CHECK(full({2}, true).dtype() == bool_);
    CHECK(full({}, 0.1, f64).item() == 0.1);
    CHECK(ones_like(zeros({3}, i32)).dtype() == i32);
    CHECK(full_like(zeros({3}, i32), 5, f16).dtype() == f16);
    CHECK(values(arange(4)) == Doubles{0, 1, 2, 3});
    CHECK(values(arange(5, 0, -2)) == Doubles{5, 3, 1});
    CHECK(values(arange(1, 4)) == Doubles{1, 2, 3});
    CHECK(arange(4).dtype() == i64);
    CHECK(close(arange(0.0, 1.0, 0.25), {0, 0.25, 0.5, 0.75}));
    CHECK(arange(0, 1, 0.5).dtype() == f32);
    CHECK(arange(3, f16).dtype() == f16);
    CHECK(arange(3, 1).numel() == 0);
    CHECK(values(linspace(0, 1, 5)) == Doubles{0, 0.25, 0.5, 0.75, 1});
    CHECK(values(linspace(3, 9, 1)) == Doubles{3});
    CHECK(values(linspace(-1, 0.3, 7, f64)).back() == 0.3);
    CHECK(values(eye(2, 3)) == Doubles{1, 0, 0, 0, 1, 0});
    CHECK(values(tril(ones({3, 3}))) == Doubles{1, 0, 0, 1, 1, 0, 1, 1, 1});
    CHECK(values(triu(ones({2, 3}, i64), 1)) == Doubles{0, 1, 1, 0, 0, 1});
    CHECK(zeros({0, 3}).numel() == 0);
}

TEST_CASE("mistakes name the call") {
    CHECK(error_of<ValueError>([] { zeros({2, -1}); }) == "zeros(shape: [2, -1]): size -1 is negative");
    CHECK(error_of<ValueError>([] {
              ones({1L << 40, 1L << 40});
          }) == "ones(shape: [1099511627776, 1099511627776]): the number of elements does not fit 63 bits");
    const auto contains = [](const std::string& text, const std::string& part) {
        return text.find(part) != std::string::npos;
    };
    const std::int64_t huge = std::int64_t{1} << 62, half = huge / 2;
    for (const std::int64_t n : {huge, half}) {
        CAPTURE(n);
        const std::string size = std::to_string(n);
        const auto message = [&](const auto& call) { return error_of<ValueError>(call); };
        CHECK(contains(message([&] { zeros({n}); }), "zeros(shape: [" + size + "])"));
        CHECK(contains(message([&] { rand({n}); }), "rand(shape: [" + size + "]"));
        CHECK(contains(message([&] { randn({n}, f64); }), "randn(shape: [" + size + "]"));
        CHECK(contains(message([&] { arange(n); }), "arange("));
        CHECK(contains(message([&] { ones({1}).expand({n}); }), size));
        CHECK(contains(message([&] { repeat(ones({2, n / 32}), {32, 1}); }), "repeat("));
        CHECK(contains(message([&] { pad(ones({1}), {n, 0}); }), "pad("));
    }
    CHECK(contains(error_of<ValueError>([&] { eye(std::int64_t{1} << 31); }), "eye("));
    CHECK(contains(error_of<MemoryError>([&] { zeros({std::int64_t{1} << 59}).clone().realize(); }),
                   "f32[576460752303423488]"));
    CHECK(contains(error_of<MemoryError>([&] { (rand({std::int64_t{1} << 50}) + 1).realize(); }),
                   "f32[1125899906842624]"));
    CHECK(error_of<ValueError>([] { arange(0, 5, 0); }) ==
          "arange(start: 0, stop: 5, step: 0): the step must not be 0");
    CHECK(error_of<ShapeError>([] { tril(ones({3})); }) ==
          "tril(x: f32[3], diagonal: 0): x must have two axes at least");
    CHECK(error_of<ValueError>([] { full({2}, 300, u8); }) == "full(shape: [2], value: 300): 300 does not fit u8");
    CHECK(error_of<ValueError>([] { Tensor().shape(); }) ==
          "an undefined tensor has no shape and no dtype; assign to it first");
}

TEST_CASE("tables that cannot fit into memory are refused at the call") {
    constexpr std::int64_t huge = std::int64_t{1} << 40;
    const Tensor many = arange(1 << 20), image = ones({1, 1, 2});
    CHECK_THROWS_WITH_AS(hann_window(huge),
                         doctest::Contains("hann_window(length: 1099511627776, dtype: f32): cannot allocate"),
                         MemoryError);
    CHECK_THROWS_AS(kaiser_window(huge), MemoryError);
    CHECK_THROWS_WITH_AS(tril_indices(1 << 22, 1 << 22), doctest::Contains("tril_indices(rows: 4194304"), MemoryError);
    CHECK_THROWS_AS(triu_indices(huge, 1), MemoryError);
    CHECK_THROWS_WITH_AS(combinations(many, 2), doctest::Contains("combinations(x: i64[1048576]"), MemoryError);
    CHECK_THROWS_AS(combinations(many, huge), MemoryError);
    CHECK_THROWS_AS(repeat_interleave(ones({3}), tensor({huge, huge, huge}), 0), MemoryError);
    CHECK_THROWS_WITH_AS(interpolate(image, {.sizes = {huge}}), doctest::Contains("interpolate(x: f32[1, 1, 2])"),
                         MemoryError);
    CHECK(combinations(arange(3), 2).shape() == Shape{3, 2});
    CHECK(combinations(arange(1), 2).shape() == Shape{0, 2});
    CHECK(triu_indices(2, 3, 1).shape() == Shape{2, 3});
    CHECK(tril_indices(2, 3, -1).to_vector<std::int64_t>() == std::vector<std::int64_t>{1, 0});
}

// ---- options ---------------------------------------------------------------------------------------------------------

namespace {

bool is(const Tensor& x, DType dtype, const Device& device) { return x.dtype() == dtype && x.device() == device; }

}  // namespace

TEST_CASE("options: only a type, only a device, both, none") {
    const Device here = default_device(), other("guarded");
    CHECK(is(zeros({2}), f32, here));
    CHECK(is(zeros({2}, {}), f32, here));
    CHECK(is(zeros({2}, f64), f64, here));
    CHECK(is(zeros({2}, other), f32, other));
    CHECK(is(zeros({2}, {f64, "guarded"}), f64, other));
    CHECK(is(zeros({2}, {f64, cpu}), f64, cpu));
    CHECK(is(zeros({2}, {std::nullopt, other}), f32, other));
    CHECK(is(zeros({2}, std::optional<DType>()), f32, here));
    CHECK(is(ones({}, {f16, other}), f16, other));
    CHECK(default_device() == here);  // no call leaves its device behind
}

TEST_CASE("options: every function that makes a tensor takes them") {
    const Device other("guarded");
    const TensorOptions both(f64, other);
    CHECK(is(full({2}, 7, other), i64, other));
    CHECK(is(full({2}, 7, both), f64, other));
    CHECK(is(tensor({1, 2}, other), i64, other));
    CHECK(is(tensor(1.5, both), f64, other));
    CHECK(is(arange(3, other), i64, other));
    CHECK(is(arange(0, 1, 0.25, both), f64, other));
    CHECK(is(linspace(0, 1, 1, both), f64, other));
    CHECK(is(linspace(0, 1, 5, both), f64, other));
    CHECK(is(logspace(0, 3, 4, 10, both), f64, other));
    CHECK(is(eye(2, 3, both), f64, other));
    CHECK(is(hann_window(4, true, both), f64, other));
    CHECK(is(hann_window(1, true, both), f64, other));
    CHECK(is(tril_indices(3, 3, 0, {i32, other}), i32, other));
    CHECK(is(from_data(std::vector<float>{1, 2}, {2}, both), f64, other));
    CHECK(is(from_data(std::vector<bool>{true}, {1}, both), f64, other));
    CHECK(is(from_bytes("ab", u8, {2}, other), u8, other));
    CHECK(is(rand({2}, both), f64, other));
    CHECK(is(randn({2}, other), f32, other));
    CHECK(is(randint(0, 9, {2}, other), i64, other));
    CHECK(is(randperm(4, {i32, other}), i32, other));
    CHECK(is(uniform({2}, 0, 1, both), f64, other));
    CHECK(is(normal({2}, 0, 1, both), f64, other));
    CHECK(is(truncated_normal({2}, 0, 1, -2, 2, other), f32, other));
    CHECK(is(geometric({2}, 0.5, {i64, other}), i64, other));

    const Tensor x = zeros({2}, both);
    CHECK(is(ones_like(x), f64, other));
    CHECK(is(ones_like(x, f32), f32, other));
    CHECK(is(full_like(x, 3, cpu), f64, cpu));
    CHECK(values(arange(3, other) + full({3}, 2, other)) == Doubles{2, 3, 4});
    manual_seed(5);
    const Doubles drawn = values(rand({4}, cpu));
    manual_seed(5);
    CHECK(values(rand({4}, other)) == drawn);
}

TEST_CASE("options: a type that does not fit, and a device that is not there, throw at the call") {
    CHECK_THROWS_AS(rand({2}, i64), DTypeError);
    CHECK_THROWS_AS(full({2}, 300, {i8, cpu}), ValueError);
    CHECK_THROWS_AS(zeros({2}, Device("cuda:99")), ValueError);
    CHECK_THROWS_AS(zeros({2}, {f32, "nowhere"}), ValueError);
    CHECK(zeros({2}).device() == default_device());
}

TEST_CASE("series and windows of spectra") {
    CHECK(close(logspace(0, 2, 3), {1, 10, 100}));
    CHECK(values(vander(tensor({2, 3}), 3)) == Doubles{4, 2, 1, 9, 3, 1});
    CHECK(close(hann_window(4), {0, 0.5, 1, 0.5}));
    CHECK(close(bartlett_window(5, false), {0, 0.5, 1, 0.5, 0}));
    CHECK(close(kaiser_window(3, false, 0), {1, 1, 1}));
    CHECK(values(hamming_window(1)) == Doubles{1});
    CHECK(error_of<ValueError>([] { hann_window(-1); }) ==
          "hann_window(length: -1, dtype: f32): the length must not be negative");
}
