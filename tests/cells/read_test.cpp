// Values leave the graph: item, to_vector, bool, memory, text; and run-time scalars.
#include <weft/debug.h>
#include <weft/ops.h>

#include <doctest/doctest.h>

#include <cmath>
#include <sstream>
#include <vector>

using namespace weft;

namespace {

std::string text(const Tensor& t) {
    std::ostringstream out;
    static_cast<std::ostream&>(out) << t;
    return out.str();
}

}  // namespace

TEST_CASE("item and to_vector convert to any element type") {
    const Tensor x = tensor({1.75, -2.5, 300}, f32);
    CHECK(x.to_vector<double>() == std::vector<double>{1.75, -2.5, 300});
    CHECK(x.to_vector<int>() == std::vector<int>{1, -2, 300});
    CHECK(x.to_vector<std::uint8_t>() == std::vector<std::uint8_t>{1, 0, 255});
    CHECK(x.to_vector<bool>() == std::vector<bool>{true, true, true});
    CHECK(to_float(x.to_vector<Half>()[0]) == 1.75f);
    CHECK(to_float(x.to_vector<BFloat16>()[1]) == -2.5f);
    CHECK(x[1].item() == -2.5);
    CHECK(x[2].item<std::int64_t>() == 300);
    CHECK(tensor({true, false}).to_vector<bool>() == std::vector<bool>{true, false});
    CHECK(zeros({0, 3}).to_vector<float>().empty());
    CHECK(tensor({{1, 2}, {3, 4}}).t().to_vector<int>() == std::vector<int>{1, 3, 2, 4});
}

TEST_CASE("item and bool need exactly one element, and say what there is") {
    CHECK_THROWS_WITH_AS(zeros({2, 3}).item(),
                         "item(): a tensor of the shape [2, 3] has 6 elements; exactly one is needed", ValueError);
    CHECK_THROWS_AS(static_cast<bool>(zeros({0})), ValueError);
    CHECK_THROWS_AS(Tensor().item(), ValueError);
    CHECK_THROWS_AS(Tensor().to_vector<float>(), ValueError);
    CHECK(static_cast<bool>(tensor({{3}})));
    CHECK_FALSE(static_cast<bool>(tensor(0.0)));
}

TEST_CASE("data_ptr is dense, memory is as it lies and stays alive") {
    const DeviceScope host(cpu);
    const Tensor x = tensor({{1, 2}, {3, 4}}, f32);
    const auto* transposed = static_cast<const float*>(x.t().contiguous().data_ptr());
    CHECK(transposed[1] == 3);
    const Tensor view = x.t();
    CHECK(static_cast<const float*>(view.data_ptr())[1] == 3);
    MemoryView memory;
    {
        const Tensor y = x * 2;
        memory = y.memory();
    }
    CHECK(memory.dtype == f32);
    CHECK(memory.shape == Shape{2, 2});
    CHECK(static_cast<const float*>(memory.data)[3] == 8);
}

TEST_CASE("text, as PyTorch prints it") {
    const DeviceScope host(cpu);
    CHECK(text(tensor({{1, 2}, {3, 4}}, f32)) == "tensor([[1., 2.],\n        [3., 4.]])");
    CHECK(text(tensor({1, -20, 3})) == "tensor([  1, -20,   3])");
    CHECK(text(tensor({true, false})) == "tensor([ True, False])");
    CHECK(text(tensor(2.5)) == "tensor(2.5000)");
    CHECK(text(tensor({0.1, 22.25}, f64)) == "tensor([ 0.1000, 22.2500], dtype=f64)");
    CHECK(text(tensor({1e-6, 1.0})) == "tensor([1.0000e-06, 1.0000e+00])");
    CHECK(text(tensor({INFINITY, -1.0, NAN})) == "tensor([inf, -1., nan])");
    CHECK(text(zeros({0})) == "tensor([])");
    CHECK(text(zeros({0, 2})) == "tensor([], size=(0, 2))");
    CHECK(text(tensor({1, 2}, u8)) == "tensor([1, 2], dtype=u8)");
    CHECK(text(ones({2}).set_requires_grad()) == "tensor([1., 1.], requires_grad=True)");
    CHECK(text(Tensor()) == "tensor(undefined)");
    CHECK(text(arange(8).reshape({2, 2, 2})) ==
          "tensor([[[0, 1],\n         [2, 3]],\n\n        [[4, 5],\n         [6, 7]]])");
    CHECK(text(arange(2000)) == "tensor([   0,    1,    2,  ..., 1997, 1998, 1999])");
    const std::string rows = text(zeros({2000, 2}));
    CHECK(
        rows ==
        "tensor([[0., 0.],\n        [0., 0.],\n        [0., 0.],\n        ...,\n        [0., 0.],\n        [0., 0.],\n"
        "        [0., 0.]])");
    CHECK(text(arange(40)).find('\n') != std::string::npos);
}

TEST_CASE("a run-time scalar is a 0-d tensor") {
    const Tensor rate = scalar_variable(0.25);
    CHECK(rate.shape() == Shape{});
    CHECK(rate.dtype() == f32);
    CHECK((tensor({1, 2}, f32) * rate).to_vector<float>() == std::vector<float>{0.25, 0.5});
    CHECK(scalar_variable(3, i64).item<int>() == 3);
}
