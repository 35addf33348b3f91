// tests/kernel/passes_test.cpp: how kernels are lowered and scheduled: the order of sums, tiles, lanes and chunks, by what is printed.
#include "kernel/passes.h"
#include "backend/support.h"
#include "core/config.h"
#include "core/cpu.h"
#include "ir/build.h"
#include "ir/kernel_graph.h"
#include "ir/symbolic.h"
#include "kernel/contraction_nest.h"
#include "kernel/graphs.h"
#include "kernel/lower.h"
#include "kernel/nest.h"
#include "kernel/optimise.h"
#include "support/decisions.h"
#include "support/target.h"

#include <doctest/doctest.h>

#include <algorithm>

using namespace weft;
using namespace weft::kernel;
using ir::KernelGraph;
using ir::Op;
using test::finished;
using test::parameter;
using test::product;
using testing::CpuScope;

namespace {

KernelGraph sum_of_rows(std::int64_t rows, std::int64_t length, int axis = 1) {
    KernelGraph graph;
    const ir::NodeRef x = parameter(graph, axis == 1 ? Shape{rows, length} : Shape{length, rows});
    return finished(graph, ir::reduce(Op::Add, x, {axis}));
}

int loops_of_kind(const Body& body, LoopKind kind) {
    int found = 0;
    for (const Stmt& stmt : body)
        if (const Loop* loop = stmt.loop()) found += (loop->kind == kind) + loops_of_kind(loop->body, kind);
    return found;
}

// Parameters filled with small numbers that do not add up exactly.
std::vector<test::Memory> some_values(const Kernel& kernel) {
    std::vector<test::Memory> memories;
    for (int p = 0; p < kernel.parameters; ++p) {
        test::Memory memory(kernel.buffers[p].dtype, kernel.buffers[p].size);
        for (std::int64_t i = 0; i < memory.count(); ++i)
            memory.set(i, to_word(static_cast<float>((i * 7919 + p) % 1021) / 1021.0f - 0.4f));
        memories.push_back(std::move(memory));
    }
    return memories;
}

using testing::decides;
using testing::decisions;

}  // namespace

TEST_CASE("a sum along memory runs in sixteen lanes and four accumulators; across memory in one chain per result") {
    const Kernel along = lower(sum_of_rows(64, 256));
    CHECK(std::any_of(along.buffers.begin(), along.buffers.end(),
                      [](const Buffer& b) { return b.role == Buffer::Role::Local && b.size == 64; }));
    const Kernel across = lower(sum_of_rows(64, 256, 0));
    CHECK(std::all_of(across.buffers.begin(), across.buffers.end(),
                      [](const Buffer& b) { return b.role != Buffer::Role::Local || b.size == 1; }));
}

TEST_CASE("rows of one vector to two have one accumulator, shorter ones none") {
    const auto widest_local = [](std::int64_t columns) {
        std::int64_t widest = 0;
        for (const Buffer& b : lower(sum_of_rows(64, columns)).buffers)
            if (b.role == Buffer::Role::Local) widest = std::max(widest, b.size);
        return widest;
    };
    CHECK(widest_local(15) == 1);
    CHECK(widest_local(16) == 16);
    CHECK(widest_local(31) == 16);
    CHECK(widest_local(32) == 32);
    CHECK(widest_local(64) == 64);
}

TEST_CASE("no chain of additions is longer than 128, and of longer sums than 64: they are blocked") {
    const auto longest_chain = [](const Kernel& kernel) {  // iterations between two resets of an accumulator
        std::int64_t longest = 0;
        for_each_store(kernel.body, [&](const Store& store, std::span<const Loop* const> around) {
            const bool adds = store.value->op == Op::Add && store.value->source(0).op == Op::Load &&
                              store.value->source(0).as<ir::LoadArg>().buffer == store.buffer;
            if (adds && !around.empty()) longest = std::max(longest, around.back()->extent());
        });
        return longest;
    };
    CHECK(longest_chain(lower(sum_of_rows(64, 128, 0))) == 128);
    CHECK(longest_chain(lower(sum_of_rows(64, 129, 0))) <= 64);
    CHECK(longest_chain(lower(sum_of_rows(64, 1'000'000, 0))) <= 64);
    CHECK(longest_chain(lower(sum_of_rows(64, 1'000'000, 1))) <= 64);
}

TEST_CASE("a contraction is one chain up to 1,024 terms, and blocks of at most 512 beyond") {
    CHECK(contractions_of(lower(product(8, 1024, 8)))[0].outer.empty());
    const Kernel blocked = lower(product(8, 3000, 8));
    REQUIRE(contractions_of(blocked)[0].outer.size() == 1);
    CHECK(weft::kernel::product(contractions_of(blocked)[0].inner) <= 512);
}

TEST_CASE("a contraction is read from the roles of its loops") {
    const auto read_again = [](const KernelGraph& graph) {
        Kernel kernel = lower(graph);
        const std::string before = print(kernel);
        const std::vector<ContractionNest> nests = contractions_of(kernel);
        CHECK(has_contraction(kernel.body));
        kernel.body.clear();
        for (const ContractionNest& nest : nests) append(kernel.body, plain_loops(kernel, nest));
        CHECK(print(kernel) == before);
        return kernel;
    };
    const Kernel blocked = read_again(product(8, 3000, 7));
    const std::vector<const Loop*> loops = testing::loops_in(blocked.body);
    CHECK(std::ranges::count_if(
              loops, [](const Loop* loop) { return loop->role == LoopRole::SumBlock && loop->extent() == 6; }) == 1);
    read_again(product(8, 70, 7));
    const Kernel tiled = optimise(lower(product(100, 2000, 200)), testing::here());
    CHECK(has_contraction(tiled.body));
    CHECK(contractions_of(tiled).empty());  // no plain loops any more
    CHECK_FALSE(has_contraction(lower(sum_of_rows(64, 128, 0)).body));
}

TEST_CASE("a contraction is tiled, its columns packed, and its blocks meet in the output") {
    const Kernel kernel = optimise(lower(product(100, 2000, 200)), testing::here());
    REQUIRE(decides<TileSchedule>(kernel));
    CHECK(decisions<TileSchedule>(kernel)[0].pack_columns);
    CHECK(decisions<TileSchedule>(kernel)[0].sums_in_output);
    CHECK(loops_of_kind(kernel.body, LoopKind::Vector) > 0);
    CHECK(loops_of_kind(kernel.body, LoopKind::Unrolled) > 0);
    CHECK(parallel_extent(kernel) > 1);
}

TEST_CASE("much that is computed after a sum is a loop behind each tile, with the same bits") {
    const auto with_epilogue = [](Op op, std::int64_t m, std::int64_t k, std::int64_t n) {
        KernelGraph graph = product(m, k, n);
        graph.outputs[0].value = ir::unary(op, graph.outputs[0].value);
        return graph;
    };
    const auto epilogue_of = [](const Kernel& of) { return decisions<TileSchedule>(of).at(0).epilogue; };
    CHECK(epilogue_of(optimise(lower(with_epilogue(Op::Neg, 61, 70, 83)), testing::here())) ==
          TileSchedule::Epilogue::Registers);
    const Kernel kernel = optimise(lower(with_epilogue(Op::Tanh, 61, 70, 83)), testing::here()),
                 plain = lower(with_epilogue(Op::Tanh, 61, 70, 83));
    CHECK(epilogue_of(kernel) == TileSchedule::Epilogue::TileLoop);
    const test::Memory expected = test::run_on("ref", plain, some_values(plain)).memories.back();
    for (const char* backend : {"ref", "c", "x86"}) {
        CAPTURE(backend);
        CHECK(test::run_on(backend, kernel, some_values(kernel)).memories.back() == expected);
    }
}

TEST_CASE("elementwise work is vectors, with a shorter one for the tail, and chunks when there is much of it") {
    KernelGraph graph;
    const Kernel small = optimise(lower(finished(graph, -parameter(graph, {37}))), testing::here());
    CHECK(loops_of_kind(small.body, LoopKind::Vector) == 2);
    CHECK(parallel_extent(small) == 1);
    KernelGraph large;
    const Kernel many = optimise(lower(finished(large, -parameter(large, {1 << 20}))), testing::here());
    CHECK(parallel_extent(many) > 1);
}

TEST_CASE("stores of a chunk get a loop each if they have no memory in common") {
    const auto of_two_outputs = [](bool apart) {
        KernelGraph graph;
        const Shape shape{1 << 20};
        const ir::NodeRef a = parameter(graph, shape), b = apart ? parameter(graph, shape) : a;
        return optimise(lower(finished(finished(graph, -a), ir::unary(Op::Sqrt, b))), testing::here());
    };
    CHECK(decisions<Distribute>(of_two_outputs(true)).at(0).stores == 2);
    CHECK_FALSE(decides<Distribute>(of_two_outputs(false)));  // what both read is read once
}

TEST_CASE("vectors that take a long computation are computed two at a time, with the same bits") {
    const auto kernel_of = [](std::int64_t size, ir::Op op) {
        KernelGraph graph;
        return optimise(lower(finished(graph, ir::unary(op, parameter(graph, {size})))), testing::here());
    };
    for (const char* cpu : {"native", "avx2", "sse"}) {
        CAPTURE(cpu);
        const CpuScope scope(cpu);
        CHECK(decides<JamVectors>(kernel_of(1 << 20, Op::Tanh)) == (testing::level_here() != CpuLevel::Baseline));
    }
    CHECK_FALSE(decides<JamVectors>(kernel_of(1 << 20, Op::Neg)));                  // little to do
    CHECK_FALSE(decides<JamVectors>(kernel_of(1 << 20, Op::Sin)));                  // a branch inside
    CHECK_FALSE(decides<JamVectors>(kernel_of(1000, Op::Tanh)));                    // soon done
    for (const std::int64_t size : {1 << 18, (1 << 18) + 48, (1 << 18) + 16391}) {  // an odd vector, an odd element
        CAPTURE(size);
        KernelGraph graph;
        const KernelGraph tanh = finished(graph, ir::unary(Op::Tanh, parameter(graph, {size})));
        const Kernel kernel = optimise(lower(tanh), testing::here()), plain = lower(tanh);
        const test::Memory expected = test::run_on("ref", plain, some_values(plain)).memories.back();
        for (const char* backend : {"ref", "c", "x86"}) {
            CAPTURE(backend);
            CHECK(test::run_on(backend, kernel, some_values(kernel)).memories.back() == expected);
        }
    }
}

TEST_CASE("neighbouring axes that lie densely in memory are one loop") {
    KernelGraph graph;
    const Kernel kernel = lower(finished(graph, -parameter(graph, {4, 5, 6})));
    REQUIRE(kernel.body.size() == 1);
    REQUIRE(kernel.body[0].loop() != nullptr);
    CHECK(kernel.body[0].loop()->extent() == 120);
}

TEST_CASE("the interior of a padded array is read without a gate") {
    KernelGraph graph;
    const ir::NodeRef padded = ir::pad(parameter(graph, {8, 100}), {0, 3}, {0, 3});
    const Kernel kernel = optimise(lower(finished(graph, -padded)), testing::here());
    const std::vector<Peel> cuts = decisions<Peel>(kernel);
    REQUIRE(cuts.size() == 1);
    CHECK(cuts[0].cuts == std::vector<std::int64_t>{3, 103});
    bool plain = false;
    for_each_store(kernel.body, [&](const Store& store, std::span<const Loop* const>) {
        Uses uses;
        collect_uses(store.value, uses);
        plain |= !uses.loads.empty() && uses.gates.empty();
    });
    CHECK(plain);
}

TEST_CASE("register tiles fit the registers of the processor's level, and the bits do not depend on it") {
    const Kernel plain = lower(product(37, 1100, 53));
    const test::Memory expected = test::run_on("ref", plain, some_values(plain)).memories.back();
    for (const char* cpu : {"native", "avx2", "sse"}) {
        CAPTURE(cpu);
        const CpuScope scope(cpu);
        const Kernel kernel = optimise(lower(product(37, 1100, 53)), testing::here());
        const TileSchedule tile = decisions<TileSchedule>(kernel).at(0);
        CHECK(tile.tile_rows == (testing::level_here() == CpuLevel::Baseline ? 2 : 6));
        CHECK(tile.tile_columns() == (testing::level_here() == CpuLevel::Avx512 ? 64 : 16));
        CHECK(test::run_on("ref", kernel, some_values(kernel)).memories.back() == expected);
    }
}

TEST_CASE("large outputs bypass the cache if they are written once and not read") {
    const auto streams = [](const Kernel& kernel) {
        return std::any_of(kernel.buffers.begin(), kernel.buffers.end(), [](const Buffer& b) { return b.stream; });
    };
    const auto negative = [](std::int64_t size) {
        KernelGraph graph;
        return finished(graph, -parameter(graph, {size}));
    };
    constexpr std::int64_t large = (16 << 20) / 4 + 1, small = (4 << 20) / 4;  // between them it depends on the caches
    CHECK(streams(optimise(lower(negative(large)), testing::here())));
    CHECK(streams(optimise(lower(negative(large + 1000)), testing::here())));  // a shorter chunk at the end
    CHECK_FALSE(streams(optimise(lower(negative(small)), testing::here())));
    CHECK_FALSE(streams(lower(negative(large))));  // the optimiser's decision

    KernelGraph donated = negative(large);
    donated.outputs[0].param = 0;
    donated.params[0].output = true;
    donated.params.pop_back();
    CHECK_FALSE(streams(optimise(lower(donated), testing::here())));

    CHECK(streams(optimise(lower(product(2048, 64, 2064)), testing::here())));
    CHECK_FALSE(
        streams(optimise(lower(product(2048, 2000, 2064)), testing::here())));  // blocks of the sum meet in the output
    CHECK_FALSE(streams(optimise(lower(sum_of_rows(1024, 2048)), testing::here())));
}

TEST_CASE("a transpose bypasses the cache earlier, if its rows begin at the same place in a line") {
    const auto streams = [](std::int64_t rows, std::int64_t columns, bool transposed) {
        KernelGraph graph;
        const ir::NodeRef x = parameter(graph, {rows, columns});
        const Kernel kernel =
            optimise(lower(finished(graph, -(transposed ? ir::permute(x, {1, 0}) : x))), testing::here());
        return std::any_of(kernel.buffers.begin(), kernel.buffers.end(), [](const Buffer& b) { return b.stream; });
    };
    constexpr std::int64_t columns = 512;
    const std::int64_t rows = large_output(testing::here()) / 4 / columns;  // a power of two, at least 2,048
    for (const char* cpu : {"native", "avx2", "sse"}) {
        CAPTURE(cpu);
        const CpuScope scope(cpu);
        const bool halves = testing::level_here() == CpuLevel::Avx2;  // which stores half a line at a time
        CHECK(streams(rows, columns, true));
        CHECK_FALSE(streams(rows, columns, false));
        CHECK(streams(rows - 16, columns, true) == halves);
        CHECK(streams(rows / 2, columns, true) == halves);
        CHECK_FALSE(streams(rows / 2, columns, false));
        CHECK_FALSE(streams(rows / 2 + 8, columns, true));  // every second row begins in the middle of a line
        CHECK_FALSE(streams(rows / 2 - 16, columns, true));
    }
}

TEST_CASE("with few panels of packed columns, each chunk packs one of them") {
    const CpuScope scope("native");
    if (testing::level_here() != CpuLevel::Avx512) return;  // tiles of other machines have other widths
    const Kernel kernel = optimise(lower(product(64, 4096, 288)), testing::here());
    const TileSchedule tile = decisions<TileSchedule>(kernel).at(0);
    CHECK(tile.parallel == TileSchedule::Parallel::Strips);
    CHECK(tile.parallel_size == 48);
    CHECK(parallel_extent(kernel) == 6);
}

TEST_CASE("loops that may run for long poll, others do not") {
    const auto polls = [](const KernelGraph& graph) {
        const Kernel kernel = optimise(lower(graph), testing::here());
        bool any = false;
        for_each_store(kernel.body, [&](const Store&, std::span<const Loop* const> around) {
            any |= std::ranges::any_of(around, [](const Loop* loop) { return loop->polls; });
        });
        CHECK(any == decides<Poll>(kernel));
        return any;
    };
    const auto scan = [](std::int64_t length) {
        KernelGraph graph;
        graph = finished(graph, ir::scan(Op::Add, parameter(graph, {length}), 0));
        graph.kind = KernelGraph::Kind::Scan;
        return graph;
    };
    CHECK(polls(scan(1 << 27)));
    CHECK_FALSE(polls(scan(1 << 20)));
    CHECK(polls(product(6000, 6000, 6000)));
    CHECK_FALSE(polls(product(1024, 1024, 1024)));
    CHECK_FALSE(polls(sum_of_rows(4096, 4096)));
}

TEST_CASE("short rows with sums of their own are taken two at a time, with the same bits") {
    const auto normalised = [](std::int64_t rows, std::int64_t length) {  // x - sum(x), which waits for the sum
        KernelGraph graph;
        const ir::NodeRef x = parameter(graph, {rows, length}), sum = ir::reduce(Op::Add, x, {1});
        graph = finished(graph, x - ir::expand(sum, {rows, length}));
        graph.rows = {rows};
        graph.inner = {length};
        graph.outputs[0].full = true;
        return graph;
    };
    const auto pairs = [](const Kernel& kernel) { return decides<JamRows>(kernel); };
    const Kernel kernel = optimise(lower(normalised(2048, 100)), testing::here()), plain = lower(normalised(2048, 100));
    CHECK(pairs(kernel) == (testing::level_here() == CpuLevel::Avx512));  // elsewhere there are no registers for it
    CHECK_FALSE(pairs(optimise(lower(normalised(2048, 5000)), testing::here())));  // long rows, read twice
    CHECK_FALSE(pairs(
        optimise(lower(normalised(8, 100)), testing::here())));  // a small kernel: the larger program does not pay
    const test::Memory expected = test::run_on("ref", plain, some_values(plain)).memories.back();
    for (const char* backend : {"ref", "c", "x86"}) {
        CAPTURE(backend);
        CHECK(test::run_on(backend, kernel, some_values(kernel)).memories.back() == expected);
    }
}

TEST_CASE("long rows that are only added up are two streams of memory, with the same bits") {
    const CpuScope scope("native");
    for (const std::int64_t rows :
         {256, 194, 65}) {  // chunks of four, of four and a last one of two, of two and a last one of one
        CAPTURE(rows);
        const Kernel plain = lower(sum_of_rows(rows, 40000)),
                     kernel = optimise(lower(sum_of_rows(rows, 40000)), testing::here());
        const auto pairs = [](const Kernel& k) { return decides<JamRows>(k); };
        CHECK(pairs(kernel) == (testing::level_here() == CpuLevel::Avx512));  // elsewhere there are no registers for it
        KernelGraph graph;
        const ir::NodeRef x = parameter(graph, {rows, 40000});
        CHECK_FALSE(pairs(optimise(lower(finished(graph, ir::reduce(Op::Max, x, {1}))),
                                   testing::here())));  // more than an addition per load
        const test::Memory expected = test::run_on("ref", plain, some_values(plain)).memories.back();
        for (const char* backend : {"c", "x86"}) {
            CAPTURE(backend);
            CHECK(test::run_on(backend, kernel, some_values(kernel)).memories.back() == expected);
        }
    }
}

TEST_CASE("an operand that lies along the sum is read that way and transposed in blocks") {
    const auto gathers = [](const Kernel& kernel) {  // loads from memory that jump from lane to lane
        int found = 0;
        for_each_store(kernel.body, [&](const Store& store, std::span<const Loop* const> around) {
            if (around.empty() || around.back()->kind != LoopKind::Vector) return;
            Uses uses;
            collect_uses(store.value, uses);
            for (const ir::NodeRef& load : uses.loads) {
                const auto step = ir::stride_of(*kernel.interner, load->sources[0], around.back()->id());
                const bool local = kernel.buffers[load->as<ir::LoadArg>().buffer].role == Buffer::Role::Local;
                found += !local && step != 0 && step != 1;
            }
        });
        return found;
    };
    for (const std::int64_t k : {64, 100, 1100}) {
        CAPTURE(k);
        const Kernel plain = lower(product(37, k, 53, true)),
                     kernel = optimise(lower(product(37, k, 53, true)), testing::here());
        CHECK(gathers(kernel) == 0);
        CHECK(std::any_of(kernel.buffers.begin(), kernel.buffers.end(),
                          [](const Buffer& b) { return b.name == "block"; }));
        CHECK(test::run_on("ref", kernel, some_values(kernel)).memories.back() ==
              test::run_on("ref", plain, some_values(plain)).memories.back());
    }
}
