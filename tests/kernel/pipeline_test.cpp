// Pipelines: slices that a copy unit may bring ahead of the products. The verifier refuses those in which running ahead would be seen.
#include "backend/support.h"
#include "ir/symbolic.h"
#include "kernel/box_copy.h"
#include "kernel/matrix_product.h"
#include "kernel/refusal.h"

#include <doctest/doctest.h>

#include <functional>
#include <string>

using namespace weft;
using namespace weft::kernel;
using ir::NodeRef;
using test::has;
using test::Nest;
using test::refusal;

namespace {

constexpr std::int64_t kSide = 64, kDepth = 64, kSlices = 3, kIterations = 5, kSteps = kDepth * kIterations - 8;
constexpr std::int64_t kSlice = kSide * kDepth;

// One block: out = left * right^T, where both have rows of kSteps halves.
struct Product {
    Nest nest{"product"};
    int left = nest.input("left", bf16, kSide*kSteps), right = nest.input("right", bf16, kSide*kSteps),
        out = nest.output("out", f32, kSide*kSide);
    int left_slices = slices("left_slices"), right_slices = slices("right_slices"),
        acc = nest.local("acc", f32, 32, Buffer::MemoryType::Register);
    NodeRef block = nest.k.new_var(1), s = nest.k.new_var(kIterations);
    BoxCopy left_box = box(left, left_slices), right_box = box(right, right_slices);
    NodeRef multiplied = slot(s), multiplied_right = multiplied;  // the slices
    std::function<void(Body&)> in_pipeline = [](Body&) {}, in_threads = [](Body&) {}, after = [](Body&) {};
    std::function<Stmt(Stmt)> around = [](Stmt pipeline) { return pipeline; };

    Product() { nest.k.buffers[static_cast<std::size_t>(acc)].per_thread = true; }

    int slices(std::string name) {
        const int b = nest.local(std::move(name), bf16, kSlices * kSlice, Buffer::MemoryType::Shared);
        nest.k.buffers[static_cast<std::size_t>(b)].slices = kSlices;
        return b;
    }
    NodeRef slot(const NodeRef& number, std::int64_t slices = kSlices) const {
        const NodeRef place = nest.k.binary(ir::Op::Mod, number, nest.at(slices));
        return ir::simplify_index(*nest.k.interner, nest.k.mul(place, nest.at(kSlice)));
    }
    BoxCopy box(int from, int to) const {
        return {.from = from,
                .to = to,
                .extents = {kSteps, kSide},
                .strides = {1, kSteps},
                .corner = {nest.affine({{s, kDepth}}), nest.at(0)},
                .rows = kSide,
                .first = slot(s)};
    }
    Stmt threads(const std::function<Body(const NodeRef&, const NodeRef&)>& body) {
        const NodeRef y = nest.k.new_var(32), x = nest.k.new_var(4);
        return Nest::loop(y, LoopKind::Thread, Body{Nest::loop(x, LoopKind::Thread, body(y, x))});
    }
    std::string refused() {
        Kernel& k = nest.k;
        Body slice{copy_of(k, left_box), copy_of(k, right_box)};
        in_pipeline(slice);
        slice.push_back(threads([&](const NodeRef& y, const NodeRef& x) {
            MatrixProduct product{.acc = acc, .y = y, .x = x};
            product.left = {.local = left_slices, .first = multiplied, .width = kSide, .contiguous_in_k = true};
            product.right = product.left;
            product.right.local = right_slices;
            product.right.first = multiplied_right;
            const NodeRef step = k.new_var(kDepth);
            Loop loop{step, LoopKind::Tensor, steps_of(k, product, step), false, nullptr};
            loop.product = std::make_shared<const MatrixProduct>(product);
            Body body{std::move(loop)};
            in_threads(body);
            return body;
        }));
        Body body{threads([&](const NodeRef&, const NodeRef&) {
            Body zeros;
            for (std::int64_t e = 0; e < 32; ++e) zeros.emplace_back(Store{acc, nest.at(e), k.constant(f32, 0)});
            return zeros;
        })};
        body.push_back(around(Nest::loop(s, LoopKind::Serial, std::move(slice))));
        body.push_back(threads([&](const NodeRef& y, const NodeRef& x) {
            Body stores;
            for (std::int64_t e = 0; e < 32; ++e) {
                const NodeRef row = tensor_row(k, y, e / 16), column = tensor_column(k, x, e % 16);
                stores.emplace_back(Store{out, nest.affine({{row, kSide}, {column, 1}}), k.load(acc, nest.at(e))});
            }
            after(stores);
            return stores;
        }));
        k.body = Body{Nest::loop(block, LoopKind::Block, std::move(body))};
        return refusal(k);
    }
};

}  // namespace

TEST_CASE("pipelines: copies that nothing can see are proven") { CHECK(Product().refused() == ""); }

TEST_CASE("pipelines: a slice that is not the one that was copied") {
    Product other;
    other.multiplied = other.multiplied_right = other.slot(other.nest.affine({{other.s, 1}}, 1));
    CHECK(has(other.refused(), "a product of another slice"));
    Product early;
    early.left_box.first = early.slot(early.nest.affine({{early.s, 1}}, 1));
    CHECK(has(early.refused(), "one that goes to another slice"));
    Product beyond;
    beyond.right_box.first = beyond.nest.affine({{beyond.slot(beyond.s), 1}}, 512);
    CHECK(has(beyond.refused(), "one that goes to another slice"));
}

TEST_CASE("pipelines: what is copied does not change, and nobody else looks at the slices") {
    Product output;
    output.nest.k.buffers[0].role = Buffer::Role::Output;
    CHECK(has(output.refused(), "does not go from an input"));
    Product read;
    read.after = [&](Body& body) {
        const NodeRef value = read.nest.k.cast(read.nest.k.load(read.left_slices, read.nest.at(0)), f32);
        body.emplace_back(Store{read.out, read.nest.at(0), value});
    };
    CHECK(has(read.refused(), "a slice that is used elsewhere"));
    Product counted;  // by how often a loop runs
    counted.after = [&](Body& body) {
        Kernel& k = counted.nest.k;
        const NodeRef count = k.cast(k.cast(k.load(counted.left_slices, counted.nest.at(0)), f32), i64);
        const int last = counted.nest.local("last", f32, 1, Buffer::MemoryType::Register);
        Body once{Store{last, counted.nest.at(0), k.constant(f32, 0)}};
        body.emplace_back(Loop{k.new_var(1), LoopKind::Serial, std::move(once), false, count});
    };
    CHECK(has(counted.refused(), "a loop that runs as often as a slice says"));
    Product more;
    more.in_threads = [&](Body& body) {
        body.emplace_back(Store{more.acc, more.nest.at(0), more.nest.k.constant(f32, 1)});
    };
    CHECK(has(more.refused(), "a pipeline that does more than multiply"));
    Product moved;  // where it reads depends on memory
    moved.left_box.corner[1] =
        moved.nest.k.cast(moved.nest.k.cast(moved.nest.k.load(moved.right, moved.nest.at(0)), f32), i64);
    CHECK(has(moved.refused(), "one whose place depends on memory"));
}

TEST_CASE("pipelines: arrays that a copy unit does not take") {
    Product odd;
    odd.left_box.strides[1] = kSteps + 1;
    CHECK(has(odd.refused(), "an array that a copy unit does not take"));
    Product steps;
    steps.left_box.strides[0] = 2;
    CHECK(has(steps.refused(), "an array that a copy unit does not take"));
    Product rows;
    rows.left_box.rows = 60;
    CHECK(has(rows.refused(), "one that goes to another slice"));
    Product beyond;  // the verifier of memory proves where it reads
    beyond.right_box.extents[1] = kSide + 1;
    beyond.right_box.corner[1] = beyond.nest.at(1);
    CHECK(has(beyond.refused(), "right"));
}

// One barrier of each place tells of all slices that are copied there, and counts from the first iteration on.
TEST_CASE("pipelines: all slices take turns together, once") {
    Product fewer;
    Buffer& right = fewer.nest.k.buffers[static_cast<std::size_t>(fewer.right_slices)];
    right.slices = kSlices - 1;
    right.size = right.slices * kSlice;
    fewer.right_box.first = fewer.multiplied_right = fewer.slot(fewer.s, kSlices - 1);
    CHECK(has(fewer.refused(), "slices of different numbers"));
    Product again;
    again.around = [&](Stmt pipeline) {
        return Nest::loop(again.nest.k.new_var(2), LoopKind::Serial, Body{std::move(pipeline)});
    };
    CHECK(has(again.refused(), "a pipeline inside of another loop"));
}

TEST_CASE("pipelines: copy loops stand where the unit finds them") {
    Product alone;
    alone.in_pipeline = [&](Body& body) {
        body.push_back(alone.threads([&](const NodeRef&, const NodeRef&) { return Body{}; }));
    };
    CHECK(has(alone.refused(), "outside of a pipeline"));
    Product two;
    two.in_pipeline = [&](Body& body) {
        Loop loop = *body[0].loop();
        loop.box = nullptr;
        body[0] = loop;
    };
    CHECK(has(two.refused(), "one without its box"));
}
