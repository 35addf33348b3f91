// Rows are sorted by counting and merging, and searched by halving (schedule/ranks.h, merges.h): on a simulated GPU, with the results of the functions
// that do it on the host.
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
        for (const char* function : {"sort", "topk", "nth", "searchsorted"})
            if (kernel.name.starts_with(function)) return true;
    return false;
}

void check_bits(const Program& program) {
    const std::vector<std::byte> expected = bytes_of(program(cpu));
    CHECK(!runs_on_host(program("simulated")));
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
    check_bits([&](const Device& d) { return sort(x.to(d).reshape({-1, 1}), 1).values; });
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

TEST_CASE("simulated: long rows are sorted runs that are merged") {
    for (const std::int64_t length : {513, 768, 1024, 1025, 2300}) {
        CAPTURE(length);
        const Tensor x = some({2, length}, f32);
        for (const bool descending : {false, true}) {
            check_bits([&](const Device& d) { return sort(x.to(d), 1, descending).indices; });
            check_bits([&](const Device& d) { return sort(x.to(d), 1, descending).values; });
        }
    }
}

TEST_CASE("simulated: long rows of each type, with their greatest and least elements") {
    for (const DType t : {f64, f16, DType::Bool, u8, DType::U32, DType::U64, DType::I8, i32, i64}) {
        CAPTURE(name_of(t));
        const Tensor base = some({700}, t);
        const Tensor ends = is_float(t) ? base : cat({base, zeros({3}, t) - 1, ~(zeros({3}, t) - 1)});
        for (const bool descending : {false, true})
            check_bits([&](const Device& d) { return argsort((t == DType::Bool ? base : ends).to(d), 0, descending); });
    }
}

TEST_CASE("simulated: the levels of merges are one kernel") {
    const Tensor x = some({1 << 14}, f32).to("simulated").realize();
    const CounterScope count;
    (void)argsort(x).to_vector<std::int64_t>();
    CHECK(count.kernels_compiled() <= 7);  // for six levels
}

TEST_CASE("simulated: the first of long rows are the first of their runs; places of long rows") {
    const Tensor x = some({2, 1700}, f32);
    for (const std::int64_t k : {1, 5, 128, 200})
        for (const bool largest : {false, true}) {
            CAPTURE(k);
            check_bits([&](const Device& d) { return topk(x.to(d), k, 1, largest).values; });
            check_bits([&](const Device& d) { return topk(x.to(d), k, 1, largest).indices; });
        }
    // The last run has fewer elements than are wanted, and all of them are the last in the order.
    const Tensor nans = full({513 + 4}, std::numeric_limits<double>::quiet_NaN()).realize();
    check_bits([&](const Device& d) { return topk(nans.to(d), 60, 0, false).indices; });
    check_bits([&](const Device& d) { return median(x.to(d), 1).indices; });
    check_bits([&](const Device& d) { return nanmedian(x.to(d), 1).values; });
    check_bits([&](const Device& d) { return kthvalue(x.to(d), 1699, 1).indices; });
}

TEST_CASE("simulated: sorted rows are searched by halving") {
    const Tensor x = some({3, 65}, f32), rows = sort(x, 1).values.realize(), wanted = some({3, 40}, f32);
    for (const bool right : {false, true}) {
        check_bits([&](const Device& d) { return searchsorted(rows.to(d), wanted.to(d), right); });
        check_bits([&](const Device& d) { return bucketize(wanted.to(d), rows[0].to(d), right); });
        check_bits([&](const Device& d) { return bucketize(wanted.to(d)[0][0], rows[0].to(d), right); });
        check_bits(
            [&](const Device& d) { return searchsorted(x.to(d), wanted.to(d), right); });  // not sorted: the same steps
        const Tensor whole = arange(100).to(i64).realize();
        check_bits([&](const Device& d) { return searchsorted(whole.to(d) * 3, whole.to(d), right); });
    }
    check_bits([&](const Device& d) { return isin(wanted.to(d), x.to(d)); });
    check_bits([&](const Device& d) { return unique(nan_to_num(x.to(d))).values; });
}

TEST_CASE("simulated: functions that no step runs are told apart, and their plans found again") {
    const Tensor x = tensor({3, 1, 2}, f32).to("simulated").realize();
    const auto order = [&](bool descending) { return argsort(x, 0, descending).to_vector<std::int64_t>(); };
    const std::vector<std::int64_t> up{1, 2, 0}, down{0, 2, 1};
    for (int i = 0; i < 3; ++i) {
        const CounterScope count;
        CHECK(order(true) == down);
        CHECK(order(false) == up);
        CHECK(topk(x, 1, 0, true).values.item<float>() == 3);
        CHECK(topk(x, 1, 0, false).values.item<float>() == 1);
        if (i > 0) CHECK(count.plans_made() == 0);
    }
}
