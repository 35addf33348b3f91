// Short rows are sorted by counting (schedule/ranks.h): on a simulated GPU, with the order of the functions that sort on the host.
#include "support/ptx_runner.h"

#include <weft/weft.h>

#include <doctest/doctest.h>

#include <cstring>
#include <functional>
#include <limits>
#include <vector>

using namespace weft;

namespace {

using Program = std::function<Tensor(const Device&)>;

std::vector<std::byte> bytes_of(const Tensor& x) {
    const Tensor here = x.to(cpu).contiguous();
    std::vector<std::byte> bytes(static_cast<std::size_t>(here.numel()) * size_of(here.dtype()));
    std::memcpy(bytes.data(), here.realize().data_ptr(), bytes.size());
    return bytes;
}

bool runs_on_host(const Tensor& x) {
    for (const auto& kernel : explain(x).kernels)
        for (const char* function : {"sort", "topk", "nth"})
            if (kernel.name.starts_with(function)) return true;
    return false;
}

void check_bits(const Program& program, bool on_host = false) {
    const std::vector<std::byte> expected = bytes_of(program(cpu));
    CHECK(runs_on_host(program("simulated")) == on_host);
    CHECK(bytes_of(program("simulated")) == expected);
    const testing::PtxScope scope(testing::ptx::Order::Shuffled);
    CHECK(bytes_of(program("simulated")) == expected);
}

// With equal elements, both zeros, infinities, subnormals and NaN.
Tensor some(const Shape& shape, DType dtype) {
    manual_seed(5);
    const Tensor x = round(randn(shape) * 3);
    if (!is_float(dtype))
        return (dtype == DType::Bool ? gt(x, 0) : (is_signed_int(dtype) ? x : abs(x)).to(dtype)).realize();
    const Tensor kind = randint(0, 12, shape);
    Tensor y = where(eq(kind, 0), std::numeric_limits<double>::quiet_NaN(), x);
    y = where(eq(kind, 1), -0.0, y);
    y = where(eq(kind, 2), std::numeric_limits<double>::infinity(), y);
    y = where(eq(kind, 3), -std::numeric_limits<double>::infinity(), y);
    return y.to(dtype).realize();
}

}  // namespace

TEST_CASE("simulated: rows of each type are sorted by counting, both ways") {
    for (const DType t :
         {f32, f64, f16, bf16, DType::Bool, u8, DType::U32, DType::U64, DType::I8, DType::I16, i32, i64}) {
        const Tensor x = some({5, 37}, t);
        CAPTURE(name_of(t));
        for (const bool descending : {false, true}) {
            check_bits([&](const Device& d) { return sort(x.to(d), 1, descending).indices; });
            check_bits([&](const Device& d) { return sort(x.to(d), 1, descending).values; });
        }
    }
}

TEST_CASE("simulated: subnormals are ordered as they are") {
    const Tensor x = from_data(std::vector<float>{0x1p-140f, -0x1p-140f, 0, -0.0f, 0x1p-149f, -0x1p-149f}, {6});
    check_bits([&](const Device& d) { return argsort(x.to(d)); });
}

TEST_CASE("simulated: topk, median, kthvalue, along other axes, and of a row of one") {
    const Tensor x = some({3, 65, 4}, f32);
    for (const bool largest : {false, true}) {
        check_bits([&](const Device& d) { return topk(x.to(d), 5, 1, largest).values; });
        check_bits([&](const Device& d) { return topk(x.to(d), 5, 1, largest).indices; });
    }
    check_bits([&](const Device& d) { return median(x.to(d), 1).values; });
    check_bits([&](const Device& d) { return nanmedian(x.to(d), 1).indices; });
    check_bits([&](const Device& d) { return kthvalue(x.to(d), 7, 1).indices; });
    check_bits([&](const Device& d) { return sort(x.to(d).reshape({-1, 1}), 1).values; }, true);
}

TEST_CASE("simulated: what is sorted hands its gradient back") {
    const Tensor x = some({4, 19}, f32), weight = arange(19).to(f32).realize();
    check_bits([&](const Device& d) {
        Tensor y = x.to(d).detach();
        y.set_requires_grad();
        (sort(y, 1).values * weight.to(d)).sum().backward();
        return y.grad();
    });
}

TEST_CASE("simulated: long rows are sorted on the host") {
    const Tensor x = randn({5000}).realize();
    check_bits([&](const Device& d) { return sort(x.to(d)).indices; }, true);
}
