// Where the locals of a block lie in its shared memory.
#include "backend/cuda/shared_memory.h"
#include "backend/support.h"

#include <doctest/doctest.h>

using namespace weft;
using namespace weft::test;

namespace {

// A product of slices `left` and `right`, and another local, which is larger.
struct Slices {
    Nest nest{"slices"};
    int left, right, other, acc = nest.local("acc", f32, 32, Buffer::MemoryType::Register);

    Slices(DType t, DType of_other, std::int64_t others)
        : left(nest.local("left", t, 4096, Buffer::MemoryType::Shared)),
          right(nest.local("right", t, 4096, Buffer::MemoryType::Shared)),
          other(nest.local("other", of_other, others, Buffer::MemoryType::Shared)) {}

    std::vector<backend::cuda::SharedPlace> places() {
        Kernel& k = nest.k;
        const NodeRef block = k.new_var(1), y = k.new_var(32), x = k.new_var(4), step = k.new_var(64);
        const auto stored = [&](int b, const NodeRef& at) {
            return Store{b, at, k.constant(k.buffers[static_cast<std::size_t>(b)].dtype, 0)};
        };
        const auto load = [&](int b) { return k.cast(k.load(b, step), f32); };
        Loop product{step, LoopKind::Tensor,
                     Body{Store{acc, nest.at(0), k.fma(load(left), load(right), k.load(acc, nest.at(0)))}}};
        product.product = std::make_shared<const kernel::MatrixProduct>(kernel::MatrixProduct{
            .acc = acc, .left = {.local = left, .first = nest.at(0)}, .right = {.local = right, .first = nest.at(0)}});
        const NodeRef number = nest.affine({{y, 4}, {x, 1}});
        Body body{stored(left, number), stored(right, number), stored(other, number), std::move(product)};
        k.body = Body{
            Nest::loop(block, LoopKind::Block,
                       Body{Nest::loop(y, LoopKind::Thread, Body{Nest::loop(x, LoopKind::Thread, std::move(body))})})};
        return backend::cuda::place_in_shared_memory(k, backend::expand(k, {.lanes = false, .threads = true}),
                                                     200 << 10);
    }
};

}  // namespace

// Their rows are swizzled by their number, which the tensor core takes from the address.
TEST_CASE("what tensor cores multiply begins at multiples of 1024 bytes, whatever lies beside it") {
    for (const DType t : {bf16, f32})
        for (const std::int64_t others :
             {5000, 10004, 20004}) {  // larger than the slices; all of them, larger than 48 kB
            CAPTURE(t);
            CAPTURE(others);
            Slices slices(t, f32, others);
            const auto places = slices.places();
            for (const int b : {slices.left, slices.right, slices.other})
                CHECK(places[static_cast<std::size_t>(b)].offset >= 0);
            for (const int b : {slices.left, slices.right})
                CHECK(places[static_cast<std::size_t>(b)].offset % 1024 == 0);
            for (const int b : {slices.left, slices.right})
                CHECK_FALSE(places[static_cast<std::size_t>(b)].meets(places[static_cast<std::size_t>(slices.other)]));
        }
}

TEST_CASE("other halves begin at multiples of 16 bytes") {
    Slices slices(f32, f16, 100);
    CHECK(slices.places()[static_cast<std::size_t>(slices.other)].bytes == 208);
}
