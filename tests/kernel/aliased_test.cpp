// tests/kernel/aliased_test.cpp: kernels that store where they also read (donated parameters): lowering, every pass and every backend must
// give the bits of the plain loops that store elsewhere, on memory that has the old values.
#include "backend/support.h"
#include "core/config.h"
#include "ir/build.h"
#include "ir/kernel_graph.h"
#include "kernel/lower.h"
#include "kernel/nest.h"
#include "kernel/optimise.h"
#include "support/target.h"

#include <doctest/doctest.h>

#include <string>
#include <utility>

using namespace weft;
using namespace weft::kernel;
using ir::KernelGraph;
using ir::NodeRef;
using ir::Op;
using testing::CpuScope;

namespace {

NodeRef parameter(KernelGraph& graph, const Shape& shape, DType dtype = f32) {
    const int slot = static_cast<int>(graph.params.size());
    graph.params.push_back({dtype, numel(shape), false});
    return ir::graph().make(Op::Param, dtype, shape, {}, ir::SlotArg{slot, row_major_strides(shape)});
}

int slot_of(const NodeRef& param) { return param->as<ir::SlotArg>().slot; }

// `value` goes where `param` lies.
void store(KernelGraph& graph, const NodeRef& value, const NodeRef& param, bool full = false) {
    graph.params[slot_of(param)].output = true;
    graph.outputs.push_back({value, slot_of(param), full, row_major_strides(value->shape)});
}

NodeRef number(double value, const Shape& shape) { return ir::constant(f32, value, shape); }

// Momentum: m = m * 0.9 + g, w = w - m * 0.1, both in place; the gradient is read across.
KernelGraph momentum(std::int64_t rows, std::int64_t columns) {
    KernelGraph graph;
    graph.rows = {rows, columns};
    const Shape shape{rows, columns};
    const NodeRef w = parameter(graph, shape), m = parameter(graph, shape), g = parameter(graph, {columns, rows});
    const NodeRef next = m * number(0.9, shape) + ir::permute(g, {1, 0});
    store(graph, next, m);
    store(graph, w - next * number(0.1, shape), w);
    return graph;
}

// x - mean of its row, in place.
KernelGraph centred(std::int64_t rows, std::int64_t length) {
    KernelGraph graph;
    graph.rows = {rows};
    graph.inner = {length};
    const NodeRef x = parameter(graph, {rows, length});
    const NodeRef sum = ir::reduce(Op::Add, x, {1});
    store(graph, x - ir::expand(sum * number(1.0 / static_cast<double>(length), sum->shape), x->shape), x, true);
    return graph;
}

// w - a.T b, in place; with `momentum` a second output beside it. `fused`: a contraction, which is tiled.
KernelGraph update(std::int64_t m, std::int64_t k, std::int64_t n, bool momentum, bool fused) {
    KernelGraph graph;
    graph.rows = {m, n};
    const Shape domain{m, k, n}, shape{m, n};
    const NodeRef a = ir::expand(ir::reshape(ir::permute(parameter(graph, {k, m}), {1, 0}), {m, k, 1}), domain);
    const NodeRef b = ir::expand(ir::reshape(parameter(graph, {k, n}), {1, k, n}), domain);
    const NodeRef w = parameter(graph, shape), v = parameter(graph, shape);
    const NodeRef g = ir::reshape(ir::reduce(Op::Add, fused ? ir::product(a, b) : a * b, {1}), shape);
    if (!momentum) {
        store(graph, w - g * number(0.01, shape), w);
        return graph;
    }
    const NodeRef next = v * number(0.9, shape) + g;
    store(graph, next, v);
    store(graph, w - next * number(0.01, shape), w);
    return graph;
}

KernelGraph running_sum(std::int64_t rows, std::int64_t columns, int axis) {
    KernelGraph graph;
    graph.kind = KernelGraph::Kind::Scan;
    graph.rows = {rows, columns};
    const NodeRef x = parameter(graph, {rows, columns});
    store(graph, ir::scan(Op::Add, x, axis), x);
    return graph;
}

// Each element of two arrays takes the other's value.
KernelGraph exchange(std::int64_t size) {
    KernelGraph graph;
    graph.rows = {size};
    const NodeRef a = parameter(graph, {size}), b = parameter(graph, {size});
    store(graph, b * number(2, {size}), a);
    store(graph, a * number(3, {size}), b);
    return graph;
}

std::vector<test::Memory> some_values(const Kernel& kernel) {
    std::vector<test::Memory> memories;
    for (int p = 0; p < kernel.parameters; ++p) {
        test::Memory memory(kernel.buffers[p].dtype, kernel.buffers[p].size);
        for (std::int64_t i = 0; i < memory.count(); ++i)
            memory.set(i, to_word(static_cast<float>((i * 7919 + p * 31) % 1021) / 1021.0f - 0.4f));
        memories.push_back(std::move(memory));
    }
    return memories;
}

// What the memories hold afterwards, by a kernel whose outputs all have memory of their own.
std::vector<test::Memory> stored_elsewhere(KernelGraph graph) {
    std::vector<test::Memory> expected = some_values(lower(graph));
    std::vector<int> params;
    for (KernelGraph::Output& output : graph.outputs) {
        params.push_back(std::exchange(output.param, static_cast<int>(graph.params.size())));
        graph.params[params.back()].output = false;
        graph.params.push_back(graph.params[params.back()]);
        graph.params.back().output = true;
    }
    const Kernel plain = lower(graph);
    const std::vector<test::Memory> memories = test::run_on("ref", plain, some_values(plain)).memories;
    for (std::size_t i = 0; i < params.size(); ++i) expected[params[i]] = memories[graph.outputs[i].param];
    return expected;
}

void check_all(const KernelGraph& graph) {
    const Kernel plain = lower(graph);
    const std::vector<test::Memory> expected = stored_elsewhere(graph);
    CHECK(test::run_on("ref", plain, some_values(plain)).memories == expected);
    for (const char* cpu : {"native", "avx2", "sse"}) {
        CAPTURE(cpu);
        const CpuScope scope(cpu);
        const Kernel kernel = optimise(lower(graph), testing::here());
        for (const std::string backend : {"ref", "c", "x86"}) {
            if (backend == "c" && std::string_view(cpu) != "native") continue;
            CAPTURE(backend);
            CHECK(test::run_on(backend, kernel, some_values(kernel)).memories == expected);
        }
    }
}

}  // namespace

TEST_CASE("two arrays are updated in place from one that is read across") {
    for (const auto& [rows, columns] : {std::pair{256, 256}, {256, 200}, {33, 70}, {65, 512}}) {
        CAPTURE(rows);
        CAPTURE(columns);
        check_all(momentum(rows, columns));
    }
}

TEST_CASE("rows are replaced by what is computed from their sums") {
    for (const std::int64_t length : {7, 32, 100, 700}) {
        CAPTURE(length);
        check_all(centred(64, length));
        check_all(centred(2048, length));
    }
}

TEST_CASE("weights are updated in the kernel that computes their gradient") {
    for (const bool momentum : {false, true})
        for (const auto& [m, k, n] : {std::tuple{64, 64, 64}, {100, 2000, 90}, {17, 300, 33}, {128, 8, 200}}) {
            CAPTURE(momentum);
            CAPTURE(m);
            CAPTURE(k);
            check_all(update(m, k, n, momentum, false));
        }
}

TEST_CASE("weights are updated where the tiles of their gradient are added up") {
    for (const bool momentum : {false, true})
        for (const auto& [m, k, n] : {std::tuple{64, 64, 64}, {30, 1100, 40}, {17, 300, 33}, {128, 8, 200}}) {
            CAPTURE(momentum);
            CAPTURE(m);
            CAPTURE(k);
            check_all(update(m, k, n, momentum, true));
        }
}

TEST_CASE("a running sum replaces its terms") {
    for (const int axis : {0, 1}) {
        check_all(running_sum(300, 200, axis));
        check_all(running_sum(16, 31, axis));
    }
}

TEST_CASE("two arrays exchange their values") {
    for (const std::int64_t size : {5, 64, 300, 1 << 18}) check_all(exchange(size));
}

TEST_CASE("a copy of a body has locals of its own where they are private to lanes") {
    test::Nest nest("copied");
    const int out = nest.output("out", f32, 64);
    const NodeRef i = nest.k.new_var(4), l = nest.k.new_var(16);
    const int local = nest.local("new", f32, 1, Buffer::MemoryType::Register, id_of(l));
    const Body body{Loop{l, LoopKind::Vector,
                         Body{Store{local, nest.at(0), nest.k.cast(l, f32)},
                              Store{out, nest.affine({{i, 16}, {l, 1}}), nest.k.load(local, nest.at(0))}},
                         true, nullptr}};
    const Body copied = copy(nest.k, body, {{id_of(i), nest.at(2)}});
    REQUIRE(copied.size() == 1);
    const Loop& loop = *copied[0].loop();
    REQUIRE(loop.id() != id_of(l));
    const int fresh = loop.body[0].store()->buffer;
    CHECK(fresh != local);
    CHECK(nest.k.buffers[fresh].lane_loop == loop.id());
    CHECK(nest.k.buffers[local].lane_loop == id_of(l));
    CHECK(loop.body[1].store()->value->as<ir::LoadArg>().buffer == fresh);
}
