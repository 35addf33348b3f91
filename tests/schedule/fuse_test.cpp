// tests/schedule/fuse_test.cpp: which values lie in the memory of another one, and which must not.
#include "schedule/fuse.h"
#include "ir/build.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace weft;
using namespace weft::ir;

namespace {

NodeRef parameter(int slot, const Shape& shape) {
    return graph().make(Op::Param, f32, shape, {}, SlotArg{slot, row_major_strides(shape)});
}

// [m, n], as a sum of products.
NodeRef product(int slot, std::int64_t m, std::int64_t n) {
    const Shape domain{m, 8, n};
    const NodeRef a = expand(reshape(parameter(slot, {m, 8}), {m, 8, 1}), domain),
                  b = expand(reshape(parameter(slot + 1, {8, n}), {1, 8, n}), domain);
    return reshape(reduce(Op::Add, weft::ir::product(a, b), {1}), {m, n});
}

NodeRef zeros(const Shape& shape) { return constant(f32, 0, shape); }

// Places as (whole, offset, strides), in the order of the parts.
const schedule::PlacedValue& place_of(const schedule::Schedule& schedule, const NodeRef& value) {
    const auto found = std::find_if(schedule.placed.begin(), schedule.placed.end(), [&](const auto& placed) {
        const Node* node = value.get();
        while (node != placed.value.get() && node->op == Op::Reshape) node = &node->source();
        return node == placed.value.get();
    });
    REQUIRE(found != schedule.placed.end());
    return *found;
}

schedule::Schedule fused(const NodeRef& root) { return schedule::fuse(std::span(&root, 1)); }

}  // namespace

TEST_CASE("concatenated products are stored in their places, by one kernel each") {
    const NodeRef a = product(0, 4, 32), b = product(2, 6, 32), c = product(4, 4, 16);
    const NodeRef rows = insert(insert(zeros({10, 32}), a, {0, 0}), b, {4, 0});
    schedule::Schedule schedule = fused(rows);
    CHECK(schedule.kernels.size() == 2);
    CHECK(place_of(schedule, a).offset == 0);
    CHECK(place_of(schedule, b).offset == 4 * 32);
    CHECK(place_of(schedule, b).whole == rows);

    const NodeRef columns = insert(insert(zeros({4, 48}), c, {0, 0}), a, {0, 16});
    schedule = fused(columns);
    CHECK(schedule.kernels.size() == 2);
    CHECK(place_of(schedule, a).offset == 16);
    for (const schedule::ScheduledKernel& kernel : schedule.kernels) CHECK(kernel.graph.outputs[0].strides[0] == 48);
}

TEST_CASE("a whole inside a whole, and who else reads a part") {
    const NodeRef a = product(0, 4, 32), b = product(2, 4, 32), c = product(4, 4, 64);
    const NodeRef inner = insert(insert(zeros({4, 64}), a, {0, 0}), b, {0, 32});
    const NodeRef outer =
        insert(insert(zeros({2, 4, 64}), reshape(c, {1, 4, 64}), {0, 0, 0}), reshape(inner, {1, 4, 64}), {1, 0, 0});
    schedule::Schedule schedule = fused(outer);
    CHECK(schedule.kernels.size() == 3);
    CHECK(place_of(schedule, inner).whole == outer);
    CHECK(place_of(schedule, inner).offset == 256);
    CHECK(place_of(schedule, a).whole == inner);
    CHECK(place_of(schedule, b).offset == 32);
    CHECK(schedule.placed[0].whole == outer);  // before what lies in it

    // A reader of a part sees its strides.
    const NodeRef reader = reduce(Op::Max, a, {0});
    schedule = schedule::fuse(std::vector{inner, reader});
    CHECK(schedule.kernels.size() == 3);
    bool found = false;
    for (const schedule::ScheduledKernel& kernel : schedule.kernels)
        for (std::size_t p = 0; p < kernel.values.size(); ++p)
            found = found || (!kernel.graph.params[p].output && kernel.graph.params[p].size == 3 * 64 + 32);
    CHECK(found);
}

TEST_CASE("what cannot lie in its place is stored twice, or copied") {
    const NodeRef a = product(0, 4, 32), b = product(2, 4, 32), p = parameter(8, {4, 32});
    const auto both = [](const NodeRef& x, const NodeRef& y) {
        return insert(insert(zeros({8, 32}), x, {0, 0}), y, {4, 0});
    };
    schedule::Schedule schedule = schedule::fuse(std::vector{both(a, b), a});  // asked for on its own
    CHECK(schedule.kernels.size() == 2);
    CHECK(schedule.kernels[0].graph.outputs.size() + schedule.kernels[1].graph.outputs.size() == 3);
    schedule = fused(both(a, a));
    CHECK(schedule.kernels.size() == 1);
    CHECK(schedule.kernels[0].graph.outputs.size() == 2);
    schedule = fused(both(p, a));
    CHECK(schedule.kernels.size() == 2);
    schedule = fused(both(p, p * p));  // nothing is computed by a kernel: one for both
    CHECK(schedule.kernels.size() == 1);
    CHECK(schedule.kernels[0].graph.outputs.size() == 2);
}

TEST_CASE("arrays that do not fill the whole, overlap, or have short rows are not placed") {
    const NodeRef a = product(0, 4, 32), b = product(2, 4, 32), thin = product(4, 4, 3), other = product(6, 4, 5);
    CHECK(fused(insert(insert(zeros({9, 32}), a, {0, 0}), b, {4, 0})).placed.empty());
    CHECK(fused(insert(insert(zeros({6, 32}), a, {0, 0}), b, {2, 0})).placed.empty());
    CHECK(fused(insert(insert(zeros({4, 8}), thin, {0, 0}), other, {0, 3})).placed.empty());
    const NodeRef half = insert(zeros({8, 32}), a, {0, 0});  // asked for as well
    CHECK(schedule::fuse(std::vector{half, insert(half, b, {4, 0})}).placed.empty());
}

TEST_CASE("a kernel of one row stores values of one width: a wider one that comes later goes elsewhere") {
    const NodeRef x = parameter(0, {3}), total = reduce(Op::Add, x, {0});
    const NodeRef narrow = x / expand(total, {3}),
                  wide = expand(reshape(narrow, {3, 1}), {3, 3}) + expand(reshape(total, {1, 1}), {3, 3});
    const auto function =
        ir::shared({.name = "sorted", .parameters = {}, .results = {{f32, {3}}}, .run = {}, .gradient = {}});
    const NodeRef sorted = ir::custom(function, std::span(&narrow, 1));
    for (const auto& roots : {std::vector{ir::part(sorted, 0), wide}, std::vector{wide, ir::part(sorted, 0)}})
        for (const schedule::ScheduledKernel& kernel : schedule::fuse(roots).kernels)
            for (const auto& output : kernel.graph.outputs)
                if (output.full)
                    CHECK(numel(output.value->shape) == numel(kernel.graph.rows) * numel(kernel.graph.inner));
}

// Too expensive to be computed twice.
NodeRef expensive(const NodeRef& x) { return unary(Op::Sin, unary(Op::Sin, unary(Op::Sin, x))); }

TEST_CASE("a gather joins the kernel that computes its index") {
    const NodeRef index = cast(expensive(parameter(0, {100})), i64);
    CHECK(fused(gather(parameter(1, {100}), index, 0) + cast(index, f32)).kernels.size() == 1);
    const NodeRef stored = contiguous(parameter(1, {100}));  // by a kernel before it
    CHECK(fused(gather(stored, index, 0) + cast(index, f32)).kernels.size() == 2);
}

TEST_CASE("a gather does not join the kernel that computes what it reads") {
    const NodeRef value = expensive(parameter(0, {100})), index = cast(value, i64);
    CHECK(fused(gather(value, index, 0) + value).kernels.size() == 2);
    CHECK(fused(gather(flip(value, {0}), index, 0) + value).kernels.size() == 2);
    const NodeRef sum = reduce(Op::Add, parameter(0, {4, 100}), {1});
    const NodeRef spread = expand(sum, {4, 100}), along = cast(spread * parameter(0, {4, 100}), i64);
    CHECK(fused(gather(parameter(0, {4, 100}) - spread, along, 1)).kernels.size() == 2);
}
